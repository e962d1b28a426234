"""The text of the training as one compressed file of word numbers, which a GPU machine without a network can read.

A turn is a list of word numbers (texts are normalised first, so words are all there is). A table maps each word to the
tokens of SmolLM2 and of MiniLM; both tokenisers treat words separately, so tokens of a turn are those of its words.
The tables of other models are in files beside it (cut_vocabulary.py).
"""

import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
FILE = "corpus.npz.xz"


@dataclass(frozen=True, eq=False)
class TokenTable:
    """The tokens of every word, for one tokeniser."""

    flat: Ids
    ends: Ids  # (words + 1,)

    def tokens(self, words: Ids) -> Ids:
        """The tokens of a list of words."""
        starts, lengths = self.ends[words], self.ends[words + 1] - self.ends[words]
        offsets = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.flat[np.repeat(starts, lengths) + offsets]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Dialogues, further replies to their last turn, rated items and sentence pairs, as turns of word numbers."""

    arrays: dict[str, NDArray[np.generic]]
    words: list[str]

    @classmethod
    def load(cls, folder: Path) -> "Corpus":
        """Read the file that `prepare` wrote, and the tables of tokens beside it."""
        arrays = {}
        tables = sorted(folder.glob("*_tokens.npz"))
        for file in (BytesIO(lzma.decompress((folder / FILE).read_bytes())), *tables):
            with np.load(file) as found:
                for name in found.files:
                    one = found[name]
                    arrays[name] = one.astype(np.int64) if one.dtype.kind in "iu" else one
        words = bytes(arrays.pop("words").astype(np.uint8)).decode().split("\n")
        for table in tables:
            digest = arrays.pop(table.name.replace("tokens.npz", "words"))
            if bytes(digest.astype(np.uint8)) != words_digest(words):
                raise SystemExit(f"{table} was made for other words than those of {folder / FILE}")
        return cls(arrays, words)

    def turn(self, number: int) -> Ids:
        """The words of a turn."""
        ends = self.arrays["turn_ends"]
        start = ends[number - 1] if number else 0
        return self.arrays["flat"][start : ends[number]]  # type: ignore[return-value]

    def text(self, words: Ids) -> str:
        """The text of a list of words."""
        return " ".join(self.words[at] for at in words)

    def tokens(self, name: str) -> TokenTable:
        """The table of a tokeniser: `smollm2`, `minilm` or `qwen`."""
        return TokenTable(self.arrays[f"{name}_flat"], self.arrays[f"{name}_ends"])  # type: ignore[arg-type]


def table_arrays(name: str, lists: Sequence[Sequence[int]]) -> dict[str, NDArray[np.generic]]:
    """The table of a tokeniser as arrays, from the tokens of each word."""
    return {
        f"{name}_flat": np.array([token for ids in lists for token in ids], np.uint16),
        f"{name}_ends": np.concatenate([[0], np.cumsum([len(ids) for ids in lists])]).astype(np.uint32),
    }


def words_digest(words: Sequence[str]) -> bytes:
    """Tells whether a table of tokens belongs to these words."""
    return sha256("\n".join(words).encode()).digest()


def save(folder: Path, arrays: dict[str, NDArray[np.generic]], words: list[str]) -> int:
    """Write the file; returns its size in bytes."""
    buffer = BytesIO()
    np.savez(buffer, **arrays, words=np.frombuffer("\n".join(words).encode(), np.uint8))  # type: ignore[arg-type]
    data = lzma.compress(buffer.getvalue(), preset=4)
    (folder / FILE).write_bytes(data)
    return len(data)
