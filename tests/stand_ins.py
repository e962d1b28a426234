"""Small replacements of a reader's data and models, for commands that a page shows without their output.

If an option is given twice, the last one counts. So options are appended here that make a command small enough for a
test.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path

from tests.judge_server import by_length, serving
from tests.small_tables import write_tables
from tests.small_task import BAD, GOOD, LAVA, small_task
from tests.tiny_models import write_llama
from turnwise.logs import native
from turnwise.types import Dialogue, Reply

# Commands that need a person, a cluster or another machine: they are parsed but not run.
ELSEWHERE = {
    "turnwise rate ": "a server that runs until it is stopped",
    "turnwise view ": "a server that runs until it is stopped",
    "--on ray --address": "a running cluster",
}
SETTINGS = " ".join(f"--set {key}={value}" for key, value in {**LAVA, "epochs": 1}.items())
SMALL_ADEM = "--set epochs=1 --set components=7 --set gamma=0 --set rate=0.01 --set batch=64 --set folds=2"
SMALL_PLAS = "--set hidden=8 --set episodes=64 --set batch=16 --set every=2 --set lead=2 --set warm=1"
SMALL_TALKER = "--set embedding=8 --set utterance=8 --set context=8 --set updates=2 --set every=1"
# Beginning of a command -> options that make it small.
SMALLER = {
    "turnwise train adem": SMALL_ADEM,
    "turnwise train vhred": SMALL_TALKER,
    "turnwise train characters": "--set updates=2",
    "turnwise train lava-pg": "--set episodes=16 --set batch=4 --set samples=4 --set every=1",
    "turnwise train lava": SETTINGS,
    "turnwise train plas": SMALL_PLAS,
    "turnwise attack judge": "--count 60 --budget 500",
    "turnwise attack relatedness": "--policy llama --epochs 1 --updates 1 --batch 4 --longest 4 --count 60",
    "turnwise attack 'guarded[metric=usr-full]'": "--rounds 1 --count 60 --budget 500 --taught 100 --no-perturb",
    "turnwise attack 'guarded": "--count 60 --budget 500 --no-perturb",
    "turnwise attack usr-ret": "--rounds 1 --count 60 --budget 500 --taught 100 --no-perturb",
    "turnwise meta usr_persona": "--draws 100 --model llama",
    "turnwise ope 'logs/": "--model hashing --estimator dice-linear",
}


def demo(folder: Path, name: str) -> None:
    """Write the demo corpus under another name."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = (resources.files("turnwise") / "data" / "demo.jsonl").read_bytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def others(folder: Path, name: str) -> None:
    """Write the demo corpus with other ids, for commands that take several files."""
    demo(folder, name)
    path = folder / name
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    for line in lines:
        line["id"] = f"{name}-{line['id']}"
    with opened(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def reworded(folder: Path, name: str) -> None:
    """Write the demo corpus with other ids and other words, for commands that keep two files apart."""
    others(folder, name)
    path = folder / name
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        for message in line["messages"]:
            message["content"] = f"Well, {message['content']}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def tasks(folder: Path, name: str) -> None:
    """Write task dialogues of three splits with alternatives of two systems, and venue tables beside them."""
    write_tables(folder / "multiwoz_db")
    write_tables(folder / "tables")
    write_tables(folder / "corpora" / "multiwoz_db")
    native.write([_answered(one, place) for place, one in enumerate(small_task(160))], str(folder / name))


def _answered(dialogue: Dialogue, place: int) -> Dialogue:
    turns = list(dialogue.turns)
    for at, (good, bad) in zip((1, 3), zip(GOOD, BAD, strict=True), strict=True):
        alternatives = {"augpt": (Reply(good if place % 3 else bad),), "lava": (Reply(good),)}
        turns[at] = replace(turns[at], alternatives=alternatives)
    split = ("train", "val", "test")[place % 3]
    return replace(dialogue, turns=tuple(turns), meta={**dialogue.meta, "split": split})


def shards(folder: Path, name: str) -> None:
    """Write dialogues in several files: some with references, and rated ones of several agents."""
    from turnwise.cli.common.group import run

    for part in ("a", "b"):
        others(folder, f"{name}/{part}.jsonl.gz")
    asked = "--agents 6 --dialogues 12 --samples 1 --truth 0 -q"
    run(["simulate", "booking", *asked.split(), "-o", str(folder / "all.jsonl")])
    lines = (folder / "all.jsonl").read_bytes().replace(b'"noise-03"', b'"new-agent"').splitlines(True)
    for part in (0, 1):
        (folder / name / f"{part}.jsonl").write_bytes(b"".join(lines[part::2]))


def policy(folder: Path, name: str) -> None:
    write_llama(folder / name)


# Page -> the reader's files, with the function that writes each.
FILES: dict[str, dict[str, Callable[[Path, str], None]]] = {
    "adem.md": {"rated.jsonl": demo, "logs.jsonl": demo, "other.jsonl": others, "dialogues.jsonl": demo},
    "attack-a-judge.md": {"logs.jsonl": demo},
    "attack.md": {"dialogues.jsonl": demo, "other.jsonl": reworded, "rated.jsonl": demo, "llama": policy},
    "critic.md": {"multiwoz.jsonl": tasks},
    "judge.md": {"logs.jsonl": demo},
    "learned.md": {"rated.jsonl": demo, "rated_by_others.jsonl": others},
    "meta.md": {
        "usr_persona.jsonl": demo, "grade.jsonl.gz": others, "fed_turn.jsonl.gz": others, "llama": policy,
    },
    "scale.md": {"logs": shards},
    "task.md": {"multiwoz.jsonl": tasks},
    "train.md": {"multiwoz_delex.jsonl.gz": tasks},
}  # fmt: skip


def provided(page: str, folder: Path) -> Path:
    """The folder in which commands without a shown output are run: one with the reader's files, else the page's."""
    if page not in FILES:
        return folder
    place = folder / "of the reader"
    if not place.exists():
        place.mkdir()
        for name, make in FILES[page].items():
            make(place, name)
    return place


@contextmanager
def judging(page: str) -> Iterator[dict[str, str]]:
    """The environment variables of a page about judges, with the address of a running server; empty for others."""
    if "judge" not in page:
        yield {}
        return
    with serving(by_length) as server:
        yield {"TURNWISE_JUDGE_ADDRESS": server.address, "TURNWISE_JUDGE_MODEL": "by-length"}


def smaller(command: str) -> list[str]:
    """The options that make the command small enough for a test."""
    return next((words.split() for start, words in SMALLER.items() if command.startswith(start)), [])
