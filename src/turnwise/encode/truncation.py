"""Texts that were longer than their model reads, counted for whoever asked for numbers of them.

A model that cuts a text says so here, whether its answer is computed or comes from the cache. It goes to the log, and
to the block of work that is listening (run/scoring/blocks.py), which keeps it with its rows.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

log = logging.getLogger(__name__)
_counts: ContextVar[list[int] | None] = ContextVar("counts", default=None)


def tell(model: str, longest: int, count: int) -> None:
    """`count` texts did not fit into the `longest` tokens that the model reads."""
    if not count:
        return
    log.warning("%s read only %d tokens of each of %d longer texts", model, longest, count)
    if (heard := _counts.get()) is not None:
        heard.append(count)


@contextmanager
def listening() -> Iterator[list[int]]:
    """The counts that are told in the meantime."""
    heard: list[int] = []
    token = _counts.set(heard)
    try:
        yield heard
    finally:
        _counts.reset(token)
