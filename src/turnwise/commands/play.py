"""Let agents talk to simulated users in scenarios, and say how real these users are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

from turnwise.commands.function import function
from turnwise.commands.respond import parsed_settings
from turnwise.commands.screen import HINT, Gated, Gating, print_json
from turnwise.errors import UsageError, counted, setting
from turnwise.library.notes import Warned
from turnwise.library.results import Result, ResultOf, cells
from turnwise.records import PlayRecord, plain
from turnwise.report import fitting
from turnwise.report.documents import PlayDocument
from turnwise.report.fitting import Layout, sized
from turnwise.settings.data import Data
from turnwise.settings.groups import Restarting, Seeding, Showing
from turnwise.settings.option import (
    Count,
    Money,
    NameOrFunction,
    NamesOrFunctions,
    Natural,
    Option,
    PathLike,
    Positive,
)
from turnwise.terminal import say, say_document, say_lines

Scenarios: TypeAlias = str | Path | Sequence[Any]


def print_schema() -> None:
    """Print the JSON Schema of a file of scenarios."""
    from turnwise.scenarios.schema import published
    from turnwise.terminal import json_escape

    say_document(published(), escape=json_escape)


ENDS = {
    "goal": "goal", "gave-up": "gave up", "script": "script over", "limit": "limit", "agent-fault": "agent fault",
    "simulator-fault": "simulator fault", "infrastructure-fault": "infrastructure fault",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Played(ResultOf[PlayRecord]):
    """How agents did with simulated users: a record for each agent and dimension of success."""

    columns: ClassVar[tuple[str, ...]] = (
        "agent",
        "dimension",
        "estimate",
        "interval",
        "n_items",
        "n_clusters",
    )
    layout: ClassVar[Layout] = Layout(
        names=("agent", "dimension"), results=("estimate", "interval"), others=("n_items", "n_clusters")
    )

    document: PlayDocument
    path: str  # of the log
    judged: bool  # whether there was a judge
    compared: bool  # whether there were real dialogues

    @property
    def exit_code(self) -> int:
        """0: dialogues were held, whether or not something was to hold at their end."""
        return 0

    def ends(self, *, wide: bool = False, hint: str = fitting.HINT) -> str:
        """A table of how the dialogues of each agent ended."""
        rows = [
            {"agent": one.agent, "dialogues": one.dialogues, **_named(one.ends)} for one in self.document.ends
        ]
        shown = ["agent", "dialogues", *(name for name in ENDS.values() if any(name in row for row in rows))]
        table = [[row.get(name, 0) for name in shown] for row in rows]
        return sized(table, shown, Layout(names=("agent",), results=tuple(shown[1:])), wide=wide, hint=hint)

    def realism(self, *, wide: bool = False, hint: str = fitting.HINT) -> str:
        """A table of how far simulated users are from real ones; "" without real dialogues."""
        columns = ("kind", "measure", "simulated", "real", "estimate", "interval", "floor", "floor_interval")
        layout = Layout(
            names=("kind", "measure"), results=("estimate", "interval", "floor"),
            others=("floor_interval", "simulated", "real"),
        )  # fmt: skip
        measured = [plain(record) for record in self.document.realism if record.estimate is not None]
        if not measured:
            return ""
        head, rows = cells(measured, columns, layout)
        return sized(rows, head, layout, wide=wide, hint=hint)

    def notes(self) -> list[str]:
        """As for every result; on faults that are not scored, on messages that were tried again, and on realism."""
        lines = Result.notes(self)
        for one in self.document.ends:
            if faults := sum(one.simulator_faults.values()):
                lines.append(
                    Warned(
                        f"{one.agent}: not scored: {counted(faults, 'dialogue')} that a fault of the simulated "
                        f"user ended ({_listed(one.simulator_faults)})"
                    )
                )
            if tried := sum(one.discarded.values()):
                lines.append(
                    f"note: {one.agent}: tried again, unseen by the agent: {counted(tried, 'message')} of the "
                    f"simulated user with a fault ({_listed(one.discarded)})"
                )
            if one.unjudged:
                why = (
                    "the judge gave no verdict"
                    if self.judged
                    else f"their scenarios have a rubric, which {setting('--judge', 'AGENT')} judges"
                )
                lines.append(
                    Warned(f"{one.agent}: success is not known of {counted(one.unjudged, 'dialogue')}: {why}")
                )
            if failed := one.ends.get("infrastructure-fault", 0):
                lines.append(
                    Warned(
                        f"{one.agent}: not scored: {counted(failed, 'dialogue')} lost to the infrastructure"
                    )
                )
        for reason in dict.fromkeys(one.reason for one in self.document.realism if one.reason):
            lines.append(f"note: {reason}")
        if not self.document.realism:
            why = (
                "the scenarios say every message of theirs"
                if self.compared
                else f"{setting('--real', 'LOGS')} compares them with people"
            )
            lines.append(f"note: how real the simulated users are is not known: {why}")
        for what, count in self.document.left_out.items():
            lines.append(Warned(f"not asked of the agents, though the scenarios do: {what} ({count})"))
        for check in self.document.ranks:
            agreeing = f"{check.agreeing_pairs} of {counted(check.pairs, 'pair')} of agents"
            lines.append(
                f"note: {check.against} of the simulation and {check.dimension} of the real dialogues order "
                f"{agreeing} alike"
            )
        return lines

    def __str__(self) -> str:
        parts = [self.table() if len(self) else "", self.ends(), self.realism(), *self.notes()]
        return "\n\n".join(parts[:3]).strip("\n") + "\n" + "\n".join(parts[3:])

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True)
class Printing(Gating):
    """Settings of the command line of `play`."""

    schema: Annotated[
        bool, Option("Print the JSON Schema of a file of scenarios, and nothing else.", prints=print_schema)
    ] = False


@dataclass(frozen=True, kw_only=True)
class Play(Gated, Restarting, Showing, Seeding):
    """Let agents talk to simulated users in scenarios, and say how real these users are.

    SCENARIOS are files in YAML or TOML (docs/play.md), goldens of DeepEval, tasks of tau2 or tests of promptfoo, or
    `world:NAME`, scenarios of a world. Several agents meet the same users. What comes out is a log for `score`,
    `compare`, `view` and `rate`; what was measured is in a file beside it.

    \b
      turnwise play scenarios.yaml --agent bot:reply -o runs.jsonl
      turnwise play scenarios.yaml --agent a=bot:old --agent b=bot.toml \\
        --user openai/gpt-4o-mini --repeats 4 --real logs.jsonl -o runs.jsonl
      turnwise play scenarios.yaml --agent bot:reply -o runs.jsonl \\
        --gate 'success >= 0.8'
    """

    command: ClassVar[str] = "play"
    screen_class = Printing

    scenarios: Annotated[
        Scenarios,
        Option(
            "Files of scenarios, or `world:NAME`; in Python also scenarios as dicts.",
            flags="SCENARIOS...", checked=False, record=None,
        ),
    ] = field(kw_only=False)  # fmt: skip
    agents: Annotated[
        NamesOrFunctions,
        Option(
            "Who is tried: as in `respond`, or a .toml file that describes an HTTP address; in Python a function, "
            "too. Repeatable.",
            flags="--agent", metavar="[NAME=]AGENT", repeatable=True,
        ),
    ]  # fmt: skip
    output: Annotated[
        PathLike,
        Option("The log; an interrupted run resumes.", flags="-o --output", metavar="LOGS", record=None),
    ]
    user: Annotated[
        NameOrFunction,
        Option(
            "Who talks to it: `scripted` (the turns of the scenario), `rules` (the user of its world), a folder of "
            "`turnwise train user`, or any agent, which is told persona, goal and facts.",
            metavar="USER",
        ),
    ] = "scripted"  # fmt: skip
    repeats: Annotated[Count, Option("Dialogues of each agent in each scenario.", metavar="N")] = 1
    real: Annotated[
        Data | None,
        Option(
            "Real dialogues, with which simulated users are compared; in Python as the data of `score`.",
            metavar="LOGS", checked=False, record=None,
        ),
    ] = None  # fmt: skip
    real_kind: Annotated[
        str, Option("The key of the real dialogues that has the scenarios' `kind`.", metavar="KEY")
    ] = "meta.kind"
    model: Annotated[
        PathLike | None,
        Option("The encoder of texts for the comparison with real users.", metavar="NAME|DIR|hub id"),
    ] = None
    settings: Annotated[
        Mapping[str, Any] | None,
        Option(
            "A setting of the agents, e.g. temperature=.7; NAME.KEY=VALUE is for one of them. Repeatable.",
            flags="--set", metavar="KEY=VALUE", repeatable=True, parse=parsed_settings,
        ),
    ] = None  # fmt: skip
    user_settings: Annotated[
        Mapping[str, Any] | None,
        Option(
            "A setting of the user. Repeatable.",
            flags="--user-set", metavar="KEY=VALUE", repeatable=True, parse=parsed_settings,
        ),
    ] = None  # fmt: skip
    tools: Annotated[
        str | None,
        Option("A Python module with functions named as the tools of the scenarios.", metavar="MODULE"),
    ] = None
    judge: Annotated[
        NameOrFunction | None,
        Option("The agent that says whether `success.judge` of a scenario holds.", metavar="AGENT"),
    ] = None
    judge_settings: Annotated[
        Mapping[str, Any] | None,
        Option(
            "A setting of the judge. Repeatable.",
            flags="--judge-set", metavar="KEY=VALUE", repeatable=True, parse=parsed_settings,
        ),
    ] = None  # fmt: skip
    max_turns: Annotated[Count | None, Option("Most replies of the agent, in place of the scenarios'.")] = (
        None
    )
    limit: Annotated[Count | None, Option("Only the first N scenarios.", metavar="N")] = None
    retries: Annotated[
        Natural,
        Option("Further attempts where the simulated user or the infrastructure has a fault.", metavar="N"),
    ] = 2  # fmt: skip
    check: Annotated[
        bool, Option("Do not look for faults of the simulated user.", flags="--no-check", inverted=True)
    ] = True
    concurrency: Annotated[
        Count | None,
        Option("Dialogues at once. Default: 8 with an address, 1 with functions.", metavar="N", record=None),
    ] = None  # fmt: skip
    rate: Annotated[
        Positive | None, Option("Most requests a minute to each address.", metavar="N", record=None)
    ] = None
    timeout: Annotated[
        Positive, Option("How long one reply may take.", metavar="SECONDS", record=None)
    ] = 120.0  # fmt: skip
    tries: Annotated[
        Count | None,
        Option("Attempts at a reply. Default: 4 for an address, 2 else.", metavar="N", record=None),
    ] = None
    price: Annotated[
        str | None,
        Option("What a million tokens of the agents cost, as 0.15/0.6.", metavar="IN/OUT", record=None),
    ] = None
    user_price: Annotated[
        str | None,
        Option("The same of the user. Default: as the agents'.", metavar="IN/OUT", record=None),
    ] = None
    max_cost: Annotated[
        Money | None, Option("Stop when this is spent, by --price.", metavar="X", record=None)
    ] = None
    max_calls: Annotated[
        Count | None, Option("Stop after N calls of agents and users.", metavar="N", record=None)
    ] = None
    max_errors: Annotated[
        Natural, Option("Stop when more dialogues than this are lost to the infrastructure.", record=None)
    ] = 20
    draws: Annotated[Count, Option("Resamples behind an interval.")] = 1000

    def __post_init__(self) -> None:
        """As in `Checked`; no agent, or a limit on cost without a price, raises `UsageError`."""
        super().__post_init__()
        if not self.agents:
            raise UsageError(f"{setting('--agent')} names nobody")
        if self.max_cost is not None and self.price is None and self.user_price is None:
            raise UsageError(
                f"{setting('--max-cost')} needs {setting('--price', 'IN/OUT')} of a million tokens"
            )

    def run(self) -> Played:
        """Hold the dialogues, and write the log and what is beside it."""
        from turnwise.library.data import files
        from turnwise.run.play.command import play

        if self.real is None:
            return self._played(play(self))
        with files(self.real, reader=None, mapping=None) as given:
            return self._played(play(self.changed(real=given.paths)))

    def _played(self, document: PlayDocument) -> Played:
        """The result of a document."""
        return Played(
            document=document,
            path=str(self.output),
            judged=self.judge is not None,
            compared=self.real is not None,
        )

    def show(self, played: Played, screen: Printing) -> int:
        """Print the scores, how dialogues ended, how real the users are, and where the log is."""
        if screen.style == "json":
            print_json(played.document)
        else:
            wide = screen.wide or screen.verbose
            tables = [
                screen.records_table(played.document.results, played.columns, played.layout)
                if len(played)
                else "",
                played.ends(wide=wide, hint=HINT),
                played.realism(wide=wide, hint=HINT),
            ]
            say("\n\n".join(table for table in tables if table))
        notes = [line for line in played.notes() if not screen.quiet or isinstance(line, Warned)]
        held = sum(one.dialogues for one in played.document.ends)
        if not screen.quiet:
            notes.append(f"{self.output}: {counted(held, 'dialogue')} held")
        say_lines(*notes, err=True)
        return screen.judged(played, played.exit_code)


def _named(ends: Mapping[str, int]) -> dict[str, Any]:
    """Counts by the words for each end."""
    return {ENDS[end]: count for end, count in ends.items()}


def _listed(counts: Mapping[str, int]) -> str:
    """Counts by kind, in words."""
    parts: Sequence[str] = [f"{kind} {count}" for kind, count in counts.items()]
    return ", ".join(parts)


COMMAND = Play
play = function(Play)
__all__ = ["Played", "play"]
