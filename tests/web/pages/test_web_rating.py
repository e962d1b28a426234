"""A study from the first page to the export, by pages that have no script; on both databases."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.studies import PLAIN, Running, Starting, exported, finish, ratings, short_dialogue
from turnwise.errors import DataError
from turnwise.logs.items.items import Selection
from turnwise.types import Dialogue, Turn
from turnwise.web.study.definition import read_study
from turnwise.web.study.open_study import new_ledger, read_ledger

CHECKED = {"shared": 0, "checks": 2, "repeats": 0}


def test_three_raters_rate_every_reply_and_the_export_has_each_rating_once(start: Starting):
    study = start(per_task=3, **PLAIN)
    for name, value in (("anna", "2"), ("ben", "3"), ("carl", "5")):
        assert finish(study.visitor(name), value) == 12
    found = ratings(exported(study.admin()))
    assert len(found) == len(set(found)) == 36
    assert {(rater, value) for rater, *_, value in found} == {("anna", 2), ("ben", 3), ("carl", 5)}
    assert {turn for _, _, turn, _, _ in found} == {1}


def test_each_item_goes_to_n_different_raters(start: Starting):
    study = start(per_task=2, **PLAIN)
    for name in ("anna", "ben", "carl", "dora"):
        finish(study.visitor(name))
    found = ratings(exported(study.admin()))
    assert set(Counter(item for _, item, *_ in found).values()) == {2}
    assert len({(rater, item) for rater, item, *_ in found}) == len(found)


def test_agents_are_balanced_for_each_rater(start: Starting):
    study = start(per_task=2, per_rater=6, **PLAIN)
    for name in ("anna", "ben", "carl", "dora"):
        assert finish(study.visitor(name)) == 6
    by_rater = Counter((rater, item[0]) for rater, item, *_ in ratings(exported(study.admin())))
    assert set(by_rater.values()) == {3}


def test_the_link_leads_to_the_same_task_after_a_restart(start: Starting):
    study = start(**PLAIN)
    visitor = study.visitor()
    visitor.send()
    for _ in range(4):
        visitor.send({"q0": "1"})
    shown = visitor.text
    visitor = study.restarted().visitor()
    assert visitor.text == shown
    assert "Task 5" in shown


def test_a_correction_replaces_the_answer_and_keeps_the_old_one(start: Starting):
    study = start(**PLAIN)
    visitor = study.visitor()
    visitor.send()
    visitor.send({"q0": "1"})
    visitor.look(f"{visitor.path}/1")
    assert visitor.forms[0].fields["q0"] == "1"
    visitor.send({"q0": "5"})
    assert "Task 2" in visitor.text
    (rating,) = [r for one in exported(study.admin()) for r in one.get("ratings", ())]
    assert (rating["value"], [old["value"] for old in rating["was"]]) == (5, [1])
    assert rating["was"][0]["at"] <= rating["at"]


def test_a_form_that_is_sent_twice_counts_once(start: Starting):
    study = start(**PLAIN)
    visitor = study.visitor()
    visitor.send()
    visitor.send({"q0": "3"})
    visitor.again()
    assert "Task 2" in visitor.text
    (rating,) = [r for one in exported(study.admin()) for r in one.get("ratings", ())]
    assert "was" not in rating


@pytest.mark.parametrize("value", ["", "0", "6", "2.5", "nan", "inf", "1e999", "x", "-1", "<b>"])
def test_an_answer_off_the_scale_is_rejected_with_a_message_and_not_stored(start: Starting, value: str):
    study = start(**PLAIN)
    visitor = study.visitor()
    visitor.send()
    visitor.send({"q0": value})
    assert visitor.status == 422
    assert "needs an answer from 1 to 5" in visitor.text
    assert not ratings(exported(study.admin()))


def test_several_dimensions_scales_and_wording_come_from_a_file(start: Starting, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'title = "Trial"\nunderstood = true\n[quality]\nshared = 0\nchecks = 0\nrepeats = 0\n'
        '[[question]]\nname = "overall"\n[[question]]\nname = "<b>fluent</b>"\ntext = "How fluent?"\n'
        'kind = "slider"\nscale = [0, 100]\nlabels = ["not", "very"]\ndirection = "lower"\n'
    )
    study = start(file=str(file))
    visitor = study.visitor()
    visitor.send()
    assert "Trial" in visitor.text
    assert "How fluent?" in visitor.text
    visitor.send({"q0": "2", "q1": "63", "confused": "yes"})
    (record,) = [one for one in exported(study.admin(), "?everything=yes") if "ratings" in one]
    first, second = record["ratings"]
    assert (second["dimension"], second["value"], second["scale"]) == ("<b>fluent</b>", 63, [0, 100])
    assert second["direction"] == "lower"
    assert first["understood"] is False
    (apart,) = [one for one in exported(study.admin()) if "ratings_apart" in one]
    assert {r["reason"] for r in apart["ratings_apart"]} == {"context not understood"}


def test_ratings_of_whole_dialogues_have_no_turn(start: Starting):
    study = start(mode="dialogue", **PLAIN)
    finish(study.visitor())
    assert all("turn" not in r for one in exported(study.admin()) for r in one["ratings"])


def test_a_choice_becomes_a_preference_whatever_the_order_of_the_replies(start: Starting):
    study = start(mode="pairwise", per_task=2, **PLAIN)
    for name in ("anna", "ben"):
        visitor = study.visitor(name)
        visitor.send()
        while visitor.is_asked:
            first = visitor.html.index("First reply")
            is_a = "a says" in visitor.html[first : visitor.html.index("Second reply")]
            visitor.send({"q0": "first" if is_a else "second"})
    records = exported(study.admin())
    agents = {one["id"]: one["agent"] for one in records}
    chosen = [(one["agent"], p) for one in records for p in one.get("preferences", ())]
    assert {(agent, agents[p["other"]], p["winner"]) for agent, p in chosen} == {("a", "b", "this")}
    assert {p["rater"] for _, p in chosen} == {"anna", "ben"}
    assert {p["shown"] for _, p in chosen} == {"first", "second"}
    assert not any(one.get("ratings") for one in records)
    flipped = {slot.flipped for _, slot in study.recorder.ledger.slots}
    assert flipped == {True, False}


def test_a_tie_is_a_preference_for_neither(start: Starting):
    study = start(mode="pairwise", **PLAIN)
    finish(study.visitor(), "tie")
    chosen = [p["winner"] for one in exported(study.admin()) for p in one.get("preferences", ())]
    assert set(chosen) == {"tie"}


def test_written_replies_become_dialogues_and_offensive_ones_are_withheld(start: Starting):
    study = start(mode="write", per_task=1, **PLAIN)
    visitor = study.visitor()
    visitor.send()
    visitor.send({"text": "no"})
    assert visitor.status == 422
    visitor.send({"text": "what the f.u.c.k is that"})
    while visitor.is_asked:
        visitor.send({"text": "I would look it up first."})
    records = exported(study.admin())
    assert len(records) == 5
    assert {(one["agent"], one["messages"][-1]["content"]) for one in records} == {
        ("human", "I would look it up first.")
    }
    assert len(exported(study.admin(), "?everything=yes")) == 6
    admin = study.admin()
    assert "f.u.c.k" in admin.text
    held = next(form for form in admin.forms if ("action", "release") in form.buttons)
    admin.client.post(admin.path, data={**held.fields, "action": "release"})
    assert len(exported(study.admin())) == 6


def test_a_dialogue_that_ends_with_the_user_is_a_writing_task(start: Starting, dialogues):
    open_ended = [replace(one, turns=one.turns[:1]) for one in dialogues[::2]]
    study = start(open_ended, mode="write", per_task=1, **PLAIN)
    visitor = study.visitor()
    visitor.send()
    visitor.send({"text": "It is half past nine."})
    (record,) = exported(study.admin())
    assert [m["role"] for m in record["messages"]] == ["user", "assistant"]


def test_a_closed_study_takes_no_answers_and_can_be_reopened(start: Starting):
    study = start(**PLAIN)
    visitor = study.visitor()
    visitor.send()
    admin = study.admin()
    admin.send({"action": "close"})
    visitor.send({"q0": "3"})
    assert visitor.status == 409
    assert "closed" in visitor.look().text
    study.admin().send({"action": "open"})
    assert visitor.look().is_asked
    assert not ratings(exported(study.admin()))


def test_the_store_of_another_study_is_an_error(start: Starting):
    start(**PLAIN).recorder.close()
    with pytest.raises(DataError, match="another study"):
        start(mode="dialogue", **PLAIN)


def test_a_second_server_on_a_store_is_refused(start: Starting):
    first = start(**PLAIN)
    visitor = first.visitor()
    visitor.send()
    with pytest.raises(DataError, match="One server serves one study"):
        start(**PLAIN)
    visitor.send({"q0": "5"})
    assert [value for *_, value in ratings(exported(first.admin()))] == [5]
    first.recorder.close()
    assert Running(first.place, first.study, first.dialogues).visitor().status == 200


def test_an_export_without_ratings_is_an_error(start: Starting, store: str, dialogues):
    with pytest.raises(DataError, match="there are no ratings yet"):
        read_ledger(store, new_ledger(read_study(None), dialogues, Selection()))


def test_stored_events_cannot_be_changed_or_deleted(start: Starting):
    study = start(**PLAIN)
    study.visitor()
    study.recorder.flush()
    log = study.recorder._log
    for statement in ("UPDATE turnwise_events SET body = '{}'", "DELETE FROM turnwise_events"):
        with pytest.raises(Exception, match="only ever added"):
            log._connection.execute(statement)  # type: ignore[attr-defined]


def test_an_abandoned_task_is_given_to_another_rater(start: Starting):
    study = start(per_task=1, per_rater=12, **PLAIN)
    now = [1000.0]
    study.recorder.clock = lambda: now[0]
    study.visitor("anna").send()  # takes one and goes away
    assert finish(study.visitor("ben")) == 11
    now[0] += 3600
    visitor = study.visitor("ben")
    visitor.send()
    assert visitor.is_asked
    visitor.send({"q0": "2"})
    assert finish(study.visitor("carl")) == 0  # one was gone, and one has come in their place


def test_whole_dialogues_can_be_compared(start: Starting):
    talks = [
        Dialogue(f"{agent}-{k}", agent, (Turn("user", f"{agent} {k}?"), Turn("assistant", f"{agent} says {k}")) * 2,
                 meta={"goal": str(k)})
        for k in range(4) for agent in ("a", "b")
    ]  # fmt: skip
    study = start(talks, mode="pairwise", whole=True, selection=Selection(pair="meta.goal"), quality=CHECKED)
    visitor = study.visitor()
    visitor.send()
    while visitor.is_asked:
        first = visitor.text.split("First dialogue")[1].split("Second dialogue")[0]
        is_check = "choose this one" in visitor.text
        assert is_check or first.count("says") == 2
        is_first = "choose this one" in first if is_check else "a says" in first
        visitor.send({"q0": "first" if is_first else "second"})
    records = exported(study.admin())
    assert len(records) == 8
    chosen = {
        (one["agent"], p["winner"], p.get("turn")) for one in records for p in one.get("preferences", ())
    }
    assert chosen == {("a", "this", None)}
    assert not study.recorder.ledger.raters["anna"].failed_check


def test_a_rater_for_whom_no_task_is_left_is_told_so(start: Starting):
    study = start(per_task=1, **PLAIN)
    late = study.visitor("late")
    assert "Begin" in late.text
    finish(study.visitor("anna"))
    late.send()  # the page was opened before the last task was taken
    assert "There are no more tasks for you at the moment" in late.text
    assert "Tasks answered: 0" in study.visitor("ben").text


def test_a_task_that_was_given_up_is_found_by_looking_for_more(start: Starting):
    study = start([short_dialogue(1, "a")], per_task=1, minutes=10, **PLAIN)
    now = [1e9]
    study.recorder.clock = lambda: now[0]
    study.visitor("anna").send()
    ben = study.visitor("ben")
    assert "There are no more tasks for you at the moment" in ben.text
    now[0] += 11 * 60
    ben.send()  # "Look for more"
    assert "question 1?" in ben.text
