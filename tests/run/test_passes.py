"""`ope --stream`: the numbers of logs in memory, from sums of shards."""

import gzip
import json
from functools import partial
from pathlib import Path

import pytest

from tests.small_world import held
from turnwise.cli.group import run
from turnwise.logs import native
from turnwise.logs.shards import shards
from turnwise.run import passes

OPTIONS = ("--model", "hashing", "--format", "json", "-q")
SUMMING = ("--estimator", "lstdq,dice-linear,direct,fqe")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("stream") / "logs.jsonl"
    native.write(held(agents=6, dialogues=25), str(path))
    return str(path)


def answer(capsys, *args: str, code: int = 0) -> dict:
    assert run(["ope", *args, *OPTIONS]) == code
    return json.loads(capsys.readouterr().out)


def test_shards_give_what_the_whole_gives(capsys, logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answer(capsys, logs, "--all", *SUMMING)
    monkeypatch.setattr(passes, "shards", partial(shards, size=20_000))
    monkeypatch.setattr(passes, "CHUNK", 7)
    found = answer(capsys, logs, "--all", *SUMMING, "--stream")
    assert len(shards([logs], size=20_000)) > 3
    for one, other in zip(whole["results"], found["results"], strict=True):
        near = (
            2e-3 if one["estimator"] == "fqe" else 1e-6
        )  # from sums, the mean of Q is clipped and not each Q
        assert (one["target"], one["estimator"]) == (other["target"], other["estimator"])
        assert (one["n_items"], one["logged"], one["refused"]) == (
            other["n_items"], pytest.approx(other["logged"]), other["refused"]
        )  # fmt: skip
        assert other["raw"] == pytest.approx(one["raw"], abs=near)
        assert other["estimate"] == pytest.approx(one["estimate"], abs=20 * near)
    assert found["validation"][0]["n_agents"] == 6


def test_packed_files_and_a_sample_for_the_reach_do_as_well(
    capsys, logs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "logs.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(logs).read_bytes()))
    monkeypatch.setattr(passes, "SAMPLE", 60)
    asked = ("--target", "a3", "--stream", "--estimator", "lstdq")
    plain, zipped = answer(capsys, logs, *asked)["results"], answer(capsys, str(packed), *asked)["results"]
    assert plain == zipped
    assert plain[0]["n_items"] == 125
    assert plain[0]["diagnostics"]["overlap"] == pytest.approx(1.0)  # of the few things that are said here


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--estimator", "robust"), "no function of sums"),
        (("--fraction", ".5"), "--fraction"),
        (("--where", "agent=a1"), "--where"),
        (("--rating", "metric:length"), "ratings as they are logged"),
    ],
)
def test_what_needs_all_dialogues_at_once_is_said_so(
    capsys, logs: str, options: tuple[str, ...], words: str
) -> None:
    assert run(["ope", logs, "--target", "a3", "--stream", *options, *OPTIONS]) == 2
    assert words in capsys.readouterr().err
