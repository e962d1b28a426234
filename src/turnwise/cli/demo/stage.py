"""The files of `turnwise demo` beside the corpora that ship: one bot without its ratings, and what people said.

`rated.jsonl` has the dialogues of six bots with people's ratings, `new.jsonl` those of the seventh without them;
their mean is kept in `uncovered.json`, to be looked at afterwards. `people.jsonl` has the same dialogues with the
roles changed: what the person said is the reply, so that people's own replies are there to be beaten.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import msgspec

from turnwise.logs import native
from turnwise.types import Dialogue

HUMAN: Final = "human"
OTHER: Final[dict[str, Literal["user", "assistant"]]] = {"user": "assistant", "assistant": "user"}


def stage(corpus: Path, folder: Path, *, new: str, dimension: str) -> None:
    """Write the four files; `new` is the bot whose ratings of `dimension` are hidden."""
    dialogues = list(native.read(str(corpus)))
    native.write((one for one in dialogues if one.agent != new), str(folder / "rated.jsonl"))
    own = [one for one in dialogues if one.agent == new]
    native.write((replace(one, ratings=()) for one in own), str(folder / "new.jsonl"))
    native.write(_people(dialogues), str(folder / "people.jsonl"))
    values = [rating.value for one in own for rating in one.ratings if rating.dimension == dimension]
    mean = {"mean": statistics.mean(values), "se": statistics.stdev(values) / len(values) ** 0.5}
    (folder / "uncovered.json").write_bytes(msgspec.json.encode({"agents": {new: {dimension: mean}}}))


def _people(dialogues: Sequence[Dialogue]) -> Iterator[Dialogue]:
    """The dialogues with the roles changed, from the bot's first message on, without ratings."""
    for dialogue in dialogues:
        first = next((at for at, turn in enumerate(dialogue.turns) if turn.role == "assistant"), None)
        if first is not None:
            turns = tuple(replace(turn, role=OTHER[turn.role]) for turn in dialogue.turns[first:])
            yield replace(dialogue, agent=HUMAN, turns=turns, ratings=())
