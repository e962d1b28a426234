"""`ope --stream`: the numbers of logs in memory, from sums of shards."""

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars
import pytest

from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.logs import native
from turnwise.logs.shards import shards
from turnwise.run.ope import stream as passes

OPTIONS = ("--model", "hashing", "--format", "json", "-q")
SUMMING = ("--estimator", "lstdq,dice-linear,direct,fqe")
NEAR = 1e-8  # 5e-11 was the largest difference of those seen, an end of an interval of dice-linear
SAME = ("target", "estimator", "method", "refused", "reason", "n_items", "n_clusters")

Record = dict[str, Any]
ALL = ("--all",)
A3 = ("--target", "a3")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> str:
    """JSON, as every test changes them in its own way."""
    path = tmp_path_factory.mktemp("records") / "logs.jsonl"
    native.write(held(agents=6, dialogues=25), str(path))
    return json.dumps([json.loads(line) for line in path.read_bytes().splitlines()])


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory, records: str) -> str:
    return written(tmp_path_factory.mktemp("stream"), json.loads(records))


@pytest.fixture
def thin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many shards and chunks of these few dialogues, and a sample of fewer than a calibration needs."""
    monkeypatch.setattr(passes, "shards", partial(shards, size=20_000))
    monkeypatch.setattr(passes, "CHUNK", 7)
    monkeypatch.setattr(passes, "SAMPLE", 15)
    monkeypatch.setattr(passes, "LEAST", 2)


def written(folder: Path, records: list[Record]) -> str:
    path = folder / "logs.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


def answer(capsys, *args: str, code: int = 0) -> dict:
    assert run(["ope", *args, *OPTIONS]) == code
    return json.loads(capsys.readouterr().out)


def as_they_are(records: list[Record]) -> list[Record]:
    return records


def without_ids(records: list[Record]) -> list[Record]:
    """But one, with the name that the byte at which the first line begins would have; it got the other reward."""
    first, *rest = ({key: value for key, value in record.items() if key != "id"} for record in records)
    other = next(one for one in rest if one["ratings"][0]["value"] != first["ratings"][0]["value"])
    other["id"] = "0"
    return [first, other, *(one for one in rest if one is not other)]


def seldom_rated(records: list[Record]) -> list[Record]:
    """Nobody was asked what others would have said where nobody rates."""
    for place, record in enumerate(records):
        if place % 2:
            del record["ratings"]
            for message in record["messages"]:
                message.pop("alternatives", None)
    return records


def rated_twice(records: list[Record]) -> list[Record]:
    for record in records:
        (rating,) = record["ratings"]
        record["ratings"] = [rating | {"rater": "r1"}, rating | {"rater": "r2", "value": 0.5}]
    return records


def one_is_silent(records: list[Record]) -> list[Record]:
    """Nothing says what a0 would have said, so it calibrates nobody."""
    for record in records:
        for message in record["messages"]:
            message.get("alternatives", {}).pop("a0", None)
    return records


def most_are_of_one(records: list[Record]) -> list[Record]:
    return [one for place, one in enumerate(records) if one["agent"] == "a3" or place % 25 < 8]


@pytest.mark.usefixtures("thin")
@pytest.mark.parametrize(
    ("change", "who"),
    [
        (as_they_are, ALL),
        (without_ids, ALL),
        (seldom_rated, A3),
        (rated_twice, A3),
        (one_is_silent, A3),
        (most_are_of_one, A3),
    ],
)
def test_shards_give_what_the_whole_gives(
    capsys, tmp_path: Path, records: str, change: Callable[[list[Record]], list[Record]], who: tuple[str, ...]
) -> None:
    path = written(tmp_path, change(json.loads(records)))
    assert len(passes.shards([path])) > 3
    whole, found = (answer(capsys, path, *who, *SUMMING, *stream) for stream in ((), ("--stream",)))
    assert any(one["interval"] for one in whole["results"])
    for one, other in zip(whole["results"], found["results"], strict=True):
        assert {key: one.get(key) for key in SAME} == {key: other.get(key) for key in SAME}
        for key in ("raw", "estimate", "interval", "logged"):
            assert other[key] == pytest.approx(one[key], abs=NEAR), key
    if who is ALL:
        assert found["validation"][0]["n_agents"] == whole["validation"][0]["n_agents"] == 6


def on_another_scale(records: list[Record]) -> list[Record]:
    records[0]["ratings"][0] |= {"value": 4, "scale": [1, 5]}
    return records


def silent_once(records: list[Record]) -> list[Record]:
    del records[0]["messages"][1]["alternatives"]["a3"]
    return records


@pytest.mark.usefixtures("thin")
def test_shards_refuse_what_the_whole_refuses(capsys, tmp_path: Path, records: str) -> None:
    path = written(tmp_path, on_another_scale(json.loads(records)))
    for stream in ((), ("--stream",)):
        assert run(["ope", path, *A3, "--estimator", "fqe", *stream, *OPTIONS]) == 2
        assert "was rated on several scales (1 to 5, 0 to 1)" in capsys.readouterr().err


@pytest.mark.usefixtures("thin")
def test_a_missing_alternative_is_an_error_of_shards_and_leaves_out_its_dialogue_of_the_whole(
    capsys, tmp_path: Path, records: str
) -> None:
    path = written(tmp_path, silent_once(json.loads(records)))
    assert run(["ope", path, *A3, "--estimator", "fqe", "--stream", *OPTIONS]) == 2
    assert "has no alternative" in capsys.readouterr().err
    assert run(["ope", path, *A3, "--estimator", "fqe", *OPTIONS]) in (0, 4)
    said = capsys.readouterr()
    assert "1 item left out: not every agent has a reply there" in said.out + said.err


def test_an_uncalibrated_estimate_from_sums_claims_no_interval(capsys, logs: str) -> None:
    asked = (*A3, "--no-calibrate", "--estimator", "lstdq")
    (whole,), (found,) = (answer(capsys, logs, *asked, *on)["results"] for on in ((), ("--stream",)))
    assert found["estimate"] == pytest.approx(whole["estimate"], abs=NEAR)
    assert whole["interval"] is not None
    assert "resampled" in whole["method"]
    assert found["interval"] is None
    assert found["method"].startswith("uncalibrated: no interval")


def sampled(path: str, below: dict[str, int]) -> list[str]:
    about = passes.Pass("reward", True, "hashing", (), (), below)
    return [
        json.loads(one)["id"] for shard in passes.shards([path]) for one in passes._first(about, shard).sample
    ]


@pytest.mark.usefixtures("thin")
def test_the_sample_does_not_show_what_file_it_comes_from(tmp_path: Path, records: str) -> None:
    rows = without_ids(json.loads(records))
    plain = Path(written(tmp_path, rows))
    (tmp_path / "logs.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    texts = [{key: v if isinstance(v, str) else json.dumps(v) for key, v in row.items()} for row in rows]
    polars.DataFrame(texts, infer_schema_length=None).write_parquet(tmp_path / "logs.parquet")
    below = {f"a{place}": 2**62 for place in range(6)}
    found = [sampled(f"{tmp_path}/logs{end}", below) for end in (".jsonl", ".jsonl.gz", ".parquet")]
    assert 15 < len(found[0]) < 75  # of 150, a quarter
    assert found[0] == found[1] == found[2]


@pytest.mark.usefixtures("thin")
def test_the_sample_is_of_rated_dialogues_and_lacks_nobody(tmp_path: Path, records: str) -> None:
    rows = most_are_of_one(seldom_rated(json.loads(records)))
    path = written(tmp_path, rows)
    rated = {one["id"]: one["agent"] for one in rows if "ratings" in one}
    counts = {agent: list(rated.values()).count(agent) for agent in rated.values()}
    found = sampled(path, passes._below(counts))
    assert {rated[name] for name in found} == set(counts)
    assert len(found) < len(rated)


def test_a_file_that_is_packed_gives_the_same(capsys, logs: str, tmp_path: Path) -> None:
    packed = tmp_path / "logs.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(logs).read_bytes()))
    asked = (*A3, "--stream", "--estimator", "lstdq")
    plain, zipped = answer(capsys, logs, *asked)["results"], answer(capsys, str(packed), *asked)["results"]
    assert plain == zipped
    assert plain[0]["n_items"] == 125
    assert plain[0]["diagnostics"]["overlap"] == pytest.approx(1.0)  # of the few things that are said here


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--estimator", "robust"), "no function of sums"),
        (("--estimator", "lstdq[model=hashing],direct[model=minilm]"), "by one model"),
        (("--fraction", ".5"), "--fraction"),
        (("--where", "agent=a1"), "--where"),
        (("--rating", "metric:length"), "ratings as they are logged"),
    ],
)
def test_what_needs_all_dialogues_at_once_is_said_so(
    capsys, logs: str, options: tuple[str, ...], words: str
) -> None:
    assert run(["ope", logs, *A3, "--stream", *options, *OPTIONS]) == 2
    assert words in capsys.readouterr().err
