"""A judge's reason, criteria and prompt beside the reply that it judged."""

from pathlib import Path

from tests.judge_server import Exchange, serving
from tests.web.viewer.conftest import exchange as spoken
from tests.web.viewer.conftest import write_records
from turnwise.cli.common.group import run


def careful(exchange: Exchange) -> None:
    criteria = "".join(f"CRITERION {number} {exchange.code}: yes\n" for number in (1, 2, 3))
    exchange.say(f"It says <b>nothing</b> else.\n{criteria}VERDICT {exchange.code}: 5")


def test_a_page_shows_the_reason_the_criteria_and_the_prompt(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    write_records(Path("logs.jsonl"), [spoken("d", "a"), spoken("e", "a")])
    with serving(careful) as server:
        monkeypatch.setenv("TURNWISE_JUDGE_ADDRESS", server.address)
        assert run(["score", "logs.jsonl", "-m", "judge[rubric=grounded,model=m]", "-o", "out", "-q"]) == 0
    page = visit("out").get("/dialogue", [("id", "d")])
    assert "It says &lt;b&gt;nothing&lt;/b&gt; else." in page
    assert "numbers: yes, names: yes, actions: yes" in page
    assert "Judge the last reply of a conversation by one thing: grounded." in page


def test_a_prompt_that_is_no_longer_the_same_is_not_shown(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    rubric = Path("own.toml")
    rubric.write_text("question = 'Is it short?'\nscale = [1, 5]\n")
    write_records(Path("logs.jsonl"), [spoken("d", "a")])
    with serving(lambda exchange: exchange.say(f"Yes.\nVERDICT {exchange.code}: 5")) as server:
        name = f"judge[rubric=own.toml,model=m,address={server.address}]"
        assert run(["score", "logs.jsonl", "-m", name, "-o", "out", "-q"]) == 0
    rubric.write_text("question = 'Is it long?'\nscale = [1, 5]\n")
    page = visit("out").get("/dialogue", [("id", "d")])
    assert "cannot be shown: the rubric, its settings or the dialogue have changed since" in page
    assert "Is it long?" not in page
