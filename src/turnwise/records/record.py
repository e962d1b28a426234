"""The base of all results: what was found, how sure it is, and what was left out.

A field with a factory of this module is always written, also where it has its default; it may be absent in files of
earlier versions. Any other field with a default is written only where it has another value.
"""

from collections.abc import Sequence
from math import isfinite, isnan, nan
from typing import Any, ClassVar, Self, TypeAlias

import msgspec
from msgspec import field
from msgspec.structs import FieldInfo

from turnwise.errors import Reason, Refused
from turnwise.types import Status

Number: TypeAlias = float | None  # null in a file where it is unknown or infinite
Interval: TypeAlias = tuple[Number, Number] | None


def nothing() -> None:
    """The default of a field that is written as null."""


def zero() -> int:
    """The default of a number that is written as 0."""
    return 0


def no() -> bool:
    """The default of a flag that is written as false."""
    return False


def no_text() -> str:
    """The default of a text that is written although it is empty."""
    return ""


def no_counts() -> dict[str, int]:
    """The default of counts that are written although there are none."""
    return {}


def no_numbers() -> dict[str, float | None]:
    """The default of numbers by name that are written although there are none."""
    return {}


def no_texts() -> dict[str, str]:
    """The default of texts by name that are written although there are none."""
    return {}


def no_keys() -> dict[str, Any]:
    """The default of open settings that are written although there are none."""
    return {}


def no_rows() -> tuple[()]:
    """The default of a list that is written although it is empty."""
    return ()


def measured() -> Status:
    """The default of a status."""
    return "ok"


def finite(value: float | None) -> Number:
    """The number; None if there is none, or if it is infinite or NaN."""
    return float(value) if value is not None and isfinite(value) else None


def known(value: float) -> Number:
    """The number; None for NaN."""
    return None if isnan(value) else value


def both_ends(interval: Interval) -> tuple[float, float] | None:
    """The ends of an interval; None if there is none or an end is unknown."""
    if interval is None:
        return None
    low, high = interval
    return None if low is None or high is None else (low, high)


def is_written(one: FieldInfo) -> bool:
    """Whether a field is in every file of this version, also where it has its default."""
    return one.required or one.default_factory not in (msgspec.NODEFAULT, dict)


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a result, or of a document."""


class WhyNot(Part, frozen=True, kw_only=True):
    """Why there is no estimate, for a program: reasons with one code differ in their fields alone."""

    code: str
    words: str  # with the names of the fields in braces
    fields: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, error: Exception) -> Self | None:
        """The reason of a refusal; None for any other error."""
        if not isinstance(error, Refused):
            return None
        return cls(code=error.reason.code, words=error.reason.words, fields=dict(error.reason.fields))

    @property
    def error(self) -> Refused:
        """The refusal (not raised) with this reason."""
        return Refused(self.words, self.code, **self.fields)

    @staticmethod
    def merged(reasons: "Sequence[WhyNot]") -> str:
        """The words of reasons with the same code; fractions that differ as `LEAST to LARGEST`."""
        return Reason.merged([Reason(reason.code, reason.words, reason.fields) for reason in reasons])


class Estimated(Part, frozen=True, kw_only=True):
    """A number with its interval and its p-value."""

    estimate: Number
    interval: Interval = field(default_factory=nothing)
    p: Number = field(default_factory=nothing)

    @property
    def value(self) -> float:
        """The estimate; NaN if there is none."""
        return nan if self.estimate is None else self.estimate

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends of the interval; None if there is none or an end is unknown."""
        return both_ends(self.interval)


class Record(Estimated, frozen=True, kw_only=True):
    """One result: what was found, how sure it is, and what was left out."""

    names: ClassVar[tuple[str, ...]] = ()  # fields that say what the number is about, in the order of writing

    n_items: int = field(default_factory=zero)
    n_clusters: int = field(default_factory=zero)
    unscored: dict[str, int] = field(default_factory=no_counts)  # why -> how many items
    status: Status = field(default_factory=measured)
    reason: str | None = field(default_factory=nothing)  # why there is no estimate, in words
    why: WhyNot | None = None  # the same as a code with fields
    beside: bool = False  # shown for comparison with what was asked for
    only_unscored: bool = False  # there is no estimate because no item was scored, as `unscored` says
    unvarying: bool = False  # there is no interval because the values do not vary
    method: str = field(default_factory=no_text)
    signature: str = field(default_factory=no_text)

    @property
    def undefined(self) -> bool:
        """Whether the metric has no number at this level by its nature."""
        return False

    @property
    def gate_names(self) -> tuple[str, ...]:
        """The names by which a gate can mean this result."""
        return tuple(self.named("metric"))

    @property
    def about(self) -> dict[str, str]:
        """What the number is about: metric, agent, group, ...; without what is None."""
        return {name: str(value) for name in self.names if (value := getattr(self, name)) is not None}

    def named(self, *fields: str) -> list[str]:
        """What the number is about, of these fields in this order; without those that it does not have."""
        about = self.about
        return [about[name] for name in fields if about.get(name)]

    @classmethod
    def refusal(cls, error: Exception, *, signature: str = "", **about: Any) -> Self:
        """The record, without an estimate, of data that cannot support one; `error` says why."""
        why = WhyNot.of(error)
        return cls(estimate=None, status="refused", reason=str(error), why=why, signature=signature, **about)


class Counted(Record, frozen=True, kw_only=True):
    """One result that is known and not estimated, such as a count: its own fields say it."""

    estimate: None = field(default_factory=nothing)
