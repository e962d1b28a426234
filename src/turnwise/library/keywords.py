"""Messages for Python: options of the command line, as messages name them, written as keywords of a function.

The packages below the library name options as they are typed in a terminal (`--agents A,B`), where most messages are
read. In a notebook the same message says `agents="A,B"`. Commands to type (`turnwise fetch minilm --from DIR`, and
everything in backquotes) stay as they are. So does a message with an option that the function does not have: it speaks
of another command.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from turnwise.errors import DataError, Problem, TurnwiseError
from turnwise.types import Finding

# Option -> parameters that it may be, where these have other names; the first that a function has is meant.
PARAMETERS = {
    "-m": ("metrics", "metric"),
    "-o": ("output",),
    "-q": ("progress",),
    "--agent": ("agent", "agents"),
    "--all": ("all_agents",),
    "--as": ("as_agents",),
    "--estimator": ("estimators",),
    "--from": ("reader", "source"),
    "--map": ("columns",),
    "--metric": ("metrics", "metric"),
    "--no-cache": ("reuse",),
    "--no-open": ("browser",),
    "--open": ("browser",),
    "--positional-raters": ("stable_raters",),
    "--quiet": ("progress",),
    "--set": ("settings",),
    "--statistic": ("statistics",),
    "--target": ("targets",),
    "--unpaired": ("paired",),
    "--with": ("beside", "outsiders"),
}
NEGATIVE = frozenset(
    {"-q", "--no-cache", "--no-open", "--positional-raters", "--quiet", "--unpaired"}
)  # and those with --no-
_COMMAND = r"`[^`]*`|\b(?:turnwise [a-z]+|pip [a-z]+|python -m)\b[^\n;]*"
_OPTION = r"(?<![\w-])(?P<option>--[a-z][a-z-]*[a-z]|-[moq])(?![\w-])"
_VALUE = r"(?: (?P<value>'[^'\n]*'|[^\s;()]+?)(?P<after>(?=[:,.]*(?:[\s;()]|$))[:,.]?))?"
_PLACE = re.compile(f"(?P<command>{_COMMAND})|{_OPTION}{_VALUE}")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*(?:\.\.\.)?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def reworded(error: TurnwiseError, function: str, hints: Mapping[str, Any]) -> None:
    """Replace the options in the message of an error by keywords of the function, in place."""
    error.args = tuple(
        with_keywords(one, function, hints) if isinstance(one, str) else one for one in error.args
    )
    if isinstance(error, DataError):
        error.problems = tuple(
            with_keywords(one, function, hints)
            if isinstance(one, str)
            else Problem(one.file, one.line, one.path, with_keywords(one.message, function, hints))
            for one in error.problems
        )


Found = TypeVar("Found")


def with_reworded_reasons(found: Found, function: str, hints: Mapping[str, Any]) -> Found:
    """A result whose findings name keywords of the function and not options, where they say why there is no number.

    The document, which is the content of results.json, stays as it is; so does anything without findings.
    """
    findings: tuple[Finding, ...] = getattr(found, "findings", ())
    reasons = [one.reason and with_keywords(one.reason, function, hints) for one in findings]
    if all(one.reason == reason for one, reason in zip(findings, reasons, strict=True)):
        return found
    changed = tuple(replace(one, reason=reason) for one, reason in zip(findings, reasons, strict=True))
    return replace(found, findings=changed)  # type: ignore[type-var]  # what has findings is a dataclass


def with_keywords(text: str, function: str, hints: Mapping[str, Any]) -> str:
    """The text with options of the command line as keywords; `hints` has the annotation of each parameter.

    An option that is the function itself (`--harden`) becomes its name. With any other unknown option the text is
    unchanged.
    """
    options = {match["option"] for match in _PLACE.finditer(text)} - {None, f"--{function}"}
    if any(keyword(option, hints) is None for option in options):
        return text

    def replaced(match: re.Match[str]) -> str:
        """A keyword with the option's value, `True`, `False` or `...`; what follows it stays."""
        option, value, after = match["option"], match["value"], match["after"] or ""
        if option is None:  # a command to type
            return match[0]
        rest = "" if value is None else f" {value}{after}"
        found = keyword(option, hints)
        if found is None:
            return f"{function}{rest}"
        name, positive = found
        accepted = set(_accepted(hints[name]))
        if not positive or accepted <= {bool, type(None)}:
            return f"{name}={positive}{rest}"
        if value is not None and _is_value(value, after, match, accepted):
            return f"{name}={_literal(value, mapping=any(_is_mapping(one) for one in accepted))}{after}"
        return f"{name}=...{rest}"

    return _PLACE.sub(replaced, text)


def keyword(option: str, hints: Mapping[str, Any]) -> tuple[str, bool] | None:
    """The parameter that an option sets, and whether a flag of this name sets it to True; None if there is none."""
    plain = option.lstrip("-").replace("-", "_")
    for name in (*PARAMETERS.get(option, ()), plain):
        if name in hints:
            return name, option not in NEGATIVE
    negated = plain.removeprefix("no_")
    return (negated, False) if negated != plain and negated in hints else None


def _accepted(hint: Any) -> Iterator[Any]:
    """The plain types, generic types and literal values that an annotation accepts."""
    origin = get_origin(hint)
    if origin is Literal:
        yield from get_args(hint)
    elif origin is Annotated:
        yield from _accepted(get_args(hint)[0])
    elif origin in (Union, UnionType):
        for one in get_args(hint):
            yield from _accepted(one)
    else:
        yield hint


def _is_mapping(hint: Any) -> bool:
    """Whether an annotation is that of a mapping."""
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _is_value(value: str, after: str, match: re.Match[str], accepted: set[Any]) -> bool:
    """Whether a word behind an option is its value, and not the next word of the sentence."""
    text = match.string
    in_brackets = text[: match.start()].endswith("(") and text[match.end() :].startswith(")")
    return (
        value in accepted
        or value.startswith(("'", "@"))
        or any(sign in value for sign in "=:/,")
        or _NUMBER.fullmatch(value) is not None
        or all(_PLACEHOLDER.fullmatch(part) for part in value.split(","))
        or (after in (":", ",") and value != "out")  # "leave -m out, ..."
        or in_brackets
        or text[match.end() :].startswith(" out ")  # "leave --by file out"
    )


def _literal(value: str, *, mapping: bool) -> str:
    """A value as Python writes it; a placeholder such as KEY stays bare, and `KEY=VALUE,...` is a dict."""
    plain = value.strip("'")
    entries = [one.partition("=") for one in plain.split(",")]
    if mapping and all(sign for _, sign, _ in entries):
        return (
            "{" + ", ".join(f'"{key}": {_literal(inner, mapping=False)}' for key, _, inner in entries) + "}"
        )
    return plain if _NUMBER.fullmatch(plain) or _PLACEHOLDER.fullmatch(plain) else f'"{plain}"'
