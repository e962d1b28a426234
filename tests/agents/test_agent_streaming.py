"""Agents that give their reply piece by piece: functions that yield, and servers that stream."""

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from tests.judge_server import serving
from turnwise.agents import resolve
from turnwise.errors import UsageError
from turnwise.llm.chat import ChatError
from turnwise.protocols import Streaming
from turnwise.types import Reply, Turn

TURNS = (Turn("user", "hello"),)
BOTS = """
def words(messages):
    yield "one "
    yield "two"


def decides(messages, rng):
    yield "thinking"
    return {"content": "booked", "outcome": {"reward": 0.5}}


def plain(messages):
    return "at once"


def wrong(messages):
    yield 1


def nothing(messages):
    return
    yield
"""


@pytest.fixture
def bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "streaming_bots.py").write_text(BOTS)
    monkeypatch.syspath_prepend(tmp_path)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "pieces", "reply"),
    [
        ("words", ["one ", "two"], Reply("one two")),
        ("decides", ["thinking", Reply("booked", {"reward": 0.5})], Reply("booked", {"reward": 0.5})),
        ("plain", [Reply("at once")], Reply("at once")),
        ("nothing", [], Reply("")),
    ],
)
def test_a_function_may_yield_its_reply(bots, name, pieces, reply):
    agent = resolve(f"streaming_bots:{name}")
    assert isinstance(agent, Streaming)
    assert list(agent.stream(TURNS, rng())) == pieces
    assert agent(TURNS, rng()) == reply


def test_a_piece_that_is_no_string_is_an_error(bots):
    with pytest.raises(UsageError, match="yielded 1; expected strings"):
        resolve("streaming_bots:wrong")(TURNS, rng())


def chunk(text: str | None) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def test_a_server_that_streams_is_read_piece_by_piece():
    with serving(
        lambda request: request.raw(
            HEAD
            + b": comment\n\n"
            + chunk("Hel")
            + chunk(None)
            + chunk("lo")
            + b'data: {"choices": []}\n\ndata: [DONE]\n\n'
        )
    ) as server:
        agent = resolve(server.address, model="tiny")
        assert list(agent.stream(TURNS, rng())) == ["Hel", "lo"]
        assert server.requests[0].body["stream"] is True


def test_a_server_that_does_not_stream_gives_one_piece():
    with serving(lambda request: request.say("all at once")) as server:
        assert list(resolve(server.address, model="tiny").stream(TURNS, rng())) == ["all at once"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (HEAD + chunk("Hel"), "the stream ended before its end mark"),
        (HEAD + b"data: nonsense\n\n", "JSON is malformed"),
        (b"HTTP/1.1 500 X\r\nContent-Length: 4\r\nConnection: close\r\n\r\noops", "HTTP 500: oops"),
    ],
)
def test_a_stream_that_breaks_is_an_error(answer, words):
    with serving(lambda request: request.raw(answer)) as server:
        agent = resolve(server.address, model="tiny")
        with pytest.raises(ChatError, match=words):
            list(agent.stream(TURNS, rng()))


def test_no_server_is_an_error():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        agent = resolve(f"http://127.0.0.1:{free.getsockname()[1]}/v1", model="tiny")
        with pytest.raises(ChatError):
            list(agent.stream(TURNS, rng()))
