"""A real browser and a real server for the tests of pages."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browsing import QUIET
from turnwise.logs import native
from turnwise.types import Dialogue

AGENT = """
import time
from pathlib import Path


def shop(messages):
    said = messages[-1]["content"]
    if sum(m["role"] == "user" for m in messages) < 3:
        return f"Very well: {said} What else?"
    return {"content": "Booked flight 1017.", "outcome": {"flight_score": 1.0, "reward": 0.7}}


def slow(messages):
    time.sleep(1.5)
    return f"slowly: {messages[-1]['content']}"


def held(messages):
    while not Path("go").exists():
        time.sleep(0.02)
    return f"at last: {messages[-1]['content']}"


def long(messages):
    return "many words " * 30 + messages[-1]["content"]


def broken(messages):
    raise OSError("no connection to the model")


def writes(messages):
    for word in ("one", " two", " three"):
        yield word
        time.sleep(0.6)


def loud(messages):
    return f"LOUD: {messages[-1]['content']}"
"""


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., dict[str, str]]]:
    """Starts `turnwise rate` on these dialogues; name -> link."""
    started: list[subprocess.Popen] = []

    def begin(
        dialogues: list[Dialogue], study: str = QUIET, *options: str, raters: str = "anna,ben"
    ) -> dict[str, str]:
        native.write(dialogues, str(tmp_path / "data.jsonl"))
        (tmp_path / "study.toml").write_text(study)
        (tmp_path / "bots.py").write_text(AGENT)
        command = [sys.executable, "-m", "turnwise", "rate", "data.jsonl", "--study", "study.toml"]
        server = subprocess.Popen(
            [*command, "--port", "0", *(["--raters", raters] if raters else []), *options],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        started.append(server)
        count = 1 + len([name for name in raters.split(",") if name]) + ("[crowd]" in study)
        return dict(server.stdout.readline().split() for _ in range(count))

    yield begin
    for server in started:
        server.kill()
        server.wait()
        server.stdout.close()


@pytest.fixture
def visit(browser) -> Iterator[Callable]:
    """Opens a link in a new browser window; a request to anywhere else, or a page's error, fails the test."""
    contexts, wrong = [], []

    def open_link(
        link: str, *, width: int = 1280, height: int = 900, expected: str = "422", **options: object
    ):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(180_000)  # a busy machine is no failure
        contexts.append(context)
        page = context.new_page()
        base = "/".join(link.split("/")[:3])
        page.on("request", lambda r: r.url.startswith(base) or wrong.append(r.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            lambda line: line.type == "error" and expected not in line.text and wrong.append(line.text),
        )
        page.goto(link)
        return page

    yield open_link
    for context in contexts:
        context.close()
    assert not wrong
