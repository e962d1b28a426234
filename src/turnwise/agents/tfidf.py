"""TF-IDF retrieval: the reply that followed the most similar context (one of ADEM's four candidate generators).

A context is the counts of its words times log(N / contexts with the word), as in Lowe et al. 2015; similarity is the
cosine. Its replies are somebody's own words: where the logs that it answers are also what it was made from, it finds
the logged reply itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.agents.answering import Answer, Asked, alone
from turnwise.encode.models.folder import Folder
from turnwise.encode.text.tokenise import lower_words
from turnwise.errors import DataError, TooFewItems, UsageError
from turnwise.types import Dialogue, Floats, Reply, Role, Signature, Turn, digest

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class TfIdf:
    vocabulary: tuple[str, ...]
    idf: Floats  # (v,)
    contexts: "csr_array[np.float64]"  # (n, v) unit rows
    said: tuple[str, ...]  # (n,) the reply to each
    window: int = 2  # turns of a context that count
    nearest: int = 1  # of the most similar contexts, from which one is drawn

    def __post_init__(self) -> None:
        if self.nearest < 1 or self.window < 1:
            raise UsageError("TF-IDF retrieval takes `nearest` and `window` of 1 or more")

    @classmethod
    def fit(
        cls, dialogues: Iterable[Dialogue], *, window: int = 2, nearest: int = 1, role: Role | None = None
    ) -> "TfIdf":
        """From every reply and what came before it; `role` takes the replies of one side only."""
        pairs = [
            (_words(dialogue.turns[:place], window), turn.text)
            for dialogue in dialogues
            for place, turn in enumerate(dialogue.turns)
            if place and turn.text.strip() and role in (None, turn.role)
        ]
        if not pairs:
            raise TooFewItems("TF-IDF retrieval needs a reply with a context, and there is none")
        spread = Counter(word for words, _ in pairs for word in words)
        vocabulary = tuple(sorted(spread))
        idf = np.log(len(pairs) / np.array([spread[word] for word in vocabulary], dtype=np.float64))
        places = {word: place for place, word in enumerate(vocabulary)}
        rows = _rows([words for words, _ in pairs], places, idf)
        return cls(vocabulary, idf, rows, tuple(text for _, text in pairs), window, nearest)

    @classmethod
    def read(cls, folder: Folder, *, nearest: int = 1) -> "TfIdf":
        from scipy.sparse import csr_array

        config, parts = folder.config, folder.tensors
        try:
            shape = (len(config["replies"]), len(config["vocabulary"]))
            rows = csr_array(
                (parts["values"].astype(np.float64), parts["columns"], parts["rows"]), shape=shape
            )
            rows.check_format()
        except (KeyError, ValueError) as error:
            raise DataError(f"{folder.path}: is damaged: {error}") from error
        return cls(
            tuple(config["vocabulary"]), parts["idf"].astype(np.float64), rows, tuple(config["replies"]),
            config["window"], nearest,
        )  # fmt: skip

    def parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a model's folder holds: tensors and config."""
        rows = self.contexts
        tensors = {"values": rows.data.astype(np.float32), "columns": rows.indices, "rows": rows.indptr}
        config = {"vocabulary": self.vocabulary, "replies": self.said, "window": self.window}
        return {**tensors, "idf": self.idf}, config

    @property
    def signature(self) -> Signature:
        made = digest("\0".join(self.said), self.contexts.data.tobytes())
        fields = {"contexts": made, "window": str(self.window), "nearest": str(self.nearest)}
        return Signature("tfidf", tuple(fields.items()))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return alone(self, turns, rng)

    def replies(self, asked: Sequence[Asked], /) -> list[Answer]:
        read = [_words(one.turns, self.window) for one in asked]
        similar = (_rows(read, self._places, self.idf) @ self.contexts.T).toarray()
        return [
            Reply(self.said[drawn(scores, self.nearest, one.rng)])
            for scores, one in zip(similar, asked, strict=True)
        ]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.vocabulary)}


def drawn(scores: Floats, nearest: int, rng: np.random.Generator) -> int:
    """One of the `nearest` highest scores; where several are equally high, any of them."""
    order = np.lexsort((rng.random(len(scores)), -scores))
    return int(order[int(rng.integers(min(nearest, len(scores))))])


def _words(turns: Sequence[Turn], window: int) -> Counter[str]:
    return Counter(word for turn in turns[-window:] for word in lower_words(turn.text))


def _rows(contexts: Sequence[Counter[str]], places: dict[str, int], idf: Floats) -> "csr_array[np.float64]":
    """(n, v) unit rows; a context without a known word has none."""
    from scipy.sparse import csr_array

    known = [
        [(places[word], count) for word, count in sorted(words.items()) if word in places]
        for words in contexts
    ]
    ends = np.cumsum([0, *map(len, known)])
    columns = np.array([column for row in known for column, _ in row], dtype=np.int64)
    counts = np.array([count for row in known for _, count in row], dtype=np.float64)
    values = counts * idf[columns]
    rows = np.repeat(np.arange(len(known)), np.diff(ends))
    size = np.sqrt(np.bincount(rows, weights=values**2, minlength=len(known)))
    values /= np.where(size > 0, size, 1.0)[rows]
    return csr_array((values, columns, ends), shape=(len(known), len(places)))
