"""Agents that take one request at a time: order, seeds, timeouts, errors."""

from threading import Barrier, Event

import numpy as np
import pytest

from turnwise.agents.calling import CallLimits, NoReply, ReplyRequest
from turnwise.agents.function import function_agent
from turnwise.errors import UsageError
from turnwise.types import Reply, Turn


def points(count: int) -> list[ReplyRequest]:
    return [ReplyRequest((Turn("user", str(number)),), number) for number in range(count)]


def echo(turns, rng):
    return Reply(f"{turns[-1].text} {rng.integers(1000)}")


def test_replies_are_in_the_order_of_the_requests():
    later = Event()

    def agent(turns, rng):
        if turns[-1].text == "0":
            later.wait(60)
        elif turns[-1].text == "3":
            later.set()
        return echo(turns, rng)

    together = CallLimits(concurrency=4).ask(agent, points(6))
    assert together == CallLimits(concurrency=1).ask(echo, points(6))


def test_the_number_of_concurrent_calls_is_the_allowed_one():
    barrier, running, most = Barrier(3, timeout=60), [0], [0]

    def agent(turns, rng):
        running[0] += 1
        most[0] = max(most[0], running[0])
        barrier.wait()  # breaks unless three are there together
        running[0] -= 1
        return Reply("yes")

    assert CallLimits(concurrency=3).ask(agent, points(6)) == [Reply("yes")] * 6
    assert most[0] == 3


def test_a_call_that_hangs_is_abandoned_and_the_others_get_replies():
    never = Event()

    def agent(turns, rng):
        if turns[-1].text == "1":
            never.wait(300)
        return Reply("here")

    answers = CallLimits(timeout=3).ask(agent, points(3))  # the others need less on a busy machine too
    never.set()
    assert [answers[0], answers[2]] == [Reply("here")] * 2
    assert isinstance(answers[1], NoReply)
    assert "within 3 s" in str(answers[1])


def test_an_agent_that_raises_once_is_called_again_with_the_same_seed():
    seen = []

    def agent(turns, rng):
        seen.append(rng.integers(10**9))
        if len(seen) == 1:
            raise OSError("gone")
        return Reply("back")

    assert CallLimits(tries=2).ask(agent, points(1)) == [Reply("back")]
    assert seen[0] == seen[1]


def test_an_agent_that_always_raises_is_reported_for_its_request():
    def agent(turns, rng):
        if turns[-1].text == "1":
            raise ValueError("no such thing")
        return Reply("fine")

    first, second = CallLimits(tries=3).ask(agent, points(2))
    assert first == Reply("fine")
    line = agent.__code__.co_firstlineno + 2
    assert str(second) == f"raised ValueError: no such thing (test_agent_calling.py:{line}) (3 calls)"


@pytest.fixture
def function(tmp_path, monkeypatch):
    """Writes a module with an agent and returns the agent."""
    monkeypatch.chdir(tmp_path)
    count = iter(range(100))

    def made(body: str, signature: str = "messages"):
        name = f"own_agent_{tmp_path.name.replace('-', '_')}_{next(count)}"
        (tmp_path / f"{name}.py").write_text(f"def reply({signature}):\n    {body}\n")
        return function_agent(f"{name}:reply")

    return made


def test_a_function_gets_messages_with_all_logged_keys(function):
    agent = function("return repr(messages)")
    turns = (Turn("assistant", None, extra={"tool_calls": [1]}), Turn("user", "hi"))
    said = agent(turns, np.random.default_rng(0)).content
    expected = [
        {"role": "assistant", "content": None, "tool_calls": [1]},
        {"role": "user", "content": "hi"},
    ]
    assert said == repr(expected)


def test_a_function_with_an_rng_is_reproducible(function):
    agent = function("return str(rng.integers(10**9))", "messages, rng")
    said = [agent((), np.random.default_rng(seed)).content for seed in (1, 1, 2)]
    assert said[0] == said[1] != said[2]


def test_a_numpy_string_becomes_a_string(function):
    agent = function("return rng.choice(['one', 'two'])", "messages, rng")
    assert type(agent((), np.random.default_rng(0)).content) is str


def test_a_reply_may_have_an_outcome(function):
    agent = function("return {'content': 'booked', 'outcome': {'reward': 1}, 'relabelled': {'reward': 0.5}}")
    assert agent((), np.random.default_rng(0)) == Reply("booked", {"reward": 1.0}, {"reward": 0.5})


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("None", "returned None"),
        ("7", "returned 7"),
        ("{'content': 7}", "returned 7 as `content`"),
        ("{'text': 'x'}", "an object with `text`"),
        (
            "{'content': 'x', 'outcome': {'a': float('nan')}}",
            "as `outcome`; expected an object of finite numbers",
        ),
    ],
)
def test_an_invalid_return_value_is_reported_without_another_try(function, returned, said):
    agent = function(f"return {returned}")
    (answer,) = CallLimits(tries=3).ask(agent, points(1))
    assert isinstance(answer, NoReply)
    assert said in str(answer)


def test_a_missing_module_or_function_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="cannot import the agent `nowhere_at_all:f`"):
        function_agent("nowhere_at_all:f")
    with pytest.raises(UsageError, match="has no function `nothing`"):
        function_agent("json:nothing")
