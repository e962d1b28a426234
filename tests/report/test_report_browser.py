"""The report in headless Chromium: every figure, no error, no request, legible on a desk and on a telephone.

TURNWISE_SCREENSHOTS=DIR keeps pictures of the pages, to be looked at.
"""

import os
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tests.finished_runs import CORPUS, KINDS, ran, write_hostile, write_neural
from turnwise.report.labels import Box

pytest.importorskip("torch", reason="trained figures need the extra `neural`")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("report"),
]  # one process, so that the runs are made once

WIDTHS = (1280, 390)
PATIENCE = 180_000  # milliseconds: a busy machine is no failure
LETTERS = 8.5  # pixels: the least height of letters that can be read on a telephone


@pytest.fixture
def visit(browser) -> Iterator[Callable]:
    """Opens a file, and its folded figures unless `folded`; whatever it asks for beside itself, and whatever it
    complains of, fails the test.
    """
    contexts, wrong = [], []

    def open_file(path: Path, *, width: int = 1280, folded: bool = False, **options: object):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: request.url == path.as_uri() or wrong.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: wrong.append(line.text))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True) and not folded:
            page.eval_on_selector_all("details.more", "all => all.forEach(one => { one.open = true; })")
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture(scope="module")
def page_file(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_neural(folder)
    assert ran("report", str(runs), str(folder / "runs"), "-o", str(folder / "report.html")) == 0
    return folder / "report.html"


def picture(page, name: str) -> None:
    folder = os.environ.get("TURNWISE_SCREENSHOTS")
    for scheme in ("light", "dark") if folder else ():
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=f"{folder}/{name}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_shown_and_can_be_read(page_file: Path, visit: Callable, width: int):
    page = visit(page_file, width=width)
    kinds = page.eval_on_selector_all("figure", "all => all.map(one => one.dataset.kind)")
    assert set(kinds) == KINDS
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.eval_on_selector_all(
        "figure",
        "all => all.map(one => (one.querySelector('svg') || one.querySelector('.exchange')).getBoundingClientRect())",
    )  # fmt: skip
    assert all(size["width"] > 200 and size["height"] > 40 for size in sizes)
    letters = page.eval_on_selector_all(
        "svg text", "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert min(letters) > LETTERS
    picture(page, f"report-{width}")


def test_marks_stay_within_their_picture(page_file: Path, visit: Callable):
    page = visit(page_file)
    outside = page.evaluate(
        """[...document.querySelectorAll('svg')].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text, circle, rect')].filter(mark => {
                const box = mark.getBoundingClientRect();
                return box.left < frame.left - 2 || box.right > frame.right + 2
                    || box.top < frame.top - 2 || box.bottom > frame.bottom + 2;
            }).map(mark => svg.getAttribute('aria-label') + ': ' + mark.outerHTML.slice(0, 120));
        })"""
    )
    assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_light_and_dark(page_file: Path, visit: Callable, scheme: str):
    page = visit(page_file, color_scheme=scheme)
    ink, ground = page.evaluate(
        """(() => {
            const one = document.querySelector('svg text.tick');
            return [getComputedStyle(one).fill, getComputedStyle(one.closest('figure')).backgroundColor];
        })()"""
    )
    assert contrast(ink, ground) > 4.5  # what WCAG asks of small letters


def contrast(one: str, other: str) -> float:
    """Of two colours as `rgb(1, 2, 3)`, by WCAG's formula."""

    def light(colour: str) -> float:
        parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_page_prints_without_breaking_a_figure(page_file: Path, visit: Callable):
    page = visit(page_file)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


def test_missing_results_are_printed_too(tmp_path: Path, visit: Callable):
    assert ran("meta", CORPUS, "-m", "rouge-l,distinct-1", "--draws", "100", "-o", str(tmp_path / "out")) == 0
    assert ran("report", str(tmp_path / "out"), "-o", str(tmp_path / "x.html")) == 0
    page = visit(tmp_path / "x.html")
    page.emulate_media(media="print")
    lists = page.eval_on_selector_all(
        ".absent ul",
        "all => all.map(one => [one.getBoundingClientRect().height, getComputedStyle(one).maxHeight])",
    )
    assert lists
    assert all(height > 10 and most == "none" for height, most in lists)


def test_labels_of_dots_do_not_overlap(page_file: Path, visit: Callable):
    page = visit(page_file, width=390)
    pictures = page.eval_on_selector_all(
        "figure[data-kind=systems] svg",
        """all => all.map(svg => [...svg.querySelectorAll('text.quiet')].map(one => {
            const box = one.getBoundingClientRect();
            return [box.left, box.top, box.right, box.bottom];
        }))""",
    )
    assert pictures
    for boxes in pictures:
        assert len(boxes) == 4
        assert not any(Box(*one).overlaps(Box(*other)) for one, other in combinations(boxes, 2))


def test_every_table_can_be_opened_by_keyboard(page_file: Path, visit: Callable):
    page = visit(page_file)
    summary = page.locator("figure details summary", has_text="The numbers as a table").first
    summary.focus()
    page.keyboard.press("Enter")
    table = page.locator("figure details[open] table").first
    assert table.is_visible()
    assert table.locator("th").count() > 2


@pytest.mark.parametrize("script", [True, False])
def test_markup_in_a_log_is_not_executed(tmp_path: Path, visit: Callable, script: bool):
    write_hostile(tmp_path)
    assert ran("report", str(tmp_path / "out"), "-o", str(tmp_path / "x.html")) == 0
    page = visit(tmp_path / "x.html", java_script_enabled=script)
    assert page.title() == "turnwise report"
    assert page.locator("script, img, iframe, object").count() == 0
    assert page.locator("figure").count() > 3
    assert "<script>document.title='taken'</script>" in page.locator("main").inner_text()


def test_the_first_screen_answers_the_questions(page_file: Path, visit: Callable):
    page = visit(page_file, folded=True)
    tiles = page.locator(".tile")
    assert 3 <= tiles.count() <= 7
    bottoms = page.eval_on_selector_all(".tile", "all => all.map(one => one.getBoundingClientRect().bottom)")
    assert max(bottoms) < 900  # the height of the window
    questions = page.locator(".tile .question").all_inner_texts()
    assert {"Do the agents differ?", "Can a metric be believed?", "Can it be gamed?"} <= set(questions)
    badges = set(page.locator(".tile .badge").all_inner_texts())
    assert badges <= {"yes", "no", "can't tell", "caution"}  # not by colour alone
    for target in page.eval_on_selector_all(".tile", "all => all.map(one => one.getAttribute('href'))"):
        assert page.locator(target).count() == 1


def test_names_of_agents_and_metrics_are_not_broken(page_file: Path, visit: Callable):
    page = visit(page_file, width=390)
    lines = page.eval_on_selector_all(".tile .name", "all => all.map(one => one.getClientRects().length)")
    assert lines
    assert set(lines) == {1}


def test_the_contents_stay_in_view(page_file: Path, visit: Callable):
    page = visit(page_file)
    page.mouse.wheel(0, 3000)
    while page.evaluate("window.scrollY") < 1000:  # scrolling is animated
        page.wait_for_timeout(20)
    assert page.locator("nav").bounding_box()["y"] == 0
