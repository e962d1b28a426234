"""`turnwise meta`: metrics against people, at every level that the ratings have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwise.errors import DataError, UsageError, unknown
from turnwise.logs.native import read_all
from turnwise.logs.scan import scan
from turnwise.meta.correlate import STATISTICS, correlate, supports
from turnwise.meta.differences import adjusted, differences
from turnwise.meta.gold import Gold, gold
from turnwise.meta.table import ScoreTable
from turnwise.ratings.matrix import RatedLevel
from turnwise.run.collect import collect
from turnwise.run.listing import listing
from turnwise.run.outcome import Outcome, finish
from turnwise.run.raters import (
    RATED,
    Judged,
    believed,
    check_dimension,
    judged,
    rated_levels,
    selection,
    turned,
)
from turnwise.run.scoring import Watch, prepare
from turnwise.run.spec import Spec
from turnwise.run.store import Store
from turnwise.run.tally import generator
from turnwise.types import Finding, Item, Level, Metric, Rating

DIFFERING = ("pearson", "spearman")  # statistics on which metrics are tested against each other


@dataclass(frozen=True, slots=True)
class Question:
    """One dimension of one group, as rated at one level, and the levels to report on."""

    group: str
    dimension: str
    rated: RatedLevel
    levels: tuple[Level, ...]


def meta(spec: Spec) -> Outcome:
    census = scan(spec.data, apart=spec.selection.apart)
    asked = dict(spec.options)
    for name in asked["statistics"]:
        if name not in STATISTICS:
            raise unknown("statistic", name, tuple(STATISTICS))
    check_dimension(census, asked["dimension"])
    said = [r for dialogue in read_all(spec.data, apart=census.apart) for r in dialogue.ratings]
    ratings = turned(said, asked["lower"])
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    units = {level: judged(spec, census, level) for level in rated_levels(census, asked["dimension"])}
    questions = list(_questions(units, ratings, asked["dimension"], asked["level"]))
    with Store(spec.output, reuse=spec.reuse) as store, listing(metrics, spec.output) as lines:
        settings: dict[str, Any] = {"watch": watch, "lines": lines}
        collected = {
            level: collect(spec, census, metrics, store, selection(spec, level), **settings)
            for level in dict.fromkeys(question.rated for question in questions)
        }
    tables = {level: tables for level, (tables, _) in collected.items()}
    known = {level: _in_training(metrics, list(items.values())) for level, (_, items) in collected.items()}
    found: list[Finding] = [*absent, *watch.findings()]
    compared: list[dict[str, Any]] = []
    reports: list[dict[str, Any]] = []
    for question in questions:
        of_group = [table.of_group(question.group) for table in tables[question.rated].values()]
        mine = units[question.rated][question.group]
        kept, reported = believed(
            mine.ratings(ratings), question.dimension, question.rated, question.group, asked
        )
        reports += reported
        about = mine.rated(kept, question.rated)
        people = gold(about, question.dimension, question.rated, rescale=asked["rescale"])
        for level in question.levels:
            findings, differing = _answers(spec, asked, question, level, of_group, people)
            found += [_marked(finding, known[question.rated]) for finding in findings]
            compared += differing
    if not found:
        raise UsageError(
            "none of these metrics has a number at that level; `turnwise ls metrics` shows levels"
        )
    return finish(spec, tuple(found), census.sha256, differences=adjusted(compared), raters=reports)


def _in_training(metrics: Mapping[str, Metric], items: Sequence[Item]) -> dict[str, str]:
    """Metrics that learned from some of these items, and how many: their agreement there is no evidence."""
    counts = {
        name: metric.in_training(items) for name, metric in metrics.items() if hasattr(metric, "in_training")
    }
    return {name: f"{count} of {len(items)}" for name, count in counts.items() if count}


def _marked(finding: Finding, known: Mapping[str, str]) -> Finding:
    count = known.get(str(finding.what.get("metric")))
    return replace(finding, details={**finding.details, "in_training": count}) if count else finding


def _answers(
    spec: Spec,
    asked: Mapping[str, Any],
    question: Question,
    level: Level,
    tables: Sequence[ScoreTable],
    people: Gold,
) -> tuple[list[Finding], list[dict[str, Any]]]:
    """Each metric against people, and every two metrics against each other, at one level."""
    able = [table for table in tables if supports(table, level)]
    about = (question.dimension, question.group, level)
    settings: dict[str, Any] = {"group": question.group, "draws": spec.draws}
    settings |= {name: asked[name] for name in ("precision", "intervals")}
    findings = [
        correlate(table, people, level, name, rng=generator(spec.seed, table.name, name, *about), **settings)
        for table in able
        for name in asked["statistics"]
    ]
    tested = [name for name in asked["statistics"] if name in DIFFERING and asked["differences"]]
    rng = generator(spec.seed, "differences", *about)
    return findings, differences(able, people, level, tested, group=question.group, draws=spec.draws, rng=rng)


def _questions(
    units: Mapping[RatedLevel, Mapping[str, Judged]],
    ratings: Sequence[Rating],
    dimension: str | None,
    level: Level | None,
) -> Iterator[Question]:
    """What can be asked. Each group has its own dimensions: `overall`, else its only one, unless told."""
    answered = False
    for group in dict.fromkeys(name for groups in units.values() for name in groups):
        rated: dict[tuple[str, RatedLevel], None] = {}
        for what, groups in units.items():
            there = groups[group].rated(ratings, what) if group in groups else []
            rated.update(((rating.dimension, what), None) for rating in there)
        known = tuple(dict.fromkeys(name for name, _ in rated))
        chosen = known if dimension == "all" else (dimension or _default(known, group),)
        for name in chosen:
            for what in RATED:
                levels: tuple[Level, ...] = tuple(one for one in (what, "system") if level in (None, one))
                if (name, what) in rated and levels:
                    answered = True
                    yield Question(group, name, what, levels)
    if not answered:
        at = f" at {level} level" if level else ""
        raise UsageError(f"nothing that is judged was rated on `{dimension or 'any dimension'}`{at}")


def _default(known: Sequence[str], group: str) -> str:
    if "overall" in known or len(known) == 1:
        return "overall" if "overall" in known else known[0]
    place = f" in group `{group}`" if group else ""
    if not known:
        raise DataError(f"nothing that is judged{place} was rated")
    raise UsageError(
        f"several dimensions were rated{place}: {', '.join(known)}; choose with --dimension, or `all`"
    )
