"""LAVA, PLAS and their like as agents: they answer the user's last words in placeholders, and never draw.

The policy reads the belief state of the turn that it answers: `respond` and the simulated worlds put it on the user's
last turn (`state`), with the database's bits (`db_pointer`), where the model was trained with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from turnwise.agents.answering import Answer, Asked, NoReply, alone
from turnwise.encode.models.folder import Folder
from turnwise.encode.neural.loading import default_device
from turnwise.errors import DataError
from turnwise.logs.dialogue import POINTER
from turnwise.networks.lava.model import Model
from turnwise.networks.lava.situation import Bits
from turnwise.types import Reply, Signature, Turn
from turnwise.worlds.task.lexicalise import DELEXICALISED


@dataclass(frozen=True, eq=False)
class LatentPolicy:
    model: Model
    label: str  # kind@digest

    @classmethod
    def read(cls, folder: Folder, *, device: str | None = None) -> "LatentPolicy":
        """Of a folder that `turnwise train lava|plas|lava-pg` wrote."""
        model = Model.of(folder, device=device or default_device())
        return cls(model, f"{folder.kind}@{folder.digest[:8]}")

    @property
    def signature(self) -> Signature:
        return Signature(self.label)

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return alone(self, turns, rng)

    def replies(self, asked: Sequence[Asked], /) -> list[Answer]:
        found = [self._situation(one.turns) for one in asked]
        said = [one for one in found if not isinstance(one, NoReply)]
        answers = iter(self.model.answer(said) if said else ())
        return [one if isinstance(one, NoReply) else Reply(next(answers)) for one in found]

    def _situation(self, turns: Sequence[Turn]) -> tuple[str, Bits] | NoReply:
        last = turns[-1] if turns else None
        if last is None or last.role != "user" or not last.text.strip():
            return NoReply(f"{self.label} answers what a user says, and nothing was said by one last")
        if last.state is None:
            return NoReply(f"{self.label} reads the belief state, and this turn has no `state`")
        if self.model.situation.is_foreign(last.state):
            return NoReply(f"{self.label} knows no slot of this state: {', '.join(last.state)}")
        bits = str(last.extra.get(POINTER, "")) if self.model.situation.pointer else ""
        try:
            return self._words(last), self.model.situation.bits(last.state, bits)
        except DataError as error:
            return NoReply(f"{self.label} cannot read this turn: {error}")

    def _words(self, turn: Turn) -> str:
        """Without values where the model was trained on such words, and the turn has them."""
        bare = str(turn.extra.get(DELEXICALISED, turn.text))
        marks = [word for word in bare.split() if word.startswith("[")]
        return bare if all(mark in self._known for mark in marks) else turn.text

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.model.words.known)
