"""`turnwise train` from the command line: a model is written, used, warned about, resumed and refused."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.corpus import corpus, dialogue, write
from turnwise.cli.common.group import run


class Done(NamedTuple):
    stdout: str
    stderr: str


def turnwise(*arguments: object, code: int = 0) -> Done:
    """Run a command in this process, which has torch loaded, and in which a warning is an error."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        found = run([*map(str, arguments)])
    assert found == code, err.getvalue()
    return Done(out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("data") / "logs.jsonl", 20)


def test_a_trained_metric_scores_and_its_card_names_the_training_data(data: Path, tmp_path: Path) -> None:
    made = turnwise(
        "train", "usr-ret", data, "-o", tmp_path / "ret", "--model", "hashing", "--set", "epochs=1"
    )
    assert "above a negative, one" in made.stdout
    card = json.loads((tmp_path / "ret" / "card.json").read_text())
    assert card["data"]["files"][0]["file"] == "logs.jsonl"
    assert card["command"].startswith("turnwise train usr-ret logs.jsonl --set epochs=1")
    assert not list(tmp_path.glob(".ret*"))  # checkpoints are gone
    scored = turnwise("score", data, "-m", f"usr-ret[trained={tmp_path / 'ret'}]", "--format", "json", "-q")
    assert all(0 < row["estimate"] < 1 for row in json.loads(scored.stdout)["results"])


def test_the_same_command_writes_the_same_bytes(data: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        turnwise(
            "train", "usr-ret", data, "-o", tmp_path / name, "--model", "hashing", "--set", "epochs=1", "-q"
        )
    for file in ("model.safetensors", "config.json", "card.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_meta_warns_about_training_items_and_item_scores_have_intervals(tmp_path: Path) -> None:
    from tests.tiny_trained import rated_items, tiny_trained

    items, ratings = rated_items()
    records = [
        {
            "id": one.dialogue,
            "agent": ("good", "bad")[at % 2],
            "messages": [{"role": turn.role, "content": turn.text} for turn in one.turns],
            "ratings": [{"dimension": "overall", "value": ratings[one.id], "turn": 3, "rater": "mean"}],
        }
        for at, one in enumerate(items)
    ]
    data = write(tmp_path / "rated.jsonl", records)
    name = f"turnwise[trained={tiny_trained('turnwise')}]"
    done = turnwise("meta", data, "-m", name, "--level", "turn", "--draws", 100, "-q", "-o", tmp_path / "out")
    assert f"learned from {len(items)} of {len(items)} items here" in done.stderr
    line = json.loads((tmp_path / "out" / "items.jsonl").read_text().splitlines()[0])
    low, high = line["intervals"][name]
    assert low < line["scores"][name] < high


def test_too_few_ratings_and_unknown_names_are_one_line_errors_with_exit_code_2(tmp_path: Path) -> None:
    import numpy as np

    few = write(tmp_path / "few.jsonl", [dialogue(0, "good", np.random.default_rng(0))])
    done = turnwise("train", "turnwise", few, "-o", tmp_path / "m", code=2)
    assert "at least 30" in done.stderr
    assert "Traceback" not in done.stderr
    mixed = [dialogue(at, "good", np.random.default_rng(at)) for at in range(40)]
    for record in mixed[::2]:
        record["ratings"] = [{**one, "scale": [0, 100]} for one in record["ratings"]]
    said = turnwise(
        "train", "turnwise", write(tmp_path / "mixed.jsonl", mixed), "-o", tmp_path / "m", code=2
    ).stderr
    assert "different scales" in said
    assert "--rescale" not in said
    assert "usr-ret" in turnwise("train", "usr-rat", few, "-o", tmp_path / "m", code=2).stderr
    assert (
        "KEY=VALUE"
        in turnwise("train", "usr-ret", few, "-o", tmp_path / "m", "--set", "epochs", code=2).stderr
    )
    assert not (tmp_path / "m").exists()


def test_an_untrained_or_unfetched_metric_is_skipped_with_the_command(data: Path) -> None:
    done = turnwise("score", data, "-m", "usr-mlm[model=nobody/nothing],length", "--format", "json")
    rows = [row for row in json.loads(done.stdout)["results"] if row["metric"] != "length"]
    assert [(row["status"], row["reason"]) for row in rows] == [
        ("skipped", "the model `nobody/nothing` is not on this machine: turnwise fetch nobody/nothing")
    ]
