"""A key in `.env`: found by its name alone, after the environment, and never shown."""

from pathlib import Path

import numpy as np
import pytest

from tests.judge_server import Exchange, serving
from turnwise.errors import UsageError
from turnwise.llm.chat import Chat, Completion
from turnwise.llm.dotenv import named_key

SECRET = "sk-3f9c-not-for-your-eyes"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("A_KEY", "TURNWISE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A_KEY=one\n", "one"),
        ("export A_KEY = one\r\nB_KEY=two", "one"),
        ("A_KEY='one # two' # three", "one # two"),
        ('A_KEY="one"', "one"),
        ("A_KEY=one # the key", "one"),
        ("A_KEY=one#two", "one#two"),
        ("A_KEY=one\nA_KEY=two", "two"),
        ("# A_KEY=one\nMY_A_KEY=two\nA_KEY", ""),
        ("A_KEY=", ""),
        ("\ufeffA_KEY=one", "one"),
        ("A_KEY='one", "'one"),
    ],
)
def test_the_forms_of_a_line(folder: Path, text: str, expected: str) -> None:
    (folder / ".env").write_text(text, encoding="utf-8")
    assert named_key("A_KEY") == expected


def test_the_environment_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("A_KEY=one")
    monkeypatch.setenv("A_KEY", "two")
    assert named_key("A_KEY") == "two"


def test_without_a_file_there_is_none(folder: Path) -> None:
    assert named_key("A_KEY") == ""
    (folder / "inner").mkdir()
    (folder / "inner" / ".env").write_text("A_KEY=one")
    assert named_key("A_KEY") == ""


def test_a_file_that_cannot_be_read_is_named_and_not_shown(folder: Path) -> None:
    (folder / ".env").write_bytes(f"A_KEY={SECRET}\xff".encode("latin-1"))
    with pytest.raises(UsageError, match=r"^\.env: cannot be read for A_KEY: it is not UTF-8$"):
        named_key("A_KEY")


def sent(folder: Path, name: str) -> str | None:
    """The header with the key in a request of a client whose key is in the variable `name`."""

    def answer(exchange: Exchange) -> None:
        exchange.say("hello")

    (folder / ".env").write_text(f"A_KEY={SECRET}\nTURNWISE_API_KEY={SECRET}\nOPENAI_API_KEY={SECRET}\n")
    with serving(answer) as server:
        (said,) = Chat(address=server.address, key=name).ask([{}], rng=np.random.default_rng(0))
    assert isinstance(said, Completion)
    return server.requests[0].headers.get("Authorization")


def test_a_variable_that_is_named_is_sent(folder: Path) -> None:
    assert sent(folder, "A_KEY") == f"Bearer {SECRET}"


def test_no_variable_is_read_that_nobody_named(folder: Path) -> None:
    assert sent(folder, "") is None


def test_a_key_that_is_nowhere_is_a_usage_error(folder: Path) -> None:
    (folder / ".env").write_text(f"OTHER={SECRET}")
    with pytest.raises(
        UsageError, match=r"neither the environment nor \.env in this folder has a key A_KEY"
    ) as error:
        Chat(address="http://127.0.0.1:9", key="A_KEY").ask([{}], rng=np.random.default_rng(0))
    assert SECRET not in str(error.value)
