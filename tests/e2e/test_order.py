"""No command's numbers depend on the order of lines, on how these are spread over files, on the number of workers, or
on the size of the shards in which data is read and scored.

Numbers are equal up to rounding, because sums are added in another order. What is a list of named things, such as the
agents of a run, may be in the order of the data.
"""

import contextlib
import gzip
import io
import json
import math
import random
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import corpus
from tests.small_talk import small_talk
from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.logs import native
from turnwise.logs.shards import shards as file_shards
from turnwise.run.ope import stream
from turnwise.run.scoring import shards as scoring_shards

# Keys that name a record of a result; equal records of two runs are compared.
NAMES = (
    "metric", "metric_a", "metric_b", "agent", "agent_a", "agent_b", "level", "statistic", "dimension", "group",
    "target", "rating", "estimator", "design", "turns", "raters", "scores", "difference", "strategy", "kind",
    "file", "reply",
)  # fmt: skip
COMMANDS = {
    "score": "score LOGS -m bleu-2,rouge-lsum,ter,distinct-1,length,msttr-50,conditional-entropy-2,rating:overall,"
    "specificity",
    "score of distances": "score LOGS -m fbd[model=hashing],prd[model=hashing],mmd[model=hashing]",
    "meta": "meta LOGS -m bleu-2,length,distinct-1 --length-bias --normalised",
    "meta of systems": "meta LOGS -m bleu-2,distinct-1 --level system --statistic tau-c,soft-pairwise",
    "meta of raters": "meta LOGS",
    "compare": "compare LOGS -m bleu-2,distinct-1,rating:overall --agents good,poor --pair meta.number",
    "compare unpaired": "compare LOGS -m bleu-2,distinct-1,length --agents good,poor",
    "calibrate": "calibrate PARTLY -m length --labels random --fit linear",
    "power": "power LOGS -m rating:overall,length --difference 0.3 --with bleu-2",
    "reliability": "reliability LOGS -m rating:overall --cluster meta.number --threshold 3 --agents good,poor",
    "ope": "ope WORLD --all --model hashing --estimator robust,balance,fqe,dice-linear,direct,nearest,features",
    "ope --stream": "ope WORLD --all --model hashing --stream",
    "attack": "attack length --count 60 --budget 700 --contexts LOGS",
    "train adem": "train adem LOGS --model hashing -o adem",
    "train usr-ret": "train usr-ret LOGS --model hashing -o usr-ret",
}
WITHOUT_DRAWS = ("calibrate", "power", "ope", "train")
WITHOUT_JOBS = ("train",)


WAYS = ("lines", "files", "jobs", "shards")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("order")
    write_data(place)
    return place


@pytest.fixture(scope="module")
def in_order(folder: Path) -> Callable[[str], Any]:
    """The result of a kind of command on the data in order, computed once."""
    return cache(lambda kind: result(folder, words(COMMANDS[kind], kind, "whole")))


@contextlib.contextmanager
def small_shards() -> Iterator[None]:
    """Shards of 7 items and of 2 kB, of which the data has many; it fits into one of the ordinary size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring_shards, "SHARD", 7)
        patch.setattr(stream, "shards", partial(file_shards, size=2000))
        yield


def write_data(place: Path) -> None:
    """Write the data of all commands: in order, shuffled, and spread over two files."""
    corpus(place / "logs.jsonl", 24)
    records = [json.loads(line) for line in (place / "logs.jsonl").read_text().splitlines()]
    for number, record in enumerate(records):
        if number % 3:
            del record["ratings"]
    (place / "partly.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    native.write(held(agents=6, dialogues=12), str(place / "world.jsonl"))
    for name in ("logs", "partly", "world"):
        lines = (place / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
        shuffled = random.Random(0).sample(lines, len(lines))
        (place / f"{name}-shuffled.jsonl").write_bytes(b"".join(shuffled))
        (place / f"{name}-one.jsonl").write_bytes(b"".join(lines[1::2]))
        (place / f"{name}-two.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[::2])))


def words(command: str, kind: str, way: str) -> list[str]:
    """The command line with the files of this way of giving the data."""
    found: list[str] = []
    for word in command.split():
        if not word.isupper():
            found.append(word)
            continue
        name = word.lower()
        files = {
            "lines": [f"{name}-shuffled.jsonl"],
            "files": [f"{name}-one.jsonl", f"{name}-two.jsonl.gz"],
        }.get(way, [f"{name}.jsonl"])
        if found[-1] == "--contexts":
            files = [word for file in files for word in ("--contexts", file)][1:]
        found += files
    if not kind.startswith(WITHOUT_DRAWS):
        found += ["--draws", "100"]
    return [*found, "--format", "json", "-q", *(["--jobs", "2"] if way == "jobs" else [])]


def printed(folder: Path, given: list[str]) -> Any:
    """The document that a command prints."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        code = run(given)
    assert code in (0, 4), code
    return json.loads(out.getvalue())


def result(folder: Path, given: list[str]) -> Any:
    """The document that a command prints, without where it comes from."""
    document = printed(folder, given)
    return {key: value for key, value in document.items() if key not in ("origin", "model")}


def differences(one: Any, two: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two documents differ by more than rounding; lists of named records are compared by name."""
    if isinstance(one, dict) and isinstance(two, dict):
        for key in one.keys() | two.keys():
            yield from differences(one.get(key), two.get(key), f"{place}.{key}")
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        if one and isinstance(one[0], dict):
            one, two = sorted(one, key=named), sorted(two, key=named)
        for at, (left, right) in enumerate(zip(one, two, strict=True)):
            yield from differences(left, right, f"{place}[{at}]")
    elif isinstance(one, float) and isinstance(two, float | int):
        if not math.isclose(one, two, rel_tol=1e-7, abs_tol=1e-9):
            yield place, one, two
    elif one != two:
        yield place, one, two


def named(record: dict[str, Any]) -> list[str]:
    return [str(record.get(name)) for name in NAMES]


def matters(kind: str, way: str) -> bool:
    """Whether a command has what the way changes."""
    return way in ("lines", "files") or not kind.startswith(WITHOUT_JOBS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "way"), [(kind, way) for kind in COMMANDS for way in WAYS if matters(kind, way)]
)
def test_the_order_of_the_data_the_workers_and_the_shards_change_no_number(
    folder: Path, in_order: Callable[[str], Any], kind: str, way: str
) -> None:
    expected = in_order(kind)
    assert expected["results"]
    with small_shards() if way == "shards" else contextlib.nullcontext():
        found = result(folder, words(COMMANDS[kind], kind, way))
    assert list(differences(expected, found)) == []


def test_shards_are_small_where_they_are_meant_to_be(folder: Path) -> None:
    with small_shards():
        assert len(stream.shards([str(folder / "world.jsonl")])) > 10
        assert scoring_shards.SHARD == 7


def test_files_diffs_and_reports_do_not_depend_on_the_order(folder: Path) -> None:
    """`validate`, and what works on finished runs."""
    corpus(folder / "later.jsonl", 24, seed=1)
    lines = (folder / "later.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "later-shuffled.jsonl").write_bytes(b"".join(random.Random(1).sample(lines, len(lines))))
    found = []
    for order in ("", "-shuffled"):
        (summary,) = printed(folder, ["validate", f"logs{order}.jsonl", "--format", "json"])
        for name in ("logs", "later"):
            scored = ["score", f"{name}{order}.jsonl", "-m", "bleu-2,length", "--draws", "100", "-q"]
            printed(folder, [*scored, "--format", "json", "-o", f"run{order}/{name}"])
        runs = [f"run{order}/logs", f"run{order}/later"]
        changed = f"change{order}"
        changes = printed(folder, ["diff", *runs, "--draws", "100", "--format", "json", "-o", changed, "-q"])
        with contextlib.chdir(folder):
            assert run(["report", *runs, changed, "-o", f"report{order}.json", "-q"]) == 0
        report = json.loads((folder / f"report{order}.json").read_bytes())
        del summary["file"], summary["sha256"]
        rows = {
            f"{part['title']}: {figure['title']}": sorted(figure["rows"], key=str)
            for part in report["sections"]
            for figure in part["figures"]
        }
        verdicts = sorted(claim["verdict"] for part in report["sections"] for claim in part["claims"])
        found.append({"files": summary, "diff": changes["results"], "rows": rows, "verdicts": verdicts})
    assert all(found[0].values())
    assert list(differences(*found)) == []


def test_another_seed_would_be_noticed(folder: Path) -> None:
    command = words(COMMANDS["meta"], "meta", "whole")
    assert list(differences(result(folder, command), result(folder, [*command, "--seed", "1"])))


def test_replies_and_conversions_do_not_depend_on_the_order(folder: Path) -> None:
    native.write(small_talk(12), str(folder / "talk.jsonl"))
    lines = (folder / "talk.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "reversed.jsonl").write_bytes(b"".join(reversed(lines)))
    (folder / "random_bot.py").write_text("def reply(turns, rng):\n    return f'{rng.random():.6f}'\n")
    with contextlib.chdir(folder):
        for name in ("talk", "reversed"):
            asked = f"respond {name}.jsonl --agent random_bot:reply --name bot -o {name}-replied.jsonl -q"
            assert run(asked.split()) == 0
            assert (
                run(["convert", f"{name}-replied.jsonl", f"{name}-converted.jsonl", "--from", "native"]) == 0
            )
    for kind in ("replied", "converted"):
        assert sorted((folder / f"talk-{kind}.jsonl").read_bytes().splitlines()) == sorted(
            (folder / f"reversed-{kind}.jsonl").read_bytes().splitlines()
        )
