"""Simulate dialogues of agents whose true quality is known."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from turnwise.commands.function import function
from turnwise.commands.screen import HINT, Styled, print_json
from turnwise.errors import counted
from turnwise.library.written import Simulated
from turnwise.settings.groups import Resumption, Seeding, Showing, Working
from turnwise.settings.option import Count, Natural, Option, Pairs, PathLike
from turnwise.terminal import say, say_lines


def _addresses(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of a name and an address; anything but NAME=AGENT raises `ValueError`."""
    pairs = []
    for text in texts:
        name, sign, address = text.partition("=")
        if not (name and sign and address):
            raise ValueError(f"`{text}` is not NAME=AGENT")
        pairs.append((name, address))
    return tuple(pairs)


@dataclass(frozen=True, kw_only=True)
class Simulate(Showing, Working, Seeding):
    """Simulate dialogues of agents whose true quality is known.

    WORLD is `booking` (families graded, wordings, behaviour, stochastic, trained), `chat` (graded, failings, mixed) or
    `task` (graded, failings). Each point of the logs has what every agent of the family would have said there.

    \b
      turnwise simulate booking --family behaviour -o logs.jsonl
      turnwise simulate chat --agents 8 --with bot=mybots:reply -o logs.jsonl.gz
      turnwise simulate task --db multiwoz_db -o logs.jsonl.gz
    """

    command: ClassVar[str] = "simulate"
    resumption: ClassVar[Resumption] = "never"
    screen_class = Styled

    world: Annotated[
        str, Option("`booking`, `chat`, `task`, or a world of a plugin.", flags="WORLD")
    ] = field(kw_only=False)  # fmt: skip
    output: Annotated[
        PathLike,
        Option(
            "A .jsonl or .jsonl.gz file; the truth of x.jsonl is written to x.truth.json beside it.",
            flags="-o --output", metavar="LOGS",
        ),
    ]  # fmt: skip
    family: Annotated[
        str | None, Option("Which agents. Default: the world's first, `graded`.", metavar="NAME")
    ] = None
    agents: Annotated[Count, Option("Number of agents of the family.", metavar="N")] = 16
    dialogues: Annotated[Count, Option("Dialogues of each agent.", metavar="N")] = 100
    samples: Annotated[
        Count,
        Option("Replies of every agent at each point; identical ones are written once.", metavar="N"),
    ] = 4
    truth: Annotated[
        Natural,
        Option("Unlogged dialogues behind an agent's true mean; 0 for no truth.", metavar="N"),
    ] = 5000
    outsiders: Annotated[
        Pairs,
        Option(
            "An agent beside the family: module:function, an address, a model, as in `respond`. Repeatable.",
            flags="--with", metavar="NAME=AGENT", repeatable=True, parse=_addresses,
        ),
    ] = ()  # fmt: skip
    db: Annotated[
        PathLike | None,
        Option(
            "`task`: the folder of the venue tables, as MultiWOZ has them. Default: the tables of an invented town.",
            metavar="DIR",
        ),
    ] = None
    goals: Annotated[
        PathLike | None,
        Option(
            "`task`: the users have the goals of these dialogues. Default: goals drawn from the tables.",
            metavar="DATA",
        ),
    ] = None
    user: Annotated[
        str | None,
        Option(
            "`task`: a function of yours that makes a user with the interface of ConvLab-3's simulators. `booking`: "
            "the folder of a customer that `turnwise train customer` made.",
            metavar="MODULE:FUNCTION|DIR",
        ),
    ] = None
    delexicalised: Annotated[
        bool,
        Option("`task`: write placeholders for values, and what each system believed, for `score --as`."),
    ] = False
    draw: Annotated[
        Natural | None,
        Option(
            "Draw the agents of the family at random with this seed. Default: its fixed list, the same in every run.",
            metavar="SEED",
        ),
    ] = None

    def run(self) -> Simulated:
        """Write the logs and the truth."""
        from turnwise import worlds
        from turnwise.run.dialogues.simulate import simulate, truth_path

        family = self.family or next(iter(worlds.named(self.world).FAMILIES))
        document = simulate(self.changed(family=family))
        output = str(self.output)
        return Simulated(
            path=output,
            truth_path=truth_path(output) if document["agents"] else None,
            n_dialogues=(self.agents + len(self.outsiders)) * self.dialogues,
            truth=document,
        )

    def show(self, simulated: Simulated, screen: Styled) -> None:
        """Print the true means, and where the logs are."""
        if screen.style == "json":
            print_json(simulated.truth)
        elif len(simulated):
            say(simulated.table(wide=screen.wide, hint=HINT))
        if not screen.quiet:
            beside = f"; {simulated.truth_path}: true means" if simulated.truth_path else ""
            say_lines(f"{simulated.path}: {counted(simulated.n_dialogues, 'dialogue')}{beside}", err=True)


COMMAND = Simulate
simulate = function(Simulate)
__all__ = ["simulate"]
