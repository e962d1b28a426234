"""The chat client against real servers on this machine: good ones, bad ones, and none."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from email.message import Message
from email.utils import formatdate
from math import isnan
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judge_server import Exchange, Server, serving
from turnwise.errors import UsageError
from turnwise.llm.backoff import wait_asked
from turnwise.llm.chat import Chat, ChatError, Denied, Unanswered
from turnwise.llm.response import Completion

SECRET = "sk-3f9c-not-for-your-eyes"

LATE = 100.0  # seconds: what would wait for ever waits longer, and a busy machine needs far less


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TURNWISE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def hasty(address: str, **settings: Any) -> Chat:
    quick = {"connect": 5.0, "silence": 5.0, "deadline": 10.0, "tries": 3, "backoff": 0.01}
    return Chat(address=address, **{**quick, **settings})


def ask(chat: Chat, count: int = 1) -> list[Completion | ChatError]:
    questions = [
        {"model": "m", "messages": [{"role": "user", "content": f"question {n}"}]} for n in range(count)
    ]
    answers = chat.ask(questions, rng=np.random.default_rng(0))
    return [one._replace(seconds=0.0) if isinstance(one, Completion) else one for one in answers]


def asked(exchange: Exchange) -> str:
    return exchange.body["messages"][0]["content"]


def echo(exchange: Exchange) -> None:
    exchange.say(asked(exchange))


def failing_first(fail: Callable[[Exchange], None], times: int) -> Callable[[Exchange], None]:
    return lambda exchange: fail(exchange) if exchange.number < times else exchange.say("at last")


def only(answers: list[Completion | ChatError]) -> Completion | ChatError:
    (answer,) = answers
    return answer


def test_answers_stand_where_their_questions_stood() -> None:
    def dawdle(exchange: Exchange) -> None:
        time.sleep(0.02 * (7 - int(asked(exchange)[-1])) % 0.06)
        echo(exchange)

    with serving(dawdle) as server:
        answers = ask(hasty(server.address), 8)
    assert answers == [Completion(f"question {n}") for n in range(8)]
    assert {exchange.path for exchange in server.requests} == {"/v1/chat/completions"}


def test_no_more_requests_run_at_once_than_allowed_and_no_fewer() -> None:
    for allowed in (1, 3, 6):
        together = Barrier(allowed)

        def wait(exchange: Exchange, together: Barrier = together) -> None:
            together.wait(timeout=180)  # until as many as are allowed are here; fewer would wait in vain
            echo(exchange)

        with serving(wait) as server:
            chat = Chat(address=server.address, concurrency=allowed, silence=60, deadline=120, tries=1)
            assert ask(chat, 12) == [Completion(f"question {n}") for n in range(12)]
        assert server.most_at_once == allowed
        assert len(server.requests) == 12


def test_no_questions_need_no_server() -> None:
    assert ask(hasty("http://127.0.0.1:9"), 0) == []


def test_a_rate_limit_is_waited_out_for_as_long_as_the_server_says() -> None:
    def limited(exchange: Exchange) -> None:
        exchange.send(429, '{"error": {"message": "slow down"}}', Retry_After="0.4")

    with serving(failing_first(limited, 2)) as server:
        start = time.monotonic()
        assert only(ask(hasty(server.address))) == Completion("at last")
    assert time.monotonic() - start >= 0.8
    assert len(server.requests) == 3


def test_a_rate_limit_that_never_ends_is_given_up_after_the_tries() -> None:
    with serving(lambda exchange: exchange.send(429, '{"error": {"message": "slow down"}}')) as server:
        answer = only(ask(hasty(server.address)))
    assert isinstance(answer, Unanswered)
    assert "HTTP 429 Too Many Requests" in str(answer)
    assert "slow down" in str(answer)
    assert "tries: 3" in str(answer)
    assert len(server.requests) == 3


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    with serving(lambda exchange: exchange.send(503, "", Retry_After="3600")) as server:
        start = time.monotonic()
        answer = only(ask(hasty(server.address)))
    assert time.monotonic() - start < LATE
    assert isinstance(answer, Unanswered)
    assert "asks to wait 3600 s" in str(answer)
    assert len(server.requests) == 1


def header(value: str) -> Message:
    head = Message()
    head["Retry-After"] = value
    return head


def test_a_wait_may_be_given_as_a_date() -> None:
    assert 5.0 < wait_asked(header(formatdate(time.time() + 10, usegmt=True))) <= 10.0
    assert wait_asked(header("Wed, 21 Oct 2015 07:28:00 GMT")) == 0.0
    assert wait_asked(Message()) == 0.0


@given(
    st.text(st.characters(codec="latin-1", exclude_characters="\r\n"))
    | st.from_regex(r"[0-9.e]{1,9}", fullmatch=True)
)
def test_whatever_stands_in_retry_after_is_a_wait_or_none(value: str) -> None:
    wait = wait_asked(header(value))
    assert wait >= 0.0
    assert not isnan(wait)


def closes_at_once(exchange: Exchange) -> None:
    exchange.socket.shutdown(socket.SHUT_RDWR)


def closes_midway(exchange: Exchange) -> None:
    exchange.send(200, '{"choices": [{"message": {"conte', Content_Length="500")


def closes_in_a_chunk(exchange: Exchange) -> None:
    exchange.raw(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{"choices"')


def breaks_json(exchange: Exchange) -> None:
    exchange.send(200, '{"choices": [{"message": {"content": "VERDICT: 5"')


def speaks_another_protocol(exchange: Exchange) -> None:
    exchange.raw(b"220 mail.example.org ESMTP\r\n")


def is_down(exchange: Exchange) -> None:
    exchange.send(500, "<html>Internal Server Error</html>")


def lies(body: Any) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.send(200, json.dumps(body))


PASSING = {
    "closes at once": closes_at_once,
    "closes midway": closes_midway,
    "closes in a chunk": closes_in_a_chunk,
    "breaks json": breaks_json,
    "no json": lambda exchange: exchange.send(200, "5"),
    "nothing": lambda exchange: exchange.send(200, ""),
    "no text": lambda exchange: exchange.send(200, b"\xff\xfe\x00"),
    "no text in a text": lambda exchange: exchange.send(
        200, b'{"choices": [{"message": {"content": "\xff"}}]}'
    ),
    "a nest": lambda exchange: exchange.send(200, '{"choices": ' + "[" * 100_000),
    "an event stream": lambda exchange: exchange.send(
        200, "data: [DONE]\n\n", Content_Type="text/event-stream"
    ),
    "another schema": lies({"score": 5, "verdict": "5"}),
    "no choices": lies({"choices": []}),
    "choices of text": lies({"choices": ["5"]}),
    "a number for a text": lies({"choices": [{"message": {"content": 5}}]}),
    "an error with 200": lies({"error": {"message": "overloaded"}}),
    "another protocol": speaks_another_protocol,
    "500": is_down,
}
every_failure = pytest.mark.parametrize("fail", PASSING.values(), ids=PASSING.keys())


@every_failure
def test_what_fails_once_is_asked_again(fail: Callable[[Exchange], None]) -> None:
    with serving(failing_first(fail, 2)) as server:
        assert only(ask(hasty(server.address))) == Completion("at last")
    assert len(server.requests) == 3


@every_failure
def test_what_fails_always_is_an_error_with_its_reason_and_never_an_answer(
    fail: Callable[[Exchange], None],
) -> None:
    with serving(fail) as server:
        answer = only(ask(hasty(server.address)))
    assert isinstance(answer, Unanswered)
    assert str(answer).startswith("127.0.0.1:")
    assert "tries: 3" in str(answer)
    assert len(server.requests) == 3


def test_a_silent_server_is_left_after_the_silence_it_is_allowed() -> None:
    with serving(lambda exchange: exchange.closing.wait(10 * LATE) and None) as server:
        start = time.monotonic()
        answer = only(ask(hasty(server.address, silence=0.3)))
    assert 0.9 <= time.monotonic() - start < LATE  # three times .3 s
    assert isinstance(answer, Unanswered)
    assert "silent for 0.3 s" in str(answer)


def dripping(start: bytes) -> Callable[[Exchange], None]:
    def drip(exchange: Exchange) -> None:
        exchange.raw(start)
        while not exchange.closing.wait(0.05):
            exchange.raw(b"x")

    return drip


@pytest.mark.parametrize(
    "start",
    [
        b"HTTP/1.1 200 OK\r\nX-Slow: ",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n",
    ],
    ids=["head", "body", "body of known length"],
)
def test_a_server_that_drips_is_left_at_the_deadline(start: bytes) -> None:
    with serving(dripping(start)) as server:
        begin = time.monotonic()
        answer = only(ask(hasty(server.address, deadline=0.6)))
    assert 0.6 <= time.monotonic() - begin < LATE
    assert isinstance(answer, Unanswered)
    assert "did not finish within 0.6 s" in str(answer)


@pytest.mark.parametrize("length", ["Content-Length: 99999999999\r\n", ""], ids=["announced", "endless"])
def test_an_enormous_answer_is_not_read_to_its_end(length: str) -> None:
    sent = []

    def flood(exchange: Exchange) -> None:
        exchange.raw(f"HTTP/1.1 200 OK\r\n{length}\r\n".encode())
        while not exchange.closing.is_set():
            exchange.raw(b" " * 65536)
            sent.append(65536)

    with serving(flood) as server:
        answer = only(ask(hasty(server.address, largest=100_000, tries=1)))
    assert isinstance(answer, Unanswered)
    assert "more than 100000 bytes" in str(answer)
    assert sum(sent) < 50_000_000  # what the kernel's buffers took


def test_a_denial_ends_the_list_without_asking_the_rest() -> None:
    with serving(lambda exchange: exchange.send(401, '{"error": {"message": "bad key"}}')) as server:
        answers = ask(hasty(server.address, concurrency=2), 50)
    assert len(server.requests) <= 4
    assert all(isinstance(answer, ChatError) for answer in answers)
    assert isinstance(answers[0], Denied)
    assert "bad key" in str(answers[0])
    assert "not asked" in str(answers[-1])
    assert "bad key" in str(answers[-1])


def test_a_refused_question_is_its_own_matter() -> None:
    def picky(exchange: Exchange) -> None:
        if asked(exchange).endswith("3"):
            exchange.send(400, '{"error": {"message": "context too long"}}')
        else:
            echo(exchange)

    with serving(picky) as server:
        answers = ask(hasty(server.address), 8)
    assert [place for place, answer in enumerate(answers) if isinstance(answer, ChatError)] == [3]
    assert "context too long" in str(answers[3])
    assert len(server.requests) == 8


def test_a_redirect_is_not_followed() -> None:
    with (
        serving(echo) as elsewhere,
        serving(
            lambda exchange: exchange.send(307, "", Location=f"{elsewhere.address}/chat/completions")
        ) as server,
    ):
        answer = only(ask(hasty(server.address)))
    assert isinstance(answer, Denied)
    assert not elsewhere.requests


def test_a_server_that_is_not_there_costs_a_list_no_more_than_its_patience() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    start = time.monotonic()
    answers = ask(hasty(f"http://127.0.0.1:{port}/v1", concurrency=2, patience=4), 500)
    assert time.monotonic() - start < LATE
    assert all(isinstance(answer, Unanswered) for answer in answers)
    assert "refused" in str(answers[0])
    assert "not asked" in str(answers[-1])


def test_now_and_then_a_failure_does_not_end_the_list() -> None:
    def flaky(exchange: Exchange) -> None:
        is_down(exchange) if int(asked(exchange).split()[-1]) % 2 else echo(exchange)

    with serving(flaky) as server:
        answers = ask(hasty(server.address, concurrency=1, patience=2, tries=1), 10)
    assert [isinstance(answer, Completion) for answer in answers] == [True, False] * 5


def test_a_refusal_and_a_cut_are_seen() -> None:
    with serving(lambda exchange: exchange.say(None, refusal="I will not")) as server:
        assert only(ask(hasty(server.address))) == Completion("", refused=True)
    with serving(lambda exchange: exchange.say("VERDICT 1", finish_reason="length")) as server:
        assert only(ask(hasty(server.address))) == Completion("VERDICT 1", cut=True)


def authorization(server: Server) -> str | None:
    return server.requests[-1].headers.get("Authorization")


def test_the_key_comes_from_the_environment_and_is_sent_as_a_bearer(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(echo) as server:
        ask(hasty(server.address))
        assert authorization(server) is None
        monkeypatch.setenv("TURNWISE_API_KEY", f" {SECRET}\n")
        ask(hasty(server.address))
        assert authorization(server) == f"Bearer {SECRET}"


def test_the_key_of_another_program_is_not_sent_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with serving(echo) as server:
        ask(hasty(server.address))
    assert authorization(server) is None


def test_no_message_holds_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_API_KEY", SECRET)

    def tell(exchange: Exchange) -> None:
        exchange.send(
            500 if exchange.number < 3 else 401, f"bad header: {exchange.headers['Authorization']}\x1b[2J"
        )

    with serving(tell) as server:
        chat = hasty(server.address)
        for kind in (Unanswered, Denied):
            answer = only(ask(chat))
            assert isinstance(answer, kind)
            assert SECRET not in repr(answer) + str(answer) + repr(chat)
            assert "Bearer ***" in str(answer)
            assert str(answer).isprintable()


def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_API_KEY", f"{SECRET}\nX-Evil: 1")
    with pytest.raises(UsageError) as caught:
        ask(hasty("http://127.0.0.1:9"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "host/v1",
        "ftp://host/v1",
        "http://",
        "http://host:x/v1",
        "http://host/v 1",
        "http://[::1",
        "http://a..b/v1",
    ],
)
def test_what_is_no_address_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(UsageError, match="is not one"):
        Chat(address=address)


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    with pytest.raises(UsageError, match="TURNWISE_API_KEY") as caught:
        Chat(address=f"https://me:{SECRET}@host/v1")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("ending", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/openai/v1/chat/completions?api-version=2", "/openai/v1/chat/completions?api-version=2"),
    ],
)
def test_an_address_may_be_a_host_a_version_or_the_whole(ending: str, path: str) -> None:
    with serving(echo) as server:
        only(ask(hasty(server.address.removesuffix("/v1") + ending)))
    assert server.requests[0].path == path


def test_a_server_without_tls_is_not_spoken_to_in_the_clear_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with serving(echo) as server:
        answer = only(ask(hasty(server.address.replace("http:", "https:"), tries=1)))
    assert isinstance(answer, Unanswered)
    assert not server.requests


def test_an_interrupted_program_does_not_wait_for_a_silent_server() -> None:
    code = (
        "import sys, numpy as np; from turnwise.llm.chat import Chat; "
        "Chat(address=sys.argv[1]).ask([{}] * 3, rng=np.random.default_rng(0))"
    )
    with serving(lambda exchange: exchange.closing.wait(60) and None) as server:
        with subprocess.Popen(
            [sys.executable, "-c", code, server.address], stderr=subprocess.PIPE
        ) as program:
            while len(server.requests) < 3 and program.poll() is None:
                time.sleep(0.02)
            start = time.monotonic()
            os.kill(program.pid, signal.SIGINT)
            program.communicate()
        assert time.monotonic() - start < 30.0
        assert program.returncode != 0
