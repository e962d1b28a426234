"""Quality control: checks, repeats, a shared set, raters set apart, the pilot; on both databases."""

from collections import Counter

import pytest

from tests.studies import Starting, exported, ratings, short_dialogue
from tests.visitor import Visitor
from turnwise.web.study.offensive import is_offensive
from turnwise.web.study.pilot import analyse_questions
from turnwise.web.study.status import study_status

STRICT = {"shared": 3, "checks": 2, "repeats": 1, "min_shared": 6}


def judge(visitor: Visitor, opinion, *, reads: bool = True) -> Counter[str]:
    """Answers by `opinion` of the item's number; somebody who reads also passes the checks. What was met."""
    visitor.send()
    met: Counter[str] = Counter()
    while visitor.is_asked:
        if "checks that people read" in visitor.text:
            met["check"] += 1
            asked = "5" if "highest" in visitor.text else "1"
            visitor.send({"q0": asked if reads else "3"})
            continue
        number = int(visitor.text.split("question ")[1].split("?")[0])
        met[visitor.text.split("to rate")[1].split("How")[0].strip()] += 1
        visitor.send({"q0": str(opinion(number))})
    return met


def sane(number: int) -> int:
    return 1 + number % 5


def test_every_rater_gets_the_shared_tasks_the_checks_and_a_repeat(start: Starting):
    study = start(per_task=1, per_rater=2, quality=STRICT)
    met = [judge(study.visitor(name), sane) for name in ("anna", "ben", "carl")]
    shared = set.intersection(*(set(one) for one in met)) - {"check"}
    assert len(shared) == 6  # two agents' replies to three contexts
    assert all(one["check"] == 2 for one in met)
    assert all(sorted(one.values())[-2:] == [2, 2] for one in met)  # the checks and one task that came again
    assert all(sum(one.values()) == 2 + 6 + 2 + 1 for one in met)


def test_raters_who_fail_a_check_or_disagree_are_set_apart_and_nothing_is_deleted(start: Starting):
    study = start(per_task=4, quality=STRICT)
    judge(study.visitor("anna"), sane)
    judge(study.visitor("ben"), sane)
    judge(study.visitor("careless"), sane, reads=False)
    judge(study.visitor("contrary"), lambda number: 6 - sane(number))
    admin = study.admin()
    assert "set apart: failed an attention check" in admin.text
    assert "2 of 2" in admin.text
    assert "below 0.2" in admin.text
    kept = exported(study.admin())
    assert {rater for rater, *_ in ratings(kept)} == {"anna", "ben"}
    apart = Counter(
        (r["rater"], r["reason"].split(" ")[0]) for one in kept for r in one.get("ratings_apart", ())
    )
    assert apart["careless", "rater"] == apart["contrary", "rater"] == 13  # the repeat too
    assert apart["anna", "a"] == apart["ben", "a"] == 1
    everything = exported(study.admin(), "?everything=yes")
    assert Counter(rater for rater, *_ in ratings(_with_turns(everything)))["careless"] == 15


def _with_turns(records: list[dict]) -> list[dict]:
    for one in records:
        for rating in one.get("ratings", ()):
            rating.setdefault("turn", -1)
    return records


def test_the_tasks_of_a_rater_who_fails_a_check_go_to_others_too(start: Starting):
    study = start(per_task=1, quality={"shared": 0, "checks": 1, "repeats": 0})
    careless = judge(study.visitor("careless"), sane, reads=False)
    assert sum(careless.values()) == 12 + 1
    anna = judge(study.visitor("anna"), sane)
    assert sum(anna.values()) == 12 + 1
    assert sum(judge(study.visitor("ben"), sane).values()) == 1  # nothing is left but the check
    assert Counter(rater for rater, *_ in ratings(exported(study.admin()))) == {"anna": 12}


def test_the_administrator_can_give_the_tasks_of_a_disagreeing_rater_to_others(
    start: Starting,
):
    study = start(per_task=3, quality={**STRICT, "checks": 0, "repeats": 0})
    for name, opinion in (("anna", sane), ("ben", sane), ("contrary", lambda number: 6 - sane(number))):
        judge(study.visitor(name), opinion)
    assert sum(judge(study.visitor("dora"), sane).values()) == 6  # the shared ones only
    admin = study.admin()
    doubt = next(form for form in admin.forms if ("action", "doubt") in form.buttons)
    assert doubt.fields["rater"] == "contrary"
    admin.client.post(admin.path, data={**doubt.fields, "action": "doubt"})
    assert sum(judge(study.visitor("dora"), sane).values()) == 6
    later = study.restarted()
    assert later.recorder.ledger.raters["contrary"].doubted
    assert "Others get these tasks too" in later.admin().text


def test_a_rater_who_answers_faster_than_anybody_reads_is_marked(start: Starting):
    study = start(per_task=1, quality={"shared": 0, "checks": 0, "repeats": 0})
    now = [1e9]
    study.recorder.clock = lambda: now[0]
    visitor = study.visitor("anna").send()
    while visitor.is_asked:
        now[0] += 0.3
        visitor.send({"q0": "3"})
    (row,) = study_status(study.recorder.ledger).raters
    assert (row.hasty, row.flagged) == (True, False)
    assert "answers in 0.3 s a task, faster than anybody reads" in study.admin().text


def test_a_check_needs_only_three_words_whatever_the_minimum_is(start: Starting):
    study = start(
        mode="write", per_task=1, quality={"shared": 0, "checks": 1, "repeats": 0}, write={"least_words": 9}
    )
    visitor = study.visitor()
    visitor.send()
    while visitor.is_asked:
        words = visitor.text.split("three words only: ")
        visitor.send({"text": words[1].split("\n")[0] if len(words) > 1 else "one two " * 5})
        assert visitor.status == 200
    assert not study.recorder.ledger.raters["anna"].failed_check


def test_agreement_is_updated_and_excludes_raters_who_are_set_apart(start: Starting):
    study = start(per_task=3, quality=STRICT)
    judge(study.visitor("anna"), sane)
    judge(study.visitor("ben"), sane)
    judge(study.visitor("careless"), lambda number: 3, reads=False)
    found = study_status(study.recorder.ledger)
    assert found.agreement[0].alpha_ordinal.value == pytest.approx(1)
    assert found.agreement[0].n_raters == 2
    assert [row.flagged for row in found.raters] == [False, False, True]
    assert all(row.consistency == 1 for row in found.raters)
    assert all(row.seconds >= 0 for row in found.raters)
    assert found.agents == {"a": 12, "b": 12}
    assert found.apart  # those of the careless one, and repeats
    assert sum(found.apart.values()) == sum(
        len(one.get("ratings_apart", ())) for one in exported(study.admin())
    )
    assert "Set apart in the export" in study.admin().text
    assert (found.answered, found.wanted) == (24, 30)  # six tasks want somebody in the careless one's place


def test_the_pilot_analysis_finds_the_questions_with_agreement(start: Starting, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        "per_task = 4\n[quality]\nshared = 0\nchecks = 0\nrepeats = 0\n"
        '[[question]]\nname = "overall"\n[[question]]\nname = "topic"\n[[question]]\nname = "background"\n'
    )
    study = start([short_dialogue(number, "a") for number in range(24)], file=str(file))
    for place, name in enumerate(("anna", "ben", "carl", "dora")):
        visitor = study.visitor(name)
        visitor.send()
        while visitor.is_asked:
            number = int(visitor.text.split("question ")[1].split("?")[0])
            noise = 1 + (number * (3 + 2 * place) + place) % 5
            visitor.send({"q0": str(sane(number)), "q1": str(sane(number)), "q2": str(noise)})
    overall, topic, background = analyse_questions(study.recorder.ledger)
    assert overall.conclusion == "raters agree"
    assert "answers repeat those to the first question" in topic.conclusion
    assert topic.correlation_with_first == pytest.approx(1)
    assert "do not agree" in background.conclusion
    assert len(background.dots) > len(overall.dots)  # people who agree lie on one place
    page = study.admin()
    page.look(f"{page.path}/pilot")
    assert page.status == 200
    assert "reword the question" in page.text


@pytest.mark.parametrize(
    ("names", "slips", "conclusion"),
    [
        (("anna", "ben"), 0, "open: 2 raters are no verdict"),
        (("anna", "ben", "carl"), 0, "raters agree"),
        (("anna", "ben", "carl"), 3, "open: alpha may be above 0.667 or below it"),
    ],
)
def test_the_pilot_has_a_verdict_only_where_the_interval_has_one(
    start: Starting, names: tuple[str, ...], slips: int, conclusion: str
):
    study = start(
        [short_dialogue(number, "a") for number in range(8)], per_task=len(names),
        quality={"shared": 0, "checks": 0, "repeats": 0},
    )  # fmt: skip
    for name in names:
        visitor = study.visitor(name).send()
        while visitor.is_asked:
            number = int(visitor.text.split("question ")[1].split("?")[0])
            answer = 1 + number % 5
            visitor.send({"q0": str(6 - answer if name == "ben" and number < slips else answer)})
    (found,) = analyse_questions(study.recorder.ledger)
    assert found.conclusion.startswith(conclusion)


def test_a_writer_who_fails_a_check_is_set_apart(start: Starting):
    study = start(mode="write", per_task=2, quality={"shared": 0, "checks": 1, "repeats": 0})
    for name in ("anna", "careless"):
        visitor = study.visitor(name)
        visitor.send()
        while visitor.is_asked:
            words = visitor.text.split("three words only: ")
            asked = words[1].split("\n")[0] if len(words) > 1 and name == "anna" else "some words of mine"
            visitor.send({"text": asked})
    assert {one["meta"]["writer"] for one in exported(study.admin())} == {"anna"}


@pytest.mark.parametrize(
    "text", ["You SHIT", "sh1t happens", "f u c k off", "fuuuuck", "what a b!tch", "ärsehole", "Fuckers!"]
)
def test_disguised_offensive_words_are_found(text: str):
    assert is_offensive(text)


@pytest.mark.parametrize(
    "text",
    [
        "a classic assessment",
        "Scunthorpe",
        "the title of the book",
        "I am 5 feet tall",
        "pass the grapes",
        "a b c d",
    ],
)
def test_words_that_contain_an_offensive_word_are_not_offensive(text: str):
    assert not is_offensive(text)


def test_a_study_can_block_further_words():
    assert is_offensive("Voldemort!", ["voldemort"])
    assert not is_offensive("Voldemort!")
