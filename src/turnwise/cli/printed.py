"""How a command ends: results on stdout, notes and verdicts on stderr, and a code that agrees with them."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import click

from turnwise.errors import TurnwiseError, counted
from turnwise.report import gate, results, text
from turnwise.run.outcome import Outcome

GATE_FAILED = 1
SHOWN = 5  # placeholders that a note names


@dataclass(slots=True)
class Kept:
    """The object of a command's context where its outcome is wanted as it is, and not in print."""

    outcome: Outcome | None = None
    columns: Sequence[str] = ()


def conclude(outcome: Outcome, columns: Sequence[str], given: dict[str, Any], *, after: str = "") -> int:
    """Print the outcome as asked, judge its gates, and return the exit code."""
    context = click.get_current_context(silent=True)
    if context is not None and isinstance(context.obj, Kept):
        context.obj.outcome, context.obj.columns = outcome, columns
        return outcome.code
    if given["style"] == "json":
        sys.stdout.write(results.to_json(outcome.document).decode())
    else:
        print(findings_table(outcome, columns, verbose=given["verbose"]))
        if after:
            print(after)
    sys.stdout.flush()  # into one file or pipe, results come before notes
    if not given["quiet"] or outcome.code:  # why there is no answer is no chatter
        for note in notes(outcome):
            print(note, file=sys.stderr)
    verdicts = [verdict for one in given["gates"] for verdict in one.judge(outcome.findings)]
    for verdict in verdicts:
        print(verdict, file=sys.stderr)
    _write_junit(given["junit"], verdicts)
    if outcome.code:
        return outcome.code
    return 0 if all(verdict.passed for verdict in verdicts) else GATE_FAILED


def fail_gates(given: dict[str, Any], error: TurnwiseError) -> None:
    """A run that came to nothing met no gate, and a CI server must hear of it."""
    _write_junit(given["junit"], [one.unmet(str(error)) for one in given["gates"]])


def _write_junit(path: str | None, verdicts: Sequence[gate.Verdict]) -> None:
    if path:
        with results.replacing(Path(path)) as file:
            file.write(gate.junit(verdicts))


def findings_table(outcome: Outcome, columns: Sequence[str], *, verbose: bool) -> str:
    shown, rows = cells(
        outcome.document["results"], [*columns, *(("method", "signature") if verbose else ())]
    )
    return text.table(rows, shown)


def cells(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """The columns in which something stands (without --by or p they would only take room), and their rows."""
    shown = [name for name in columns if any(record.get(name) is not None for record in records)]
    return shown, [[_shown(name, record.get(name)) for name in shown] for record in records]


def _shown(column: str, value: Any) -> Any:
    return text.p_value(value) if column in ("p", "p_adjusted") else value


def notes(outcome: Outcome) -> list[str]:
    """What was not scored, once for each metric and reason."""
    counts: dict[tuple[str, str], int] = {}
    for finding in outcome.findings:
        for reason, count in finding.unscored.items():
            key = (str(finding.what.get("metric")), reason)
            counts[key] = (
                max(counts.get(key, 0), count) if "statistic" in finding.what else counts.get(key, 0) + count
            )
    said = [
        f"note: {metric}: {counted(count, 'item')} not scored: {reason}"
        for (metric, reason), count in counts.items()
    ]
    for finding in outcome.findings:
        if learned := finding.details.get("in_training"):
            said.append(f"warning: {finding.what['metric']} learned from {learned} items here: its agreement with "
                        "people says nothing about new ones")  # fmt: skip
        if cut := finding.details.get("cut"):
            said.append(
                f"note: {finding.what['metric']}: its model read only the beginning of {counted(cut, 'text')}"
            )
        if unresolved := finding.details.get("unresolved"):
            named = ", ".join(f"{name} ({count})" for name, count in islice(unresolved.items(), SHOWN))
            more = f", and {len(unresolved) - SHOWN} more" if len(unresolved) > SHOWN else ""
            said.append(f"note: placeholders that the ontology does not know: {named}{more}")
        if finding.status != "ok" and not finding.unscored:
            about = " ".join(str(value) for value in finding.what.values() if value)
            said.append(f"note: {about}: {finding.status}: {finding.reason}")
    return list(dict.fromkeys(said))
