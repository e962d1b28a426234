"""How rows of evidence are scored, and how they become a number: the reductions that several metrics share.

Most metrics are functions of the sum of their rows (`Sums`): BLEU of its counts, a mean of (value, 1).
Without rows there is no number: every `of_sums` here returns NaN for a sum over nothing.

A batch is scored at once, and item by item only if the batch fails, so that an error affects one item only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from math import inf, nan
from numbers import Real
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from turnwise.conformance.attributes import shown
from turnwise.conformance.calls import foreign, number_of, rows_of
from turnwise.errors import OutOfRange, PluginError, UsageError, out_of_memory
from turnwise.registry import plugin_name
from turnwise.types import Card, Direction, Floats, Ints, Item, Metric, PluginProtocol, Rows

Resampling: TypeAlias = Literal["bootstrap", "subsample"]


def scored(rows: Rows) -> NDArray[np.bool_]:
    """(n,) which rows are evidence: those without a NaN."""
    if isinstance(rows, np.ndarray):
        return np.asarray(~np.isnan(rows).any(axis=1))
    mask = np.ones(rows.shape[0], dtype=bool)
    of_entry = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    mask[of_entry[np.isnan(rows.data)]] = False
    return mask


class Sums(ABC):
    """A metric whose number is a function of the sum of its rows."""

    __slots__ = ()

    resampling: ClassVar[Resampling] = "bootstrap"
    span: ClassVar[tuple[float, float]] = (-inf, inf)  # what the number can be: an interval ends there

    @abstractmethod
    def of_sums(self, sums: Floats, /) -> Floats:
        """(..., k) sums of rows -> (...) numbers; NaN for a sum over no rows."""

    def reduce(self, rows: Rows, /) -> float:
        """The number of the rows without a NaN; NaN if there are none."""
        return float(self.of_sums(np.asarray(rows[scored(rows)].sum(axis=0))))


class Ratio(Sums):
    """Rows are (numerator, denominator); the number is the ratio of their sums."""

    __slots__ = ()

    def of_sums(self, sums: Floats, /) -> Floats:
        """Numerator over denominator; NaN where the denominator is 0."""
        return quotient(sums[..., 0], sums[..., 1])


class Mean(Ratio):
    """The mean over items of one value each: rows are (value, 1)."""

    __slots__ = ()

    @abstractmethod
    def value(self, item: Item, /) -> float | None:
        """The item's own number; None or NaN where it has none."""

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the item's value, NaN where it has none, and 1."""
        rows = np.ones((len(items), 2))
        values: list[Any] = [nan if (value := self.value(item)) is None else value for item in items]
        for value in values:
            # numpy would accept the text "1"; the first test is fast
            if type(value) is not float and not isinstance(value, Real | np.bool_):
                raise PluginError(
                    f"{plugin_name(self)}.value returned {shown(value)}; expected a float or None"
                )
        rows[:, 0] = values
        return rows


@runtime_checkable
class ScoresSubsets(Protocol, metaclass=PluginProtocol):
    """A metric that works on its rows once and then scores subsets of them faster than `reduce` does."""

    def subset_scorer(self, rows: Rows, /) -> Callable[[Ints], float]:
        """The function that gives `reduce(rows[chosen])` for indices of rows, up to rounding."""
        ...


def subset_scorer(metric: Metric, rows: Rows) -> Callable[[Ints], float]:
    """The function from indices of rows to the metric's number of these rows, for resampling."""
    if isinstance(metric, ScoresSubsets):
        return metric.subset_scorer(rows)
    return lambda chosen: number_of(metric, rows[chosen])


def quotient(numerator: Floats, denominator: Floats) -> Floats:
    """Elementwise ratio; NaN where the denominator is 0, because that is no number and not zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator != 0, np.divide(numerator, denominator), np.nan)


class Directed(Protocol):
    """A metric, or a description of one, as far as its direction is concerned."""

    @property
    def card(self) -> Card:
        """What a user must know."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Whether higher scores are better, where the metric has a direction."""
        ...


def better_direction(metric: Directed) -> Direction | None:
    """Whether higher or lower scores are better; None where neither is.

    Neither is for features, such as length, and for ratings of a dimension of which nothing says which end is good.
    """
    if metric.card.kind == "feature" or not getattr(metric, "directed", True):
        return None
    return "higher" if metric.higher_is_better else "lower"


def stack_rows(blocks: Sequence[Rows]) -> Rows:
    """The rows of several blocks in one array, sparse if one of them is."""
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.concatenate([cast("Floats", block) for block in blocks])
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack([csr_array(block) for block in blocks]))


def dense(rows: Rows) -> Floats:
    """The rows themselves; a `TypeError` if they are sparse, which rows of a `Summed` metric must not be."""
    if not isinstance(rows, np.ndarray):
        raise TypeError("a metric that is a function of sums returned sparse rows")
    return rows


T = TypeVar("T")


def batch_or_each(
    ask: Callable[[Sequence[Item]], T],
    items: Sequence[Item],
    *,
    fatal: Callable[[Exception, int], bool] = lambda error, count: False,
) -> tuple[list[T], dict[int, Exception]]:
    """The results of `ask` and the errors by the item's index: one result for all items if `ask` accepts them together.

    Otherwise `ask` is called with each item alone, and there is a result, in order, for each item on which it does not
    raise. An error is raised if `fatal` holds for it and for the number of items that were asked about together.
    """
    try:
        return [ask(items)], {}
    except Exception as error:
        if fatal(error, len(items)):
            raise
        if len(items) == 1:
            return [], {0: error}
    results: list[T] = []
    errors: dict[int, Exception] = {}
    for index, item in enumerate(items):
        alone, failed = batch_or_each(ask, [item], fatal=fatal)
        results += alone
        if failed:
            errors[index] = failed[0]
    return results, errors


def rows_or_errors(metric: Metric, items: Sequence[Item]) -> tuple[Rows, dict[int, Exception]]:
    """Rows of the items that the metric can score, and the error of each other item by its place.

    A metric that breaks its contract on the batch (`PluginError`, except `OutOfRange`) fails on all items. A
    `UsageError` is raised, as the setting fails on every item; so is running out of memory on a single item.
    """

    def fatal(error: Exception, count: int) -> bool:
        """Whether to stop: a `PluginError` on the whole batch, another `UsageError`, or no memory for a single item."""
        if isinstance(error, PluginError):
            return count == len(items) and not isinstance(error, OutOfRange)
        return isinstance(error, UsageError) or (count == 1 and out_of_memory(error))

    try:
        blocks, errors = batch_or_each(partial(rows_of, metric), items, fatal=fatal)
    except PluginError as broken:
        return no_rows(metric), dict.fromkeys(range(len(items)), broken)
    if len(blocks) == 1:
        return blocks[0], errors
    return stack_rows(blocks) if blocks else no_rows(metric), errors


def no_rows(metric: Metric) -> Rows:
    """The metric's rows for no items; (0, 0) where a plugin fails even then. Errors of our metrics are raised."""
    try:
        return rows_of(metric, [])
    except Exception:
        if not foreign(metric):
            raise
        return np.zeros((0, 0))
