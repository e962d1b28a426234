"""What the claims of `turnwise demo` on an excerpt become on all of the published data.

`python -m papers.demo_check DATA` plays the demo, asks the same of all 2,036 dialogues of the seven bots
(DATA/ji2022.jsonl.gz, without the bot that checked raters) and of all ranked answers in the first 60 trees of
OpenAssistant (../wild_more beside DATA), and compares each fact that the demo's claims state. A fact is
contradicted if the whole data shows the opposite. The result is papers/demo_check.json; the exit code is 1 if one
is contradicted.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tools.make_ji2022 import numbered
from turnwise.cli.common.group import run
from turnwise.cli.demo import steps
from turnwise.logs import native
from turnwise.records import LEVEL

RESULT = Path(__file__).with_suffix(".json")
CHECKED = ("best", "persona", "trust", "unrated", "assistants")


def main(data: Path) -> int:
    """Play the demo, ask the same of everything, and compare."""
    with TemporaryDirectory() as place:
        demo, whole = Path(place, "demo"), Path(place, "whole")
        whole.mkdir()
        expect(run(["demo", "-q", "-o", str(demo)]))
        every = [one for one in native.read(str(data / steps.BOTS)) if one.agent != "qc"]
        native.write(numbered(every, np.random.default_rng(0)), str(whole / steps.BOTS))
        trees = str(data.parent / "wild_more/oasst_trees.jsonl")
        expect(run(["convert", trees, str(whole / "assistants.jsonl.gz"), "-q"]))
        for step in steps.STEPS:
            if step.to in CHECKED and step.to != "unrated":
                expect(run([*steps.words(step, whole), "-o", str(whole / step.to), "-q"]))
        known = dict(facts(whole)) | dict(inside_agents(whole / "trust"))
        found = [
            {"claim": claim, "whole": verdict(key, direction, known)}
            for claim, key, direction in stated(demo)
        ]
    counts = Counter(one["whole"] for one in found)
    RESULT.write_text(json.dumps({"counts": counts, "facts": found}, indent=1) + "\n")
    print(dict(counts))
    return int(counts["contradicted"] > 0)


def expect(code: int) -> None:
    """End where a command failed; a refusal is a result."""
    if code not in (0, steps.REFUSED):
        sys.exit(code)


Key = tuple[str, str, str, str]


def claims(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Step -> claim, of the report on the steps that are checked."""
    there = [str(folder / name) for name in CHECKED if (folder / name / "results.json").exists()]
    expect(run(["report", *there, "-o", str(folder / "checked.json"), "-q"]))
    for section in json.loads((folder / "checked.json").read_text())["sections"]:
        for claim in section["claims"]:
            yield section["title"], claim


def stated(folder: Path) -> Iterator[tuple[str, Key, int]]:
    """Every fact with a direction: the claim's verdict, what it is about, and the direction."""
    for _, claim in claims(folder):
        for key, direction in keyed(claim["facts"]):
            if direction:
                yield f"{claim['verdict']}: {' '.join(key[:3])}", key, direction


def facts(folder: Path) -> Iterator[tuple[Key, int]]:
    """What the whole data says."""
    for _, claim in claims(folder):
        yield from keyed(claim["facts"])


def inside_agents(folder: Path) -> Iterator[tuple[Key, int]]:
    """Agreement inside agents; claims leave out turnwise, which learned from 3 of 23,661 replies here."""
    document = json.loads((folder / "results.json").read_text())
    for one in document["results"]:
        low, high = one["within_agents_interval"]
        about = f"{one['statistic']} inside agents on {one['dimension']}, {one['level']} level"
        yield (one["metric"], "agrees", "people", about), (low > 0) - (high < 0)
    for test in document["differences"]:
        first, second = sorted((test["metric_a"], test["metric_b"]))
        ahead = (test["difference_within_agents"] > 0) == (first == test["metric_a"])
        shown = test["p_adjusted_within_agents"] <= LEVEL
        yield (first, "above", second, about), shown * (1 if ahead else -1)


def keyed(found: Iterable[dict[str, Any]]) -> Iterator[tuple[Key, int]]:
    """Facts as key and direction; of two agents or metrics the first by name is the subject."""
    for fact in found:
        subject, other, direction = fact["subject"], fact["object"], fact["direction"]
        if fact["relation"] == "above" and other < subject:
            subject, other, direction = other, subject, -direction
        yield (subject, fact["relation"], other, fact["quantity"]), direction


def verdict(key: Key, direction: int, known: dict[Key, int]) -> str:
    """What the whole data says of a fact: shown, contradicted, open, or nothing."""
    if key not in known:
        return "not asked"
    return {1: "shown", -1: "contradicted", 0: "open"}[known[key] * direction]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
