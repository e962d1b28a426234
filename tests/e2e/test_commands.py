"""The commands as a user runs them: results, errors and exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.corpus import corpus, dialogue, write
from turnwise.cli import about, overview
from turnwise.cli.common.group import cli, run
from turnwise.commands import COMMANDS


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(corpus(tmp_path / "logs.jsonl"))


def answer(capsys, *args: str) -> dict:
    code = run([*args, "--format", "json"])
    out = capsys.readouterr().out
    return {"code": code, **json.loads(out)}


def refused(capsys, *args: str, code: int = 2) -> str:
    """What stderr says to a command that must fail."""
    assert run(list(args)) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.err


def test_score_gives_a_number_an_interval_and_counts_for_each_agent(capsys, data):
    found = answer(capsys, "score", data, "-m", "bleu-2,length")
    assert found["code"] == 0
    assert found["schema_version"] == 1
    assert [(row["metric"], row["agent"]) for row in found["results"]] == [
        (metric, agent) for metric in ("bleu-2", "length") for agent in ("good", "fair", "poor")
    ]
    for row in found["results"]:
        assert row["interval"][0] <= row["estimate"] <= row["interval"][1]
        assert (row["n_items"], row["n_clusters"], row["unscored"]) == (24, 12, {})
    good, _, poor = (row["estimate"] for row in found["results"][:3])
    assert good > poor


def test_the_table_and_the_json_have_the_same_numbers(capsys, data):
    found = answer(capsys, "score", data, "-m", "length")
    assert run(["score", data, "-m", "length"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["metric", "agent", "estimate", "interval", "n_items", "n_clusters"]
    assert lines[2].split()[:3] == ["length", "good", f"{found['results'][0]['estimate']:.3f}"]


def test_another_metric_does_not_change_the_numbers_of_the_first(capsys, data):
    alone = answer(capsys, "score", data, "-m", "bleu-2")["results"]
    beside = answer(capsys, "score", data, "-m", "length,bleu-2")["results"]
    assert alone == [row for row in beside if row["metric"] == "bleu-2"]


def test_a_metric_whose_needs_are_not_met_is_skipped_with_the_reason(capsys, tmp_path):
    record = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello you"}]}
    data = write(tmp_path / "bare.jsonl", [{**record, "id": name} for name in "abc"])
    found = answer(capsys, "score", str(data), "-m", "bleu-4,length")
    bleu, length = found["results"]
    assert (bleu["estimate"], bleu["interval"], bleu["status"]) == (None, None, "skipped")
    assert bleu["unscored"] == {"no reference": 3}
    assert length["estimate"] == 2
    assert found["code"] == 0
    assert answer(capsys, "score", str(data), "-m", "bleu-4")["code"] == 3


def test_one_dialogue_has_a_score_but_no_interval(capsys, tmp_path, data):
    first = Path(data).read_text().splitlines()[0]
    (tmp_path / "one.jsonl").write_text(first)
    (row,) = answer(capsys, "score", str(tmp_path / "one.jsonl"), "-m", "length")["results"]
    assert row["estimate"] > 0
    assert row["interval"] is None
    assert "fewer than 2 clusters" in row["method"]


def test_by_and_where_select_and_group(capsys, data):
    rows = answer(capsys, "score", data, "-m", "length", "--by", "agent")["results"]
    assert [(row["group"], row["agent"]) for row in rows] == [
        (name, name) for name in ("good", "fair", "poor")
    ]
    (row,) = answer(capsys, "score", data, "-m", "length", "--where", "agent=poor")["results"]
    assert row["agent"] == "poor"
    assert "matches none" in refused(capsys, "score", data, "-m", "length", "--where", "agent=nobody")


def test_gates_decide_the_exit_code_and_are_written_for_ci(capsys, data, tmp_path):
    junit = tmp_path / "gates.xml"
    assert run(["score", data, "-m", "length", "--gate", "length >= 1"]) == 0
    assert run(["score", data, "-m", "length", "--gate", "length >= 100", "--junit", str(junit)]) == 1
    assert "FAIL  length >= 100" in capsys.readouterr().err
    assert 'failures="3"' in junit.read_text()


def test_gates_are_written_for_ci_also_when_nothing_could_be_measured_or_was_refused(capsys, data, tmp_path):
    def failures() -> list[str]:
        suite = ElementTree.parse(tmp_path / "gates.xml").getroot()
        return [case.find("failure").get("message") for case in suite]

    record = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    bare = str(write(tmp_path / "bare.jsonl", [{**record, "id": name} for name in "abc"]))
    gated = ["--gate", "bleu-4 >= 2", "--junit", str(tmp_path / "gates.xml")]
    assert "FAIL  bleu-4 >= 2" in refused(capsys, "score", bare, "-m", "bleu-4", *gated, code=3)
    assert "no reference" in failures()[0]
    gated = ["--gate", "specificity >= 2", "--junit", str(tmp_path / "gates.xml")]
    refused(capsys, "score", bare, "-m", "specificity", *gated, code=4)
    assert "more dialogues" in failures()[0]
    for name, limit in (("a", "9"), ("b", "18")):
        selected = ["--where", "agent=good", "--limit", limit, "-o", str(tmp_path / name)]
        run(["score", data, "-m", "specificity", *selected])
    refused(capsys, "compare", str(tmp_path / "a"), str(tmp_path / "b"), *gated, code=4)
    assert failures()[0].startswith("specificity was not measured alike")
    other = ["--gate", "length >= 2", "--gate", "length <= 9", "--junit", str(tmp_path / "gates.xml")]
    refused(capsys, "score", bare, "-m", "length", "--where", "agent=nobody", *other)
    assert len(failures()) == 2


def test_compare_names_the_better_agent_also_from_finished_runs(capsys, data, tmp_path):
    found = answer(capsys, "compare", data, "-m", "rouge-l", "--agents", "good,poor", "--pair", "meta.number")
    (row,) = found["results"]
    assert row["verdict"] == "good scores higher"
    assert row["p"] < 0.05
    assert row["flips"][0]["reply_a"]
    for agent in ("good", "poor"):
        options = ["--where", f"agent={agent}", "--pair", "meta.number", "-o", str(tmp_path / agent)]
        run(["score", data, "-m", "rouge-l,distinct-2", *options])
    capsys.readouterr()
    again = answer(capsys, "compare", str(tmp_path / "good"), str(tmp_path / "poor"))
    assert [row["metric"] for row in again["results"]] == ["rouge-l", "distinct-2"]
    assert again["results"][0]["estimate"] == pytest.approx(row["estimate"])


def test_runs_with_different_signatures_are_refused_unless_forced(capsys, data, tmp_path):
    other = corpus(tmp_path / "other.jsonl", seed=9)
    for name, file in (("a", data), ("b", str(other))):  # specificity is fitted on the file itself
        run(["score", file, "-m", "specificity", "--where", "agent=good", "-o", str(tmp_path / name)])
    runs = [str(tmp_path / "a"), str(tmp_path / "b")]
    capsys.readouterr()
    assert "not measured alike" in refused(capsys, "compare", *runs, code=4)
    assert run(["compare", *runs, "--force"]) == 0


def test_two_finished_runs_take_no_option_that_belongs_to_scoring(capsys, data, tmp_path):
    for agent in ("good", "poor"):
        run(["score", data, "-m", "length", "--where", f"agent={agent}", "-o", str(tmp_path / agent)])
    runs = [str(tmp_path / "good"), str(tmp_path / "poor")]
    idle = (
        "--items all|--role user|--where agent=good|--by agent|--pair meta.number|--cluster agent|--limit 3"
    )
    for option in [*idle.split("|"), f"--real {data}", "--model minilm", "--as good"]:
        complaint = refused(capsys, "compare", *runs, *option.split())
        assert complaint.startswith(f"turnwise: error: {option.split()[0]} cannot change two finished runs")
        assert complaint.count("\n") == 1
    assert "--where, --limit cannot" in refused(
        capsys, "compare", *runs, "--limit", "3", "--where", "agent=good"
    )
    assert run(["compare", *runs, "--agents", "good,poor", "--seed", "1"]) == 0


def test_two_finished_runs_are_compared_by_one_agent_each(capsys, data, tmp_path):
    run(["score", data, "-m", "length", "-o", str(tmp_path / "run")])
    asked = ["--agents", "good,fair,poor"]
    said = refused(capsys, "compare", *[str(tmp_path / "run")] * 2, *asked)
    assert "of two finished runs one agent each is compared" in said
    assert len(answer(capsys, "compare", data, "-m", "length", *asked)["results"]) == 3


def test_compare_scores_alternatives(capsys, tmp_path):
    rng = np.random.default_rng(0)
    records = [dialogue(number, "human", rng, exchanges=2) for number in range(8)]
    for record in records:
        for turn in (1, 3):
            text = record["messages"][turn]["content"]
            alternatives = {"long": f"{text} and more of it", "short": ["yes", "yes indeed"], "third": "no"}
            record["messages"][turn]["alternatives"] = alternatives
    file = str(write(tmp_path / "alternatives.jsonl", records))
    (row,) = answer(capsys, "compare", file, "-m", "length", "--as", "long,short")["results"]
    words = [len(record["messages"][turn]["content"].split()) for record in records for turn in (1, 3)]
    assert (row["a"], row["b"]) == (pytest.approx(np.mean(words) + 4), 1.5)
    assert (row["n_items"], row["n_clusters"], row["agent_a"]) == (16, 8, "long")
    everyone = ["--as", "@alternatives", "--agents", "long,short"]
    (again,) = answer(capsys, "compare", file, "-m", "length", *everyone)["results"]
    assert again == row
    every = answer(capsys, "compare", file, "-m", "length", "--as", "@alternatives")
    assert [(one["agent_a"], one["agent_b"]) for one in every["results"]] == [
        ("long", "short"), ("long", "third"), ("short", "third")
    ]  # fmt: skip
    assert every["leaderboard"][0]["agent"] == "long"


def test_meta_ranks_a_metric_that_agrees_with_ratings_highest_and_shows_its_ceiling(capsys, data):
    found = answer(capsys, "meta", data, "-m", "bleu-2,length")
    rows = {(row["metric"], row["level"], row["statistic"]): row for row in found["results"]}
    assert len(rows) == 16
    bleu = rows["bleu-2", "turn", "spearman"]
    assert bleu["estimate"] > 0.5
    assert bleu["interval"][0] > 0
    assert 0.3 < bleu["ceiling"] < 1
    assert rows["bleu-2", "system", "pearson"]["n_systems"] == 3
    compared = [(row["level"], row["statistic"]) for row in found["differences"]]
    assert compared == [(level, name) for level in ("turn", "system") for name in ("pearson", "spearman")]
    assert all(row["p_adjusted"] >= row["p"] for row in found["differences"] if row["p"] is not None)


def test_missing_and_equal_ratings_are_reported(capsys, tmp_path, data):
    records = [json.loads(line) for line in Path(data).read_text().splitlines()]
    bare = write(tmp_path / "bare.jsonl", [{**record, "ratings": []} for record in records])
    assert "no ratings" in refused(capsys, "meta", str(bare), "-m", "length")
    for record in records:
        for rating in record["ratings"]:
            rating["value"] = 3
    found = answer(capsys, "meta", str(write(tmp_path / "flat.jsonl", records)), "-m", "length")
    assert found["code"] == 3
    assert {row["reason"] for row in found["results"]} == {"all ratings are equal"}


def test_data_without_usable_ratings_are_refused_also_without_a_metric(capsys, tmp_path, data):
    records = [json.loads(line) for line in Path(data).read_text().splitlines()]
    bare = write(tmp_path / "bare.jsonl", [{**record, "ratings": []} for record in records])
    assert "no ratings in the data" in refused(capsys, "meta", str(bare))
    assert "there are overall" in refused(capsys, "meta", data, "--dimension", "nope")
    assert "matches none of 36" in refused(capsys, "meta", data, "--where", "agent=zz")
    assert "at dialogue level" in refused(capsys, "meta", data, "--level", "dialogue")
    assert "not about systems" in refused(capsys, "meta", data, "--level", "system")
    assert "no user turn" in refused(capsys, "meta", data, "--role", "user")


def test_a_dimension_on_which_lower_is_better_is_reversed_on_request(capsys, tmp_path, data):
    def spearman(*more: str) -> dict[str, float]:
        found = answer(
            capsys, "meta", data, "-m", "bleu-2", "--statistic", "spearman", "--level", "turn", *more
        )
        return found["results"][0]["estimate"]

    assert spearman("--lower-is-better", "overall") == pytest.approx(-spearman())
    complaint = refused(capsys, "meta", data, "-m", "bleu-2", "--lower-is-better", "overal")
    assert "no rating has the dimension `overal`; there are overall" in complaint
    assert "`overal`" in refused(capsys, "meta", data, "--lower-is-better", "overal")


def test_one_of_several_dimensions_must_be_chosen(capsys, tmp_path, data):
    records = [json.loads(line) for line in Path(data).read_text().splitlines()]
    for record in records:
        for rating in record["ratings"]:
            rating["dimension"] = "fun" if rating["rater"] == "ann" else "clarity"
    file = str(write(tmp_path / "two.jsonl", records))
    assert "fun, clarity" in refused(capsys, "meta", file, "-m", "length")
    found = answer(capsys, "meta", file, "-m", "length", "--dimension", "all", "--statistic", "pearson")
    assert {row["dimension"] for row in found["results"]} == {"fun", "clarity"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no dialogue"),
        (b"\n\n", "no dialogue"),
        (b"not json\n", "1: "),
        (b'{"messages": "hi"}\n', "$.messages"),
        (b'{"messages": [{"role": "bot", "content": "hi"}]}\n', '$.messages[0].role is "bot"'),
        (b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}\n', "UTF-8"),
        (b'{"id": "x", "messages": [{"role": "user", "content": "a"}]}\n' * 2, "$.id"),
    ],
)
def test_errors_in_files_name_the_line_and_nothing_is_written(capsys, tmp_path, content, said):
    file, out = tmp_path / "bad.jsonl", tmp_path / "out"
    file.write_bytes(content)
    complaint = refused(capsys, "score", str(file), "-m", "length", "-o", str(out))
    assert "bad.jsonl" in complaint
    assert said in complaint
    assert not out.exists()


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", '"3"', "9"])
def test_a_rating_that_is_not_a_number_in_its_scale_is_an_error(capsys, tmp_path, value):
    file = tmp_path / "bad.jsonl"
    rating = f'{{"dimension": "overall", "value": {value}, "turn": 0, "scale": [1, 5]}}'
    file.write_text(f'{{"messages": [{{"role": "assistant", "content": "a"}}], "ratings": [{rating}]}}\n')
    assert "bad.jsonl:1" in refused(capsys, "meta", str(file), "-m", "length")


def test_a_line_of_ten_megabytes_is_scored(capsys, tmp_path):
    text = "word " * 2_000_000
    file = write(tmp_path / "long.jsonl", [{"messages": [{"role": "assistant", "content": text}]}])
    (row,) = answer(capsys, "score", str(file), "-m", "length")["results"]
    assert row["estimate"] == 2_000_000


def test_an_unknown_name_is_answered_with_the_nearest(capsys, data):
    complaint = refused(capsys, "score", data, "-m", "blue-4")
    assert "no metric `blue-4`" in complaint
    assert "bleu-4" in complaint
    assert "score" in refused(capsys, "scroe")
    assert "pearson" in refused(capsys, "meta", data, "-m", "length", "--statistic", "person")
    assert "it has good, fair, poor" in refused(
        capsys, "compare", data, "-m", "length", "--agents", "good,bda"
    )


def test_a_missing_file_is_an_error_and_not_a_traceback(capsys):
    assert "nowhere.jsonl" in refused(capsys, "score", "nowhere.jsonl", "-m", "length")


def test_a_metric_that_breaks_is_reported_and_too_many_errors_stop_the_run(
    capsys, tmp_path, data, monkeypatch
):
    (tmp_path / "mine.py").write_text(
        "def shout(records):\n"
        "    if any('question 3 ' in r['context'][0]['content'] for r in records): raise KeyError('no')\n"
        "    return [len(r['response']) for r in records]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = answer(capsys, "score", data, "-m", "mine:shout")
    assert [row["unscored"] for row in found["results"]] == [{"KeyError: 'no'": 2}] * 3
    assert all(row["estimate"] > 0 for row in found["results"])
    assert "more than --max-errors 1" in refused(
        capsys, "score", data, "-m", "mine:shout", "--max-errors", "1", code=3
    )


def test_options_of_the_command_line_override_those_of_a_file(capsys, tmp_path, data):
    config = tmp_path / "turnwise.toml"
    config.write_text('[common]\nseed = 5\n[score]\nmetrics = ["length", "bleu-1"]\nlimit = 6\n')
    found = answer(capsys, "score", data, "--config", str(config), "--limit", "3")
    assert {row["metric"] for row in found["results"]} == {"length", "bleu-1"}
    assert [row["n_clusters"] for row in found["results"]] == [1] * 6
    assert found["origin"]["settings"]["seed"] == 5
    config.write_text("[score]\nsede = 5\n")
    assert "no option `sede`" in refused(capsys, "score", data, "--config", str(config))


def test_alternatives_are_scored_as_the_agents_that_would_have_said_them(capsys, tmp_path):
    record = dialogue(0, "human", np.random.default_rng(0), exchanges=1)
    record["messages"][1]["alternatives"] = {
        "parrot": record["messages"][0]["content"],
        "two": ["a", "a b c"],
    }
    file = str(write(tmp_path / "alternatives.jsonl", [record]))
    rows = answer(capsys, "score", file, "-m", "length", "--as", "@alternatives")["results"]
    assert [(row["agent"], row["estimate"], row["n_items"]) for row in rows] == [
        ("parrot", 6, 1),
        ("two", 2, 1),
    ]
    assert "parrot, two" in refused(capsys, "score", file, "-m", "length", "--as", "tow")


def test_standard_input_is_read_like_a_file(data):
    command = [sys.executable, "-m", "turnwise", "score", "-", "-m", "length", "--format", "json"]
    done = subprocess.run(command, input=Path(data).read_bytes(), capture_output=True, check=True)
    assert len(json.loads(done.stdout)["results"]) == 3


def test_standard_input_can_be_given_a_name(data, tmp_path):
    def piped(content: bytes, *more: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "turnwise", *more]
        pinned = {**os.environ, "PATH": str(tmp_path)}  # no git, which might name the commit in time, or not
        return subprocess.run(command, input=content, env=pinned, capture_output=True, check=False)

    content = Path(data).read_bytes()
    for name in ("one", "two"):
        assert piped(content, "score", "-", "-m", "length", "-o", str(tmp_path / name)).returncode == 0
    one, two = ((tmp_path / name / "results.json").read_bytes() for name in ("one", "two"))
    assert one == two
    assert [source["path"] for source in json.loads(one)["origin"]["inputs"]] == ["-"]
    broken = piped(content + b'{"messages": 3}\n', "score", "-", "-m", "length")
    assert broken.stderr.startswith(b"turnwise: error: -:37: $.messages")
    twice = piped(content, "score", "-", data, "-m", "length")
    assert b"which is in - already" in twice.stderr
    for done in (broken, twice):
        assert done.returncode == 2
        assert b"stdin" not in done.stderr


def test_an_interrupt_while_the_command_line_loads_is_no_traceback():
    probe = """
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from turnwise.cli import main
main(["ls"])
"""
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "turnwise: interrupted\n"


@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_closed_pipe_is_not_an_error(data, reader):
    command = f"{sys.executable} -m turnwise ls metrics -v | {reader}"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr == b""


def test_an_unwritable_output_folder_is_an_error(capsys, data, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert "file" in refused(capsys, "score", data, "-m", "length", "-o", str(tmp_path / "file"))


def test_the_overview_lists_all_commands_with_their_first_sentence():
    import click

    context = click.Context(cli)
    assert cli.list_commands(context) == list(COMMANDS)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command.name == name
        text = about(name)
        assert (
            command.help.split("\n\n")[0].replace("\n", " ").startswith(text.rstrip(".").split(";")[0][:30])
        ), name
        assert text in " ".join(overview().split())


def test_ls_json_has_the_documented_keys(capsys):
    assert run(["ls", "metrics", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {"name", "kind", "level", "needs", "card"} <= set(records[0])
    assert {"bleu-4", "chrf", "rouge-l", "distinct-2", "length"} <= {record["name"] for record in records}
    for record in records:
        assert all(record["card"][part] for part in ("meaning", "range", "limits", "citation")), record[
            "name"
        ]
    for kind in ("readers", "statistics"):
        assert run(["ls", kind]) == 0
    assert run(["doctor"]) == 0
    assert "ready" in capsys.readouterr().out


def test_a_refused_metric_is_marked_and_the_others_are_scored(capsys, tmp_path):
    record = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}]}
    data = str(write(tmp_path / "same.jsonl", [{**record, "id": name} for name in "abc"]))
    found = answer(capsys, "score", data, "-m", "specificity,length")
    assert found["code"] == 0
    refused_one = next(row for row in found["results"] if row["metric"] == "specificity")
    assert (refused_one["status"], refused_one["estimate"]) == ("refused", None)
    assert "more dialogues" in refused_one["reason"]
    assert answer(capsys, "score", data, "-m", "specificity")["code"] == 4
