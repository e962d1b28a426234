"""`rate` and `export_ratings` from Python; the pages have tests of their own."""

import json

import pytest

import turnwise as tw


def test_links_are_announced_and_the_ratings_can_be_exported(tmp_path, monkeypatch):
    pytest.importorskip("starlette")
    from turnwise.web.pages import serving

    monkeypatch.setattr(
        serving, "serve", lambda *given, **named: None
    )  # the server would run until it is stopped
    path = tw.demo_corpus(tmp_path)
    seen: list[tw.RatingLinks] = []
    tw.rate(path, raters="anna,ben", port=0, announce=seen.append)
    (links,) = seen
    assert list(links.raters) == ["anna", "ben"]
    assert links.admin.startswith("http://127.0.0.1:")
    assert links.store == str(tmp_path / "demo.ratings.db")
    assert [line.split()[0] for line in str(links).splitlines()] == ["admin", "anna", "ben"]
    done = tw.export_ratings(path, tmp_path / "rated.jsonl")
    assert done.n_dialogues == len((tmp_path / "rated.jsonl").read_text().splitlines())
    assert str(done) == f"{tmp_path / 'rated.jsonl'}: {done.n_dialogues} dialogues written"
    again: list[tw.RatingLinks] = []
    tw.rate(path, raters=3, port=0, announce=again.append)  # a number counts those who were invited before
    assert again[0].raters["anna"].rpartition("/")[2] == links.raters["anna"].rpartition("/")[2]
    assert len(again[0].raters) == 3


def test_mistakes_are_found_before_anything_is_written(tmp_path):
    path = tmp_path / "logs.jsonl"
    path.write_text(json.dumps({"messages": [{"role": "assistant", "content": "hi"}]}) + "\n")
    with pytest.raises(tw.UsageError, match=r'agents=... and mode="chat" need each other'):
        tw.rate(path, agents={"a": "mine:reply"})
    with pytest.raises(tw.UsageError, match="`port` must be an int >= 0 and <= 65535"):
        tw.rate(path, port=70000)
    with pytest.raises(tw.UsageError, match="at most 10000"):
        tw.rate(path, raters=10001, port=0)
    assert list(tmp_path.iterdir()) == [path]
