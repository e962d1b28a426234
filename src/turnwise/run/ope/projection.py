"""Pairs of user turn and reply, the logged ones and a target's, projected on their first two principal components.

ENIGMA's figure 26 shows the same by t-SNE. The components are computed from both sets together.
"""

from typing import Any

import numpy as np

from turnwise.estimators.vectors import vectors
from turnwise.run.ope.logged_data import LoggedData
from turnwise.run.scoring.tally import generator
from turnwise.types import Episodes

POINTS = 300  # largest number of points of each set
TARGETS = 4  # largest number of targets


def projections(
    logged_data: LoggedData, targets: tuple[str, ...], *, model: str, seed: int
) -> dict[str, Any]:
    """For each of the first `TARGETS` targets with alternatives: its `_projection`; with the encoder and the seed.

    A target without a reply in a dialogue of another agent has none.
    """
    chosen_targets = [name for name in targets if name in logged_data.episodes.alternatives][:TARGETS]
    seen = {name: logged_data.without(name) for name in chosen_targets}
    return {
        "model": model,
        "seed": seed,
        "targets": {
            name: _projection(episodes, name, model, generator(seed, "plane", name))
            for name, episodes in seen.items()
            if (episodes.alternatives[name].text[:, 0] >= 0).any()
        },
    }


def _projection(episodes: Episodes, target: str, model: str, rng: np.random.Generator) -> dict[str, Any]:
    """Coordinates of up to `POINTS` logged pairs and of the target's at the same points, and shares of variance.

    `rng` draws the points, of which there is at least one. Only the first sample of the target is used.
    """
    said = episodes.alternatives[target].text[:, 0]
    spoken = np.flatnonzero(said >= 0)
    chosen = np.sort(rng.permutation(spoken)[:POINTS])
    unit = vectors(episodes.texts, model)
    unit = unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    user = episodes.user[chosen]
    user_vectors = np.where(user[:, None] >= 0, unit[user], 0.0)
    logged = np.hstack([user_vectors, unit[episodes.logged.text[chosen, 0]]])
    both = np.vstack([logged, np.hstack([user_vectors, unit[said[chosen]]])])
    centred = both - both.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    coordinates = np.round((left * sizes)[:, :2], 4)
    total = float(np.sum(sizes**2)) or 1.0
    return {
        "logged": coordinates[: len(chosen)].tolist(),
        "target": coordinates[len(chosen) :].tolist(),
        "variance": [float(share) for share in np.round(sizes[:2] ** 2 / total, 4)],
    }
