"""Features that are counted in the texts of a reply and its context: length, rarity, fluency, repetition, style.

All texts are normalised (`encode/text/normalise.py`), so no feature depends on case or punctuation. The names of the
features are columns of trained models.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import log, log1p

from rapidfuzz.distance import LCSseq

from turnwise.metrics.features.repetition import STOPWORDS
from turnwise.metrics.learned.turnwise.lexicon import Lexicon

_ASKING = frozenset(
    "what how why who where when which do does did are is can could would will have has".split()
)
_WH = frozenset("what how why who where when which".split())
_OPENERS = frozenset("yes yeah no ok okay sure oh well thanks thank".split())
_WARM = frozenset("thanks thank sorry please great nice good cool glad love".split())
_NEGATIONS = frozenset("don't not no can't never didn't".split())
_SELF = frozenset("i i'm i've my".split())
_YOU = frozenset("you your you're".split())
_UNSURE = ("don't know", "not sure", "what do you mean")
_ASKS_YOU = ("do you", "are you", "did you", "have you", "about you")


def copied_share(reply: str, context: Sequence[str]) -> float:
    """The largest share of the reply's words that occur, in order, in one turn of the context; 0 without a context.

    The reply needs a word.
    """
    words = reply.split()
    return max((LCSseq.similarity(words, turn.split()) / len(words) for turn in context), default=0.0)


def is_copied(reply: str, context: Sequence[str], *, share: float) -> bool:
    """Whether more than `share` of the reply's words occur, in order, close together in one turn of the context.

    Close together means within a window of twice the reply's length: in a long turn, the common words of any reply
    occur in order somewhere.
    """
    words = reply.split()
    for turn in context:
        turn_words = turn.split()
        if LCSseq.similarity(words, turn_words) <= share * len(words):
            continue
        for start in range(0, max(1, len(turn_words) - len(words)), max(1, len(words) // 2)):
            if LCSseq.similarity(words, turn_words[start : start + 2 * len(words)]) > share * len(words):
                return True
    return False


def text_features(reply: str, context: Sequence[str], lexicon: Lexicon) -> dict[str, float]:
    """The features of a reply, by name; the context is given newest turn first.

    Both are normalised; the reply needs a word and the context a turn.
    """
    words, last = reply.split(), context[0].split()
    n, pairs = len(words), list(pairwise(words))
    triples = list(zip(words, words[1:], words[2:], strict=False))
    content = [word for word in words if word not in STOPWORDS]
    kinds, last_content = set(content), set(last) - STOPWORDS
    context_words = {word for turn in context for word in turn.split()}
    own_turns = context[1::2]
    single, double, triple = lexicon.log_probs(words)
    rarity = [-value for value in single[:-1]]
    context_triples = {
        part for turn in context for part in zip(*(turn.split()[k:] for k in range(3)), strict=False)
    }
    return {
        "length": log1p(n),
        "length squared": log1p(n) ** 2,
        "short": float(n <= 3),
        "long": max(0, n - 15) / 10,
        "near ten words": -abs(log1p(n) - log(10)),
        "content": len(content) / n,
        "letters": sum(map(len, words)) / n,
        "rarity": _mean(rarity),
        "rarest": max(rarity),
        "unknown": _mean([float(lexicon.count(word) == 0) for word in words]),
        "fluency 2": _mean(double),
        "fluency 3": _mean(triple),
        "least fluent": min(double),
        "odds 2": _mean(double) - _mean(single),
        "odds 3": _mean(triple) - _mean(single),
        "least odds": min(b - a for a, b in zip(single, triple, strict=True)),
        "likelihood": sum(triple) / 10,
        "new pairs": _mean([float(not lexicon.knows(*pair)) for pair in pairs]),
        "variety": len(set(words)) / n,
        "content variety": len(kinds) / max(len(content), 1),
        "repeated pairs": 1 - len(set(pairs)) / max(len(pairs), 1),
        "doubled": sum(a == b for a, b in pairs) / n,
        "echo of last": len(kinds & last_content) / max(len(kinds), 1),
        "echo of all": len(kinds & (context_words - STOPWORDS)) / max(len(kinds), 1),
        "last echoed": len(kinds & last_content) / max(len(last_content), 1),
        "echoed pairs": len(set(pairs) & set(pairwise(last))) / max(len(pairs), 1),
        "echoed triples": _mean([float(part in context_triples) for part in triples]),
        "copied": copied_share(reply, context),
        "said before": copied_share(reply, own_turns),
        "new content": float(sum(word not in last_content and lexicon.count(word) > 3 for word in kinds)),
        "asks first": float(words[0] in _ASKING),
        "asks": float(not _WH.isdisjoint(words)),
        "asks you": float(any(phrase in reply for phrase in _ASKS_YOU)),
        "you": float(not _YOU.isdisjoint(words)),
        "self": float(not _SELF.isdisjoint(words)),
        "self first": float(words[0] in ("i", "i'm")),
        "opener": float(words[0] in _OPENERS),
        "warm": float(not _WARM.isdisjoint(words)),
        "negation": float(not _NEGATIONS.isdisjoint(words)),
        "unsure": float(any(phrase in reply for phrase in _UNSURE)),
        "length of last": log1p(len(last)),
        "turns": log1p(len(context)),
        "length to last": log1p(n) - log1p(len(last)),
    }


def _mean(values: Sequence[float]) -> float:
    """The mean; 0 without values."""
    return sum(values) / len(values) if values else 0.0
