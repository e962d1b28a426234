"""The latent quality of a dialogue, from 1 to 5 on four dimensions, before raters add bias and noise.

It is computed from the text alone, so it exists for any agent. `sense`: the agent contradicts neither itself nor
the topic. `listening`: it stays on the user's topic and answers questions. `interesting`: it asks questions and talks
about itself. `overall` is a weighted sum of the three; repeated replies lower it most.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from turnwise.types import Turn
from turnwise.worlds.chat.topics import parse
from turnwise.worlds.chat.user import is_on_topic

DIMENSIONS = ("overall", "sense", "listening", "interesting")


def latent_quality(turns: Sequence[Turn]) -> Mapping[str, float]:
    """The latent quality by dimension, each from 1 to 5; `turns` excludes the briefing, which raters do not see.

    Without a reply in `turns` it raises `ZeroDivisionError`.
    """
    replies = [(before.text, turn.text) for before, turn in pairwise(turns) if turn.role == "assistant"]
    n = len(replies)
    first_claims: dict[str, str] = {}
    seen: set[str] = set()
    # Numbers of replies, except `asked`: the user's questions.
    contradicting = off_topic = repeated = on_topic = asked = answered = asking = sharing = 0
    for user, reply in replies:
        meaning, wanted = parse(reply), parse(user).asks
        contradicting += any(
            first_claims.get(topic, thing) != thing for topic, thing in meaning.claims.items()
        )
        sharing += bool(meaning.claims)
        for topic, thing in meaning.claims.items():
            first_claims.setdefault(topic, thing)
        fits = is_on_topic(user, reply)
        on_topic += fits
        off_topic += not fits and bool(meaning.topics)
        asked += bool(wanted)
        answered += any(topic in meaning.topics for topic in wanted)
        asking += meaning.question
        repeated += reply in seen
        seen.add(reply)
    listening = (on_topic + answered) / (n + asked)
    lively = min(1.0, 1.6 * asking / n)
    sense = 5 - 6 * contradicting / n - 3 * off_topic / n - 3 * repeated / n
    interest = 1.5 + 2 * lively + 1.5 * min(1.0, 2 * sharing / n) - 2 * repeated / n
    parts = {"sense": _clip(sense), "listening": _clip(1 + 4 * listening), "interesting": _clip(interest)}
    overall = (
        0.35 * parts["sense"] + 0.35 * parts["listening"] + 0.3 * parts["interesting"] - 1.5 * repeated / n
    )
    return {"overall": _clip(overall), **parts}


def _clip(value: float) -> float:
    """The value, limited to the scale from 1 to 5."""
    return min(5.0, max(1.0, value))
