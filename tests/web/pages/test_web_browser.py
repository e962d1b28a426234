"""The app in headless Chromium: by keyboard, closed in the middle, on small screens, without script, alone."""

import json

import pytest

from tests.browsing import QUIET, arrive, picture, rated
from tests.studies import short_dialogue
from turnwise.types import Dialogue, Turn

pytestmark = pytest.mark.slow


def test_a_rater_rates_twenty_items_by_keyboard_with_an_interruption(serve, visit):
    links = serve([short_dialogue(number, "a") for number in range(20)])
    page = visit(links["anna"])
    picture(page, "welcome")
    page.keyboard.press("Enter")
    for number in range(1, 11):
        arrive(page, f"Task {number} of")
        if number == 1:
            picture(page, "reply")
        page.keyboard.press(str(1 + number % 5))
        page.keyboard.press("Enter")
    arrive(page, "Task 11 of")
    page.keyboard.press("u")  # undo: the tenth again, where 1 was chosen
    arrive(page, "already answered this task")
    assert page.locator("input:checked").get_attribute("value") == "1"
    picture(page, "undo")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    arrive(page, "Task 11 of")
    page.context.close()

    page = visit(links["anna"])
    for number in range(11, 21):
        arrive(page, f"Task {number} of")
        page.keyboard.press("ArrowRight")  # into the scale
        page.keyboard.press("ArrowRight")  # and along it
        page.keyboard.press("Enter")
    arrive(page, "Thank you")
    picture(page, "done")
    page.keyboard.press("u")  # undo works from the last page too
    arrive(page, "already answered this task")
    page.keyboard.press("Enter")
    arrive(page, "Thank you")
    ratings = [r for one in rated(links["admin"]) for r in one["ratings"]]
    assert len(ratings) == 20
    assert [r["was"][0]["value"] for r in ratings if "was" in r] == [1]
    assert sorted(r["value"] for r in ratings) == sorted([2, 3, 4, 5, 1, 2, 3, 4, 5, 4, *[2] * 10])


def test_a_pairwise_session_by_keyboard(serve, visit):
    dialogues = [short_dialogue(k, agent, f"{agent} says {k}") for k in range(6) for agent in ("a", "b")]
    links = serve(dialogues, QUIET, "--mode", "pairwise")
    page = visit(links["ben"])
    page.keyboard.press("Enter")
    for number in range(1, 7):
        arrive(page, f"Task {number} of")
        if number == 1:
            picture(page, "pairwise")
        first = page.locator(".pair .rated").first.inner_text()
        page.keyboard.press("2" if number == 6 else "1" if "a says" in first else "3")
        page.keyboard.press("Enter")
    arrive(page, "Thank you")
    found = rated(links["admin"])
    agents = {one["id"]: one["agent"] for one in found}
    chosen = [
        {"this": one["agent"], "other": agents[made["other"]]}.get(made["winner"], made["winner"])
        for one in found
        for made in one.get("preferences", [])
    ]
    assert sorted(chosen) == [*["a"] * 5, "tie"]


def test_two_dialogues_are_shown_side_by_side(serve, visit):
    said = ((f"{agent} on {k}?", f"{agent} says {k}") for k in range(2) for agent in ("a", "b"))
    talks = [
        Dialogue(f"d{k}", said[1][0], (Turn("user", said[0]), Turn("assistant", said[1])) * 3, meta={"goal": k // 2})
        for k, said in enumerate(said)
    ]  # fmt: skip
    links = serve(talks, QUIET, "--mode", "pairwise", "--whole", "--pair", "meta.goal")
    page = visit(links["ben"])
    page.keyboard.press("Enter")
    arrive(page, "Second dialogue")
    picture(page, "whole")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").wait_for()
    group = page.get_by_role("radiogroup", name="Which is better?")
    assert (
        "needs one of the three answers"
        in page.locator(f"#{group.get_attribute('aria-describedby')}").inner_text()
    )
    picture(page, "missing")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    arrive(page, "Task 2")


def test_a_live_dialogue_with_a_local_agent_by_keyboard(serve, visit):
    goal = {"name": "Virginia Taylor", "goal": "book", "departure": "HOU", "return": "DFW", "max_price": 200}
    tasks = [Dialogue(f"goal-{k}", "none", (Turn("system", "sell"),), goal=goal) for k in range(2)]
    said = [
        "Hi, I want to {goal} a ticket.",
        "My name is {name}.",
        "From {departure} to {return}.",
        "Thank you.",
    ]
    study = f"[chat]\ntemplates = {json.dumps(said)}\n"
    links = serve(tasks, study, "--mode", "chat", "--agent", "one=bots:shop", "--agent", "two=bots:shop")
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "Your goal")
    page.keyboard.press("Alt+1")
    arrive(page, "Very well: Hi, I want to book a ticket.")
    page.keyboard.type("my own words")
    page.keyboard.press("Enter")
    arrive(page, "Very well: my own words")
    picture(page, "chat")
    page.keyboard.press("Alt+3")
    arrive(page, "Scores of the decision")
    picture(page, "outcome")
    assert "one" not in page.locator("main").inner_text().split()
    page.keyboard.press("1")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    arrive(page, "Task 2")
    (talk,) = rated(links["admin"])
    assert [m["content"] for m in talk["messages"]][1::2] == [
        "Hi, I want to book a ticket.", "my own words", "From HOU to DFW.",
    ]  # fmt: skip
    assert {(r["dimension"], r["value"]) for r in talk["ratings"]} == {("success", 1), ("overall", 4)}


def test_all_pages_work_without_script(serve, visit):
    study = QUIET + '[[question]]\nname = "x"\nkind = "slider"\nscale = [0, 100]\nlabels = ["none", "all"]\n'
    links = serve([short_dialogue(number, "a") for number in range(2)], study)
    page = visit(links["anna"], java_script_enabled=False)
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("spinbutton").fill("37")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Save").click()  # nothing chosen
    assert page.get_by_role("alert").is_visible()
    page.get_by_role("spinbutton").fill("38")
    page.get_by_role("button", name="Save").click()
    arrive(page, "Thank you")
    assert {r["value"] for one in rated(links["admin"]) for r in one["ratings"]} == {37, 38}


def test_an_untouched_slider_is_not_an_answer(serve, visit):
    study = QUIET + '[[question]]\nname = "x"\nkind = "slider"\nscale = [0, 100]\nlabels = ["none", "all"]\n'
    links = serve([short_dialogue(1, "a")], study)
    page = visit(links["anna"])
    page.get_by_role("button", name="Begin").click()
    arrive(page, "Task 1")
    picture(page, "slider")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").wait_for()
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    arrive(page, "Thank you")
    assert [r["value"] for one in rated(links["admin"]) for r in one["ratings"]] == [51]


def test_html_and_very_long_texts_are_shown_safely(serve, visit):
    evil = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    links = serve([short_dialogue(1, "<i>a</i>", evil + "w" * 100_000)], f'title = "<b>T</b>"\n{QUIET}')
    page = visit(links["anna"], width=390)
    page.keyboard.press("Enter")
    arrive(page, "Task 1")
    assert page.title() == "<b>T</b>"
    assert page.locator(".rated").inner_text().count("<script>") == 1
    picture(page, "long")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    arrive(page, "Thank you")
    admin = visit(links["admin"])
    assert admin.title() == "<b>T</b>: administration"


def test_every_control_has_a_name_for_a_screen_reader(serve, visit):
    study = "understood = true\n" + QUIET
    links = serve([short_dialogue(number, "a") for number in range(3)], study)
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "Task 1")
    assert page.get_by_role("radio", name="1 low quality").count() == 1
    assert page.get_by_role("radiogroup", name="How appropriate is the reply overall?").count() == 1
    assert page.get_by_role("checkbox", name="I did not understand this dialogue").count() == 1
    assert page.get_by_role("progressbar", name="Progress").count() == 1
    controls = "[...document.querySelectorAll('input:not([type=hidden]), textarea, button, a')]"
    named = "e.labels?.length || e.textContent.trim() || e.getAttribute('aria-label')"
    unnamed = f"{controls}.filter(e => !({named}))"
    assert page.evaluate(f"{unnamed}.length") == 0
    assert visit(links["admin"]).evaluate(f"{unnamed}.length") == 0
