"""ADEM's four candidates for a context, made by our own generators and scored; kept in papers/adem_candidates.json.

    python -m papers.adem_candidates DATA ADEM tfidf=FOLDER dual=FOLDER hred=FOLDER [--count N]
    python -m papers.adem_candidates show

As in the paper a context has candidates of TF-IDF retrieval, a dual encoder, HRED and a person. The contexts are of
DailyDialog's test part with several people's replies (dailydialog_multiref): the logged reply is the reference, and one
of the further replies is the person's candidate. ADEM is the folder of `turnwise train adem`. Nobody has rated these
candidates, so nothing is correlated: the table says how the metrics rank the generators.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from turnwise.agents import resolve as resolve_agent
from turnwise.agents.calling import CallLimits, ReplyRequest
from turnwise.logs import native
from turnwise.logs.items.items import Selection, items
from turnwise.metrics import resolve
from turnwise.types import Floats, Item, Turn

RESULTS = Path(__file__).with_suffix(".json")
METRICS = ("adem[trained={adem}]", "adem-start", "rouge-l", "chrf", "usr-ret", "turnwise")
DRAWS = 2000
SHOWN, MOST_WORDS = 3, 10


def contexts(data: Path, count: int) -> list[Item]:
    """One random reply of each of `count` random dialogues, with one reference and a person's other reply."""
    rng = np.random.default_rng(0)
    found = []
    dialogues = list(native.read(str(data / "dailydialog_multiref.jsonl.gz")))
    for index in rng.permutation(len(dialogues))[:count]:
        there = [
            one for one in items([dialogues[index]], Selection(items="all")) if one.context and one.references
        ]
        if there:
            found.append(there[int(rng.integers(len(there)))])
    return found


def candidate(item: Item, reply: str) -> Item:
    """The item with a candidate, and the logged reply as its reference."""
    said = Turn(item.turns[-1].role, reply, references=(item.reply,))
    return replace(item, turns=(*item.context, said))


def measure(data: Path, adem: str, agents: list[str], count: int) -> None:
    """Make the candidates and score them."""
    there = contexts(data, count)
    said = {"human": [one.references[0] for one in there]}
    for name, _, folder in (pair.partition("=") for pair in agents):
        asked = [ReplyRequest(one.context, seed) for seed, one in enumerate(there)]
        answers = CallLimits().ask(resolve_agent(folder), asked)
        said[name] = [getattr(answer, "content", "") for answer in answers]
    rng, rows = np.random.default_rng(1), []
    for metric in METRICS:
        made = resolve(metric.format(adem=adem))
        scores = {}
        for name, replies in said.items():
            got = made.rows([candidate(*pair) for pair in zip(there, replies, strict=True)])
            scores[name] = np.asarray(made.of_sums(got), dtype=np.float64)
        for name, values in scores.items():
            gap = values - scores["human"]
            rows.append({
                "metric": metric.partition("[")[0], "generator": name, "n": int(np.isfinite(values).sum()),
                "score": float(np.nanmean(values)), "interval": _interval(values, rng),
                "less_human": float(np.nanmean(gap)), "less_human_interval": _interval(gap, rng),
            })  # fmt: skip
    samples = [
        {name: " ".join(replies[index].split()[:MOST_WORDS]) for name, replies in said.items()}
        for index in range(SHOWN)
    ]
    RESULTS.write_text(
        json.dumps({"contexts": len(there), "rows": rows, "samples": samples}, indent=1) + "\n"
    )


def _interval(values: Floats, rng: np.random.Generator) -> list[float]:
    known = values[np.isfinite(values)]
    means = known[rng.integers(len(known), size=(DRAWS, len(known)))].mean(axis=1)
    return [float(one) for one in np.quantile(means, (0.025, 0.975))]


def show() -> None:
    """The table of papers/adem.md."""
    kept = json.loads(RESULTS.read_text())
    names = list(dict.fromkeys(row["generator"] for row in kept["rows"]))
    print(f"| metric | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    for metric in dict.fromkeys(row["metric"] for row in kept["rows"]):
        cells = [
            f"{row['score']:.3f} [{row['interval'][0]:.3f}, {row['interval'][1]:.3f}]"
            for row in kept["rows"]
            if row["metric"] == metric
        ]
        print(f"| `{metric}` | {' | '.join(cells)} |")
    for sample in kept["samples"]:
        print("- " + "; ".join(f"{name}: “{reply}”" for name, reply in sample.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("adem", nargs="?")
    parser.add_argument("agents", nargs="*", metavar="NAME=FOLDER")
    parser.add_argument("--count", type=int, default=200)
    given = parser.parse_args()
    if given.data == "show":
        show()
    else:
        measure(Path(given.data), given.adem, given.agents, given.count)
