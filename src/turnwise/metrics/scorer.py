"""Score a batch at once, and item by item only if the batch fails: an error costs one item and not its neighbours."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from turnwise.conformance import foreign, rows_of
from turnwise.errors import PluginError, UsageError, out_of_memory
from turnwise.metrics.rows import stack_rows
from turnwise.types import Item, Metric, Rows

T = TypeVar("T")


def batch_or_each(
    ask: Callable[[Sequence[Item]], T],
    items: Sequence[Item],
    *,
    fatal: Callable[[Exception, int], bool] = lambda error, count: False,
) -> tuple[list[T], dict[int, Exception]]:
    """The answers of `ask` and the errors by the item's place: one answer for all items if `ask` accepts them together.

    Otherwise `ask` is called with each item alone, and there is an answer, in order, for each item on which it does not
    raise. An error is raised if `fatal` holds for it and for the number of items that were asked about together.
    """
    try:
        return [ask(items)], {}
    except Exception as error:
        if fatal(error, len(items)):
            raise
        if len(items) == 1:
            return [], {0: error}
    answers: list[T] = []
    errors: dict[int, Exception] = {}
    for place, item in enumerate(items):
        answer, failed = batch_or_each(ask, [item], fatal=fatal)
        answers += answer
        if failed:
            errors[place] = failed[0]
    return answers, errors


def rows_or_errors(metric: Metric, items: Sequence[Item]) -> tuple[Rows, dict[int, Exception]]:
    """Rows of the items that the metric can score, and the error of each other item by its place.

    A metric that breaks its contract on the batch (`PluginError`) fails on all items. A `UsageError` is raised, as the
    setting fails on every item; so is running out of memory on a single item.
    """

    def fatal(error: Exception, count: int) -> bool:
        if isinstance(error, PluginError):
            return count == len(items)
        return isinstance(error, UsageError) or (count == 1 and out_of_memory(error))

    try:
        blocks, errors = batch_or_each(lambda some: rows_of(metric, some), items, fatal=fatal)
    except PluginError as broken:
        return no_rows(metric), dict.fromkeys(range(len(items)), broken)
    if len(blocks) == 1:
        return blocks[0], errors
    return stack_rows(blocks) if blocks else no_rows(metric), errors


def no_rows(metric: Metric) -> Rows:
    """The metric's rows for no items; without columns where a plugin fails even then."""
    try:
        return rows_of(metric, [])
    except Exception:
        if not foreign(metric):
            raise
        return np.zeros((0, 0))
