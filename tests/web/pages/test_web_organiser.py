"""The administrator's page: links, pausing, reasons for a stall, stopping, the pilot page, the live page."""

import pytest

from tests.browsing import QUIET, arrive, picture
from tests.studies import PLAIN, Running, Starting, finish, short_dialogue
from turnwise.types import Reply
from turnwise.web.study.pilot import analyse_questions
from turnwise.web.study.stalls import to_invite
from turnwise.web.study.status import study_status
from turnwise.web.study.stopping import widths


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "ratings.db")


def act(study: Running, action: str, rater: str = "") -> None:
    admin = study.admin()
    fields = next(form.fields for form in admin.forms if not rater or form.fields.get("rater") == rater)
    assert admin.client.post(admin.path, data={**fields, "action": action}).status_code == 200


def test_links_can_be_revoked_and_renewed(start: Starting):
    study = start(**PLAIN)
    anna = study.visitor("anna").send()
    anna.send({"q0": "2"})
    act(study, "revoke", "anna")
    assert study.client.get(anna.path).status_code == 404
    act(study, "renew", "anna")
    assert study.client.get(anna.path).status_code == 404
    fresh = study.restarted().visitor("anna")
    assert fresh.path != anna.path
    assert "Task 2" in fresh.text


def test_links_expire_and_can_be_renewed(start: Starting):
    study = start(link_days=7, **PLAIN)
    now = [1e9]
    study.recorder.clock = lambda: now[0]
    anna = study.visitor("anna")
    now[0] += 8 * 24 * 3600
    anna.look()
    assert anna.status == 410
    assert "expired" in anna.text
    act(study, "renew", "anna")
    assert study.visitor("anna").status == 200


@pytest.mark.parametrize(("quota", "said"), [(5, True), (6, False)])
def test_a_quota_that_is_too_small_for_the_tasks_is_named_before_it_is_full(start: Starting, quota, said):
    study = start(per_task=2, per_rater=4, crowd={"quota": quota}, **PLAIN)  # 12 tasks need 24 answers
    assert ("give at most 20 of the 24 answers that are missing" in study.admin().text) == said


def test_a_paused_study_says_so_and_goes_on(start: Starting):
    study = start(**PLAIN)
    anna = study.visitor("anna").send()
    act(study, "pause")
    anna.send({"q0": "2"})
    assert anna.status == 409
    assert "This study is paused" in anna.look().text
    assert "The study is paused." in study.admin().text
    act(study, "open")
    assert "Task 1" in anna.look().text


def test_too_few_raters_are_named_with_how_many_to_invite(start: Starting):
    study = start(per_task=3, **PLAIN)
    for name in ("anna", "ben"):
        study.visitor(name)
    assert (
        "Each task needs 3 raters, and there are 2 whose answers count: invite 1 more." in study.admin().text
    )
    assert to_invite(study.recorder.ledger) == 1
    study.visitor("carl")
    assert to_invite(study.recorder.ledger) == 0
    assert "invite" not in study.admin().text.split("Raters")[0].casefold()


def test_raters_with_too_small_a_share_are_too_few(start: Starting):
    study = start(per_task=2, per_rater=4, **PLAIN)
    for name in ("anna", "ben"):
        study.visitor(name)
    assert to_invite(study.recorder.ledger) == 4  # 24 answers, 4 of each rater
    assert "cannot do all tasks: invite 4 more" in study.admin().text


def test_an_agent_that_fails_is_named_with_its_last_error(start: Starting):
    def broken(turns, rng):
        raise OSError("no connection to the model")

    study = start(mode="chat", per_task=1, agents={"helper": broken}, **PLAIN)
    study.visitor().send().send({"text": "hello"}, form="say")
    text = study.admin().text
    assert "The agent helper failed 1 times in the last hour" in text
    assert "OSError: no connection to the model" in text


def test_a_study_stops_when_the_intervals_are_narrow_enough(start: Starting, monkeypatch):
    monkeypatch.setattr("turnwise.web.study.stopping.LOOK_SECONDS", 0.0)
    data = [short_dialogue(number, agent) for number in range(30) for agent in ("a", "b")]
    study = start(data, per_task=3, stop={"half_width": 0.5, "least_tasks": 10}, **PLAIN)
    visitors = [study.visitor(name).send() for name in ("anna", "ben", "carl")]
    count = 0
    while not study.recorder.ledger.closed and count < 90:
        for shift, visitor in enumerate(visitors):
            number = int(visitor.text.split("question ")[1].split("?")[0])
            visitor.send({"q0": str(2 + (number + shift) % 2)})
        count += 1
    assert study.recorder.ledger.closed
    assert 10 <= count < 60
    found = widths(study.recorder.ledger)
    assert [one.agent for one in found] == ["a", "b"]
    assert all(one.half_width <= 0.5 and one.n_tasks >= 10 for one in found)
    assert "half-width of every agent's mean is at most 0.5" in study.admin().text


def test_the_pilot_page_leaves_out_raters_set_apart_and_shows_raw_agreement(start: Starting):
    study = start(per_task=3, quality={"shared": 0, "checks": 1, "repeats": 0})
    for name in ("anna", "ben", "careless"):
        visitor = study.visitor(name).send()
        k = 0
        while visitor.is_asked:
            check = "This line checks" in visitor.text
            if name == "careless":
                visitor.send({"q0": "3"})
            else:  # nearly always the same answer
                visitor.send(
                    {"q0": "1" if check else "4" if (k := k + 1) == (5 if name == "anna" else 6) else "5"}
                )
    (found,) = analyse_questions(study.recorder.ledger)
    assert found.agreement.n_raters == 2
    assert found.raw_agreement > 0.8
    assert found.agreement.alpha_ordinal.value < 0.667
    assert "prevalence paradox" in found.conclusion
    assert "equal pairs 0.8" in study.client.get(f"{study.admin().path}/pilot").text


def test_the_live_page_never_wipes_a_field_and_shows_new_answers(serve, visit):
    links = serve([short_dialogue(number, "a") for number in range(4)], "per_task = 2\n" + QUIET)
    admin = visit(links["admin"])
    count = admin.get_by_label("Invite")
    count.fill("17")
    rater = visit(links["anna"])
    rater.keyboard.press("Enter")
    arrive(rater, "Task 1")
    rater.keyboard.press("4")
    rater.keyboard.press("Enter")
    arrive(rater, "Task 2")
    admin.get_by_text("1 of 8 answers").wait_for(timeout=180_000)
    assert count.input_value() == "17"
    admin.get_by_role("button", name="Copy the link of anna").click()
    admin.get_by_text("The link of anna was copied.").wait_for()
    for _ in range(2):  # the second refresh begins after the first has been shown
        with admin.expect_response(links["admin"]):
            pass
    assert count.input_value() == "17"
    picture(admin, "admin")


def test_status_counts_no_place_twice(start: Starting):
    study = start(per_task=2, **PLAIN)
    for name in ("anna", "ben"):
        finish(study.visitor(name))
    found = study_status(study.recorder.ledger)
    assert (found.answered, found.wanted) == (24, 24)


def test_an_agent_that_recovers_is_asked_again(start: Starting):
    calls: list[int] = []

    def fails_first(turns, rng):
        calls.append(1)
        if len(calls) == 1:
            raise OSError("busy")
        return Reply("here")

    study = start(mode="chat", per_task=1, agents={"x": fails_first}, **PLAIN)
    visitor = study.visitor().send().send({"text": "hello"}, form="say")
    visitor.send({}, form="say")
    assert "here" in visitor.text
