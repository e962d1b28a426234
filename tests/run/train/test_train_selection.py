"""`train --where` and `--limit`: a trainer sees the dialogues of the selection alone."""

import json
from pathlib import Path

import pytest

from turnwise.cli.common.group import run

SPLITS = {"train": "i like tea", "test": "i like cake"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    path = tmp_path / "logs.jsonl"
    lines = [
        {
            "id": f"{split}-{number}", "agent": "human", "meta": {"split": split},
            "messages": [
                {"role": "user", "content": f"what do you like {number}"}, {"role": "assistant", "content": said},
            ],
        }
        for split, said in SPLITS.items()
        for number in range(4)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--where", "meta.split=train"], {"i like tea"}),
        (["--where", "meta.split=test"], {"i like cake"}),
        (["--limit", "4"], {"i like tea"}),
        ([], {"i like tea", "i like cake"}),
    ],
)
def test_retrieval_knows_only_replies_of_the_selection(
    logs: Path, tmp_path: Path, options: list[str], said: set[str]
) -> None:
    pytest.importorskip("safetensors")
    model = tmp_path / "model"
    assert run(["train", "tfidf", str(logs), *options, "-o", str(model), "-q"]) == 0
    assert set(json.loads((model / "config.json").read_text())["config"]["replies"]) == said


def test_training_says_which_of_several_dimensions_it_learns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rated.jsonl"
    messages = [{"role": "user", "content": "what do you like"}, {"role": "assistant", "content": "tea"}]
    about = {"rater": "r", "scale": [1, 5]}
    ratings = [
        {**about, "dimension": "wit", "value": 3, "turn": 1},
        {**about, "dimension": "overall", "value": 4},
    ]
    line = {"id": "d", "agent": "bot", "messages": messages, "ratings": ratings}
    path.write_text(json.dumps(line) + "\n")
    assert run(["train", "usr-full", str(path), "-o", str(tmp_path / "model")]) != 0  # one rating is too few
    assert "learns the ratings of replies on `wit`; --dimension chooses another" in capsys.readouterr().err
    assert run(["train", "usr-full", str(path), "--dimension", "wit", "-o", str(tmp_path / "model")]) != 0
    assert "learns the ratings" not in capsys.readouterr().err
