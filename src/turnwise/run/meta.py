"""`turnwise meta`: metrics against people, at every level that the ratings have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwise.errors import DataError, UsageError, unknown
from turnwise.logs.scan import Census, scan
from turnwise.meta.correlate import STATISTICS, correlate, supports
from turnwise.meta.differences import adjusted, differences
from turnwise.meta.gold import gold
from turnwise.meta.table import ScoreTable
from turnwise.ratings.matrix import RatedLevel
from turnwise.run.collect import collect
from turnwise.run.outcome import Outcome, finish
from turnwise.run.raters import believed
from turnwise.run.scoring import dialogues, prepare
from turnwise.run.spec import Spec
from turnwise.run.store import Store
from turnwise.run.tally import generator
from turnwise.types import Finding, Level, Metric, Rating

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
    _check_dimension(census, asked["dimension"])
    metrics, absent = prepare(spec, census)
    ratings = [rating for dialogue in dialogues(spec.data) for rating in dialogue.ratings]
    reports: list[dict[str, Any]] = []
    with Store(spec.output, reuse=spec.reuse) as store:
        tables = _tables(spec, metrics, store, census)
    found: list[Finding] = list(absent)
    compared: list[dict[str, Any]] = []
    for question in _questions(tables, ratings, asked["dimension"], asked["level"]):
        mine = [table.of_group(question.group) for table in tables[question.rated]]
        units = _units(mine, question.rated)
        kept, reported = believed(ratings, question.dimension, question.rated, question.group, asked)
        reports += reported
        judged = [rating for rating in kept if rating.item in units]
        people = gold(judged, question.dimension, question.rated, rescale=asked["rescale"])
        for level in question.levels:
            able = [table for table in mine if supports(table, level)]
            about = (question.dimension, question.group, level)
            for table in able:
                for statistic in asked["statistics"]:
                    rng = generator(spec.seed, table.name, statistic, *about)
                    settings = {"group": question.group, "precision": asked["precision"], "draws": spec.draws}
                    found.append(correlate(table, people, level, statistic, rng=rng, **settings))
            tested = [name for name in asked["statistics"] if name in DIFFERING]
            rng = generator(spec.seed, "differences", *about)
            compared += differences(
                able, people, level, tested, group=question.group, draws=spec.draws, rng=rng
            )
    if not found:
        raise UsageError(
            "none of these metrics has a number at that level; `turnwise ls metrics` shows levels"
        )
    return finish(spec, tuple(found), census.sha256, differences=adjusted(compared), raters=reports)


def _check_dimension(census: Census, dimension: str | None) -> None:
    known = census.dimensions
    if not known:
        raise DataError("there are no ratings in the data, and a metric can only be held against people's")
    if dimension not in (None, "all", *known):
        raise UsageError(f"no rating has the dimension `{dimension}`; there are {', '.join(known)}")


def _tables(
    spec: Spec, metrics: Mapping[str, Metric], store: Store, census: Census
) -> dict[RatedLevel, list[ScoreTable]]:
    """Rated turns are scored for ratings of turns, all turns of the role for ratings of dialogues."""
    asked = dict(spec.options)["dimension"]
    wanted = [asked] if asked in census.dimensions else list(census.dimensions)
    tables: dict[RatedLevel, list[ScoreTable]] = {}
    for rated in RATED:
        counts = [census.dimensions[name] for name in wanted]
        if any(count.n_turn if rated == "turn" else count.n_dialogue for count in counts):
            judged = spec.selection.judged or ("rated" if rated == "turn" else "all")
            selection = replace(spec.selection, judged=judged)
            found, _ = collect(spec, metrics, store, selection, total=census.n_dialogues)
            tables[rated] = list(found.values())
    return tables


def _units(tables: Sequence[ScoreTable], rated: RatedLevel) -> set[str]:
    return {unit for table in tables for unit in (table.ids if rated == "turn" else table.dialogues)}


def _questions(
    tables: Mapping[RatedLevel, Sequence[ScoreTable]],
    ratings: Sequence[Rating],
    dimension: str | None,
    level: Level | None,
) -> Iterator[Question]:
    """What can be asked. Each group has its own dimensions: `overall`, else its only one, unless told."""
    groups = dict.fromkeys(name for mine in tables.values() for table in mine for name in table.groups)
    missed = []
    for group in groups:
        rated: dict[tuple[str, RatedLevel], None] = {}
        for what, mine in tables.items():
            units = _units([table.of_group(group) for table in mine], what)
            rated.update(
                ((rating.dimension, what), None)
                for rating in ratings
                if (rating.turn is None) == (what == "dialogue") and rating.item in units
            )
        known = tuple(dict.fromkeys(name for name, _ in rated))
        chosen = (
            known if dimension == "all" else (_default(known, group) if dimension is None else dimension,)
        )
        for name in chosen:
            for what in RATED:
                levels: tuple[Level, ...] = tuple(one for one in (what, "system") if level in (None, one))
                if (name, what) in rated and levels:
                    yield Question(group, name, what, levels)
                else:
                    missed.append(name)
    if len(missed) == 2 * len(groups) and dimension != "all":
        raise UsageError(f"`{missed[0]}` was not rated at {level} level in what is judged")


def _default(known: Sequence[str], group: str) -> str:
    if "overall" in known or len(known) == 1:
        return "overall" if "overall" in known else known[0]
    place = f" in group `{group}`" if group else ""
    if not known:
        raise DataError(f"nothing that is judged{place} was rated")
    raise UsageError(
        f"several dimensions were rated{place}: {', '.join(known)}; choose with --dimension, or `all`"
    )
