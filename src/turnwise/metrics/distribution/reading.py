"""How a reply to its query becomes one vector.

product    query and reply are encoded apart, each is standardised by the real side's mean and deviation and brought
           to unit length, and the two are multiplied number by number (times sqrt(d), for a length around 1). What
           is left is how query and reply go together; of the reply alone, which says little, nothing is.
together   both in one input and its first token, [CLS], as Xiang et al. (2021) do. An encoder that reads one text at
           a time gets the two joined by a space.

The query is the last `turns` turns of the context, 0 for all of it. Where no real reply has a context, the reply is
read alone (standardised under `product`), and the signature says so; under `product` also where all real queries are
the same, which standardised is 0, and so would be every product.
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
_POOLING: dict[Way, str] = {"product": "mean", "together": "cls"}


@dataclass(frozen=True, slots=True)
class Reading:
    model: str
    way: Way
    turns: int
    layer: int | None = None
    pooling: str | None = None  # None: the way's own

    def __post_init__(self) -> None:
        if self.way not in _POOLING:
            raise UsageError(f"there is no way `{self.way}` to read a pair; there are {', '.join(_POOLING)}")
        if self.turns < 0:
            raise UsageError(f"a query is 1 turn or more, or 0 for the whole context, not {self.turns}")

    @property
    def last(self) -> int:
        """How many turns of a context are read at most."""
        return self.turns or sys.maxsize

    @property
    def signature(self) -> Signature:
        return Signature(self.way, (("turns", str(self.turns or "all")),), (self._encoder.signature,))

    def raw(self, items: Sequence[Item], *, alone: bool) -> Floats:
        """(n, k) what the encoder says; NaN where an item has no query to go with its reply."""
        encoder = self._encoder
        if alone:
            return Pairs(encoder, "reply").encode(items)
        if self.way == "product":
            return Pairs(encoder, "apart", self.last).encode(items)
        if isinstance(encoder, JointEncoder):
            return Pairs(encoder, "together", self.last).encode(items)
        queries = [" ".join(turn.text for turn in item.context[-self.last :]) for item in items]
        texts = [f"{query} {item.reply}" for query, item in zip(queries, items, strict=True)]
        vectors = encoder.encode(texts).astype(np.float64)
        vectors[[not item.context for item in items]] = np.nan
        return vectors

    @property
    def _encoder(self) -> TextEncoder:
        return models.text_encoder(self.model, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        given = {"layer": self.layer, "pooling": self.pooling}
        options = {name: value for name, value in given.items() if value is not None}
        if self.model == "hashing" or not (locate(self.model) / "config.json").is_file():
            return options  # vectors of words have neither a layer nor a pooling to choose
        # A sentence encoder's own unit length would come before the standardisation: it is left off.
        return {"pooling": _POOLING[self.way], "normalise": False, **options}


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """A reading, with what it takes from the real side."""

    reading: Reading
    alone: bool  # replies are read without their query
    centre: Floats  # (k,) of the raw vectors
    scale: Floats  # (k,)

    @classmethod
    def of(cls, reading: Reading, real: Sequence[Item]) -> "Space":
        alone = not any(turn.text for item in real for turn in item.context)
        raw = _read(reading, real, alone=alone)
        if reading.way == "together" or not len(raw):
            return cls(reading, alone, np.zeros(raw.shape[1]), np.ones(raw.shape[1]))
        if not alone and not np.ptp(raw[:, : raw.shape[1] // 2], axis=0).any():
            alone, raw = True, _read(reading, real, alone=True)
        # The deviation of equal numbers can be a hair above 0; their range cannot.
        scale = np.where(np.ptp(raw, axis=0) > 0, raw.std(axis=0), 1.0)
        return cls(reading, alone, raw.mean(axis=0), scale)

    @property
    def dimension(self) -> int:
        return len(self.centre) // 2 if self._doubled else len(self.centre)

    @property
    def _doubled(self) -> bool:
        """Whether a raw vector is that of the query and that of the reply."""
        return self.reading.way == "product" and not self.alone

    def vectors(self, items: Sequence[Item]) -> Floats:
        """(n, d); NaN where an item cannot be read."""
        raw = self.reading.raw(items, alone=self.alone)
        if self.reading.way == "together":
            return raw
        standard = (raw - self.centre) / self.scale
        if not self._doubled:
            return _unit(standard)
        d = self.dimension
        return np.asarray(_unit(standard[:, :d]) * _unit(standard[:, d:]) * np.sqrt(d))


def _read(reading: Reading, items: Sequence[Item], *, alone: bool) -> Floats:
    """The raw vectors of those items that can be read."""
    raw = reading.raw(items, alone=alone)
    return np.asarray(raw[~np.isnan(raw).any(axis=1)])


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1.0, lengths))
