"""No command's numbers depend on the order of lines, on how these are spread over files, or on the number of workers.

Numbers are equal up to rounding, because sums are added in another order. What is a list of named things, such as the
agents of a run, may be in the order of the data.
"""

import contextlib
import gzip
import io
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import corpus
from tests.small_talk import small_talk
from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.logs import native

# Keys that name a record of a result; equal records of two runs are compared.
NAMES = (
    "metric", "metric_a", "metric_b", "agent", "agent_a", "agent_b", "level", "statistic", "dimension", "group",
    "target", "rating", "estimator", "design", "turns", "raters", "scores", "difference", "strategy", "kind",
    "file", "reply",
)  # fmt: skip
COMMANDS = {
    "score": "score LOGS -m bleu-2,distinct-1,length,msttr-50,entropy-2,rating:overall,specificity,fbd[model=hashing]",
    "meta": "meta LOGS -m bleu-2,length,distinct-1 --length-bias --normalised",
    "meta of raters": "meta LOGS",
    "compare": "compare LOGS -m bleu-2,distinct-1,rating:overall --agents good,poor --pair meta.number",
    "compare unpaired": "compare LOGS -m bleu-2,distinct-1,length --agents good,poor",
    "calibrate": "calibrate PARTLY -m length --labels random --fit linear",
    "power": "power LOGS -m rating:overall,length --difference 0.3 --with bleu-2",
    "ope": "ope WORLD --all --model hashing --estimator robust,balance,fqe,dice-linear,direct,nearest,features",
    "ope --stream": "ope WORLD --all --model hashing --stream",
    "attack": "attack length --count 60 --budget 700 --contexts LOGS",
    "train adem": "train adem LOGS --model hashing -o model",
}
WITHOUT_DRAWS = ("calibrate", "power", "ope", "train")
WITHOUT_JOBS = ("train",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("order")
    write_data(place)
    return place


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


def result(folder: Path, given: list[str]) -> Any:
    """The document that a command prints, without where it comes from."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        code = run(given)
    assert code in (0, 4), code
    document = json.loads(out.getvalue())
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


@pytest.mark.parametrize("way", ["lines", "files", "jobs"])
@pytest.mark.parametrize("kind", COMMANDS)
def test_the_order_of_the_data_and_the_number_of_workers_change_no_number(
    folder: Path, kind: str, way: str
) -> None:
    if way == "jobs" and kind.startswith(WITHOUT_JOBS):
        pytest.skip("it has no workers")
    expected = result(folder, words(COMMANDS[kind], kind, "whole"))
    assert expected["results"]
    found = result(folder, words(COMMANDS[kind], kind, way))
    assert list(differences(expected, found)) == []


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
