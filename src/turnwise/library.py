"""The commands as functions: `tw.score("logs.jsonl", metrics="bleu-4")` is `turnwise score logs.jsonl -m bleu-4`.

Options have the names and meanings that they have on the command line, with `_` for `-`, so that there is one place
where each is defined, checked and explained. Data is a path, several, or conversations as records of
the native format. Errors are raised; nothing is printed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec

from turnwise.cli.group import cli
from turnwise.cli.printed import Kept, cells
from turnwise.errors import UsageError, unknown
from turnwise.report import page, text
from turnwise.report.figure import Figure
from turnwise.report.report import figures
from turnwise.report.runs import Run
from turnwise.types import Finding

Data = str | Path | Iterable[str | Path] | Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Result:
    """What a command came to. Prints as its table; in a notebook it is one."""

    findings: tuple[Finding, ...]
    document: dict[str, Any]  # what stands in results.json
    columns: tuple[str, ...]
    drawn: tuple[Figure, ...] = ()  # as a report would

    def records(self) -> list[dict[str, Any]]:
        """One dict a result, as in results.json: for a data frame, or for your own eyes."""
        return [dict(record) for record in self.document["results"]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records())

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        shown, rows = cells(self.document["results"], self.columns)
        return text.table(rows, shown)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table and the figures of these results, as a notebook shows them."""
        return page.notebook(*cells(self.document["results"], self.columns), self.figures())

    def figures(self) -> list[Figure]:
        """What a report would draw of these results."""
        return list(self.drawn)


def score(data: Data, **options: Any) -> Result:
    """See `turnwise score --help`."""
    return _result("score", data, options)


def compare(data: Data, **options: Any) -> Result:
    """See `turnwise compare --help`."""
    return _result("compare", data, options)


def meta_evaluate(data: Data, **options: Any) -> Result:
    """The command `meta`, whose own name is that of a folder of this package."""
    return _result("meta", data, options)


def ope(data: Data, **options: Any) -> Result:
    """See `turnwise ope --help`."""
    return _result("ope", data, options)


def attack(metric: str, contexts: Data, **options: Any) -> Result:
    """See `turnwise attack --help`."""
    with _files(contexts) as paths:
        given = [part for path in paths for part in ("--contexts", path)]
        return _called("attack", [metric, *given], options)


def _result(command: str, data: Data, options: Mapping[str, Any]) -> Result:
    with _files(data) as paths:
        return _called(command, paths, options)


def _called(command: str, arguments: Sequence[str], options: Mapping[str, Any]) -> Result:
    kept = Kept()
    with _folder(options) as folder:
        # A hardened metric is written for good, so its folder must be named.
        named = options.keys() & {"output", "o", "harden"}
        given = options if named else {**options, "output": folder}
        line = [command, *arguments, *_flags(command, given), "--quiet"]
        try:
            cli.main(line, prog_name="turnwise", standalone_mode=False, obj=kept)
        except click.ClickException as error:
            raise UsageError(error.format_message()) from None
        if kept.outcome is None:
            raise UsageError(f"`{command}` with these options gives no result; use the command line")
        found = kept.outcome
        drawn = figures(Run(command, folder, found.document))
    return Result(found.findings, found.document, tuple(kept.columns), tuple(drawn))


@contextmanager
def _folder(options: Mapping[str, Any]) -> Iterator[Path]:
    """Where the run writes: what figures are made from besides results lies there. A passing one unless named."""
    named = options.get("output", options.get("o"))
    if named is not None:
        yield Path(named)
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


def _flags(command: str, options: Mapping[str, Any]) -> list[str]:
    """Keywords as they would be typed."""
    context = click.Context(cli)
    found = cli.get_command(context, command)
    known: dict[str, click.Option] = {}
    for parameter in found.params if found else ():
        if isinstance(parameter, click.Option):
            for name in (parameter.name or "", *(opt.lstrip("-") for opt in parameter.opts)):
                known[name.replace("-", "_")] = parameter
    typed: list[str] = []
    for name, value in options.items():
        option = known.get(name)
        if option is None:
            raise unknown("option", name, sorted(known))
        typed += _typed(option, value)
    return typed


def _typed(option: click.Option, value: Any) -> list[str]:
    flag = max(option.opts, key=len)
    if option.is_flag:
        off = max(option.secondary_opts, key=len, default=None)
        if value:
            return [flag]
        return [off] if off else []
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [flag, str(value)]
    if option.multiple:
        return [part for one in value for part in (flag, str(one))]
    return [flag, ",".join(map(str, value))]


@contextmanager
def _files(data: Data) -> Iterator[list[str]]:
    """Paths of the data; records are written to a file of their own first."""
    if isinstance(data, str | Path):
        yield [str(data)]
        return
    given = list(data)
    records = [dict(one) for one in given if isinstance(one, Mapping)]
    if not records and all(isinstance(one, str | Path) for one in given):
        yield [str(one) for one in given]
        return
    if len(records) < len(given):
        raise UsageError(
            "data is a path, several paths, or conversations as dicts: docs/format.md has their keys"
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in records))
        yield [str(path)]
