"""The contracts of readers, worlds and trainers on our own."""

import json
from pathlib import Path

import polars
import pytest

from tests.every_form import FORMS
from tests.property.test_logs_readers_fuzz import SOUND, sound_turns
from tests.small_talk import small_talk
from turnwise import worlds
from turnwise.agents import training
from turnwise.logs import native
from turnwise.logs.readers import READERS
from turnwise.testing import check_reader, check_trainer, check_world, training_task

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
FILES = {
    "native": json.dumps({"id": "1", "agent": "bot", "messages": CHAT}),
    "openai": json.dumps({"messages": CHAT}),
    "sharegpt": json.dumps(
        {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}]}
    ),
    "parlai": json.dumps({"dialog": [[{"id": "human", "text": "hi"}, {"id": "bot", "text": "hello"}]]}),
    "multiwoz": json.dumps(SOUND["multiwoz"]),
    "enigma": json.dumps(SOUND["enigma"]),
    "oasst": json.dumps({
        "message_tree_id": "m1", "tree_state": "ready_for_export",
        "prompt": {
            "message_id": "m1", "text": "hi", "role": "prompter",
            "replies": [{"message_id": "m2", "parent_id": "m1", "text": "hello", "role": "assistant", "replies": []}],
        },
    }),
}  # fmt: skip
# Files that the tools themselves wrote (tests/fixtures/written/README.md).
BY_TOOLS = {
    "livekit": "livekit_history.json", "vercel": "vercel_ui_messages.json", "frameworks": "pydantic_ai.json"
}  # fmt: skip
WRITTEN = Path(__file__).parents[1] / "fixtures" / "written"
TABLE = {"id": ["1", "1"], "role": ["user", "assistant"], "content": ["hi", "hello"], "turn": [0, 1]}
TABLES = ("csv", "parquet", "hf")


@pytest.mark.parametrize("name", FILES)
def test_a_reader_keeps_the_contract(name: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(f"{FILES[name]}\n", encoding="utf-8")
    bad.write_text(f"{FILES[name]}\n{{broken\n", encoding="utf-8")
    check_reader(READERS[name].read, good, malformed=bad)


@pytest.mark.parametrize("name", BY_TOOLS)
def test_a_reader_of_a_tools_own_file_keeps_the_contract(name: str, tmp_path: Path) -> None:
    good, bad = WRITTEN / BY_TOOLS[name], tmp_path / "bad.json"
    bad.write_bytes(good.read_bytes()[:-20])
    check_reader(READERS[name].read, good, malformed=bad)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_every_reader_keeps_the_contract(name: str, tmp_path: Path) -> None:
    source = FORMS[name]
    path, options = source.write(source.build(sound_turns(source)), tmp_path)
    bad = tmp_path / f"bad{path.suffix}"
    if path.is_file() and path.suffix in (".json", ".jsonl", ".zip"):
        bad.write_bytes(path.read_bytes()[:-20])
    check_reader(READERS[source.reader].read, path, malformed=bad if bad.exists() else None, options=options)


@pytest.mark.parametrize("name", TABLES)
def test_a_reader_of_tables_keeps_the_contract(name: str, tmp_path: Path) -> None:
    table = polars.DataFrame(TABLE)
    good, bad = tmp_path / f"good.{name}", tmp_path / f"bad.{name}"
    if name == "hf":
        good.mkdir()
        bad.mkdir()
        table.write_parquet(good / "a.parquet")
    elif name == "parquet":
        table.write_parquet(good)
        bad.write_bytes(good.read_bytes()[:-20])
    else:
        table.write_csv(good)
        bad.write_text("id,role,content,turn\n1,user,hi,first\n", encoding="utf-8")
    check_reader(READERS[name].read, good, malformed=bad)


def test_no_reader_is_without_a_check_of_its_contract() -> None:
    assert {*FILES, *BY_TOOLS, *TABLES, *(source.reader for source in FORMS.values())} == set(READERS)


def test_what_the_native_writer_writes_is_read_back(tmp_path: Path) -> None:
    native.write(small_talk(), str(tmp_path / "logs.jsonl"))
    check_reader(native.read, tmp_path / "logs.jsonl")


@pytest.mark.parametrize("name", ["booking", "chat"])
def test_a_world_keeps_the_contract(name: str) -> None:
    check_world(worlds.named(name), dialogues=1)


def test_a_trainer_keeps_the_contract() -> None:
    check_trainer(training.tfidf, training_task("tfidf"))
