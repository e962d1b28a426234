"""The agents' true mean ratings, where they are known, and estimates beside them: records, figures and agreement."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from turnwise.errors import UsageError, setting
from turnwise.records import EstimateRecord, EstimatorCheck, KnownMeans, finite
from turnwise.report import regression, results
from turnwise.report.run_files import write
from turnwise.run.ope.estimate import TargetEstimate
from turnwise.run.ope.logged_data import LoggedData
from turnwise.stats.correlation import pearson, spearman

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope

_NORMAL = 1.96  # standard errors of a 95 % interval
FEWEST = 3  # agents whose correlation says nothing


class Mean(msgspec.Struct):
    """The mean rating of an agent on one dimension."""

    mean: float
    se: float | None = None  # standard error of the mean, if known


Truth = Mapping[str, Mapping[str, Mean]]  # agent -> dimension -> mean


class _File(msgspec.Struct):
    """The form of a truth file."""

    agents: dict[str, dict[str, Mean]]


def read_truth(path: str | None) -> Truth:
    """Read a truth file as `turnwise simulate` writes it: agent -> dimension -> mean (and standard error).

    Empty without a path; a `UsageError` if the file has another form.
    """
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            found = msgspec.json.decode(file.read(), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f'{setting("--truth", path)}: {error}; expected {{"agents": {{name: {{dimension: {{"mean": number}}}}}}}}'
        ) from None
    return found.agents


def true_means(data: LoggedData, truth: Truth) -> dict[str, float]:
    """Agent -> its mean on the rating of `data`: from the truth file, otherwise from its own dialogues."""
    known = logged_means(data)
    from_file = {agent: means[data.rating].mean for agent, means in truth.items() if data.rating in means}
    return known | from_file


def logged_means(data: LoggedData) -> dict[str, float]:
    """Agent -> its mean rating over all episodes that it held (with --stream, over all its dialogues)."""
    if data.means is not None:
        return dict(data.means)
    episodes = data.episodes
    return {
        agent: float(np.mean(episodes.reward[episodes.agent == index]))
        for index, agent in enumerate(episodes.agents)
    }


def known_agents(data: LoggedData) -> KnownMeans:
    """What is known of the rated agents, for conclusions: the rating, its scale, the mean of each agent, and the
    standard deviation of ratings inside agents, None where it is unknown.
    """
    episodes = data.episodes
    means = {agent: mean for agent, mean in logged_means(data).items() if np.isfinite(mean)}
    rated = np.isfinite(episodes.reward)
    reward, agent = episodes.reward[rated], episodes.agent[rated]
    counts = np.bincount(agent, minlength=len(episodes.agents))
    centres = np.bincount(agent, reward, minlength=len(counts)) / np.maximum(counts, 1)
    freedom = int(np.sum(np.maximum(counts - 1, 0)))
    spread = float(np.sqrt(np.sum((reward - centres[agent]) ** 2) / freedom)) if freedom else None
    return KnownMeans(rating=data.rating, scale=episodes.scale, spread=spread, means=dict(means))


def least_means(
    least: Sequence[tuple[str, float]], rating: str, means: Mapping[str, float], truth: Truth
) -> Callable[[str], bool]:
    """A function that tells whether an agent's true means reach all of --min-truth (the paper's 'selected agents').

    `least` are (dimension, value); dimension "" is `rating`. An agent without the mean does not reach it. Raises
    `UsageError` for a dimension of which no mean is known.
    """
    known = {rating: means}
    for agent, stated in truth.items():
        for dimension, one in stated.items():
            if dimension != rating:
                known[dimension] = {**known.get(dimension, {}), agent: one.mean}
    for dimension, _ in least:
        if dimension and dimension not in known:
            raise UsageError(
                f"{setting('--min-truth', dimension)}: that mean is not known; {setting('--truth', 'FILE')} would tell "
                f"it, or take one of {', '.join(known)}"
            )
    return lambda agent: all(
        known[dimension or rating].get(agent, -np.inf) >= value for dimension, value in least
    )


def truth_errors(data: LoggedData, truth: Truth) -> dict[str, float]:
    """Agent -> the standard error of its mean in `true_means`; 0 for a mean of the truth file, as it is the truth."""
    stated = {agent for agent, means in truth.items() if data.rating in means}
    return {agent: 0.0 if agent in stated else error for agent, error in data.known_errors().items()}


def target_record(
    one: TargetEstimate, rating: str, logged: float | None, truth: Mean | None
) -> EstimateRecord:
    """One estimate as a record of the results.

    `logged` is the target's mean rating in the logs, `truth` that of --truth, if known.
    """
    refused = one.estimate is None
    return EstimateRecord(
        target=one.target,
        rating=rating,
        estimator=one.estimator,
        estimate=finite(one.estimate),
        interval=None if one.interval is None else (finite(one.interval[0]), finite(one.interval[1])),
        n_items=one.n_dialogues,
        n_clusters=one.n_agents,
        method=one.method,
        signature=one.signature,
        status="ok" if not refused else "error" if one.failed else "refused",
        reason=one.reason,
        why=one.why,
        raw=one.diagnostics.raw,
        refused=refused,
        logged=finite(logged),
        own_dialogues=one.own_dialogues,
        own_ratings=one.own_ratings,
        mean_of_others=finite(one.mean_of_others),
        beside=one.beside,
        truth=None if truth is None else truth.mean,
        truth_se=None if truth is None else truth.se,
        diagnostics=one.diagnostics,
    )


def write_figures(
    spec: "Ope", rating: str, estimates: Sequence[TargetEstimate], truth: Mapping[str, float]
) -> None:
    """Write each estimator's plot of estimates against true means (two or more), and training curves, into -o.

    Without -o nothing is written.
    """
    if spec.files is None:
        return
    place = results.file_name(rating)
    for name in dict.fromkeys(one.estimator for one in estimates):
        mine = [one for one in estimates if one.estimator == name and one.estimate is not None]
        drawn = [
            regression.Dot(one.target, truth[one.target], one.estimate, one.interval)
            for one in mine
            if one.target in truth and one.estimate is not None
        ]
        if len(drawn) > 1:
            with spec.files.replacing(f"{place}/{results.file_name(name)}.svg") as file:
                file.write(regression.standalone_svg(drawn, title=f"{name}, {rating}").encode())
        curves = {
            one.target: {key: list(map(float, curve)) for key, curve in one.curves.items()}
            for one in mine
            if one.curves
        }
        if curves:
            write(spec.files, f"{place}/{results.file_name(name)}.curves.json", curves)


def validation(
    rating: str,
    names: Sequence[str],
    estimates: Sequence[TargetEstimate],
    truth: Mapping[str, float],
    errors: Mapping[str, float] | None = None,
) -> list[EstimatorCheck]:
    """One record for each estimator in order: the agreement of the estimates that it gave with the truth.

    `errors` are the standard errors of the means in `truth`; 0 where they are not given.
    """
    return [
        _agreement(rating, name, [one for one in estimates if one.estimator == name], truth, errors or {})
        for name in names
    ]


def _agreement(
    rating: str,
    name: str,
    estimates: Sequence[TargetEstimate],
    truth: Mapping[str, float],
    errors: Mapping[str, float],
) -> EstimatorCheck:
    """Correlations (None below 4 agents), mean absolute error, and coverage and half width of the intervals that exist.

    An interval is that of a true mean. Where only the mean of a log is known, `coverage` allows for its sampling error;
    `half_width` is always that of the interval itself. `refused` counts the estimates that were not given, whether or
    not their truth is known.
    """
    given = [one for one in estimates if one.estimate is not None and one.target in truth]
    x = np.array([one.estimate for one in given], dtype=np.float64)
    y = np.array([truth[one.target] for one in given])
    bounds = np.array([one.interval or (np.nan, np.nan) for one in given]).reshape(-1, 2)
    bounded = np.isfinite(bounds).all(axis=1)
    error = np.array([_NORMAL * errors.get(one.target, 0.0) for one in given])
    below = np.hypot(x - bounds[:, 0], error)
    above = np.hypot(bounds[:, 1] - x, error)
    covered = (x - below <= y) & (y <= x + above)
    return EstimatorCheck(
        rating=rating,
        estimator=name,
        pearson=finite(pearson(x, y)) if len(x) > FEWEST else None,
        spearman=finite(spearman(x, y)) if len(x) > FEWEST else None,
        mae=finite(float(np.mean(np.abs(x - y)))) if len(x) else None,
        coverage=float(covered[bounded].mean()) if bounded.any() else None,
        half_width=float(np.mean(bounds[bounded, 1] - bounds[bounded, 0]) / 2) if bounded.any() else None,
        n_agents=len(given),
        refused=len(estimates) - sum(one.estimate is not None for one in estimates),
    )
