"""Agents behind an address: what is sent, what comes back, what is tried again."""

import numpy as np
import pytest

from tests.judge_server import Exchange, serving
from turnwise.agents import resolve
from turnwise.agents.calling import NoReply, ReplyRequest
from turnwise.errors import UsageError
from turnwise.llm.chat import Denied
from turnwise.types import Turn


def asked(count: int) -> list[ReplyRequest]:
    extra = {"tool_call_id": "c1", "private": 1}
    return [ReplyRequest((Turn("user", f"question {index}", extra=extra),), index) for index in range(count)]


def test_replies_are_in_the_order_of_the_requests():
    def behave(exchange: Exchange) -> None:
        exchange.say("re: " + exchange.body["messages"][-1]["content"])

    with serving(behave) as server:
        agent = resolve(server.address, model="m", longest=9, temperature=0.5, system="Be kind.")
        answers = agent.replies(asked(5))
        body = server.requests[0].body
    assert [reply.content for reply in answers] == [f"re: question {index}" for index in range(5)]
    assert body["messages"][0] == {"role": "system", "content": "Be kind."}
    assert set(body["messages"][1]) == {"role", "content", "tool_call_id"}, "servers reject unknown keys"
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m", 9, 0.5)
    assert {request.body["seed"] for request in server.requests} == set(range(5))


def test_a_temporary_server_error_is_retried():
    def behave(exchange: Exchange) -> None:
        if exchange.number == 0:
            exchange.send(503, "busy")
        else:
            exchange.say("well")

    with serving(behave) as server:
        agent = resolve(server.address, model="m", concurrency=1)
        assert agent((Turn("user", "hi"),), np.random.default_rng(0)).content == "well"
        assert len(server.requests) == 2


def test_one_rejected_request_does_not_affect_the_others():
    def behave(exchange: Exchange) -> None:
        if exchange.body["messages"][-1]["content"] == "question 1":
            exchange.send(422, "too odd")
        else:
            exchange.say("ok")

    with serving(behave) as server:
        answers = resolve(server.address, model="m").replies(asked(3))
    assert [isinstance(answer, NoReply) for answer in answers] == [False, True, False]
    assert "HTTP 422" in str(answers[1])


def test_a_wrong_key_stops_all_requests():
    with serving(lambda exchange: exchange.send(401, "who are you")) as server:
        with pytest.raises(Denied, match="HTTP 401"):
            resolve(server.address, model="m", concurrency=1).replies(asked(9))
        assert len(server.requests) == 1


def test_an_address_without_a_model_is_an_error():
    with pytest.raises(UsageError, match="--set model=NAME"):
        resolve("http://127.0.0.1:1/v1")
