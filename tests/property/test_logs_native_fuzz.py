"""Whatever the bytes, the native reader gives dialogues or a `DataError`; what is written is read again."""

import io
import json
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.errors import DataError, Problem
from turnwise.logs import native, typed
from turnwise.logs.checks import RuleError
from turnwise.logs.dialogue import MESSAGE, RATING, RECORD, REPLY, from_record
from turnwise.logs.readers.source import decoded
from turnwise.types import LARGEST, ROLES, Dialogue, Preference, Rating, Reply, Turn, item_id

texts = st.text(max_size=20)
names = st.text(min_size=1, max_size=8)
numbers = st.floats(-LARGEST, LARGEST)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
scores = st.dictionaries(names, numbers, max_size=2)
replies = st.builds(Reply, texts, st.none() | scores, st.none() | scores)


def extras(*known: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(names.filter(lambda name: name not in known), json_values, max_size=2)


turns = st.builds(
    Turn,
    role=st.sampled_from(ROLES),
    content=texts,
    references=st.lists(texts, max_size=2).map(tuple),
    alternatives=st.dictionaries(texts, st.lists(replies, min_size=1, max_size=3).map(tuple), max_size=2),
    outcome=st.none() | scores,
    state=st.none() | st.dictionaries(texts, json_values, max_size=2),
    acts=st.none() | st.lists(json_values, max_size=2).map(tuple),
    extra=extras("role", "content", "references", "alternatives", "outcome", "state", "acts"),
)
tool_turns = st.builds(
    Turn,
    role=st.just("assistant"),
    content=st.none(),
    extra=st.builds(lambda calls: {"tool_calls": calls}, st.lists(json_values, min_size=1, max_size=2)),
)


images = st.fixed_dictionaries({"type": st.just("image_url")}, optional={"image_url": json_values})
text_parts = st.builds(lambda text: {"type": "text", "text": text}, texts)


def preferences(identity: str, n_turns: int) -> st.SearchStrategy[Preference]:
    return st.builds(
        Preference,
        other=names.filter(lambda name: name != identity),
        winner=st.sampled_from(("this", "other", "tie", "both_bad")),
        dimension=names,
        rater=st.none() | names,
        turn=st.none() | st.integers(0, n_turns - 1),
        shown=st.sampled_from((None, "first", "second")),
        extra=extras("other", "winner", "dimension", "rater", "turn", "shown"),
    )


@st.composite
def part_turns(draw: st.DrawFn) -> Turn:
    parts = draw(st.lists(text_parts | images, min_size=1, max_size=3))
    content = "\n".join(part["text"] for part in parts if part["type"] == "text")
    return Turn(draw(st.sampled_from(ROLES)), content, parts=tuple(parts))


@st.composite
def dialogues(draw: st.DrawFn) -> Dialogue:
    identity = draw(names)
    said = draw(st.lists(turns | tool_turns | part_turns(), min_size=1, max_size=4))
    ratings = []
    for _ in range(draw(st.integers(0, 3))):
        turn = draw(st.none() | st.integers(0, len(said) - 1))
        value, low, high = draw(numbers), draw(numbers), draw(numbers)
        scale = (low, high) if low < high and low <= value <= high else None
        ratings.append(
            Rating(
                item_id(identity, turn),
                draw(names),
                value,
                draw(st.none() | names),
                turn,
                scale,
                draw(st.sampled_from(("higher", "lower"))),
                draw(extras("dimension", "value", "rater", "turn", "scale", "direction")),
            )
        )
    return Dialogue(
        identity,
        draw(names),
        tuple(said),
        tuple(ratings),
        draw(st.none() | st.dictionaries(texts, json_values, max_size=2)),
        draw(st.dictionaries(texts, json_values, max_size=2)),
        draw(extras("id", "agent", "messages", "ratings", "preferences", "goal", "meta")),
        tuple(draw(st.lists(preferences(identity, len(said)), max_size=2))),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def read_or_refused(content: bytes, folder: Path) -> list[Dialogue]:
    path = folder / "a.jsonl"
    path.write_bytes(content)
    problems = list(native.problems(str(path)))
    if not problems:
        return list(native.read(str(path)))
    with pytest.raises(DataError) as caught:
        list(native.read(str(path)))
    assert caught.value.problems == (problems[0],)
    assert all(isinstance(problem, Problem) and problem.message for problem in problems)
    return []


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(folder: Path, content: bytes) -> None:
    read_or_refused(content, folder)
    read_or_refused(b"\x1f\x8b" + content, folder)


@given(
    lines=st.lists(
        st.dictionaries(st.sampled_from(["id", "messages", "ratings", "meta", "x"]), json_values), max_size=3
    )
)
def test_any_json_is_read_or_refused(folder: Path, lines: list[Any]) -> None:
    read_or_refused("\n".join(map(json.dumps, lines)).encode(), folder)


@given(dialogue=dialogues(), data=st.data())
def test_a_mutated_line_is_read_or_refused(folder: Path, dialogue: Dialogue, data: st.DataObject) -> None:
    line = bytearray(native.dump(dialogue))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(line)))
        line[start : start + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    for found in read_or_refused(bytes(line), folder):
        assert native.parse(native.dump(found), file="", line_number=1) == found


@pytest.mark.slow
@given(dialogue=dialogues(), path=st.data())
def test_a_value_put_anywhere_in_a_record_is_read_or_refused(
    folder: Path, dialogue: Dialogue, path: st.DataObject
) -> None:
    record = json.loads(native.dump(dialogue))
    place = record
    while isinstance(place, (dict, list)) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = path.draw(st.sampled_from(keys))
        if not isinstance(place[key], (dict, list)) or path.draw(st.booleans()):
            place[key] = path.draw(json_values)
            break
        place = place[key]
    read_or_refused(json.dumps(record).encode(), folder)


@settings(max_examples=30)  # each example is four files on disk
@given(written=st.lists(dialogues(), min_size=1, max_size=4, unique_by=lambda dialogue: dialogue.id))
def test_what_is_written_is_read_again(folder: Path, written: list[Dialogue]) -> None:
    for name in ("b.jsonl", "b.jsonl.gz"):
        path = folder / name
        assert native.write(written, str(path)) == len(written)
        assert list(native.read(str(path))) == written
        first = path.read_bytes()
        native.write(native.read(str(path)), str(path))
        assert path.read_bytes() == first


@settings(max_examples=30)
@given(dialogue=dialogues())
def test_standard_input_reads_what_a_file_does(dialogue: Dialogue) -> None:
    stdin = sys.stdin
    try:
        sys.stdin = io.TextIOWrapper(io.BytesIO(native.dump(dialogue)))
        assert list(native.read("-")) == [dialogue]
    finally:
        sys.stdin = stdin


def by_the_checker(line: bytes) -> Dialogue | str:
    """What the explaining checker says of a line: its dialogue, or the rule that it breaks."""
    try:
        return from_record(decoded(line), default_id="7", before="p:")
    except RuleError as error:
        return f"{error.path} {error.message}"


def typed_alike(line: bytes) -> bool:
    """Whether the structs read the line; what they read must be what the checker reads, to the last type."""
    found, expected = typed.read(line, 7, prefix="p:", apart=True), by_the_checker(line)
    assert found is None or (found == expected and repr(found) == repr(expected))
    return found is not None


def without_unknown_keys(dialogue: Dialogue) -> Dialogue:
    spoken = (replace(turn, extra={}, parts=()) for turn in dialogue.turns if turn.content is not None)
    rated = tuple(replace(rating, turn=None, extra={}) for rating in dialogue.ratings)
    return replace(dialogue, turns=(*spoken, Turn("user", "bye")), ratings=rated, preferences=(), extra={})


@given(dialogue=dialogues())
def test_the_structs_read_every_valid_line_without_unknown_keys(dialogue: Dialogue) -> None:
    assert typed_alike(native.dump(without_unknown_keys(dialogue)))


@pytest.mark.slow
@given(dialogue=dialogues())
def test_unknown_keys_content_in_parts_and_preferences_are_left_to_the_checker(dialogue: Dialogue) -> None:
    unknown = any(record.extra for record in (dialogue, *dialogue.turns, *dialogue.ratings))
    rare = unknown or dialogue.preferences or any(turn.parts for turn in dialogue.turns)
    assert typed_alike(native.dump(dialogue)) is not bool(rare)


@given(dialogue=dialogues(), data=st.data())
def test_the_structs_accept_nothing_that_the_checker_refuses_in_mutated_bytes(
    dialogue: Dialogue, data: st.DataObject
) -> None:
    line = bytearray(native.dump(without_unknown_keys(dialogue)))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(line)))
        line[start : start + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    typed_alike(bytes(line))


KEYS = sorted(RECORD | MESSAGE | RATING | REPLY | {"extra", "item", "turns", "unknown"})
odd_values = (
    json_values
    | st.sampled_from(
        [
            1.0,
            -0.0,
            -1,
            2**53 + 1,
            2**64,
            10**30,
            LARGEST,
            1.1 * LARGEST,
            -1e308,
            10**51,
            10**400,
            "",
            [],
            {},
            [1, 0],
            [0, 1],
            [0, 1, 2],
            "lower",
        ]
    )
    | st.sampled_from(
        [{"content": "x"}, {"content": None}, [{"content": "x", "outcome": {"a": 1}}], {"a": "b"}]
    )
)


@pytest.mark.slow
@given(dialogue=dialogues(), data=st.data())
def test_the_structs_accept_nothing_that_the_checker_refuses_in_mutated_records(
    dialogue: Dialogue, data: st.DataObject
) -> None:
    record = json.loads(native.dump(without_unknown_keys(dialogue)))
    for _ in range(data.draw(st.integers(1, 2))):
        objects = list(objects_in(record))
        values = objects[data.draw(st.integers(0, len(objects) - 1))]
        key = data.draw(st.sampled_from(sorted({*values, *KEYS})))
        if data.draw(st.booleans()):
            values[key] = deepcopy(data.draw(odd_values))  # sampled values are shared
        else:
            values.pop(key, None)
    typed_alike(json.dumps(record).encode())


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(part)


any_characters = st.text(st.characters(categories=["Cs"]) | st.sampled_from('a\\"\n😀'), max_size=6)


@given(said=any_characters)
def test_escaped_text_is_read_unless_it_has_half_a_character(said: str) -> None:
    line = json.dumps({"messages": [{"role": "user", "content": said}]})  # all in ASCII, by escapes
    try:
        whole = said.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        with pytest.raises(DataError, match="has half a character, the surrogate"):
            native.parse(line, file="f", line_number=1)
    else:
        assert native.parse(line, file="f", line_number=1).turns[0].content == whole
