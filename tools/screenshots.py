"""`python -m tools.screenshots [DATA]`: the pictures of docs/images, with headless Chromium.

Plays the demo and takes pictures of its report, light and dark, and of some of its sections; makes the report of
the tutorial and one more, and takes their pictures; serves `turnwise rate` on a free port, passes the start page
as a rater would, and takes pictures of a rater's page and of the admin page; serves `turnwise view` on a run and
takes pictures of its list and of a dialogue. With DATA, the folder of
judges_dailyz.jsonl.gz, takes a picture of what recorded judges are worth. Needs the extras `web` and `models`,
playwright and Chromium.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from playwright.sync_api import Browser, FloatRect, Page, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
LIMIT = 200_000  # bytes a picture
TALLEST = 700.0  # pixels of a section
TURNWISE = [sys.executable, "-m", "turnwise"]
METRICS = "rouge-l,length,distinct-2"
ANSWER = [  # docs/tutorial.md
    "simulate booking --family wordings --agents 10 --dialogues 60 --samples 2 --truth 1000 --seed 5 -q -o sales.jsonl",
    "ope sales.jsonl --all --rating reward --model hashing --estimator robust -o answer -q",
    "report answer -o answer.html --title Sales",
]
RUNS = {
    "score": ["-m", METRICS],
    "meta": ["-m", METRICS, "--dimension", "all", "--statistic", "spearman"],
    "compare": ["-m", METRICS, "--agents", "good,dull", "--pair", "meta.topic"],
}
RATED = "demo/ji2022.jsonl.gz"
SECTIONS = {  # picture -> the folder of the demo whose section it shows
    "meta": "trust",
    "attack": "gamed",
    "ope": "unrated",
    "power": "ratings",
    "reliability": "reliable",
}
# Metrics of verdicts that three language models gave, by context and reply.
JUDGES = """
import json

SAID = json.load(open("said.json"))


def said(model, replies):
    texts = ([*(turn["content"] for turn in one["context"]), one["response"]] for one in replies)
    return [SAID[model].get(json.dumps(text)) for text in texts]


def gpt_4o(replies):
    return said("gpt-4o", replies)


def gemini_flash(replies):
    return said("gemini-2.5-flash", replies)


def claude_haiku(replies):
    return said("claude-haiku-4-5", replies)
"""
JUDGED = "judges:gpt_4o,judges:gemini_flash,judges:claude_haiku,rouge-l,length"
STUDY = "[quality]\nshared = 0\nchecks = 0\nrepeats = 0\n"


def call(folder: Path, *arguments: str) -> None:
    subprocess.run([*TURNWISE, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def write_report(folder: Path) -> str:
    """Makes the report of three runs on the demo corpus; its address."""
    for command, options in RUNS.items():
        call(folder, command, "demo/demo.jsonl", *options, "-o", f"out/{command}", "-q")
    call(folder, "report", "out", "-o", "report.html")
    return (folder / "report.html").as_uri()


def write_judges(folder: Path, recorded: Path) -> str:
    """Makes the report of the agreement of recorded judges with people; its address."""
    said: dict[str, dict[str, float]] = {}
    with gzip.open(recorded, "rt") as lines, (folder / "people.jsonl").open("w") as people:
        for record in map(json.loads, lines):
            text = json.dumps([message["content"] for message in record["messages"]])
            for rating in record["ratings"]:
                if rating.get("automatic"):
                    said.setdefault(rating["rater"], {})[text] = rating["value"]
            record["ratings"] = [one for one in record["ratings"] if not one.get("automatic")]
            people.write(json.dumps(record) + "\n")
    (folder / "said.json").write_text(json.dumps(said))
    (folder / "judges.py").write_text(JUDGES)
    asked = [
        "--dimension",
        "relevance",
        "--statistic",
        "spearman",
        "--level",
        "turn",
        "-o",
        "judged/run",
        "-q",
    ]
    call(folder, "meta", "people.jsonl", "-m", JUDGED, *asked)
    call(folder, "report", "judged", "-o", "judged.html", "--title", "Three judges")
    return (folder / "judged.html").as_uri()


@contextmanager
def rating_app(folder: Path) -> Iterator[dict[str, str]]:
    """Serves the rating app; name -> link of the admin and of each rater."""
    (folder / "study.toml").write_text(STUDY)
    options = ["--study", "study.toml", "--raters", "anna,ben", "--port", "0"]
    with subprocess.Popen(
        [*TURNWISE, "rate", "demo/demo.jsonl", *options], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            yield dict(line.split() for line in islice(server.stdout or (), 3))
        finally:
            server.terminate()


@contextmanager
def viewer(folder: Path) -> Iterator[str]:
    """Serves the viewer of the run `meta`; its link."""
    command = [*TURNWISE, "view", "out/meta", "--port", "0", "--no-open"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield next(iter(server.stdout or ())).strip()
        finally:
            server.terminate()


def open_page(
    browser: Browser, link: str, *, width: int = 1100, height: int = 800, dark: bool = False
) -> Page:
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    page.goto(link)
    return page


def take_section(page: Page, run: str, name: str) -> None:
    """The top of the section of one run, without what is folded below it."""
    section = page.locator("section", has=page.locator("p.about", has_text=re.compile(rf"/{run}:")))
    box = section.bounding_box()
    if box is None:
        raise SystemExit(f"the report shows no section of {run}")
    take(page, name, clip={**box, "height": min(box["height"], TALLEST)})


def take(page: Page, name: str, clip: FloatRect | None = None) -> None:
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path, clip=clip, full_page=clip is not None)
    size = path.stat().st_size
    print(f"{path.name}: {size / 1000:.0f} kB")
    if size > LIMIT:
        raise SystemExit(f"{path} has {size} bytes, more than {LIMIT}")


def main(arguments: list[str]) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium is installed (Debian: apt-get install chromium)")
    IMAGES.mkdir(exist_ok=True)
    flags = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        call(folder, "demo", "--corpus", "-o", "demo")
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        call(folder, "demo", "-o", "played", "-q")
        played = (folder / "played" / "report.html").as_uri()
        take(open_page(browser, played, height=860), "demo")
        take(open_page(browser, played, height=860, dark=True), "demo-dark")
        page = open_page(browser, played)
        for picture, run in SECTIONS.items():
            take_section(page, run, picture)
        report = write_report(folder)
        take(open_page(browser, report), "report")
        figure = open_page(browser, report)
        figure.locator("h2", has_text="Which metric can be believed?").evaluate(
            "heading => heading.scrollIntoView()"
        )
        take(figure, "report-figure")
        call(folder, "compare", RATED, "-m", "rating:overall", "--pair", "none", "-o", "ranked/board", "-q")
        call(folder, "report", "ranked", "-o", "ranked.html", "--title", "Seven bots")
        take(open_page(browser, (folder / "ranked.html").as_uri(), height=900), "leaderboard")
        if arguments:
            address = write_judges(folder, Path(arguments[0]) / "judges_dailyz.jsonl.gz")
            take_section(open_page(browser, address), "run", "judge")
        for line in ANSWER:
            call(folder, *line.split())
        take(open_page(browser, (folder / "answer.html").as_uri(), height=760), "answer")
        with rating_app(folder) as links:
            rater = open_page(browser, links["anna"], height=480)
            start_rating(rater, finished=12)
            take(rater, "rate")
            phone = open_page(browser, links["ben"], width=390, height=720)
            start_rating(phone, finished=12)
            take(phone, "rate-phone")
            take(open_page(browser, links["admin"], height=820), "rate-admin")
        with viewer(folder) as link:
            compared = "unit=reply&metric=metric:rouge-l&people=rating:overall&sort=gap"
            take(open_page(browser, f"{link}?{compared}", width=1200, height=720), "view")
            take(open_page(browser, f"{link}/dialogue?id=gym-rude", width=1200, height=720), "view-dialogue")
        browser.close()


def start_rating(page: Page, *, finished: int = 0) -> None:
    """Passes the start page, and rates so many replies by keyboard: longer ones higher, and some a little lower."""
    page.keyboard.press("Enter")
    for number in range(1, finished + 1):
        wait_for_task(page, number)
        words = len(page.locator(".rated").inner_text().split())
        page.keyboard.press(str(max(1, min(5, 1 + words // 6) - (number % 4 == 0))))
        page.keyboard.press("Enter")
    wait_for_task(page, finished + 1)


def wait_for_task(page: Page, number: int) -> None:
    page.get_by_text(f"Task {number} of").first.wait_for()
    page.wait_for_load_state("load")


if __name__ == "__main__":
    main(sys.argv[1:])
