"""`turnwise attack` as a user runs it."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import turnwise as tw
from tests.attacks.planted import talks
from tests.tiny_models import write_llama
from turnwise.attacks.target import THREAD, Hangs
from turnwise.cli.common.group import run


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "dialogues.jsonl"
    with path.open("w") as file:
        for context in talks(60):
            turns = [{"role": turn.role, "content": turn.text} for turn in context.item.turns]
            file.write(json.dumps({"id": context.item.dialogue, "agent": "human", "messages": turns}) + "\n")
    return str(path)


def attacked(capsys, corpus: str, metric: str, *options: str) -> tuple[int, dict]:
    code = run(["attack", metric, "--contexts", corpus, "--budget", "3000", "--format", "json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_a_metric_that_rewards_questions_is_gameable_by_questions(
    capsys, corpus: str, tmp_path: Path
) -> None:
    code, document = attacked(capsys, corpus, "question-rate", "-o", str(tmp_path / "out"))
    assert code == 0
    assert document["verdict"]["gameable"]
    worst = next(row for row in document["results"] if row["strategy"] == document["verdict"]["worst"])
    assert worst["significant"]
    assert worst["score"] > worst["human_score"]
    assert worst["beats_human"] > 0.5
    assert "?" in worst["example"]
    assert {"strategy", "kind", "description", "example", "interval"} <= set(worst)
    assert document["calls"] <= 3000
    assert json.loads((tmp_path / "out" / "results.json").read_bytes()) == document


def test_the_gate_fails_for_a_gameable_metric_alone(capsys, corpus: str) -> None:
    assert attacked(capsys, corpus, "question-rate", "--gate")[0] == 1
    assert attacked(capsys, corpus, "rouge-l", "--gate", "--budget", "4000")[0] == 0


def test_a_metric_of_which_lower_is_better_is_attacked_downwards(capsys, corpus: str) -> None:
    _, document = attacked(capsys, corpus, "repeat-partner-1")
    worst = next(row for row in document["results"] if row["strategy"] == document["verdict"]["worst"])
    assert worst["score"] < worst["human_score"]


def test_the_table_ends_with_a_verdict_in_words(capsys, corpus: str) -> None:
    assert run(["attack", "question-rate", "--contexts", corpus, "--budget", "3000"]) == 0
    said = capsys.readouterr().out
    assert "GAMEABLE" in said
    assert "  reply:   " in said
    assert "the score grows with question marks" in said


def test_the_same_seed_gives_the_same_document(capsys, corpus: str) -> None:
    assert attacked(capsys, corpus, "length")[1] == attacked(capsys, corpus, "length")[1]


@pytest.mark.parametrize(
    ("metric", "words"),
    [("fbd", "does not score single replies"), ("inform", "does not score single replies")],
)
def test_metrics_of_systems_and_dialogues_cannot_be_attacked(
    capsys, corpus: str, metric: str, words: str
) -> None:
    code = run(["attack", metric, "--contexts", corpus, "--db", str(Path(corpus).parent)])
    said = capsys.readouterr().err
    assert code in (2, 3)
    assert words in said or "tables" in said


def test_a_metric_at_an_address_is_attacked_and_may_stop(capsys, corpus: str) -> None:
    class Scorer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            records = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps([len(one["response"]) for one in records]).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Scorer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    try:
        code, document = attacked(capsys, corpus, address)
        assert code == 0
        assert document["verdict"]["gameable"]
    finally:
        server.shutdown()
        server.server_close()
    assert run(["attack", address, "--contexts", corpus, "--budget", "600"]) == 3
    assert "cannot be asked" in capsys.readouterr().err


RL = (
    "--stages",
    "baselines,rl",
    "--epochs",
    "2",
    "--updates",
    "6",
    "--batch",
    "16",
    "--longest",
    "8",
    "--kl",
    "0",
)


@pytest.fixture
def policy(tmp_path: Path) -> str:
    return str(write_llama(tmp_path / "llama"))


@pytest.mark.slow
def test_a_tuned_policy_is_tested_with_the_other_strategies(
    capsys, corpus: str, policy: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    _, document = attacked(
        capsys, corpus, "question-rate", *RL, "--policy", policy, "--learning-rate", ".03",
        "--repetitions", "2", "-o", str(out),
    )  # fmt: skip
    best, other = document["repetitions"]
    assert best["reward"] >= other["reward"]
    assert best["reward"] > best["curves"]["reward"][0]
    assert {"response_frequency", "lexical_variety", "bleu", "jaccard", "inferred", "final"} <= set(best)
    policies = [row for row in document["results"] if row["strategy"] == "rl: policy"]
    assert len(policies) == 1
    assert policies[0]["n_items"] == 60
    curves = json.loads((out / "curves.json").read_bytes())
    assert curves["repetitions"] == document["repetitions"]
    assert not (out / "calls.jsonl").exists()


@pytest.mark.slow
def test_repetitions_in_two_processes_give_the_same_result_as_in_one(
    capsys, corpus: str, policy: str, tmp_path: Path
) -> None:
    options = (*RL, "--policy", policy, "--learning-rate", ".03", "--repetitions", "2", "--no-perturb")
    one, two = (attacked(capsys, corpus, "question-rate", *options, "--jobs", jobs)[1] for jobs in "12")
    assert {**one, "origin": None} == {**two, "origin": None}
    assert len(two["repetitions"]) == 2


def test_a_killed_attack_resumes_without_repeating_calls(
    capsys, corpus: str, tmp_path: Path, monkeypatch
) -> None:
    from turnwise.metrics.features.surface import QuestionRate

    asked = 0
    rows = QuestionRate.rows

    def mortal(limit: int):
        def counted(self, items):
            nonlocal asked
            asked += len(items)
            if asked > limit:
                raise KeyboardInterrupt
            return rows(self, items)

        return counted

    whole = attacked(capsys, corpus, "question-rate")[1]
    monkeypatch.setattr(QuestionRate, "rows", mortal(1500))
    killed = [
        "attack",
        "question-rate",
        "--contexts",
        corpus,
        "--budget",
        "3000",
        "-o",
        str(tmp_path / "out"),
    ]
    assert run(killed) == 130
    before, asked = asked, 0
    monkeypatch.setattr(QuestionRate, "rows", mortal(10**9))
    resumed = attacked(capsys, corpus, "question-rate", "-o", str(tmp_path / "out"))[1]
    assert before > 1400
    assert asked <= resumed["calls"] + 12 * 60 - 1400  # the rest, and the perturbations
    assert {**resumed, "origin": None} == {**whole, "origin": None}


def test_an_unknown_stage_is_named(capsys, corpus: str) -> None:
    assert run(["attack", "length", "--contexts", corpus, "--stages", "serch"]) == 2
    assert "search" in capsys.readouterr().err


@pytest.mark.parametrize("budget", ["1900", "2700"])  # nothing is left for the search, or a few calls
def test_a_budget_too_small_for_a_search_is_reported_and_fails_the_gate(
    capsys, corpus: str, budget: str
) -> None:
    asked = ["attack", "rouge-l", "--contexts", corpus, "--budget", budget, "--no-perturb"]
    assert run(asked) == 0
    assert "too little was searched for a verdict" in capsys.readouterr().out
    assert run([*asked, "--gate"]) == 1


def sleepy(corpus: str, folder: Path, source: str, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "sleepy.py").write_text(source)
    return subprocess.run(
        [sys.executable, "-m", "turnwise", "attack", "sleepy:score", "--contexts", corpus, *more],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_metric_that_hangs_ends_the_attack_with_its_exit_code(corpus: str, tmp_path: Path) -> None:
    done = sleepy(
        corpus, tmp_path, "import time\ndef score(records):\n    time.sleep(60)\n", "--timeout", "0.5"
    )
    assert done.returncode == 3
    assert "gave no score" in done.stderr


ONE_WORD = """
import time
def score(records):
    if any(one["response"] == "yes" for one in records):
        time.sleep(600)
    return [len(one["response"]) for one in records]
"""


def test_a_metric_that_hangs_on_one_reply_is_attacked_and_the_reply_is_reported(
    corpus: str, tmp_path: Path
) -> None:
    done = sleepy(corpus, tmp_path, ONE_WORD, "--timeout", "4", "--budget", "3000", "--no-perturb", "--gate")
    assert done.returncode == 1, done.stderr  # and at once, though a call still hangs
    assert "GAMEABLE" in done.stdout
    assert "no score for 60 replies: no score within 4 s for “yes”" in done.stdout


def test_a_calling_program_gets_an_error_for_a_metric_that_hangs(
    corpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaf.py").write_text(
        "import threading\ngo = threading.Event()\ndef score(records):\n    go.wait()\n    return [0] * len(records)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Hangs, match="gave no score"):
        tw.attack("deaf:score", corpus, timeout=0.2)
    import deaf

    deaf.go.set()
    for thread in threading.enumerate():
        if thread.name == THREAD:  # a command that finds it running would end this process
            thread.join()


def test_one_verdict_is_not_given_for_many_groups_and_files_may_share_ids(
    capsys, corpus: str, tmp_path: Path
) -> None:
    assert run(["attack", "length", "--contexts", corpus, "--by", "meta.corpus"]) == 2
    assert "--where" in capsys.readouterr().err
    other = tmp_path / "other.jsonl"
    other.write_bytes(Path(corpus).read_bytes().replace(b"guitar", b"harp"))
    assert run(["attack", "length", "--contexts", corpus, "--contexts", str(other)]) == 2
    assert "--by file" in capsys.readouterr().err
    code, document = attacked(
        capsys, corpus, "length", "--contexts", str(other), "--by", "file", "--no-perturb", "--budget", "6000"
    )
    assert code == 0
    assert len(document["origin"]["inputs"]) == 2


def test_errors_of_the_metric_are_reported_with_their_number(
    corpus: str, capsys, monkeypatch, tmp_path
) -> None:
    (tmp_path / "touchy.py").write_text(
        "def score(records):\n    return [len(one['response']) / (one['response'] != 'yes') for one in records]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert run(["attack", "touchy:score", "--contexts", corpus, "--budget", "3000", "--no-perturb"]) == 0
    assert "no score for 60 replies: " in capsys.readouterr().out


@pytest.mark.slow
def test_repetitions_of_another_metric_are_not_reused(
    capsys, corpus: str, policy: str, tmp_path: Path, monkeypatch
) -> None:
    options = (*RL, "--policy", policy, "--learning-rate", ".03", "--no-perturb")
    out = ("-o", str(tmp_path / "out"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("turnwise.run.attack.policy_tuning.converged_strategy", interrupted)
        line = ["attack", "question-rate", "--contexts", corpus, "--budget", "3000", *options, *out]
        assert run(line) == 130
    assert (tmp_path / "out" / "repetitions.jsonl").exists()
    capsys.readouterr()
    here = attacked(capsys, corpus, "length", *options, *out)[1]
    afresh = attacked(capsys, corpus, "length", *options)[1]
    assert here["repetitions"] == afresh["repetitions"]


def test_tendencies_have_the_sign_of_the_metrics_own_scores(capsys, corpus: str) -> None:
    """Lower is better here, and a copy of the last turn has a high number."""
    _, document = attacked(capsys, corpus, "repeat-partner-1", "--stages", "baselines")
    (copied,) = [one for one in document["tendencies"] if one["feature"] == "copied"]
    assert copied["correlation"] > 0
    assert copied["description"].startswith("the score grows")
    (other,) = [one for one in document["perturbations"] if one["name"] == "another dialogue's context"]
    assert other["change"] <= 0
    assert other["lowered"] >= other["raised"]


def test_a_selection_without_the_people_of_the_data_is_an_error_that_says_so(capsys, corpus: str) -> None:
    path = Path(corpus)
    bots = path.read_text().replace('"human"', '"bot"').replace('"id": "', '"id": "bot ')
    path.write_text(bots + path.read_text())
    assert run(["attack", "length", "--contexts", corpus, "--limit", "60"]) == 2
    said = capsys.readouterr().err
    assert (
        "the agent `human`, which the data has, but not among the dialogues that --where and --limit" in said
    )
    assert run(["attack", "length", "--contexts", corpus, "--limit", "60", "--where", "agent=human"]) == 0
