"""Scores of finished runs beside the dialogues they are of."""

import json
import math
from pathlib import Path

import pytest

from tests.corpus import corpus
from tests.web.viewer.conftest import exchange, rating, write_records
from turnwise.cli.common.group import run
from turnwise.errors import DataError


def ran(*words: str) -> None:
    assert run([*words, "-q"]) == 0


def test_scores_of_a_run_are_those_of_its_files(visit, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    corpus(Path("logs.jsonl"), 4)
    ran("score", "logs.jsonl", "-m", "length,rouge-l,distinct-2", "-o", "out")
    index = visit("out").index
    lines = [json.loads(line) for line in Path("out/items.jsonl").read_text().splitlines()]
    for line in lines:
        at = index.find(line["dialogue"])
        row = next(one for one in index.replies_of(at) if index.replies.rows.turn[one] == line["turn"])
        for metric, score in line["scores"].items():
            if score is not None:
                assert index.replies.columns[f"metric:{metric}"].values[row] == pytest.approx(score, rel=1e-5)
    for line in map(json.loads, Path("out/dialogues.jsonl").read_text().splitlines()):
        at = index.find(line["dialogue"])
        for metric, score in line["scores"].items():
            assert index.dialogues.columns[f"metric:{metric}"].values[at] == pytest.approx(score, rel=1e-5)


def test_a_page_shows_scores_intervals_reasons_and_any_further_text_of_an_item(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_records(Path("logs.jsonl"), [exchange("d", "a"), exchange("e", "a")])
    ran("score", "logs.jsonl", "-m", "length,rouge-l", "-o", "out")
    items = [json.loads(line) for line in Path("out/items.jsonl").read_text().splitlines()]
    items[0] |= {
        "intervals": {"length": [1.25, 4.5]},
        "reasons": {"judge": "It answers the question."},
        "verdict_text": "fair",
        "votes": [1, 0, 1],
    }
    Path("out/items.jsonl").write_text("".join(json.dumps(one) + "\n" for one in items))
    page = visit("out").get("/dialogue", [("id", "d")])
    assert "[1.25, 4.5]" in page
    assert "no reference" in page  # why rouge-l has no score
    assert "reasons, judge" in page
    assert "It answers the question." in page
    assert "verdict text" in page
    assert "fair" in page
    assert "votes" in page


def test_alternatives_that_were_scored_are_rows_with_their_scores(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = exchange("d@#1~2", "x", "q", "logged")  # signs of an item's id in a dialogue's
    record["messages"][1]["alternatives"] = {"y": ["one", "two words"], "z": "three words here"}
    write_records(Path("logs.jsonl"), [record])
    ran("score", "logs.jsonl", "-m", "length", "--as", "@alternatives", "-o", "out")
    shown = visit("out")
    replies = shown.index.replies
    named = [
        (shown.index.agents[agent], int(sample), float(value))
        for agent, sample, value in zip(
            replies.rows.agent, replies.rows.sample, replies.columns["metric:length"].values, strict=True
        )
        if not math.isnan(value)
    ]
    assert named == [("y", 0, 1), ("y", 1, 2), ("z", 0, 3)]
    assert not shown.viewer.notes
    page = shown.get("", [("unit", "reply")])
    assert "3 of 4 replies" in page
    assert "as=y&amp;sample=1" in page
    one = shown.get(
        "/dialogue", [("id", "d@#1~2"), ("turn", 1), ("unit", "reply"), ("as", "y"), ("sample", 1)]
    )
    assert "2 of 3" in one
    beside = shown.get("/beside", [("unit", "reply"), ("first", "y"), ("second", "z")])
    assert "three words here" in beside
    assert "logged" not in beside.partition("Context 1")[2].partition("</section>")[0]


def test_ids_of_runs_over_several_files_have_the_files_prefix(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = {"messages": exchange("", "a", "q", "one")["messages"]}
    two = {"messages": exchange("", "a", "q", "two words")["messages"]}
    write_records(Path("a.jsonl"), [one])
    write_records(Path("b.jsonl"), [two, exchange("own", "a", "q", "three words here")])
    ran("score", "a.jsonl", "b.jsonl", "-m", "length", "-o", "together")
    index = visit("together").index
    assert index.replies.columns["metric:length"].values.tolist() == [1, 2, 3]
    ran("score", "a.jsonl", "b.jsonl", "-m", "length", "--by", "file", "-o", "apart")
    index = visit("apart").index
    assert index.replies.columns["metric:length"].values.tolist() == [1, 2, 3]


def test_agents_that_were_named_after_files_are_found_again(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, words in (("a", "one"), ("b", "two words")):
        write_records(
            Path(f"{name}.jsonl"),
            [{"id": f"{k}", "messages": exchange("", "x", f"q{k}", words)["messages"]} for k in range(3)],
        )
    ran("compare", "a.jsonl", "b.jsonl", "-m", "length", "-o", "out")
    shown = visit("out")
    assert shown.index.agents == ("a", "b")
    assert not shown.viewer.notes
    assert shown.index.replies.columns["metric:length"].values.tolist() == [1, 1, 1, 2, 2, 2]


def test_several_runs_share_files_and_a_metric_of_another_signature_has_its_own_column(
    visit, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    corpus(Path("logs.jsonl"), 3)
    ran("score", "logs.jsonl", "-m", "length,bleu-2", "-o", "out/one")
    ran("score", "logs.jsonl", "-m", "length", "-o", "out/two")
    results = json.loads(Path("out/two/results.json").read_text())
    shown = visit("out")
    assert len(shown.index) == 9
    assert [one.key for one in shown.index.replies.of_kind("metric")] == ["metric:length", "metric:bleu-2"]
    for record in results["results"]:
        record["signature"] = "length|other"
    Path("out/two/results.json").write_text(json.dumps(results))
    keys = [one.key for one in visit("out").index.replies.of_kind("metric")]
    assert keys == ["metric:length", "metric:bleu-2", "metric:length (out/two)"]


def test_runs_in_two_folders_may_have_files_of_the_same_name(visit, tmp_path, monkeypatch):
    for number, folder in enumerate(("one", "two"), 1):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        write_records(Path("logs.jsonl"), [exchange("d", "a", "q", "word " * number)])
        ran("score", "logs.jsonl", "-m", "length", "-o", "out")
    monkeypatch.chdir(tmp_path)
    shown = visit(".")
    assert [file.name for file in shown.index.files] == ["logs", "logs (2)"]
    assert shown.index.replies.columns["metric:length"].values.tolist() == [1, 2]
    assert "word word" in shown.get("/dialogue", [("id", "d"), ("file", "logs (2)")])


def test_files_are_found_above_the_run_or_by_their_new_name(visit, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    corpus(Path("logs.jsonl"), 3)
    ran("score", "logs.jsonl", "-m", "length", "-o", "out")
    monkeypatch.chdir(tmp_path)
    assert not visit("work/out").viewer.notes  # the path in results.json is relative to `work`
    Path("work/logs.jsonl").rename("moved.jsonl")
    shown = visit("work/out", "moved.jsonl")
    assert not shown.viewer.notes
    assert "metric:length" in shown.index.replies.columns


def test_what_is_missing_or_changed_is_said_and_not_shown(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = [
        exchange(f"d{number}", agent, *(["a question", "a reply"] * 3)) for number, agent in enumerate("ab")
    ]
    write_records(Path("logs.jsonl"), records)
    write_records(Path("more.jsonl"), [exchange("more", "a")])
    ran("score", "logs.jsonl", "more.jsonl", "-m", "length", "-o", "out")
    Path("more.jsonl").unlink()
    shown = visit("out")
    assert "more.jsonl is not here any more" in shown.viewer.notes[0]
    assert "1 score line about dialogues or replies that are not shown" in shown.viewer.notes[1]
    assert "more.jsonl is not here any more" in shown.get()
    assert len(shown.index) == 2
    write_records(Path("logs.jsonl"), records[:1])
    shown = visit("out")
    assert "logs.jsonl is not the file that was scored" in shown.viewer.notes[0]
    assert "only the 2 dialogues that the run keeps" in shown.viewer.notes[2]
    assert [shown.index.dialogue(row).id for row in range(2)] == ["d0", "d1"]
    assert "metric:length" in shown.index.replies.columns
    Path("out/transcripts.jsonl").unlink()
    with pytest.raises(DataError, match=r"no dialogue to show\n.*logs\.jsonl is not the file"):
        visit("out")


def test_a_run_over_a_foreign_format_is_shown_with_the_same_option(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chats = [{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho ho"}]}]
    Path("chats.jsonl").write_text("".join(json.dumps(one) + "\n" for one in chats * 2))
    ran("score", "chats.jsonl", "--from", "sharegpt", "-m", "length", "-o", "out")
    assert "give the same option" in "".join(str(visit_error(visit, "out")))
    shown = visit("out", reader="sharegpt")
    assert not shown.viewer.notes
    assert shown.index.replies.columns["metric:length"].values.tolist() == [2, 2]


def visit_error(visit, *data: str) -> DataError:
    with pytest.raises(DataError) as raised:
        visit(*data)
    return raised.value


def test_transcripts_of_an_attack_are_shown_without_its_files(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus(Path("logs.jsonl"), 20)
    ran("attack", "question-rate", "--contexts", "logs.jsonl", "--no-perturb", "--budget", "900", "-o", "out")
    assert "fraud" in visit("out").get("/attacks")
    Path("logs.jsonl").unlink()
    shown = visit("out")
    assert shown.viewer.strategies[0].fraud
    assert len(shown.index) == 0
    page = shown.get("/attacks")
    assert "gain over these" in page
    assert "logged reply" in page  # nobody in this corpus is called `human`
    assert "0 of 0 dialogues" in shown.get()


def test_values_of_a_critic_are_shown_with_the_turn_they_are_of(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_records(Path("logs.jsonl"), [exchange("d", "a", "q", "r", ratings=[rating(1, turn=1)])])
    ran("score", "logs.jsonl", "-m", "length", "-o", "out")
    for named, values in (("a", {"a": 0.5, "b": 0.25}), ("logged", {"logged": 0.5, "a": 0.25})):
        line = {
            "dialogue": "d",
            "turn": 1,
            "estimator": "fqe",
            "user": "q",
            "replies": {named: "r"},
            "q": values,
        }
        Path("out/fqe.turns.jsonl").write_text(json.dumps(line) + "\n")
        shown = visit("out")
        assert shown.index.replies.columns["metric:fqe"].values.tolist() == [0.5]
        assert ", ".join(f"{name} {value}" for name, value in values.items()) in shown.get(
            "/dialogue", [("id", "d")]
        )


def test_a_folder_without_results_and_a_damaged_file_are_errors(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    with pytest.raises(Exception, match=r"holds no results\.json"):
        visit("empty")
    corpus(Path("logs.jsonl"), 2)
    ran("score", "logs.jsonl", "-m", "length", "-o", "out")
    with Path("out/items.jsonl").open("a") as file:
        file.write("{]\n")
    with pytest.raises(DataError, match=r"items\.jsonl:13"):
        visit("out")
