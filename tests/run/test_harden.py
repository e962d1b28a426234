"""A retrieval metric that a parrot fools is taught not to be, and says what that cost."""

import gzip
import json
from pathlib import Path

import pytest

from tests.probe.planted import talks
from turnwise.cli.group import run

pytest.importorskip("torch")


def write(path: Path, count: int, seed: int, *, rated: bool = False) -> str:
    with path.open("w") as file:
        for place, context in enumerate(talks(count, seed)):
            turns = [{"role": turn.role, "content": turn.text} for turn in context.item.turns]
            ratings = (
                [{"dimension": "overall", "value": place % 5, "turn": 3, "scale": [0, 4]}] if rated else []
            )
            line = {"id": f"{path.stem}{place}", "agent": "human", "messages": turns, "ratings": ratings}
            file.write(json.dumps(line) + "\n")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return {
        "learn": write(tmp_path / "learn.jsonl", 160, 1),
        "contexts": write(tmp_path / "talks.jsonl", 80, 2),
        "rated": write(tmp_path / "rated.jsonl", 40, 3, rated=True),
        "model": str(tmp_path / "ret"),
        "out": str(tmp_path / "out"),
    }


def trained(files: dict[str, str], *settings: str) -> int:
    told = [part for setting in settings for part in ("--set", setting)]
    return run(["train", "usr-ret", files["learn"], "-o", files["model"], "--model", "hashing", *told, "-q"])


def test_hardening_teaches_what_fooled_the_metric(capsys, files: dict[str, str]) -> None:
    assert trained(files, "negatives=random+random+random+random", "epochs=4") == 0
    capsys.readouterr()
    code = run(
        ["attack", f"usr-ret[trained={files['model']}]", "--contexts", files["contexts"], "--harden", "--rounds", "2",
         "--budget", "3000", "--count", "80", "--learn-from", files["learn"], "--agree-with", files["rated"],
         "--model", "hashing", "--no-perturb", "-o", files["out"], "--format", "json"]
    )  # fmt: skip
    assert code == 0
    document = json.loads(capsys.readouterr().out)
    first, last = document["rounds"][0], document["rounds"][-1]
    assert first["attacked"][0]["gain"] > 0
    assert last["attacked"][0]["gain"] < first["attacked"][0]["gain"]
    assert document["hardened"] != f"usr-ret[trained={files['model']}]"
    assert {"before", "after", "fell"} <= set(document["agreement"][0])
    with gzip.open(Path(files["out"]) / "lesson-1.jsonl.gz", "rt", encoding="utf-8") as file:
        lesson = [json.loads(line) for line in file]
    assert any("fraud" in message.get("alternatives", {}) for one in lesson for message in one["messages"])


def test_the_card_of_a_trained_model_lists_the_attacks_that_work(capsys, files: dict[str, str]) -> None:
    assert trained(files, "negatives=random+random+random+random", "epochs=4") == 0
    asked = ["attack", f"usr-ret[trained={files['model']}]", "--contexts", files["contexts"], "--budget", "3000",
             "--count", "80", "--no-perturb", "--card", "--format", "json"]  # fmt: skip
    capsys.readouterr()
    assert run(asked) == 0
    works = [row for row in json.loads(capsys.readouterr().out)["results"] if row["significant"]]
    card = json.loads((Path(files["model"]) / "card.json").read_bytes())
    assert [one["strategy"] for one in card["attacks"]] == [row["strategy"] for row in works]
    assert {one["contexts"] for one in card["attacks"]} == {"talks"}
    assert run(["attack", "length", "--contexts", files["contexts"], "--card"]) == 2


@pytest.mark.parametrize(
    ("metric", "more", "words"),
    [("length", ("-o", "x"), "cannot be hardened"), ("usr-ret", (), "give its folder with -o")],
)
def test_what_cannot_be_hardened_says_why(capsys, files: dict[str, str], metric, more, words: str) -> None:
    assert run(["attack", metric, "--contexts", files["contexts"], "--harden", *more]) == 2
    assert words in capsys.readouterr().err


def test_wrong_replies_must_be_there(capsys, files: dict[str, str]) -> None:
    assert trained(files, "wrong=nobody") == 2
    assert "nobody" in capsys.readouterr().err
