"""What no reader knows is kept in a dialogue, or counted as dropped: keys, and texts and numbers at any place."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.every_form import FORMS, TEXTS
from tests.log_sources import Source
from tests.property.test_logs_readers_fuzz import places, sound_turns
from turnwise.errors import DataError, TurnwiseError
from turnwise.logs.dialogue import as_record
from turnwise.logs.readers import READERS

KEY, MARK, NUMBER = "key_of_no_format", "what no reader knows", 98765
# Form -> steps to objects all of which are dropped, with the beginning of a reason that counts the whole object.
RUN = "settings and totals of the whole run"
EVALUATION = "settings and totals of the whole evaluation"
SETTINGS = "settings of the whole run (`info`)"
TIMES = "times and other keys of ticks"
JOINED = {("general/2024-12-31.json", 0): "notices of Slack (channel_join)"}
TICKS = ("simulations", 0, "ticks")
DROPPED_WHOLE: dict[str, dict[tuple[Any, ...], str]] = {
    "tau2": {("info",): SETTINGS},
    "tau2 folder": {("results.json", "info"): SETTINGS},
    "tau2 voice": {("info",): SETTINGS},
    "tau2 voice script": {("info",): SETTINGS, **{(*TICKS, place, "timestamp"): TIMES for place in range(8)}},
    "inspect json": {("eval",): RUN, ("plan",): RUN, ("version",): RUN},
    "inspect eval": {("header.json",): RUN},
    "promptfoo": {("config",): EVALUATION, ("results",): EVALUATION, ("evalId",): EVALUATION},
    "promptfoo text": {("config",): EVALUATION, ("results",): EVALUATION, ("evalId",): EVALUATION},
    "fed": {(0, "annotations", "Interesting", 2): "annotations that are no number"},
    "rasa": {("events", 0): "events of sessions without messages"},
    "slack zip": JOINED,
    "slack folder": JOINED,
    "parlai task": {("dialog", 0, 0): "empty calls, results and descriptions, which fill a place"},
    "langfuse": {
        (0, "observations", 1): "observations that are no model call",
        (0, "scores", 1): "scores that are no number",
    },
    "langsmith": {(1,): "runs that are no model call"},
}
WHOLE_FILE = {"inspect json": RUN, "promptfoo": EVALUATION, "promptfoo text": EVALUATION}
UNREAD = ("data/ontology.json",)  # files that lie beside the dialogues and are no part of them
FOLDERS = ("as_folder", "as_zip")  # forms whose outermost object is no object but a set of files
# Form -> keys of values that a dialogue expresses by its shape: by the order of turns, by roles, by what is a message.
IN_THE_SHAPE: dict[str, tuple[str, ...]] = {
    "tau2 voice script": ("utterance_ids",),  # which pieces are one message
    "acute-eval": ("is_onboarding",),
    "langsmith langchain": ("lc", "type", "id"),  # of a serialised message: the class gives the role
    "openai thread": ("object",),
    "anthropic batch": ("type",),  # `message`, of every response
    "chatgpt": ("id", "children", "current_node"),  # the tree, of which one branch is read
    "chatgpt tools": ("id", "children", "current_node"),
    "json rows": ("place",),  # orders the turns
    "parquet": ("turn",),
    "hf table": ("turn",),
}


@pytest.mark.parametrize("name", [name for name in FORMS if name not in TEXTS])
def test_a_key_that_no_reader_knows_is_kept_or_counted(tmp_path: Path, name: str) -> None:
    source = FORMS[name]
    before, counts = converted(source, source.build(sound_turns(source)), tmp_path)
    assert MARK not in before
    lost = []
    for place in objects(source.build(sound_turns(source))):
        if place[:1] in ((), *((one,) for one in UNREAD)) and (
            source.more or source.store.__name__ in FOLDERS
        ):
            continue
        whole = source.build(sound_turns(source))
        inside(whole, place)[KEY] = MARK
        try:
            after, dropped = converted(source, whole, tmp_path)
        except DataError:
            continue
        if MARK not in after and not dropped - counts and not is_counted(name, place, dropped):
            lost.append(place)
    assert not lost


@pytest.mark.parametrize("name", [name for name in FORMS if name not in TEXTS])
def test_every_text_and_number_is_kept_or_counted_or_decides_the_shape(tmp_path: Path, name: str) -> None:
    source = FORMS[name]
    before, counts = converted(source, source.build(sound_turns(source)), tmp_path)
    lost = []
    for place in places(source.build(sound_turns(source))):
        whole = source.build(sound_turns(source))
        held = inside(whole, place[:-1])
        value = held[place[-1]]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        if {*IN_THE_SHAPE.get(name, ())} & {*place} or place[0] in UNREAD:
            continue
        held[place[-1]] = put = MARK if isinstance(value, str) else NUMBER
        assert str(put) not in before
        try:
            after, dropped = converted(source, whole, tmp_path)
        except TurnwiseError:
            continue
        if str(put) not in after and not dropped - counts and not is_counted(name, place, dropped):
            lost.append((place, value))
    assert not lost


def is_counted(name: str, place: tuple[Any, ...], dropped: Counter[str]) -> bool:
    """Whether the object at a place, or one around it, is dropped whole with a reason that is counted."""
    reason = reason_of(name, place)
    return bool(reason) and any(one.startswith(reason) for one in dropped)


def reason_of(name: str, place: tuple[Any, ...]) -> str:
    """The reason why the whole object at a place, or one around it, is dropped; empty if there is none."""
    if not place:
        return WHOLE_FILE.get(name, "")
    return next(
        (one for steps, one in DROPPED_WHOLE.get(name, {}).items() if place[: len(steps)] == steps), ""
    )


def converted(source: Source, value: Any, folder: Path) -> tuple[str, Counter[str]]:
    """The dialogues of a file as text, and what was dropped."""
    path, options = source.write(value, folder)
    found = READERS[source.reader].read(str(path), options)
    text = json.dumps([as_record(one) for one in found])
    return text, options.dropped


def objects(value: Any) -> Iterator[tuple[Any, ...]]:
    """The steps to every object inside a value, itself included."""
    if isinstance(value, dict):
        yield ()
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inside:
        yield from ((step, *rest) for rest in objects(one))


def inside(whole: Any, place: tuple[Any, ...]) -> Any:
    """The value at the end of the steps."""
    for step in place:
        whole = whole[step]
    return whole
