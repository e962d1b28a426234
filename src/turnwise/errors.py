"""What a user can act on. Each message names the place and the remedy; none reaches a user as a traceback."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

# Exit codes. 0 is an answer and 1 a failed gate, which is an answer too; these are the others.
USAGE, UNMEASURED, REFUSED = 2, 3, 4

# What is named -> where all of its names are listed.
LISTS = {
    "metric": "`turnwise ls metrics` has all",
    "estimator": "`turnwise ls estimators` has all",
    "reader": "`turnwise ls readers` has all",
    "statistic": "`turnwise ls statistics` has all",
    "model": "`turnwise ls weights` has all",
    "command": "`turnwise --help` has all",
}


class TurnwiseError(Exception):
    """Anything that the user, not the programmer, must mend."""

    exit_code = USAGE


class UsageError(TurnwiseError):
    """An option or a name that cannot be honoured."""


class MissingExtra(UsageError):
    """An optional dependency that the asked feature stands on."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra `{extra}`: pip install 'turnwise[{extra}]'")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in an input file, with its place."""

    file: str
    line: int | None  # 1-based; None where the format has no lines
    path: str  # JSON path, "" for the line as a whole
    message: str  # goes on from the path: `is "bot"; expected one of ...`

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.path} {self.message}" if self.path else f"{place}: {self.message}"


class DataError(TurnwiseError):
    """Input that breaks the rules of its format."""

    def __init__(self, *problems: Problem | str) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Unmeasured(TurnwiseError):
    """Nothing that was asked could be measured."""

    exit_code = UNMEASURED


class TooManyErrors(Unmeasured):
    """A metric failed more often than --max-errors allows."""


class Refused(TurnwiseError):
    """The data cannot support the answer; the message says what data would."""

    exit_code = REFUSED


class TooFewItems(Refused):
    """A statistic of fewer items than it is defined for."""


def unknown(kind: str, name: str, known: Sequence[str]) -> UsageError:
    """The error for a name that is not in the list: the three nearest, and where the list is."""
    where = f" ({LISTS[kind]})" if kind in LISTS else ""
    return UsageError(f"there is no {kind} `{name}`; {nearest(name, known)}{where}")


def nearest(name: str, known: Sequence[str]) -> str:
    """The three names most like this one, in words."""
    near = get_close_matches(name, known, n=3, cutoff=0.0)
    return f"the nearest are {', '.join(near)}" if len(near) > 1 else f"there is only {', '.join(near)}"


def counted(count: int, noun: str) -> str:
    """`1 test`, `2 tests`: a number and its noun in agreement."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
