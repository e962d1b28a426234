"""Agents that hold conversations: with state, with tools, async, and behind any HTTP address."""

import json
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tests.judge_server import Exchange, serving
from turnwise.agents import is_served, resolve
from turnwise.agents.calling import CallLimits, NoReply, ReplyRequest
from turnwise.agents.conversing import AgentReply, Conversation
from turnwise.errors import UsageError
from turnwise.types import Turn

USER = (Turn("user", "Where is order W12?"),)
FIND = {"type": "function", "function": {"name": "find", "description": "", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"order": "W12"}'}}

BOTS = """
    import asyncio

    def counts(messages, state, session, tools):
        state["n"] = state.get("n", 0) + 1
        return f"{session} {state['n']} {[tool['function']['name'] for tool in tools]}"

    class Remembers:
        def __init__(self):
            self.heard = []
        def __call__(self, messages):
            self.heard.append(messages[-1]["content"])
            return " / ".join(self.heard)

    async def waits(messages):
        await asyncio.sleep(0.01)
        return "I waited."

    def calls(messages):
        return {"content": None, "tool_calls": [CALL], "cost": 0.25}

    def ran_it_itself(messages):
        return [
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "sent"},
            {"role": "assistant", "content": "It was sent."},
        ]

    def ends_with_a_tool(messages):
        return [{"role": "tool", "content": "sent"}]

    def breaks(messages):
        raise ConnectionError("gone")

    def calls_badly(messages):
        return {"tool_calls": ["find"]}
"""


@pytest.fixture
def bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"bots_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(f"CALL = {CALL!r}\n" + textwrap.dedent(BOTS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


def said(agent, turns=USER):
    return agent(turns, np.random.default_rng(0))


def test_each_conversation_has_its_own_state_and_is_told_its_session_and_tools(bots: str):
    agent = resolve(f"{bots}:counts")
    first, second = agent.begin(Conversation("one", (FIND,))), agent.begin(Conversation("two"))
    assert [said(first).content, said(first).content] == ["one 1 ['find']", "one 2 ['find']"]
    assert said(second).content == "two 1 []"
    assert said(agent).content == said(agent).content == " 1 []", "without a conversation nothing is kept"


def test_a_class_is_made_once_for_each_conversation(bots: str):
    agent = resolve(f"{bots}:Remembers")
    first, second = agent.begin(Conversation("one")), agent.begin(Conversation("two"))
    said(first)
    assert said(first, (Turn("user", "Hello?"),)).content == "Where is order W12? / Hello?"
    assert said(second).content == "Where is order W12?"


def test_an_async_function_is_awaited_and_may_be_called_concurrently(bots: str):
    agent = resolve(f"{bots}:waits")
    assert said(agent).content == "I waited."
    assert agent.concurrent
    assert not resolve(f"{bots}:calls").concurrent


def test_a_function_may_ask_for_tool_calls_or_return_the_messages_of_those_it_ran(bots: str):
    reply = said(resolve(f"{bots}:calls"))
    assert isinstance(reply, AgentReply)
    assert (reply.content, reply.tool_calls, reply.cost) == ("", (CALL,), 0.25)
    ran = said(resolve(f"{bots}:ran_it_itself"))
    assert (ran.content, [step.role for step in ran.steps]) == ("It was sent.", ["assistant", "tool"])
    assert ran.steps[0].tool_calls == (CALL,)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("ends_with_a_tool", "whose last one is no reply"),
        ("calls_badly", "as a tool call; expected a list of"),
    ],
)
def test_what_is_no_reply_is_named(bots: str, name: str, complaint: str):
    with pytest.raises(UsageError, match=complaint):
        said(resolve(f"{bots}:{name}"))


def test_a_lost_connection_is_a_failure_of_the_infrastructure_and_an_error_is_not(bots: str):
    limits = CallLimits(tries=1)
    (lost,) = limits.ask(resolve(f"{bots}:breaks"), [ReplyRequest(USER, 0)])
    (wrong,) = limits.ask(resolve(f"{bots}:ends_with_a_tool"), [ReplyRequest(USER, 0)])
    assert isinstance(lost, NoReply)
    assert isinstance(wrong, NoReply)
    assert (lost.infrastructure, wrong.infrastructure) == (True, False)


def test_a_model_behind_an_address_is_sent_the_tools_and_its_calls_come_back():
    def behave(exchange: Exchange) -> None:
        exchange.say(None, tool_calls=[CALL])

    with serving(behave) as server:
        agent = resolve(server.address, model="m").begin(Conversation("s", (FIND,)))
        reply = said(agent)
        assert server.requests[0].body["tools"] == [FIND]
    assert (reply.content, list(reply.tool_calls)) == ("", [CALL])


TEMPLATE = """
url = "{address}/chat/{{{{session}}}}"
reply = "output.0.text"
headers = {{ Authorization = "Bearer ${{BOT_KEY}}" }}
body = {{ text = "{{{{message}}}}", all = "{{{{messages}}}}", more = ["{{{{seed}}}} times"] }}
"""


def write_template(folder: Path, address: str) -> str:
    (folder / "bot.toml").write_text(TEMPLATE.format(address=address))
    return str(folder / "bot.toml")


def test_an_http_address_is_asked_as_its_template_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BOT_KEY", "secret")

    def behave(exchange: Exchange) -> None:
        if exchange.number == 0:
            exchange.send(200, "<html>")
        else:
            exchange.send(200, json.dumps({"output": [{"text": "It was sent."}]}))

    with serving(behave) as server:
        agent = resolve(write_template(tmp_path, server.address)).begin(Conversation("a b"))
        reply = said(agent, (*USER, Turn("assistant", "Hm."), Turn("user", "${HOME} {{seed}}")))
        request = server.requests[1]
    assert reply.content == "It was sent."
    assert (request.path, request.headers["Authorization"]) == ("/v1/chat/a%20b", "Bearer secret")
    assert request.body["text"] == "${HOME} {{seed}}", "what is said is no template"
    assert [message["role"] for message in request.body["all"]] == ["user", "assistant", "user"]
    assert "secret" not in str(agent.signature)


def test_an_http_address_that_rejects_a_request_is_not_asked_again_and_one_that_is_down_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BOT_KEY", "secret")
    for status, requests, infrastructure in ((422, 1, False), (503, 2, True)):
        with serving(lambda exchange, status=status: exchange.send(status, "no")) as server:
            agent = resolve(write_template(tmp_path, server.address), tries=2)
            (answer,) = agent.replies([ReplyRequest(USER, 0)])
            assert len(server.requests) == requests
        assert isinstance(answer, NoReply)
        assert answer.infrastructure is infrastructure
        assert f"HTTP {status}" in str(answer)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('url = "ftp://x"', "expected http"),
        ('url = "http://x/{{sesion}}"', "there is no {{sesion}}; there are message"),
        ('url = "http://x"\nreplies = "a"', "unknown field `replies`"),
        ("url = ", "describes no agent"),
    ],
)
def test_a_mistake_in_a_template_is_named_before_anything_is_sent(tmp_path: Path, text: str, complaint: str):
    (tmp_path / "bot.toml").write_text(text)
    with pytest.raises(UsageError) as error:
        resolve(str(tmp_path / "bot.toml"))
    assert complaint in str(error.value)


def test_a_variable_that_is_not_set_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BOT_KEY", raising=False)
    with pytest.raises(UsageError, match="the environment variable BOT_KEY is not set"):
        resolve(write_template(tmp_path, "http://127.0.0.1:1")).replies([ReplyRequest(USER, 0)])


def test_a_provider_and_a_model_name_an_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OLLAMA_HOST", "box:1234")
    openai, ollama = resolve("openai/gpt-4o", temperature=0), resolve("ollama/llama3.2:1b")
    assert (openai.chat.address, openai.model, openai.chat.key) == (
        "http://127.0.0.1:9/v1",
        "gpt-4o",
        "OPENAI_API_KEY",
    )
    assert (ollama.chat.address, ollama.model, ollama.chat.key) == ("http://box:1234/v1", "llama3.2:1b", "")
    assert is_served("groq/llama-3.3-70b-versatile")
    assert not is_served("microsoft/DialoGPT-small")
    assert not is_served("openai")
