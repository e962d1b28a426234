"""`python -m papers.flagship.fit RESULTS DATA`: the agreement of every trained network, in place of the shipped reader.

RESULTS has the files of gpu.sh. The nine rated groups were split before anything was looked at: settings were compared
on the five groups of `CHOICE` alone, each predicted from the other four, and every comparison was written to
trials.jsonl. Here each network is measured with the chosen settings: on the five; on all nine, each predicted from the
other eight, and from those of other publications; and on the four groups that played no part in the choice. No frauds
are taught here, because only the shipped readers have read them. Adds to seeds.json, by the names of the files.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from papers.flagship.train_large import CHOICE
from papers.learned import Corpora, same_source
from turnwise.metrics.learned.turnwise.signals import NATURAL, OF_NATURAL, PENALTY, natural
from turnwise.networks.replies.columns import COLUMNS
from turnwise.types import Floats

RESULTS = Path(__file__).with_name("seeds.json")


def read(path: Path) -> Floats:
    """(n, k) `COLUMNS` of the rated replies by a network; a student's are stored in standard deviations."""
    with np.load(path) as kept:
        if "rated" in kept:
            return np.asarray(kept["rated"] * kept["spread"] + kept["mean"], dtype=np.float64)
        return np.asarray(kept["columns"], dtype=np.float64)


def with_network(corpora: Corpora, network: Floats) -> None:
    """Put the columns of a network in the place of the reader's."""
    of_natural = natural(*(network[:, COLUMNS.index(name)] for name in OF_NATURAL))
    ends = np.cumsum([len(table) for table in corpora.tables])[:-1]
    for table, part in zip(
        corpora.tables, np.split(np.column_stack([network, of_natural]), ends), strict=True
    ):
        known = ~np.isnan(table).any(axis=1)
        table[known, : part.shape[1]] = part[known]


def measured(corpora: Corpora) -> dict[str, Any]:
    """Mean Spearman on the five groups, on all nine and on the other four."""
    every, apart = range(len(corpora.groups)), same_source(corpora)
    five = [corpora.spearman(n, [m for m in CHOICE if m != n], "all", PENALTY) for n in CHOICE]
    nine = [corpora.spearman(n, [m for m in every if m != n], "all", PENALTY) for n in every]
    publication = [
        corpora.spearman(n, [m for m in every if m != n and not apart(n, m)], "all", PENALTY) for n in every
    ]
    return {
        "five": float(np.mean(five)), "nine": float(np.mean(nine)), "publication left out": float(np.mean(publication)),
        "four": float(np.mean([nine[n] for n in every if n not in CHOICE])), "groups": nine,
    }  # fmt: skip


def main() -> None:
    results, data = Path(sys.argv[1]), Path(sys.argv[2])
    corpora = Corpora(data)
    if corpora.columns[: len(COLUMNS) + 1] != [*COLUMNS, NATURAL]:
        raise SystemExit("the columns of the shipped reader are not those of the trained networks")
    corpora.frauds = None
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for path in sorted(results.glob("*-rated.npz")):
        with_network(corpora, read(path))
        name = path.name.removesuffix("-rated.npz")
        found[name] = measured(corpora)
        shown = {key: round(value, 4) for key, value in found[name].items() if key != "groups"}
        print(name, json.dumps(shown), flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
