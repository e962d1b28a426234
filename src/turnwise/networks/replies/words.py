"""The tokens of texts for the readers of replies, as in training: no special tokens, at most 80 words of a text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from turnwise.networks.replies.pairs import WORDS, Tokens


class Words:
    """A tokenizer without special tokens, and without a limit of its own."""

    def __init__(self, base: Path, prefix: str) -> None:
        self.tokenizer: Any = Tokenizer.from_file(str(base / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.prefix = prefix  # a byte-level tokenizer treats a word after a space as another one

    def tokens(self, texts: Sequence[str]) -> dict[str, Tokens]:
        """Text -> tokens, for every different text."""
        different = list(dict.fromkeys(texts))
        cut = [self.prefix + " ".join(text.split()[:WORDS]) for text in different]
        coded = self.tokenizer.encode_batch(cut, add_special_tokens=False)
        return {text: np.array(one.ids, np.int64) for text, one in zip(different, coded, strict=True)}
