"""Encoding of a query and its reply as one vector, in one of two ways.

product    Query and reply are encoded separately. Each vector is standardised by the mean and standard deviation of the
           real replies and scaled to unit length; then the two are multiplied elementwise, times sqrt(d), so that the
           length is around 1. The result represents the relation of query and reply, not the reply by itself.
together   Query and reply are encoded as one input, and the vector is that of its first token, [CLS], as in Xiang et
           al. (2021). An encoder for single texts gets the two joined by a space.

The query is the last `turns` turns of the context, or all of it for 0. If no real reply has a context, replies are
encoded without a query (and standardised for `product`); the signature records this. For `product` the same holds if
all real queries are equal, because the standardised query would be 0 and so would every product.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from turnwise.encode import JointEncoder, TextEncoder
from turnwise.encode.models.catalogue import locate
from turnwise.encode.pairs import Pairs
from turnwise.errors import UsageError
from turnwise.metrics import models
from turnwise.types import Floats, Item, Signature

Way = Literal["product", "together"]
_POOLING: dict[Way, str] = {"product": "mean", "together": "cls"}  # default of each way


@dataclass(frozen=True, slots=True)
class PairEncoding:
    """How pairs of query and reply are encoded, before anything is fitted to real replies."""

    model: str
    way: Way
    turns: int
    layer: int | None = None
    pooling: str | None = None  # None: the default of the way

    def __post_init__(self) -> None:
        if self.way not in _POOLING:
            raise UsageError(
                f"there is no way `{self.way}` to encode a pair; there are {', '.join(_POOLING)}"
            )
        if self.turns < 0:
            raise UsageError(f"a query is 1 turn or more, or 0 for the whole context, not {self.turns}")

    @property
    def max_turns(self) -> int:
        """The largest number of turns of the context that are encoded; `sys.maxsize` for the whole context."""
        return self.turns or sys.maxsize

    @property
    def signature(self) -> Signature:
        """The way, the number of turns (`all` for the whole context) and the encoder's signature; loads the encoder."""
        return Signature(self.way, (("turns", str(self.turns or "all")),), (self._encoder.signature,))

    def raw(self, items: Sequence[Item], *, reply_only: bool) -> Floats:
        """(n, k) the encoder's vectors, not standardised; NaN for an item without a query, unless `reply_only`."""
        encoder = self._encoder
        if reply_only:
            return Pairs(encoder, "reply").encode(items)
        if self.way == "product":
            return Pairs(encoder, "apart", self.max_turns).encode(items)
        if isinstance(encoder, JointEncoder):
            return Pairs(encoder, "together", self.max_turns).encode(items)
        queries = [" ".join(turn.text for turn in item.context[-self.max_turns :]) for item in items]
        texts = [f"{query} {item.reply}" for query, item in zip(queries, items, strict=True)]
        vectors = encoder.encode(texts).astype(np.float64)
        vectors[[not item.context for item in items]] = np.nan
        return vectors

    @property
    def _encoder(self) -> TextEncoder:
        """The encoder of single texts or of pairs, loaded once per process."""
        return models.text_encoder(self.model, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        """The options with which the encoder is loaded.

        Transformers get the pooling of the way and no normalisation.
        """
        given = {"layer": self.layer, "pooling": self.pooling}
        options = {name: value for name, value in given.items() if value is not None}
        if self.model == "hashing" or not (locate(self.model) / "config.json").is_file():
            return options  # static word vectors have neither layers nor pooling
        # Sentence encoders normalise to unit length, which would come before the standardisation.
        return {"pooling": _POOLING[self.way], "normalise": False, **options}


@dataclass(frozen=True, slots=True, eq=False)
class FittedPairEncoding:
    """A pair encoding with the mean and standard deviation of the real replies."""

    encoding: PairEncoding
    reply_only: bool  # replies are encoded without their query
    centre: Floats  # (k,) mean of the raw vectors
    scale: Floats  # (k,) standard deviation of the raw vectors

    @classmethod
    def fit(cls, encoding: PairEncoding, real: Sequence[Item]) -> "FittedPairEncoding":
        """Compute mean and standard deviation from the real items; `together` is not standardised and gets 0 and 1.

        Replies are encoded without their query if no real item has a context or, for `product`, if all real queries are
        equal.
        """
        reply_only = not any(turn.text for item in real for turn in item.context)
        raw = _encodable(encoding, real, reply_only=reply_only)
        if encoding.way == "together" or not len(raw):
            return cls(encoding, reply_only, np.zeros(raw.shape[1]), np.ones(raw.shape[1]))
        if not reply_only and not np.ptp(raw[:, : raw.shape[1] // 2], axis=0).any():
            reply_only, raw = True, _encodable(encoding, real, reply_only=True)
        # The standard deviation of equal numbers can be slightly above 0 by rounding; their range cannot.
        scale = np.where(np.ptp(raw, axis=0) > 0, raw.std(axis=0), 1.0)
        return cls(encoding, reply_only, raw.mean(axis=0), scale)

    @property
    def dimension(self) -> int:
        """The length d of the vectors that `vectors` returns."""
        return len(self.centre) // 2 if self._has_two_halves else len(self.centre)

    @property
    def _has_two_halves(self) -> bool:
        """Whether a raw vector consists of the query's vector and the reply's vector."""
        return self.encoding.way == "product" and not self.reply_only

    def vectors(self, items: Sequence[Item]) -> Floats:
        """(n, d) the vectors of the items; NaN for an item that cannot be encoded."""
        raw = self.encoding.raw(items, reply_only=self.reply_only)
        if self.encoding.way == "together":
            return raw
        standard = (raw - self.centre) / self.scale
        if not self._has_two_halves:
            return _unit(standard)
        d = self.dimension
        return np.asarray(_unit(standard[:, :d]) * _unit(standard[:, d:]) * np.sqrt(d))


def _encodable(encoding: PairEncoding, items: Sequence[Item], *, reply_only: bool) -> Floats:
    """(m, k) the raw vectors of the items that can be encoded, in order."""
    raw = encoding.raw(items, reply_only=reply_only)
    return np.asarray(raw[~np.isnan(raw).any(axis=1)])


def _unit(rows: Floats) -> Floats:
    """The rows scaled to length 1; a row of zeros stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1.0, lengths))
