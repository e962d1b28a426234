"""The documentation site: links between pages, papers and files of the repository."""

import pytest

pytest.importorskip("mkdocs", reason="needs the extra `docs`")

from tools.site_pages import PAGES, ROOT, reference_pages, rewrite_links

FORGE = "https://forge.example/turnwise"


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("score.md", "../papers/adem.md", "papers/adem.md"),
        ("score.md", "../README.md#more", "first-result.md#more"),
        ("score.md", "meta.md", "meta.md"),
        ("papers/adem.md", "../docs/train.md#x", "../train.md#x"),
        ("papers/adem.md", "learned.md", "learned.md"),
        ("papers/adem.md", "adem.py", f"{FORGE}/blob/main/papers/adem.py"),
        ("papers/fbd-prd.md", "figures/fbd-bars.png", "figures/fbd-bars.png"),
        ("first-result.md", "docs/score.md", "score.md"),
        ("first-result.md", "CHANGELOG.md", "changelog.md"),
    ],
)
def test_a_link_of_the_repository_leads_to_the_same_page_on_the_site(page: str, link: str, expected: str):
    assert rewrite_links(f"see [it]({link}).", page, FORGE) == f"see [it]({expected})."


@pytest.mark.parametrize("link", ["https://example.org/a.md", "#here", "../no/such/file.md"])
def test_other_links_stay_as_they_are(link: str):
    assert rewrite_links(f"[it]({link})", "score.md", FORGE) == f"[it]({link})"


def test_fenced_blocks_stay_as_they_are():
    text = "```console\n$ cat [a](../papers/adem.md)\n```\n[a](../papers/adem.md)"
    assert rewrite_links(text, "score.md", FORGE) == text[: -len("../papers/adem.md)")] + "papers/adem.md)"


def test_every_page_from_outside_of_docs_exists():
    assert all((ROOT / source).is_file() for source in PAGES)
    assert "reference/turnwise.md" in reference_pages()


def test_pictures_are_small():
    pictures = list((ROOT / "docs" / "images").glob("*.png"))
    assert pictures
    assert all(one.stat().st_size < 200_000 for one in pictures)
