"""Rating matrix: the ratings of one dimension, raters by items, with NaN where a rater did not rate an item.

In some files a rater's name identifies a person across items. In many published corpora `r1, r2, ...` only number the
ratings of one item, and the `r1` of two items may be two people. Then statistics of a person (kappa of a pair,
normalisation by rater, dropping a rater) are not defined, while statistics within items (alpha, leave-one-out) are.
`identity` says which case it is:

people     names identify people
positions  names number the ratings of one item
mean       only the mean over raters was published, so agreement is unknown

With `stable_raters=None` the identity is guessed: positions if all names are `r` and digits, or if names are missing.
The guess is recorded, because a file can also number people this way (USR's does).
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from turnwise.errors import DataError, counted, setting
from turnwise.types import MEAN_RATER, Direction, Floats, Ints, Rating

Identity = Literal["people", "positions", "mean"]
RatedLevel = Literal["turn", "dialogue"]

MAX_CELLS = 2**26  # maximum size of a matrix: half a gigabyte
MAX_CATEGORIES = 1001  # maximum number of categories of a kappa table
T = TypeVar("T")
_POSITION = re.compile(r"r\d+")


@dataclass(frozen=True, slots=True, eq=False)
class RatingMatrix:
    """Ratings of one dimension at one level, raters by items."""

    dimension: str
    level: RatedLevel
    raters: tuple[str, ...]
    items: tuple[str, ...]
    clusters: tuple[str, ...]  # cluster of each item, for resampling
    values: Floats  # (raters, items), NaN for a missing rating
    scale: tuple[float, float] | None
    direction: Direction
    identity: Identity
    guessed: bool  # whether `identity` was guessed from the raters' names
    repeats: int = 0  # ratings superseded by a later one of the same rater on the same item
    repeats_equal: int = 0  # repeats with the same value as the rating that was kept
    means: int = 0  # published means that are ignored because there are single ratings

    @property
    def counts(self) -> Ints:
        """Number of ratings of each item, (items,)."""
        counts: Ints = np.sum(~np.isnan(self.values), axis=0, dtype=np.int64)
        return counts

    @property
    def categories(self) -> Floats:
        """The points low, low + 1, ... of the scale if there are at most 1001 and every rating is one of them.

        Otherwise, and without a scale, the values that occur, in ascending order.
        """
        used = np.unique(self.values[~np.isnan(self.values)])
        low, high = self.scale or (0.0, np.inf)
        if high - low < MAX_CATEGORIES and np.isin(used, whole := np.arange(low, high + 1)).all():
            return whole
        return used

    @property
    def why_no_agreement(self) -> str | None:
        """Why agreement is undefined; None where it is defined."""
        if self.identity == "mean":
            return "only the mean over raters was published"
        if np.sum(self.counts > 1) < 2:
            again = "; where one rater rated an item again, the last rating counts" if self.repeats else ""
            times = f" ({counted(self.repeats, 'time')})" if self.repeats else ""
            return f"fewer than two items have two ratings{again}{times}"
        if np.nanmin(self.values) == np.nanmax(self.values):
            return "all ratings are equal"
        return None

    @property
    def consistency(self) -> float:
        """Share of repeated ratings that equal the rater's last one; NaN without repeats."""
        return self.repeats_equal / self.repeats if self.repeats else float("nan")


def dimensions(ratings: Iterable[Rating]) -> tuple[str, ...]:
    """The rated dimensions, in order of appearance."""
    return tuple(dict.fromkeys(rating.dimension for rating in ratings))


def choose_dimension(ratings: Sequence[Rating], dimension: str | None) -> str:
    """The given dimension; if None, `overall` or else the only rated dimension.

    A `DataError` if there are no ratings, if the given dimension was not rated, or if None leaves several to choose
    from.
    """
    known = dimensions(ratings)
    if not known:
        raise DataError("there are no ratings")
    if dimension is not None and dimension not in known:
        raise DataError(f"no rating has the dimension `{dimension}`; rated were: {', '.join(known)}")
    if dimension is None and "overall" not in known and len(known) > 1:
        raise DataError(f"there are several rated dimensions, name one: {', '.join(known)}")
    return dimension or ("overall" if "overall" in known else known[0])


def levels(ratings: Iterable[Rating]) -> tuple[RatedLevel, ...]:
    """The rated levels (`turn`, `dialogue`), in order of appearance."""
    return tuple(dict.fromkeys(_level(rating) for rating in ratings))


def rating_matrix(
    ratings: Sequence[Rating],
    dimension: str | None = None,
    *,
    level: RatedLevel | None = None,
    stable_raters: bool | None = None,
    rescale: bool | None = None,
    clusters: Mapping[str, str] | None = None,
) -> RatingMatrix:
    """The rating matrix of one dimension and level.

    Of several ratings by one rater on one item the last is used. Several ratings of one item without a rater's name
    count as different raters, numbered by position. `rescale` maps every rating to 0-1 by its own scale; without it,
    different scales in one dimension are an error, which names the option unless it is None. `clusters` maps items to
    clusters; the default is the dialogue. Where a matrix with one row for each person would not fit in memory, rows are
    positions. Published means (rater `mean`) are left out where there are single ratings. Raises `DataError` also where
    there is nothing to use, a rating is not finite, or both levels were rated and `level` is None.
    """
    dimension = choose_dimension(ratings, dimension)
    chosen = [r for r in ratings if r.dimension == dimension and level in (None, _level(r))]
    if not chosen:
        raise DataError(f"no {level} was rated on `{dimension}`")
    if broken := next((r for r in chosen if not math.isfinite(r.value)), None):
        raise DataError(
            f"a rating of `{broken.item}` on `{dimension}` is {broken.value}, not a finite number"
        )
    found = levels(chosen)
    if len(found) > 1:
        raise DataError(f"`{dimension}` was rated for turns and for whole dialogues; choose one with `level`")
    remedy = "use ratings on one scale" if rescale is None else f"{setting('--rescale')} maps all to 0-1"
    direction = _single_value("directions", dimension, {r.direction for r in chosen})
    scale = (0.0, 1.0) if rescale else _single_value("scales", dimension, {r.scale for r in chosen}, remedy)

    single = [r for r in chosen if r.rater != MEAN_RATER]
    identity = raters_identity([r.rater for r in single], stable_raters)
    named = _with_row_names(single or chosen)
    if len({name for name, _ in named}) * len({r.item for _, r in named}) > MAX_CELLS:
        named, identity = _numbered_within_items(named), "positions"
    last: dict[tuple[str, str], float] = {}
    earlier: list[tuple[tuple[str, str], float]] = []
    for name, rating in named:
        cell = (name, rating.item)
        if cell in last:
            earlier.append((cell, last[cell]))
        last[cell] = _rescaled(rating) if rescale else rating.value

    raters = {name: i for i, name in enumerate(sorted({name for name, _ in named}, key=_natural_key))}
    items = {item: j for j, item in enumerate(dict.fromkeys(rating.item for _, rating in named))}
    values = np.full((len(raters), len(items)), np.nan)
    for (name, item), value in last.items():
        values[raters[name], items[item]] = value
    dialogues = {rating.item: dialogue_of(rating) for _, rating in named}
    return RatingMatrix(
        dimension=dimension,
        level=found[0],
        raters=tuple(raters),
        items=tuple(items),
        clusters=tuple((clusters or dialogues).get(item, dialogues[item]) for item in items),
        values=values,
        scale=scale,
        direction=direction,
        identity=identity,
        guessed=stable_raters is None and bool(single),
        repeats=len(earlier),
        repeats_equal=sum(value == last[cell] for cell, value in earlier),
        means=len(chosen) - len(single) if single else 0,
    )


def raters_identity(names: Iterable[str | None], stable_raters: bool | None) -> Identity:
    """Whether rater names identify people or positions; `mean` if there are no names.

    `names` are those of single ratings, not of means; None stands for a missing name. `stable_raters` decides if it is
    not None, but with it a missing name is a `DataError`.
    """
    distinct = set(names)
    if not distinct:
        return "mean"
    if stable_raters is None:
        stable_raters = None not in distinct and not all(_POSITION.fullmatch(name or "") for name in distinct)
    elif stable_raters and None in distinct:
        raise DataError(
            "some ratings have no rater's name, so names cannot identify people; leave out stable_raters"
        )
    return "people" if stable_raters else "positions"


def dialogue_of(rating: Rating) -> str:
    """The id of the dialogue of a rated item: its id without `#TURN` (the inverse of `types.item_id`)."""
    return rating.item if rating.turn is None else rating.item.removesuffix(f"#{rating.turn}")


def _level(rating: Rating) -> RatedLevel:
    """`dialogue` if the rating has no turn, else `turn`."""
    return "dialogue" if rating.turn is None else "turn"


def _single_value(what: str, dimension: str, found: set[T], remedy: str = "") -> T:
    """The only element of `found`, or a `DataError` that lists the different ones and the remedy; `what` names them in
    the plural.
    """
    if len(found) > 1:
        listed = ", ".join(sorted(map(str, found)))
        more = f"; {remedy}" if remedy else ""
        raise DataError(f"the ratings of `{dimension}` have different {what} ({listed}){more}")
    return next(iter(found))


def _with_row_names(ratings: Iterable[Rating]) -> list[tuple[str, Rating]]:
    """Each rating with its row name: the rater's name, or `?N` for the N-th unnamed rating of its item."""
    unnamed: defaultdict[str, int] = defaultdict(int)
    named = []
    for rating in ratings:
        if rating.rater is None:
            unnamed[rating.item] += 1
        named.append((f"?{unnamed[rating.item]}" if rating.rater is None else rating.rater, rating))
    return named


def _numbered_within_items(named: Iterable[tuple[str, Rating]]) -> list[tuple[str, Rating]]:
    """The ratings with row names r1, r2, ... that number the raters of each item in order of appearance."""
    numbers: defaultdict[str, dict[str, int]] = defaultdict(dict)
    return [
        (f"r{numbers[rating.item].setdefault(name, len(numbers[rating.item]) + 1)}", rating)
        for name, rating in named
    ]


def _rescaled(rating: Rating) -> float:
    """The rating's value mapped to 0-1 by its scale; without a scale a `DataError`."""
    low, high = rating.scale or (0.0, 0.0)
    if not low < high:
        raise DataError(f"a rating of `{rating.item}` on `{rating.dimension}` has no scale to map to 0-1")
    return (rating.value - low) / (high - low)


def _natural_key(name: str) -> tuple[str, int, str]:
    """Sort key that compares the digits at the end as a number, so that r2 is before r10."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0), name
