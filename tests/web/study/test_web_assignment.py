"""Assignment of tasks, for any number of tasks and raters in any order of requests."""

from collections import Counter
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tests.studies import short_dialogue
from turnwise.logs.items.items import Selection
from turnwise.web.storage.events import Event
from turnwise.web.study.assignment import next_task, tasks_ahead
from turnwise.web.study.definition import read_study
from turnwise.web.study.ledger import Ledger, Rater
from turnwise.web.study.open_study import new_ledger

VALUES = {"overall": 3.0, "preference": 1.0}


def happen(ledger: Ledger, kind: str, rater: str, **body: object) -> None:
    ledger.apply(Event(ledger.seq + 1, float(ledger.seq), rater, kind, body))  # type: ignore[arg-type]


def answer(ledger: Ledger, name: str, *, reads: bool = True) -> None:
    slot = ledger.raters[name].slots[-1]
    values = dict(slot.task.expected) if reads and slot.task.expected else VALUES
    happen(ledger, "answered", name, slot=slot.number, values=values)


@given(
    contexts=st.integers(1, 6),
    agents=st.integers(1, 3),
    raters=st.integers(1, 5),
    per_task=st.integers(1, 4),
    shared=st.integers(0, 2),
    checks=st.integers(0, 2),
    repeats=st.integers(0, 2),
    mode=st.sampled_from(["reply", "dialogue"]),
    data=st.data(),
)
def test_every_task_gets_its_raters_and_no_rater_gets_a_task_twice(
    contexts, agents, raters, per_task, shared, checks, repeats, mode, data
):
    dialogues = [short_dialogue(k, f"agent{a}", f"{k} {a}") for k in range(contexts) for a in range(agents)]
    quality = {"shared": shared, "checks": checks, "repeats": repeats}
    asked = read_study(
        None, mode=mode, per_task=per_task, quality=quality, seed=data.draw(st.integers(0, 99))
    )
    ledger = new_ledger(asked, dialogues, Selection())
    names = [f"rater-{number}" for number in range(raters)]
    careless = set(data.draw(st.lists(st.sampled_from(names), max_size=2))) if checks else set()
    for name in names:
        happen(ledger, "rater", name, token=name)
    moved = True
    while moved:  # whoever had nothing to do may have, when another fails a check
        moved, waiting = False, list(names)
        while waiting:
            name = data.draw(st.sampled_from(waiting))
            rater = ledger.raters[name]
            if rater.current is not None:
                answer(ledger, name, reads=name not in careless)
                continue
            found = next_task(ledger, rater)
            if found is None:
                assert tasks_ahead(ledger, rater) == 0
                waiting.remove(name)
            else:
                moved = True
                about = {"task": found.task.id, "purpose": found.purpose, "flipped": found.flipped}
                happen(ledger, "given", name, **about)

    had = Counter((rater.name, slot.task.id, slot.purpose) for rater, slot in ledger.slots)
    assert set(had.values()) == {1}
    raters_of = Counter(task for who, task, purpose in had if purpose == "task" and who not in careless)
    assert all(
        raters_of[task.id] == min(per_task, raters - len(careless)) for task in ledger.open_tasks.others
    )
    for purpose, wanted in (("shared", len(ledger.open_tasks.shared)), ("check", checks)):
        assert all(
            sum(kind == purpose for who, _, kind in had if who == name) == wanted for name in ledger.raters
        )
    met = {(who, task) for who, task, purpose in had if purpose != "repeat"}
    again = [(who, task) for who, task, purpose in had if purpose == "repeat"]
    assert set(again) <= met
    assert all(count <= repeats for count in Counter(who for who, _ in again).values())


@given(agents=st.integers(2, 4), raters=st.integers(1, 6), tasks=st.integers(1, 8), seed=st.integers(0, 99))
def test_the_counts_of_agents_differ_by_at_most_one_for_each_rater(agents, raters, tasks, seed):
    """As long as every agent has tasks left, nobody has rated one of them two times more than another."""
    dialogues = [short_dialogue(k, f"agent{a}", f"{k} {a}") for k in range(8) for a in range(agents)]
    quality = {"shared": 0, "checks": 0, "repeats": 0}
    ledger = new_ledger(read_study(None, per_task=raters, quality=quality, seed=seed), dialogues, Selection())
    for number in range(raters):
        happen(ledger, "rater", f"rater-{number}", token=f"rater-{number}")
    for _ in range(tasks):
        for name, rater in ledger.raters.items():
            found = next_task(ledger, rater)
            assert found is not None
            happen(ledger, "given", name, task=found.task.id, purpose=found.purpose, flipped=False)
            answer(ledger, name)
            counts = [rater.agents.get((f"agent{a}",), 0) for a in range(agents)]
            assert max(counts) - min(counts) <= 1


def raters_at_work(ledger: Ledger, count: int) -> Iterator[Rater]:
    """New raters, one after the other, each of whom has rated until no task is left for them."""
    for number in range(count):
        name = f"rater-{number}"
        happen(ledger, "rater", name, token=name)
        rater = ledger.raters[name]
        while found := next_task(ledger, rater):
            happen(ledger, "given", name, task=found.task.id, purpose=found.purpose, flipped=found.flipped)
            answer(ledger, name)
        yield rater


@given(agents=st.integers(2, 4), raters=st.integers(2, 4), seed=st.integers(0, 99))
def test_all_raters_get_the_same_pair_of_a_shared_context(agents, raters, seed):
    dialogues = [short_dialogue(k, f"agent{a}", f"{k} {a}") for k in range(4) for a in range(agents)]
    quality = {"shared": 2, "checks": 0, "repeats": 0}
    ledger = new_ledger(read_study(None, mode="pairwise", quality=quality, seed=seed), dialogues, Selection())
    had = [
        {slot.task.id for slot in rater.slots if slot.purpose == "shared"}
        for rater in raters_at_work(ledger, raters)
    ]
    assert len(had[0]) == 2
    assert all(one == had[0] for one in had)


@given(per_task=st.integers(1, 3), goers=st.integers(0, 3), stayers=st.integers(0, 5))
def test_an_abandoned_task_gets_one_new_rater_for_each_lost_one(per_task, goers, stayers):
    quality = {"shared": 0, "checks": 0, "repeats": 0}
    ledger = new_ledger(
        read_study(None, per_task=per_task, quality=quality), [short_dialogue(1, "a")], Selection()
    )
    for number in range(goers + stayers):
        name = f"rater-{number}"
        happen(ledger, "rater", name, token=name)
        if number == goers:  # those who went away have been away for too long
            for gone in list(ledger.raters)[:goers]:
                happen(ledger, "expired", gone)
        found = next_task(ledger, ledger.raters[name])
        if found is not None:
            happen(ledger, "given", name, task=found.task.id, purpose=found.purpose, flipped=False)
            if number >= goers:
                answer(ledger, name)
    answered = sum(slot.answer is not None for _, slot in ledger.slots)
    assert answered == min(per_task, stayers)


@given(
    raters=st.integers(1, 4), agents=st.integers(2, 4), per_task=st.integers(1, 3), seed=st.integers(0, 99)
)
def test_no_rater_gets_two_pairs_of_the_same_context(raters, agents, per_task, seed):
    dialogues = [short_dialogue(k, f"agent{a}", f"{k} {a}") for k in range(3) for a in range(agents)]
    quality = {"shared": 0, "checks": 0, "repeats": 0}
    ledger = new_ledger(
        read_study(None, mode="pairwise", per_task=per_task, quality=quality, seed=seed),
        dialogues,
        Selection(),
    )
    for rater in raters_at_work(ledger, raters):
        contexts = [slot.task.group for slot in rater.slots]
        assert len(contexts) == len(set(contexts))
