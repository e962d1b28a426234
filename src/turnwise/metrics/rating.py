"""People's ratings as a metric, `rating:DIMENSION`: the mean rating of each item, then the mean over items.

`rating:overall` treats the raters as given: its intervals cover other dialogues, rated by the same raters.
`rating:overall[raters=centred]` removes the differences between raters, and its intervals and tests cover other raters
as well. The effect of each rater is estimated with the agents held fixed: rating = agent + rater + error, by least
squares, where each item has the weight 1. In a balanced study this subtracts the rater's mean. Plain centring
would also subtract the difference between agents where raters saw different agents. Random effects were not chosen
because they assume that raters are assigned independently of their strictness, and because this fit has a closed form.
The standard errors are two-way clustered (`stats.crossed`).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from math import inf, nan
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from turnwise import registry
from turnwise.errors import DataError, Refused, UsageError
from turnwise.metrics import RATING
from turnwise.metrics.rows import quotient, scored
from turnwise.stats.clusters import codes, connected_components
from turnwise.stats.crossed import StandardErrors, standard_errors
from turnwise.stats.interval import NO_VARIATION, Interval
from turnwise.types import (
    MEAN_RATER,
    Card,
    Direction,
    Floats,
    Ints,
    Item,
    Level,
    Metric,
    Need,
    NeedsFitting,
    Rating,
    Rows,
    Signature,
    digest,
)

METHOD = "two-way clustered by cluster and rater, t"
# Dimensions whose names say that a high rating is good. Of others, such as `insulting`, the data must say it.
GOOD = frozenset(
    {
        "overall",
        "quality",
        "rating",
        "score",
        "reward",
        "success",
        "satisfaction",
        "correctness",
        "helpfulness",
        "thumb",
        "stars",
    }
)
RatedLevel: TypeAlias = Literal["turn", "dialogue"]
Raters: TypeAlias = Literal["fixed", "centred"]
_POSITIONS = "the raters' names (r1, r2, ...) may number the ratings of an item instead of naming people"


@dataclass(frozen=True, slots=True)
class _Scale:
    """How ratings are read: dimension, level, scale and direction."""

    card: ClassVar[Card] = Card(
        kind="rating",
        meaning="The mean rating that people gave on one dimension: the mean over raters of each item, "
        "then the mean over items.",
        range="the rating scale",
        limits="It covers what was rated. If the rated items were not drawn at random, it says nothing about the "
        "others. Intervals cover other raters only with raters=centred.",
        citation="-",
    )
    reads_ratings: ClassVar[bool] = True

    dimension: str
    rated: RatedLevel = "turn"
    scale: tuple[float, float] | None = None
    direction: Direction = "higher"
    rescale: bool = False
    declared: bool = False  # whether the data says that higher is good

    @property
    def settings(self) -> dict[str, Any]:
        """The fields of this class by name."""
        return {one.name: getattr(self, one.name) for one in fields(_Scale)}

    @property
    def level(self) -> Level:
        """The level of the items that were rated."""
        return self.rated

    @property
    def needs(self) -> frozenset[Need]:
        """Whole dialogues for ratings of dialogues."""
        return frozenset({"dialogue"} if self.rated == "dialogue" else ())

    @property
    def higher_is_better(self) -> bool:
        """Whether a high rating is good."""
        return self.direction == "higher"

    @property
    def directed(self) -> bool:
        """Whether it is known which end is good: declared, `lower`, or said by the name of the dimension."""
        return self.declared or self.direction == "lower" or self.dimension in GOOD

    @property
    def unscored(self) -> str:
        """The reason of an item without a rating on the dimension."""
        return f"not rated on `{self.dimension}`"

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the scale."""
        return (0.0, 1.0) if self.rescale else self.scale or (-inf, inf)

    def of_raters(self, item: Item) -> dict[str, float]:
        """Rater -> rating of the item; the last one where a rater has several.

        Ratings without a name count as different raters. A published mean is used only where it is all there is.
        """
        mine = [rating for rating in item.ratings if rating.dimension == self.dimension]
        single = [rating for rating in mine if rating.rater != MEAN_RATER] or mine
        return {
            f"?{index}" if rating.rater is None else rating.rater: self._value(rating)
            for index, rating in enumerate(single)
        }

    def _value(self, rating: Rating) -> float:
        """The rating's value, mapped to 0-1 if asked for."""
        if not self.rescale:
            return rating.value
        low, high = rating.scale or (0.0, 0.0)
        if not low < high:
            raise DataError(f"a rating of `{rating.item}` on `{rating.dimension}` has no scale to map to 0-1")
        return (rating.value - low) / (high - low)

    def _fields(self) -> tuple[tuple[str, str], ...]:
        """The fields of the signature."""
        scale = "0-1, mapped" if self.rescale else "-".join(f"{end:g}" for end in self.scale or ()) or "none"
        return (("of", self.dimension), ("level", self.rated), ("scale", scale), ("better", self.direction))


@dataclass(frozen=True, slots=True)
class MeanRating(_Scale):
    """`rating:DIMENSION`: the mean over items of the mean rating of each."""

    @property
    def signature(self) -> Signature:
        return Signature("rating", self._fields())

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends of the scale, for ratings that are always at one of them, such as task success."""
        low, high = self.span
        return (low, high) if np.isfinite([low, high]).all() else None

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the mean rating, NaN without one, and 1."""
        rows = np.ones((len(items), 2))
        for index, item in enumerate(items):
            given = self.of_raters(item).values()
            rows[index, 0] = sum(given) / len(given) if given else nan
        return rows

    def of_sums(self, sums: Floats, /) -> Floats:
        """The sum of mean ratings over the number of items."""
        return quotient(sums[..., 0], sums[..., 1])

    def reduce(self, rows: Rows, /) -> float:
        """The mean over items that have a rating; NaN if none has."""
        return float(self.of_sums(np.asarray(rows[scored(rows)].sum(axis=0))))


@dataclass(frozen=True, slots=True)
class UnfittedCentredRating(_Scale):
    """`rating:DIMENSION[raters=centred]` before the effects of the raters are known."""

    stable: bool | None = (
        None  # whether a rater's name is one person throughout; None: inferred from the names
    )

    def fit(self, items: Iterable[Item], /) -> Metric:
        """The metric with the effect of each rater, estimated from these items.

        Raises `Refused` where the raters cannot be told apart, or their effects from those of the agents.
        """
        values: list[float] = []
        weights: list[float] = []
        agents: list[str] = []
        raters: list[str] = []
        for item in items:
            given = self.of_raters(item)
            for rater, value in given.items():
                raters.append(rater)
                agents.append(f"{item.group}\0{item.agent}")
                values.append(value)
                weights.append(1 / len(given))
        self._check_names(raters)
        seen: dict[str, dict[str, None]] = {}
        for one, name in zip(agents, raters, strict=True):
            seen.setdefault(name, {})[one] = None
        if connected_components([list(names) for names in seen.values()])[1] > 1:
            raise Refused(
                "some raters rated none of the agents that the others rated, so that differences between raters cannot "
                "be told from differences between agents; use {rating} without raters=centred",
                "unconnected-raters",
                rating=f"{RATING}{self.dimension}",
            )
        effects = _rater_effects(np.array(values), np.array(weights), codes(agents), codes(raters))
        fitted = CentredRating(**self.settings, raters=tuple(seen), effects=tuple(effects))
        return cast("Metric", fitted)

    def _check_names(self, raters: Sequence[str]) -> None:
        """Raise `Refused` if the names do not identify at least two people."""
        names = set(raters)
        if any(name.startswith("?") for name in names):
            raise Refused(
                "some ratings of `{dimension}` have no rater's name, so raters cannot be centred",
                "unnamed-raters",
                dimension=self.dimension,
            )
        numbered = all(name[:1] == "r" and name[1:].isdecimal() for name in names)
        if numbered and not self.stable:
            raise Refused(
                "{positions}; if they name people: {rating}[raters=centred,stable=true]",
                "numbered-raters",
                positions=_POSITIONS,
                rating=f"{RATING}{self.dimension}",
            )
        if len(names) < 2:
            raise Refused(
                "`{dimension}` has {n} rater, and centring needs two or more",
                "too-few-raters",
                dimension=self.dimension,
                n=len(names),
            )


@dataclass(frozen=True, slots=True)
class CentredRating(_Scale):
    """`rating:DIMENSION[raters=centred]`: mean ratings without the effects of raters.

    Rows are ratings, one column a rater. The number is what the average rater would give.
    """

    raters: tuple[str, ...] = ()
    effects: tuple[float, ...] = ()  # effect of each rater on their ratings; the mean of all is 0
    _column: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_column", {name: at for at, name in enumerate(self.raters)})

    @property
    def signature(self) -> Signature:
        fitted = digest(*self.raters, *(f"{effect:.12g}" for effect in self.effects))
        return Signature("rating", (*self._fields(), ("raters", "centred"), ("fit", fitted)))

    def rows(self, items: Sequence[Item], /) -> Rows:
        """(n, raters) sparse ratings; an item without a rating has NaN in the first column."""
        from scipy.sparse import csr_array

        data: list[float] = []
        columns: list[int] = []
        starts = [0]
        for item in items:
            given = {self._column[rater]: value for rater, value in self.of_raters(item).items()} or {0: nan}
            columns += given
            data += given.values()
            starts.append(len(data))
        shape = (len(items), len(self.raters))
        return csr_array((np.array(data, dtype=np.float64), np.array(columns), np.array(starts)), shape=shape)

    def reduce(self, rows: Rows, /) -> float:
        """The mean over items of the mean centred rating of each; NaN without a rated item."""
        known = _entries(rows)
        return known.mean_of(known.values - np.array(self.effects)[known.raters])

    def rater_interval(self, rows: Rows, codes: Ints, /) -> tuple[Interval | None, str]:
        """The interval of the number over clusters and raters, and its method."""
        known = _entries(rows)
        # The effects of raters are part of the influence: the level depends on which raters were drawn. Residuals of
        # the fitted effects would be too small where each rater has few ratings.
        influence = (known.values - known.mean_of(known.values)) * known.weights / known.n_items
        errors = standard_errors(influence[:, None], codes[known.items], known.raters)
        estimate = self.reduce(rows)
        found = errors.interval(estimate)
        return found, METHOD if found else f"{NO_VARIATION}, or fewer than 2 clusters or raters"

    def rater_difference(
        self, a: Rows, codes_a: Ints, b: Rows, codes_b: Ints, /
    ) -> tuple[Interval | None, float, str]:
        """The interval of the first agent's number minus the second's, p against 0, and the method.

        Raises `Refused` if no rater rated both agents.
        """
        errors, method = self.rater_errors(a, codes_a, b, codes_b)
        estimate = self.reduce(a) - self.reduce(b)
        found = errors.interval(estimate)
        return found, errors.p_value(estimate), method if found else NO_VARIATION

    def rater_errors(self, a: Rows, codes_a: Ints, b: Rows, codes_b: Ints, /) -> tuple[StandardErrors, str]:
        """The standard error of the least-squares difference within raters, and the method.

        Raises `Refused` if no rater rated both agents.
        """
        first, second = _entries(a), _entries(b)
        values, raters = np.append(first.values, second.values), np.append(first.raters, second.raters)
        weights = np.append(first.weights, second.weights)
        clusters = np.append(codes_a[first.items], codes_b[second.items])
        side = np.repeat([1.0, 0.0], [len(first.values), len(second.values)])
        side -= _means(side, weights, raters)[raters]
        size = float(np.sum(weights * side**2))
        if not size > 1e-12:
            raise Refused(
                "no rater rated both agents, so that differences between raters cannot be told from theirs",
                "no-common-rater",
            )
        slope = float(np.sum(weights * side * values)) / size
        rest = values - slope * side
        rest -= _means(rest, weights, raters)[raters]
        return standard_errors((weights * side * rest / size)[:, None], clusters, raters), METHOD


@dataclass(frozen=True, slots=True)
class _Entries:
    """The ratings of sparse rows, one entry each."""

    values: Floats
    items: Ints  # row of each entry
    raters: Ints  # column of each entry
    n_items: int

    @property
    def weights(self) -> Floats:
        """One over the number of ratings of the entry's item."""
        return 1 / np.bincount(self.items, minlength=self.n_items)[self.items]

    def mean_of(self, values: Floats) -> float:
        """The mean over items of the mean over their entries; NaN without items."""
        return float(np.sum(values * self.weights) / self.n_items) if self.n_items else nan


def _entries(rows: Any) -> _Entries:
    """The entries of sparse rows, without rows that have a NaN."""
    rows = rows[np.flatnonzero(scored(rows))]
    items = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return _Entries(rows.data, items, rows.indices.astype(np.int64), rows.shape[0])


def _means(values: Floats, weights: Floats, groups: Ints) -> Floats:
    """The weighted mean of each group, 0 for a group without members."""
    total = np.bincount(groups, weights=weights)
    sums = np.bincount(groups, weights=weights * values)
    return np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)


def _rater_effects(
    values: Floats, weights: Floats, agents: tuple[Ints, int], raters: tuple[Ints, int]
) -> list[float]:
    """Least-squares effects of raters in rating = agent + rater + error, with mean 0."""
    (agent, n_agents), (rater, n_raters) = agents, raters
    table = np.zeros((n_agents, n_raters))
    np.add.at(table, (agent, rater), weights)
    of_agent = np.bincount(agent, weights=weights * values, minlength=n_agents)
    of_rater = np.bincount(rater, weights=weights * values, minlength=n_raters)
    shares = table / table.sum(axis=1, keepdims=True)
    laplacian = np.diag(table.sum(axis=0)) - table.T @ shares
    effects = np.linalg.lstsq(laplacian, of_rater - shares.T @ of_agent, rcond=None)[0]
    return (effects - effects.mean()).tolist()  # type: ignore[no-any-return]


def rating_metric(
    dimension: str,
    *,
    level: RatedLevel = "turn",
    raters: Raters = "fixed",
    rescale: bool = False,
    stable: bool | None = None,
    scale: tuple[float, float] | None = None,
    direction: Direction = "higher",
    declared: bool = False,
) -> Metric | NeedsFitting:
    """The metric of a dimension that was rated at this level.

    `level`, `raters`, `rescale` and `stable` may be written in brackets: `rating:overall[raters=centred]`.
    """
    if not dimension:
        raise UsageError(f"`{RATING}` names no dimension; write for example {RATING}overall")
    known = _Scale(dimension, level, scale, direction, rescale, declared).settings
    if raters == "fixed":
        if stable is not None:
            raise UsageError(f"`stable` has no effect on {RATING}{dimension} without raters=centred")
        return cast("Metric", MeanRating(**known))
    return cast("NeedsFitting", UnfittedCentredRating(**known, stable=stable))


def parse(name: str, dimensions: Collection[str] = ()) -> tuple[str, dict[str, Any]]:
    """The dimension and the settings of `rating:DIMENSION[key=value,...]`.

    A text that is one of `dimensions` as it stands has no settings, even if it has brackets. An unknown setting or a
    wrong value raises `UsageError`.
    """
    rest = name.removeprefix(RATING)
    if rest in dimensions:
        return rest, {}
    dimension, written = registry.settings(rest, f"{RATING}overall[raters=centred]")
    settings = ("level", "raters", "rescale", "stable")
    for key in written:
        if key not in settings:
            raise UsageError(
                f"metric `{name}` has no setting `{key}`; its settings are: {', '.join(settings)}"
            )
    registry.check(written, rating_metric, f"metric `{name}`")
    return dimension, written
