"""--roles gives roles to the role names of messages, and must name speakers that are there."""

import json
from pathlib import Path

import polars
import pytest

from turnwise.errors import DataError, UsageError
from turnwise.logs.conversion import convert
from turnwise.logs.readers import READERS
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


TABLE = "id,role,content\n1,ann,hi\n1,SpotifyCares,hello\n"
CHATLOG = {"dialog": [[{"id": "ann", "text": "hi"}, {"id": "SpotifyCares", "text": "hello"}]]}
SHARED = {"conversations": [{"from": "ann", "value": "hi"}, {"from": "SpotifyCares", "value": "hello"}]}
NAMED = {"messages": [{"role": "ann", "content": "hi"}, {"role": "SpotifyCares", "content": "hello"}]}
WHATSAPP = "31.12.24, 09:15 - ann: hi\n31.12.24, 09:16 - SpotifyCares: hello\n"
FILES = {
    "csv": TABLE,
    "parlai": json.dumps(CHATLOG) + "\n",
    "sharegpt": json.dumps(SHARED) + "\n",
    "openai": json.dumps(NAMED) + "\n",
    "messages": json.dumps(NAMED) + "\n",
    "native": json.dumps(NAMED) + "\n",
    "whatsapp": WHATSAPP,
}


def converted(folder: Path, name: str, roles: str) -> tuple[list[str], tuple[str, ...]]:
    """The roles of the messages, and the notes."""
    (folder / "in").write_text(FILES[name])
    done = convert(name, str(folder / "in"), str(folder / "out.jsonl"), Options(roles=parse(roles)))
    (line,) = (folder / "out.jsonl").read_text().splitlines()
    return [one["role"] for one in json.loads(line)["messages"]], done.notes


@pytest.mark.parametrize("name", FILES)
def test_an_agent_that_nobody_is_called_is_an_error_that_names_the_speakers(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(
        UsageError, match=r"--roles names `Spotify`, and no such speaker is there; there are .*`ann`"
    ):
        converted(tmp_path, name, "Spotify=assistant,*=user")
    assert not (tmp_path / "out.jsonl").exists()
    assert converted(tmp_path, name, "SpotifyCares=assistant,*=user") == (["user", "assistant"], ())


@pytest.mark.parametrize("name", FILES)
def test_another_name_that_nobody_has_is_noted(name: str, tmp_path: Path) -> None:
    roles, notes = converted(tmp_path, name, "SpotifyCares=assistant,anne=system,*=user")
    assert roles == ["user", "assistant"]
    (note,) = notes
    assert note.startswith("--roles names `anne`, and no such speaker is there; there are ")


def test_a_format_that_says_itself_who_speaks_takes_no_roles(tmp_path: Path) -> None:
    contents = [{"role": "user", "parts": [{"text": "hi"}]}]
    (tmp_path / "in.json").write_text(json.dumps({"contents": contents}))
    with pytest.raises(
        UsageError, match="--roles names `Bot`, and no such speaker is there; there are `user`"
    ):
        convert(
            "gemini", str(tmp_path / "in.json"), str(tmp_path / "out"), Options(roles=parse("Bot=assistant"))
        )


def test_the_star_alone_names_nobody(tmp_path: Path) -> None:
    assert converted(tmp_path, "csv", "*=user") == (["user", "user"], ())


def test_a_column_of_messages_in_parquet_takes_roles(tmp_path: Path) -> None:
    polars.DataFrame([NAMED]).write_parquet(tmp_path / "in.parquet")
    options = Options(roles=parse("SpotifyCares=assistant,*=user"))
    (dialogue,) = READERS["parquet"].read(str(tmp_path / "in.parquet"), options)
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant"]
