"""The viewer in headless Chromium: filter, sort, links, keyboard, hostile and very long texts, small screens.

TURNWISE_SCREENSHOTS=DIR keeps pictures of the pages, to be looked at. TURNWISE_AXE=FILE names axe.min.js of the npm
package axe-core (`npm pack axe-core`), with which the pages are then checked for accessibility.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.web.viewer.conftest import exchange, rating, write_records
from tests.web.viewer.test_view_pages import EVIL, evil_dialogue

pytestmark = pytest.mark.slow

WIDTHS = (1280, 390)
PATIENCE = 180_000  # milliseconds: a busy machine is no failure


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts `turnwise view` in the test's folder; its link."""
    started: list[subprocess.Popen] = []

    def begin(*words: str) -> str:
        command = [sys.executable, "-m", "turnwise", "view", *words, "--port", "0", "--no-open"]
        environment = {**os.environ, "TURNWISE_CACHE": str(tmp_path / "cache")}
        server = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started.append(server)
        return server.stdout.readline().strip()

    yield begin
    for server in started:
        server.kill()
        server.wait()
        server.stdout.close()


@pytest.fixture
def open_page(browser) -> Iterator[Callable]:
    """Opens a link in a new window; a request to anywhere else, a page's error or a dialog fails the test."""
    contexts, wrong = [], []

    def open_link(link: str, *, width: int = 1280, **options: object):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        origin = "{0.scheme}://{0.netloc}/".format(urlsplit(link))
        page.on("request", lambda request: request.url.startswith(origin) or wrong.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: line.type == "error" and wrong.append(line.text))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(link)
        return page

    yield open_link
    for context in contexts:
        context.close()
    assert not wrong


def check(page, name: str) -> None:
    """The page is never wider than the screen; with the settings above, keep pictures and ask axe-core."""
    folder, axe = os.environ.get("TURNWISE_SCREENSHOTS"), os.environ.get("TURNWISE_AXE")
    before = page.viewport_size
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in ("light", "dark") if folder or axe else ():
            page.emulate_media(color_scheme=scheme)
            if folder:
                page.screenshot(path=f"{folder}/view-{name}-{width}-{scheme}.png")
            if axe:
                page.evaluate(Path(axe).read_text())
                found = page.evaluate("axe.run({preload: false})")["violations"]
                assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    page.set_viewport_size(before)


def shown_ids(page) -> list[str]:
    return page.locator("tr[data-entry] th > a").all_inner_texts()


def arrive(page, text: str) -> None:
    """Waits for a page with this text, and for its script: a key pressed before would be lost."""
    page.get_by_text(text).first.wait_for()
    page.wait_for_load_state("load")


@pytest.fixture
def rated(tmp_path: Path) -> str:
    """A run over 120 dialogues of two agents, two on each context, with ratings by two people.

    The reply to question n has 2 + n % 7 words; ann rates it 1 + n % 5 and ben 1 + n % 3.
    """
    records = [
        exchange(
            f"{agent}-{number}", agent, f"question {number}", "word " * (1 + number % 7) + f"{agent}{number}",
            ratings=[rating(1 + number % 5, "ann", turn=1), rating(1 + number % 3, "ben", turn=1)],
        )
        for number in range(60)
        for agent in ("plain", "lively")
    ]  # fmt: skip
    write_records(tmp_path / "logs.jsonl", records)
    command = [sys.executable, "-m", "turnwise", "score", "logs.jsonl", "-m", "length", "-o", "out", "-q"]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    return "out"


def test_a_list_is_searched_filtered_and_sorted(serve, open_page, rated):
    page = open_page(serve(rated))
    arrive(page, "120 of 120 dialogues")
    check(page, "list")
    page.get_by_label("Search", exact=True).fill("lively17")
    page.get_by_role("button", name="Show").click()
    arrive(page, "1 of 120 dialogues")
    assert shown_ids(page) == ["lively-17"]
    assert page.locator("mark").first.inner_text() == "lively17"
    page.get_by_role("link", name="Clear").click()
    arrive(page, "120 of 120 dialogues")
    page.get_by_label("plain").check()
    page.get_by_label("Column 1", exact=True).select_option(label="length")
    page.get_by_label("From, column 1").fill("8")
    page.get_by_label("Sort by", exact=True).select_option(label="overall")
    page.get_by_label("Order").select_option(label="lowest first")
    page.get_by_role("button", name="Show").click()
    arrive(page, "8 of 120 dialogues")
    longest = [number for number in range(60) if number % 7 == 6]
    by_rating = sorted(longest, key=lambda number: number % 5 + number % 3)
    assert shown_ids(page) == [f"plain-{number}" for number in by_rating]
    assert page.locator("th[aria-sort=ascending]").inner_text() == "overall ↑"
    page.locator("th[aria-sort] a").click()
    page.locator("th[aria-sort=descending]").wait_for()
    by_rating = sorted(longest, key=lambda number: -(number % 5 + number % 3))
    assert shown_ids(page) == [f"plain-{number}" for number in by_rating]


def test_metric_and_people_far_apart_are_found_by_rank(serve, open_page, rated):
    page = open_page(serve(rated) + "?unit=reply")
    page.get_by_label("Metric", exact=True).select_option(label="length")
    page.get_by_label("People", exact=True).select_option(label="overall")
    page.get_by_label("ranks apart").fill("0.8")
    page.get_by_label("Sort by", exact=True).select_option(label="metric against people")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("columnheader", name="length above overall").wait_for()
    gaps = [float(one.split()[-1]) for one in page.locator("td.value:nth-child(3)").all_inner_texts()]
    assert gaps == sorted(gaps, reverse=True)
    assert all(abs(one) >= 0.8 for one in gaps)
    assert min(gaps) < 0 < max(gaps)
    check(page, "gap")


def test_a_deep_link_shows_its_turn_and_survives_a_restart(serve, open_page, rated, tmp_path):
    first = serve(rated)
    page = open_page(first)
    page.get_by_role("link", name="plain-7", exact=True).click()
    arrive(page, "permanent link")
    page.get_by_role("link", name="Link to turn 1").click()
    page.wait_for_url("**#t1")
    address = urlsplit(page.url)
    assert parse_qs(address.query) == {"id": ["plain-7"], "turn": ["1"]}
    again = urlsplit(serve(rated))
    page = open_page(f"http://{again.netloc}{address.path}?{address.query}#t1")
    assert "plain7" in page.locator("#t1").inner_text()
    assert page.locator("#t1").get_attribute("aria-current") == "true"
    check(page, "turn")
    begun = open_page(serve(rated, "--item", "lively-3#1"))
    assert "lively3" in begun.locator("[aria-current=true]").inner_text()


def test_everything_can_be_done_by_keyboard(serve, open_page, rated):
    page = open_page(serve(rated))
    arrive(page, "120 of 120 dialogues")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    check(page, "keys")
    page.keyboard.press("j")  # has no effect behind the dialog
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="hidden")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.textContent") == "lively-0"
    page.keyboard.press("Enter")
    arrive(page, "2 of 120")
    page.keyboard.press("j")
    arrive(page, "3 of 120")
    page.keyboard.press("ArrowRight")
    arrive(page, "4 of 120")
    page.keyboard.press("ArrowLeft")
    arrive(page, "3 of 120")
    page.keyboard.press("k")
    arrive(page, "2 of 120")
    page.keyboard.press("f")
    assert page.locator("main details:not([open])").count() == 0
    page.keyboard.press("u")
    arrive(page, "120 of 120 dialogues")
    page.keyboard.press("ArrowRight")
    arrive(page, "page 2 of 3")
    page.keyboard.press("/")
    page.keyboard.type("jk?/")  # letters in a field are letters
    assert page.get_by_label("Search", exact=True).input_value() == "jk?/"
    page.get_by_label("Search", exact=True).fill("question 5")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=question+5**")
    page.wait_for_load_state("load")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "plain-5"


def test_two_agents_are_read_side_by_side(serve, open_page, rated):
    page = open_page(serve(rated))
    page.get_by_role("link", name="Side by side").click()
    arrive(page, "60 contexts that both have")
    check(page, "beside")
    page.get_by_label("Largest difference in").select_option(label="length")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**sort=metric%3Alength**")
    left, right = page.locator(".pair-entry").first.locator(".side").all()
    assert "word plain" in left.inner_text()
    assert "word lively" in right.inner_text()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Context 2"


@pytest.mark.parametrize("script", [True, False])
def test_hostile_text_in_every_field_stays_text(serve, open_page, tmp_path, script):
    records = [evil_dialogue(EVIL, EVIL + "2", EVIL), evil_dialogue(EVIL + "2", EVIL, EVIL + "b")]
    write_records(tmp_path / "logs.jsonl", records)
    command = [sys.executable, "-m", "turnwise", "score", "logs.jsonl", "-m", "length", "-o", "out", "-q"]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    items = [json.loads(line) for line in (tmp_path / "out/items.jsonl").read_text().splitlines()]
    for item in items:
        item["scores"][EVIL] = 0.5
        item |= {EVIL: EVIL, "reasons": {EVIL: EVIL}}
    (tmp_path / "out/items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    link = serve("out")
    there = f"id={quote(EVIL)}"
    paths = {
        "list": "",
        "replies": "?unit=reply",
        "search": f"?text={quote(EVIL)}",
        "dialogue": f"/dialogue?{there}&turn=4",
        "beside": f"/beside?unit=reply&{there}&turn=4",
    }
    for name, path in paths.items():
        page = open_page(link + path, java_script_enabled=script)
        assert page.locator("img").count() == 0
        assert page.locator("main").inner_text().count("<script>") > 0
        if script:
            page.keyboard.press("f")  # unfold everything
            check(page, f"evil-{name}")
        assert page.title() != "taken"


def test_a_message_of_a_megabyte_and_ten_thousand_turns_are_shown(serve, open_page, tmp_path):
    long = exchange("long", "a", "q", "w" * 500_000 + " middle " + "é" * 500_000 + " end")
    many = exchange(
        "many", "a", *(f"text {number}" for number in range(10_000)), ratings=[rating(3, turn=9_999)]
    )
    write_records(tmp_path / "logs.jsonl", [long, many])
    link = serve("logs.jsonl")
    page = open_page(link)
    arrive(page, "2 of 2 dialogues")
    check(page, "large-list")
    page.get_by_role("link", name="long", exact=True).click()
    arrive(page, "more characters")
    check(page, "long")
    page.get_by_role("link", name="Show the whole message").click()
    page.wait_for_url("**whole=1**")
    assert page.locator("#t1 .text").evaluate("one => one.textContent.length") == 1_000_012
    check(page, "whole")
    page = open_page(f"{link}/dialogue?id=many&turn=9999#t9999")
    assert "text 9999" in page.locator("#t9999").inner_text()
    assert page.locator(".message").count() == 200
    assert page.get_by_text("page 50 of 50").count() == 2
    check(page, "many")
    page.get_by_role("link", name="Previous", exact=True).first.click()
    arrive(page, "page 49 of 50")
    assert page.locator(".message").first.inner_text().split()[-1] == "9600"


def test_pages_work_without_script(serve, open_page, rated):
    page = open_page(serve(rated), java_script_enabled=False)
    page.get_by_label("Search", exact=True).fill("plain4")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="plain-4", exact=True).click()
    page.get_by_text("by rater").first.click()
    assert page.get_by_role("cell", name="ann").is_visible()
    assert page.get_by_role("button", name="Keys").count() == 0  # it needs the script


def test_on_a_small_screen_the_form_is_folded_and_nothing_is_cut_off(serve, open_page, rated):
    link = serve(rated)
    page = open_page(link, width=390)
    for path in ("", "/beside?unit=reply"):
        page.goto(link + path)
        assert not page.get_by_label("Search", exact=True).is_visible()
        page.keyboard.press("/")
        assert page.get_by_label("Search", exact=True).is_visible()
    check(page, "phone")


def test_every_control_has_a_name_for_a_screen_reader(serve, open_page, rated):
    link = serve(rated)
    controls = "[...document.querySelectorAll('input:not([type=hidden]), select, button, a, summary')]"
    named = "e.labels?.length || e.textContent.trim() || e.getAttribute('aria-label')"
    for path in ("", "?unit=reply", "/dialogue?id=plain-3", "/beside?unit=reply"):
        page = open_page(link + path)
        assert page.evaluate(f"{controls}.filter(e => !({named})).length") == 0
        assert page.locator("h1").count() == 1
        assert page.evaluate("document.documentElement.lang") == "en"


def test_a_bundle_is_read_from_disk_by_mouse_and_keyboard(open_page, rated, tmp_path):
    command = [sys.executable, "-m", "turnwise", "view", "out", "--bundle", "share", "-q", "--no-open"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    page = open_page((tmp_path / done.stdout.strip()).as_uri())
    arrive(page, "120 of 120 dialogues")
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.tabs')).display") == "flex"
    )  # it has its style
    check(page, "bundle-list")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    arrive(page, "1 of 120")
    page.keyboard.press("j")
    arrive(page, "2 of 120")
    check(page, "bundle-dialogue")
    page.keyboard.press("u")
    arrive(page, "120 of 120 dialogues")
    page.get_by_role("link", name="Replies").click()
    arrive(page, "120 of 120 replies")
    page.get_by_role("link", name="plain-7#1").click()
    page.wait_for_url("**/dialogue-plain-7.html#t1")
    assert page.locator("#t1").evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    check(page, "bundle-turn")
