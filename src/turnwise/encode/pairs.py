"""A reply in its context as one vector, in one of four ways.

reply      the reply alone: what can be known without the query
apart      query and reply encoded apart, side by side (n, 2d); a metric combines them
together   both in one input (with token types where the model has them), pooled over all of it
within     both in one input, pooled over the tokens of the reply only

The query is the last turn before the reply, or the last `turns` of them joined by a space. A reply without a
query has no vector (NaN) except under `reply`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from turnwise.encode.encoder import JointEncoder, TextEncoder
from turnwise.errors import UsageError
from turnwise.types import Floats, Item, Signature

Pairing = Literal["reply", "apart", "together", "within"]
PAIRINGS: tuple[Pairing, ...] = get_args(Pairing)
_PART = {"together": "all", "within": "reply"}


@dataclass(frozen=True, slots=True)
class Pairs:
    """The encoder of replies in their context; `turns` is the number of turns before the reply that form the query."""

    encoder: TextEncoder
    pairing: Pairing = "within"
    turns: int = 1

    def __post_init__(self) -> None:
        if self.pairing not in PAIRINGS:
            raise UsageError(f"there is no pairing `{self.pairing}`; there are {', '.join(PAIRINGS)}")
        if self.turns < 1:
            raise UsageError(f"a query is 1 turn or more, not {self.turns}")
        if self.pairing in _PART and not isinstance(self.encoder, JointEncoder):
            raise UsageError(
                f"{self.encoder.signature.name} reads one text at a time: choose `reply` or `apart`"
            )

    @property
    def signature(self) -> Signature:
        """The pairing, the number of turns and the signature of the encoder."""
        return Signature(
            "pairs", (("as", self.pairing), ("turns", str(self.turns))), (self.encoder.signature,)
        )

    def encode(self, items: Sequence[Item], /) -> Floats:
        """(n, d), or (n, 2d) for `apart`: one row for each item; NaN without a query, except for `reply`."""
        replies = [item.reply for item in items]
        if self.pairing == "reply":
            return self.encoder.encode(replies).astype(np.float64)
        queries = [" ".join(turn.text for turn in item.context[-self.turns :]) for item in items]
        if isinstance(self.encoder, JointEncoder) and self.pairing in _PART:
            vectors = self.encoder.encode_joint(
                list(zip(queries, replies, strict=True)), _PART[self.pairing]
            ).astype(np.float64)
        else:
            both = self.encoder.encode([*queries, *replies]).astype(np.float64)
            vectors = np.hstack([both[: len(items)], both[len(items) :]])
        vectors[[not item.context for item in items]] = np.nan
        return vectors
