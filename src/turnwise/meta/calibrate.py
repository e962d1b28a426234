"""Mean ratings of agents from a metric's scores on all units and people's ratings on some (`turnwise calibrate`).

A unit is what people rated: a reply or a whole dialogue. A unit without a score keeps its rating. The scores of an
agent are not used where the metric has none on its rated units, or has one more or less often there than elsewhere: the
result is then that of the ratings alone, and its `unused` says why.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from msgspec import structs

from turnwise.errors import Refused, counted
from turnwise.meta.table import ScoreTable, unit_scores
from turnwise.records import CalibrationDiagnostics, MeanRecord, finite
from turnwise.stats.clusters import cluster_codes, codes
from turnwise.stats.drawing import expected_errors
from turnwise.stats.permutation import benjamini_hochberg
from turnwise.stats.ppi import (
    TILT,
    Corrected,
    Fit,
    Gap,
    Sample,
    calibrated,
    comparable_scores,
    corrected_difference,
    corrected_mean,
    selection_gap,
    tilted_difference,
    tilted_range,
    tipping_tilt,
)
from turnwise.types import Floats, Ints, Item

Drawn = Literal["random", "weights", "unknown"]  # how the labels were drawn

# The words of refusals with their codes.
UNKNOWN = (
    "how the labels were drawn is unknown, and labels that people chose themselves can differ from the rest in ways "
    "that no score shows; draw labels at random ({--labels:random}) or keep its weights ({--labels:weights:KEY})",
    "unknown-draw",
)
ONE_REFUSED = "the mean rating of one of the two agents, or of both, is refused", "a-mean-is-refused"


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The units of one group with their scores and ratings."""

    names: tuple[str, ...]
    dialogues: tuple[str, ...]
    agents: tuple[str, ...]
    scores: Floats  # (n,) NaN where the metric has none
    ratings: Floats  # (n,) NaN where nobody rated
    weights: Floats  # (n,) inverse probabilities of being labelled
    clusters: Ints  # (n,) codes
    n_clusters: int

    @property
    def labelled(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """(n,) whether each unit is rated."""
        return ~np.isnan(self.ratings)


def units_of(
    table: ScoreTable, items: Iterable[Item], ratings: Mapping[str, float], *, turns: bool, weights: Mapping[str, float]
) -> Units:  # fmt: skip
    """The units among `items`, with the scores of `table`.

    `ratings` has the mean rating of each rated unit. With `turns` units are replies, else whole dialogues. `weights`
    has the weight of each dialogue; one that is absent is 1.
    """
    members = {(item.id if turns else item.dialogue): item for item in items}
    rows = table.named_by("ids" if turns else "dialogues")
    unit_codes, n_units = codes(rows.ids)
    values = unit_scores(table.metric, rows.rows, unit_codes, n_units)
    score_of = dict(zip(dict.fromkeys(rows.ids), values.tolist(), strict=True))
    of_cluster, n_clusters = cluster_codes([item.cluster for item in members.values()])
    nan = float("nan")
    return Units(
        names=tuple(members),
        dialogues=tuple(item.dialogue for item in members.values()),
        agents=tuple(item.agent for item in members.values()),
        scores=np.array([score_of.get(name, nan) for name in members]),
        ratings=np.array([ratings.get(name, nan) for name in members]),
        weights=np.array([weights.get(item.dialogue, 1.0) for item in members.values()]),
        clusters=of_cluster,
        n_clusters=n_clusters,
    )


def calibrate(
    units: Units,
    about: Mapping[str, Any],
    *,
    drawn: Drawn,
    fit: Fit,
    unscored: Mapping[str, Mapping[str, int]],
    rng: np.random.Generator,
) -> list[MeanRecord]:
    """The mean rating of each agent, then the difference of every two agents.

    `about` has the fields of the records that all of them share: the metric with its signature, the rating, the group
    and the level. `unscored` has, by agent, the reasons why items have no score. A mean without enough labels is
    refused, and so are its differences from others.
    """
    means: list[MeanRecord] = []
    agents = sorted(set(units.agents))  # so that the order of the data does not decide which is subtracted
    scored = replace(units, scores=_fitted(units, fit=fit, rng=rng))
    samples: dict[str, Sample] = {}
    slopes: dict[str, float] = {}
    for agent in agents:
        of_agent = {
            **about,
            "agent": agent,
            "unscored": dict(unscored.get(agent, {})),
            **_counts(units, [agent]),
        }
        try:
            samples[agent] = _sample(scored, agent)
        except Refused as error:
            means.append(MeanRecord.refusal(error, **of_agent))
            continue
        result, unused = corrected_mean(samples[agent]), _unused_scores(samples[agent])
        slopes[agent] = result.slopes[0]
        gap = selection_gap(samples[agent])
        if drawn == "unknown":
            sensitivity = {**_mean_sensitivity(samples[agent], result), "gap": finite(gap.size)}
            means.append(_refused(of_agent, result, sensitivity, unused=unused))
        else:
            random = gap if drawn == "random" else None
            means.append(_record(of_agent, result, None, fit=fit, unused=unused, gap=random))
    differences = []
    for first, second in combinations(agents, 2):
        of_both = {**about, "agent": first, "minus": second, **_counts(units, [first, second])}
        if not {first, second} <= set(samples):
            differences.append(MeanRecord.refusal(Refused(*ONE_REFUSED), **of_both))
            continue
        one, two = samples[first], samples[second]
        result = corrected_difference(one, two)
        if drawn == "unknown":
            sensitivity = _difference_sensitivity(one, two, (slopes[first], slopes[second]))
            differences.append(_refused(of_both, result, sensitivity))
        else:
            differences.append(_record(of_both, result, result.p, fit=fit))
    return [*means, *_with_adjusted_p(differences)]


def expected_unit_errors(units: Units, *, rng: np.random.Generator) -> Floats:
    """The error that is expected of a cross-fitted line from scores to ratings, for each unit; all 1 without labels."""
    known = ~np.isnan(units.scores)
    scores = np.where(known, units.scores, units.scores[known].mean() if known.any() else 0.0)
    agents, n_agents = codes(units.agents)
    fitted = calibrated(scores, units.ratings, units.weights, units.clusters, fit="linear", rng=rng)
    errors = units.ratings - fitted
    labelled = units.labelled
    counts = np.maximum(1, np.bincount(agents[labelled], minlength=n_agents))
    means = np.bincount(agents[labelled], weights=errors[labelled], minlength=n_agents) / counts
    return expected_errors(scores, errors - means[agents], agents)


def _fitted(units: Units, *, fit: Fit, rng: np.random.Generator) -> Floats:
    """The scores, mapped to the scale of the ratings if asked; the map is fitted on the labels of all agents."""
    known = ~np.isnan(units.scores)
    found = units.scores.copy()
    found[known] = calibrated(
        units.scores[known], units.ratings[known], units.weights[known], units.clusters[known], fit=fit, rng=rng
    )  # fmt: skip
    return found


def _sample(units: Units, agent: str) -> Sample:
    """The units of one agent; raises `Refused` if they cannot support an estimate."""
    mine = np.array([name == agent for name in units.agents])
    scores, ratings, clusters = units.scores[mine], units.ratings[mine], units.clusters[mine]
    labelled = ~np.isnan(ratings)
    if not labelled.any():
        raise Refused("none of its items is rated; rate some of each agent", "no-labels")
    if len(np.unique(clusters[labelled])) < 2:
        n = int(labelled.sum())
        raise Refused(
            f"its {{n:#rated item}} {'is' if n == 1 else 'are'} of one cluster, which has no spread; rate items of at "
            "least two",
            "labels-of-one-cluster",
            n=n,
        )
    return Sample(scores, ratings, units.weights[mine], clusters, units.n_clusters)


def _counts(units: Units, agents: Sequence[str]) -> dict[str, int]:
    """The numbers of units of these agents, of their clusters, and of those that are rated."""
    mine = np.array([name in agents for name in units.agents])
    return {
        "n_items": int(mine.sum()),
        "n_clusters": len(np.unique(units.clusters[mine])),
        "n_labels": int((units.labelled & mine).sum()),
    }


def _unused_scores(sample: Sample) -> str | None:
    """Why the scores of an agent cannot be used whatever they are; None if they can."""
    if comparable_scores(sample):
        return None
    labelled, scored = sample.labelled, sample.scored
    rated = counted(int(labelled.sum()), "rated item")
    if not scored[labelled].any():
        return f"the metric has no score on any of the {rated}, so its error is unknown"
    return (
        f"the metric has a score on {int(scored[labelled].sum())} of the {rated} and on "
        f"{int(scored[~labelled].sum())} of {int((~labelled).sum())} others, so the two cannot be compared; score all "
        "items, or leave out the dialogues that were not to be scored"
    )


def _record(
    about: Mapping[str, Any],
    result: Corrected,
    p: float | None,
    *,
    fit: Fit,
    unused: str | None = None,
    gap: Gap | None = None,
) -> MeanRecord:
    """The record of one estimate.

    `unused` says why scores were not used whatever they are; `gap` is that of a random draw.
    """
    if result.interval is None:
        method = "labels alone; no interval: the ratings do not vary"
    else:
        mapped = "" if fit == "none" else f", {fit} map cross-fitted by cluster"
        alone = "labels alone, as the scores " + ("cannot be used" if unused else "narrow nothing")
        how = f"prediction-powered{mapped}" if result.used else alone
        method = f"{how}; t by cluster, {result.freedom:.1f} degrees of freedom"
    return MeanRecord(
        **about,
        estimate=result.estimate,
        interval=result.interval,
        unvarying=result.interval is None,
        p=finite(p),
        method=method,
        labels_alone=finite(result.labels_alone),
        labels_alone_interval=result.labels_alone_interval,
        width_ratio=finite(result.width_ratio),
        n_labelled_clusters=result.n_labelled_clusters,
        unused=unused,
        diagnostics=CalibrationDiagnostics(
            slopes=tuple(map(finite, result.slopes)),
            error=finite(result.error),
            freedom=finite(result.freedom),
            gap=None if gap is None else finite(gap.size),
            gap_p=None if gap is None else finite(gap.p),
        ),
    )


def _refused(
    about: Mapping[str, Any],
    result: Corrected,
    sensitivity: Mapping[str, Any],
    *,
    unused: str | None = None,
) -> MeanRecord:
    """The record of an estimate that is refused because nobody says how the labels were drawn; with what depends on
    that.
    """
    return MeanRecord.refusal(
        Refused(*UNKNOWN),
        **about,
        labels_alone=finite(result.labels_alone),
        n_labelled_clusters=result.n_labelled_clusters,
        unused=unused,
        **sensitivity,
    )


def _mean_sensitivity(sample: Sample, result: Corrected) -> dict[str, Any]:
    """What the estimate would be if the labels were random, and if higher ratings were likelier or less likely."""
    ends = tilted_range(sample, TILT, slope=result.slopes[0])
    return {"if_random": finite(result.estimate), "if_tilted": ends, "tilt": TILT}


def _difference_sensitivity(a: Sample, b: Sample, slopes: tuple[float, float]) -> dict[str, Any]:
    """As `_mean_sensitivity`, with the labels of the two tilted in opposite ways, and the tilt that turns the sign.

    `slopes` are those of the two agents' means, so that the numbers are those of the agents' rows subtracted. The
    difference of two agents has slopes of its own, which may be 0 where those of the agents are not.
    """
    return {
        "if_random": finite(tilted_difference(a, b, 0.0, slopes=slopes)[0]),
        "if_tilted": tilted_difference(a, b, TILT, slopes=slopes),
        "tilt": TILT,
        "turning_tilt": finite(tipping_tilt(a, b, slopes=slopes)),
    }


def _with_adjusted_p(differences: Sequence[MeanRecord]) -> list[MeanRecord]:
    """The differences with their p adjusted over all of them (Benjamini and Hochberg)."""
    p = np.array([np.nan if one.p is None else one.p for one in differences])
    adjusted = benjamini_hochberg(p).tolist()
    return [structs.replace(one, p_adjusted=finite(q)) for one, q in zip(differences, adjusted, strict=True)]


def unscored_by_agent(table: ScoreTable) -> dict[str, dict[str, int]]:
    """Agent -> reason -> how many of its items have no score."""
    found: dict[str, Counter[str]] = {}
    for loss in table.lost:
        found.setdefault(loss.agent, Counter())[loss.reason] += 1
    return {agent: dict(counts) for agent, counts in found.items()}
