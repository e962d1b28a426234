"""`python -m tools.make_speed`: docs/speed.md from the kept results of benchmarks.

`make bench` writes bench.json; benchmarks.loglik_parts, fuzz and faults write files of their own.
"""

import json
import re
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
    "light": "Small networks, against the code of version 0.2",
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

When the goals of the commands below were set, `meta -m fbd` took 280 s with one thread and more than ten minutes with
more, `meta` with six metrics 13 s, `score -m turnwise` (first edition) 16 s cold and 5.4 s warm, `loglik` 23.7 s,
`attack turnwise` 134 s without coming to its end, and `meta` of 50,000 replies 693 MB.

What misses its goal, and why:

* `score -m loglik` of 100 replies:
{loglik}
* `distinct-2` beside a plain loop: both find the words in the same way, a quarter of the loop's time, and ours keeps
  the pairs of each reply, from which shards are added up and intervals computed.
* `mauve` of 1,000 replies: it clusters in double precision, with starts that are chosen with more care; these take
  about as long as mauve-text does in all.
* Krippendorff's alpha and the Fréchet distance beside scipy's `sqrtm`: in the run before, on another machine, they
  were 1.51 and 214 times as fast as these peers; on this one the peers gained more than ours.
* Parquet: a file is read a row group at a time, 4,096 dialogues here, whose nested columns polars unpacks as a whole;
  with one group in place of ten the smaller file holds less. JSON Lines is read straight into the types of a dialogue.
* `score -m bleu-4,rouge-l,length`, peak memory: its buffers are not full after 20,000 replies; a million take 104 MiB
  ([scale](scale.md)).
* `--on ray`: a cluster takes four to five seconds to start, and local processes little more than one for 20,000
  replies.
{others}
The sweep of `ope --all` was measured with precedence over the other work of the machine, on two cores. Beside a load of
five it took 85 s by the clock and 48 s of processor time, and ten times the dialogues took `dice-linear` 12.2 times the
time, with the same code: that table was of the load.

{missing}{fuzz}
"""
LOGLIK = (
    "importing torch takes {import_torch:.1f} s of processor time, the classes and the tokeniser "
    "{import_classes:.1f} s, the weights {load:.1f} s. The matrix products of the {tokens:,} tokens of contexts and "
    "replies take {products:.1f} s by themselves, in {precision} at {rate:.0f} GFLOP/s (`{command}`). So {least:.0f} s "
    "are the least that this way of computing takes; the rest is attention, softmax, activations and statistics."
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
FAULTS = (
    "`python -m benchmarks.faults` tries the commands that keep work under every fault "
    "(`benchmarks/results/faults.json`). `yes`: after the command ran again its output had the same bytes, "
    "or there was a clear error and nothing was lost; a flipped bit is noticed by its checksum. Beside it: "
    "at how many random moments, places or sizes it was tried."
)
EXPLAINED = (  # beginnings of the lines above
    "score -m loglik",
    "distinct-2",
    "mauve",
    "Krippendorff's alpha",
    "Frechet distance, 10",
    "the same, 100 of one more system",
    "reading 20",
    "score -m bleu-4,rouge-l,length: peak memory",
    "score --on ray: 20,000",
)
OTHERS = "Without an explanation here: {lines}."
MISSING = "`make bench` also measures these groups, whose results are not kept here: {groups}.\n\n"
HIT = re.compile(r"\((\d+) of \d+ (?:killed in time|had something kept)\)")
ORDER = (
    "Numbers with the data given in another way; `no` where one of them is another, empty where a command has no such "
    "way:"
)
JUDGE = (
    "With a judge that fails in one of {faults} ways (it hangs, trickles, is reset, answers with HTML, with 10 MB or "
    "a bomb of headers, ...), for one request or for all: {held} of {cells} cells of {commands} commands held, with "
    "the same numbers or a clear error."
)


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


def fuzz_counts(kept: dict[str, Any]) -> str:
    """The paragraph on random inputs, from the content of fuzz.json."""
    kinds = kept["kinds"]
    failing = sum(len(one["failing"]) for one in kinds.values())
    mended = sum(len(one["mended"]) for one in kinds.values())
    failed = (
        f"{failing:,} inputs failed; {mended:,} of them pass now. One needed no change: the first import of nltk "
        "took more than a minute by the clock beside a load of ten."
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


def fault_tables(kept: dict[str, Any]) -> str:
    """The section on faults, from the content of faults.json."""
    parts = ["## Faults", _wrapped(FAULTS, "")]
    parts.append(_matrix(kept["crashes"]["cells"], tries=True))
    if "order" in kept:
        parts += [_wrapped(ORDER, ""), _matrix(kept["order"]["cells"], tries=False)]
    judged = kept["judge"]["cells"]
    parts.append(
        _wrapped(
            JUDGE.format(
                faults=len({cell["fault"].rsplit(" ", 1)[0] for cell in judged}),
                held=sum(cell["held"] is True for cell in judged),
                cells=len(judged),
                commands=len({cell["command"] for cell in judged}),
            ),
            "",
        )
    )
    return "\n\n".join(parts)


def _matrix(cells: list[dict[str, Any]], *, tries: bool) -> str:
    """A table with a row for each command and a column for each fault."""
    faults = list(dict.fromkeys(cell["fault"] for cell in cells))
    found = {(cell["command"], cell["fault"]): cell for cell in cells}

    def entry(command: str, fault: str) -> str:
        """What a cell says; empty where there is none."""
        cell = found.get((command, fault))
        if cell is None:
            return ""
        said = {True: "yes", False: "no", None: "not tried"}[cell["held"]]
        hit = HIT.search(cell["how"])  # a moment at which nothing was kept yet is no try
        count = int(hit[1]) if hit else cell["tries"]
        return f"{said} ({count})" if tries and count else said

    rows = [["command", *faults], ["---"] * (1 + len(faults))]
    rows += [
        [f"`{command}`", *(entry(command, fault) for fault in faults)]
        for command in dict.fromkeys(cell["command"] for cell in cells)
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


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


def others(kept: dict[str, dict[str, Any]]) -> str:
    """A line of the list with all results that miss their goal and are not explained; empty if there are none."""
    missed = [
        line["name"].partition(";")[0]
        for bench in kept.values()
        for line in bench["lines"]
        if not line["met"] and not line["name"].startswith(EXPLAINED)
    ]
    # The same file can miss two goals.
    return (
        f"* {_wrapped(OTHERS.format(lines='; '.join(dict.fromkeys(missed))), '  ').strip()}\n"
        if missed
        else ""
    )


def page(kept: dict[str, dict[str, Any]], *, loglik: Any, fuzz: Any, faults: Any) -> str:
    """The page from the content of bench.json, loglik_parts.json, fuzz.json and faults.json."""
    missing = [name for name in TITLES if name not in kept]
    parts = [
        INTRODUCTION.format(
            loglik=loglik_parts(loglik),
            others=others(kept),
            fuzz=fuzz_counts(fuzz),
            missing=MISSING.format(groups=", ".join(missing)) if missing else "",
        )
    ]
    for name in [*(one for one in TITLES if one in kept), *(one for one in kept if one not in TITLES)]:
        rows = _rows(name, kept[name])
        if len(rows) > 1:
            head, *body = [row[1:] for row in rows]
            lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]
            command = f"`{kept[name]['command']}`, Python {kept[name]['python']}:"
            parts.append("\n".join([f"## {TITLES.get(name, name)}", "", command, "", *lines, ""]))
    return "\n".join([*parts, fault_tables(faults)]) + "\n"


def _rows(name: str, bench: dict[str, Any]) -> list[tuple[str, ...]]:
    """The rows of one bench's table, with the header."""
    known = {field.name for field in fields(Line)}
    return table((name, Line(**{key: line[key] for key in line if key in known})) for line in bench["lines"])


def made() -> str:
    """The page from the files of this tree."""
    names = ("bench", "loglik_parts", "fuzz", "faults")
    kept, loglik, fuzz, faults = (
        json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text()) for name in names
    )
    return page(kept, loglik=loglik, fuzz=fuzz, faults=faults)


def main() -> None:
    PAGE.write_text(made())


if __name__ == "__main__":
    main()
