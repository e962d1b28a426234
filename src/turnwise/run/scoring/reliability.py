"""`turnwise reliability`: pass^k and pass@k of repeated trials, two agents compared, and where the noise is."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec.structs import replace

from turnwise.errors import DataError, Refused, UsageError, counted, setting
from turnwise.logs.scan import Census, scan
from turnwise.meta.compare import compare as compare_tables
from turnwise.meta.table import ScoreTable
from turnwise.meta.verdicts import with_verdicts
from turnwise.metrics.rows import quotient
from turnwise.records import DifferenceRecord, NoiseRecord, PassRecord
from turnwise.report.documents import ReliabilityDocument
from turnwise.run.scoring.attempts import NOTHING, Measured, Trial, measure, read_trials
from turnwise.run.scoring.noise import noise_of
from turnwise.run.scoring.rated import rating_names
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.scoring.trials import Trials
from turnwise.run.spec import finish
from turnwise.stats.repeated import all_of, any_of, interval_of_tasks
from turnwise.types import Card, Floats, Ints, Level, Metric, Need, Rows, Signature

if TYPE_CHECKING:
    from turnwise.commands.reliability import MeasureReliability

MOST = 8  # k up to which there are results unless others are asked for
METHOD = "Wilson by task, with an effective number of observations"
SHOWN = 3  # names that a note has
Statistic = Literal["pass^k", "pass@k"]


class Counts(NamedTuple):
    """The tasks of one agent with their trials."""

    tasks: tuple[str, ...]
    passed: Ints  # (T,)
    trials: Ints  # (T,)
    failures: Counter[str]  # what broke down -> trials
    unscored: Counter[str]  # why -> trials

    def at_least(self, k: int) -> "Counts":
        """The tasks with `k` trials or more."""
        enough = self.trials >= k
        tasks = tuple(task for task, is_kept in zip(self.tasks, enough, strict=True) if is_kept)
        return self._replace(tasks=tasks, passed=self.passed[enough], trials=self.trials[enough])


@dataclass(frozen=True, slots=True)
class TaskShare:
    """The mean over tasks of a share that each task has: what `compare` needs to know of pass^k."""

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = NOTHING
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of tasks of which k trials all pass.",
        range="0 to 1",
        limits="Trials must be independent, with the same probability in every trial of a task.",
        citation="Yao et al. 2024",
    )

    signature: Signature

    def rows(self, items: Sequence[Any], /) -> Rows:
        """The share of each task, and 1."""
        return np.stack([np.array(items, dtype=np.float64), np.ones(len(items))], axis=1)

    def of_sums(self, sums: Floats, /) -> Floats:
        """The sum of shares over the number of tasks."""
        return quotient(sums[..., 0], sums[..., 1])

    def reduce(self, rows: Rows, /) -> float:
        """The mean share."""
        return float(self.of_sums(np.asarray(rows.sum(axis=0))))


def reliability(spec: "MeasureReliability") -> ReliabilityDocument:
    """Run `turnwise reliability`: a record for each metric, agent, group, statistic and k."""
    census = scan(spec.paths, apart=spec.selection.apart)
    spec = spec if spec.metrics else spec.changed(metrics=_default_metrics(census))
    trials = read_trials(spec, census)
    agents = _agents(spec, trials)
    known = [one for one in trials if one.task and one.agent in agents]
    if not known:
        raise DataError(
            "no record says of which task it is a trial: the keys `task` and `trial` (docs/format.md); readers of "
            f"benchmarks write them, and {setting('--cluster', 'KEY')} names another key that has the task"
        )
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    measured = measure(spec, census, metrics, watch)
    records = [one.record(PassRecord) for one in absent]
    differences: list[DifferenceRecord] = []
    noise: list[NoiseRecord] = []
    groups = list(dict.fromkeys(one.group for one in known))
    for name, metric in metrics.items():
        if name in watch.stopped:
            continue
        for group in groups:
            mine = {
                agent: [one for one in known if (one.agent, one.group) == (agent, group)] for agent in agents
            }
            mine = {agent: own for agent, own in mine.items() if own}
            noise += _noise(name, group, mine, measured[name])
            try:
                counts = {agent: _counts(own, measured[name], metric, spec) for agent, own in mine.items()}
            except Refused as error:
                records += [
                    PassRecord.refusal(error, metric=name, agent=agent, group=group or None) for agent in mine
                ]
                continue
            ks = spec.k or _usual(counts.values())
            signature = _signature(metric, spec)
            for agent, of_agent in counts.items():
                records += _pass_records(of_agent, ks, name, agent, group, signature)
            if len(counts) == 2:
                differences += _differences(counts, ks, name, group, signature, spec)
    records += [one.record(PassRecord) for one in watch.unavailable()]
    return finish(
        ReliabilityDocument,
        spec,
        records,
        census.sha256,
        differences=with_verdicts(differences),
        noise=tuple(noise),
        notes=tuple(_notes(spec, trials, known, agents)),
        **census.automatic_section(),
    )


def _default_metrics(census: Census) -> tuple[str, ...]:
    """The ratings of the data; `UsageError` without any."""
    if names := rating_names(census):
        return names
    raise UsageError(f"the data has no ratings; name what says whether a trial passed with {setting('-m')}")


def _agents(spec: "MeasureReliability", trials: Sequence[Trial]) -> tuple[str, ...]:
    """The agents that are asked for, else all; one that is not there raises `UsageError`."""
    there = tuple(dict.fromkeys(one.agent for one in trials))
    for agent in spec.agents:
        if agent not in there:
            raise UsageError(f"the data has no agent `{agent}`; it has {', '.join(there)}")
    return tuple(spec.agents) or there


def _counts(
    trials: Sequence[Trial],
    measured: Mapping[tuple[str, str], Measured],
    metric: Metric,
    spec: "MeasureReliability",
) -> Counts:
    """How many trials of each task passed; raises `Refused` where values do not say so and there is no threshold."""
    passed: dict[str, list[bool]] = defaultdict(list)
    failures: Counter[str] = Counter()
    unscored: Counter[str] = Counter()
    for trial in trials:
        of_trial = measured.get((trial.dialogue, trial.group), Measured())
        of_task = passed[trial.task]
        if trial.failure:
            failures[trial.failure] += 1
            if spec.failures == "failed":
                of_task.append(False)
        elif np.isnan(of_trial.value):
            unscored[of_trial.reason] += 1
        else:
            of_task.append(_has_passed(of_trial.value, metric, spec.threshold))
    tasks = tuple(sorted(passed))
    return Counts(
        tasks,
        np.array([sum(passed[task]) for task in tasks], dtype=np.int64),
        np.array([len(passed[task]) for task in tasks], dtype=np.int64),
        failures,
        unscored,
    )


def _has_passed(value: float, metric: Metric, threshold: float | None) -> bool:
    """Whether a trial with this value passed; `Refused` without a threshold for a value that is not 0 or 1."""
    if threshold is not None:
        return value >= threshold if metric.higher_is_better else value <= threshold
    if value not in (0, 1):
        raise Refused(
            "values such as {value:.4g} are neither 0 nor 1: {--threshold:X} says from which on a trial passed",
            "no-threshold",
            value=value,
        )
    return (value == 1) is metric.higher_is_better


def _usual(counts: Iterable[Counts]) -> tuple[int, ...]:
    """1 up to the number of trials that half of the tasks of every agent have."""
    usual = [int(np.median(one.trials)) for one in counts if len(one.trials)]
    return tuple(range(1, min([MOST, *usual]) + 1)) or (1,)


def _signature(metric: Metric, spec: "MeasureReliability") -> Signature:
    """What must be equal for two numbers to be comparable: the estimator, what counts as passed, and failures."""
    sign = ">=" if metric.higher_is_better else "<="
    passed = f"{sign}{spec.threshold:g}" if spec.threshold is not None else f"={int(metric.higher_is_better)}"
    fields = (("of", "C(c,k)/C(n,k)"), ("passed", passed), ("failures", spec.failures), ("over", "tasks"))
    return Signature("pass", fields, (metric.signature,))


def _pass_records(
    counts: Counts, ks: Sequence[int], metric: str, agent: str, group: str, signature: Signature
) -> Iterator[PassRecord]:
    """The records of one agent: pass^k for each k, then pass@k."""
    statistics: tuple[Statistic, ...] = ("pass^k", "pass@k")
    for statistic in statistics:
        for k in ks:
            enough = counts.at_least(k)
            record = PassRecord(
                estimate=None,
                metric=metric,
                agent=agent,
                group=group or None,
                statistic=statistic,
                k=k,
                short=len(counts.tasks) - len(enough.tasks),
                failures=dict(counts.failures.most_common()),
                unscored=dict(counts.unscored.most_common()),
                signature=str(signature),
            )
            if not enough.tasks:
                reason = f"no task has {counted(k, 'trial')}"
                yield replace(record, status="skipped", reason=reason)
                continue
            shares = _shares(enough, statistic, k)
            interval = interval_of_tasks(shares, enough.trials, k)
            yield replace(
                record,
                estimate=float(shares.mean()),
                interval=interval,
                n_items=int(enough.trials.sum()),
                n_clusters=len(enough.tasks),
                method=METHOD if interval else "none: fewer than 2 tasks",
            )


def _shares(counts: Counts, statistic: Statistic, k: int) -> Floats:
    """The share of each task."""
    return (all_of if statistic == "pass^k" else any_of)(counts.passed, counts.trials, k)


def _differences(
    counts: Mapping[str, Counts],
    ks: Sequence[int],
    metric: str,
    group: str,
    signature: Signature,
    spec: "MeasureReliability",
) -> Iterator[DifferenceRecord]:
    """The difference of pass^k between two agents for each k, on the tasks that both have."""
    first, second = counts
    for k in ks:
        name = f"{metric} pass^{k}"
        tables = [_table(name, agent, counts[agent].at_least(k), k, signature) for agent in (first, second)]
        yield compare_tables(
            *tables,
            agents=(first, second),
            group=group or None,
        )


def _table(name: str, agent: str, counts: Counts, k: int, signature: Signature) -> ScoreTable:
    """The share of each task as a table of scores."""
    shares = _shares(counts, "pass^k", k) if counts.tasks else np.zeros(0)
    ids, n = counts.tasks, len(counts.tasks)
    metric = TaskShare(signature)
    return ScoreTable(
        name=name,
        metric=metric,
        rows=metric.rows(shares.tolist()),
        ids=ids,
        dialogues=ids,
        agents=(agent,) * n,
        groups=("",) * n,
        clusters=ids,
        pairs=ids,
        tasks=ids,
        weights=np.ones(n),
    )


def _noise(
    metric: str,
    group: str,
    trials: Mapping[str, Sequence[Trial]],
    measured: Mapping[tuple[str, str], Measured],
) -> Iterator[NoiseRecord]:
    """The sources of variance of each agent, where they can be told apart."""
    for agent, own in trials.items():
        observed = [
            (one.task, one.dialogue, measured[one.dialogue, one.group].observations)
            for one in own
            if not one.failure and (one.dialogue, one.group) in measured
        ]
        found = noise_of(metric, agent, group or None, observed)
        if found is not None:
            yield found


def _notes(
    spec: "MeasureReliability", trials: Sequence[Trial], known: Sequence[Trial], agents: Sequence[str]
) -> Iterator[str]:
    """Notes on trials without a task, on trials that are there more than once, and on agents that are not compared."""
    tried = Trials()
    tried.count((one.agent, one.task, one.dialogue) for one in known)
    yield from tried.notes()
    if without := sum(not one.task for one in trials if one.agent in agents):
        yield f"{counted(without, 'dialogue')} left out, which say of no task that they are a trial of it"
    numbered = Counter((one.group, one.agent, one.task, one.number) for one in known if one.number)
    if twice := [key for key, count in numbered.items() if count > 1]:
        names = list(dict.fromkeys(agent for _, agent, _, _ in twice))
        yield (
            f"{counted(len(twice), 'trial')} of {', '.join(names[:SHOWN])} there more than once: where one name stands "
            f"for several configurations, {setting('--agent-key', 'KEYS')} tells them apart"
        )
    if len(agents) > 2:
        yield f"agents are compared if there are two: {setting('--agents', f'{agents[0]},{agents[1]}')}"
