"""What asking a language model would cost, told before anything is sent."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from turnwise.errors import UsageError, counted

_LETTER = 4  # characters a token, about, in English
_MILLION = 1_000_000


class Price(NamedTuple):
    """Of a million tokens, in whatever money the server is paid."""

    read: float
    written: float

    @classmethod
    def parse(cls, text: str) -> "Price":
        """`IN/OUT`, such as 0.15/0.6, or one number for both."""
        first, _, second = text.partition("/")
        try:
            price = cls(float(first), float(second or first))
        except ValueError:
            price = cls(math.nan, math.nan)
        if not all(0 <= part < math.inf for part in price):
            raise UsageError(
                f"the price `{text}` is not IN/OUT, what a million tokens cost, such as 0.15/0.6"
            )
        return price


@dataclass(frozen=True, slots=True)
class Cost:
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0  # at most
    price: Price | None = None

    @classmethod
    def of(cls, letters: int, requests: int, *, longest: int, price: Price | None) -> "Cost":
        """Tokens are counted as characters over four: half of the truth or less for scripts other than Latin."""
        return cls(requests, math.ceil(letters / _LETTER), requests * longest, price)

    @property
    def money(self) -> float | None:
        """At most; None where no price is given."""
        if self.price is None:
            return None
        return (self.tokens_in * self.price.read + self.tokens_out * self.price.written) / _MILLION

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.requests + other.requests,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.price or other.price,
        )

    def __str__(self) -> str:
        tokens = f"about {self.tokens_in:,} tokens in and at most {self.tokens_out:,} out"
        money = (
            ""
            if self.price is None
            else f", {self.money:.2f} at {self.price.read:g}/{self.price.written:g} a million"
        )
        return (
            f"{counted(self.requests, 'request')}, {tokens}{money}; more if answers must be asked for again"
        )
