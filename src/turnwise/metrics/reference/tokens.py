"""The tokens of sacrebleu's `13a` rules and of rouge-score, fast."""

import re
from functools import cache
from typing import Any

# Where these occur, 13a looks at neighbours or replaces; everywhere else it sets ASCII punctuation apart,
# except the apostrophe and the dash, and cuts at white space.
_NEIGHBOURS = re.compile(r"[0-9&\n]|<skipped>")
_APART = {ord(sign): f" {sign} " for sign in r"""!"#$%&()*+,./:;<=>?@[\]^_`{|}~"""}
_ROUGE = bytes(byte if chr(byte).isalnum() and byte < 128 else ord(" ") for byte in range(256))


def tokens_13a(text: str) -> list[str]:
    """The tokens of sacrebleu's tokeniser `13a`, eight times as fast on texts without digits."""
    if _NEIGHBOURS.search(text):
        spaced: str = _tokenizer()(text.rstrip())
        return spaced.split()
    return text.translate(_APART).split()


def tokens_rouge(text: str) -> list[str]:
    """The tokens of rouge-score without stemming: runs of a-z and 0-9 after lower-casing."""
    return text.lower().encode("ascii", "replace").translate(_ROUGE).decode("ascii").split()


@cache
def _tokenizer() -> Any:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenizer: Any = Tokenizer13a  # untyped
    return tokenizer()
