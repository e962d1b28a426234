"""Every command in README and docs runs, and prints what the page shows."""

from pathlib import Path

import pytest

from tests.console import BLOCK, examples, matches, output, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path):
    for block in BLOCK.findall(page.read_text()):
        for example in examples(block):
            came = output(example, tmp_path)
            assert matches(example.shown, came), f"$ {example.command}\n{came}"


def test_a_wrong_output_is_noticed():
    assert matches("a ... c", "a b\nb c")
    assert not matches("a ... c", "a b")
    assert not matches("", "something")
