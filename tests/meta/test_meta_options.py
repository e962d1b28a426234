"""ADEM's analyses as options of `meta`: the bias for length, and the first metric against the others."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.corpus import corpus, write
from turnwise.cli.common.group import run


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(corpus(tmp_path / "logs.jsonl"))


QUICK = ("--no-intervals", "--no-differences", "--statistic", "pearson", "--level", "turn", "-q")


def test_length_bias_has_a_row_for_people_and_for_each_metric(capsys, tmp_path, data):
    records = [json.loads(line) for line in Path(data).read_text().splitlines()]
    far, near = [], []
    for number, record in enumerate(records):
        for message in record["messages"]:
            if message["role"] == "assistant":
                words = message["content"].split()
                message["references"] = [
                    " ".join(words * 3 + ["far"] * 7) if number % 2 else message["content"] + " x"
                ]
                (far if number % 2 else near).append(len(words))
    file = str(write(tmp_path / "gaps.jsonl", records))
    assert run(["meta", file, "-m", "bleu-2,length", *QUICK, "--length-bias", "--format", "json"]) == 0
    people, bleu, length = json.loads(capsys.readouterr().out)["length_bias"]
    assert (people["metric"], bleu["metric"], length["metric"]) == ("people", "bleu-2", "length")
    assert (people["n_near"], people["n_far"]) == (len(near), len(far))
    assert (length["near"], length["far"]) == (pytest.approx(np.mean(near)), pytest.approx(np.mean(far)))
    assert bleu["near"] > bleu["far"]
    assert bleu["p"] < 0.001
    assert run(["meta", file, "-m", "bleu-2", *QUICK, "--length-bias"]) == 0
    assert "within 6 words" in capsys.readouterr().out


def test_normalised_compares_the_first_metric_with_the_others(capsys, data):
    assert run(["meta", data, "-m", "chrf,bleu-2", *QUICK, "--normalised", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["normalised"]
    counts = {row["kind"]: row["n"] for row in rows}
    assert counts["good"] >= counts["missed"] >= counts["rescued"]
    assert counts["good"] > 0
    assert rows[0]["others"] == ["bleu-2"]
    assert run(["meta", data, "-m", "chrf,bleu-2", *QUICK, "--normalised"]) == 0
    assert "chrf against bleu-2, on people's scale" in capsys.readouterr().out
    assert run(["meta", data, "-m", "chrf", *QUICK, "--normalised"]) == 2
    assert "two or more" in capsys.readouterr().err
