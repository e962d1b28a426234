"""People of a crowd: one rater per person, consent, screening, practice, quotas, time-outs, codes."""

import csv
import io
import json
from collections import Counter

import pytest

from tests.studies import PLAIN, Running, Starting, exported, ratings, short_dialogue
from tests.visitor import Visitor
from turnwise.errors import DataError
from turnwise.web.study.definition import read_study

CROWD = {"return_url": "https://platform.example/done?cc={code}", "pay": 1.5, "currency": "GBP"}


def arrive(study: Running, person: str, **parameters: str) -> Visitor:
    """Open the common link; the visitor is on the join page, or on the page that refuses."""
    query = "&".join(f"{name}={value}" for name, value in {"PROLIFIC_PID": person, **parameters}.items())
    return Visitor(study.client, f"/join?{query}")


def join(study: Running, person: str, **parameters: str) -> Visitor:
    return arrive(study, person, **parameters).send()


def payments(study: Running) -> list[dict[str, str]]:
    study.recorder.flush()
    page = study.client.get(f"/admin/{study.recorder.ledger.study_event['admin']}/payments.csv")
    assert page.status_code == 200
    return list(csv.DictReader(io.StringIO(page.text)))


def work(visitor: Visitor, value: str = "4") -> int:
    """Begin, and answer until there is nothing to answer; how many tasks there were."""
    visitor.send()
    count = 0
    while visitor.is_asked:
        visitor.send({"q0": value})
        count += 1
    return count


def test_one_person_is_one_rater_on_every_device(start: Starting):
    study = start(crowd=CROWD, **PLAIN)
    first = join(study, "p1", STUDY_ID="s", SESSION_ID="one", other="dropped")
    first.send()
    first.send({"q0": "2"})
    again = arrive(study, "p1", SESSION_ID="two")
    assert "Task 2" in again.text
    assert join(study, "p2").status == 200
    assert len(study.recorder.ledger.raters) == 2
    restarted = study.restarted()
    assert "Task 2" in arrive(restarted, "p1").text
    rows = payments(restarted)
    assert [(row["PROLIFIC_PID"], row["STUDY_ID"], row["status"]) for row in rows] == [
        ("p1", "s", "active"),
        ("p2", "", "active"),
    ]
    assert "other" not in rows[0]


def test_opening_the_link_alone_changes_nothing(start: Starting):
    study = start(crowd=CROWD, **PLAIN)
    before = study.recorder.ledger.seq
    assert "Take part" in arrive(study, "p1").text
    assert arrive(study, "").status == 422
    assert "preview" in arrive(study, "p1", assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE").text
    assert study.client.post("/join?PROLIFIC_PID=p1", data={"x": "y"}).status_code == 403
    assert study.recorder.ledger.seq == before
    assert Visitor(study.client, "/join").status == 422


def test_a_study_without_a_crowd_has_no_common_link(start: Starting):
    assert Visitor(start(**PLAIN).client, "/join?PROLIFIC_PID=p1").status == 404


@pytest.mark.parametrize("names", ["workerId", "anything"])
def test_any_parameter_can_name_a_person(start: Starting, names: str):
    crowd = {**CROWD, "person": [names], "keep": ["assignmentId", "hitId"]}
    study = start(crowd=crowd, **PLAIN)
    visitor = Visitor(study.client, f"/join?{names}=w1&assignmentId=a&hitId=h").send()
    assert "You will see dialogues" in visitor.text
    (row,) = payments(study)
    assert (row[names], row["assignmentId"], row["hitId"]) == ("w1", "a", "h")


def test_consent_and_screening_come_first_and_are_kept(start: Starting):
    asked = [{"text": "Do you speak English?", "options": ["no", "a bit", "yes"], "accepted": ["yes"]}]
    crowd = {**CROWD, "screened_out_code": "NOPE"}
    study = start(crowd=crowd, consent="Data are kept for **a year**.", screening=asked, **PLAIN)
    no, out, yes = (join(study, person) for person in ("no", "out", "yes"))
    assert "<strong>a year</strong>" in no.html
    no.send({"agreed": "no"}, form="consent")
    assert "did not agree" in no.text
    assert "NOPE" in no.text
    assert "https://platform.example/done?cc=NOPE" in no.html
    for visitor in (out, yes):
        visitor.send({"agreed": "yes"}, form="consent")
        visitor.send({}, form="screening")
        assert visitor.status == 422
        assert "choose an answer" in visitor.text
    out.send({"s0": "a bit"}, form="screening")
    assert "looks for other participants" in out.text
    yes.send({"s0": "yes"}, form="screening")
    assert work(yes) == 12
    for gone in (no, out):  # neither a begun page nor a guess leads further
        token = gone.path.rpartition("/")[2]
        assert study.client.get(gone.path).status_code == 200, token
    assert Counter(row["status"] for row in payments(study)) == {
        "declined": 1,
        "screened_out": 1,
        "completed": 1,
    }
    kinds = [event.kind for event in study.recorder._log.replay()]
    assert Counter(kinds)["consented"] == 3
    assert Counter(kinds)["screened"] == 2


def test_nobody_gets_a_task_before_consent(start: Starting):
    study = start(crowd=CROWD, consent="yes?", **PLAIN)
    visitor = join(study, "p1")
    (form,) = visitor.forms
    link = form.action.removesuffix("/consent")
    assert study.client.post(link, data=form.fields).status_code == 409
    assert not study.recorder.ledger.raters["person-1"].slots


def test_practice_gives_feedback_and_has_a_pass_mark(start: Starting, tmp_path):
    data = tmp_path / "practice.jsonl"
    data.write_text(
        "".join(
            json.dumps(
                {
                    "id": f"practice {k}",
                    "agent": "x",
                    "messages": [
                        {"role": "user", "content": "hi"},
                        {"role": "assistant", "content": f"practice reply {k}"},
                    ],
                    "ratings": [{"dimension": "overall", "value": value, "turn": 1}],
                    "meta": {"feedback": f"because *{k}*"},
                }
            )
            + "\n"
            for k, value in enumerate((1, 5, 5))
        )
    )
    training = {"data": str(data), "pass_mark": 0.6, "tries": 2, "within": 1}
    study = start(crowd={**CROWD, "failed_code": "SORRY"}, training=training, **PLAIN)

    def practise(visitor: Visitor, *values: str) -> None:
        for value in values:
            assert "Practice" in visitor.text
            visitor.send({"q0": value})
            if visitor.forms:
                assert "Our answer" in visitor.text
                visitor.send()

    good = join(study, "good").send()
    good.send({"q0": "2"})  # within 1
    assert "Right" in good.text
    assert "<em>0</em>" in good.html
    assert "Your answer" in good.text
    good.send()
    practise(good, "1", "4")
    assert "Practice" not in good.text
    assert "Task 1 of" in good.text
    good.send({"q0": "3"})

    bad = join(study, "bad").send()
    practise(bad, "5", "1")
    bad.send({"q0": "1"})
    assert "0 of 3; 2 are needed. Please try again" in bad.text
    bad.send()
    practise(bad, "5", "1", "1")
    assert "Too few answers of the practice were right (0 of 3; 2 are needed)" in bad.text
    assert "SORRY" in bad.text
    assert Counter(row["status"] for row in payments(study)) == {"active": 1, "failed_training": 1}
    found = ratings(exported(study.admin(), "?everything=yes"))
    assert [value for *_, value in found] == [3]  # practice is in no export
    assert "Task 2 of" in arrive(study.restarted(), "good").text


def test_practice_without_a_right_answer_is_an_error(tmp_path, start: Starting):
    data = tmp_path / "practice.jsonl"
    data.write_text(
        '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
    )
    with pytest.raises(DataError, match="needs a right answer"):
        start(training={"data": str(data)}, **PLAIN)
    with pytest.raises(DataError, match="training needs right answers"):
        read_study(None, mode="write", training={"data": str(data)})


def test_practice_of_pairs_goes_by_preferences(start: Starting, tmp_path):
    data = tmp_path / "practice.jsonl"
    lines = [
        {
            "id": agent,
            "agent": agent,
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": f"{agent} speaks"},
            ],
        }
        for agent in ("good", "bad")
    ]
    lines[0]["preferences"] = [{"other": "bad", "winner": "this", "dimension": "preference", "turn": 1}]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    study = start(mode="pairwise", training={"data": str(data), "pass_mark": 1}, **PLAIN)
    for name, right in (("anna", True), ("ben", False)):
        visitor = study.visitor(name).send()
        first = "good speaks" in visitor.text.split("Second reply")[0]
        visitor.send({"q0": "first" if first == right else "second"})
        assert ("Not quite" in visitor.text) != right


def test_the_quota_is_exact_and_places_of_people_who_left_are_free(start: Starting):
    study = start(crowd={**CROWD, "quota": 2}, per_task=2, minutes=10, per_rater=12, **PLAIN)
    now = [1000.0]
    study.recorder.clock = lambda: now[0]
    first, gone = join(study, "first"), join(study, "gone")
    gone.send()  # has a task, and goes away
    assert "places of this study are taken" in arrive(study, "third").text
    assert work(first) == 12
    assert first.text.count("Your completion code") == 1
    now[0] += 11 * 60
    third = join(study, "third")
    assert "taken" not in third.text
    gone.look()
    assert "Your time for this study is over" in gone.text
    assert study.client.post(gone.last[0], data=gone.last[1]).status_code == 409
    assert work(third) == 12  # also the task that was given back
    assert "taken" in arrive(study, "fourth").text
    found = ratings(exported(study.admin()))
    assert set(Counter(item for _, item, *_ in found).values()) == {2}
    assert Counter(row["status"] for row in payments(study)) == {"completed": 2, "timed_out": 1}


def test_who_comes_back_gets_the_place_again_if_it_is_free(start: Starting):
    study = start(crowd={**CROWD, "quota": 1}, minutes=10, **PLAIN)
    now = [1000.0]
    study.recorder.clock = lambda: now[0]
    late = join(study, "late").send()
    now[0] += 11 * 60
    arrive(study, "looks only")  # frees the place, but nobody takes it
    assert study.recorder.ledger.raters["person-1"].place_lost
    late.look().send({"q0": "3"})
    assert "Task 2" in late.text
    assert not study.recorder.ledger.raters["person-1"].place_lost
    assert "taken" in arrive(study, "other").text


def test_a_person_who_fails_a_check_does_not_fill_the_quota(start: Starting):
    quality = {"shared": 0, "checks": 1, "repeats": 0}
    study = start(crowd={**CROWD, "quota": 1}, per_task=1, quality=quality)
    work(join(study, "careless"), "3")
    assert "taken" not in arrive(study, "careful").text
    (row,) = payments(study)
    assert (row["status"], row["checks_failed"], row["pay"]) == ("completed", "1", "1.5 GBP")


def test_a_person_for_whom_no_task_is_left_gets_the_code(start: Starting):
    study = start(per_task=1, crowd={**CROWD, "code": "C0DE"}, **PLAIN)
    first, late = join(study, "p1"), join(study, "p2")
    assert work(first) == 12
    assert "C0DE" not in late.text
    late.send()
    assert "Your completion code: C0DE" in late.text
    assert [(row["status"], row["answers"]) for row in payments(study)] == [
        ("completed", "12"),
        ("completed", "0"),
    ]


def test_codes_are_the_studys_or_each_persons_own(start: Starting):
    study = start([short_dialogue(1, "a")], crowd=CROWD, **PLAIN)
    for person in ("a", "b"):
        work(join(study, person))
    codes = [row["code"] for row in payments(study)]
    assert len(set(codes)) == 2
    assert f"done?cc={codes[0]}" in arrive(study, "a").html


def test_a_formula_in_a_parameter_stays_text(start: Starting):
    study = start(crowd=CROWD, **PLAIN)
    join(study, "%3DHYPERLINK(1)")
    (row,) = payments(study)
    assert row["PROLIFIC_PID"] == "'=HYPERLINK(1)"


def test_closing_the_study_gives_those_at_work_their_code(start: Starting):
    study = start(crowd=CROWD, **PLAIN)
    visitor = join(study, "p1").send()
    visitor.send({"q0": "3"})
    study.admin().send({"action": "close"}, form="")
    assert "Your completion code" in visitor.look().text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"crowd": {"quota": 0}}, "quota below 1"),
        ({"crowd": {"person": []}}, "names no parameter"),
        ({"crowd": {"return_url": "javascript:alert(1)"}}, "return_url"),
        ({"screening": [{"text": "a", "options": ["x"], "accepted": ["x"]}]}, "fewer than two"),
        ({"screening": [{"text": "a", "options": ["x", "y"], "accepted": ["z"]}]}, "not among"),
        ({"training": {"data": "x", "pass_mark": 2}}, "pass_mark"),
        ({"minutes": 0}, "minutes"),
        ({"show": ["persona"]}, "expected goal or meta.KEY"),
        ({"language": "xx"}, "expected one of en, de"),
    ],
)
def test_impossible_settings_are_errors(changes, words):
    with pytest.raises(DataError, match=words):
        read_study(None, **changes)
