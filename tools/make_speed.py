"""`python -m tools.make_speed`: docs/speed.md from bench.json, which `make bench` writes, and loglik_parts.json."""

import json
from dataclasses import fields
from pathlib import Path
from textwrap import fill
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

* `score -m loglik` of 100 replies:
{loglik}
* `score -m turnwise` and `attack turnwise`: a batch of the encoder has texts of one length, so that a vector does not
  depend on the other texts. An attack scores the replies of a step together, and still has few texts of each length.
* `distinct-2` beside a plain loop: both find the words in the same way, and a set of pairs is as fast as hashes that
  other machines can add to.
* `mauve` of 1,000 replies and more: it clusters in double precision, with starts that are chosen with more care.
* `ope --all` by the clock, and `dice-linear` on 12,000 dialogues (11.4 in an earlier run): the table of `ope` was
  measured beside other work, a load of five on two cores. Half of the processor seconds is what two quiet cores need
  at least; `ope --all` among the commands below has 37 s by the clock.
"""
LOGLIK = (
    "importing torch takes {import_torch:.1f} s of processor time, the classes and the tokeniser "
    "{import_classes:.1f} s, the weights {load:.1f} s. The matrix products of the {tokens:,} tokens of contexts and "
    "replies take {products:.1f} s by themselves, in {precision} at {rate:.0f} GFLOP/s (`{command}`). So {least:.0f} s "
    "are the least that this way of computing takes; the rest is attention, softmax, activations and statistics."
)


def loglik_parts(parts: dict[str, Any]) -> str:
    """The sentence on `score -m loglik`, from the content of loglik_parts.json."""
    steps = ("import_torch", "import_classes", "load", "products")
    return fill(
        LOGLIK.format(
            **parts,
            tokens=parts["tokens_of_contexts"] + parts["tokens_of_replies"],
            rate=parts["operations_per_second"] / 1e9,
            least=sum(parts[step] for step in steps),
        ),
        width=118,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def page(kept: dict[str, dict[str, Any]], loglik: dict[str, Any]) -> str:
    """The page from the content of bench.json and of loglik_parts.json."""
    parts = [INTRODUCTION.format(loglik=loglik_parts(loglik))]
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
    kept, loglik = (
        json.loads((ROOT / "benchmarks" / "results" / name).read_text())
        for name in ("bench.json", "loglik_parts.json")
    )
    PAGE.write_text(page(kept, loglik))


if __name__ == "__main__":
    main()
