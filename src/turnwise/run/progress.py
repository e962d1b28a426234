"""A progress bar on stderr if that is a terminal; nothing in a pipe, in a log or with -q."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str, total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances the bar by the given amount; without a terminal or if `quiet` it does nothing.

    `what` is shown before the bar, `total` is the amount at its end (None: unknown).
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
