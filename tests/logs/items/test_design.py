"""The design that records state: tasks with trials are clusters, and a system prompt is no context."""

from typing import Any

import pytest

from turnwise.errors import DataError
from turnwise.logs.items.items import Selection, items
from turnwise.logs.items.keys import agent_by
from turnwise.types import Dialogue, Item, Turn


def talk(name: str, *turns: tuple[Any, str], agent: str = "bot", meta: Any = None, **extra: Any) -> Dialogue:
    return Dialogue(name, agent, tuple(Turn(*turn) for turn in turns), meta=meta or {}, extra=extra)


def made(*dialogues: Dialogue, whole: bool = False, **selection: Any) -> list[Item]:
    return list(items(list(dialogues), Selection(items="all", **selection), whole=whole))


QUESTION = (("user", "Capital of Peru?"), ("assistant", "Lima."))


def test_the_trials_of_a_task_are_one_cluster_whatever_they_say() -> None:
    found = made(
        talk("a", *QUESTION, task="t1", trial=0),
        talk(
            "b",
            ("user", "Other words"),
            ("assistant", "x"),
            ("user", "y"),
            ("assistant", "z"),
            task="t1",
            trial=1,
        ),
        talk("c", *QUESTION, task="t2", trial=0),
    )
    assert [item.cluster for item in found] == ["task t1", "task t1", "task t1", "task t2"]
    assert [(item.task, item.trial) for item in found[::3]] == [("t1", "0"), ("t2", "0")]


def test_a_named_cluster_comes_before_the_task() -> None:
    (item,) = made(talk("a", *QUESTION, task="t1", trial=0, meta={"part": "p"}), cluster="meta.part")
    assert item.cluster == "p"


@pytest.mark.parametrize("extra", [{"task": "summary"}, {"trial": 1}, {"task": {"x": 1}, "trial": 1}])
def test_a_task_without_a_trial_says_nothing_of_the_design(extra: dict[str, Any]) -> None:
    plain, marked = made(talk("a", *QUESTION))[0], made(talk("a", *QUESTION, **extra))[0]
    assert marked.cluster == plain.cluster
    assert marked.task == ""


def test_records_that_answer_the_same_context_remain_one_cluster() -> None:
    first, second = made(talk("a", *QUESTION), talk("b", *QUESTION))
    assert first.cluster == second.cluster


def test_the_system_prompt_does_not_stop_identical_questions_from_pairing() -> None:
    brief, long, none = made(
        talk("a", ("system", "Be brief."), *QUESTION),
        talk("b", ("system", "Be long."), ("system", "Be kind."), *QUESTION),
        talk("c", *QUESTION),
    )
    assert brief.pair == long.pair == none.pair


def test_a_later_system_message_is_context() -> None:
    (plain,), (told,) = (
        made(talk("a", ("user", "Hi"), *middle, ("assistant", "Ok")))
        for middle in ((), (("system", "Stop."),))
    )
    assert plain.pair != told.pair


def test_a_greeting_after_a_system_prompt_alone_has_no_context() -> None:
    first, second = (made(talk(name, ("system", "Be kind."), ("assistant", "Hi")))[0] for name in "ab")
    assert first.pair != second.pair


def test_results_by_group_have_tasks_apart() -> None:
    found = made(
        *(talk(name, *QUESTION, task="t", trial=0, meta={"g": name}) for name in "ab"),
        by="meta.g",
        whole=True,
    )
    assert [item.task for item in found] == ["a/t", "b/t"]
    assert [item.cluster for item in found] == ["a/task t", "b/task t"]


def test_keys_tell_agents_apart() -> None:
    one = talk("a", *QUESTION, agent="m", meta={"prompt": "v2"})
    assert agent_by(one, ("agent", "meta.prompt")) == "m/v2"
    with pytest.raises(DataError, match=r"no key `meta\.x`"):
        agent_by(one, ("meta.x",))


def test_the_system_prompt_can_name_the_agent_also_a_long_one() -> None:
    assert agent_by(talk("a", *QUESTION), ("system",)) == "no system prompt"
    assert agent_by(talk("a", ("system", "Be\n brief."), *QUESTION), ("system",)) == "Be brief."
    long = [agent_by(talk("a", ("system", "x " * 40 + end), *QUESTION), ("system",)) for end in "12"]
    assert long[0] != long[1]
    assert all(len(name) < 60 for name in long)
    assert agent_by(talk("a", *QUESTION, system="mine"), ("system",)) == "mine"
