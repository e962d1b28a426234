"""The latent quality of a dialogue, from 1 to 5 on ten dimensions, before raters add bias and noise.

It is computed from the text alone, so it exists for any agent. The dimensions are those that people rated in ConvAI2's
study of control (See et al. 2019), which ENIGMA is tested on:

overall              a weighted sum of sense, listening and interesting; repeated replies lower it most
sense                the agent contradicts neither itself nor the topic
listening            it stays on the user's topic and answers questions
interesting          it asks questions and talks about itself
avoids_repetition    it repeats neither replies nor sentences
fluent               its sentences are complete: a capital, a full stop, no word twice in a row
inquisitive          it asks questions
persona              it says different things about itself, so that one could guess who it is
enjoyable            it is interesting, listens, and speaks with energy
human_like           it makes sense, is fluent, and neither repeats itself nor asks without pause
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from turnwise.types import Turn
from turnwise.worlds.chat.topics import parse
from turnwise.worlds.chat.user import is_on_topic

FIRST_DIMENSIONS = ("overall", "sense", "listening", "interesting")
DIMENSIONS = (
    *FIRST_DIMENSIONS,
    "avoids_repetition",
    "fluent",
    "inquisitive",
    "persona",
    "enjoyable",
    "human_like",
)
_SENTENCE = re.compile(r"[^.!?]+[.!?]?")
_DOUBLED = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)
PERSONA_TOPICS = 4  # different topics about itself with which an agent's persona is complete


@dataclass
class _Counts:
    """Numbers of replies with a property, except where stated."""

    replies: int = 0
    contradicting: int = 0
    off_topic: int = 0
    on_topic: int = 0
    repeated: int = 0
    asked: int = 0  # questions of the user
    answered: int = 0  # of these
    asking: int = 0
    sharing: int = 0
    lively: int = 0  # with an exclamation mark
    well_formed: int = 0
    sentences: int = 0  # in all replies
    repeated_sentences: int = 0
    topics: set[str] = field(default_factory=set)  # that the agent claimed something about

    def share(self, name: str) -> float:
        """The share of replies with a property."""
        return float(getattr(self, name)) / self.replies


def latent_quality(turns: Sequence[Turn]) -> Mapping[str, float]:
    """The latent quality by dimension, each from 1 to 5; `turns` excludes the briefing, which raters do not see.

    Without a reply in `turns` it raises `ZeroDivisionError`.
    """
    found = _counted(turns)
    share = found.share
    lively = min(1.0, 1.6 * share("asking"))
    same = found.repeated_sentences / max(found.sentences, 1)
    latent = {
        "sense": 5 - 6 * share("contradicting") - 3 * share("off_topic") - 3 * share("repeated"),
        "listening": 1 + 4 * (found.on_topic + found.answered) / (found.replies + found.asked),
        "interesting": 1.5 + 2 * lively + 1.5 * min(1.0, 2 * share("sharing")) - 2 * share("repeated"),
        "avoids_repetition": 5 - 5 * share("repeated") - 3 * same,
        "fluent": 1 + 4 * share("well_formed"),
        "inquisitive": 1 + 4 * lively,
        "persona": 1 + 4 * min(1.0, len(found.topics) / PERSONA_TOPICS) - 3 * share("contradicting"),
    }
    parts = {name: _clip(value) for name, value in latent.items()}
    weighted = 0.35 * parts["sense"] + 0.35 * parts["listening"] + 0.3 * parts["interesting"]
    overall = weighted - 1.5 * share("repeated")
    enjoyable = 0.45 * parts["interesting"] + 0.35 * parts["listening"] + share("lively")
    human_like = 0.45 * parts["sense"] + 0.35 * parts["fluent"] + 0.2 * parts["avoids_repetition"]
    human_like -= max(0.0, share("asking") - 0.7)  # nobody asks in every turn
    parts |= {"overall": _clip(overall), "enjoyable": _clip(enjoyable), "human_like": _clip(human_like)}
    return {name: parts[name] for name in DIMENSIONS}


def _counted(turns: Sequence[Turn]) -> _Counts:
    """The properties of the replies."""
    found = _Counts()
    first_claims: dict[str, str] = {}
    seen: set[str] = set()
    seen_sentences: set[str] = set()
    for before, turn in pairwise(turns):
        if turn.role != "assistant":
            continue
        user, reply = before.text, turn.text
        meaning, wanted = parse(reply), parse(user).asks
        found.replies += 1
        found.contradicting += any(
            first_claims.get(topic, thing) != thing for topic, thing in meaning.claims.items()
        )
        found.sharing += bool(meaning.claims)
        for topic, thing in meaning.claims.items():
            first_claims.setdefault(topic, thing)
        fits = is_on_topic(user, reply)
        found.on_topic += fits
        found.off_topic += not fits and bool(meaning.topics)
        found.asked += bool(wanted)
        found.answered += any(topic in meaning.topics for topic in wanted)
        found.asking += meaning.question
        found.repeated += reply in seen
        seen.add(reply)
        found.lively += "!" in reply
        found.well_formed += _is_well_formed(reply)
        sentences = [sentence.strip().lower() for sentence in _SENTENCE.findall(reply)]
        found.sentences += len(sentences)
        found.repeated_sentences += sum(sentence in seen_sentences for sentence in sentences)
        seen_sentences.update(sentences)
    found.topics = set(first_claims)
    return found


def _is_well_formed(reply: str) -> bool:
    """Whether sentences start with a capital or digit, the last one ends, and no word stands twice in a row."""
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(reply)]
    starts = [sentence.lstrip("\"'([")[:1] for sentence in sentences if sentence]
    return (
        bool(starts)
        and all(start.isupper() or start.isdigit() for start in starts)
        and reply.rstrip().rstrip("\"')]")[-1:] in (".", "!", "?")
        and not _DOUBLED.search(reply)
    )


def _clip(value: float) -> float:
    """The value, limited to the scale from 1 to 5."""
    return min(5.0, max(1.0, value))
