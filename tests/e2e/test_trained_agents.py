"""`turnwise train` makes agents that `respond` takes, and an encoder that metrics can load."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.small_talk import TINY, small_talk
from tests.warm_start import quick_turnwise
from turnwise.encode import load
from turnwise.logs.native import write

SIZES = {name: value for name, value in TINY.items() if name != "device"} | {"updates": 6, "every": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("agents")
    write(small_talk(), str(home / "talk.jsonl"))
    return home


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*quick_turnwise(), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", ["vhred", "dual", "tfidf"])
def test_an_agent_is_trained_and_answers(folder: Path, kind: str):
    more = {"latent": 4, "anneal": 3} if kind == "vhred" else {}
    sizes = {"tfidf": {"window": 1}}.get(kind, {**SIZES, **more})
    if kind == "dual":
        sizes = {name: value for name, value in sizes.items() if name != "decoder"}
    chosen = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
    made = run(folder, "train", kind, "talk.jsonl", "-o", kind, "--device", "cpu", *chosen)
    assert made.returncode == 0, made.stderr
    card = json.loads((folder / kind / "card.json").read_text())
    assert card["data"]["files"][0]["dialogues"] == 40
    said = run(
        folder, "respond", "talk.jsonl", "--agent", kind, "--name", "new", "--limit", "3", "-o", "out.jsonl"
    )
    assert said.returncode == 0, said.stderr
    assert "new replies at 6 of 6 points" in said.stderr
    if kind == "vhred":
        assert "perplexity" in made.stdout
        assert "update 6: held-out loss" in made.stderr
        encoder = load(str(folder / kind))
        assert np.isfinite(encoder.encode(["hello there"])).all()
        assert encoder.signature.name.startswith("vhred@")
