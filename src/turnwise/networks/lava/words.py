"""The vocabulary of delexicalised text, split at spaces: it is tokenised already, and placeholders must stay whole."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from turnwise.networks.subwords import END, MARKS, UNKNOWN


@dataclass(frozen=True)
class Words:
    """A vocabulary of whole words."""

    known: tuple[str, ...]  # the special marks, then words

    @classmethod
    def learn(cls, texts: Iterable[str], *, fewest: int) -> "Words":
        """The vocabulary of the lower-case words that occur `fewest` times or more, the most frequent first."""
        counts = Counter(word for text in texts for word in text.lower().split())
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return cls((*MARKS, *(word for word, count in ordered if count >= fewest)))

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def _tokens(self) -> dict[str, int]:
        """Word or mark -> its token, the index in `known`."""
        return {word: index for index, word in enumerate(self.known)}

    def encode(self, text: str, *, longest: int) -> list[int]:
        """The tokens of the lower-case words of a text and the end mark, at most `longest` with it."""
        words = text.lower().split()[: longest - 1]
        return [*(self._tokens.get(word, UNKNOWN) for word in words), END]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of the tokens before the end mark; special marks are left out."""
        end = tokens.index(END) if END in tokens else len(tokens)
        return " ".join(self.known[token] for token in tokens[:end] if token > UNKNOWN)
