"""A key that a reader does not know is kept in a dialogue, or counted as dropped."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.log_sources import SOURCES, Source
from tests.property.test_logs_readers_fuzz import TEXTS, sound_turns
from turnwise.errors import DataError
from turnwise.logs import READERS
from turnwise.logs.dialogue import as_record

KEY, MARK = "key_of_no_format", "what no reader knows"
# Form -> steps to objects all of which are dropped with a reason that is counted once for the whole object.
RUN = "settings and totals of the whole run (`eval`, `plan`, `results`, `stats`)"
EVALUATION = "settings and totals of the whole evaluation"
SETTINGS = "settings of the whole run (`info`)"
JOINED = {("general/2024-12-31.json", 0): "notices of Slack (channel_join)"}
DROPPED_WHOLE: dict[str, dict[tuple[Any, ...], str]] = {
    "tau2": {("info",): SETTINGS},
    "tau2 folder": {("results.json", "info"): SETTINGS},
    "tau2 voice": {("info",): SETTINGS},
    "inspect json": {("eval",): RUN, ("plan",): RUN},
    "inspect eval": {("header.json",): RUN},
    "promptfoo": {("config",): EVALUATION, ("results",): EVALUATION},
    "promptfoo text": {("config",): EVALUATION, ("results",): EVALUATION},
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
FILES = ("as_folder", "as_zip")  # forms whose outermost object is no object but a set of files


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in TEXTS])
def test_a_key_that_no_reader_knows_is_kept_or_counted(tmp_path: Path, name: str) -> None:
    source = SOURCES[name]
    before, counts = converted(source, source.build(sound_turns(source)), tmp_path)
    assert MARK not in before
    lost = []
    for place in objects(source.build(sound_turns(source))):
        if place[:1] in ((), *((one,) for one in UNREAD)) and (source.more or source.store.__name__ in FILES):
            continue
        whole = source.build(sound_turns(source))
        marked(whole, place)[KEY] = MARK
        try:
            after, dropped = converted(source, whole, tmp_path)
        except DataError:
            continue
        if MARK not in after and not dropped - counts and not dropped[reason_of(name, place)]:
            lost.append(place)
    assert not lost


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


def marked(whole: Any, place: tuple[Any, ...]) -> dict[str, Any]:
    """The object at the end of the steps."""
    for step in place:
        whole = whole[step]
    found: dict[str, Any] = whole
    return found
