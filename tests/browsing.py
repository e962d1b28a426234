"""Helpers for tests that drive the rating app in headless Chromium.

TURNWISE_SCREENSHOTS=DIR keeps pictures of the pages, to be looked at.
"""

import json
import os
from urllib.request import urlopen

QUIET = "[quality]\nshared = 0\nchecks = 0\nrepeats = 0\n"
WIDTHS = (1280, 390)


def picture(page, name: str) -> None:
    """The page at both widths, in light and dark, if pictures are wanted; never wider than the screen."""
    folder = os.environ.get("TURNWISE_SCREENSHOTS")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in ("light", "dark") if folder else ():
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 900})


def arrive(page, text: str) -> None:
    """Waits for a page with this text on it, and for its script: a key pressed before would be lost."""
    page.get_by_text(text).first.wait_for()
    page.wait_for_load_state("load")


def rated(link: str) -> list[dict]:
    with urlopen(f"{link}/export.jsonl") as answer:
        return [json.loads(line) for line in answer]
