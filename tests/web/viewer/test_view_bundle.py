"""`view --bundle`: pages in a folder whose links lead to each other and nowhere else."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

import turnwise as tw
from tests.finished_runs import ran
from tests.web.viewer.conftest import exchange, rating, write_records
from tests.web.viewer.test_view_pages import EVIL, Tags, evil_dialogue

ADDRESS = re.compile(r'(?:href|src)="([^"]*)"')


def bundled(data: object, folder: Path, **options: object) -> list[tw.ViewerLink]:
    announced: list[tw.ViewerLink] = []
    tw.view(data, bundle=folder, browser=False, announce=announced.append, **options)
    return announced


def pages(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.html"))}


def assert_closed(folder: Path) -> None:
    """Every address is a file of the folder, and every fragment an id of its page."""
    found = pages(folder)
    for name, page in found.items():
        for address in map(unescape, ADDRESS.findall(page)):
            file, _, fragment = address.partition("#")
            assert re.fullmatch(r"[a-z0-9._-]*", file), (name, address)
            assert (folder / (file or name)).is_file(), (name, address)
            assert not fragment or f'id="{fragment}"' in found[file or name], (name, address)


def test_lists_and_dialogues_lead_to_each_other(tmp_path):
    records = [
        exchange(f"d{number:03}", agent, f"question {number}", f"{agent} says {number}", ratings=[rating(3, turn=1)])
        for number in range(260)
        for agent in ("plain", "lively")
    ]  # fmt: skip
    path = write_records(
        tmp_path / "logs.jsonl", [one | {"id": f"{one['id']}{one['agent']}"} for one in records]
    )
    (link,) = bundled(path, tmp_path / "share")
    assert (link.url, link.n_dialogues, link.served) == (str(tmp_path / "share/index.html"), 520, False)
    found = pages(tmp_path / "share")
    lists = {"index.html", "index-2.html", "replies.html", "replies-2.html"}
    assert {name for name in found if not name.startswith("dialogue-")} == lists
    assert len(found) == 524
    assert_closed(tmp_path / "share")
    assert 'href="dialogue-d000plain.html"' in found["index.html"]
    assert 'href="dialogue-d259lively.html#t1"' in found["replies-2.html"]
    assert 'href="index-2.html"' in found["dialogue-d259lively.html"]
    assert "question 259" in found["dialogue-d259lively.html"]
    for page in found.values():
        assert not {tag for tag, _ in Tags(page).found} & {"input", "select"}
        assert "/view/" not in page
        assert "Side by side" not in page
        assert str(tmp_path) not in page


def test_ids_become_names_that_every_file_system_keeps_apart(tmp_path):
    ids = ["a", "A", "../a", "a/b", "a b", "é", "dialogue 1", "x" * 300, "CON", "a?b#c"]
    path = write_records(tmp_path / "logs.jsonl", [exchange(one) for one in ids])
    bundled(path, tmp_path / "share")
    made = json.loads((tmp_path / "share/bundle.json").read_text())["dialogues"]
    assert list(made) == ids
    assert len({name.lower() for name in made.values()}) == len(ids)
    assert all(len(name) < 120 for name in made.values())
    assert made["a"] == "dialogue-a.html"
    assert_closed(tmp_path / "share")
    other = write_records(tmp_path / "other.jsonl", [exchange("a", "b")])
    bundled([path, other], tmp_path / "both")
    assert len(list((tmp_path / "both").glob("dialogue-*.html"))) == len(ids) + 1
    assert_closed(tmp_path / "both")


def test_only_an_earlier_bundle_is_replaced(tmp_path):
    folder = tmp_path / "share"
    bundled(write_records(tmp_path / "logs.jsonl", [exchange("one"), exchange("two")]), folder)
    (folder / "CNAME").write_text("example.org")
    bundled(write_records(tmp_path / "logs.jsonl", [exchange("two")]), folder)
    assert set(pages(folder)) == {"index.html", "replies.html", "dialogue-two.html"}
    assert (folder / "CNAME").exists()
    (tmp_path / "mine").mkdir()
    bundled(tmp_path / "logs.jsonl", tmp_path / "mine")  # an empty folder will do
    (folder / "bundle.json").unlink()
    for taken in (folder, tmp_path / "logs.jsonl"):
        with pytest.raises(
            tw.UsageError, match=r"is no bundle of the viewer; give bundle=\.\.\. a new folder"
        ):
            bundled(tmp_path / "logs.jsonl", taken)


def test_long_dialogues_and_messages_are_whole(tmp_path):
    long = exchange("long", "a", "q", "w" * 50_000 + " end")
    many = exchange("many", "a", *(f"text {number}" for number in range(450)))
    bundled(write_records(tmp_path / "logs.jsonl", [long, many]), tmp_path / "share")
    found = pages(tmp_path / "share")
    assert "w" * 50_000 + " end" in found["dialogue-long.html"]
    assert found["dialogue-many.html"].count('<li id="t') == 450


def test_scores_of_runs_and_transcripts_of_attacks_are_in_it(tmp_path):
    path = tw.demo_corpus(tmp_path)
    assert (
        ran("attack", "length", "--contexts", str(path), "--draws", "100", "-o", str(tmp_path / "out")) == 0
    )
    bundled(tmp_path / "out", tmp_path / "share")
    found = pages(tmp_path / "share")
    assert "Transcripts of attacks" in found["attacks.html"]
    assert str(tmp_path) not in found["attacks.html"]
    assert 'href="attacks.html"' in found["index.html"]
    assert_closed(tmp_path / "share")


def test_it_begins_with_the_item_that_is_named(tmp_path):
    path = tw.demo_corpus(tmp_path)
    (link,) = bundled(path, tmp_path / "share", item="gym-good#3")
    assert link.url == str(tmp_path / "share/dialogue-gym-good.html")
    with pytest.raises(tw.UsageError, match="there is no such dialogue or reply"):
        bundled(path, tmp_path / "share", item="nothing")


def test_text_of_a_log_is_never_markup(tmp_path):
    records = [evil_dialogue(EVIL, EVIL + "2", EVIL), evil_dialogue(EVIL + "2", EVIL, EVIL + "b")]
    bundled(write_records(tmp_path / "logs.jsonl", records), tmp_path / "share")
    assert_closed(tmp_path / "share")
    for page in pages(tmp_path / "share").values():
        tags = Tags(page).found
        assert {attributes.get("src") for tag, attributes in tags if tag == "script"} == {"view.js"}
        assert not {tag for tag, _ in tags} & {"img", "iframe", "object", "embed", "style", "base"}
        assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
        assert "default-src 'none'" in page
