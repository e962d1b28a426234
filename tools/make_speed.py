"""`python -m tools.make_speed`: docs/speed.md from the kept results of benchmarks.

`make bench` writes bench.json; benchmarks.loglik_parts, encoder_parts and fuzz write files of their own.
"""

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
* The lines of `turnwise` below were measured with its first edition. The second reads each reply with a network: 1,000
  replies take 21 s cold and 1.2 s warm, `turnwise-large` takes 26 s for 200 (papers/learned.md).
* `score -m turnwise` of 1,000 replies, cold and warm:
{encoder}
* `distinct-2` beside a plain loop: both find the words in the same way. The figure is of a machine that did other work
  at the same time; whether the goal is met on a quiet one is not known.
* `mauve` of 1,000 replies and more: it clusters in double precision, with starts that are chosen with more care.
* `ope --all` by the clock, and `dice-linear` on 12,000 dialogues (11.4 in an earlier run): the table of `ope` was
  measured beside other work, a load of five on two cores. Half of the processor seconds is what two quiet cores need
  at least; `ope --all` among the commands below has 37 s by the clock.

{fuzz}
"""
LOGLIK = (
    "importing torch takes {import_torch:.1f} s of processor time, the classes and the tokeniser "
    "{import_classes:.1f} s, the weights {load:.1f} s. The matrix products of the {tokens:,} tokens of contexts and "
    "replies take {products:.1f} s by themselves, in {precision} at {rate:.0f} GFLOP/s (`{command}`). So {least:.0f} s "
    "are the least that this way of computing takes; the rest is attention, softmax, activations and statistics."
)

ENCODER = (
    "importing torch takes {import_torch:.1f} s of processor time and the encoder {encoder:.1f} s, of which the matrix "
    "products of the {tokens:,} tokens of messages and replies take {products:.1f} s by themselves, in float32 at "
    "{rate:.0f} GFLOP/s (`{command}`). {least:.1f} s are therefore the least for both; in bfloat16 the products take "
    "half of the time, but the vectors are others than those that the metric was trained on. "
    "Only texts of one length are encoded together, so "
    "that a vector does not depend on the other texts. What is left with a full cache takes {rest:.1f} s; the largest "
    "part is the search for similar exchanges, for one reply at a time, so that no score depends on the others."
)
FUZZ = (
    "`python -m benchmarks.fuzz` runs random inputs in one process and keeps its counts ({file}). So far, with seed "
    "{seed}: {counts}. No command line took more than {slowest:.1f} s of processor time or added more than "
    "{memory:.0f} MB of memory (5 s and 1 GB are allowed). {failed}"
)
KINDS = {
    "lines": "{inputs:,} native files with damaged bytes through `validate`",
    "foreign": "{inputs:,} files of other formats, most of them damaged, through `convert`",
    "commands": "{inputs:,} folders of odd files with {command_lines:,} random command lines of all commands",
}


def _wrapped(text: str, indent: str) -> str:
    """The text in lines of the page's width."""
    return fill(
        text,
        width=118,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def encoder_parts(parts: dict[str, Any]) -> str:
    """The sentences on `score -m turnwise`, from the content of encoder_parts.json."""
    rate, least = parts["operations_per_second"] / 1e9, parts["import_torch"] + parts["products"]
    rest = parts["whole_without_import_of_torch"] - parts["encoder"]
    return _wrapped(ENCODER.format(**parts, rate=rate, least=least, rest=rest), "  ")


def fuzz_counts(kept: dict[str, Any]) -> str:
    """The paragraph on random inputs, from the content of fuzz.json."""
    kinds = kept["kinds"]
    failing = sum(len(one["failing"]) for one in kinds.values())
    mended = sum(len(one["mended"]) for one in kinds.values())
    failed = (
        f"{failing:,} inputs found a fault; {mended:,} of them pass since it was mended."
        if failing
        else "None found a traceback, a hang, a warning of a library or a control character in what is printed."
    )
    text = FUZZ.format(
        file="`benchmarks/results/fuzz.json`",
        seed=kept["seed"],
        counts=", ".join(KINDS[name].format(**one) for name, one in kinds.items()),
        slowest=max(one["slowest"] for one in kinds.values()),
        memory=max(one["memory"] for one in kinds.values()) / 2**20,
        failed=failed,
    )
    return _wrapped(text, "")


def loglik_parts(parts: dict[str, Any]) -> str:
    """The sentence on `score -m loglik`, from the content of loglik_parts.json."""
    steps = ("import_torch", "import_classes", "load", "products")
    said = LOGLIK.format(
        **parts,
        tokens=parts["tokens_of_contexts"] + parts["tokens_of_replies"],
        rate=parts["operations_per_second"] / 1e9,
        least=sum(parts[step] for step in steps),
    )
    return _wrapped(said, "  ")


def page(kept: dict[str, dict[str, Any]], *, loglik: Any, encoder: Any, fuzz: Any) -> str:
    """The page from the content of bench.json, loglik_parts.json, encoder_parts.json and fuzz.json."""
    parts = [
        INTRODUCTION.format(
            loglik=loglik_parts(loglik), encoder=encoder_parts(encoder), fuzz=fuzz_counts(fuzz)
        )
    ]
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


def made() -> str:
    """The page from the files of this tree."""
    names = ("bench", "loglik_parts", "encoder_parts", "fuzz")
    kept, loglik, encoder, fuzz = (
        json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text()) for name in names
    )
    return page(kept, loglik=loglik, encoder=encoder, fuzz=fuzz)


def main() -> None:
    PAGE.write_text(made())


if __name__ == "__main__":
    main()
