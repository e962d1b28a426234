"""Where a target's replies lie among the logged ones: pairs of user turn and reply on their principal plane.

What ENIGMA's figure 26 shows by t-SNE. The plane is that of both sides together, so that neither is drawn large.
"""

from typing import Any

import numpy as np

from turnwise.estimators.vectors import vectors
from turnwise.run.ope.experience import Experience
from turnwise.run.scoring.tally import generator

POINTS = 300  # of either side
TARGETS = 4  # that are drawn


def planes(lived: Experience, targets: tuple[str, ...], *, model: str, seed: int) -> dict[str, Any]:
    """Target -> places of logged and target pairs, and the share of variance along either axis."""
    shown = [name for name in targets if name in lived.episodes.alternatives][:TARGETS]
    return {
        "model": model,
        "seed": seed,
        "targets": {name: _plane(lived, name, model, generator(seed, "plane", name)) for name in shown},
    }


def _plane(lived: Experience, target: str, model: str, rng: np.random.Generator) -> dict[str, Any]:
    episodes = lived.without(target)
    said = episodes.alternatives[target].text[:, 0]
    there = np.flatnonzero(said >= 0)
    chosen = np.sort(rng.permutation(there)[:POINTS])
    unit = vectors(episodes.texts, model)
    unit = unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    user = episodes.user[chosen]
    heard = np.where(user[:, None] >= 0, unit[user], 0.0)
    logged = np.hstack([heard, unit[episodes.logged.text[chosen, 0]]])
    both = np.vstack([logged, np.hstack([heard, unit[said[chosen]]])])
    centred = both - both.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.round((left * sizes)[:, :2], 4)
    total = float(np.sum(sizes**2)) or 1.0
    return {
        "logged": places[: len(chosen)].tolist(),
        "target": places[len(chosen) :].tolist(),
        "variance": [float(share) for share in np.round(sizes[:2] ** 2 / total, 4)],
    }
