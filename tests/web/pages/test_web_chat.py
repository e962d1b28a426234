"""Live dialogues with agents: functions, addresses, failures; on both databases."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.judge_server import serving
from tests.studies import Starting, exported
from turnwise.agents import resolve
from turnwise.types import Dialogue, Reply, Turn


def talkative(turns, rng):
    asked = sum(turn.role == "user" for turn in turns)
    return Reply("done", {"reward": 0.5}) if asked == 2 else Reply(f"you said {turns[-1].content}")


def broken(turns, rng):
    raise OSError("secret path")


def goals() -> list:
    goal = {"name": "Virginia Taylor", "trip": {"from": "HOU", "to": "DFW"}}
    return [Dialogue(f"goal-{k}", "none", (Turn("system", "sell tickets"),), goal=goal) for k in range(2)]


def test_a_live_dialogue_ends_with_scores_and_is_exported_with_its_goal_and_agent(start: Starting):
    chat = {"templates": ["My name is {name}", "From {trip.from} to {trip.to}", "I like {nothing}"]}
    study = start(goals(), mode="chat", per_task=1, agents={"x": talkative, "y": talkative}, chat=chat)
    visitor = study.visitor()
    visitor.send()
    assert "Virginia Taylor" in visitor.text
    assert [value for _, value in visitor.forms[0].buttons] == [
        "My name is Virginia Taylor",
        "From HOU to DFW",
    ]
    for _ in range(4):
        visitor.send({"text": "hello <b>"}, form="say")
        assert "you said hello <b>" in visitor.text
        visitor.again()  # a double click
        visitor.look().send({"template": "From HOU to DFW"}, form="say")
        assert "reward" in visitor.text
        visitor.send({"q0": "1", "q1": "4"})
    records = exported(study.admin())
    assert Counter(one["agent"] for one in records) == {"x": 2, "y": 2}
    assert [m["content"] for m in records[0]["messages"]] == [
        "sell tickets", "hello <b>", "you said hello <b>", "From HOU to DFW", "done",
    ]  # fmt: skip
    assert records[0]["messages"][-1]["outcome"] == {"reward": 0.5}
    assert records[0]["goal"]["name"] == "Virginia Taylor"
    assert {(r["dimension"], r["value"]) for r in records[0]["ratings"]} == {("success", 1), ("overall", 4)}
    assert "x" not in visitor.text.split()


def test_a_failing_agent_is_reported_and_gets_no_score(start: Starting):
    study = start(goals(), mode="chat", per_task=1, agents={"x": broken})
    visitor = study.visitor()
    visitor.send()
    visitor.send({"text": "hello"}, form="say")
    assert "could not reply" in visitor.text
    assert "secret path" not in visitor.html
    visitor.send({"text": ""}, form="say")  # asks again
    assert "could not reply" in visitor.text
    visitor.send(form="end")
    visitor.send({"q0": "0", "q1": "1"})
    (record,) = exported(study.admin())
    assert [m["role"] for m in record["messages"]] == ["system", "user"]


def test_a_rater_can_talk_to_an_agent_behind_an_address(start: Starting):
    with serving(lambda request: request.say(f"heard: {request.body['messages'][-1]['content']}")) as server:
        found = resolve(server.address, model="tiny")
        study = start(goals(), mode="chat", per_task=1, agents={"x": found})
        visitor = study.visitor()
        visitor.send()
        visitor.send({"text": "hello"}, form="say")
        assert "heard: hello" in visitor.text
        assert [m["role"] for m in server.requests[0].body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    "reply", [Reply("yes", {"reward": float("nan")}), None, Reply("yes", ["reward"]), Reply("half \ud800")]
)
def test_replies_that_cannot_be_stored_do_not_break_the_study(start: Starting, reply):
    study = start(goals(), mode="chat", per_task=1, agents={"x": lambda turns, rng: reply})
    visitor = study.visitor()
    visitor.send()
    visitor.send({"text": "hello"}, form="say")
    assert visitor.status == 200
    assert ("half ?" if reply and "half" in reply.content else "could not reply") in visitor.text
    assert study.restarted().visitor().text == visitor.text


def test_a_reply_after_the_end_of_a_dialogue_is_ignored(start: Starting):
    asked, goes_on = threading.Event(), threading.Event()

    def slow(turns, rng):
        asked.set()
        goes_on.wait(180)
        return Reply("late", {"reward": 1.0})

    study = start(goals(), mode="chat", per_task=1, agents={"x": slow})
    with study.client:  # one event loop for both requests
        visitor = study.visitor()
        visitor.send()
        with ThreadPoolExecutor() as pool:
            saying = pool.submit(study.visitor().send, {"text": "hello"}, form="say")
            assert asked.wait(180)
            visitor.look().send(form="end")
            visitor.send({"q0": "0", "q1": "1"})
            goes_on.set()
            assert saying.result().status == 200
    (record,) = exported(study.admin())
    assert [m["content"] for m in record["messages"]] == ["sell tickets", "hello"]


def test_a_form_that_is_sent_several_times_asks_the_agent_once(start: Starting):
    calls = []

    def fails_first(turns, rng):
        calls.append(len(turns))
        time.sleep(0.1)
        if len(calls) == 1:
            raise OSError
        return Reply("here I am")

    study = start(goals(), mode="chat", per_task=1, agents={"x": fails_first})
    with study.client:
        visitor = study.visitor()
        visitor.send()
        visitor.send({"text": "hello"}, form="say")
        with ThreadPoolExecutor() as pool:  # asked again by five clicks
            list(pool.map(lambda _: study.client.post(visitor.last[0], data=again(visitor)), range(5)))
    assert len(calls) == 2
    assert visitor.look().text.count("here I am") == 1


def again(visitor):
    form = next(form for form in visitor.forms if form.action.endswith("say"))
    return {**form.fields, "text": ""}


def test_a_reply_lost_by_a_restart_can_be_requested_again(start: Starting):
    study = start(goals(), mode="chat", per_task=1, agents={"x": talkative})
    visitor = study.visitor()
    visitor.send()
    study.recorder.record(
        "said", "anna", slot=1, role="user", content="hello"
    )  # and there the server was killed
    visitor = study.restarted().visitor()
    visitor.send({"text": ""}, form="say")
    assert "you said hello" in visitor.text


def test_an_agent_that_exceeds_the_time_limit_fails(start: Starting):
    def slow(turns, rng):
        time.sleep(0.5)
        return Reply("late")

    study = start(goals(), mode="chat", per_task=1, agents={"x": slow}, chat={"seconds": 0.1})
    visitor = study.visitor()
    visitor.send()
    visitor.send({"text": "hello"}, form="say")
    assert "could not reply" in visitor.text
    assert "late" not in visitor.text


def test_an_agent_may_have_the_first_turn_and_dialogues_have_a_maximum_length(start: Starting):
    chat = {"opening": "agent", "most_turns": 3}  # that the rater sees: the system message is none
    study = start(
        goals(), mode="chat", per_task=1, agents={"x": lambda turns, rng: Reply("go on")}, chat=chat
    )
    visitor = study.visitor()
    visitor.send()
    assert "go on" in visitor.text
    visitor.send({"text": "well"}, form="say")
    assert "The dialogue is over" in visitor.text
    assert "decision" not in visitor.text  # this agent never decides anything
