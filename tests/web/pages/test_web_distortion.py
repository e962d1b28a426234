"""What could distort a judgement, in headless Chromium: clipped texts, answers that nobody gave, keys, missing help."""

import json

import pytest

from tests.browsing import QUIET, arrive, picture, rated
from tests.studies import short_dialogue
from turnwise.types import Dialogue, Turn

pytestmark = pytest.mark.slow

LONG_REPLY = "\n".join(f"line {k} of a long reply that must be read to its end" for k in range(60))
SLIDERS = QUIET + "".join(
    f'[[question]]\nname = "{name}"\nkind = "slider"\nscale = [0, 100]\nlabels = ["none", "all"]\n'
    for name in ("first", "second")
)


def long_dialogue(turns: int = 60) -> Dialogue:
    said = [
        Turn("user" if k % 2 == 0 else "assistant", f"message {k} " + "of many words " * 20)
        for k in range(turns)
    ]
    return Dialogue("long", "a", (*said, Turn("user", "and now?"), Turn("assistant", "the reply to judge")))


def on_screen(page, selector: str) -> bool:
    """Whether all of the element is inside the window."""
    inside = "const b = e.getBoundingClientRect(); return b.top >= -1 && b.bottom <= innerHeight + 1"
    return page.locator(selector).first.evaluate(f"e => {{ {inside} }}")


@pytest.mark.parametrize("width", [1280, 390])
def test_no_judged_text_is_clipped(serve, visit, width):
    links = serve([short_dialogue(1, "a", LONG_REPLY)])
    page = visit(links["anna"], width=width)
    page.keyboard.press("Enter")
    arrive(page, "The reply to rate")
    sizes = page.locator(".rated .text").evaluate("e => [e.clientHeight, e.scrollHeight]")
    assert sizes[0] == sizes[1] > 1000
    page.mouse.wheel(0, 99999)
    page.wait_for_timeout(200)
    last = page.get_by_text("line 59 of a long reply")
    covered = "e => { const r = document.createRange(); r.selectNodeContents(e); const b = r.getBoundingClientRect();"
    covered += " const f = document.querySelector('form.answers').getBoundingClientRect();"
    covered += " return b.bottom > f.top + 1 }"
    assert not last.evaluate(covered)  # the questions at the lower edge do not hide the end of the reply


def test_reply_and_questions_stay_in_view_beside_a_long_context(serve, visit):
    links = serve([long_dialogue()], QUIET, "--items", "last")
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "The reply to rate")
    picture(page, "long-context")
    page.set_viewport_size({"width": 1280, "height": 900})
    for _ in range(4):
        assert on_screen(page, ".rated")
        assert on_screen(page, "form.answers button.primary")
        page.mouse.wheel(0, 1500)
        page.wait_for_timeout(100)


def test_on_a_phone_the_questions_stay_in_view(serve, visit):
    links = serve([long_dialogue()], QUIET, "--items", "last")
    page = visit(links["anna"], width=390, height=700, has_touch=True)
    page.get_by_role("button", name="Begin").click()
    arrive(page, "message 0")
    assert on_screen(page, "form.answers button.primary")
    page.mouse.wheel(0, 2000)
    page.wait_for_timeout(100)
    assert on_screen(page, "form.answers")


def has_focus(page, selector: str) -> bool:
    return page.locator(selector).first.evaluate("e => document.activeElement === e")


@pytest.mark.parametrize("by_key", [False, True])
def test_on_a_phone_a_link_leads_from_the_questions_to_the_reply(serve, visit, by_key):
    links = serve([long_dialogue()], QUIET, "--items", "last")
    page = visit(links["anna"], width=390, height=700, has_touch=True)
    page.get_by_role("button", name="Begin").click()
    arrive(page, "message 0")
    link = page.get_by_role("link", name="Show what is judged")
    assert on_screen(page, ".to-judged")
    assert link.bounding_box()["height"] >= 24  # the least size of a target for a finger (WCAG 2.5.8)
    assert not on_screen(page, ".rated")
    if by_key:
        link.focus()
        page.keyboard.press("Enter")
    else:
        link.tap()
    page.wait_for_function("() => document.querySelector('.rated').getBoundingClientRect().top < innerHeight")
    assert on_screen(page, ".rated")
    assert has_focus(page, ".rated")  # a screen reader goes on there
    bar, reply = page.locator("form.answers").bounding_box(), page.locator(".rated").bounding_box()
    assert reply["y"] + reply["height"] <= bar["y"]  # the questions do not cover it
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    arrive(page, "Thank you")
    assert [r["value"] for one in rated(links["admin"]) for r in one["ratings"]] == [4]


def test_on_a_phone_a_link_leads_from_the_question_to_a_pair_of_replies(serve, visit):
    heard = long_dialogue().turns[:-1]
    pair = [Dialogue(name, name, (*heard, Turn("assistant", f"{name} replies"))) for name in ("a", "b")]
    links = serve(pair, QUIET, "--mode", "pairwise", "--items", "last")
    page = visit(links["anna"], width=390, height=700, has_touch=True)
    page.get_by_role("button", name="Begin").click()
    arrive(page, "message 0")
    assert not on_screen(page, ".rated")
    page.get_by_role("link", name="Show what is judged").tap()
    page.wait_for_function("() => document.querySelector('.rated').getBoundingClientRect().top < innerHeight")
    assert on_screen(page, ".rated >> nth=0")
    assert on_screen(page, ".rated >> nth=1")


def test_beside_the_context_no_link_to_the_reply_is_needed(serve, visit):
    links = serve([long_dialogue()], QUIET, "--items", "last")
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "The reply to rate")
    assert not page.locator(".to-judged").is_visible()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    ("mode", "target"), [("reply", ".rated"), ("dialogue", ".heard"), ("write", ".answers")]
)
def test_the_skip_link_leads_to_what_is_judged(serve, visit, width, mode, target):
    links = serve([long_dialogue(4)], QUIET, "--mode", mode, "--items", "last")
    page = visit(links["anna"], width=width)
    page.get_by_role("button", name="Begin").click()
    arrive(page, "message 0")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash === '#judged'")
    assert has_focus(page, target)


def test_a_long_reply_beside_a_short_context_can_be_read_to_its_end(serve, visit):
    links = serve([short_dialogue(1, "a", LONG_REPLY)])
    page = visit(links["anna"], height=600)
    page.keyboard.press("Enter")
    arrive(page, "The reply to rate")
    assert on_screen(page, "form.answers button.primary")
    page.get_by_text("line 59 of a long reply").evaluate("e => scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(100)
    assert on_screen(page, "form.answers")


def test_a_slider_has_no_thumb_and_no_value_until_it_is_chosen(serve, visit):
    links = serve([short_dialogue(1, "a")], SLIDERS)
    page = visit(links["anna"])
    page.get_by_role("button", name="Begin").click()
    arrive(page, "Task 1")
    slider = page.get_by_role("slider").first
    assert look(page, slider, 0.5) == look(
        page, slider, 0.25
    )  # the middle looks like the rest: there is no thumb
    assert slider.get_attribute("aria-valuetext") == "not answered"
    assert page.get_by_role("spinbutton").first.input_value() == ""
    slider.click()  # playwright clicks the middle
    page.mouse.move(0, 0)
    assert look(page, slider, 0.5) != look(page, slider, 0.25)
    assert slider.get_attribute("aria-valuetext") is None
    assert page.get_by_role("spinbutton").first.input_value() == "50"


def look(page, slider, share: float) -> bytes:
    """A picture of a part of the slider, at this share of its width."""
    box = slider.bounding_box()
    x = round(box["x"] + box["width"] * share) - 12
    return page.screenshot(clip={"x": x, "y": round(box["y"]), "width": 24, "height": round(box["height"])})


def test_digits_answer_every_kind_of_question(serve, visit):
    study = SLIDERS + '[[question]]\nname = "eleven"\nscale = [0, 10]\n[[question]]\nname = "five"\n'
    links = serve([short_dialogue(1, "a")], study)
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "Task 1")
    page.keyboard.type("73")
    page.keyboard.press("Enter")
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    page.keyboard.type("10")  # of a scale that also has 1
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    arrive(page, "Thank you")
    found = {r["dimension"]: r["value"] for one in rated(links["admin"]) for r in one["ratings"]}
    assert found == {"first": 73, "second": 8, "eleven": 10, "five": 4}


def test_the_first_answer_to_an_attention_check_counts(serve, visit):
    study = "per_task = 1\n[quality]\nshared = 0\nchecks = 1\nrepeats = 0\n"
    links = serve([short_dialogue(number, "a") for number in range(4)], study)
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    for number in range(1, 6):
        arrive(page, f"Task {number} of")
        is_check = page.get_by_text("This line checks").count() == 1
        page.keyboard.press("4" if is_check else "3")
        page.keyboard.press("Enter")
        if is_check:
            arrive(page, f"Task {number + 1} of" if number < 5 else "Thank you")
            page.keyboard.press("u")  # opens it again, and gives the answer that it asks for
            arrive(page, "already answered")
            page.keyboard.press("1")
            page.keyboard.press("Enter")
            arrive(page, f"Task {number + 1} of" if number < 5 else "Thank you")
    arrive(page, "Thank you")
    admin = visit(links["admin"])
    assert "failed an attention check" in admin.locator("#raters").inner_text()


def test_the_instructions_are_one_key_away(serve, visit):
    rules = "# Rules\n\nJudge **only** the [last reply](https://example.org/rules).\n<script>x</script>"
    links = serve([short_dialogue(1, "a")], f'''instructions = """\n{rules}"""\n{QUIET}''')
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "Task 1")
    assert not page.get_by_role("heading", name="Rules").is_visible()
    page.keyboard.press("?")
    assert page.get_by_role("heading", name="Rules").is_visible()
    link = page.get_by_role("link", name="last reply")
    assert link.get_attribute("href") == "https://example.org/rules"
    assert "noreferrer" in link.get_attribute("rel")
    picture(page, "instructions")
    page.keyboard.press("Escape")
    assert not page.get_by_role("heading", name="Rules").is_visible()
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    arrive(page, "Thank you")


def test_persona_knowledge_and_goal_are_shown_in_words(serve, visit):
    goal = {
        "hotel": {
            "info": {"type": "guesthouse", "stars": 4},
            "fail_info": {},
            "book": {"people": "6", "invalid": False},
            "reqt": ["phone", "address"],
        },
        "police": {},
    }
    meta = {"persona": ["I have three dogs.", "I like tea."], "knowledge": "Tea comes from China."}
    one = Dialogue("d", "a", (Turn("user", "hi"), Turn("assistant", "hello")), goal=goal, meta=meta)
    links = serve([one], 'show = ["meta.persona", "meta.knowledge", "goal"]\n' + QUIET)
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "The reply to rate")
    shown = page.get_by_role("complementary").inner_text()
    assert (
        "Persona\nI have three dogs.\nI like tea.\nKnowledge\nTea comes from China.\nThe user's goal"
        in plain(shown)
    )
    assert "Hotel – Wanted: type guesthouse, stars 4.\nHotel – Booking: people 6." in plain(shown)
    assert "Hotel – To ask for: phone, address." in shown
    for noise in ("fail_info", "invalid", "{", "olice"):
        assert noise not in shown
    picture(page, "about")


def plain(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line)


def test_tool_calls_and_results_are_folded_in_their_place(serve, visit):
    call = {"function": {"name": "search", "arguments": json.dumps({"city": "Cambridge"})}}
    turns = (
        Turn("user", "find a hotel"),
        Turn("assistant", None, extra={"tool_calls": [call]}),
        Turn("tool", json.dumps({"name": "Acorn <b>House</b>"})),
        Turn("assistant", "There is the Acorn House."),
    )
    links = serve([Dialogue("d", "a", turns)], QUIET, "--items", "last")
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "The reply to rate")
    assert not page.get_by_text("Cambridge").is_visible()
    page.get_by_text("Tool call: search").click()
    assert page.get_by_text('"city": "Cambridge"').is_visible()
    page.get_by_text("Tool result").click()
    assert page.get_by_text("Acorn <b>House</b>").is_visible()
    places = [
        page.get_by_text(text).first.bounding_box()["y"]
        for text in ("find a hotel", "Tool call", "Tool result")
    ]
    assert places == sorted(places)
    picture(page, "tools")


def test_messages_can_be_shown_as_safe_markdown(serve, visit):
    evil = "**bold** <img src=x onerror=alert(1)> [link](javascript:alert(1)) ![i](https://example.org/i.png)"
    evil += "\n\n| a | b |\n|-|-|\n| 1 | 2 |"
    links = serve([short_dialogue(1, "a", evil)], "markdown = true\n" + QUIET)
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "The reply to rate")
    rated_reply = page.locator(".rated")
    assert rated_reply.locator("strong").inner_text() == "bold"
    assert rated_reply.get_by_role("table").count() == 1
    assert rated_reply.locator("img, script, a[href^=javascript]").count() == 0
    assert "<img" in rated_reply.inner_text()


def test_a_second_tab_says_that_the_first_has_answered(serve, visit):
    links = serve([short_dialogue(number, "a") for number in range(2)])
    first = visit(links["anna"], expected="409")
    first.keyboard.press("Enter")
    arrive(first, "Task 1")
    second = first.context.new_page()
    second.goto(links["anna"])
    first.keyboard.press("4")
    first.keyboard.press("Enter")
    arrive(first, "Task 2")
    second.keyboard.press("1")
    second.keyboard.press("Enter")
    arrive(second, "answered in another window")
    assert second.locator("input:checked").get_attribute("value") == "4"
    assert [r["value"] for one in rated(links["admin"]) for r in one.get("ratings", ())] == [4]
    second.keyboard.press("1")
    second.keyboard.press("Enter")
    arrive(second, "Task 2")
    assert [r["value"] for one in rated(links["admin"]) for r in one.get("ratings", ())] == [1]
