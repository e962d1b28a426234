"""Answers of real servers that are no plain completion: streams, refusals, moderation, contexts that are too long."""

import json
import time
from email.message import Message
from typing import Any

import numpy as np
import pytest

from tests.judge_server import Exchange, serving
from turnwise.llm.backoff import wait_asked
from turnwise.llm.chat import Chat, ChatError, Denied, TooLong
from turnwise.llm.response import Completion

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def ask(address: str, count: int = 1, **settings: Any) -> list[Completion | ChatError]:
    chat = Chat(address=address, deadline=10.0, tries=3, backoff=0.01, **settings)
    return chat.ask([BODY] * count, rng=np.random.default_rng(0))


def events(*choices: dict[str, Any], usage: dict[str, int] | None = None) -> str:
    lines = [json.dumps({"choices": [one]}) for one in choices]
    lines += [json.dumps({"choices": [], "usage": usage})] if usage else []
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])


def test_a_stream_that_was_not_asked_for_is_read() -> None:
    parts = [{"delta": {"content": text}} for text in ("VERDICT ", "c0de", ": 4")]
    stream = events(
        *parts, {"delta": {}, "finish_reason": "stop"}, usage={"prompt_tokens": 9, "completion_tokens": 3}
    )
    with serving(lambda exchange: exchange.send(200, stream, Content_Type="text/event-stream")) as server:
        (answer,) = ask(server.address)
    assert isinstance(answer, Completion)
    assert (answer.text, answer.tokens_in, answer.tokens_out, answer.cut) == ("VERDICT c0de: 4", 9, 3, False)


@pytest.mark.parametrize(
    "complaint",
    [
        "stream must be set to true",
        "This model only supports streaming.",
        "Non-streaming is off: use stream=true",
    ],
)
def test_a_server_that_only_streams_is_asked_for_a_stream(complaint: str) -> None:
    def behave(exchange: Exchange) -> None:
        if not exchange.body.get("stream"):
            exchange.send(400, json.dumps({"error": {"message": complaint}}))
        else:
            exchange.send(200, events({"delta": {"content": "yes"}}), Content_Type="text/event-stream")

    with serving(behave) as server:
        (answer,) = ask(server.address)
    assert isinstance(answer, Completion)
    assert answer.text == "yes"
    assert len(server.requests) == 2


def test_a_stream_that_breaks_off_is_no_answer() -> None:
    broken = events({"delta": {"content": "VERDICT c0de: 1"}}).replace("data: [DONE]\n\n", "")
    with serving(lambda exchange: exchange.send(200, broken, Content_Type="text/event-stream")) as server:
        (answer,) = ask(server.address)
    assert isinstance(answer, ChatError)
    assert "the stream ended before its end mark" in str(answer)


@pytest.mark.parametrize("finish", ["content_filter", "refusal", "SAFETY"])
def test_a_moderated_answer_is_a_refusal(finish: str) -> None:
    with serving(lambda exchange: exchange.say("VERDICT c0de: 4", finish_reason=finish)) as server:
        (answer,) = ask(server.address)
    assert isinstance(answer, Completion)
    assert answer.refused


def test_a_moderated_question_is_a_refusal() -> None:
    words = json.dumps(
        {"error": {"code": "content_filter", "message": "The prompt triggered our content management policy"}}
    )
    with serving(lambda exchange: exchange.send(400, words)) as server:
        (answer,) = ask(server.address)
    assert answer == Completion("", refused=True, seconds=answer.seconds)  # type: ignore[union-attr]
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            400,
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        ),
        (400, '{"error": {"code": "context_length_exceeded"}}'),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."),
        (400, "the request exceeds the available context size, try increasing it"),
        (413, "Request Entity Too Large"),
    ],
)
def test_a_question_that_is_too_long_is_said_to_be(status: int, message: str) -> None:
    with serving(lambda exchange: exchange.send(status, message)) as server:
        (answer,) = ask(server.address)
    assert isinstance(answer, TooLong)
    assert "too long for the model" in str(answer)
    assert len(server.requests) == 1


def test_another_bad_request_is_neither_too_long_nor_a_refusal() -> None:
    with serving(lambda exchange: exchange.send(400, "unknown parameter: seed")) as server:
        (answer,) = ask(server.address)
    assert type(answer) is ChatError


def head(**lines: str) -> Message:
    message = Message()
    for name, value in lines.items():
        message[name.replace("_", "-")] = value
    return message


def test_a_wait_is_read_from_the_headers_of_each_server() -> None:
    assert wait_asked(head(retry_after_ms="1500", Retry_After="9")) == 1.5
    assert wait_asked(head(x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests="1m30.5s")) == 90.5
    assert wait_asked(
        head(x_ratelimit_remaining_tokens="0", x_ratelimit_reset_tokens="120ms")
    ) == pytest.approx(0.12)
    assert wait_asked(head(x_ratelimit_remaining_requests="3", x_ratelimit_reset_requests="1m")) == 0.0
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 20))
    assert 15 < wait_asked(
        head(anthropic_ratelimit_requests_remaining="0", anthropic_ratelimit_requests_reset=soon)
    ) <= 20  # fmt: skip
    assert (
        wait_asked(
            head(retry_after_ms="nan", x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests="x")
        )
        == 0.0
    )


def test_no_question_is_sent_while_the_server_asks_to_wait() -> None:
    sent: list[float] = []

    def behave(exchange: Exchange) -> None:
        sent.append(time.monotonic())
        if exchange.number == 0:
            exchange.send(429, "slow down", retry_after_ms="400")
        else:
            exchange.say("yes")

    with serving(behave) as server:
        answers = ask(server.address, 6, concurrency=1)
    assert all(isinstance(one, Completion) for one in answers)
    assert min(sent[1:]) - sent[0] >= 0.4


def test_a_meter_ends_the_batch() -> None:
    class Three:
        """Allows three answers."""

        left = 3

        def check(self) -> None:
            if self.left <= 0:
                raise Denied("that is enough")

        def add(self, body: bytes, answer: Completion) -> None:
            self.left -= 1

    with serving(lambda exchange: exchange.say("yes")) as server:
        chat = Chat(address=server.address, concurrency=1)
        answers = chat.ask([BODY] * 6, rng=np.random.default_rng(0), meter=Three())
    assert [isinstance(one, Completion) for one in answers] == [True] * 3 + [False] * 3
    assert len(server.requests) == 3
    assert "that is enough" in str(answers[-1])


def test_the_key_may_be_in_another_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    with serving(lambda exchange: exchange.say("yes")) as server:
        ask(server.address, key="OTHER_KEY")
    assert server.requests[0].headers["Authorization"] == "Bearer sk-other"
