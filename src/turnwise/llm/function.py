"""A Python function in place of a server: it gets the messages of a question and returns the text of the answer.

The function is called with a list of `{"role", "content"}`, one question at a time; it may be async. What it raises is
the error of this question alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import msgspec
import numpy as np

from turnwise.llm.chat import ChatError, Meter, Question
from turnwise.llm.response import Completion
from turnwise.registry import own_function
from turnwise.session_functions import finished
from turnwise.types import digest


def is_function(address: str) -> bool:
    """Whether an address is `module:function` and no URL."""
    return ":" in address and "/" not in address


@dataclass(frozen=True, slots=True)
class FunctionChat:
    """Asks a function of the user."""

    name: str  # module:function
    source: str  # digest of its file
    function: Callable[..., Any]

    @classmethod
    def of(cls, name: str) -> "FunctionChat":
        """The function with this name, imported now; raises `UsageError` if that fails."""
        function, source = own_function(name, "judge")
        return cls(name, digest(source), function)

    @property
    def label(self) -> str:
        """The name of the judge: that of the function with a digest of its source."""
        return f"{self.name}@{self.source[:12]}"

    def ask(
        self, questions: Sequence[Question], *, rng: np.random.Generator, meter: Meter | None = None
    ) -> list[Completion | ChatError]:
        """The answer to each question in order, or the error; `rng` is not used, and `meter` is asked before each."""
        return [self._answer(question, meter) for question in questions]

    def _answer(self, question: Question, meter: Meter | None) -> Completion | ChatError:
        """The answer to one question, or why there is none."""
        start = monotonic()
        try:
            if meter is not None:
                meter.check()
            returned = finished(self.function(question["messages"]))
        except ChatError as error:
            return error
        # The user's function may raise anything.
        except Exception as error:
            return ChatError(f"{self.name} raised {type(error).__name__}: {error}")
        if not isinstance(returned, str):
            kind = type(returned).__name__
            return ChatError(f"{self.name} returned a {kind}; expected the text of the answer")
        answer = Completion(returned, seconds=monotonic() - start)
        if meter is not None:
            meter.add(msgspec.json.encode(question), answer)
        return answer
