"""The user of a world, which follows the rules of `turnwise simulate`."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from turnwise.types import Signature, Turn
from turnwise.users.user import Stage, UserMessage, needs


class RuleUser:
    """The user of the scenario's world."""

    concurrent: ClassVar[bool] = True
    signature: ClassVar[Signature] = Signature("rules")

    def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
        """The user's next message by the rules; None of the world means that the user has left."""
        if stage.scene is None:
            raise needs(stage, "`world`", user="rules")
        rng = np.random.default_rng(seed)
        if not turns:
            return UserMessage(stage.scene.first_message(rng))
        text = stage.scene.next_message([stage.scene.briefing, *turns], rng)
        return UserMessage("", "goal") if text is None else UserMessage(text)
