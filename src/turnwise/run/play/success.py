"""Whether what a scenario asks for holds at the end of a dialogue."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from turnwise.metrics.tools.calls import tool_calls
from turnwise.run.play.toolbox import at, holds, same
from turnwise.scenarios.scenario import Success
from turnwise.types import Turn


def unmet(success: Success, turns: Sequence[Turn], state: dict[str, Any]) -> list[str]:
    """What does not hold, in words; empty if all of it does. The rubric for a judge is not looked at."""
    return list(_unmet(success, turns, state))


def _unmet(success: Success, turns: Sequence[Turn], state: dict[str, Any]) -> Iterator[str]:
    """Each condition that does not hold."""
    calls = tool_calls(turns)
    for wanted in success.calls:
        made = [call for call in calls if call.name == wanted.name and not call.failed]
        if not any(
            isinstance(call.arguments, dict) and holds(wanted.arguments, call.arguments) for call in made
        ):
            yield f"no call of {wanted.name}" + (f" with {wanted.arguments}" if wanted.arguments else "")
    names = {call.name for call in calls}
    yield from (f"a call of {name}" for name in success.never_calls if name in names)
    for path, value in success.state.items():
        if not same(value, there := at(state, path)):
            yield f"{path} is {there!r}, not {value!r}"
    said = _plain(" ".join(turn.text for turn in turns if turn.role == "assistant"))
    yield from (f"`{words}` was not said" for words in success.says if not _said(words, said))
    yield from (f"`{words}` was said" for words in success.never_says if _said(words, said))


def _said(words: str, text: str) -> bool:
    """Whether the words are in a plain text, and their numbers whole: 10 is neither in 2010 nor in 10.50."""
    wanted = _plain(words)
    before = r"(?<!\d)(?<!\d\.)" if wanted[:1].isdigit() else ""
    after = r"(?!\d)(?!\.\d)" if wanted[-1:].isdigit() else ""
    return re.search(before + re.escape(wanted) + after, text) is not None


def _plain(text: str) -> str:
    """A text in lower case with single spaces; thousands without commas, as people write amounts either way."""
    return " ".join(text.lower().replace(",", "").split())
