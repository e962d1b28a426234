"""`turnwise meta`: metrics against people, at every level that the ratings have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwise.errors import DataError, UsageError, unknown
from turnwise.logs.items import Selection, items
from turnwise.logs.scan import Census, scan
from turnwise.meta.correlate import STATISTICS, correlate, supports
from turnwise.meta.differences import adjusted, differences
from turnwise.meta.gold import Gold, gold
from turnwise.meta.table import ScoreTable
from turnwise.ratings.matrix import RatedLevel, dialogue_of
from turnwise.run.collect import collect
from turnwise.run.listing import listing
from turnwise.run.outcome import Outcome, finish
from turnwise.run.raters import believed, turned
from turnwise.run.scoring import Watch, dialogues, prepare
from turnwise.run.spec import Spec
from turnwise.run.store import Store
from turnwise.run.tally import generator
from turnwise.types import Finding, Level, Rating

DIFFERING = ("pearson", "spearman")  # statistics on which metrics are tested against each other
RATED: tuple[RatedLevel, ...] = ("turn", "dialogue")


@dataclass(frozen=True, slots=True)
class Question:
    """One dimension of one group, as rated at one level, and the levels to report on."""

    group: str
    dimension: str
    rated: RatedLevel
    levels: tuple[Level, ...]


def meta(spec: Spec) -> Outcome:
    census = scan(spec.data)
    asked = dict(spec.options)
    for name in asked["statistics"]:
        if name not in STATISTICS:
            raise unknown("statistic", name, tuple(STATISTICS))
    check_dimension(census, asked["dimension"])
    ratings = turned([r for dialogue in dialogues(spec.data) for r in dialogue.ratings], asked["lower"])
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    judged = {level: _judged(spec, level) for level in _rated_levels(census, asked["dimension"])}
    questions = list(_questions(judged, ratings, asked["dimension"], asked["level"]))
    with Store(spec.output, reuse=spec.reuse) as store, listing(metrics, spec.output) as lines:
        settings: dict[str, Any] = {"watch": watch, "total": census.n_dialogues, "lines": lines}
        tables = {
            level: collect(spec, metrics, store, _selection(spec, level), **settings)[0]
            for level in dict.fromkeys(question.rated for question in questions)
        }
    found: list[Finding] = [*absent, *watch.findings()]
    compared: list[dict[str, Any]] = []
    reports: list[dict[str, Any]] = []
    for question in questions:
        of_group = [table.of_group(question.group) for table in tables[question.rated].values()]
        units = judged[question.rated][question.group]
        mine = [rating for rating in ratings if dialogue_of(rating) in units.values() or rating.item in units]
        kept, reported = believed(mine, question.dimension, question.rated, question.group, asked)
        reports += reported
        about = [rating for rating in kept if rating.item in units]
        people = gold(about, question.dimension, question.rated, rescale=asked["rescale"])
        for level in question.levels:
            findings, differing = _answers(spec, asked, question, level, of_group, people)
            found += findings
            compared += differing
    if not found:
        raise UsageError(
            "none of these metrics has a number at that level; `turnwise ls metrics` shows levels"
        )
    return finish(spec, tuple(found), census.sha256, differences=adjusted(compared), raters=reports)


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
    settings: dict[str, Any] = {"group": question.group, "precision": asked["precision"], "draws": spec.draws}
    findings = [
        correlate(table, people, level, name, rng=generator(spec.seed, table.name, name, *about), **settings)
        for table in able
        for name in asked["statistics"]
    ]
    tested = [name for name in asked["statistics"] if name in DIFFERING]
    rng = generator(spec.seed, "differences", *about)
    return findings, differences(able, people, level, tested, group=question.group, draws=spec.draws, rng=rng)


def check_dimension(census: Census, dimension: str | None) -> None:
    known = census.dimensions
    if not known:
        raise DataError("there are no ratings in the data, and a metric can only be held against people's")
    if dimension not in (None, "all", *known):
        raise UsageError(f"no rating has the dimension `{dimension}`; there are {', '.join(known)}")


def _rated_levels(census: Census, dimension: str | None) -> list[RatedLevel]:
    counts = [count for name, count in census.dimensions.items() if dimension in (None, "all", name)]
    there = {"turn": any(one.n_turn for one in counts), "dialogue": any(one.n_dialogue for one in counts)}
    return [level for level in RATED if there[level]]


def _selection(spec: Spec, rated: RatedLevel) -> Selection:
    """Rated turns are judged for ratings of turns, all turns of the role for ratings of dialogues."""
    judged = spec.selection.judged or ("rated" if rated == "turn" else "all")
    return replace(spec.selection, judged=judged)


def _judged(spec: Spec, rated: RatedLevel) -> dict[str, dict[str, str]]:
    """group -> rated unit -> its dialogue, of all that is judged, whether or not a metric can score it."""
    groups: dict[str, dict[str, str]] = {}
    for item in items(dialogues(spec.data), _selection(spec, rated)):
        unit = item.id if rated == "turn" else item.dialogue
        groups.setdefault(item.group, {})[unit] = item.dialogue
    return groups


def _questions(
    judged: Mapping[RatedLevel, Mapping[str, Mapping[str, str]]],
    ratings: Sequence[Rating],
    dimension: str | None,
    level: Level | None,
) -> Iterator[Question]:
    """What can be asked. Each group has its own dimensions: `overall`, else its only one, unless told."""
    answered = False
    for group in dict.fromkeys(name for groups in judged.values() for name in groups):
        rated: dict[tuple[str, RatedLevel], None] = {}
        for what, groups in judged.items():
            units = groups.get(group, {})
            rated.update(
                ((rating.dimension, what), None)
                for rating in ratings
                if (rating.turn is None) == (what == "dialogue") and rating.item in units
            )
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
