"""The public function of a command: the same keywords, checked before any work is done, and its typed result."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, Signature, cleandoc
from textwrap import fill
from typing import Any, ParamSpec, Protocol, TypeVar, get_type_hints

from turnwise.errors import SETTING, UsageError, nearest
from turnwise.extras import named_extras
from turnwise.run.workers.threads import limited_threads
from turnwise.settings.data import Data
from turnwise.settings.groups import Command
from turnwise.settings.option import Setting, bare, settings

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class Alias:
    """A type that help() shows by its name in the documentation."""

    name: str
    kind: Any

    def __repr__(self) -> str:
        return self.name


ALIASES = (Alias("Data", Data), Alias("Data | None", Data | None))


class Runs(Protocol[R_co]):
    """A command with all its settings."""

    def run(self) -> R_co:
        """Do what the settings say."""
        ...


def function(command: Callable[P, Runs[R]]) -> Callable[P, R]:
    """The public function of a command's class, which takes the fields as keywords and runs the command.

    Mistakes in a call raise `UsageError`, and messages name keywords. While it runs, BLAS has one thread.
    """
    kind: Any = command
    signature = _signature(kind)

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        _check_names(kind, len(args), kwargs)
        with (
            keywords_in_messages(kind),
            named_extras(f"this call of `{kind.public_name()}`"),
            limited_threads(),
        ):
            return command(*args, **kwargs).run()

    call.__name__ = call.__qualname__ = kind.public_name()
    call.__module__ = kind.__module__
    call.__doc__ = documented(kind)
    call.__signature__ = signature  # type: ignore[attr-defined]  # what help() and notebooks show
    return call


def _signature(command: type[Command]) -> Signature:
    """The settings as parameters with plain types, and what `run` returns."""
    parameters = [
        Parameter(
            setting.name,
            Parameter.POSITIONAL_OR_KEYWORD if setting.positional else Parameter.KEYWORD_ONLY,
            annotation=_shown(bare(setting.kind)),
            default=Parameter.empty if setting.required else setting.default,
        )
        for setting in settings(command)
    ]
    run: Any = command.run  # type: ignore[attr-defined]  # every command that has a function can be run
    return Signature(parameters, return_annotation=get_type_hints(run)["return"])


def _shown(kind: Any) -> Any:
    """The type, or the alias that stands for it."""
    return next((alias for alias in ALIASES if alias.kind == kind), kind)


def documented(command: type[Command]) -> str:
    """The docstring of a command's function: what the command does, and what each setting means."""
    about = cleandoc(command.__doc__ or "").partition("\n\n\b")[0]
    parameters = [
        fill(
            f"{setting.name}: {setting.option.help}", 120, initial_indent="    ", subsequent_indent="        "
        )
        for setting in settings(command)
    ]
    return "\n".join([about, "", "Parameters:", *parameters])


def _check_names(command: type[Command], positional: int, keywords: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a keyword that the command lacks, one that is missing or given twice, or too many
    arguments.
    """
    called, known = command.public_name(), [one.name for one in settings(command)]
    for name in keywords:
        if name not in known:
            flag = f"--{name.replace('_', '-')}"
            near = [one.name for one in settings(command) if flag in one.flags]
            near += get_close_matches(name, known, n=1)
            advice = f"did you mean `{near[0]}`?" if near else nearest(name, known)
            raise UsageError(f"{called} has no parameter `{name}`; {advice}")
    places = [one.name for one in settings(command) if one.positional]
    if positional > len(places):
        raise UsageError(
            f"{called}: too many positional arguments: {positional} were given, and {_places(command)}"
        )
    for name in places[:positional]:
        if name in keywords:
            raise UsageError(f"{called}: `{name}` is given twice, once without its name")
    for one in settings(command):
        if one.required and one.name not in (*places[:positional], *keywords):
            raise UsageError(f"{called}: missing a required argument: '{one.name}'")


def _places(command: type[Command]) -> str:
    """Which settings can be given without a name, and the keywords that the others may be."""
    places = [f"`{one.name}`" for one in settings(command) if one.positional]
    keywords = [one for one in settings(command) if not one.positional]
    needed = [one.name for one in keywords if one.required] or [one.name for one in keywords][:1]
    taken = f"only {', '.join(places)}" if places else "nothing"
    advice = f"; name the others: {', '.join(f'{name}=...' for name in needed)}" if needed else ""
    return f"{taken} can be given without a name{advice}"


@contextmanager
def keywords_in_messages(command: type[Command]) -> Iterator[None]:
    """A block in which messages write settings of the command as keywords; other options stay as they are."""
    by_flag = {
        flag: (setting, not setting.option.inverted and flag == on)
        for setting in settings(command)
        if not setting.option.only_python
        for flags in setting.flags
        for on in [flags.partition("/")[0]]
        for flag in flags.split("/")
    }

    def keyword(flag: str, value: str) -> str:
        if flag not in by_flag:  # it speaks of another command
            return f"{flag} {value}".rstrip()
        setting, positive = by_flag[flag]
        if bare(setting.kind) in (bool, bool | None):
            return f"{setting.name}={positive}"
        return f"{setting.name}={_literal(value, setting) if value else '...'}"

    token = SETTING.set(keyword)
    try:
        yield
    finally:
        SETTING.reset(token)


def _literal(value: str, setting: Setting) -> str:
    """A value as Python writes it: numbers and placeholders such as KEY are bare, `KEY=VALUE,...` is a dict."""
    entries = [part.partition("=") for part in value.split(",")]
    if setting.option.repeatable and all(sign for _, sign, _ in entries):
        pairs = (f'"{key}": {_quoted(text)}' for key, _, text in entries)
        return f"{{{', '.join(pairs)}}}"
    return _quoted(value)


def _quoted(value: str) -> str:
    """A text in quotes, a number or a placeholder bare."""
    if value.replace("_", "").removesuffix("...").isalpha() and value.upper() == value:
        return value
    try:
        float(value)
    except ValueError:
        return f'"{value}"'
    return value
