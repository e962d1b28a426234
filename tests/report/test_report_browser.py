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
        page, own = context.new_page(), (path.as_uri(), "blob:")  # a blob is in memory
        page.on("request", lambda request: request.url.startswith(own) or wrong.append(request.url))
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
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object").count() == 0
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


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with few figures: two agents by two metrics and ratings, and three metrics against four dimensions."""
    folder = tmp_path_factory.mktemp("small")
    compared = ("compare", CORPUS, "-m", "rouge-l,length", "--agents", "good,dull", "--pair", "meta.topic")
    assert ran(*compared, "-o", str(folder / "runs/compare")) == 0
    tested = ("meta", CORPUS, "-m", "rouge-l,length,chrf", "--dimension", "all", "--draws", "100")
    assert ran(*tested, "-o", str(folder / "runs/meta")) == 0
    assert ran("score", CORPUS, "-m", "length,chrf", "-o", str(folder / "runs/score")) == 0
    assert ran("report", str(folder / "runs"), "-o", str(folder / "report.html")) == 0
    return folder / "report.html"


def figure(page, title: str):
    return page.locator("figure", has=page.get_by_role("heading", name=title, exact=True)).first


def column(table, number: int) -> list[str]:
    return table.locator(f"tbody tr:visible td:nth-child({number})").all_inner_texts()


def test_a_table_is_sorted_by_a_click_or_a_key_on_the_head_of_a_column(small_file: Path, visit: Callable):
    page = visit(small_file)
    shown = figure(page, "length of each agent")
    shown.locator("summary", has_text="The numbers as a table").click()
    table = shown.locator("table")
    agents, estimates = column(table, 1), [float(text) for text in column(table, 2)]
    assert len(set(estimates)) > 3
    table.get_by_role("button", name="agent").click()
    assert column(table, 1) == sorted(agents)
    assert table.locator("th[aria-sort]").all_inner_texts() == ["agent"]
    assert table.locator("th").first.get_attribute("aria-sort") == "ascending"
    table.get_by_role("button", name="estimate").focus()
    page.keyboard.press("Enter")
    assert [float(text) for text in column(table, 2)] == sorted(estimates, reverse=True)
    assert table.locator("th[aria-sort=descending]").inner_text() == "estimate"
    page.keyboard.press("Enter")
    assert [float(text) for text in column(table, 2)] == sorted(estimates)
    assert table.locator("th[aria-sort]").count() == 1


def test_figures_and_rows_of_other_metrics_and_dimensions_are_hidden(small_file: Path, visit: Callable):
    page = visit(small_file)
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
    titles = page.locator("figure h3").all_inner_texts()
    page.get_by_label("Metric").select_option("length")
    shown = page.locator("figure:visible h3").all_inner_texts()
    assert {"length of each agent", "where good and dull differ most by length"} <= set(shown) < set(titles)
    assert not [title for title in shown if "chrf" in title or "rouge-l" in title]
    cells = page.locator("figure[data-kind=differences] tbody tr:visible td:first-child").all_inner_texts()
    assert "length" in cells
    assert "rouge-l" not in cells
    n_figures, n_rows = (
        int(word) for word in page.locator("#choose output").inner_text().split() if word.isdigit()
    )
    assert n_figures == len(titles) - len(shown)
    assert n_rows > 0
    page.get_by_label("Metric").select_option("all")
    assert page.locator("figure:visible h3").all_inner_texts() == titles
    assert page.locator("#choose output").inner_text() == ""
    assert page.locator("tbody tr[hidden]").count() == 0
    dimensions = page.get_by_label("Dimension").locator("option").all_inner_texts()[1:]
    assert len(dimensions) > 1
    page.get_by_label("Dimension").select_option("overall")
    others = [name for name in dimensions if name != "overall"]
    shown = page.locator("figure:visible h3").all_inner_texts()
    assert not [title for title in shown if any(name in title.split() for name in others)]


def test_an_agent_is_highlighted_by_the_pointer_a_click_and_the_keyboard(small_file: Path, visit: Callable):
    page = visit(small_file)
    shown = figure(page, "length of each agent")
    lit = shown.locator("svg .lit")
    label = shown.locator("svg text", has_text="dull")
    label.hover()
    assert set(lit.evaluate_all("all => all.map(one => one.tagName)")) == {"text", "circle", "path"}
    assert all("dull" in text for text in lit.all_text_contents())
    others = "figure svg.one .dot:not(.lit)"
    assert float(page.locator(others).first.evaluate("one => getComputedStyle(one).opacity")) < 0.5
    page.mouse.move(1, 1)
    assert page.locator(".lit").count() == 0
    label.click()
    page.mouse.move(1, 1)
    assert page.get_by_label("Highlight agent").input_value() == "dull"
    assert lit.count() == 3
    label.click()
    page.mouse.move(1, 1)
    assert page.locator(".lit").count() == 0
    page.get_by_label("Highlight agent").focus()
    page.keyboard.type("good")
    page.keyboard.press("Enter")
    assert page.get_by_label("Highlight agent").input_value() == "good"
    assert set(page.locator("span.lit").all_text_contents()) == {"good"}
    assert set(lit.locator("title").all_text_contents())
    page.locator(".tile .name.agent").first.hover()  # a link remains a link
    page.locator(".tile .name.agent").first.click()
    assert "#section-" in page.url


def test_a_figure_is_saved_as_it_is_seen(small_file: Path, visit: Callable, tmp_path: Path):
    image = pytest.importorskip("PIL.Image")
    for scheme, light in (("light", True), ("dark", False)):
        page = visit(small_file, color_scheme=scheme)
        shown = figure(page, "length of each agent")
        files = {}
        for form in ("PNG", "SVG"):
            with page.expect_download() as download:
                shown.get_by_role("button", name=f"Save {form}").click()
            files[form] = tmp_path / f"{scheme}.{form}"
            download.value.save_as(files[form])
            assert download.value.suggested_filename == f"length-of-each-agent.{form.lower()}"
        page.wait_for_function("document.querySelector('.tools output:not(:empty)')?.textContent === 'saved'")
        drawn = image.open(files["PNG"]).convert("RGB")
        assert drawn.width == 1200
        assert (min(drawn.getpixel((2, 2))) > 200) == light
        assert len(drawn.getcolors(1 << 20)) > 20  # letters and marks, not a blank picture
        text = files["SVG"].read_text()
        assert "<title>dull: " in text
        page = visit(small_file)
        page.set_content(text)
        assert page.evaluate("getComputedStyle(document.querySelector('.whisker')).stroke") not in (
            "none",
            "",
        )


def test_a_figure_is_copied_as_png(small_file: Path, visit: Callable):
    page = visit(small_file, permissions=["clipboard-read", "clipboard-write"])
    tools = figure(page, "length of each agent").locator(".tools")
    tools.get_by_role("button", name="Copy").click()
    tools.get_by_text("copied", exact=True).wait_for()
    types = page.evaluate("navigator.clipboard.read().then(all => all.flatMap(one => one.types))")
    assert types == ["image/png"]


def test_without_script_and_in_print_nothing_is_shown_that_does_nothing(small_file: Path, visit: Callable):
    page = visit(small_file, java_script_enabled=False)
    assert page.locator("button").count() == 0
    assert not page.locator("#choose").is_visible()
    assert page.get_by_role("heading", name="where good and dull differ most by rouge-l").is_visible()
    page = visit(small_file)
    assert page.locator("#choose").is_visible()
    page.emulate_media(media="print")
    assert page.locator("#choose").is_visible() is False
    assert page.locator(".tools:visible").count() == 0


@pytest.mark.skipif(
    "TURNWISE_AXE" not in os.environ, reason="TURNWISE_AXE does not name axe.min.js (npm pack axe-core)"
)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(small_file: Path, visit: Callable, width: int, scheme: str):
    page = visit(small_file, width=width, color_scheme=scheme)
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
    page.get_by_label("Highlight agent").select_option("good")
    page.locator("th button").first.click()
    page.evaluate(Path(os.environ["TURNWISE_AXE"]).read_text() + "; null")
    found = page.evaluate("axe.run({preload: false})")["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    picture(page, f"report-small-{width}")
