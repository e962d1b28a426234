"""Where the values of an agent's trials vary, and what to add first."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from turnwise.records import Addition, NoiseRecord, VarianceShare, known
from turnwise.run.scoring.attempts import Observation
from turnwise.stats.clusters import codes
from turnwise.stats.components import REST, separable, variance_components, variance_of_mean
from turnwise.stats.computing.tails import t_quantile
from turnwise.types import Floats, Ints

TASK, TRIAL, REPLY, RATER, SAMPLE = "task", "trial", "reply", "rater", "sample"
TASK_RATER, TRIAL_RATER, REPLY_RATER = "task x rater", "trial x rater", "reply x rater"
# What twice as many of each divides by two.
HALVED = {
    "tasks": (TASK, TRIAL, REPLY, TASK_RATER, TRIAL_RATER, REPLY_RATER, SAMPLE),
    "trials": (TRIAL, REPLY, TRIAL_RATER, REPLY_RATER, SAMPLE),
    "raters": (RATER, TASK_RATER, TRIAL_RATER, REPLY_RATER, SAMPLE),
    "samples": (SAMPLE,),
}
ALIKE = (TASK, RATER)  # what two agents on the same tasks and by the same raters have in common
POWER = 0.8


def noise_of(
    metric: str,
    agent: str,
    group: str | None,
    trials: Sequence[tuple[str, str, Sequence[Observation]]],
) -> NoiseRecord | None:
    """The sources of variance of one agent's trials, each a task, a name and its observations; None where tasks cannot
    be told from trials.
    """
    rows = [(task, name, one) for task, name, observed in trials for one in observed]
    if not rows:
        return None
    values = np.array([one.value for _, _, one in rows])
    sources, weights = _sources(rows), _weights(rows)
    kept = separable(sources)
    found = variance_components(values, kept) if TASK in kept else None
    if found is None:
        return None
    rest = _name_of_rest(kept, rows)
    variances = {rest if name == REST else name: value for name, value in found.items()}
    parts = {rest if name == REST else name: one for name, one in variance_of_mean(weights, kept).items()}
    n_tasks = len(np.unique(kept[TASK]))
    total = sum(variances.values())
    error = _error(variances, parts) or None  # values that are all alike do not show that others would be
    additions = tuple(
        Addition(
            twice=what,
            standard_error=_error(variances, _divided(parts, halved, 2.0)),
            at_best=_error(variances, _divided(parts, halved, float("inf"))),
            smallest_difference=_smallest(_error(variances, _divided(parts, halved, 2.0)), n_tasks),
        )
        for what, halved in HALVED.items()
        if error and _can_be_added(what, variances)
    )
    first = min(additions, key=lambda one: one.standard_error or 0.0, default=None)
    unlike = {name: value for name, value in variances.items() if name not in ALIKE}
    return NoiseRecord(
        metric=metric,
        agent=agent,
        group=group,
        mean=float(weights @ values),
        standard_error=error,
        smallest_difference=_smallest(error or 0.0, n_tasks),
        smallest_on_same_tasks=_smallest(_error(unlike, parts), n_tasks),
        sources=tuple(
            VarianceShare(
                source=name,
                variance=value,
                share=known(value / total if total else float("nan")),
                levels=1 / parts[name],
            )
            for name, value in variances.items()
        ),
        additions=additions,
        first=first.twice if first else None,
        together=tuple(_told_together(sources, kept, rest)),
    )


def _sources(rows: Sequence[tuple[str, str, Observation]]) -> dict[str, Ints]:
    """The codes of each source that the observations may have."""
    task, trial = [task for task, _, _ in rows], [name for _, name, _ in rows]
    rater = [one.rater for _, _, one in rows]
    sources = {TASK: _codes(task), TRIAL: _codes(trial)}
    if _has_replies(rows):
        sources[REPLY] = _codes(one.item for _, _, one in rows)
    if len(set(rater)) > 1:
        sources |= {RATER: _codes(rater), TASK_RATER: _codes(zip(task, rater, strict=True))}
        sources[TRIAL_RATER] = _codes(zip(trial, rater, strict=True))
    return sources


def _codes(names: Iterable[object]) -> Ints:
    """A number for each name."""
    return codes([repr(name) for name in names])[0]


def _weights(rows: Sequence[tuple[str, str, Observation]]) -> Floats:
    """The weight of each observation in the mean over tasks of the mean over trials of their mean."""
    task, trial = (_codes(names) for names in zip(*[(task, name) for task, name, _ in rows], strict=True))
    of_trial = 1 / np.bincount(trial)[trial]
    trials_of_task = np.bincount(task, weights=of_trial)
    weights: Floats = of_trial / trials_of_task[task] / len(trials_of_task)
    return weights


def _name_of_rest(kept: Mapping[str, Ints], rows: Sequence[tuple[str, str, Observation]]) -> str:
    """What varies among observations that share all sources."""
    if len({(one.item, one.rater) for _, _, one in rows}) < len(rows):
        return SAMPLE
    if _has_replies(rows):
        return REPLY_RATER if REPLY in kept else REPLY
    return TRIAL_RATER if TRIAL in kept else TRIAL


def _has_replies(rows: Sequence[tuple[str, str, Observation]]) -> bool:
    """Whether several replies of a trial are scored."""
    return len({one.item for _, _, one in rows}) > len({name for _, name, _ in rows})


def _told_together(sources: Mapping[str, Ints], kept: Mapping[str, Ints], rest: str) -> list[str]:
    """The sources that the data has and that are in the last one."""
    return [name for name in sources if name not in kept and name != rest]


def _can_be_added(what: str, variances: Mapping[str, float]) -> bool:
    """Whether there is a source that more of this would average."""
    if what == "raters":
        return any(RATER in name for name in variances)
    return what != "samples" or SAMPLE in variances


def _divided(parts: Mapping[str, float], names: Sequence[str], by: float) -> dict[str, float]:
    """The parts of variances in the mean, with those of these sources divided."""
    return {name: part / by if name in names else part for name, part in parts.items()}


def _error(variances: Mapping[str, float], parts: Mapping[str, float]) -> float:
    """The standard error of the mean."""
    return float(np.sqrt(sum(value * parts[name] for name, value in variances.items())))


def _smallest(error: float, n_tasks: int) -> float | None:
    """The difference of two such means that a test at 5 % shows with a power of .8; None where nothing varies."""
    if error == 0:
        return None
    freedom = 2 * (n_tasks - 1)
    return (t_quantile(freedom, 0.975) + t_quantile(freedom, POWER)) * float(np.sqrt(2)) * error
