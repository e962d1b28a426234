"""Counts of texts that were longer than a model's input and were cut.

An encoder reports them here, whether its vectors are computed or come from the cache. The count is logged, and the
block that is being scored (run/scoring/blocks.py) stores it with its rows.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from turnwise.errors import counted

log = logging.getLogger(__name__)
_counts: ContextVar[list[int] | None] = ContextVar("counts", default=None)


def report_truncation(model: str, longest: int, count: int) -> None:
    """Log that `count` texts were longer than the `longest` tokens of the model's input, and add the count to those of
    the enclosing `collect_truncations`.

    Does nothing for a count of 0.
    """
    if not count:
        return
    log.warning("note: %s read only %d tokens of %s", model, longest, counted(count, "longer text"))
    add_truncations(count)


def add_truncations(count: int) -> None:
    """Add the count to those of the enclosing `collect_truncations`, without a line in the log."""
    if count and (counts := _counts.get()) is not None:
        counts.append(count)


@contextmanager
def collect_truncations() -> Iterator[list[int]]:
    """Collect the counts that are reported inside this context, in a list that grows.

    Nested contexts get only their own.
    """
    counts: list[int] = []
    token = _counts.set(counts)
    try:
        yield counts
    finally:
        _counts.reset(token)
