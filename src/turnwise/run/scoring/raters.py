"""Agreement of the raters and screening of raters: `turnwise meta` without a metric.

The rated items and their clusters are those of the selection, as in `meta` with a metric.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isnan
from typing import TYPE_CHECKING, Any

from turnwise.errors import DataError, UsageError, setting
from turnwise.logs.items.items import Selection, all_items
from turnwise.logs.scan import Census, scan
from turnwise.metrics import RATING
from turnwise.ratings.agreement import Agreement, Coefficient, agreement
from turnwise.ratings.matrix import RatedLevel, dialogue_of, dimensions
from turnwise.ratings.quality import screen
from turnwise.records import AgreementRecord, ScreenedRater, finite
from turnwise.report.documents import MetaDocument
from turnwise.run.scoring.pair_meta import pair_raters, with_automatic_raters
from turnwise.run.spec import finish
from turnwise.types import Rating

if TYPE_CHECKING:
    from turnwise.commands.meta import MetaEvaluate

RATED: tuple[RatedLevel, ...] = ("turn", "dialogue")

# Field of `Agreement` -> name of the statistic.
COEFFICIENTS = {
    "alpha_ordinal": "alpha-ordinal",
    "alpha_interval": "alpha-interval",
    "alpha_nominal": "alpha-nominal",
    "fleiss": "fleiss-kappa",
    "pairwise_kappa": "median-kappa",
    "pairwise_kappa_quadratic": "median-kappa-quadratic",
    "pairwise_correlation": "median-correlation",
    "leave_one_out": "leave-one-out",
    "reliability": "reliability",
    "ceiling": "ceiling",
}


@dataclass(frozen=True, slots=True)
class RatedUnits:
    """The rated turns or dialogues of one group that the selection keeps.

    `clusters` maps their ids to clusters; `dialogues` are the ids of the dialogues that they belong to.
    """

    clusters: dict[str, str] = field(default_factory=dict)  # id of a turn or dialogue -> its cluster
    dialogues: set[str] = field(default_factory=set)

    def ratings(self, ratings: Sequence[Rating]) -> list[Rating]:
        """All ratings of the kept dialogues. An attention check may be on any turn or dimension."""
        return [rating for rating in ratings if dialogue_of(rating) in self.dialogues]

    def rated(self, ratings: Sequence[Rating], level: RatedLevel) -> list[Rating]:
        """The ratings of the kept turns, or of the kept dialogues as a whole, on every dimension."""
        whole = level == "dialogue"
        return [r for r in ratings if (r.turn is None) == whole and r.item in self.clusters]


def raters(spec: "MetaEvaluate") -> MetaDocument:
    """Run `turnwise meta` without a metric: the raters' agreement on each dimension, after screening if asked.

    It is about preferences if the level is `pair`, or if the data has preferences and no ratings. Raises `DataError` if
    nothing in the selection was rated.
    """
    census = scan(spec.paths, apart=spec.selection.apart, command="meta")
    if spec.level == "pair" or (spec.level is None and census.preferences and not census.dimensions):
        return pair_raters(spec, census)
    check_dimension(census, spec.dimension)
    every = with_direction(census.read_ratings(), spec.lower_is_better)
    records: list[AgreementRecord] = []
    reports: list[ScreenedRater] = []
    for level, group, units in _questions(spec, census):
        there = units.rated(every, level)
        for name in dimensions(there) if spec.dimension in (None, "all") else (spec.dimension,):
            if not any(rating.dimension == name for rating in there):
                continue
            kept, reported = screened_ratings(units.ratings(every), name, level, group, spec)
            reports += reported
            records += _agreement(units.rated(kept, level), units, name, level, group, spec)
    if not records:
        at = f" at {spec.level} level" if spec.level else ""
        raise DataError(f"no selected item was rated on `{spec.dimension or 'any dimension'}`{at}")
    records = with_automatic_raters(records, census)
    return finish(
        MetaDocument, spec, records, census.sha256, raters=tuple(reports), **census.automatic_section()
    )


def _questions(spec: "MetaEvaluate", census: Census) -> Iterator[tuple[RatedLevel, str, RatedUnits]]:
    """The level, group and units of each question. A level without items is an error only if no level has items."""
    if spec.level == "system":
        raise UsageError(
            f"raters agree about turns or dialogues, not about systems; choose another {setting('--level')}"
        )
    empty: list[DataError] = []
    levels = [one for one in rated_levels(census, spec.dimension) if spec.level in (None, one)]
    for level in levels:
        try:
            groups = rated_units(spec, census, level)
        except DataError as error:
            empty.append(error)
        else:
            yield from ((level, group, units) for group, units in groups.items())
    if empty and len(empty) == len(levels):
        raise empty[0]


def check_dimension(census: Census, dimension: str | None) -> None:
    """Raise `DataError` if the data has no ratings, and `UsageError` if it has none on `dimension`.

    None and `all` stand for any dimension.
    """
    known = census.dimensions
    if not known:
        instead = "; `meta --level pair` asks for its preferences" if census.preferences else ""
        raise DataError(f"there are no ratings in the data to compare with{instead}")
    if dimension not in (None, "all", *known):
        raise UsageError(f"no rating has the dimension `{dimension}`; there are {', '.join(known)}")


def one_dimension(census: Census, name: str | None, *, option: str) -> str:
    """The dimension that is named, with or without `rating:`; by default `overall`, else the only one.

    Raises `UsageError` where there are several and none is named; `option` is the option that names one.
    """
    name = None if name is None else name.removeprefix(RATING)
    check_dimension(census, name)
    known = list(census.dimensions)
    if name == "all":
        raise UsageError(f"{setting(option)} names one dimension; there are {', '.join(known)}")
    if name is None and "overall" not in known and len(known) > 1:
        raise UsageError(
            f"several dimensions were rated: {', '.join(known)}; choose with "
            f"{setting(option, f'{RATING}{known[0]}')}"
        )
    return name or ("overall" if "overall" in known else known[0])


def rated_levels(census: Census, dimension: str | None) -> list[RatedLevel]:
    """The levels, turn or dialogue, at which `dimension` (None or "all": any) was rated."""
    counts = [count for name, count in census.dimensions.items() if dimension in (None, "all", name)]
    there = {"turn": any(one.n_turn for one in counts), "dialogue": any(one.n_dialogue for one in counts)}
    return [level for level in RATED if there[level]]


def selection(spec: "MetaEvaluate", rated: RatedLevel) -> Selection:
    """The selection of items: rated turns for ratings of turns, all turns of the role for ratings of dialogues."""
    return replace(spec.selection, items=spec.selection.items or ("rated" if rated == "turn" else "all"))


def rated_units(spec: "MetaEvaluate", census: Census, rated: RatedLevel) -> dict[str, RatedUnits]:
    """Group -> its units of the selection, rated turns or dialogues, whether or not a metric can score them."""
    groups: dict[str, RatedUnits] = {}
    whole = rated == "dialogue"
    for item in all_items(spec.paths, selection(spec, rated), census, whole=whole, silent=True):
        units = groups.setdefault(item.group, RatedUnits())
        units.clusters[item.id] = item.cluster
        units.dialogues.add(item.dialogue)
    return groups


def with_direction(ratings: Sequence[Rating], lower: Collection[str]) -> list[Rating]:
    """The ratings with direction `lower` on the dimensions in `lower`, whatever direction the file gives.

    Raises `UsageError` for a dimension in `lower` on which nothing was rated.
    """
    known = dimensions(ratings)
    for name in lower:
        if name not in known:
            raise UsageError(
                f"{setting('--lower-is-better')}: no rating has the dimension `{name}`; there are {', '.join(known)}"
            )
    return [replace(r, direction="lower") if r.dimension in lower else r for r in ratings]


def screened_ratings(
    ratings: Sequence[Rating], dimension: str, level: RatedLevel, group: str, spec: "MetaEvaluate"
) -> tuple[list[Rating], list[ScreenedRater]]:
    """The ratings of one dimension and level by the raters who pass the screening, and a record of each rater.

    Without --screen every rater passes, and there are no records.
    """
    kept, reports = ratings, list[ScreenedRater]()
    if spec.screen:
        # Attention checks may be on any dimension, so the screening gets all ratings.
        screened = screen(ratings, dimension, level=level, stable_raters=spec.stable_raters)
        kept = screened.kept
        about: dict[str, Any] = {"group": group or None, "dimension": dimension, "level": level}
        reports = [
            ScreenedRater(**about | asdict(report) | {"kappa": finite(report.kappa)})
            for report in screened.raters
        ]
    whole = level == "dialogue"
    mine = [r for r in kept if r.dimension == dimension and (r.turn is None) == whole]
    return mine, reports


def _agreement(
    ratings: Sequence[Rating],
    units: RatedUnits,
    dimension: str,
    level: RatedLevel,
    group: str,
    spec: "MetaEvaluate",
) -> list[AgreementRecord]:
    """A record for each agreement coefficient of one dimension, level and group.

    One `skipped` record without ratings.
    """
    about: dict[str, Any] = {"dimension": dimension, "group": group or None, "level": level}
    if not ratings:
        reason = f"{setting('--screen')} set every rating apart"
        return [AgreementRecord(**about, estimate=None, status="skipped", reason=reason)]
    (row,) = agreement(
        ratings,
        stable_raters=spec.stable_raters,
        rescale=spec.rescale,
        clusters=units.clusters,
    )
    n_clusters = len({units.clusters[rating.item] for rating in ratings})
    named: dict[str, Coefficient] = {name: getattr(row, field) for field, name in COEFFICIENTS.items()}
    return [_record({**about, "statistic": name}, figure, row, n_clusters) for name, figure in named.items()]


def _record(
    about: Mapping[str, Any], figure: Coefficient, row: Agreement, n_clusters: int
) -> AgreementRecord:
    """The record of one agreement coefficient; `about` has the fields that say what it is about."""
    return AgreementRecord(
        **about,
        estimate=finite(figure.value),
        interval=figure.interval,
        n_items=row.n_items,
        n_clusters=n_clusters,
        method="jackknife by cluster" if figure.interval else "",
        status="skipped" if isnan(figure.value) else "ok",
        reason=figure.reason,
        n_raters=row.n_raters,
        n_ratings=row.n_ratings,
        raters_are=row.identity,
    )
