"""Estimate of what requests to a language model will cost, before anything is sent."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from turnwise.errors import UsageError, counted

_CHARACTERS_PER_TOKEN = 4  # approximately, in English
_MILLION = 1_000_000


class Price(NamedTuple):
    """Price of a million tokens, in the currency of the server's bill."""

    tokens_in: float
    tokens_out: float

    @classmethod
    def parse(cls, text: str) -> "Price":
        """Parse `IN/OUT`, such as 0.15/0.6, or one number for both.

        Raises `UsageError` if a price is negative or no number.
        """
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

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """The price of this many tokens."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / _MILLION


def estimated_tokens(characters: int) -> int:
    """About how many tokens a text has, by its number of characters."""
    return math.ceil(characters / _CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated number of requests and tokens; the sum of two costs has the price of the first that has one."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0  # at most
    price: Price | None = None

    @classmethod
    def of(cls, characters: int, requests: int, *, longest: int, price: Price | None) -> "Cost":
        """The cost of requests with this many characters in all and answers of at most `longest` tokens.

        Tokens are estimated as characters divided by four. For scripts other than Latin this is half of the true
        number or less.
        """
        return cls(requests, estimated_tokens(characters), requests * longest, price)

    @property
    def money(self) -> float | None:
        """The price of the estimated input and the longest answers, in the currency of `price`; None without one."""
        if self.price is None:
            return None
        return self.price.of(self.tokens_in, self.tokens_out)

    @property
    def least(self) -> float | None:
        """The price of the estimated input alone; None without a price."""
        return None if self.price is None else self.price.of(self.tokens_in, 0)

    def scaled(self, factor: float) -> "Cost":
        """The cost of `factor` times as many requests."""
        return Cost(
            math.ceil(self.requests * factor),
            math.ceil(self.tokens_in * factor),
            math.ceil(self.tokens_out * factor),
            self.price,
        )

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.requests + other.requests,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.price or other.price,
        )

    def __str__(self) -> str:
        if not self.requests:
            return "no requests: the answers are cached, or are computed on this machine"
        tokens = f"about {self.tokens_in:,} tokens in and at most {self.tokens_out:,} out"
        money = (
            ""
            if self.price is None
            else f", {self.money:.2f} at {self.price.tokens_in:g}/{self.price.tokens_out:g} a million"
        )
        return (
            f"{counted(self.requests, 'request')}, {tokens}{money}; more if answers must be asked for again"
        )
