"""`python -m tools.make_speed`: docs/speed.md from benchmarks/results/bench.json, which `make bench` writes."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from benchmarks.harness import Line, table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "speed.md"
TITLES = {  # bench -> the heading of its table, in the order of the page
    "commands": "Commands as users call them",
    "peers": "Beside peers",
    "overlap": "Word overlap",
    "meteor": "METEOR",
    "distribution": "Distances of distributions",
    "bootstrap": "Resampling",
    "neural": "Encoders and language models",
    "adem": "ADEM",
    "learned": "The metric turnwise",
    "attack": "Attacks",
    "enigma": "Off-policy estimators",
    "ope": "Off-policy estimators on ten times the dialogues",
    "memory": "Memory",
    "scale": "Many dialogues",
    "reading": "Reading",
    "convert": "Converting",
    "worlds": "Simulated worlds",
    "viewer": "The viewer",
}
INTRODUCTION = """# Speed and memory

`make bench` measures everything below and writes `benchmarks/results/bench.json`; `make bench ONLY=peers` measures one
table. `python -m tools.make_speed` makes this page from the file. A ratio is of two measurements in one run on the same
machine: how many times as fast as the peer, or, where the goal is an upper bound, ours divided by the peer's.

numpy's and scipy's linear algebra has one thread while turnwise computes, whatever OMP_NUM_THREADS says; `--jobs` is
the only parallelism (see [scale](scale.md)). A command whose vectors are all in the cache does not import torch.

What misses its goal, and why:

* `score -m loglik`, a first `score -m turnwise` and `attack turnwise` are limited by the models' matrix products: a
  token of MiniLM takes 205 us of products on one core of the machine that was measured, of 290 us in all
  (`turnwise/encode/neural/loading.py`). Importing torch takes 1.5 s, and transformers' model classes 3.7 s more:
  together most of the 8 s. SmolLM2 is computed in bfloat16 where the processor has it. A second runtime would be a
  quarter faster, and bfloat16 for MiniLM twice as fast, with other numbers; neither is used. An attack asks for
  about 30 replies at a time, and replies of one length are encoded together, so its batches have 2 texts on
  average.
* `distinct-2` beside a plain loop: a third of the loop's time is that of finding the words, which both do, and a set of
  pairs is as fast as hashes that other machines can add to.
"""


def page(kept: dict[str, dict[str, Any]]) -> str:
    """The page from the content of bench.json."""
    parts = [INTRODUCTION]
    for name in [*(one for one in TITLES if one in kept), *(one for one in kept if one not in TITLES)]:
        rows = _rows(name, kept[name])
        if len(rows) > 1:
            head, *body = [row[1:] for row in rows]
            lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]
            command = f"`{kept[name]['command']}`, Python {kept[name]['python']}:"
            parts.append("\n".join([f"## {TITLES.get(name, name)}", "", command, "", *lines, ""]))
    return "\n".join(parts)


def _rows(name: str, bench: dict[str, Any]) -> list[tuple[str, ...]]:
    """The rows of one bench's table, with the header."""
    known = {field.name for field in fields(Line)}
    return table((name, Line(**{key: line[key] for key in line if key in known})) for line in bench["lines"])


def main() -> None:
    kept = json.loads((ROOT / "benchmarks" / "results" / "bench.json").read_text())
    PAGE.write_text(page(kept))


if __name__ == "__main__":
    main()
