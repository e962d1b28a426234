"""What a command line prints: the table or JSON on standard output, notes and gates on standard error.

The settings of this module belong to the command line alone: no function of the library has them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol

from turnwise.errors import TurnwiseError, UsageError
from turnwise.library.notes import Warned
from turnwise.library.results import Result, cells
from turnwise.records import Part, Record, ToolRecord, plain
from turnwise.report import gate, results, typeset
from turnwise.report.documents import CompareDocument, ScoreDocument
from turnwise.report.fitting import Layout, sized
from turnwise.settings.groups import Command, Restated
from turnwise.settings.option import Option
from turnwise.terminal import json_escape, say, say_document, say_lines

GATE_FAILED = 1
TOOLS = Layout(
    names=("agent", "group", "tool"),
    results=("calls", "errors"),
    others=("invalid", "repeated", "failed_first", "failed_first_share", "latency", "dialogues"),
)
TOOL_COLUMNS = (
    "agent", "group", "tool", "calls", "dialogues", "errors", "invalid", "repeated", "failed_first",
    "failed_first_share", "latency",
)  # fmt: skip
HINT = "--wide shows all columns"
FORM = "Form of what is printed; markdown and latex print the table for a page or a paper (booktabs)."
TRACES = "Print the traceback of an error in a plugin."


def parsed_gates(texts: Sequence[str]) -> tuple[gate.Gate, ...]:
    """The gates of these texts; a mistake raises `UsageError` before the run."""
    return tuple(gate.Gate.parse(text) for text in texts)


class Tabular(Protocol):
    """A result that prints as one table."""

    def table(self, *, wide: bool, hint: str) -> str:
        """The table, as wide as the terminal unless `wide`; `hint` says how to see columns that do not fit."""
        ...


@dataclass(frozen=True, kw_only=True)
class Formatted:
    """The form of what is printed."""

    style: Annotated[Literal["table", "json"], Option("Form of what is printed.", flags="--format")] = "table"


@dataclass(frozen=True, kw_only=True)
class Widths:
    """How wide a table is."""

    wide: Annotated[
        bool, Option("Show all columns of tables, however wide the terminal is.")
    ] = False  # fmt: skip

    def table_of(self, result: Tabular) -> str:
        """The table of a result: as wide as the terminal, or whole with --wide."""
        return result.table(wide=self.wide, hint=HINT)


@dataclass(frozen=True, kw_only=True)
class Tables(Formatted, Widths):
    """Settings of a command line that prints a table and no notes."""


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """Less is printed."""

    quiet: Annotated[
        bool, Option("No progress bar and no notes; warnings are printed.", flags="-q --quiet")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Screen(Quiet):
    """Less or more is printed."""

    verbose: Annotated[bool, Option(TRACES, flags="-v --verbose")] = False


@dataclass(frozen=True, kw_only=True)
class Styled(Widths, Screen):
    """Settings of a command that prints a table and notes."""

    style: Annotated[Literal["table", "json", "markdown", "latex"], Option(FORM, flags="--format")] = "table"

    def table(self, rows: Sequence[Sequence[Any]], head: Sequence[str], layout: Layout) -> str:
        """The table of these rows: as wide as the terminal, or whole with --wide or -v."""
        return sized(rows, head, layout, wide=self.wide or self.verbose, hint=HINT)

    def records_table(self, records: Sequence[Part], columns: Sequence[str], layout: Layout) -> str:
        """The table of these records without empty columns: as wide as the terminal, or whole with --wide or -v."""
        head, rows = cells([plain(record) for record in records], columns, layout)
        return self.table(rows, head, layout)

    def conclude(
        self,
        result: Result,
        *,
        columns: Sequence[str] | None = None,
        rows: Sequence[Record] | None = None,
        whole: str = "",
        before: str = "",
        after: str = "",
    ) -> int:
        """Print the result as asked, with the texts `before` and `after` the table, and return the exit code.

        `columns` and `rows` are those of the table if they are not the result's own; `whole` replaces the table.
        """
        if self.style == "json":
            print_json(result.document)
        else:
            more = ("method", "signature") if self.verbose else ()
            shown = result.document.results if rows is None else rows
            if before and self.style == "table":
                say(before)
            names = [*(columns or result.columns), *more]
            if self.style == "table":
                say(whole or self.records_table(shown, names, result.layout))
            else:
                head, values = cells([plain(record) for record in shown], names, result.layout)
                say(typeset.FORMS[self.style](head, values))
            if after and self.style == "table":
                say(after)
        # --quiet hides neither a warning nor why there is no estimate.
        hidden = self.quiet and not result.exit_code
        say_lines(*(line for line in result.notes() if not hidden or isinstance(line, Warned)), err=True)
        return result.exit_code

    def tools_table(self, records: Sequence[ToolRecord]) -> str:
        """The table of tools with a heading; empty without tools."""
        if not records:
            return ""
        return f"\ncalls by tool:\n{self.records_table(records, TOOL_COLUMNS, TOOLS)}"

    def print_questions(self, document: CompareDocument | ScoreDocument) -> None:
        """Print what judges would be sent, or what it would cost, of a dry run.

        Of an attached image or sound only that it is there is printed.
        """
        for prompt in document.prompts:
            say(f"{prompt.metric}, {prompt.item}, prompt {prompt.digest}")
            for message in prompt.messages:
                content = message.content
                parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
                say(f"\n--- {message.role} ---")
                for part in parts:
                    say(part["text"] if part["type"] == "text" else f"[attached: {part['type']}]")
        say_lines(*(f"{cost.metric}: {cost.words}" for cost in document.forecast))


@dataclass(frozen=True, kw_only=True)
class Printing(Styled):
    """Settings of a command that prints results with methods and signatures."""

    restated: ClassVar[Restated] = {
        "verbose": {"help": f"Also show methods and signatures; includes --wide. {TRACES}"}
    }


@dataclass(frozen=True, kw_only=True)
class Gating(Printing):
    """Settings of a command whose results gates can fail."""

    gates: Annotated[
        tuple[gate.Gate, ...],
        Option(
            "Fail (exit 1) unless the bound of the interval meets this; of a difference also 'NAME no-worse X' and "
            "'NAME equal X'. Repeatable.",
            flags="--gate", metavar="'NAME >= X'", repeatable=True, parse=parsed_gates,
        ),
    ] = field(default=())  # fmt: skip
    junit: Annotated[str | None, Option("Write the gates as a JUnit XML file.", metavar="FILE")] = None

    def conclude(self, result: Result, **how: Any) -> int:
        """As in `Styled`, and evaluate the gates: the code is the result's own if it is not 0, else 1 if one failed."""
        return self.judged(result, super().conclude(result, **how))

    def judged(self, result: Result, code: int) -> int:
        """Print the verdicts of the gates on a result; the code as in `conclude`."""
        verdicts = [verdict for each in self.gates for verdict in each.verdicts(result.findings)]
        say_lines(*map(str, verdicts), err=True)
        self._write_junit(verdicts)
        return code or (0 if all(verdict.passed for verdict in verdicts) else GATE_FAILED)

    @contextmanager
    def gated(self, metrics: Sequence[str]) -> Iterator[None]:
        """Check the gates before the run; a gate on a metric that is not asked for raises `UsageError`.

        If the run raises a `TurnwiseError`, its gates are written as failed to the --junit file, if one is asked for.
        """
        for each in self.gates:
            if metrics and each.name not in metrics:
                asked = ", ".join(metrics)
                raise UsageError(
                    f"gate `{each.text}`: `{each.name}` is not among the metrics asked for: {asked}"
                )
        try:
            yield
        except TurnwiseError as error:
            self._write_junit([each.failed(str(error)) for each in self.gates])
            raise

    def _write_junit(self, verdicts: Sequence[gate.Verdict]) -> None:
        """Write the verdicts as JUnit XML; nothing happens without a path."""
        if self.junit:
            with results.replacing(Path(self.junit)) as file:
                file.write(gate.junit(verdicts))


class Gated(Command):
    """A command whose results gates can fail."""

    screen_class = Gating

    @classmethod
    def on_command_line(cls, screen: Gating, given: dict[str, Any]) -> int:
        """As in `Command`, with gates checked before the run and written as failed if there is no result."""
        with screen.gated(given.get("metrics", ())):
            return super().on_command_line(screen, given)


def typed(*names: str) -> list[str]:
    """Those of these settings that were typed on the command line, not left out or from --config, by their options."""
    from click import get_current_context
    from click.core import ParameterSource

    context = get_current_context()
    return [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name in names
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    say_document(results.to_json(value).decode(), escape=json_escape)
