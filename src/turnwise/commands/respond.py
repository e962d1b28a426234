"""Add what an agent would have said at each assistant message of the logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Screen
from turnwise.errors import UsageError, counted, setting
from turnwise.library.written import SHOWN, Replies
from turnwise.settings.groups import Filtering, Reading, Restarting, Seeding, Showing
from turnwise.settings.option import Count, NameOrFunction, Natural, Option, PathLike, Positive
from turnwise.terminal import say_lines

if TYPE_CHECKING:
    from turnwise.agents.calling import CallLimits


def parsed_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Key -> value, a number, true, false or text; a value with a comma or a bracket is a text.

    Anything but KEY=VALUE raises `UsageError`.
    """
    from turnwise.metrics import settings

    values: dict[str, Any] = {}
    for text in texts:
        if "=" not in text:
            raise UsageError(f"--set takes KEY=VALUE, as in --set temperature=.7, and not `{text}`")
        key, value = text.split("=", 1)
        values |= {key: value} if "," in value or "[" in value else settings(f"set[{text}]")[1]
    return values


@dataclass(frozen=True, kw_only=True)
class Respond(Restarting, Showing, Seeding, Filtering, Reading):
    """Add what an agent would have said at each assistant message of the logs.

    The agent is given the logged context of each point, and its replies are written under `alternatives`, where
    `score --as` and `ope` read them. Points that have replies under this name are left as they are. Where the
    agent fails, the point is printed and stays without a reply; `respond OUT ... -o OUT` asks there again.

    \b
      turnwise respond logs.jsonl --agent smollm2 --name smollm2 -o out.jsonl
      turnwise respond logs.jsonl --agent bot:reply --name mine -o out.jsonl
      turnwise respond logs.jsonl --agent https://host/v1 --set model=m \\
        --name m -o out.jsonl
    """

    command: ClassVar[str] = "respond"
    screen_class = Screen

    agent: Annotated[
        NameOrFunction,
        Option(
            "Who replies: an OpenAI-compatible address or a model by its provider, your own function, a folder that "
            "`turnwise train` wrote, or a language model by name, folder or hub id. Not the name of the logged agent: "
            "records that name none get it from `turnwise convert --agent NAME`.",
            metavar="URL|PROVIDER/MODEL|MODULE:FUNCTION|MODEL",
        ),
    ]
    name: Annotated[str, Option("The name of its replies in the logs.", metavar="NAME")]
    output: Annotated[
        PathLike,
        Option("The logs with the replies; an interrupted run resumes.", flags="-o --output", metavar="OUT"),
    ]
    samples: Annotated[Count, Option("Replies at each point.", metavar="K")] = 1
    settings: Annotated[
        Mapping[str, Any] | None,
        Option(
            "A setting of the agent, e.g. temperature=.7. Repeatable; docs/respond.md lists them.",
            flags="--set", metavar="KEY=VALUE", repeatable=True, parse=parsed_settings,
        ),
    ] = None  # fmt: skip
    self_play: Annotated[
        Count | None,
        Option(
            "Instead, write dialogues of N replies of the agent with itself, begun as logged.", metavar="N"
        ),
    ] = None
    user: Annotated[
        NameOrFunction | None,
        Option("With --self-play: the agent that plays the user.", metavar="AGENT"),
    ] = None
    again: Annotated[bool, Option("Replace replies that the logs have under this name.")] = False
    concurrency: Annotated[
        Count | None,
        Option("Requests or calls at once. Default: 8 for an address, 1 for a function.", metavar="N"),
    ] = None
    timeout: Annotated[
        Positive,
        Option("How long one reply of an address or a function may take.", metavar="SECONDS"),
    ] = 120.0
    tries: Annotated[
        Count | None,
        Option("Attempts at a point. Default: 4 for an address, 2 for a function.", metavar="N"),
    ] = None
    max_errors: Annotated[Natural, Option("Stop when the agent has failed at more points than this.")] = 20

    def __post_init__(self) -> None:
        """As in `Checked`; a name that no agent can have, or a user without self-play, raises `UsageError`."""
        super().__post_init__()
        if not self.name.strip() or self.name.startswith("@"):
            raise UsageError(
                f"`{self.name}` cannot be the name of an agent: {setting('--name')} must not be empty or begin with @"
            )
        if self.user and not self.self_play:
            raise UsageError(
                f"{setting('--user')} plays the user in {setting('--self-play')}; without {setting('--self-play')} the "
                "user's turns are the logged ones"
            )

    @property
    def agent_settings(self) -> dict[str, Any]:
        """The settings of the agent; an address has those of its calls too."""
        from turnwise.agents import is_served

        own = dict(self.settings or {})
        if is_served(str(self.agent)):
            return {**self._calls, "timeout": self.timeout, **own}
        return own

    @property
    def call_limits(self) -> "CallLimits":
        """How often and how long the agent is asked."""
        from turnwise.agents.calling import CallLimits

        return CallLimits(timeout=self.timeout, **self._calls)

    @property
    def _calls(self) -> dict[str, int]:
        """The limits of calls that were given."""
        limits = {"concurrency": self.concurrency, "tries": self.tries}
        return {key: value for key, value in limits.items() if value is not None}

    def run(self) -> Replies:
        """Ask the agent, and write the logs."""
        from turnwise.run.dialogues.respond import respond
        from turnwise.run.dialogues.selfplay import write_self_play

        with opened(self) as ready:
            done = write_self_play(ready) if self.self_play else respond(ready)
        return Replies(
            path=str(self.output),
            n_dialogues=done.n_dialogues,
            n_points=done.n_points,
            n_replies=done.n_replies,
            n_there=done.n_existing,
            failures=tuple(map(str, done.failures)),
        )

    def show(self, replies: Replies, screen: Screen) -> None:
        """Print where the agent failed, and what was written."""
        if screen.quiet:
            return
        failed = len(replies.failures)
        lines = [f"note: {failure}" for failure in replies.failures[:SHOWN]]
        if failed > SHOWN:
            lines.append(f"note: and at {counted(failed - SHOWN, 'point')} more")
        if replies.n_there:
            lines.append(f"note: {counted(replies.n_there, 'point')} had replies of {self.name} already")
        points = f"{replies.n_points - failed} of {counted(replies.n_points, 'point')}"
        coverage = "" if self.self_play else f", {self.name} replies at {points}"
        lines.append(f"{self.output}: {counted(replies.n_dialogues, 'dialogue')} written{coverage}")
        say_lines(*lines, err=True)


COMMAND = Respond
respond = function(Respond)
__all__ = ["respond"]
