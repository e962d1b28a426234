"""Examples with their text for papers/adem.md: the paper's Tables 7, 9, 12 and 13.

Texts are cut after ten words, because the corpora may not be published here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from adem_corpora import MANY, Pool

from turnwise.meta.disagreements import Disagreements, on_rating_scale
from turnwise.types import Floats

MOST_WORDS = 10  # words of a text that are shown
SCALE = (1.0, 5.0)
# kind -> the paper's table and what it holds
KINDS = {
    "rescued": "Table 9: people 4 or more and `adem` above 4, `bleu-2` and `rouge-l` below 2",
    "beaten": "Table 12: people 4 or more and `bleu-2` or `rouge-l` above 4, `adem` below 2",
    "failed": "people 4 or more and `adem` below 2, whatever the others say",
    "fooled": "Table 13: people 2 or less and `bleu-2` or `rouge-l` below 2, `adem` above 4",
}
HEAD = ["context, its end", "reference", "reply", "people", "\\|bleu-2\\|", "\\|rouge-l\\|", "\\|adem\\|"]


def drawn(people: Pool, adem: Floats, others: Mapping[str, Floats], found: Disagreements) -> dict[str, Any]:
    """Three replies of each kind, drawn at random: their ids, and their rows with text."""
    scores = [on_rating_scale(one, people.raw, SCALE) for one in others.values()]
    scores.append(on_rating_scale(adem, people.raw, SCALE, zero_is_low=False))
    rng = np.random.default_rng(0)
    kept: dict[str, Any] = {}
    for kind in KINDS:
        rows = rng.permutation(np.flatnonzero(getattr(found, kind)))[:3]
        lines = [
            [*_texts(people, row), f"{people.raw[row]:.1f}", *(f"{one[row]:.2f}" for one in scores)]
            for row in rows
        ]
        kept[kind] = {"ids": [people.items[row].id for row in rows], "lines": lines}
    return kept


def by_context(people: Pool, adem: Floats) -> tuple[list[str], list[list[str]]]:
    """Table 7: all replies to three contexts, drawn at random, of groups with four systems or more."""
    scores = on_rating_scale(adem, people.raw, SCALE, zero_is_low=False)
    rng, ids, lines = np.random.default_rng(0), [], []
    contexts = dict.fromkeys((item.group, item.pair) for item in people.items if item.group in MANY)
    asked = [one for one in contexts if len(_replies(people, one)) >= 4]
    for at in rng.permutation(len(asked))[:3]:
        for number, row in enumerate(_replies(people, asked[at])):
            ids.append(people.items[row].id)
            context, reference, reply = _texts(people, row)
            first = [context, reference] if number == 0 else ["", ""]
            lines.append([*first, f"{number + 1}) {reply}", f"{people.raw[row]:.1f}", f"{scores[row]:.2f}"])
    return ids, lines


def _replies(people: Pool, asked: tuple[str, str | None]) -> Sequence[int]:
    return [row for row, item in enumerate(people.items) if (item.group, item.pair) == asked]


def _texts(people: Pool, row: int) -> list[str]:
    item = people.items[row]
    return [_end(item.context[-1].text), _begin(item.references[0]), _begin(item.reply)]


def _begin(text: str) -> str:
    words = text.replace("|", "/").split()
    return " ".join(words[:MOST_WORDS]) + (" …" if len(words) > MOST_WORDS else "")


def _end(text: str) -> str:
    words = text.replace("|", "/").split()
    return ("… " if len(words) > MOST_WORDS else "") + " ".join(words[-MOST_WORDS:])
