"""The search of the documentation site, in a browser: a page of how-to or of a command is found before a paper's."""

import http.server
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("mkdocs", reason="needs the extra `docs`")

from mkdocs.commands.build import build
from mkdocs.config import load_config

from tools.site_pages import ROOT

pytestmark = pytest.mark.slow

QUESTIONS = {  # the names that pages are called by (`tools.site_pages.CALLED`) were chosen with these
    "LLM as a judge": "judge", "how many ratings": "power", "p value": "statistics", "hallucination": "judge",
    "langchain": "convert", "compare two agents": "compare", "confidence interval": "statistics",
    "ci github actions": "ci", "import csv": "convert", "annotation app": "rate",
    "mechanical turk": "rate-crowd", "prompt injection": "attack-a-judge", "gpu": "models",
    "custom metric": "extend", "leaderboard": "leaderboard", "no ratings": "unrated",
    "off-policy evaluation": "ope", "BLEU": "score", "export langfuse": "export", "cohen kappa": "ratings",
    "mturk": "rate-crowd", "jailbreak": "attack-a-judge", "sample size": "power",
    "which metric should I use": "trust", "simulate a user": "play", "gaming a metric": "attack",
    "several trials of a task": "reliability", "inter-annotator agreement": "ratings",
    "million dialogues": "scale", "tool calls": "agents-with-tools", "github action": "ci", "ollama": "judge",
    "rouge score": "score", "elo rating": "compare-preferences", "read parquet": "convert",
    "langsmith": "export", "human evaluation": "rate", "work offline": "models", "write a plugin": "extend",
    "bootstrap": "statistics", "html report": "report", "which bot is best": "leaderboard",
    "prolific study": "rate-crowd", "evaluate function calling": "agents-with-tools", "user simulator": "play",
    "correlation with human ratings": "meta", "regression between two versions": "diff",
    "bot without ratings": "unrated", "train on my ratings": "train",
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, built and served."""
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    handler = partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def found(window: Any, site: str, words: str) -> str:
    """The page that the search names first."""
    window.goto(f"{site}/?q={quote(words)}")
    first = window.locator(".md-search-result__item > a").first
    first.wait_for(timeout=30_000)
    place = str(first.get_attribute("href")).split("?")[0].removeprefix(site)
    return Path(place).parts[1]


def test_nineteen_of_twenty_questions_lead_to_the_page_that_answers_them(browser: Any, site: str):
    window = browser.new_page()
    wrong = {words: came for words, page in QUESTIONS.items() if (came := found(window, site, words)) != page}
    window.close()
    print(f"{len(QUESTIONS) - len(wrong)} of {len(QUESTIONS)} questions", wrong)
    assert len(wrong) <= len(QUESTIONS) / 20, wrong
