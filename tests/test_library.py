"""`import turnwise as tw`: the commands as functions."""

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import turnwise as tw
from tests.corpus import corpus
from turnwise.cli.common.group import run
from turnwise.errors import DataError, Refused, UsageError


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return corpus(tmp_path / "logs.jsonl", 12)


def test_a_function_gives_what_its_command_prints(logs, capsys):
    found = tw.score(logs, metrics=["bleu-2", "length"], draws=200)
    run(["score", str(logs), "-m", "bleu-2,length", "--draws", "200"])
    assert str(found) == capsys.readouterr().out.rstrip("\n")
    run(["score", str(logs), "-m", "bleu-2,length", "--draws", "200", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["results"] == json.loads(json.dumps(found.records()))


def test_several_values_are_given_by_comma_or_as_a_sequence(logs):
    settings = {"differences": False, "level": "turn", "draws": 100}
    found = tw.meta_evaluate([logs], metrics=("length",), statistics=["spearman", "pearson"], **settings)
    assert {one["statistic"] for one in found} == {"spearman", "pearson"}
    assert len(found) == len(found.records())
    again = tw.meta_evaluate(str(logs), metrics="length", statistics="spearman,pearson", **settings)
    assert json.dumps(again.records()) == json.dumps(found.records())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": "bleu-4"}, "score has no parameter `metric`; did you mean `metrics`?"),
        ({"metrics": "length", "draw": 300}, "score has no parameter `draw`; did you mean `draws`?"),
        ({"metrics": "length", "draws": "many"}, "score: `draws` must be an int >= 100, not 'many'"),
        ({"metrics": "length", "draws": 99}, "score: `draws` must be an int >= 100, not 99"),
        ({"metrics": "length", "draws": True}, "score: `draws` must be an int >= 100, not True"),
        ({"metrics": 3}, "score: `metrics` must be a str or a sequence of str values or a function, not 3"),
        ({"metrics": "length", "role": "bot"}, "score: `role` must be one of 'assistant', 'user', not 'bot'"),
        ({"metrics": "length", "limit": 0}, "score: `limit` must be an int >= 1 or None, not 0"),
        ({"metrics": "length", "where": "a=b"}, "score: `where` must be a dict or a sequence of tuple"),
        ({}, "score: missing a required argument: 'metrics'"),
    ],
)
def test_a_wrong_argument_is_one_error_that_names_the_right_one(given, message):
    with pytest.raises(UsageError) as raised:
        tw.score("never-read.jsonl", **given)
    assert str(raised.value).startswith(message)


def test_numbers_of_other_types_are_accepted_where_they_mean_the_same(logs):
    import numpy as np

    found = tw.score(logs, metrics="length", draws=np.int64(200))
    assert found.document.origin.settings.draws == 200
    with pytest.raises(UsageError, match="`fraction` must be a float <= 1 and > 0, not 2"):
        tw.ope(logs, targets="good", fraction=2)


def test_unreadable_data_is_a_data_error(logs):
    with pytest.raises(DataError, match="cannot be read"):
        tw.score("nowhere.jsonl", metrics="length")


def test_a_refusal_is_a_result_and_not_an_error(logs):
    found = tw.score(logs, metrics="fbd", model="hashing", draws=100)
    assert {one["status"] for one in found} == {"refused"}
    assert found.exit_code == Refused.exit_code
    assert "refused" in str(found)


def test_a_result_prints_what_was_not_scored_after_its_table():
    replies = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    without_reference = [{"id": "1", "agent": "a", "messages": replies}]
    known = [*replies[:1], {**replies[1], "references": ["ho ho"]}]
    found = tw.score(
        [*without_reference, {"id": "2", "agent": "a", "messages": known}], metrics="rouge-l", draws=100
    )
    head, *_, last = str(found).splitlines()
    assert head.split()[:2] == ["metric", "agent"]
    assert last.startswith("note: rouge-l: 1 item not scored")


def test_a_notebook_gets_a_table_and_figures_in_which_nothing_runs(logs):
    page = tw.score(logs, metrics="length", draws=100)._repr_html_()
    assert "<table>" in page
    assert "<svg" in page
    evil = [
        {"id": "1", "agent": "<script>alert(1)</script>", "messages": [
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    ]  # fmt: skip
    assert "<script" not in tw.score(evil, metrics="length", draws=100)._repr_html_()


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, turnwise; print([m for m in ('numpy', 'scipy', 'click', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no `nothing`"):
        _ = tw.nothing


def test_a_function_is_called_without_the_command_line():
    code = (
        "import sys, turnwise; turnwise.score; print('click' in sys.modules, 'turnwise.cli' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_results_become_data_frames(logs, monkeypatch):
    found = tw.score(logs, metrics="length,bleu-2", draws=100)
    for frame in (found.to_pandas(), found.to_polars()):
        assert list(frame["metric"]) == [one["metric"] for one in found]
        assert list(frame["estimate"]) == [one["estimate"] for one in found]
    for package, extra in (("pandas", "pandas"), ("polars", "tables")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(tw.MissingExtra, match=rf"pip install 'turnwise\[{extra}\]'"):
            getattr(found, f"to_{package}")()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "sales.jsonl"
    made = tw.simulate("booking", agents=6, dialogues=12, samples=1, truth=0, output=path)
    assert (made.n_dialogues, made.truth_path, len(made)) == (72, None, 0)
    return path


@pytest.mark.parametrize(
    ("command", "options", "kinds"),
    [
        ("score", {"metrics": "length,rouge-l"}, {"scores"}),
        ("compare", {"metrics": "length", "agents": "good,dull", "pair": "meta.topic"}, {"differences", "flips"}),
        ("meta_evaluate", {"metrics": "rouge-l,length", "statistics": "spearman"}, {"agreement", "scatter", "systems"}),
        ("meta_evaluate", {}, {"raters"}),
        ("ope", {"targets": "noise-01", "rating": "reward", "model": "hashing"}, {"estimates", "pairs"}),
        ("ope", {"all_agents": True, "rating": "reward", "model": "hashing"}, {"regression"}),
        ("attack", {"count": 60, "budget": 900, "perturb": False}, {"strategies", "transcripts"}),
    ],
)  # fmt: skip
def test_a_notebook_shows_the_table_and_every_figure_of_each_command(
    command: str, options: dict, kinds: set[str], world: Path
):
    corpus = str(resources.files("turnwise") / "data" / "demo.jsonl")
    if command == "attack":
        found = tw.attack("question-rate", corpus, **options)
    else:
        found = getattr(tw, command)(world if command == "ope" else corpus, **options)
    assert kinds <= {figure.kind for figure in found.figures()}
    page = found._repr_html_()
    assert page.index("<table>") < page.index("<figure ")
    assert all(f'data-kind="{kind}"' in page for kind in kinds)
    assert page.count("<figure ") == len(found.figures())
    assert "<script" not in page


def test_a_hardened_metric_needs_a_folder_of_its_own(logs):
    with pytest.raises(UsageError, match="missing a required argument: 'output'"):
        tw.harden("usr-ret", logs)


def test_temporary_files_of_a_run_are_removed_unless_a_folder_is_given(logs, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "passing"))
    (tmp_path / "passing").mkdir()
    tw.score(logs, metrics="length", draws=100)
    assert not list((tmp_path / "passing").iterdir())
    tw.score(logs, metrics="length", draws=100, output=tmp_path / "kept")
    assert (tmp_path / "kept" / "results.json").exists()


def test_selections_of_finished_runs_are_errors(logs, tmp_path):
    for name in ("a", "b"):
        tw.score(logs, metrics="length", draws=100, output=tmp_path / name, where={"agent": "good"})
    runs = [tmp_path / "a", tmp_path / "b"]
    assert len(tw.compare(runs, draws=100)) == 1
    with pytest.raises(UsageError, match="by, limit cannot change two finished runs"):
        tw.compare(runs, draws=100, limit=3, by="agent")


def test_files_are_checked_converted_and_reported(logs, tmp_path):
    checked = tw.validate([logs])
    assert (checked.ok, len(checked), checked.records()[0]["file"]) == (True, 1, str(logs))
    (tmp_path / "bad.jsonl").write_text('{"messages": []}\n')
    bad = tw.validate(tmp_path / "bad.jsonl")
    assert not bad.ok
    assert "bad.jsonl:1" in str(bad)
    lines = (json.loads(line) for line in logs.read_text().splitlines())
    chats = [{"messages": [{k: m[k] for k in ("role", "content")} for m in one["messages"]]} for one in lines]
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(one) + "\n" for one in chats))
    done = tw.convert(tmp_path / "chats.jsonl", tmp_path / "native.jsonl", reader="openai")
    assert done.n_dialogues == len(chats)
    tw.score(logs, metrics="length", draws=100, output=tmp_path / "out")
    made = tw.make_report(tmp_path / "out", output=tmp_path / "report.html")
    assert (tmp_path / "report.html").exists()
    assert made.n_figures > 0


def test_replies_of_an_agent_are_added_to_the_logs(logs, tmp_path, monkeypatch):
    (tmp_path / "echo.py").write_text("def reply(messages):\n    return messages[-1]['content']\n")
    monkeypatch.chdir(tmp_path)
    done = tw.respond(logs, agent="echo:reply", name="echo", output=tmp_path / "out.jsonl", limit=2)
    assert done.n_dialogues == 2
    assert done.n_replies == done.n_points > 0
    assert not done.failures
    assert tw.validate(tmp_path / "out.jsonl").records()[0]["alternatives"] == ["echo"]


def test_the_name_of_a_flag_leads_to_the_parameter() -> None:
    with pytest.raises(UsageError, match="convert has no parameter `map`; did you mean `columns`"):
        tw.convert("a.json", "b.jsonl", map="id=id")
