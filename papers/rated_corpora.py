"""The nine groups of rated replies on which learned metrics are tested, and the dialogues for their pretraining."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from turnwise.encode.text.normalise import plain
from turnwise.logs import native
from turnwise.logs.items.items import Selection, items
from turnwise.meta.gold import Gold, gold
from turnwise.types import Dialogue, Item

# name -> file, dimension, and the key and value that select the group. Groups in one file are from one publication.
GROUPS = {
    "usr_persona": ("usr_persona.jsonl", "overall", None),
    "grade dailydialog": ("grade.jsonl.gz", "coherence", ("meta.corpus", "dailydialog")),
    "grade convai2": ("grade.jsonl.gz", "coherence", ("meta.corpus", "convai2")),
    "grade empathetic": ("grade.jsonl.gz", "coherence", ("meta.corpus", "empatheticdialogues")),
    "fed_turn": ("fed_turn.jsonl.gz", "overall", None),
    "engage": ("engage.jsonl", "engaging", None),
    "holistic": ("holistic.jsonl", "coherence", ("meta.part", "context")),
    "fbd dailyz": ("fbd.jsonl.gz", "overall", ("meta.corpus", "dailyz")),
    "fbd personaz": ("fbd.jsonl.gz", "overall", ("meta.corpus", "personaz")),
}
PRETRAINING = ("personachat.jsonl.gz", "dailydialogpp.jsonl.gz")  # licences: tools/model_cards.py
SHARED_WORDS = 6  # a turn of at least this many words that also occurs in a rated item excludes its dialogue


@dataclass(frozen=True)
class Rated:
    """A group of rated replies."""

    name: str
    items: list[Item]
    gold: Gold

    @property
    def values(self) -> list[float]:
        """The mean rating of each item."""
        return [self.gold.values[item.id] for item in self.items]


def rated(data: Path) -> Iterator[Rated]:
    """The nine groups."""
    for name, (file, dimension, where) in GROUPS.items():
        dialogues = list(native.read(str(data / file)))
        selection = Selection(items="rated", dimension=dimension, where=(where,) if where else ())
        there = [item for item in items(dialogues, selection) if item.context]
        wanted = {item.id for item in there}
        ratings = [r for d in dialogues for r in d.ratings if r.item in wanted and r.dimension == dimension]
        yield Rated(name, there, gold(ratings, dimension, "turn"))


class RatedText:
    """Texts of rated items, in which the turns of a training dialogue are looked for."""

    def __init__(self, texts: Iterable[str]) -> None:
        """`texts` are normalised."""
        different = sorted(set(texts))
        self._joined = "\n".join(different)
        self._starts = {
            tuple(words[at : at + SHARED_WORDS])
            for text in different
            for words in [text.split()]
            for at in range(len(words) - SHARED_WORDS + 1)
        }

    def shares(self, turns: Iterable[str]) -> bool:
        """Whether one of the normalised turns has six words or more and is part of a rated text."""
        for turn in turns:
            start = tuple(turn.split()[:SHARED_WORDS])
            # Looking up the first words is quick, and spares most searches in the whole text.
            if len(start) == SHARED_WORDS and start in self._starts and turn in self._joined:
                return True
        return False


def pretraining(data: Path) -> list[Dialogue]:
    """Permissively licensed dialogues that share no turn of `SHARED_WORDS` words or more with a rated item."""
    files = sorted({file for file, _, _ in GROUPS.values()})
    texts = RatedText(
        plain(turn.text) for file in files for d in native.read(str(data / file)) for turn in d.turns
    )
    return [
        dialogue
        for file in PRETRAINING
        for dialogue in native.read(str(data / file))
        if not texts.shares(plain(turn.text) for turn in dialogue.turns)
    ]
