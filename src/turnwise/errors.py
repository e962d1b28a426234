"""Errors that a user can act on. The message says where the problem is and how to fix it; no traceback is shown."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from string import Formatter
from typing import Any

# Exit codes for errors. 0 means that the command succeeded, 1 that a gate failed.
USAGE, UNMEASURED, REFUSED = 2, 3, 4

# Kind of name -> the command that lists all names of this kind.
LISTS = {
    "metric": "`turnwise ls metrics` has all",
    "estimator": "`turnwise ls estimators` has all",
    "reader": "`turnwise ls readers` has all",
    "world": "`turnwise ls worlds` has all",
    "trainer": "`turnwise ls trainers` has all",
    "statistic": "`turnwise ls statistics` has all",
    "model": "`turnwise ls weights` has all",
    "command": "`turnwise --help` has all",
}


# Whether a command line runs, whose messages name options (`--agents A,B`) and not keywords (`agents="A,B"`).
ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on_command_line", default=False)
# How messages write a setting, from its flag and its value. The library writes keywords in place of options.
SETTING: ContextVar[Callable[[str, str], str]] = ContextVar(
    "setting", default=lambda flag, value: f"{flag} {value}".rstrip()
)


def setting(flag: str, value: object = "") -> str:
    """A setting as the reader of a message writes it: `--agents A,B` on a command line, `agents="A,B"` in Python.

    A value in capitals, such as KEY, stands for one of the user's.
    """
    return SETTING.get()(flag, str(value))


# The options of `convert` that messages of the block have named; None outside of such a block.
_OF_CONVERT: ContextVar[list[str] | None] = ContextVar("of_convert", default=None)


def convert_option(flag: str, value: object = "") -> str:
    """An option that only `turnwise convert` has, as a message writes it."""
    named = _OF_CONVERT.get()
    if named is not None:
        named.append(flag)
    return f"{flag} {value}".rstrip()


@contextmanager
def convert_options() -> Iterator[list[str]]:
    """A block that collects the options of `convert` that its messages name, for a command that lacks them."""
    named: list[str] = []
    token = _OF_CONVERT.set(named)
    try:
        yield named
    finally:
        _OF_CONVERT.reset(token)


class TurnwiseError(Exception):
    """Base class of errors that the user, not the programmer, must fix."""

    exit_code = USAGE


class UsageError(TurnwiseError):
    """An option or a name that is not valid."""


class PluginError(UsageError):
    """A plugin that does not keep its contract. The message names it, what is wrong and what is expected.

    `about` is the plugin, or its package, where the words do not name it.
    """

    def __init__(self, words: str, *, about: str = "") -> None:
        super().__init__(f"{about}: {words}" if about else words)
        self.words = words


class OutOfRange(PluginError):
    """A plugin's number for an item that is infinite or too large; its numbers for other items may be right."""


class MissingExtra(UsageError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra `{extra}`: pip install 'turnwise[{extra}]'")


@dataclass(frozen=True, slots=True)
class Problem:
    """One error in an input file, with its position."""

    file: str
    line: int | None  # 1-based; None where the format has no lines
    path: str  # JSON path, "" for the line as a whole
    message: str  # continues after the path: `is "bot"; expected one of ...`
    advice: str = ""  # continues the message: an option that helps, where the command has it

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.rule}"

    @property
    def rule(self) -> str:
        """What is wrong, without the file and the line."""
        return f"{self.path} {self.message}{self.advice}".lstrip()


class WrongForFile(UsageError):
    """An option that does not fit a file, or one that the file needs."""

    def __init__(self, file: str, message: str) -> None:
        super().__init__(file, message)
        self.problem = Problem(file, None, "", message)

    def __str__(self) -> str:
        return str(self.problem)


class DataError(TurnwiseError):
    """Input that violates the rules of its format."""

    def __init__(self, *problems: Problem | str) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Unmeasured(TurnwiseError):
    """None of the requested numbers could be measured."""

    exit_code = UNMEASURED


class TooManyErrors(Unmeasured):
    """Every metric, or the agent, failed more often than `max_errors` allows."""


class _Wording(Formatter):
    """Formats the words of a reason: `{--labels:random}` is a setting, `{n:#agent}` a count with its noun."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The value of a field; a flag of the command line stands for itself."""
        is_flag = field_name.startswith("-")
        return (_Flag(field_name), "") if is_flag else super().get_field(field_name, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        """The value in words."""
        if isinstance(value, _Range):
            low, high = (self.format_field(end, format_spec) for end in value)
            return low if low == high else f"{low} to {high}"
        if isinstance(value, _Flag):
            return setting(value, format_spec)
        if format_spec.startswith("#"):
            return counted(value, format_spec.removeprefix("#"))
        return str(super().format_field(value, format_spec))


class _Flag(str):
    """A flag of the command line in the words of a reason."""


class _Range(tuple[float, float]):
    """The least and the largest value of a field over several reasons."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why there is no answer: a code, and words with fields, which are put together where they are read."""

    code: str
    words: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return _Wording().vformat(self.words, (), self.fields)

    @staticmethod
    def merged(reasons: "Sequence[Reason]") -> str:
        """The words of reasons with the same code; numbers that differ as `LEAST to LARGEST`."""
        first = reasons[0]
        values = {name: [reason.fields[name] for reason in reasons] for name in first.fields}
        ranges = {
            name: _Range((min(every), max(every)))
            if all(isinstance(one, float) for one in every)
            else every[0]
            for name, every in values.items()
        }
        return str(Reason(first.code, first.words, ranges))


class Refused(TurnwiseError):
    """The data cannot support the answer; the message says what data would.

    The words are a template: `Refused("{n} agents, and {needed} are needed", "too-few-agents", n=2, needed=4)`. Two
    refusals with one code differ in their fields alone.
    """

    exit_code = REFUSED

    def __init__(self, words: str, code: str, /, **fields: Any) -> None:
        super().__init__(words, code)  # what `pickle` makes it of
        self.reason = Reason(code, words, fields)

    def __str__(self) -> str:
        return str(self.reason)


class TooFewItems(Refused):
    """There are fewer items than a statistic needs."""


def unknown(kind: str, name: str, known: Sequence[str]) -> UsageError:
    """The error (not raised) for an unknown name, with up to three similar names and the command that lists all."""
    where = f" ({LISTS[kind]})" if kind in LISTS else ""
    return UsageError(f"there is no {kind} `{name}`; {nearest(name, known)}{where}")


def nearest(name: str, known: Sequence[str]) -> str:
    """A phrase with the up to three known names that are most similar to `name`."""
    if not known:
        return "there are none"
    near = get_close_matches(name, known, n=3, cutoff=0.0)
    return f"the nearest are {', '.join(near)}" if len(near) > 1 else f"there is only {', '.join(near)}"


def counted(count: int, noun: str) -> str:
    """A count and its noun in singular or plural: `1 test`, `2 tests`, `2 strategies`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("gy") else f"{noun}s"
    return f"{count} {noun}" if count == 1 else f"{count} {plural}"


def out_of_memory(error: BaseException) -> bool:
    """Whether the machine ran out of memory, or a GPU, for which torch has an error of its own."""
    torch = sys.modules.get("torch")  # unless torch is loaded, the error is not from torch
    return isinstance(error, MemoryError) or (
        torch is not None and isinstance(error, torch.cuda.OutOfMemoryError)
    )
