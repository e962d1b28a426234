"""Byte pair encoding, learned from the training text (Sennrich et al. 2016), as ADEM's section 5.1 has it.

Text is lower-cased and split at spaces and punctuation before the pairs are merged, so that `Hello !` and `hello!`
are the same tokens: rated corpora differ in their tokenisation, and an encoder must not see that. Decoded text has
ordinary spacing.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.errors import DataError, MissingExtra

try:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError as error:
    raise MissingExtra("subwords", "models") from error

PAD, BEGIN, END, UNKNOWN = range(4)
MARKS = ["<pad>", "<begin>", "<end>", "<unknown>"]
_BEFORE = re.compile(r" +([.,!?;:%)\]])")
_AROUND = re.compile(r" ?(['’]) ?")
_AFTER = re.compile(r"([(\[$]) +")


@dataclass(frozen=True, slots=True, eq=False)
class Subwords:
    """A byte pair encoding with the four marks PAD, BEGIN, END and UNKNOWN."""

    tokenizer: Tokenizer

    def __len__(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    @classmethod
    def learn(cls, texts: Iterable[str], *, size: int) -> "Subwords":
        """Learn up to `size` subwords, marks included, from the texts."""
        tokenizer = Tokenizer(models.BPE(unk_token=MARKS[UNKNOWN]))
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
        # The mark is at the beginning of a word: the library numbers pieces with a mark at the end in the order of a
        # hash table and breaks ties by number, so it would learn different subwords in every run.
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Metaspace(prepend_scheme="always")]
        )
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=MARKS,
            limit_alphabet=256,  # rare scripts become the unknown token
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @classmethod
    def read(cls, stored: Any) -> "Subwords":
        """Read what `stored` returned; a `DataError` if it is damaged."""
        try:
            return cls(Tokenizer.from_str(json.dumps(stored)))
        except Exception as error:  # the library raises plain exceptions
            raise DataError(f"the model's subwords cannot be read: {error}") from error

    def stored(self) -> Any:
        """The tokenizer as a JSON value."""
        return json.loads(self.tokenizer.to_str())

    def encode(self, texts: Sequence[str], *, longest: int) -> list[list[int]]:
        """The tokens of each text with the end mark, at most `longest` with it."""
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [[*encoding.ids[: longest - 1], END] for encoding in encoded]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of the tokens with ordinary spacing; marks are left out."""
        text = self.tokenizer.decode([token for token in tokens if token > UNKNOWN])
        return _AFTER.sub(r"\1", _AROUND.sub(r"\1", _BEFORE.sub(r"\1", text))).strip()
