"""Whatever stands in a file of another format, its reader gives valid dialogues or an error for the user."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.errors import TurnwiseError
from turnwise.logs import READERS, native
from turnwise.logs.readers import convert

SAID = {"speaker": "x", "text": "a"}
SOUND: dict[str, Any] = {
    "native": {
        "id": "1",
        "messages": [{"role": "user", "content": "hi"}],
        "ratings": [{"dimension": "o", "value": 1}],
    },
    "openai": {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}], "tool_calls": []}]},
    "sharegpt": {"id": 1, "system": "s", "conversations": [{"from": "human", "value": "hi"}]},
    "parlai": {
        "dialog": [[{"id": "human", "text": "hi"}, {"id": "b", "text": "yo"}]],
        "context": [{"id": "context", "text": "c"}],
    },
    "multiwoz": {
        "A.json": {
            "goal": {"message": "m", "hotel": {"info": {}}},
            "log": [
                {
                    "text": "hi",
                    "metadata": {"hotel": {"semi": {"a": "b"}, "book": {"booked": [{}]}}},
                    "dialog_act": {"A": [["b", "c"]]},
                }
            ],
        }
    },
    "convlab": [
        {
            "dialogue_id": "1",
            "goal": {},
            "turns": [
                {
                    "speaker": "user",
                    "utterance": "u",
                    "state": {"hotel": {"a": "b"}},
                    "dialogue_acts": {"binary": [{"intent": "i", "domain": "d", "slot": "s", "value": "v"}]},
                }
            ],
        }
    ],
    "tau2": {
        "info": {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "d"}},
        "tasks": [{"id": "1"}],
        "simulations": [
            {
                "id": "s",
                "task_id": "1",
                "messages": [
                    {"role": "assistant", "content": "hi"},
                    {"role": "tool", "tool_messages": [{"role": "tool", "content": None}]},
                ],
                "reward_info": {"reward": 1.0},
            }
        ],
    },
    "enigma": {"dialog": [SAID, SAID, SAID], "reward": {"a": 1}, "reward_ref": {"a": 0.5}, "kb": []},
}
LINES = {"csv": "id,role,content,turn,rating:o\n1,user,hi,0,3\n1,bot,yo,1,\n", "parlai": "text:a\tlabels:b\n"}
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


def converted_or_refused(name: str, content: bytes, folder: Path) -> None:
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


@pytest.mark.parametrize("name", LINES)
@settings(max_examples=60)
@given(data=st.data())
def test_a_broken_text_is_converted_or_refused(folder: Path, name: str, data: st.DataObject) -> None:
    text = bytearray(LINES[name].encode())
    start = data.draw(st.integers(0, len(text)))
    text[start : start + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=6) | st.just(b'"'))
    converted_or_refused(name, bytes(text), folder)
