"""docs/api.md says what the code says."""

from tools import make_api


def test_the_page_is_that_of_the_docstrings():
    assert make_api.PAGE.read_text() == make_api.page(), "run `python -m tools.make_api`"


def test_every_public_name_of_the_library_is_explained():
    unexplained = [
        line for line in make_api.page().split("## turnwise.types")[0].splitlines()
        if line.startswith("* `") and "`: " not in line
    ]  # fmt: skip
    assert not unexplained
