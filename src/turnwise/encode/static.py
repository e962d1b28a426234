"""Static vectors: one for each word or subword, independent of its context. No torch.

`WordVectors` reads word2vec's binary format (Mikolov et al. 2013): a line `count dimension`, then each word, a
space and its float32 numbers. The file is memory-mapped: words are indexed once, and vectors are read when needed.
`SubwordVectors` reads a table of a tokenizer's vectors from safetensors (WordLlama's are float16).
The vector of a text is the mean of its tokens' vectors. Words without a vector are left out; a text without any known
word is NaN.
"""

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.encoder import Tokens, Vectors
from turnwise.encode.text.tokenise import words
from turnwise.errors import DataError, MissingExtra
from turnwise.types import Signature


def mean_vectors(texts: Sequence[Tokens], dimension: int) -> Vectors:
    """(n, d) means of the token vectors; NaN where there is no token."""
    rows = np.full((len(texts), dimension), np.nan, dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        if len(text.vectors):
            row[:] = text.vectors.mean(axis=0, dtype=np.float64)
    return rows


@dataclass(frozen=True, slots=True)
class WordVectors:
    """Vectors of words from a word2vec file; unknown words have none."""

    label: str  # name@hash
    rows: dict[str, int]  # word -> row
    table: Vectors | NDArray[np.uint8]  # memory-mapped bytes: rows are unaligned and are copied one by one
    offsets: NDArray[np.int64]  # (n,) offset of each row
    dimension: int

    @classmethod
    def read(cls, path: Path, *, label: str) -> "WordVectors":
        """Index a file in word2vec's binary format; a `DataError` if it is none or is incomplete."""
        with path.open("rb") as file:
            head = file.readline(64)
            try:
                count, dimension = map(int, head.split())
            except ValueError:
                raise DataError(
                    f"{path}: is not in word2vec's binary format (its first line is {head!r})"
                ) from None
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        rows: dict[str, int] = {}
        offsets = np.empty(count, dtype=np.int64)
        at, width = len(head), 4 * dimension
        for row in range(count):
            space = view.find(b" ", at)
            if space < 0 or space + 1 + width > len(view):
                raise DataError(f"{path}: ends after {row} of {count} words; fetch or copy it again")
            # Some writers end each row with a newline, which then precedes the next word.
            rows.setdefault(view[at:space].decode("utf-8", "replace").lstrip("\n"), row)
            offsets[row] = space + 1
            at = space + 1 + width
        return cls(label, rows, np.frombuffer(view, dtype=np.uint8), offsets, dimension)

    @property
    def signature(self) -> Signature:
        """The label of the file, mean pooling, and how words are looked up."""
        return Signature(self.label, (("pool", "mean"), ("words", "cased-then-lower")))

    @property
    def token_signature(self) -> Signature:
        """The label of the file, and how words are looked up."""
        return Signature(self.label, (("words", "cased-then-lower"),))

    def encode(self, texts: Sequence[str], /) -> Vectors:
        """(n, d) mean of the vectors of each text's known words; NaN if there are none."""
        return mean_vectors(self.tokens(texts), self.dimension)

    def tokens(self, texts: Sequence[str], /) -> list[Tokens]:
        """The known words of each text, in order; unknown ones are left out."""
        return [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> Tokens:
        """The known words of one text; ids are rows of the table."""
        rows = [row for word in words(text) if (row := self._row(word)) is not None]
        width = 4 * self.dimension
        picked = [self.table[start : start + width].view("<f4") for start in self.offsets[rows]]
        vectors = np.array(picked, dtype=np.float32).reshape(len(rows), self.dimension)
        return Tokens(vectors, np.array(rows, dtype=np.int64), np.zeros(len(rows), dtype=np.bool_))

    def _row(self, word: str) -> int | None:
        """The row of the word as written, else in lower case; None without one. The table may have `US` and `us`."""
        row = self.rows.get(word)
        return self.rows.get(word.lower()) if row is None else row


@dataclass(frozen=True, slots=True)
class SubwordVectors:
    """Vectors of the subwords of a tokenizer."""

    label: str
    tokenizer: Any  # tokenizers.Tokenizer
    table: NDArray[np.floating[Any]]  # (vocabulary, d)

    @classmethod
    def read(cls, folder: Path, *, label: str) -> "SubwordVectors":
        """Read the one table of vectors and the tokenizer of a folder.

        Raises a `DataError` if there is not exactly one table.
        """
        try:
            from safetensors import safe_open
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("static subword vectors", "models") from error
        tables: list[NDArray[Any]] = []
        for weights in sorted(folder.glob("*.safetensors")):
            with safe_open(weights, framework="numpy") as file:
                tables.extend(file.get_tensor(key) for key in file.keys())  # noqa: SIM118 - not a mapping
        if len(tables) != 1 or tables[0].ndim != 2:
            raise DataError(
                f"{folder}: expected one table of vectors in safetensors, and there are {len(tables)}"
            )
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(label, tokenizer, tables[0])

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.table.shape[1])

    @property
    def signature(self) -> Signature:
        """The label of the folder, and mean pooling."""
        return Signature(self.label, (("pool", "mean"),))

    @property
    def token_signature(self) -> Signature:
        """The label of the folder alone."""
        return Signature(self.label)

    def encode(self, texts: Sequence[str], /) -> Vectors:
        """(n, d) mean of the vectors of each text's subwords; NaN if there are none."""
        return mean_vectors(self.tokens(texts), self.dimension)

    def tokens(self, texts: Sequence[str], /) -> list[Tokens]:
        """The subwords of each text, without special tokens."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        all_ids = [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]
        return [
            Tokens(self.table[ids].astype(np.float32), ids, np.zeros(len(ids), dtype=np.bool_))
            for ids in all_ids
        ]
