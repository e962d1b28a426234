"""Counts of what is said in a dialogue: how much each side says, how it repeats itself, and how the user reacts.

The words that stand for reactions are English. In other languages these counts are 0 for all dialogues and carry
nothing; lengths, questions and repetitions remain.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from turnwise.encode.sides import said
from turnwise.encode.text.tokenise import lower_words
from turnwise.types import Dialogue, Floats

# What users say when they are content, when they are not, and when they stop trying.
THANKS = re.compile(
    r"\b(?:thanks?|thank you|thx|great|awesome|perfect|excellent|wonderful|amazing|cool|nice|lovely|haha+|lol|love it|"
    r"good idea|sounds good|glad)\b"
)
COMPLAINTS = re.compile(
    r"\b(?:what do you mean|what are you talking about|makes? no sense|(?:does|did)n'?t make (?:any )?sense|"
    r"confus\w+|weird|"
    r"strange|random|wrong|already (?:said|told|asked|answered)|i (?:just )?(?:said|told you|asked)|you (?:just|"
    r"already) "
    r"(?:said|asked|told)|repeat\w*|again|not what i|huh|pardon|don'?t understand|didn'?t understand|useless|stupid|"
    r"bad|"
    r"terrible|annoying|rude|boring|not listening|are you (?:a )?(?:ro)?bot)\b|\?\?|^what\??$"
)
GIVING_UP = re.compile(
    r"\b(?:whatever|never ?mind|forget it|bye|goodbye|i give up|stop|quit|enough|talk later|have to go|gotta go|"
    r"no thanks|leave me|human|real person|operator)\b"
)
SHORT = 2  # words of a turn that says next to nothing
USER = (
    "user turns",
    "words of a user's turn",
    "deviation of a user's words",
    "words of the user's last turns",
    "user's words, later to earlier half",
    "user's short turns",
    "user's questions",
    "user's exclamations",
    "user's variety of words",
    "user repeats own words",
    "thanks",
    "complaints",
    "giving up",
    "complaints at the end",
)
AGENT = (
    "agent turns",
    "words of an agent's turn",
    "deviation of an agent's words",
    "agent's questions",
    "agent's variety of words",
    "agent repeats own words",
    "agent repeats the user's words",
    "agent's turns said before",
)


def counts(dialogues: Sequence[Dialogue]) -> tuple[Floats, Floats]:
    """(n, 14) counts of the user's side (`USER`) and (n, 8) of the agent's (`AGENT`); zeros for a silent side."""
    users, agents = np.zeros((len(dialogues), len(USER))), np.zeros((len(dialogues), len(AGENT)))
    for row, dialogue in enumerate(dialogues):
        of_user, of_agent = said(dialogue.turns, "user"), said(dialogue.turns, "assistant")
        words_of_user = [lower_words(text) for text in of_user]
        words_of_agent = [lower_words(text) for text in of_agent]
        if of_user:
            users[row] = _of_user(of_user, words_of_user)
        if of_agent:
            agents[row] = _of_agent(of_agent, words_of_agent, words_of_user)
    return users, agents


def _of_user(texts: Sequence[str], words: Sequence[Sequence[str]]) -> list[float]:
    """The counts of the user's side, which has a text."""
    lengths = np.array([len(turn) for turn in words], dtype=np.float64)
    middle = (len(lengths) + 1) // 2
    low = [text.lower() for text in texts]
    complaints = [bool(COMPLAINTS.search(text)) for text in low]
    return [
        np.log1p(len(texts)),
        np.log1p(lengths.mean()),
        np.log1p(lengths.std()),
        np.log1p(lengths[-3:].mean()),
        np.log1p(lengths[middle:].mean()) - np.log1p(lengths[:middle].mean())
        if middle < len(lengths)
        else 0.0,
        float(np.mean(lengths <= SHORT)),
        float(np.mean(["?" in text for text in texts])),
        float(np.mean(["!" in text for text in texts])),
        _variety(words),
        _repeated(words),
        float(np.mean([bool(THANKS.search(text)) for text in low])),
        float(np.mean(complaints)),
        float(np.mean([bool(GIVING_UP.search(text)) for text in low])),
        float(np.mean(complaints[-2:])),
    ]


def _of_agent(
    texts: Sequence[str], words: Sequence[Sequence[str]], words_of_user: Sequence[Sequence[str]]
) -> list[float]:
    """The counts of the agent's side, which has a text."""
    lengths = np.array([len(turn) for turn in words], dtype=np.float64)
    of_user = {word for turn in words_of_user for word in turn}
    mine = [word for turn in words for word in turn]
    return [
        np.log1p(len(texts)),
        np.log1p(lengths.mean()),
        np.log1p(lengths.std()),
        float(np.mean(["?" in text for text in texts])),
        _variety(words),
        _repeated(words),
        float(np.mean([word in of_user for word in mine])) if mine else 0.0,
        1.0 - len({" ".join(turn) for turn in words}) / len(words),
    ]


def _variety(words: Sequence[Sequence[str]]) -> float:
    """Different words by the square root of all words (Guiraud), which depends less on length than their share."""
    everything = [word for turn in words for word in turn]
    return float(len(set(everything)) / np.sqrt(len(everything))) if everything else 0.0


def _repeated(words: Sequence[Sequence[str]]) -> float:
    """The share of pairs of words in later turns that the same side has said in an earlier one."""
    before: set[tuple[str, str]] = set()
    repeated, total = 0, 0
    for turn in words:
        pairs = list(pairwise(turn))
        if before:
            repeated += sum(pair in before for pair in pairs)
            total += len(pairs)
        before.update(pairs)
    return repeated / total if total else 0.0
