"""`python -m papers.enigma_real run DATA [CORPUS...]|show`: `ope` on real ratings, each system left out in turn.

Every corpus of DATA with at least five systems that people rated, by dimension. An estimate is compared with the
system's own mean rating; what was refused has its reason. Results are added to papers/enigma-real.json, one record for
each corpus and dimension; records that are there are not made again. `show` rewrites the tables of
papers/enigma-real.md.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import turnwise as tw
from papers.usage import words
from turnwise.errors import TurnwiseError
from turnwise.logs import native
from turnwise.stats.correlation import pearson, spearman

ESTIMATORS = ("robust", "dice-linear", "direct", "metric:bertscore")
REASONS = {
    "not ranked": "the known systems are not ranked",
    "same estimate": "the known systems are not ranked",
    "has no alternative": "no replies of the systems at the points of others' dialogues",
    "outside the scale": "the interval is outside the scale",
    "nobody logged": "says what nobody says",
    "has no number of what": "the metric needs references, which one system has not",
}
HERE = Path(__file__).with_name("enigma-real.json")
PAGE = HERE.with_suffix(".md")


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A corpus of rated systems: its file, how its systems are paired, and what is rated."""

    file: str
    dimensions: Sequence[str]
    where: Mapping[str, str] | None = None
    pair: str | None = None
    by_system: bool = False  # whether `meta.system` tells systems apart that have one name in `agent`


CORPORA = {
    "fbd dailyz": Corpus(
        file="fbd.jsonl.gz",
        dimensions=("overall", "relevance", "content", "grammar"),
        where={"meta.corpus": "dailyz"},
    ),
    "fbd personaz": Corpus(file="fbd.jsonl.gz", dimensions=("overall",), where={"meta.corpus": "personaz"}),
    "fbd dailyh": Corpus(file="fbd.jsonl.gz", dimensions=("coherence",), where={"meta.corpus": "dailyh"}),
    "usr_persona": Corpus(
        file="usr_persona.jsonl",
        dimensions=(
            "overall",
            "engaging",
            "natural",
            "understandable",
            "maintains_context",
            "uses_knowledge",
        ),
        pair="meta.item",
        by_system=True,
    ),
    "dstc7": Corpus(file="dstc7.jsonl.gz", dimensions=("relevance", "informativeness"), pair="meta.instance"),
    "ji2022": Corpus(
        file="ji2022.jsonl.gz",
        dimensions=("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic"),
    ),
    "convai2_2018": Corpus(file="convai2_2018.jsonl.gz", dimensions=("overall",)),
}


def by_system(path: Path, folder: str) -> str:
    """A copy of the file whose agents are named by `meta.system`."""
    copy = str(Path(folder) / "systems.jsonl")
    native.write((replace(one, agent=str(one.meta["system"])) for one in native.read_all([str(path)])), copy)
    return copy


def record(name: str, dimension: str, data: Path) -> dict[str, Any]:
    """All systems of a corpus on one dimension: estimates with their intervals, or why there are none."""
    corpus = CORPORA[name]
    start = time.perf_counter()
    made: dict[str, Any] = {"corpus": name, "dimension": dimension}
    with TemporaryDirectory() as folder:
        path = data / corpus.file
        source = by_system(path, folder) if corpus.by_system else str(path)
        try:
            found = tw.ope(
                source,
                all_agents=True,
                rating=dimension,
                estimators=",".join(ESTIMATORS),
                where=corpus.where,
                pair=corpus.pair,
            )
            made["rows"] = [
                {key: one[key] for key in ("target", "estimator", "estimate", "interval", "logged", "raw")}
                | {"refused": reason(one["reason"]), "withheld": one["diagnostics"].get("withheld")}
                for one in found
            ]
        except TurnwiseError as error:
            made["refused"] = reason(str(error))
            dialogues = native.read_all([source])
            made["systems"] = len({one.agent for one in dialogues if one.ratings} - {"unknown"})
    return {**made, "seconds": round(time.perf_counter() - start, 1)}


def reason(text: str | None) -> str | None:
    return next((short for words, short in REASONS.items() if words in (text or "")), text)


def number(value: float | None) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.2f}"


def rows(records: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """One line for each corpus, dimension and estimator."""
    for one in records:
        named = [one["corpus"], one["dimension"]]
        if "rows" not in one:
            yield [*named, "all", "0", f"{one['systems']}: {one['refused']}", *["-"] * 5]
            continue
        for estimator in ESTIMATORS:
            mine = [row for row in one["rows"] if row["estimator"] == estimator]
            answered = [row for row in mine if row["estimate"] is not None]
            why = Counter(row["refused"] for row in mine if row["estimate"] is None)
            refused = "; ".join(f"{count}: {text}" for text, count in why.items()) or "0"
            yield [*named, estimator, str(len(answered)), refused, *figures(answered)]


def figures(answered: Sequence[dict[str, Any]]) -> list[str]:
    """Pearson, Spearman, mean absolute error, intervals that contain the mean, and half width."""
    if not answered:
        return ["-"] * 5
    said, truth = (np.array([row[key] for row in answered]) for key in ("estimate", "logged"))
    low, high = np.array([row["interval"] for row in answered]).T
    held = int(np.sum((low <= truth) & (truth <= high)))
    ranked = [number(pearson(said, truth)), number(spearman(said, truth))] if len(said) > 3 else ["-", "-"]
    error, half = float(np.abs(said - truth).mean()), float(np.mean(high - low) / 2)
    return [*ranked, number(error), f"{held} of {len(said)}", number(half)]


def table(records: Sequence[dict[str, Any]]) -> str:
    head = [
        "corpus",
        "rating",
        "estimator",
        "answered",
        "refused",
        "Pearson",
        "Spearman",
        "mae",
        "intervals hold",
    ]
    head.append("half width")
    lines = [head, ["---"] * len(head), *rows(records)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def refusals(records: Sequence[dict[str, Any]]) -> str:
    """Answered and refused estimates of `robust` and of all estimators, and how far off the refused ones were.

    Errors are shares of the rating's range over systems, so that corpora can be averaged.
    """
    head = ["estimators", "", "estimates", "mean error, as a share of the range of the systems' means"]
    head += ["off by more than half of that range", "intervals hold"]
    lines = [head, ["---"] * len(head)]
    for label, names in {"robust": ("robust",), "all four": ESTIMATORS}.items():
        for kind in ("answered", "refused"):
            found = []
            for one in records:
                rows_of = [row for row in one.get("rows", []) if row["estimator"] in names]
                size = np.ptp([row["logged"] for row in rows_of]) if rows_of else 0.0
                for row in rows_of:
                    given = row if kind == "answered" else row["withheld"]
                    if (row["refused"] is None) != (kind == "answered") or given is None:
                        continue
                    if given["interval"] is None:
                        continue
                    low, high = given["interval"]
                    error = abs(given["estimate"] - row["logged"]) / size
                    found.append((error, error > 0.5, low <= row["logged"] <= high))
            means = np.mean(found, axis=0) if found else (np.nan,) * 3
            lines.append([label, kind, str(len(found)), *(f"{value:.2f}" for value in means)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    records = json.loads(HERE.read_text()) if HERE.exists() else []
    command, *more = words(__doc__, ("run", "show"))
    if command == "run":
        data, *names = more
        there = {(one["corpus"], one["dimension"]) for one in records}
        for name in names or CORPORA:
            for dimension in CORPORA[name].dimensions:
                if (name, dimension) not in there:
                    records.append(record(name, dimension, Path(data)))
                    HERE.write_text(json.dumps(records, indent=1) + "\n")
    text = PAGE.read_text()
    for part, made in {"real": table(records), "refusals": refusals(records)}.items():
        block = re.compile(rf"(<!-- {part} -->\n).*?(<!-- /{part} -->)", re.S)
        text = block.sub(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
