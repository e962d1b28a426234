"""What a conversation is worth to the one who had it: latent quality from 1 to 5, on four dimensions.

It is computed from the text alone, turn by turn, and so for any agent. `sense`: stays with what it said of itself
and with the talk. `listening`: heeds and answers the user. `interesting`: asks, and tells of itself.
`overall` is made of all, and repetition costs most.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from turnwise.types import Turn
from turnwise.worlds.chat.topics import said
from turnwise.worlds.chat.user import heeds

DIMENSIONS = ("overall", "sense", "listening", "interesting")


def impression(turns: Sequence[Turn]) -> Mapping[str, float]:
    """`turns` without the briefing, which who rates has not seen either."""
    replies = [(before.text, turn.text) for before, turn in pairwise(turns) if turn.role == "assistant"]
    n = len(replies)
    holds: dict[str, str] = {}
    seen: set[str] = set()
    false = strayed = repeated = heeded = asked = answered = inquired = shared = 0
    for user, reply in replies:
        meaning, wanted = said(reply), said(user).asks
        false += any(holds.get(topic, thing) != thing for topic, thing in meaning.holds.items())
        shared += bool(meaning.holds)
        for topic, thing in meaning.holds.items():
            holds.setdefault(topic, thing)
        heeding = heeds(user, reply)
        heeded += heeding
        strayed += not heeding and bool(meaning.topics)
        asked += bool(wanted)
        answered += any(topic in meaning.topics for topic in wanted)
        inquired += meaning.question
        repeated += reply in seen
        seen.add(reply)
    listening = (heeded + answered) / (n + asked)
    lively = min(1.0, 1.6 * inquired / n)
    sense = 5 - 6 * false / n - 3 * strayed / n - 3 * repeated / n
    interest = 1.5 + 2 * lively + 1.5 * min(1.0, 2 * shared / n) - 2 * repeated / n
    parts = {"sense": _held(sense), "listening": _held(1 + 4 * listening), "interesting": _held(interest)}
    overall = (
        0.35 * parts["sense"] + 0.35 * parts["listening"] + 0.3 * parts["interesting"] - 1.5 * repeated / n
    )
    return {"overall": _held(overall), **parts}


def _held(value: float) -> float:
    return min(5.0, max(1.0, value))
