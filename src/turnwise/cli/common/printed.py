"""Prints a result: the table or JSON on stdout, notes and gates on stderr; and computes the exit code."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnwise.errors import TurnwiseError
from turnwise.library.notes import WARNING
from turnwise.library.results import Result, cells
from turnwise.report import gate, results
from turnwise.report.fitting import Layout, sized
from turnwise.terminal import json_escape, say, say_document, say_lines

GATE_FAILED = 1
HINT = "--wide shows all columns"


def conclude(
    found: Result,
    given: dict[str, Any],
    *,
    columns: Sequence[str] | None = None,
    rows: Sequence[Mapping[str, Any]] | None = None,
    whole: str = "",
    after: str = "",
) -> int:
    """Print the result as asked, with the text `after` under the table, evaluate its gates, and return the exit code.

    `columns` and `rows` are those of the table if they are not the result's own; `whole` replaces the table. The code
    is the result's own if it is not 0, else 1 if a gate failed.
    """
    if given["style"] == "json":
        print_json(found.document)
    else:
        more = ("method", "signature") if given["verbose"] else ()
        shown = found.document["results"] if rows is None else rows
        say(whole or records_table(shown, [*(columns or found.columns), *more], found.layout, given))
        if after:
            say(after)
    hidden = (
        given["quiet"] and not found.exit_code
    )  # --quiet hides neither a warning nor why there is no estimate
    say_lines(*(line for line in found.notes() if not hidden or line.startswith(WARNING)), err=True)
    verdicts = [verdict for one in given["gates"] for verdict in one.verdicts(found.findings)]
    say_lines(*map(str, verdicts), err=True)
    _write_junit(given["junit"], verdicts)
    if found.exit_code:
        return found.exit_code
    return 0 if all(verdict.passed for verdict in verdicts) else GATE_FAILED


def records_table(
    records: Sequence[Mapping[str, Any]], columns: Sequence[str], layout: Layout, given: Mapping[str, Any]
) -> str:
    """The table of these records without empty columns: as wide as the terminal, or whole with --wide or -v."""
    head, rows = cells(records, columns, layout)
    return sized_table(rows, head, layout, given)


def sized_table(
    rows: Sequence[Sequence[Any]], head: Sequence[str], layout: Layout, given: Mapping[str, Any]
) -> str:
    """The table of these rows: as wide as the terminal, or whole with --wide or -v."""
    wide = bool(given.get("wide") or given.get("verbose"))
    return sized(rows, head, layout, wide=wide, hint=HINT)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    say_document(results.to_json(value).decode(), escape=json_escape)


def fail_gates(given: dict[str, Any], error: TurnwiseError) -> None:
    """Write every gate as failed because of `error` to the JUnit file, if one is asked for; a CI server reads
    it there.
    """
    _write_junit(given["junit"], [one.failed(str(error)) for one in given["gates"]])


def _write_junit(path: str | None, verdicts: Sequence[gate.Verdict]) -> None:
    """Write the verdicts as JUnit XML; nothing happens without a path."""
    if path:
        with results.replacing(Path(path)) as file:
            file.write(gate.junit(verdicts))
