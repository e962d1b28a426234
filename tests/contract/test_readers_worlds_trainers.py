"""The contracts of readers, worlds and trainers on our own."""

import json
from pathlib import Path

import pytest

from tests.small_talk import small_talk
from turnwise import worlds
from turnwise.agents import training
from turnwise.logs import READERS, native
from turnwise.testing import check_reader, check_trainer, check_world, training_task

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
FILES = {
    "native": json.dumps({"id": "1", "agent": "bot", "messages": CHAT}),
    "openai": json.dumps({"messages": CHAT}),
    "sharegpt": json.dumps(
        {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}]}
    ),
    "parlai": json.dumps({"dialog": [[{"id": "human", "text": "hi"}, {"id": "bot", "text": "hello"}]]}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_reader_keeps_the_contract(name: str, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(f"{FILES[name]}\n", encoding="utf-8")
    bad.write_text(f"{FILES[name]}\n{{broken\n", encoding="utf-8")
    check_reader(READERS[name].read, good, malformed=bad)


def test_what_the_native_writer_writes_is_read_back(tmp_path: Path) -> None:
    native.write(small_talk(), str(tmp_path / "logs.jsonl"))
    check_reader(native.read, tmp_path / "logs.jsonl")


@pytest.mark.parametrize("name", ["booking", "chat"])
def test_a_world_keeps_the_contract(name: str) -> None:
    check_world(worlds.named(name), dialogues=1)


def test_a_trainer_keeps_the_contract() -> None:
    check_trainer(training.tfidf, training_task("tfidf"))
