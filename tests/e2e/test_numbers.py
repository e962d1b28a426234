"""Numbers that the commands must get right end to end."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from tests.corpus import corpus, dialogue, write
from turnwise.cli.common.group import run


def results(capsys, *args: str) -> dict:
    assert run([*args, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_several_samples_of_one_reply_have_the_weight_of_one_reply(capsys, tmp_path):
    record = dialogue(0, "human", np.random.default_rng(0), exchanges=2)
    record["messages"][1]["alternatives"] = {"bot": ["a", "a b c"]}
    record["messages"][3]["alternatives"] = {"bot": "a b c d e f"}
    data = str(write(tmp_path / "logs.jsonl", [record]))
    (row,) = results(capsys, "score", data, "-m", "length", "--as", "bot")["results"]
    assert (row["estimate"], row["n_items"]) == (4.0, 2)  # (2 + 6) / 2, not (1 + 3 + 6) / 3


def test_the_origin_has_a_digest_of_the_input(capsys, tmp_path):
    data = corpus(tmp_path / "logs.jsonl")
    found = results(capsys, "score", str(data), "-m", "length")
    expected = {"path": str(data), "sha256": hashlib.sha256(data.read_bytes()).hexdigest()}
    assert found["origin"]["inputs"] == [expected]
    assert set(found["origin"]) >= {"turnwise", "commit", "python", "packages", "settings"}


def test_excluding_a_random_rater_raises_the_agreement(capsys, tmp_path):
    rng = np.random.default_rng(1)
    records = [json.loads(line) for line in corpus(tmp_path / "a.jsonl", 40).read_text().splitlines()]
    for record in records:
        for turn in (1, 3):
            noise = {"dimension": "overall", "value": int(rng.integers(1, 6)), "rater": "dan"}
            record["ratings"].append({**noise, "turn": turn, "scale": [1, 5]})
    data = str(write(tmp_path / "logs.jsonl", records))
    options = ["-m", "rouge-l", "--level", "turn", "--statistic", "pearson"]
    plain = results(capsys, "meta", data, *options)
    screened = results(capsys, "meta", data, *options, "--screen")
    assert [row["rater"] for row in screened["raters"] if row["dropped"]] == ["dan"]
    assert screened["results"][0]["ceiling"] > plain["results"][0]["ceiling"] + 0.1
    assert screened["results"][0]["estimate"] > plain["results"][0]["estimate"]


def test_a_metric_that_scores_nothing_is_skipped_at_every_level(capsys, tmp_path):
    records = [json.loads(line) for line in corpus(tmp_path / "a.jsonl").read_text().splitlines()]
    for record in records:
        for message in record["messages"]:
            message.pop("references", None)
    data = str(write(tmp_path / "bare.jsonl", records))
    assert run(["meta", data, "-m", "rouge-l"]) == 3
    assert "no reference" in capsys.readouterr().err
    found = results(capsys, "meta", data, "-m", "rouge-l,length", "--statistic", "pearson")
    assert {row["status"] for row in found["results"] if row["metric"] == "rouge-l"} == {"skipped"}


def test_unscored_items_are_counted_only_for_the_compared_agents(capsys, tmp_path):
    records = [json.loads(line) for line in corpus(tmp_path / "a.jsonl").read_text().splitlines()]
    for record in records:
        if record["agent"] == "fair":
            record["messages"][1].pop("references")
    data = str(write(tmp_path / "logs.jsonl", records))
    options = ["-m", "rouge-l", "--pair", "meta.number"]
    (row,) = results(capsys, "compare", data, *options, "--agents", "good,poor")["results"]
    assert row["unscored"] == {}
    (row,) = results(capsys, "compare", data, *options, "--agents", "good,fair")["results"]
    assert row["unscored"] == {"no reference": 12}
    assert (row["unpaired_a"], row["unpaired_b"]) == (12, 0)


def test_dialogue_metrics_are_compared_with_turn_ratings_at_system_level(capsys, tmp_path):
    rng = np.random.default_rng(2)
    records = []
    for number in range(8):
        for agent, words in (("rich", 60), ("plain", 12), ("poor", 4)):
            record = dialogue(number, agent, rng, exchanges=2)
            for message in record["messages"][1::2]:
                message["content"] = " ".join(f"w{rng.integers(words)}" for _ in range(40))
            for rating in record["ratings"]:
                rating["value"] = {"rich": 5, "plain": 3, "poor": 1}[agent]
            records.append(record)
    data = str(write(tmp_path / "logs.jsonl", records))
    found = results(capsys, "meta", data, "-m", "msttr-50", "--statistic", "pearson")
    (row,) = [row for row in found["results"] if row["status"] == "ok"]
    assert (row["dimension"], row["level"], row["n_systems"]) == ("overall", "system", 3)
    assert row["estimate"] > 0.9
    assert {row["level"] for row in found["results"] if row["status"] == "skipped"} <= {"turn", "dialogue"}


def test_a_metric_with_too_many_errors_stops_and_the_others_continue(capsys, tmp_path, monkeypatch):
    data = str(corpus(tmp_path / "logs.jsonl"))
    (tmp_path / "broken.py").write_text("def always(records):\n    raise OSError('no line')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    out = tmp_path / "out"
    found = results(capsys, "score", data, "-m", "length,broken:always", "--max-errors", "3", "-o", str(out))
    broken = [row for row in found["results"] if row["metric"] == "broken:always"]
    assert [row["status"] for row in broken] == ["error"]
    assert "more than --max-errors 3" in broken[0]["reason"]
    assert all(row["estimate"] > 0 for row in found["results"] if row["metric"] == "length")
    assert not list(Path(out).glob("*.part"))
    assert run(["score", data, "-m", "broken:always", "--max-errors", "3"]) == 3


@pytest.mark.parametrize("command", ["meta", "compare"])
def test_compare_and_meta_write_item_scores(command, capsys, tmp_path):
    data, out = str(corpus(tmp_path / "logs.jsonl")), tmp_path / "out"
    more = ["--agents", "good,poor"] if command == "compare" else []
    assert run([command, data, "-m", "length", "-o", str(out), *more]) == 0
    assert len((out / "items.jsonl").read_text().splitlines()) == 72


def test_an_interval_stays_within_the_range_of_the_metric(capsys, tmp_path):
    """Two dialogues, one of which shares no word: Student's interval would go far below 0 and above 1."""
    records = [
        {"id": name, "messages": [{"role": "assistant", "content": text, "references": ["a b c d"]}]}
        for name, text in (("x", "a b c d"), ("y", "e f g h"))
    ]
    data = str(write(tmp_path / "logs.jsonl", records))
    (row,) = results(capsys, "score", data, "-m", "rouge-l")["results"]
    assert (row["estimate"], row["interval"]) == (0.5, [0.0, 1.0])
