"""Prints a result: the table or JSON on stdout, notes and gates on stderr; and computes the exit code."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnwise.errors import TurnwiseError
from turnwise.library.results import Result, table
from turnwise.report import gate, results

GATE_FAILED = 1


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
        sys.stdout.write(results.to_json(found.document).decode())
    else:
        more = ("method", "signature") if given["verbose"] else ()
        shown = found.document["results"] if rows is None else rows
        print(whole or table(shown, [*(columns or found.columns), *more]))
        if after:
            print(after)
    sys.stdout.flush()  # in one file or pipe, results come before notes
    if not given["quiet"] or found.exit_code:  # --quiet does not hide why there is no estimate
        for note in found.notes():
            print(note, file=sys.stderr)
    verdicts = [verdict for one in given["gates"] for verdict in one.verdicts(found.findings)]
    for verdict in verdicts:
        print(verdict, file=sys.stderr)
    _write_junit(given["junit"], verdicts)
    if found.exit_code:
        return found.exit_code
    return 0 if all(verdict.passed for verdict in verdicts) else GATE_FAILED


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
