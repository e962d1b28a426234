"""Fast tokenisers that give the same tokens as sacrebleu's `13a` and as rouge-score."""

import re
from functools import cache
from typing import Any

# 13a makes every ASCII punctuation mark a token, except the apostrophe and the dash, and splits at white space.
# Texts that match `_NEEDS_SACREBLEU` (a point, comma or dash beside a digit, entities, line ends) follow further
# rules: sacrebleu's own tokeniser handles them. `_MAYBE` is a fast test that excludes most texts.
_PUNCTUATION = re.compile(r"[!-&(-,./:-@\[-`{-~]")
_MAYBE = re.compile(r"[0-9&<\n]")
_NEEDS_SACREBLEU = re.compile(r"[0-9][.,-]|[.,][0-9]|[&<\n]")
# Byte table for `bytes.translate`: keeps ASCII letters and digits and maps everything else to a space.
_ROUGE = bytes(byte if byte < 128 and chr(byte).isalnum() else ord(" ") for byte in range(256))


def tokens_13a(text: str) -> list[str]:
    """The tokens of sacrebleu's tokeniser `13a`; ten times as fast on most texts."""
    if _MAYBE.search(text) and _NEEDS_SACREBLEU.search(text):
        spaced: str = _tokenizer()(text.rstrip())
        return spaced.split()
    for mark in set(_PUNCTUATION.findall(text)):
        text = text.replace(mark, f" {mark} ")
    return text.split()


def tokens_rouge(text: str) -> list[str]:
    """The tokens of rouge-score without stemming: runs of a-z and 0-9 after lower-casing."""
    return text.lower().encode("ascii", "replace").translate(_ROUGE).decode("ascii").split()


@cache
def _tokenizer() -> Any:
    """sacrebleu's `13a` tokeniser, imported and created on first use."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenizer: Any = Tokenizer13a  # untyped
    return tokenizer()
