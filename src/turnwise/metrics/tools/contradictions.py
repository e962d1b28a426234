"""Replies that contradict what tools returned, on numbers and names.

The results of tools are read as records: JSON objects with an identifier or a name. A line of a reply that names one
record is compared with it:

- A number that is in no value of the records that the line, or a line before it, names is a contradiction, unless the
  user, a system prompt or a result in words said it. A number from 100 on is told apart well enough that any result may
  have said it. Sums and differences of two numbers of the reply, and sums over a record, are computed and no
  contradictions.
- A value of another record of the same list, where the named record has another value under the same key, is one.
- An identifier (letters with digits, such as ORDER-1234) or a date (2024-05-20) that nobody mentioned before is made
  up, in any line that is no question and names no examples.

Phone numbers are left out, and the end of a number of seven digits or more that somebody mentioned: their parts are no
values. Hours are compared in both halves of the day. A line is a line of
the text, or a sentence of a longer line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from turnwise.metrics.tools.calls import decoded, leaves
from turnwise.metrics.tools.faults import Fault, Faults, Inspection
from turnwise.metrics.tools.mentions import DIGITS, Mentions, numbers, plain
from turnwise.types import Card, Item, Turn

_IDENTIFIER = re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*\b")
_QUANTITY = re.compile(r"\d+(?:st|nd|rd|th|am|pm|h|kg|lb|lbs|min|x|k)|\d+-[a-z]+(?:-[a-z]+)?", re.IGNORECASE)
_EXAMPLE = re.compile(r"\?\s*$|\b(?:e\.g|for example|such as|ej\.|por ejemplo)\b|\bej\.", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\bej\.)(?<!e\.g\.)\s+(?=[A-ZÁÉÍÓÚ¿¡*\-])")
_CLOCK = re.compile(
    r"\b(\d{1,2})(?::(\d{2}))?(?::\d{2})?\s*(?:[ap]\.?m\b\.?)|\b(\d{1,2}):(\d{2})(?::\d{2})?\b", re.IGNORECASE
)
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
# With a plus sign, in brackets, or three groups of digits of which the last has four: parts of it are no values.
_PHONE = re.compile(
    r"(?<![\w-])(?:\+\d[\d ().-]{6,18}\d|\(\d{2,4}\)[ .-]?\d{2,4}(?:[ .-]?\d{2,4}){1,2}"
    r"|\d{3}[ .-]\d{3}[ .-]\d{4})(?![\w-])"
)
_ENUMERATION = re.compile(r"^\s*(?:\*\*)?\d+[.)]\s")
_KEYS = re.compile(r"(?:^|_)(?:id|name|number|code|title)$")
TELLING = 100.0  # numbers from here on are seldom equal by chance
SHORTEST = 3  # characters of a name or a value that is looked for


class RecordOfTool(NamedTuple):
    """One object in a result of a tool."""

    names: tuple[str, ...]  # its identifiers and names, as they are compared
    values: Mapping[str, str]  # key -> text of each plain value
    numbers: frozenset[float]  # in any of its values, also inside
    siblings: tuple[Mapping[str, str], ...]  # the plain values of the other objects of its list


class ToolContradictions(Faults):
    """`tool-contradictions`: the share of replies after a tool's result that contradict the results."""

    __slots__ = ()

    name: ClassVar[str] = "tool-contradictions"
    unscored: ClassVar[str] = "no reply after a result of a tool"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="The share of replies after a tool's result that contradict the results on a number or a name, or name "
        "an identifier that nobody mentioned.",
        range="0-1",
        limits="Only results that are JSON objects, and only lines that name one of them, are compared. A sum that the "
        "agent computes may count as a contradiction; a false statement without a number or a name is not seen.",
        citation="Yao et al. 2024, tau-bench; Ji et al. 2023, Survey of Hallucination in Natural Language Generation",
    )

    def inspect(self, item: Item, /) -> Inspection:
        """The replies that contradict a result; a reply counts once."""
        records: list[RecordOfTool] = []
        said, asked = Mentions(), Mentions()  # by anyone but the agent; without results that are JSON
        total, faults = 0, []
        seen_result = False
        for place, turn in enumerate(item.turns):
            if turn.role == item.role:  # what an agent said itself supports nothing
                if turn.text.strip() and seen_result:
                    total += 1
                    problem = next(_problems(turn, records, said, asked), None)
                    faults += [Fault(place, problem)] if problem else []
                continue
            said.add(turn.text)
            found = decoded(turn.text.strip()) if turn.role == "tool" else None
            records += _records(found)
            seen_result = seen_result or turn.role == "tool"
            if found is None:
                asked.add(turn.text)
        return Inspection(total, tuple(faults))


def _problems(turn: Turn, records: Sequence[RecordOfTool], said: Mentions, asked: Mentions) -> Iterator[str]:
    """What a reply says against the results. Lines after one that names records are about these too."""
    named: list[RecordOfTool] = []
    text = _without_digits(_PHONE.sub(" ", turn.text), said)
    mine = _numbers(text)
    for line in _lines(text):
        for found in () if _EXAMPLE.search(line) else (*_IDENTIFIER.findall(line), *_DATE.findall(line)):
            if len(found) > SHORTEST and not _QUANTITY.fullmatch(found) and not said.has(found):
                yield f"{found!r} was mentioned by nobody"
        simple = f" {plain(line)} "
        here = [one for one in records if any(f" {name} " in _spaced(simple) for name in one.names)]
        named = [*named, *here]
        known = frozenset().union(*(one.numbers for one in named))
        about = repr(named[0].names[0]) if named else "any result"
        for value in sorted(_numbers(line)):
            support = asked if named and value < TELLING else said
            if not (value in known or support.has_number(value) or _is_computed(value, mine)):
                yield f"{value:g} is no value of {about}"
        for hours in _hours(line):
            if not any(hour in known or (asked if named else said).has_number(hour) for hour in hours):
                yield f"the hour {hours[0]:g} is no value of {about}"
        if len({one.names for one in here}) == 1:
            yield from _foreign_values(simple, here)


def _without_digits(text: str, said: Mentions) -> str:
    """The text without groups of digits that are a long number somebody mentioned, or the end of one."""

    def left(found: re.Match[str]) -> str:
        if said.has_digits(found[0]):
            return " "
        return re.sub(r"\d+", lambda one: " " if said.has_digits(one[0]) else one[0], found[0])

    return DIGITS.sub(left, text)


def _is_computed(value: float, others: set[float]) -> bool:
    """Whether a number is the sum or the difference of two others of the reply."""
    return any(value - one in others or value + one in others for one in others if one != value)


def _foreign_values(simple: str, named: Sequence[RecordOfTool]) -> Iterator[str]:
    """Values of other objects of the list in a line that names one object and not its own value."""
    for one in named:
        own_texts = {plain(text) for text in one.values.values()}
        for key, text in one.values.items():
            own = plain(text)
            if any(sign.isdigit() for sign in own) or f" {own} " in _spaced(simple):
                continue
            for sibling in one.siblings:
                other = plain(sibling.get(key, ""))
                usable = (
                    len(other) >= SHORTEST and other not in own_texts and not any(map(str.isdigit, other))
                )
                if usable and f" {other} " in _spaced(simple):
                    yield f"{other!r} is not the {key} of {one.names[0]!r}, which is {own!r}"


def _records(value: Any) -> Iterator[RecordOfTool]:
    """The objects with a name or an identifier in a result, also inside others."""
    if isinstance(value, list):
        objects = [one for one in value if isinstance(one, Mapping)]
        for one in objects:
            plain_others = tuple(_plain_values(other) for other in objects if other is not one)
            yield from _record(one, plain_others)
            yield from _inner(one)
        for other in value:
            if isinstance(other, list):
                yield from _records(other)
    elif isinstance(value, Mapping):
        yield from _record(value, ())
        yield from _inner(value)


def _inner(value: Mapping[str, Any]) -> Iterator[RecordOfTool]:
    """The objects inside the values of an object."""
    for inner in value.values():
        if isinstance(inner, Mapping | list):
            yield from _records(inner)


def _record(value: Mapping[str, Any], siblings: tuple[Mapping[str, str], ...]) -> Iterator[RecordOfTool]:
    """An object as a record; nothing if it has no name."""
    values = _plain_values(value)
    names = tuple(
        dict.fromkeys(
            plain(text)
            for key, text in values.items()
            if _KEYS.search(key.lower()) and len(text) >= SHORTEST and any(map(str.isalpha, text))
        )
    )
    if names:
        inside = frozenset().union(*(numbers(str(one)) for _, one in leaves(value))) if value else frozenset()
        counts = frozenset(float(len(one)) for one in value.values() if isinstance(one, list))
        yield RecordOfTool(names, values, inside | counts | _sums(value), siblings)


def _sums(value: Mapping[str, Any]) -> frozenset[float]:
    """The sum of all numbers under each key inside an object, such as the prices of its parts."""
    totals: dict[str, float] = {}
    for path, one in leaves(value):
        if isinstance(one, int | float) and not isinstance(one, bool):
            key = path.rpartition(".")[2]
            totals[key] = totals.get(key, 0.0) + one
    return frozenset(totals.values())


def _plain_values(value: Mapping[str, Any]) -> dict[str, str]:
    """The texts and numbers directly in an object, as texts."""
    return {
        str(key): str(one)
        for key, one in value.items()
        if isinstance(one, str | int | float) and not isinstance(one, bool)
    }


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, and of a long line its sentences; the number of a list's entry is left out."""
    for line in text.splitlines():
        for sentence in _SENTENCE.split(_ENUMERATION.sub("", line)):
            if sentence.strip():
                yield sentence


def _numbers(line: str) -> set[float]:
    """The numbers from 2 on of a line, outside identifiers and times."""
    text = _CLOCK.sub(" ", line)
    text = _IDENTIFIER.sub(lambda found: found[0] if _QUANTITY.fullmatch(found[0]) else " ", text)
    return {value for value in numbers(re.sub(r"(?<=\d)(?=[a-z-])", " ", text)) if value >= 2}


def _hours(line: str) -> Iterator[tuple[float, float]]:
    """The hour of each time in a line, and the same hour in the other half of the day: a log has 24 hours."""
    for found in _CLOCK.finditer(line):
        hour = float(found[1] or found[3])
        yield hour, (hour + 12) % 24


def _spaced(simple: str) -> str:
    """A text with spaces in place of signs around words."""
    return re.sub(r"[^\w ]+", " ", simple).replace("  ", " ")
