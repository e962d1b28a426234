"""TF-IDF retrieval as an agent (one of ADEM's four candidate generators, Lowe et al. 2017).

It replies with the reply that followed the most similar known context. The vector of a context holds the counts of its
words times log(N / contexts with the word), as in Lowe et al. 2015; similarity is the cosine. On the dialogues that it
was fitted to, it retrieves the logged replies themselves.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.agents.calling import ReplyOrFailure, ReplyRequest, single_reply
from turnwise.encode.models.folder import Folder
from turnwise.encode.text.tokenise import lower_words
from turnwise.errors import DataError, TooFewItems, UsageError
from turnwise.types import Dialogue, Floats, Reply, Role, Signature, Turn, digest

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class TfIdf:
    """An agent that retrieves replies by similarity of contexts: known contexts with their replies."""

    vocabulary: tuple[str, ...]
    idf: Floats  # (v,)
    contexts: "csr_array[np.float64]"  # (n, v) unit rows
    known_replies: tuple[str, ...]  # (n,) the reply to each context
    window: int = 2  # number of last turns that form a context
    nearest: int = 1  # number of most similar contexts from which one is drawn

    def __post_init__(self) -> None:
        if self.nearest < 1 or self.window < 1:
            raise UsageError("TF-IDF retrieval takes `nearest` and `window` of 1 or more")

    @classmethod
    def fit(
        cls, dialogues: Iterable[Dialogue], *, window: int = 2, nearest: int = 1, role: Role | None = None
    ) -> "TfIdf":
        """Fit to every non-empty turn after the first, as the reply to the `window` turns before it.

        With `role`, only to turns of that role. Raises `TooFewItems` if there is none.
        """
        pairs = [
            (words_of(dialogue.turns[:index], window), turn.text)
            for dialogue in dialogues
            for index, turn in enumerate(dialogue.turns)
            if index and turn.text.strip() and role in (None, turn.role)
        ]
        return cls.of_pairs(pairs, window=window, nearest=nearest)

    @classmethod
    def of_pairs(
        cls, pairs: Sequence[tuple[Counter[str], str]], *, window: int = 2, nearest: int = 1
    ) -> "TfIdf":
        """Fit to these contexts, as counts of words, and their replies; raises `TooFewItems` if there is none."""
        if not pairs:
            raise TooFewItems(
                "TF-IDF retrieval needs a reply with a context, and there is none", "no-reply-in-context"
            )
        document_frequency = Counter(word for words, _ in pairs for word in words)
        vocabulary = tuple(sorted(document_frequency))
        idf = np.log(
            len(pairs) / np.array([document_frequency[word] for word in vocabulary], dtype=np.float64)
        )
        columns_of_words = {word: index for index, word in enumerate(vocabulary)}
        rows = _rows([words for words, _ in pairs], columns_of_words, idf)
        return cls(vocabulary, idf, rows, tuple(text for _, text in pairs), window, nearest)

    @classmethod
    def read(cls, folder: Folder, *, nearest: int = 1) -> "TfIdf":
        """Load a folder that `turnwise train tfidf` wrote; raises `DataError` if it is damaged."""
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
        """The tensors and the configuration of a model folder."""
        rows = self.contexts
        tensors = {"values": rows.data.astype(np.float32), "columns": rows.indices, "rows": rows.indptr}
        config = {"vocabulary": self.vocabulary, "replies": self.known_replies, "window": self.window}
        return {**tensors, "idf": self.idf}, config

    @property
    def signature(self) -> Signature:
        """A digest of the known replies and contexts, `window` and `nearest`."""
        made = digest("\0".join(self.known_replies), self.contexts.data.tobytes())
        fields = {"contexts": made, "window": str(self.window), "nearest": str(self.nearest)}
        return Signature("tfidf", tuple(fields.items()))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return single_reply(self, turns, rng)

    def replies(self, requests: Sequence[ReplyRequest], /) -> list[ReplyOrFailure]:
        """For each request, the reply to one of the `nearest` most similar known contexts, drawn at random."""
        similar = self.similarities([words_of(one.turns, self.window) for one in requests])
        return [
            Reply(self.known_replies[draw_nearest(scores, self.nearest, one.rng)])
            for scores, one in zip(similar, requests, strict=True)
        ]

    def similarities(self, contexts: Sequence[Counter[str]]) -> Floats:
        """(m, n) the cosine of each of m contexts, as counts of words, with the n known ones."""
        return np.asarray((_rows(contexts, self._columns, self.idf) @ self.contexts.T).toarray())

    @cached_property
    def _columns(self) -> dict[str, int]:
        """Word -> its column."""
        return {word: index for index, word in enumerate(self.vocabulary)}


def draw_nearest(scores: Floats, nearest: int, rng: np.random.Generator) -> int:
    """The index of one of the `nearest` highest scores, drawn at random; ties are broken at random."""
    order = np.lexsort((rng.random(len(scores)), -scores))
    return int(order[int(rng.integers(min(nearest, len(scores))))])


def words_of(turns: Sequence[Turn], window: int) -> Counter[str]:
    """The counts of the lower-case words of the last `window` turns."""
    return Counter(word for turn in turns[-window:] for word in lower_words(turn.text))


def _rows(
    contexts: Sequence[Counter[str]], columns_of_words: dict[str, int], idf: Floats
) -> "csr_array[np.float64]":
    """The (n, v) TF-IDF vectors with unit length; zero for a context without a known word."""
    from scipy.sparse import csr_array

    known = [
        [(columns_of_words[word], count) for word, count in sorted(words.items()) if word in columns_of_words]
        for words in contexts
    ]
    ends = np.cumsum([0, *map(len, known)])
    columns = np.array([column for row in known for column, _ in row], dtype=np.int64)
    counts = np.array([count for row in known for _, count in row], dtype=np.float64)
    values = counts * idf[columns]
    rows = np.repeat(np.arange(len(known)), np.diff(ends))
    size = np.sqrt(np.bincount(rows, weights=values**2, minlength=len(known)))
    values /= np.where(size > 0, size, 1.0)[rows]
    return csr_array((values, columns, ends), shape=(len(known), len(columns_of_words)))
