"""MultiWOZ 2.0 and 2.1 as published: `data.json`, one object of `{id: {"goal": ..., "log": [...]}}`.

Users speak first and in turn with the wizard. A wizard's `metadata` is the belief state after the user's
message, so it becomes the `state` of the wizard's message: constraints under their own names, booking
details as `book people` and the like, without what was not mentioned. Ids are in lower case without `.json`,
as systems' predictions name them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from turnwise.logs.checks import (
    RuleError,
    array,
    each,
    mapping,
    optional,
    others,
    record,
    required,
    text,
    wrong,
)
from turnwise.logs.dialogue import other_entries
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, build_each, raise_data_error, read_json
from turnwise.types import Dialogue, Turn

UNMENTIONED = ("", "not mentioned", None)
RECORD = frozenset({"goal", "log"})
ENTRY = frozenset({"text", "metadata", "dialog_act"})


class _Domain(NamedTuple):
    """One domain's part of a belief state: the slots that were mentioned, what was booked, and other keys."""

    slots: dict[str, Any]
    booked: list[Any]
    more: dict[str, Any]


class _Entry(NamedTuple):
    """One message of a log, with its state by domain and its acts; acts are None if it has no annotation."""

    text: str
    domains: dict[str, _Domain]
    acts: tuple[Any, ...] | None
    extra: dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether a JSON file is an object whose first value has `goal` and `log`."""
    first = next(iter(sample.first.values()), None)
    return sample.form == "json" and isinstance(first, dict) and {"goal", "log"} <= first.keys()


def read(path: str, _: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a key of the file."""
    try:
        yield from build_each(record(read_json(path)).items(), _dialogue)
    except RuleError as error:
        raise_data_error(error, path)


def _dialogue(value: Any, key: str) -> Dialogue:
    """One dialogue of a user and a human wizard; the wizard's bookings are listed in `meta.booked`.

    An empty log raises `RuleError`.
    """
    values = record(value)
    log = required(values, "log", each(_entry))
    if not log:
        raise wrong([], "one message or more").inside("log")
    goal = dict(required(values, "goal", record))
    meta = others(values, RECORD)
    meta |= {f"goal_{key}": goal.pop(key) for key in ("message", "topic") if key in goal}
    booked = [
        {"turn": index, "domain": name, "booked": domain.booked}
        for index, entry in enumerate(log)
        for name, domain in entry.domains.items()
        if domain.booked
    ]
    for place, entry in enumerate(log[::2]):
        if entry.domains:
            raise (
                RuleError("is not empty in a user's message; expected users and wizards in turn")
                .inside("metadata")
                .inside(2 * place)
                .inside("log")
            )
    return Dialogue(
        id=key.removesuffix(".json").lower(),
        agent="human",
        turns=tuple(_turn(entry, by_wizard=index % 2 == 1) for index, entry in enumerate(log)),
        goal={domain: wanted for domain, wanted in goal.items() if wanted},
        meta=meta | ({"booked": booked} if booked else {}),
    )


def _turn(entry: _Entry, *, by_wizard: bool) -> Turn:
    """One message; only the wizard's has the state, also an empty one."""
    state = {name: domain.slots for name, domain in entry.domains.items() if domain.slots}
    return Turn(
        role="assistant" if by_wizard else "user",
        content=entry.text.strip(),
        state=state if by_wizard else None,
        acts=entry.acts,
        extra=entry.extra,
    )


def _entry(value: Any) -> _Entry:
    """One checked message; a text in place of acts (`No Annotation`) is kept beside it."""
    values = record(value)
    acts = optional(values, "dialog_act", _acts, default=None)
    unannotated = {"dialog_act": acts} if isinstance(acts, str) else {}
    domains = optional(values, "metadata", mapping(_domain), default={})
    more = {name: domain.more for name, domain in domains.items() if domain.more}
    return _Entry(
        text=required(values, "text", text),
        domains=domains,
        acts=None if isinstance(acts, str) else acts,
        extra=other_entries(values, ENTRY) | unannotated | ({"metadata": more} if more else {}),
    )


def _domain(value: Any) -> _Domain:
    """One domain of a state, without slots that were not mentioned; booking slots are called `book SLOT`."""
    values = record(value)
    book = dict(optional(values, "book", record, default={}))
    booked = optional(book, "booked", array, default=[])
    booking = {f"book {slot}": said for slot, said in book.items() if slot != "booked"}
    slots = optional(values, "semi", record, default={}) | booking
    mentioned = {slot: said for slot, said in slots.items() if said not in UNMENTIONED}
    return _Domain(mentioned, booked, others(values, frozenset({"semi", "book"})))


_details = mapping(each(array))


def _acts(value: Any) -> tuple[Any, ...] | str:
    """Acts as lists `[act, slot, value]`; a text such as `No Annotation` is returned unchanged."""
    if isinstance(value, str):
        return value
    return tuple([act, *detail] for act, details in _details(value).items() for detail in details)
