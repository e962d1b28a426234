"""A user that says the turns of its scenario, one after the other, whatever the agent replies."""

from collections.abc import Sequence
from typing import ClassVar

from turnwise.types import Signature, Turn
from turnwise.users.user import Stage, UserMessage, needs


class ScriptedUser:
    """The turns of the scenario."""

    concurrent: ClassVar[bool] = True
    signature: ClassVar[Signature] = Signature("scripted")

    def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
        """The next turn of the script; after the last one the user is gone."""
        if not stage.scenario.turns:
            raise needs(stage, "`turns`", user="scripted")
        said = sum(turn.role == "user" for turn in turns)
        script = stage.scenario.turns
        return UserMessage(script[said]) if said < len(script) else UserMessage("", "script")
