"""`view` from Python; the pages have tests of their own."""

import json
import os
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import turnwise as tw
from turnwise.commands.view import open_viewer

pytest.importorskip("starlette")
from turnwise.web.viewer.query import Query, select


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tw.ViewerLink]:
    """The links that are announced; the server itself, which would run until it is stopped, is not started."""
    from turnwise.web.pages import serving

    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(serving, "serve", lambda *given, **named: None)
    return []


def token(link: tw.ViewerLink) -> str:
    return urlsplit(link.url).path.split("/")[2]


def test_the_link_is_announced_and_the_same_for_the_same_data(announced, tmp_path):
    path = tw.demo_corpus(tmp_path)
    for data in (path, str(path), [path], tmp_path / ".." / tmp_path.name / "demo.jsonl"):
        tw.view(data, port=0, browser=False, announce=announced.append)
    assert announced[0].url.startswith("http://127.0.0.1:")
    assert (announced[0].n_dialogues, announced[0].notes) == (40, ())
    assert str(announced[0]) == announced[0].url
    assert len({token(link) for link in announced}) == 1
    other = tmp_path / "other.jsonl"
    other.write_bytes(path.read_bytes())
    tw.view(other, port=0, browser=False, announce=announced.append)
    assert token(announced[-1]) != token(announced[0])
    key = tmp_path / "cache" / "viewer.key"
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    key.unlink()
    tw.view(path, port=0, browser=False, announce=announced.append)
    assert token(announced[-1]) != token(announced[0])


def test_without_a_place_for_the_key_the_link_is_random(announced, tmp_path, monkeypatch):
    path = tw.demo_corpus(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        tw.view(path, port=0, browser=False, announce=announced.append)
    assert token(announced[0]) != token(announced[1])


def test_dialogues_in_memory_are_shown(announced):
    logs = [
        {"id": "1", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    ]
    tw.view(logs, port=0, browser=False, announce=announced.append)
    assert announced[0].n_dialogues == 1


def test_dialogues_in_memory_are_shown_without_temporary_files(announced, tmp_path, monkeypatch):
    lines = tw.demo_corpus(tmp_path).read_text().splitlines()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))  # a temporary file would be an error
    with open_viewer([json.loads(line) for line in lines], reader=None, pair=None, quiet=True) as viewer:
        last = len(viewer.index) - 1
        assert viewer.index.dialogue(last).id == json.loads(lines[-1])["id"]
        assert len(select(viewer.index, Query(unit="dialogue", text="gym"))) == 4


def test_an_item_is_opened_by_its_id(announced, tmp_path):
    path = tw.demo_corpus(tmp_path)
    strange = json.dumps({"id": "a#1", "messages": [{"role": "assistant", "content": "ho"}]})
    path.write_text(path.read_text() + strange + "\n")
    for item in ("gym-good", "gym-good#3", "a#1", "a#1#0"):
        tw.view(path, item=item, port=0, browser=False, announce=announced.append)
    parts = [urlsplit(link.url) for link in announced]
    assert [(parse_qs(one.query), one.fragment) for one in parts] == [
        ({"id": ["gym-good"]}, ""),
        ({"id": ["gym-good"], "turn": ["3"]}, "t3"),
        ({"id": ["a#1"]}, ""),
        ({"id": ["a#1"], "turn": ["0"]}, "t0"),
    ]
    for item in ("nothing", "gym-good#99", "gym-good#x", "gym-good#"):
        with pytest.raises(tw.UsageError, match="there is no such dialogue or reply"):
            tw.view(path, item=item, port=0, browser=False)


def test_the_browser_is_opened_only_where_there_is_a_display(announced, tmp_path, monkeypatch):
    path = tw.demo_corpus(tmp_path)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    tw.view(path, port=0, announce=announced.append)
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    tw.view(path, port=0, browser=False, announce=announced.append)
    assert opened == []
    tw.view(path, port=0, announce=announced.append)
    assert opened == [announced[-1].url]


def test_mistakes_are_errors_with_a_reason(tmp_path):
    with pytest.raises(tw.DataError, match="cannot be read"):
        tw.view(tmp_path / "absent.jsonl", port=0, browser=False)
    with pytest.raises(tw.UsageError, match=r"holds no results\.json"):
        tw.view(tmp_path, port=0, browser=False)
    with pytest.raises(tw.UsageError, match="`port` must be an int"):
        tw.view(tmp_path, port=70000)
    path = tw.demo_corpus(tmp_path)
    with pytest.raises(tw.UsageError, match="cannot listen on"):
        tw.view(path, host="203.0.113.1", browser=False)
