"""LAVA (Lubis et al. 2020), PLAS (Lubis et al. 2022) and LAVA with policy gradient as agents.

They reply to the user's last turn with placeholders, and deterministically. The policy needs the belief state of that
turn: `respond` and the simulated worlds put it on the turn (`state`), with the database bits (`db_pointer`) if the
model was trained with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from turnwise.agents.calling import NoReply, ReplyOrFailure, ReplyRequest, single_reply
from turnwise.encode.models.folder import Folder
from turnwise.encode.neural.loading import default_device
from turnwise.errors import DataError
from turnwise.logs.dialogue import POINTER
from turnwise.networks.lava.model import Model
from turnwise.networks.lava.state_layout import Bits
from turnwise.types import Reply, Signature, Turn
from turnwise.worlds.task.lexicalise import DELEXICALISED


@dataclass(frozen=True, eq=False)
class LatentPolicy:
    """A policy with a latent action, trained on MultiWOZ's format."""

    model: Model
    label: str  # kind@digest

    @classmethod
    def read(cls, folder: Folder, *, device: str | None = None) -> "LatentPolicy":
        """Load a folder that `turnwise train lava|plas|lava-pg` wrote."""
        model = Model.of(folder, device=device or default_device())
        return cls(model, f"{folder.kind}@{folder.digest[:8]}")

    @property
    def signature(self) -> Signature:
        """The label: kind of the model and digest of its folder."""
        return Signature(self.label)

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return single_reply(self, turns, rng)

    def replies(self, requests: Sequence[ReplyRequest], /) -> list[ReplyOrFailure]:
        """The reply to each request in order; a `NoReply` where the last turn is no user turn with a belief state."""
        inputs = [self._policy_input(one.turns) for one in requests]
        valid = [one for one in inputs if not isinstance(one, NoReply)]
        texts = iter(self.model.replies(valid) if valid else ())
        return [one if isinstance(one, NoReply) else Reply(next(texts)) for one in inputs]

    def _policy_input(self, turns: Sequence[Turn]) -> tuple[str, Bits] | NoReply:
        """The policy's input for the last turn (its text and the bits of its state), or why it has none."""
        last = turns[-1] if turns else None
        if last is None or last.role != "user" or not last.text.strip():
            return NoReply(f"{self.label} replies only to a user's turn, and the last turn is not one")
        if last.state is None:
            return NoReply(f"{self.label} needs the belief state, and this turn has no `state`")
        if self.model.layout.is_foreign(last.state):
            return NoReply(f"{self.label} knows no slot of this state: {', '.join(last.state)}")
        bits = str(last.extra.get(POINTER, "")) if self.model.layout.pointer else ""
        try:
            return self._input_text(last), self.model.layout.bits(last.state, bits)
        except DataError as error:
            return NoReply(f"{self.label} cannot read this turn: {error}")

    def _input_text(self, turn: Turn) -> str:
        """The turn's delexicalised text if the model knows all of its placeholders, otherwise the plain text."""
        delexicalised = str(turn.extra.get(DELEXICALISED, turn.text))
        placeholders = [word for word in delexicalised.split() if word.startswith("[")]
        return delexicalised if all(one in self._vocabulary for one in placeholders) else turn.text

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        """The words that the model knows, special marks included."""
        return frozenset(self.model.words.known)
