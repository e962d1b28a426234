"""What several library functions do around a run: selection, output folder, figures, and the result's type."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from turnwise.errors import UsageError
from turnwise.library.arguments import Names, PathLike, split_names
from turnwise.library.results import Result
from turnwise.logs.items.items import Selection
from turnwise.logs.items.selection import Judged
from turnwise.run.outcome import Outcome
from turnwise.run.spec import Place
from turnwise.types import Role

AnyResult = TypeVar("AnyResult", bound=Result)
Where = Mapping[str, str] | Sequence[tuple[str, str]]  # key -> the value that a dialogue must have there


@contextmanager
def folder_of(output: PathLike | None, *, figures: bool) -> Iterator[Path | None]:
    """The folder that a run writes to; a temporary one if there is no output but figures are made, None if neither."""
    if output is not None or not figures:
        yield None if output is None else Path(output)
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


def result(
    kind: type[AnyResult], command: str, outcome: Outcome, folder: Path | None, *, figures: bool
) -> AnyResult:
    """The outcome of a run as a result of type `kind`; with `figures` and a folder, it has the figures that a
    report of the folder shows.
    """
    if not figures or folder is None:
        return kind(findings=outcome.findings, document=outcome.document)
    from turnwise.report.report import figures as drawn
    from turnwise.report.runs import Run

    run = Run(command, folder, outcome.document)
    return kind(findings=outcome.findings, document=outcome.document, drawn=tuple(drawn(run)))


def selected(
    *,
    items: Judged | None,
    role: Role,
    where: Where | None,
    by: Names | None,
    pair: str | None,
    cluster: str | None,
    limit: int | None,
    as_agents: Names = (),
    dimension: str | None = None,
) -> Selection:
    """The selection that these keywords describe; `dimension` "all" selects no dimension."""
    return Selection(
        judged=items,
        dimension=None if dimension == "all" else dimension,
        role=role,
        pair=pair,
        cluster=cluster,
        by=by if by is None or isinstance(by, str) else ",".join(by),
        where=pairs(where),
        limit=limit,
        as_agents=split_names(as_agents),
    )


def pairs(where: Where | None) -> tuple[tuple[str, str], ...]:
    """Conditions or other mappings as pairs of key and value; none for None."""
    found = where.items() if isinstance(where, Mapping) else where or ()
    return tuple((key, value) for key, value in found)


def check_place(on: Place, address: str | None) -> None:
    """Raise `UsageError` for an address without `on="ray"`, which would have no effect."""
    if address and on != "ray":
        raise UsageError(f'--address {address} is that of a Ray cluster: add --on ray (in Python, on="ray")')


def reporter(*, progress: bool) -> Callable[[str], None]:
    """A function that prints a line to standard error if `progress` is set and standard error is a terminal,
    else does nothing.
    """

    def report(line: str) -> None:
        if progress and sys.stderr.isatty():
            print(line, file=sys.stderr)

    return report
