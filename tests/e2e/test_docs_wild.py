"""The pages' examples on real files of other tools print what the pages show; skipped where the files are absent."""

from pathlib import Path

import pytest

from tests.console import Example, examples, fences, matches, output, pages
from tests.wild_corpora import WILD, needs_wild

pytestmark = pytest.mark.slow


def on_wild_files(page: Path) -> list[list[Example]]:
    """The text blocks of a page whose commands name files of other tools."""
    names = [path.name for path in WILD.iterdir()] if WILD.is_dir() else []
    blocks = [
        list(examples(one.text)) for one in fences(page) if one.kind == "text" and one.text.startswith("$ ")
    ]
    return [block for block in blocks if any(name in one.command for one in block for name in names)]


@needs_wild
@pytest.mark.parametrize("name", ["compare-ratings.md", "compare-preferences.md"])
def test_the_examples_on_files_of_other_tools_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    (page,) = (one for one in pages() if one.name == name)
    blocks = on_wild_files(page)
    assert blocks
    for path in WILD.iterdir():
        (tmp_path / path.name).symlink_to(path)
    for block in blocks:
        for example in block:
            came = output(example, tmp_path)
            assert matches(example.shown, came), f"$ {example.command}\n{came}"
