"""Replace personal data in a dialogue by placeholders such as [PERSON_1] and [EMAIL_1].

The same value has the same placeholder everywhere in one dialogue; numbers start anew in the next. Rules find what they
find: redaction is not complete, and `NOT_COMPLETE` says so wherever counts are shown.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from turnwise.logs import native
from turnwise.logs.dialogue import from_record
from turnwise.logs.redact import patterns, people
from turnwise.types import Dialogue

KINDS = ("PERSON", "EMAIL", "PHONE", "CARD", "IBAN", "IP", "URL", "KEY")
NOT_COMPLETE = "redaction by rules is not complete: read a sample before you share the file"

PLACEHOLDER = re.compile(rf"\[({'|'.join(KINDS)})_(\d+)\]")
# Keys of a message that may name its speaker.
SPEAKER_KEYS = ("name", "speaker", "author", "sender", "from", "username", "user")
# Keys that say what kind their value is: in tool calls, results, goals, states and `meta`.
NAME_KEY = re.compile(
    r"(?:(?:first|last|middle|given|family|full|user|customer|client|passenger|guest|patient|contact|sender|recipient|"
    r"cardholder|account_?holder)[ _-]?names?|surname|fullname|cardholder)",
    re.I,
)
PHONE_KEY = re.compile(
    r"(?:[a-z]+[ _-])*(?:phone|telephone|tel|mobile|cell|fax|msisdn)(?:[ _-]?(?:number|no))?", re.I
)
SECRET_KEY = re.compile(
    r"(?:[a-z]+[ _-])*(?:api[ _-]?key|secret|access[ _-]?token|auth[ _-]?token|token)", re.I
)
PASSWORD_KEY = re.compile(r"(?:[a-z]+[ _-])*(?:pass(?:word|wd|code|phrase)|pwd|pw|pin)", re.I)
WORDS = re.compile(rf"{people.LETTER}+(?:[ .'’-]+{people.LETTER}+)*\.?")
SECRET_LENGTH = 8  # characters from which a value under SECRET_KEY is one
PART_LENGTH = 3  # letters from which a part of a name stands for the person

# Left as they are: results are joined by ids, agents, raters and dimensions, and the others are words of the format.
RECORD_KEYS = frozenset({"id", "agent"})
MESSAGE_KEYS = frozenset({"role", "source_role", "outcome", "tool_call_id"})
RATING_KEYS = frozenset({"dimension", "value", "rater", "turn", "scale", "direction"})
PREFERENCE_KEYS = frozenset({"other", "winner", "dimension", "rater", "turn", "shown"})


class Redacted(NamedTuple):
    """A dialogue with placeholders for the personal data that was found, and what was counted on the way."""

    dialogue: Dialogue
    counts: Counter[str]  # replacements by kind
    identifiers: int = 0  # ids, agents and raters that look like personal data and were left


def redact(dialogue: Dialogue) -> Redacted:
    """The dialogue with placeholders for the personal data that rules find, and how many were put in by kind.

    Ids, agents and raters are left as they are; without any replacement the dialogue is the same object.
    """
    record = msgspec.json.decode(native.dump(dialogue))
    state = _Placeholders()
    for text in _texts(record):
        state.reserve(text)
    walker = _Walker(state)
    while True:  # a replacement can bring a rule to match beside it; each pass leaves less text for the next
        before = sum(state.counts.values())
        walker.collect(record)
        record = walker.replace(record)
        if sum(state.counts.values()) == before:
            break
    left = _identifiers(dialogue)
    if not state.counts:
        return Redacted(dialogue, state.counts, left)
    return Redacted(from_record(record, default_id=dialogue.id), state.counts, left)


@dataclass(slots=True)
class _Placeholders:
    """The placeholders of one dialogue, by value and by spelling."""

    by_value: dict[tuple[str, str], str] = field(default_factory=dict)  # (kind, value) -> placeholder
    spelled: dict[str, str] = field(default_factory=dict)  # text as written -> placeholder
    single: set[str] = field(default_factory=set)  # placeholders of people known by one word only
    last: Counter[str] = field(default_factory=Counter)  # by kind, the last number in use
    counts: Counter[str] = field(default_factory=Counter)
    _pattern: tuple[int, re.Pattern[str]] | None = None

    def reserve(self, text: str) -> None:
        """Note the numbers of placeholders that a text already has, so that new ones get higher numbers."""
        for match in PLACEHOLDER.finditer(text):
            self.last[match[1]] = max(self.last[match[1]], int(match[2]))

    def of(self, kind: str, value: str, text: str) -> str:
        """The placeholder of a value, a new one if it is not known; `text`, as it is written here, is remembered."""
        found = self.by_value.get((kind, value))
        if found is None:
            self.last[kind] += 1
            found = self.by_value[kind, value] = f"[{kind}_{self.last[kind]}]"
        self.spelled.setdefault(text, found)
        return found

    def person(self, name: str) -> str:
        """The placeholder of a name, a new one if it is not known; remembers how it and its parts may be written.

        A part of a known full name, or a full name with a part that was known alone, is the same person.
        """
        key = " ".join(name.casefold().split())
        found = self.by_value.get(("PERSON", key))
        parts = [
            part
            for part in re.findall(rf"{people.LETTER}+(?:['’-]{people.LETTER}+)*", name)
            if _stands_alone(part)
        ]
        if found is None:
            known = [self.by_value.get(("PERSON", part.casefold())) for part in parts]
            found = next((one for one in known if one in self.single), None)
            if found is not None:
                self.by_value["PERSON", key] = found
                self.single.discard(found)
            else:
                found = self.of("PERSON", key, name)
                if len(key.split()) == 1:
                    self.single.add(found)
        self._spell(name, found)
        for part in parts:
            self.by_value.setdefault(("PERSON", part.casefold()), found)
            self._spell(part, self.by_value["PERSON", part.casefold()])
        return found

    def _spell(self, name: str, placeholder: str) -> None:
        """Remember a name's spellings: as written, in capitals or title case, and in lower case if its first word is
        a known first name. A spelling that is remembered already keeps its placeholder.
        """
        self.spelled.setdefault(name, placeholder)
        if name[:1].isupper():
            self.spelled.setdefault(name.upper(), placeholder)
        elif name.casefold() not in people.NOT_NAMES:
            self.spelled.setdefault(name.title(), placeholder)
        if name.split()[0].casefold() in people.first_names():
            self.spelled.setdefault(name.lower(), placeholder)

    def known(self) -> re.Pattern[str] | None:
        """A pattern that matches each remembered spelling as whole words, the longest first; None if there is none."""
        if not self.spelled:
            return None
        if self._pattern is None or self._pattern[0] != len(self.spelled):
            longest = sorted(self.spelled, key=lambda text: (-len(text), text))
            inner = "|".join(map(re.escape, longest))
            letter = r"[^\W_]"
            self._pattern = len(self.spelled), re.compile(f"(?<!{letter})(?:{inner})(?!{letter})")
        return self._pattern[1]


def _stands_alone(part: str) -> bool:
    """Whether a part of a name can mean the person: three letters or more, and no common word unless a first name."""
    lower = part.casefold()
    return len(part) >= PART_LENGTH and (lower not in people.NOT_NAMES or lower in people.first_names())


class _Walker:
    """Finds and replaces the personal data in the record of one dialogue."""

    def __init__(self, state: _Placeholders) -> None:
        self.state = state

    def collect(self, record: Mapping[str, Any]) -> None:
        """Give every value in the record its placeholder, so that it is known in earlier texts too; changes no text."""
        _visit(record, self._collect_text, agent=record["agent"])

    def replace(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record with placeholders for what rules find and for remembered spellings; counts the replacements."""
        changed: dict[str, Any] = _visit(record, self._replaced, agent=record["agent"])
        return changed

    def _collect_text(self, text: str | int, kind: str | None) -> str | int:
        """Give each value in a text its placeholder, and return the text unchanged."""
        for span in find(text, kind):
            self._placeholder(span, str(text))
        return text

    def _placeholder(self, span: patterns.Span, text: str) -> str:
        """The placeholder of a span of `text`; of a mail address, the name in it is remembered as a person too."""
        written = text[span.start : span.end]
        if span.kind == "PERSON":
            return self.state.person(written)
        if span.kind == "EMAIL":
            placeholder = self.state.of(span.kind, span.value, written)
            if name := _named_in(span.value):
                self.state.person(name)
            return placeholder
        return self.state.of(span.kind, span.value, written)

    def _replaced(self, text: str | int, kind: str | None) -> str | int:
        """The text with placeholders; a number that is personal data becomes its placeholder, a text. Unchanged if
        nothing is found.
        """
        whole = str(text)
        spans = list(find(text, kind))
        taken = [(span.start, span.end) for span in spans]
        taken += [match.span() for match in PLACEHOLDER.finditer(whole)]
        known = self.state.known()
        replaced = [(span.start, span.end, self._placeholder(span, whole)) for span in spans]
        if known is not None and isinstance(text, str):
            for match in known.finditer(whole):
                if all(match.end() <= start or end <= match.start() for start, end in taken):
                    replaced.append((*match.span(), self.state.spelled[match[0]]))
        if not replaced:
            return text
        pieces, last = [], 0
        for start, end, placeholder in sorted(replaced):
            pieces += [whole[last:start], placeholder]
            last = end
            self.state.counts[placeholder[1:].rpartition("_")[0]] += 1
        return "".join([*pieces, whole[last:]])


def _named_in(address: str) -> str:
    """The name in a mail address, "Mia Li" for mia.li@example.org, so that it is redacted elsewhere too.

    Empty if the address does not begin with a known first name or has a part that is not letters.
    """
    parts = re.split(r"[._-]", address.partition("@")[0])
    if parts[0] not in people.first_names() or not all(part.isalpha() for part in parts):
        return ""
    return " ".join(part.title() for part in parts)


def find(text: str | int, kind: str | None = None) -> Iterator[patterns.Span]:
    """Spans of personal data that overlap neither each other nor a placeholder.

    `kind` is what the key of the value says: PERSON, PHONE, KEY, PASSWORD, SPEAKER or None. In a number only a whole
    card or, with PHONE or PASSWORD, phone number or password is found; in a `data:` URL nothing.
    """
    if isinstance(text, int):
        number = str(text)
        if patterns.is_card(number) and len(number) > 14:  # 13 and 14 digits are also times in milliseconds
            yield patterns.Span(0, len(number), "CARD", number)
        elif kind == "PHONE" and patterns.MIN_PHONE <= len(number) <= patterns.MAX_PHONE:
            yield patterns.Span(0, len(number), "PHONE", number)
        elif kind == "PASSWORD":
            yield patterns.Span(0, len(number), "KEY", number)
        return
    if text.startswith("data:"):  # an image or a sound
        return
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    for span in _candidates(text, kind):
        if all(span.end <= start or end <= span.start for start, end in taken):
            taken.append((span.start, span.end))
            yield span


def _candidates(text: str, kind: str | None) -> Iterator[patterns.Span]:
    """Spans of personal data that may overlap, those that win first; `kind` can make the whole text one span."""
    stripped = text.strip()
    start = text.find(stripped)
    whole = (start, start + len(stripped))
    if PLACEHOLDER.search(text):
        kind = None
    digits = re.sub(r"\D", "", text)
    if kind == "KEY" and len(stripped) >= SECRET_LENGTH and not re.search(r"\s", stripped):
        yield patterns.Span(*whole, "KEY", stripped)
    if kind == "PASSWORD" and any(sign.isalnum() for sign in stripped):
        yield patterns.Span(*whole, "KEY", stripped)
    if (
        kind == "PHONE"
        and patterns.MIN_PHONE <= len(digits) <= patterns.MAX_PHONE
        and len(stripped) <= 2 * len(digits)
    ):
        yield patterns.Span(*whole, "PHONE", digits)
    yield from patterns.find(text)
    if (kind == "PERSON" and WORDS.fullmatch(stripped)) or (
        kind == "SPEAKER" and re.search(people.LETTER, stripped)
    ):
        yield patterns.Span(*whole, "PERSON", stripped)
    for begin, end in people.find(text):
        yield patterns.Span(begin, end, "PERSON", text[begin:end])


# A change of one text or number, which is told what the key of the value says of its kind.
Change = Callable[[str | int, str | None], str | int]


def _visit(record: Mapping[str, Any], change: Change, *, agent: str) -> Any:
    """The record with `change` applied to every text and whole number that people may have written.

    Ids, agents, raters, roles and other words of the format stay. `agent` is the name of the dialogue's agent.
    """
    below = {
        "messages": lambda value: [_message(one, change, agent) for one in value],
        "ratings": lambda value: [_besides(one, RATING_KEYS, change) for one in value],
        "preferences": lambda value: [_besides(one, PREFERENCE_KEYS, change) for one in value],
    }
    return {
        key: value
        if key in RECORD_KEYS
        else below[key](value)
        if key in below
        else _value(value, change, key)
        for key, value in record.items()
    }


def _besides(values: Mapping[str, Any], kept: frozenset[str], change: Change) -> dict[str, Any]:
    """The object with `change` applied to all values except those of the keys `kept`."""
    return {key: value if key in kept else _value(value, change, key) for key, value in values.items()}


def _message(values: Mapping[str, Any], change: Change, agent: str) -> dict[str, Any]:
    """A message with its texts changed; a speaker's name counts as a person's unless it is the agent's or a tool's."""
    done: dict[str, Any] = {}
    for key, value in values.items():
        if key in MESSAGE_KEYS or (key in SPEAKER_KEYS and (value == agent or values["role"] == "tool")):
            done[key] = value
        elif key in SPEAKER_KEYS and isinstance(value, str) and _is_person(value):
            done[key] = change(value, "SPEAKER")
        elif key == "tool_calls" and isinstance(value, list):
            done[key] = [_call(one, change) for one in value]
        elif key == "function_call" and isinstance(value, dict):
            done[key] = _besides(value, frozenset({"name"}), change)
        elif key == "content" and isinstance(value, list):
            done[key] = [_besides(part, frozenset({"type"}), change) for part in value]
        else:
            done[key] = _value(value, change, key)
    return done


def _is_person(speaker: str) -> bool:
    """Whether a speaker's name may be a person's: it is no common word and not one such as `user`."""
    return speaker.casefold() not in people.NOT_NAMES | {"user", "human", "system", "unknown", "you"}


def _call(value: Any, change: Change) -> Any:
    """A tool call: its id, type and the function's name are kept."""
    if not isinstance(value, dict):
        return _value(value, change, "")
    done = _besides(value, frozenset({"id", "type", "function", "name"}), change)
    if isinstance(value.get("function"), dict):
        done["function"] = _besides(value["function"], frozenset({"name"}), change)
    return done


def _value(value: Any, change: Change, key: str) -> Any:
    """Any JSON value with `change` applied to its texts and whole numbers; `key` is the last key above it.

    A text that is itself JSON is changed inside.
    """
    if isinstance(value, dict):
        return {name: _value(one, change, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_value(one, change, key) for one in value]
    if isinstance(value, str):
        inner = _inner(value)
        if inner is None:
            return change(value, _kind(key))
        done = _value(inner, change, key)
        return value if done == inner else _dumped(done, like=value)
    if isinstance(value, int) and not isinstance(value, bool):
        return change(value, _kind(key))
    return value


def _inner(text: str) -> Any:
    """The object or list of which a text is the JSON, as the arguments of a tool call are; None for other texts."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, (dict, list)) else None


def _dumped(value: Any, *, like: str) -> str:
    """The JSON of a value, with spaces and escapes as another text has them."""
    separators = None if re.search(r'[":,] ', like) else (",", ":")
    return json.dumps(value, ensure_ascii="\\u" in like, separators=separators)


def _kind(key: str) -> str | None:
    """What a key says of its value: PERSON, PHONE, KEY, PASSWORD, or None."""
    kinds = {"PERSON": NAME_KEY, "PHONE": PHONE_KEY, "KEY": SECRET_KEY, "PASSWORD": PASSWORD_KEY}
    return next((kind for kind, pattern in kinds.items() if pattern.fullmatch(key)), None)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value at any depth, without the keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _identifiers(dialogue: Dialogue) -> int:
    """How many of the dialogue's id, agent and raters look like personal data."""
    raters = {one.rater for one in dialogue.ratings} | {one.rater for one in dialogue.preferences}
    names = {dialogue.id, dialogue.agent, *(rater for rater in raters if rater is not None)}
    return sum(any(True for _ in find(name)) for name in names)
