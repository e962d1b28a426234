"""Agents that are called point by point: order, chance, silence, errors."""

from threading import Barrier, Event

import numpy as np
import pytest

from turnwise.agents.answering import Asked, NoReply, Patience
from turnwise.agents.own import own
from turnwise.errors import UsageError
from turnwise.types import Reply, Turn


def points(count: int) -> list[Asked]:
    return [Asked((Turn("user", str(number)),), number) for number in range(count)]


def echo(turns, rng):
    return Reply(f"{turns[-1].text} {rng.integers(1000)}")


def test_replies_come_in_the_order_of_the_points_whoever_is_first():
    later = Event()

    def agent(turns, rng):
        if turns[-1].text == "0":
            later.wait(60)
        elif turns[-1].text == "3":
            later.set()
        return echo(turns, rng)

    together = Patience(concurrency=4).ask(agent, points(6))
    assert together == Patience(concurrency=1).ask(echo, points(6))


def test_as_many_calls_run_at_once_as_were_allowed_and_no_more():
    barrier, running, most = Barrier(3, timeout=60), [0], [0]

    def agent(turns, rng):
        running[0] += 1
        most[0] = max(most[0], running[0])
        barrier.wait()  # breaks unless three are there together
        running[0] -= 1
        return Reply("yes")

    assert Patience(concurrency=3).ask(agent, points(6)) == [Reply("yes")] * 6
    assert most[0] == 3


def test_a_call_that_hangs_is_given_up_and_the_others_are_answered():
    never = Event()

    def agent(turns, rng):
        if turns[-1].text == "1":
            never.wait(30)
        return Reply("here")

    answers = Patience(timeout=0.3).ask(agent, points(3))
    never.set()
    assert [answers[0], answers[2]] == [Reply("here")] * 2
    assert isinstance(answers[1], NoReply)
    assert "within 0.3 s" in str(answers[1])


def test_an_agent_that_raises_once_is_called_again_with_the_same_chance():
    seen = []

    def agent(turns, rng):
        seen.append(rng.integers(10**9))
        if len(seen) == 1:
            raise OSError("gone")
        return Reply("back")

    assert Patience(tries=2).ask(agent, points(1)) == [Reply("back")]
    assert seen[0] == seen[1]


def test_an_agent_that_goes_on_raising_is_reported_where_it_happened():
    def agent(turns, rng):
        if turns[-1].text == "1":
            raise ValueError("no such thing")
        return Reply("fine")

    first, second = Patience(tries=3).ask(agent, points(2))
    assert first == Reply("fine")
    assert str(second) == "raised ValueError: no such thing (3 calls)"


@pytest.fixture
def function(tmp_path, monkeypatch):
    """Writes a module with an agent and returns the agent."""
    monkeypatch.chdir(tmp_path)
    count = iter(range(100))

    def made(body: str, signature: str = "messages"):
        name = f"own_agent_{tmp_path.name.replace('-', '_')}_{next(count)}"
        (tmp_path / f"{name}.py").write_text(f"def reply({signature}):\n    {body}\n")
        return own(f"{name}:reply")

    return made


def test_a_function_gets_messages_with_what_else_was_logged(function):
    agent = function("return repr(messages)")
    turns = (Turn("assistant", None, extra={"tool_calls": [1]}), Turn("user", "hi"))
    said = agent(turns, np.random.default_rng(0)).content
    expected = [
        {"role": "assistant", "content": None, "tool_calls": [1]},
        {"role": "user", "content": "hi"},
    ]
    assert said == repr(expected)


def test_a_function_with_an_rng_can_be_had_again(function):
    agent = function("return str(rng.integers(10**9))", "messages, rng")
    said = [agent((), np.random.default_rng(seed)).content for seed in (1, 1, 2)]
    assert said[0] == said[1] != said[2]


def test_what_numpy_draws_is_a_string(function):
    agent = function("return rng.choice(['one', 'two'])", "messages, rng")
    assert type(agent((), np.random.default_rng(0)).content) is str


def test_a_reply_may_carry_an_outcome(function):
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
def test_what_is_no_reply_is_named_and_not_asked_for_again(function, returned, said):
    agent = function(f"return {returned}")
    (answer,) = Patience(tries=3).ask(agent, points(1))
    assert isinstance(answer, NoReply)
    assert said in str(answer)


def test_a_module_or_function_that_is_not_there_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="cannot import the agent `nowhere_at_all:f`"):
        own("nowhere_at_all:f")
    with pytest.raises(UsageError, match="has no function `nothing`"):
        own("json:nothing")
