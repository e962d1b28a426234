"""`turnwise meta`: the agreement of metrics with people, at every level that the ratings have."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from turnwise.errors import DataError, UsageError, setting, unknown
from turnwise.logs.items.items import all_items
from turnwise.logs.scan import Census, scan
from turnwise.meta.correlate import STATISTICS, correlate, has_level
from turnwise.meta.correlate_systems import SYSTEMS_ONLY
from turnwise.meta.differences import differences, with_adjusted_p
from turnwise.meta.disagreements import disagreement_records
from turnwise.meta.examples import RankedApart, disagreements, with_texts
from turnwise.meta.gold import Gold, gold
from turnwise.meta.length_bias import length_bias_records
from turnwise.meta.system_draws import SystemDraws
from turnwise.meta.table import ScoreTable
from turnwise.metrics import is_rating
from turnwise.metrics.rating import parse
from turnwise.protocols import SamplesRaters
from turnwise.ratings.matrix import RatedLevel
from turnwise.records import AgreementRecord, DisagreementCount, LengthBias, MetricDifference, ScreenedRater
from turnwise.report.documents import MetaDocument
from turnwise.report.run_files import write_lines
from turnwise.run.cut_agents import cut_agents
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.collect import collect, listing
from turnwise.run.scoring.judge_cards import add_agreement
from turnwise.run.scoring.pair_meta import pair_meta
from turnwise.run.scoring.raters import (
    RATED,
    RatedUnits,
    check_dimension,
    rated_levels,
    rated_units,
    screened_ratings,
    selection,
    with_direction,
)
from turnwise.run.scoring.seen_items import SeenItems, marked
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import finish
from turnwise.run.workers.execute import Executor
from turnwise.stats.shared_draws import SharedDraws
from turnwise.types import Level, Metric, Rating, Summed

if TYPE_CHECKING:
    from turnwise.commands.meta import MetaEvaluate

UNEVEN = (
    1.5  # ratio of items of two agents above which a metric that depends on their number is not comparable
)
DIFFERING = ("pearson", "spearman")  # statistics for which differences between metrics are tested


@dataclass(frozen=True, slots=True)
class Question:
    """One dimension of one group, as rated at one level, and the levels to report on."""

    group: str
    dimension: str
    rated: RatedLevel
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class _LevelTask:
    """Questions at one level with their data: everything a worker needs.

    At system level these are all dimensions of a group, because they share the resamples; else it is one question.
    """

    questions: list[tuple[int, Question, Gold]]  # with the place of their records in the results
    level: Level
    tables: Sequence[ScoreTable]


def meta(spec: "MetaEvaluate") -> MetaDocument:
    """Run `turnwise meta` with metrics: their agreement with people's ratings.

    Raises `UsageError` if no metric has a number at the level that was asked for.
    """
    census = scan(spec.paths, apart=spec.selection.apart, command="meta")
    for name in spec.statistics:
        if name not in STATISTICS:
            raise unknown("statistic", name, tuple(STATISTICS))
    if spec.level not in (None, "system", "pair") and SYSTEMS_ONLY.issuperset(spec.statistics):
        names = ", ".join(spec.statistics)
        raise UsageError(
            f"`{names}` compares systems and has no value for a single {spec.level}: {setting('--level', 'system')}"
        )
    if spec.level == "pair":
        if "pairwise" not in spec.statistics:
            raise UsageError(
                f"`{', '.join(spec.statistics)}` is for ratings; {setting('--level', 'pair')} has one statistic, how "
                f"often a metric prefers the reply that people chose: leave out {setting('--statistic')}"
            )
        return pair_meta(spec, census)
    check_dimension(census, spec.dimension)
    check_not_itself(spec, census)
    ratings = with_direction(census.read_ratings(), spec.lower_is_better)
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    units = {level: rated_units(spec, census, level) for level in rated_levels(census, spec.dimension)}
    questions = list(_questions(units, ratings, spec.dimension, spec.level))
    records = [metric.record(AgreementRecord) for metric in absent]
    compared: list[MetricDifference] = []
    screened: list[ScreenedRater] = []
    rated: list[dict[str, Any]] = []
    examples: list[RankedApart] = []
    length_biases: list[LengthBias] = []
    counts: list[DisagreementCount] = []
    tasks: dict[tuple[object, ...], _LevelTask] = {}
    places = 0
    with spec.executor() as workers:
        collected = _collected(spec, census, metrics, questions, watch, workers)
        known = {at: seen.in_training for at, (_, seen) in collected.items()}
        records += [metric.record(AgreementRecord) for metric in watch.unavailable()]
        for question in questions:
            of_group = [table.of_group(question.group) for table in collected[question.rated][0].values()]
            mine = units[question.rated][question.group]
            kept, reported = screened_ratings(
                mine.ratings(ratings), question.dimension, question.rated, question.group, spec
            )
            screened += reported
            about = mine.rated(kept, question.rated)
            people = gold(about, question.dimension, question.rated, rescale=spec.rescale)
            rated += _rated(question, people)
            for level in question.levels:
                key = (question.group, question.rated) if level == "system" else (places,)
                task = tasks.setdefault(key, _LevelTask([], level, of_group))
                task.questions.append((places, question, people))
                places += 1
            if spec.files is not None:
                for table in of_group:
                    examples += disagreements(table, people, group=question.group)
            if spec.length_bias and question.rated == "turn":
                gaps = collected[question.rated][1].length_gaps
                length_biases += length_bias_records(of_group, people, gaps, group=question.group)
            if spec.normalised and question.rated == "turn":
                counts += disagreement_records(of_group, people, group=question.group)
        answers = [
            answer for _, several in workers.in_order(_answers, spec, tasks.values()) for answer in several
        ]
    for _, question, agreements, differing in sorted(answers, key=lambda answer: answer[0]):
        records += [marked(record, known[question.rated]) for record in agreements]
        compared += differing
    if all(record.undefined for record in records):
        raise UsageError(
            "none of these metrics has a number at that level; `turnwise ls metrics` shows levels"
        )
    if spec.files is not None:
        write_lines(spec.files, "people.jsonl", rated)
        read = all_items(spec.paths, selection(spec, "turn"), census) if examples else ()
        write_lines(spec.files, "examples.jsonl", with_texts(examples, read))
    document = finish(
        MetaDocument,
        spec,
        records,
        census.sha256,
        differences=with_adjusted_p(compared),
        raters=tuple(screened),
        length_bias=tuple(length_biases),
        normalised=tuple(counts),
        notes=(*cut_agents(spec, census), *watch.silence()),
        **census.automatic_section(),
        **census.unused_section(),
    )
    add_agreement(metrics, document.results, list(spec.paths))
    return document


def check_not_itself(spec: "MetaEvaluate", census: Census) -> None:
    """Raise `UsageError` if a metric is the rating that metrics are compared with."""
    known = census.dimensions
    default = "overall" if "overall" in known else next(iter(known))
    for name in filter(is_rating, spec.metrics):
        dimension, _ = parse(name, known)
        if spec.dimension == "all" or dimension == (spec.dimension or default):
            with_it = f"with `{dimension}`" if spec.dimension != "all" else "with every dimension"
            raise UsageError(
                f"`{name}` is what people said, and `meta` would compare it {with_it}, that is with itself; choose "
                f"another {setting('--dimension')}, or leave {setting('-m')} out for the agreement of the raters"
            )


def _collected(
    spec: "MetaEvaluate",
    census: Census,
    metrics: Mapping[str, Metric],
    questions: Sequence[Question],
    watch: Watch,
    workers: Executor,
) -> dict[RatedLevel, tuple[dict[str, ScoreTable], SeenItems]]:
    """For each rated level: the score table of each metric, and what is known of the items."""
    with BlockStore(spec.folder, reuse=spec.reuse) as store, listing(metrics, spec.files) as lines:
        settings: dict[str, Any] = {"watch": watch, "workers": workers, "lines": lines}
        found: dict[RatedLevel, tuple[dict[str, ScoreTable], SeenItems]] = {}
        for level in dict.fromkeys(question.rated for question in questions):
            seen = SeenItems(metrics, lengths=spec.length_bias)
            tables, _ = collect(
                spec, census, metrics, store, selection(spec, level), see=seen.add, **settings
            )
            found[level] = tables, seen
        return found


def _rated(question: Question, people: Gold) -> list[dict[str, Any]]:
    """The lines of `people.jsonl`: the mean rating of each rated turn or dialogue, and the number of its ratings."""
    about = {"dimension": question.dimension, "group": question.group, "level": question.rated}
    counts = np.sum(~np.isnan(people.matrix.values), axis=0)
    return [
        {"id": name, **about, "people": people.values[name], "n_ratings": int(count)}
        for name, count in zip(people.matrix.items, counts, strict=True)
    ]


def _answers(
    spec: "MetaEvaluate", task: _LevelTask
) -> list[tuple[int, Question, list[AgreementRecord], list[MetricDifference]]]:
    """For each question: its place, the agreement of each metric with people, and the tests of every two metrics."""
    group = task.questions[0][1].group
    shared = SharedDraws(lambda: generator(spec.seed, "meta", group, task.level))
    systems = SystemDraws(spec.draws, shared)
    return [
        (place, question, *_answer(spec, question, people, task, shared, systems))
        for place, question, people in task.questions
    ]


def _answer(
    spec: "MetaEvaluate",
    question: Question,
    people: Gold,
    task: _LevelTask,
    shared: SharedDraws,
    systems: SystemDraws,
) -> tuple[list[AgreementRecord], list[MetricDifference]]:
    """The agreement of each metric with people, and the tests of every two metrics, at one level."""
    level = task.level
    able = [table for table in task.tables if has_level(table, level)]
    settings: dict[str, Any] = {
        "group": question.group,
        "draws": spec.draws,
        "precision": spec.precision,
        "intervals": spec.intervals,
        "rng": shared,
        "systems": systems,
    }
    agreements = [
        _with_uneven_counts(correlate(table, people, level, name, **settings), table, level)
        for table in able
        for name in spec.statistics
        if level == "system" or name not in SYSTEMS_ONLY
    ]
    agreements += [_lacking(table, question, level) for table in task.tables if table not in able]
    tested = [name for name in spec.statistics if name in DIFFERING and spec.differences]
    return agreements, differences(
        able, people, level, tested, group=question.group, draws=spec.draws, rng=shared
    )


def _with_uneven_counts(record: AgreementRecord, table: ScoreTable, level: Level) -> AgreementRecord:
    """The record with the fewest and most items of an agent, if the metric depends on their number and they differ."""
    if level != "system" or isinstance(table.metric, Summed | SamplesRaters) or not len(table):
        return record
    counts = Counter(table.agents).values()
    if max(counts) <= UNEVEN * min(counts):
        return record
    return replace(record, uneven=(min(counts), max(counts)))


def _lacking(table: ScoreTable, question: Question, level: Level) -> AgreementRecord:
    """The record of a metric without a number at this level. One stands for all statistics."""
    return AgreementRecord(
        metric=table.name,
        dimension=question.dimension,
        group=question.group or None,
        level=level,
        estimate=None,
        status="skipped",
        reason=f"it has no number for a single {level}; its finest level is the {table.metric.level}",
        signature=str(table.metric.signature),
        undefined=True,
    )


def _questions(
    units: Mapping[RatedLevel, Mapping[str, RatedUnits]],
    ratings: Sequence[Rating],
    dimension: str | None,
    level: Level | None,
) -> Iterator[Question]:
    """The questions of a run.

    Each group has its own dimensions. Without `dimension` it is `overall`, else the group's only one. Raises
    `UsageError` at the end if there was no question, and an error if a group has no clear default.
    """
    answered = False
    for group in dict.fromkeys(name for groups in units.values() for name in groups):
        rated: dict[tuple[str, RatedLevel], None] = {}
        for what, groups in units.items():
            there = groups[group].rated(ratings, what) if group in groups else []
            rated.update(((rating.dimension, what), None) for rating in there)
        known = tuple(dict.fromkeys(name for name, _ in rated))
        chosen = known if dimension == "all" else (dimension or _default_dimension(known, group),)
        for name in chosen:
            for what in RATED:
                levels: tuple[Level, ...] = tuple(one for one in (what, "system") if level in (None, one))
                if (name, what) in rated and levels:
                    answered = True
                    yield Question(group, name, what, levels)
    if not answered:
        at = f" at {level} level" if level else ""
        raise UsageError(f"no scored item was rated on `{dimension or 'any dimension'}`{at}")


def _default_dimension(known: Sequence[str], group: str) -> str:
    """`overall`, or the only rated dimension of the group.

    Raises `UsageError` if there are several others, and `DataError` if there is none.
    """
    if "overall" in known or len(known) == 1:
        return "overall" if "overall" in known else known[0]
    place = f" in group `{group}`" if group else ""
    if not known:
        raise DataError(f"no scored item{place} was rated")
    raise UsageError(
        f"several dimensions were rated{place}: {', '.join(known)}; choose with {setting('--dimension')}, or `all`"
    )
