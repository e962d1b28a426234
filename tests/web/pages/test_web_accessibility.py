"""axe-core on every page, forms with errors and the administrator's included; pages from right to left.

axe-core is no Python package: `npm pack axe-core` and unpack it, and set TURNWISE_AXE to its axe.min.js.
"""

import json
import os
from pathlib import Path

import pytest

from tests.browsing import QUIET, arrive, picture
from tests.studies import short_dialogue
from turnwise.types import Dialogue, Turn

pytestmark = pytest.mark.slow

AXE = os.environ.get("TURNWISE_AXE", "")
needs_axe = pytest.mark.skipif(not AXE, reason="TURNWISE_AXE does not name axe.min.js (npm pack axe-core)")


def violations(page, name: str) -> list[str]:
    """What axe-core finds on the page, in light and dark and on a phone."""
    found = []
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.evaluate(Path(AXE).read_text() + "; null")
            result = page.evaluate("axe.run()")
            found += [
                f"{name} {width} {scheme}: {one['id']}: {one['nodes'][0]['html'][:200]} "
                f"{one['nodes'][0].get('failureSummary', '')[:200]}"
                for one in result["violations"]
            ]
    page.set_viewport_size({"width": 1280, "height": 900})
    return found


def practice(path: Path) -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "practice reply"}]
    rated = [
        {"dimension": name, "value": value, "turn": 1} for name, value in (("overall", 3), ("slide", 50))
    ]
    record = {
        "id": "p",
        "agent": "x",
        "messages": turns,
        "ratings": rated,
        "meta": {"feedback": "It is *so-so*."},
    }
    path.write_text(json.dumps(record) + "\n")


CROWD = """
title = "A study"
instructions = "# Rules\\n\\nJudge the reply. [More](https://example.org)"
consent = "Data are kept for **a year**."
understood = true
markdown = true
show = ["meta.persona"]
[[question]]
name = "overall"
[[question]]
name = "slide"
kind = "slider"
scale = [0, 100]
labels = ["none", "all"]
[[screening]]
text = "Do you speak English?"
options = ["yes", "no"]
accepted = ["yes"]
[training]
data = "practice.jsonl"
within = 100
[crowd]
code = "C0DE"
return_url = "https://example.org/?cc={code}"
"""


@needs_axe
def test_no_page_of_a_crowd_study_has_a_violation(serve, visit, tmp_path):
    practice(tmp_path / "practice.jsonl")
    call = {"function": {"name": "search", "arguments": '{"a": 1}'}}
    turns = (
        Turn("user", "find it"),
        Turn("assistant", "wait", extra={"tool_calls": [call]}),
        Turn("tool", '{"b": 2}'),
        Turn("assistant", "# found\n\n`it` [here](https://example.org)"),
    )
    dialogues = [Dialogue("d", "a", turns, meta={"persona": ["I like tea.", "I run."]})]
    links = serve(dialogues, CROWD + QUIET, "--items", "last", raters="")
    found = []
    page = visit(links["join"].partition("?")[0] + "?PROLIFIC_PID=p1")
    found += violations(page, "join")
    page.get_by_role("button", name="Take part").click()
    arrive(page, "Consent")
    found += violations(page, "consent")
    page.get_by_role("button", name="I agree").click()
    arrive(page, "Do you speak English?")
    found += violations(page, "screening")
    page.get_by_role("button", name="Continue").click()
    arrive(page, "choose an answer")
    found += violations(page, "screening with an error")
    page.get_by_label("yes").check()
    page.get_by_role("button", name="Continue").click()
    arrive(page, "You can stop at any time")
    found += violations(page, "welcome")
    for number, name in enumerate(("practice", "task")):
        page.get_by_role("button", name="Begin" if number == 0 else "Continue").click()
        arrive(page, "The reply to rate")
        found += violations(page, name)
        page.get_by_role("button", name="Save").click()
        page.get_by_role("alert").wait_for()
        found += violations(page, f"{name} with errors")
        page.keyboard.press("?")
        found += violations(page, f"{name} with instructions")
        page.keyboard.press("Escape")
        for fold in page.locator("details.tool summary").all():
            fold.click()
        found += violations(page, f"{name} unfolded")
        page.get_by_role("radio", name="3").check(force=True)
        page.get_by_role("slider").click()
        page.get_by_role("button", name="Save").click()
        if number == 0:
            arrive(page, "Our answer")
            found += violations(page, "feedback")
    arrive(page, "Your completion code")
    found += violations(page, "done")
    admin = visit(links["admin"])
    found += violations(admin, "admin")
    admin.goto(f"{links['admin']}/pilot")
    found += violations(admin, "pilot")
    assert found == []


@needs_axe
def test_no_page_of_the_other_modes_has_a_violation(serve, visit):
    found = []
    pairs = [short_dialogue(k, agent, f"{agent} says {k}") for k in range(2) for agent in ("a", "b")]
    links = serve(pairs, QUIET, "--mode", "pairwise")
    page = visit(links["ben"], expected="status of 4")  # 422 and, at the end, 404
    page.keyboard.press("Enter")
    arrive(page, "Second reply")
    found += violations(page, "pairwise")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").wait_for()
    found += violations(page, "pairwise with an error")
    page.goto(links["ben"].rpartition("/")[0] + "/none")
    arrive(page, "There is nothing at this address")
    found += violations(page, "not found")
    assert found == []


@needs_axe
def test_no_page_of_writing_and_chats_has_a_violation(serve, visit):
    found = []
    links = serve([short_dialogue(1, "a")], QUIET, "--mode", "write", "--store", "write.db")
    page = visit(links["ben"])
    page.keyboard.press("Enter")
    arrive(page, "What would you reply?")
    found += violations(page, "write")
    page.keyboard.type("no")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    found += violations(page, "write with an error")
    tasks = [Dialogue("goal", "none", (Turn("system", "sell"),), goal={"name": "Ann", "price": 200})]
    study = QUIET + '[chat]\nbeside = true\ntemplates = ["I am {name}."]\n'
    chat = ("--mode", "chat", "--agent", "bots:shop", "--agent", "bots:broken", "--store", "chat.db")
    links = serve(tasks, study, *chat)
    page = visit(links["anna"])
    page.keyboard.press("Enter")
    arrive(page, "Your message")
    found += violations(page, "chat")
    page.keyboard.type("hello")
    page.keyboard.press("Enter")
    arrive(page, "could not reply")
    found += violations(page, "chat that failed")
    page.get_by_role("button", name="End the dialogue").click()
    arrive(page, "Which is better?")
    found += violations(page, "chat that is over")
    admin = visit(links["admin"])
    arrive(admin, "failed 1 times")
    found += violations(admin, "admin of a stalled study")
    admin.get_by_role("button", name="Close the study").click()
    arrive(admin, "Reopen the study")
    page.goto(links["anna"])
    arrive(page, "This study is closed")
    found += violations(page, "closed")
    assert found == []


@pytest.mark.parametrize("language", ["ar", "zh"])
def test_pages_of_other_scripts_are_laid_out_in_their_direction(serve, visit, language):
    said = {
        "ar": ("أين أجد فندقًا؟", "هناك فندق قريب من المحطة."),
        "zh": ("哪里有酒店？", "车站附近有一家酒店。"),
    }
    ask, reply = said[language]
    turns = (Turn("user", ask), Turn("assistant", "Which city?"), Turn("user", ask), Turn("assistant", reply))
    study = f'language = "{language}"\n' + QUIET
    study += '[[question]]\nname = "a"\n[[question]]\nname = "b"\nkind = "slider"\nscale = [0, 1000]\n'
    meta = {"persona": ["I like tea.", "I have a dog."]}
    study = 'show = ["meta.persona"]\n' + study
    links = serve([Dialogue("d", "a", turns, meta=meta)], study, "--items", "last")
    page = visit(links["anna"])
    picture(page, f"{language}-welcome")
    page.keyboard.press("Enter")
    page.locator(".rated").wait_for()
    picture(page, f"{language}-reply")
    rtl = language == "ar"
    heard, pane = page.locator(".heard").bounding_box(), page.locator(".pane").bounding_box()
    assert (heard["x"] > pane["x"]) == rtl
    assert page.locator(".rated .text").evaluate("e => getComputedStyle(e).direction") == (
        "rtl" if rtl else "ltr"
    )
    lines = page.locator(".about ul")  # bullets stand on the side where the lines begin, inside of the box
    assert (
        lines.evaluate("e => getComputedStyle(e).direction + getComputedStyle(e).paddingLeft") == "ltr19.2px"
    )
    english = page.get_by_text("Which city?")
    assert english.evaluate("e => getComputedStyle(e).direction") == "ltr"  # a message has its own direction
    user = page.locator(".turns .user").first.bounding_box()
    assistant = page.locator(".turns .assistant").first.bounding_box()
    assert (user["x"] + user["width"] < assistant["x"] + assistant["width"]) == rtl
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.locator(".progress").bounding_box()["height"] < 30  # one line, also on a phone
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.press("4")
    page.keyboard.type("700")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=2).wait_for()
    picture(page, f"{language}-done")
