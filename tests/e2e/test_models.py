"""Metrics with models on the command line: processes and caches do not change results; missing models are reported."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.corpus import corpus
from tests.tiny_models import write_bert, write_llama
from tests.warm_start import quick_turnwise
from turnwise.encode.cache.disk import FILE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus(tmp_path / "logs.jsonl", 8)
    write_bert(tmp_path / "bert")
    write_llama(tmp_path / "llama")
    return tmp_path


def run(folder: Path, *options: str, cache: str = "cache") -> str:
    """The output of `turnwise score logs.jsonl` with these options and this cache."""
    command = [*quick_turnwise(), "score", "logs.jsonl", *options]
    environment = {**os.environ, "TURNWISE_CACHE": str(folder / cache), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def score(folder: Path, out: str, *options: str, cache: str = "cache") -> bytes:
    metrics = (
        "bertscore[model=bert],greedy[model=bert],relatedness[model=bert],pmi[model=llama],ppl[model=llama]"
    )
    run(folder, "-m", metrics, "-o", out, "--draws", "100", *options, cache=cache)
    return (folder / out / "items.jsonl").read_bytes() + (folder / out / "results.json").read_bytes()


@pytest.mark.slow
def test_one_process_or_two_a_cold_cache_or_a_warm_one_give_the_same_bytes(folder):
    cold = score(folder, "cold")
    assert (folder / "cache" / FILE).is_file()
    assert score(folder, "warm") == cold
    assert score(folder, "two", "--jobs", "2", cache="other") == cold


def test_a_model_that_is_not_here_is_skipped_with_the_command_that_fetches_it(folder):
    rows = json.loads(run(folder, "-m", "bertscore,length", "--format", "json", cache="empty"))["results"]
    (absent,) = [row for row in rows if row["metric"] == "bertscore"]
    assert (absent["status"], absent["estimate"]) == ("skipped", None)
    assert "turnwise fetch minilm" in absent["reason"]
    assert all(row["estimate"] for row in rows if row["metric"] == "length")


def test_distances_can_score_users(folder):
    """The fidelity of a simulated user: the same distance on the user's side."""
    corpus(folder / "real.jsonl", 8, agents=("human",), seed=5)
    options = "-m mmd[model=bert,fewest=5] --role user --items all --real real.jsonl --format json"
    rows = json.loads(run(folder, *options.split()))["results"]
    assert [row["agent"] for row in rows] == ["good", "fair", "poor"]
    assert all(row["estimate"] is not None for row in rows), rows
