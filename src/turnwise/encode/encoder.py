"""What an encoder is: text in, vectors out, and a signature that says which vectors they are.

Vectors are float32, because that is what the models compute; evidence of a pair is float64, because it goes
into a metric's rows as it is. What has no vector (no known word, a pair without a query) is a row of NaN.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from turnwise.types import Floats, Item, Role, Signature, Turn

Vectors: TypeAlias = NDArray[np.float32]


class Tokens(NamedTuple):
    """The tokens of one text, in order."""

    vectors: Vectors  # (t, d)
    ids: NDArray[np.int64]  # (t,) rows of the vocabulary
    special: NDArray[np.bool_]  # (t,) marks such as [CLS]: in the input, not in the text


@runtime_checkable
class TextEncoder(Protocol):
    @property
    def signature(self) -> Signature: ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str], /) -> Vectors:
        """(n, d), one row a text."""
        ...


@runtime_checkable
class TokenEncoder(Protocol):
    @property
    def token_signature(self) -> Signature:
        """Of the token vectors: the options of pooling have no part in it."""
        ...

    def tokens(self, texts: Sequence[str], /) -> list[Tokens]: ...


@runtime_checkable
class JointEncoder(TextEncoder, Protocol):
    """An encoder that can read a query and its reply as one input."""

    def joint_signature(self, part: str, /) -> Signature: ...

    def encode_joint(self, pairs: Sequence[tuple[str, str]], part: str, /) -> Vectors:
        """(n, d), pooled over `part` of the input: "all" of it, or the "reply" only."""
        ...


@runtime_checkable
class PairEncoder(Protocol):
    @property
    def signature(self) -> Signature: ...

    def encode(self, items: Sequence[Item], /) -> Floats:
        """(n, k), one row an item: a reply in its context."""
        ...


class Utterance(NamedTuple):
    """What a language model scores: a text, who says it, and what was said before. No context is a context too."""

    text: str
    context: tuple[Turn, ...] = ()
    role: Role = "assistant"


@runtime_checkable
class LanguageModel(Protocol):
    @property
    def signature(self) -> Signature: ...

    def score(self, utterances: Sequence[Utterance], /) -> Floats:
        """(n, 2): the sum of the tokens' log-probabilities, NaN where there is no token, and their number."""
        ...

    def log_probs(self, utterances: Sequence[Utterance], /) -> list[Floats]:
        """The log-probability of each token."""
        ...
