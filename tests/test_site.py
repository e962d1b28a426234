"""The documentation site: links between pages, papers and files of the repository."""

import json
import posixpath
import re

import pytest
import yaml

pytest.importorskip("mkdocs", reason="needs the extra `docs`")

from mkdocs.config import load_config

from tools import make_skill
from tools.site_pages import LINK, PAGES, ROOT, for_programs, reference_pages, rewrite_links, search_weight
from turnwise.commands import COMMANDS
from turnwise.commands.init import SCHEMA

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


def test_the_picture_of_the_readme_is_found_from_its_page():
    text = '<img src="docs/images/demo.png">'
    assert rewrite_links(text, "first-result.md", FORGE) == '<img src="../images/demo.png">'


@pytest.mark.parametrize("link", ["https://example.org/a.md", "#here", "../no/such/file.md"])
def test_other_links_stay_as_they_are(link: str):
    assert rewrite_links(f"[it]({link})", "score.md", FORGE) == f"[it]({link})"


def test_fenced_blocks_stay_as_they_are():
    text = "```console\n$ cat [a](../papers/adem.md)\n```\n[a](../papers/adem.md)"
    assert rewrite_links(text, "score.md", FORGE) == text[: -len("../papers/adem.md)")] + "papers/adem.md)"


def test_every_page_from_outside_of_docs_exists():
    assert all((ROOT / source).is_file() for source in PAGES)
    assert "reference/turnwise.md" in reference_pages()


def pages_of(entries: object) -> list[str]:
    """The pages under an entry of the navigation."""
    if isinstance(entries, str):
        return [entries]
    values = entries.values() if isinstance(entries, dict) else entries
    return [page for value in values for page in pages_of(value)]  # type: ignore[attr-defined]


def test_the_navigation_is_short_and_every_other_page_is_linked_from_it():
    listed = pages_of(load_config(str(ROOT / "mkdocs.yml")).nav)
    assert len(listed) <= 35
    docs = {one.name: one for one in (ROOT / "docs").glob("*.md")}
    outside = {page: ROOT / source for source, page in PAGES.items() if page.endswith(".md")}
    texts = {page: path.read_text() for page, path in (docs | outside).items()}
    made = reference_pages()
    linked = {
        posixpath.normpath(posixpath.join(posixpath.dirname(page), link[1]))
        for page in listed
        for link in LINK.finditer(made.get(page) or rewrite_links(texts[page], page, FORGE))
    }
    assert sorted({*texts, *made} - {*listed, *linked}) == []


def test_every_command_has_a_page_among_the_commands():
    page = (ROOT / "docs" / "commands.md").read_text()
    assert [name for name in COMMANDS if f"`{name}`" not in page] == []


def test_who_searches_finds_how_to_before_papers():
    nav = load_config(str(ROOT / "mkdocs.yml")).nav
    pages = ["judge.md", "score.md", "papers/adem.md"]
    assert [search_weight(page, nav) for page in pages] == [2.0, 1.0, 0.2]


def test_pictures_are_small():
    pictures = list((ROOT / "docs" / "images").glob("*.png"))
    assert pictures
    assert all(one.stat().st_size < 200_000 for one in pictures)


@pytest.fixture(scope="module")
def programs() -> dict[str, str]:
    """What the site has for programs."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    paths = {one.name: one for one in (ROOT / "docs").glob("*.md")}
    paths |= {page: ROOT / source for source, page in PAGES.items() if page.endswith(".md")}
    texts = {page: rewrite_links(path.read_text(), page, FORGE) for page, path in paths.items()}
    return for_programs(config.nav, {**texts, **reference_pages()}, config.site_description, config.site_url)


def test_llms_txt_has_each_page_of_the_navigation_with_a_sentence(programs: dict[str, str]):
    text = programs["llms.txt"]
    assert text.startswith("# turnwise\n\n> ")
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)(: .{20,})?$", text, re.MULTILINE)
    config = load_config(str(ROOT / "mkdocs.yml"))
    assert config.site_url == make_skill.SITE
    pages = [page for page in pages_of(config.nav) if page in programs and page != "index.md"]
    assert [address for address, _ in listed] == [f"{make_skill.SITE}{page}" for page in pages]
    # The changelog is a list.
    assert {address for address, sentence in listed if not sentence} <= {f"{make_skill.SITE}changelog.md"}
    assert not re.search(r"\]\((?!https:)", text)


def test_every_page_is_there_as_markdown_whose_links_lead_to_others(programs: dict[str, str]):
    pages = {page for page in programs if page.endswith(".md")}
    assert {"index.md", "score.md", "papers/adem.md", "first-result.md"} <= pages
    missing = [
        (page, link[1])
        for page in pages
        for link in LINK.finditer(re.sub(r"^```.*?^```", "", programs[page], flags=re.MULTILINE | re.DOTALL))
        if link[1].endswith(".md")
        and not link[1].startswith("reference/")
        and posixpath.normpath(posixpath.join(posixpath.dirname(page), link[1])) not in pages
    ]
    assert missing == []


def test_the_schemas_are_where_the_files_of_init_say(programs: dict[str, str]):
    path = SCHEMA.removeprefix(make_skill.SITE)
    assert json.loads(programs[path])["title"] == "turnwise.toml"
    assert "schemas/scenarios.json" in programs


def test_the_skill_is_what_its_page_says():
    text = make_skill.SKILL.read_text()
    assert text == make_skill.skill(), "run `python -m tools.make_skill`"
    _, head, body = text.split("---\n", 2)
    about = yaml.safe_load(head)
    assert about["name"] == make_skill.SKILL.parent.name == "turnwise"
    assert 100 < len(about["description"]) <= 1024
    assert "## Rules" in body
    assert not re.search(r"\]\((?!https:)", body)
