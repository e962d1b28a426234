"""What the agents' means really are, where somebody knows, and how well estimates came up to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from turnwise.errors import UsageError
from turnwise.run.answer import Answer
from turnwise.run.experience import Experience
from turnwise.stats.correlation import pearson, spearman

Truth = Mapping[str, Mapping[str, float]]  # agent -> dimension -> mean


class _Mean(msgspec.Struct):
    mean: float


class _File(msgspec.Struct):
    agents: dict[str, dict[str, _Mean]]


def read_truth(path: str | None) -> Truth:
    """A file as `turnwise simulate` writes it beside its logs."""
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            found = msgspec.json.decode(file.read(), type=_File)
    except msgspec.DecodeError as error:
        raise UsageError(
            f'--truth {path}: {error}; expected {{"agents": {{name: {{dimension: {{"mean": number}}}}}}}}'
        ) from None
    return {
        agent: {dimension: one.mean for dimension, one in means.items()}
        for agent, means in found.agents.items()
    }


def true_means(experience: Experience, truth: Truth) -> dict[str, float]:
    """Agent -> its mean as the truth has it, else as its own dialogues have."""
    known = logged_means(experience)
    told = {agent: means[experience.rating] for agent, means in truth.items() if experience.rating in means}
    return known | told


def logged_means(experience: Experience) -> dict[str, float]:
    """Agent -> the mean rating of all dialogues that it held."""
    episodes = experience.episodes
    return {
        agent: float(np.mean(episodes.reward[episodes.agent == place]))
        for place, agent in enumerate(episodes.agents)
    }


def selected(mean: float | None, rating: str, least: Sequence[tuple[str, float]]) -> bool:
    """Whether an agent is good enough for --min-truth: the paper's 'selected agents'."""
    wanted = [value for dimension, value in least if dimension in ("", rating)]
    return not wanted or (mean is not None and mean >= max(wanted))


def validation(
    rating: str, names: Sequence[str], answers: Sequence[Answer], truth: Mapping[str, float]
) -> list[dict[str, Any]]:
    """How each estimator's answers compare with the truth, over the agents for which it did not refuse."""
    return [
        _agreement(rating, name, [one for one in answers if one.estimator == name], truth) for name in names
    ]


def _agreement(
    rating: str, name: str, answers: Sequence[Answer], truth: Mapping[str, float]
) -> dict[str, Any]:
    given = [one for one in answers if one.estimate is not None and one.target in truth]
    x = np.array([one.estimate for one in given], dtype=np.float64)
    y = np.array([truth[one.target] for one in given])
    bounds = np.array([one.interval or (np.nan, np.nan) for one in given]).reshape(-1, 2)
    bounded = np.isfinite(bounds).all(axis=1)
    covered = (bounds[:, 0] <= y) & (y <= bounds[:, 1])
    return {
        "rating": rating,
        "estimator": name,
        "pearson": _number(pearson(x, y)) if len(x) > 2 else None,
        "spearman": _number(spearman(x, y)) if len(x) > 2 else None,
        "mae": float(np.mean(np.abs(x - y))) if len(x) else None,
        "coverage": float(covered[bounded].mean()) if bounded.any() else None,
        "half_width": float(np.mean(bounds[bounded, 1] - bounds[bounded, 0]) / 2) if bounded.any() else None,
        "n_agents": len(given),
        "refused": len(answers) - sum(one.estimate is not None for one in answers),
    }


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
