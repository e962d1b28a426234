"""Whatever stands in a file of another format, its reader gives valid dialogues or an error for the user.

No message of a broken file takes the role of another, and a sound file keeps every turn with its role.
"""

import copy
import json
import os
import zipfile
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.every_form import BINARY, FORMS, PACKED, TEXTS
from tests.log_sources import Said, Source, Written
from turnwise.errors import TurnwiseError
from turnwise.logs import native
from turnwise.logs.conversion import convert
from turnwise.logs.readers import READERS, recognise
from turnwise.types import Role

SAID = {"speaker": "x", "text": "a"}
SOUND: dict[str, Any] = {
    "native": {
        "id": "1",
        "messages": [{"role": "user", "content": "hi"}],
        "ratings": [{"dimension": "o", "value": 1}],
    },
    "sharegpt": {"id": 1, "system": "s", "conversations": [{"from": "human", "value": "hi"}]},
    "multiwoz": {
        "A.json": {
            "goal": {"message": "m", "hotel": {"info": {}}},
            "log": [
                {"text": "hello", "metadata": {}},
                {
                    "text": "hi",
                    "metadata": {"hotel": {"semi": {"a": "b"}, "book": {"booked": [{}]}}},
                    "dialog_act": {"A": [["b", "c"]]},
                },
            ],
        }
    },
    "enigma": {"dialog": [SAID, SAID, SAID], "reward": {"a": 1}, "reward_ref": {"a": 0.5}, "kb": []},
}
LINES = {"csv": "id,role,content,turn,rating:o\n1,user,hi,0,3\n1,bot,yo,1,\n", "parlai": "text:a\tlabels:b\n"}
TAKEN = object()  # in place of a value that is taken away
SPOILS = (TAKEN, None, 7, "x", [1], {"a": 1})
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@st.composite
def broken(draw: st.DrawFn, sound: Any) -> Any:
    """A sound value with something else at one place in it, or nothing there at all."""
    whole = {"": copy.deepcopy(sound)}
    place: Any = whole
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        if not isinstance(place[key], (dict, list)) or not place[key] or draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    if draw(st.booleans()):
        del place[key]
    else:
        place[key] = draw(values)
    return whole.get("")


def converted_or_refused(name: str | None, content: bytes, folder: Path) -> None:
    source, out = folder / "in.json", folder / "out.jsonl"
    source.write_bytes(content)
    out.unlink(missing_ok=True)
    try:
        convert(name, str(source), str(out))
    except TurnwiseError as error:
        assert str(source) in str(error)  # noqa: PT017  # either way is allowed
        assert not out.exists()
    else:
        assert list(native.read(str(out)))


def said_at(written: Written, name: str) -> list[Said] | None:
    """The turns of each dialogue that is converted; None where the file is refused with its name and no output."""
    path, options = written
    out = path.parent / "out.jsonl"
    out.unlink(missing_ok=True)
    try:
        convert(name, str(path), str(out), options)
    except TurnwiseError as error:
        named = [str(path), *options.more]
        assert any(one in str(error) for one in named), str(error)  # noqa: PT017  # either way is allowed
        assert not out.exists()
        return None
    return [[(turn.role, turn.text or "") for turn in dialogue.turns] for dialogue in native.read(str(out))]


def sound_turns(source: Source) -> Said:
    """Turns of every role of a form, with texts that no other place of the file has."""
    roles: list[Role] = ["user", "assistant", "user", "assistant"]
    if not source.alternating:
        roles = [*(role for role in source.roles if role not in roles), *roles]
    roles = roles[: source.turns]
    return [(role, f"w{place}w") for place, role in enumerate(roles)]


@st.composite
def turns_of(draw: st.DrawFn, source: Source) -> Said:
    """Turns that a form can hold."""
    texts = one_line if source.one_line else several_lines
    count = source.turns or draw(st.integers(2, 5))
    if source.alternating:
        count += count % 2 if source.replied else 0
        roles: list[Role] = ["assistant" if place % 2 else "user" for place in range(count)]
    else:
        roles = ["user", *draw(st.lists(st.sampled_from(source.roles), min_size=count - 2, max_size=count))]
        roles = draw(st.permutations(roles))
        # Where a form needs --roles, an agent that does not speak is an error.
        roles += ["assistant"] if source.replied or "roles" in source.options else []
    return [(role, draw(texts)) for role in roles]


characters = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"))
odd = st.sampled_from(
    ["[]", "[1, 2]", '{"a": 1}', '[{"a": 1}]', '{"role": 1}', "null", "12", '"x"',
     "a: b", "http://x.y/?a=1", "[DONE] see {x}", "@Ann: no"]
)  # fmt: skip  # texts that look like something else
one_line = odd | st.text(characters, min_size=1, max_size=12).map(str.strip).filter(bool)
several_lines = one_line | st.lists(one_line, min_size=2, max_size=3).map("\n".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", SOUND)
def test_the_examples_are_sound(folder: Path, name: str) -> None:
    (folder / "in.json").write_text(json.dumps(SOUND[name]))
    assert convert(name, str(folder / "in.json"), str(folder / "out.jsonl")).n_dialogues == 1


@pytest.mark.parametrize("name", SOUND)
@settings(max_examples=60)
@given(data=st.data())
def test_a_broken_record_is_converted_or_refused(folder: Path, name: str, data: st.DataObject) -> None:
    converted_or_refused(name, json.dumps(data.draw(broken(SOUND[name]))).encode(), folder)


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("parquet", "hf")])
@settings(max_examples=40)
@given(content=st.binary(max_size=60))
def test_any_bytes_are_converted_or_refused(folder: Path, name: str, content: bytes) -> None:
    converted_or_refused(name, content, folder)


DEEP = {
    "lists": b"[" * 5000,
    "objects": b'{"a":' * 5000,
    "a line": b'{"messages": ' + b"[" * 5000 + b"]" * 5000 + b"}\n",
}


@pytest.mark.parametrize("content", DEEP.values(), ids=DEEP.keys())
@pytest.mark.parametrize("name", [None, *(name for name in READERS if name not in ("parquet", "hf"))])
def test_a_nest_that_is_too_deep_is_converted_or_refused(
    folder: Path, name: str | None, content: bytes
) -> None:
    converted_or_refused(name, content, folder)


@pytest.mark.parametrize("name", LINES)
@settings(max_examples=60)
@given(data=st.data())
def test_a_broken_text_is_converted_or_refused(folder: Path, name: str, data: st.DataObject) -> None:
    text = bytearray(LINES[name].encode())
    start = data.draw(st.integers(0, len(text)))
    text[start : start + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=6) | st.just(b'"'))
    converted_or_refused(name, bytes(text), folder)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_recognised_and_its_example_is_sound(tmp_path: Path, name: str) -> None:
    source = FORMS[name]
    written = source.write(source.build(sound_turns(source)), tmp_path)
    if source.named:
        assert recognise(str(written[0])) == source.reader
    assert said_at(written, source.reader) == source.expected(sound_turns(source))


@pytest.mark.parametrize("name", [name for name in FORMS if name not in BINARY])
def test_a_byte_order_mark_changes_nothing(tmp_path: Path, name: str) -> None:
    source = FORMS[name]
    path, options = source.write(source.build(sound_turns(source)), tmp_path)
    inside = sorted(path.rglob("*.json*")) if path.is_dir() else [path, *map(Path, options.more)]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
        with zipfile.ZipFile(path, "w") as packed:
            for member, stored in files.items():
                packed.writestr(member, BOM_UTF8 + stored)
    else:
        for file in inside:
            file.write_bytes(BOM_UTF8 + file.read_bytes())
    if source.named:
        assert recognise(str(path)) == source.reader
    assert said_at((path, options), source.reader) == source.expected(sound_turns(source))


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=30)
@given(data=st.data())
def test_every_turn_is_kept_with_its_role(folder: Path, name: str, data: st.DataObject) -> None:
    source = FORMS[name]
    said = data.draw(turns_of(source))
    assert said_at(source.write(source.build(said), folder), source.reader) == source.expected(said)


@pytest.mark.parametrize("name", [name for name in FORMS if name not in TEXTS])
@settings(max_examples=12)
@given(data=st.data())
def test_a_broken_file_is_refused_or_no_message_changes_its_role(
    folder: Path, name: str, data: st.DataObject
) -> None:
    source = FORMS[name]
    said = sound_turns(source)
    found = said_at(source.write(data.draw(broken(source.build(said))), folder), source.reader)
    roles_are_those_of_the_source(found or [], said)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FORMS if name not in TEXTS])
def test_no_place_of_a_file_can_be_spoilt_so_that_a_message_changes_its_role(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # of thousands of small files
    source = FORMS[name]
    said = sound_turns(source)
    for place in places(source.build(said)):
        for put in SPOILS:
            whole = source.build(said)
            inner = whole
            for step in place[:-1]:
                inner = inner[step]
            if put is TAKEN:
                del inner[place[-1]]
            else:
                inner[place[-1]] = put
            roles_are_those_of_the_source(said_at(source.write(whole, tmp_path), source.reader) or [], said)


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The steps to every value inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inside:
        yield (step,)
        yield from ((step, *rest) for rest in places(one))


def roles_are_those_of_the_source(found: list[Said], said: Said) -> None:
    for dialogue in found:
        for role, text in dialogue:
            assert all(role == wanted for wanted, one in said if one in text), (role, text)


@pytest.mark.parametrize("name", TEXTS)
@settings(max_examples=30)
@given(data=st.data())
def test_a_broken_text_file_is_refused_or_no_message_changes_its_role(
    folder: Path, name: str, data: st.DataObject
) -> None:
    source = FORMS[name]
    said = sound_turns(source)
    found = said_at(source.write(spoilt(source.build(said).encode(), data), folder), source.reader)
    for dialogue in found or []:
        for role, text in dialogue:
            assert role == {one: wanted for wanted, one in said}.get(text, role)


@pytest.mark.parametrize("name", PACKED)
@settings(max_examples=30)
@given(data=st.data())
def test_a_broken_zip_file_is_converted_or_refused(folder: Path, name: str, data: st.DataObject) -> None:
    source = FORMS[name]
    path, options = source.write(source.build(sound_turns(source)), folder)
    path.write_bytes(spoilt(path.read_bytes(), data))
    roles_are_those_of_the_source(said_at((path, options), source.reader) or [], sound_turns(source))


def spoilt(content: bytes, data: st.DataObject) -> bytes:
    """Bytes of which some are taken away or replaced."""
    start = data.draw(st.integers(0, len(content)))
    end = start + data.draw(st.integers(0, 9))
    return content[:start] + data.draw(st.binary(max_size=6)) + content[end:]
