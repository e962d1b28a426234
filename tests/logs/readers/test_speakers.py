"""--roles gives roles to the role names of messages."""

import json
from pathlib import Path

import pytest

from turnwise.errors import DataError
from turnwise.logs import READERS
from turnwise.logs.readers.source import Options
from turnwise.logs.readers.speakers import parse

SAID = [
    {"role": "human", "content": "hi"},
    {"role": "bot", "content": "hello"},
    {"role": "user", "content": "so?"},
]


def stored(folder: Path) -> str:
    path = folder / "in.jsonl"
    path.write_text(json.dumps({"messages": SAID}) + "\n")
    return str(path)


@pytest.mark.parametrize("name", ["messages", "openai", "native"])
def test_role_names_of_messages_are_mapped(name: str, tmp_path: Path) -> None:
    options = Options(roles=parse("human=user,bot=assistant"))
    (dialogue,) = READERS[name].read(stored(tmp_path), options)
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant", "user"]
    assert [turn.extra.get("source_role") for turn in dialogue.turns] == ["human", "bot", None]


@pytest.mark.parametrize("name", ["messages", "openai", "native"])
def test_the_star_is_for_role_names_that_are_not_known(name: str, tmp_path: Path) -> None:
    (dialogue,) = READERS[name].read(stored(tmp_path), Options(roles=parse("human=user,*=assistant")))
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant", "user"]


@pytest.mark.parametrize("name", ["messages", "openai", "native"])
def test_the_error_for_an_unknown_role_name_names_the_option(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'is "human"; .*turnwise convert --roles NAME=ROLE'):
        list(READERS[name].read(stored(tmp_path), Options()))
