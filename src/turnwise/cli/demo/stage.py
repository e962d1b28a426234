"""The data of `turnwise demo`, from a simulated family of agents: who stands for people, who is not rated yet.

One agent of the family, the one without a failing, plays the people: its dialogues are theirs, and what it would
have said at a point is the reference there. Another is new: it has no rated dialogue, and is known only by what it
would have said in the dialogues of the others. Everything here is made up, and says so in `meta`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from turnwise.logs import native
from turnwise.types import Dialogue, Turn

HUMAN = "human"


@dataclass(frozen=True, slots=True)
class Staged:
    """The two files that `stage` writes."""

    logs: Path  # rated dialogues of all agents but these two
    people: Path


def stage(simulated: Path, folder: Path, *, people: str, new: str) -> Staged:
    """Write `logs.jsonl` and `people.jsonl` to `folder` from simulated logs; `people` is the agent that plays
    the people, and `new` the one that nobody has rated.
    """
    staged = Staged(folder / "logs.jsonl", folder / "people.jsonl")
    native.write(_logs(simulated, people=people, new=new), str(staged.logs))
    native.write(_people(simulated, people), str(staged.people))
    return staged


def _logs(simulated: Path, *, people: str, new: str) -> Iterator[Dialogue]:
    """The dialogues of all agents but the two, with what `people` would have said as references."""
    for dialogue in native.read(str(simulated)):
        if dialogue.agent not in (people, new):
            yield replace(dialogue, turns=tuple(_with_references(turn, people) for turn in dialogue.turns))


def _with_references(turn: Turn, people: str) -> Turn:
    """The turn with the replies of `people` as its references, and no longer as alternatives; unchanged if
    there are none.
    """
    if people not in turn.alternatives:
        return turn
    said = dict.fromkeys(reply.content for reply in turn.alternatives[people])
    others = {agent: replies for agent, replies in turn.alternatives.items() if agent != people}
    return replace(turn, references=tuple(said), alternatives=others)


def _people(simulated: Path, people: str) -> Iterator[Dialogue]:
    """The dialogues of `people` under the agent `human`, without alternatives and ratings."""
    for dialogue in native.read(str(simulated)):
        if dialogue.agent == people:
            turns = tuple(replace(turn, alternatives={}) for turn in dialogue.turns)
            yield replace(dialogue, agent=HUMAN, turns=turns, ratings=())
