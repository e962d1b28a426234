"""The protocols of encoders and language models.

The signature of an encoder identifies its vectors. Vectors are float32, as the models compute them; vectors of pairs
are float64, because a metric stores them as rows. What has no vector (no known word, a pair without a query) is a row
of NaN.
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
    ids: NDArray[np.int64]  # (t,) token ids
    special: NDArray[np.bool_]  # (t,) special tokens such as [CLS], which are not part of the text


@runtime_checkable
class TextEncoder(Protocol):
    """An encoder with one vector for each text."""

    @property
    def signature(self) -> Signature:
        """What must be equal for two vectors to be comparable."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def encode(self, texts: Sequence[str], /) -> Vectors:
        """(n, d) one vector for each text; NaN for a text without a vector."""
        ...


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder with one vector for each token of a text."""

    @property
    def token_signature(self) -> Signature:
        """The signature of the token vectors, without the options of pooling."""
        ...

    def tokens(self, texts: Sequence[str], /) -> list[Tokens]:
        """The tokens of each text, in order."""
        ...


@runtime_checkable
class JointEncoder(TextEncoder, Protocol):
    """An encoder that can encode a query and its reply as one input."""

    def joint_signature(self, part: str, /) -> Signature:
        """The signature of the vectors that `encode_joint` gives for this part."""
        ...

    def encode_joint(self, pairs: Sequence[tuple[str, str]], part: str, /) -> Vectors:
        """(n, d) pooled over `part` of the input: "all" of it, or the "reply" only."""
        ...


@runtime_checkable
class PairEncoder(Protocol):
    """An encoder with one row for each reply in its context."""

    @property
    def signature(self) -> Signature:
        """What must be equal for two rows to be comparable."""
        ...

    def encode(self, items: Sequence[Item], /) -> Floats:
        """(n, k) one row for each item, a reply in its context."""
        ...


class TextInContext(NamedTuple):
    """What a language model scores: a text, its role, and the turns before it, of which there may be none."""

    text: str
    context: tuple[Turn, ...] = ()
    role: Role = "assistant"


@runtime_checkable
class LanguageModel(Protocol):
    """A model that gives the log-probabilities of texts after the turns before them."""

    @property
    def signature(self) -> Signature:
        """What must be equal for two log-probabilities to be comparable."""
        ...

    def score(self, texts: Sequence[TextInContext], /) -> Floats:
        """(n, 2) the sum of the tokens' log-probabilities in nats (NaN without tokens), and the number of tokens."""
        ...

    def log_probs(self, texts: Sequence[TextInContext], /) -> list[Floats]:
        """The natural log-probability of each token of each text; empty for a text without tokens."""
        ...
