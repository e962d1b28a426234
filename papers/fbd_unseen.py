"""FBD and others on rated corpora that had no part in any choice; results go to papers/fbd_unseen.json.

    python -m papers.fbd_unseen DATA -o OUT      system-level agreement of the recipe as it ships
    python -m papers.fbd_unseen show             the table of papers/fbd-prd.md

Corpora with five systems or more: dstc7 (nine; replies without a context, 42 references each; the system `Constant`,
which always says the same, is left out), ji2022 (seven bots, three
replications; the bot `qc`, which was degraded on purpose, is left out) and convai2_2018 (the bots with 15 rated
dialogues or more). The real side of the latter two, which have no people's replies, is PersonaChat.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.cli.common.group import run
from turnwise.logs import native
from turnwise.types import Dialogue

RESULTS = Path(__file__).with_suffix(".json")
WITHOUT_REFERENCES = "fbd,prd,mmd,relatedness,usr-ret,length,distinct-2"
WITH_REFERENCES = "fbd,prd,mmd,bleu-4,rouge-l,meteor,chrf,average,greedy,extrema,bertscore,length,distinct-2"
FEWEST = 15  # rated dialogues of a bot


def prepare(data: Path, out: Path) -> dict[str, list[str]]:
    """Write the selected dialogues; the arguments of `turnwise meta` for each corpus."""
    bots = (one for one in native.read(str(data / "ji2022.jsonl.gz")) if one.agent != "qc")
    native.write(map(_with_overall, bots), str(out / "ji2022.jsonl.gz"))
    chats = [
        one
        for one in native.read(str(data / "convai2_2018.jsonl.gz"))
        if one.agent.startswith("Bot")
        and any(rating.dimension == "overall" for rating in one.ratings)
        and {turn.role for turn in one.turns} == {"user", "assistant"}
    ]
    rated = Counter(one.agent for one in chats)
    native.write((one for one in chats if rated[one.agent] >= FEWEST), str(out / "convai2.jsonl.gz"))
    # A distance refuses a system whose replies are all the same: they have no distribution.
    posts = (one for one in native.read(str(data / "dstc7.jsonl.gz")) if one.agent != "Constant")
    native.write(posts, str(out / "dstc7.jsonl.gz"))
    real = ["--real", str(data / "personachat.jsonl.gz"), "--items", "all", "-m"]
    return {
        "dstc7": [str(out / "dstc7.jsonl.gz"), "--dimension", "all", "-m", WITH_REFERENCES],
        "convai2_2018": [
            str(out / "convai2.jsonl.gz"),
            "--dimension",
            "overall",
            *real,
            f"{WITHOUT_REFERENCES},fbd-paper,maude,att,turnwise",
        ],
        "ji2022": [
            str(out / "ji2022.jsonl.gz"),
            "--dimension",
            "all",
            "--by",
            "meta.run",
            *real,
            WITHOUT_REFERENCES,
        ],
    }


def _with_overall(dialogue: Dialogue) -> Dialogue:
    """The dialogue with one more rating, `overall`: the mean of its seven, as the authors of ji2022 have it."""
    mean = float(np.mean([rating.value for rating in dialogue.ratings]))
    overall = replace(dialogue.ratings[0], dimension="overall", value=mean)
    return replace(dialogue, ratings=(*dialogue.ratings, overall))


def measure(data: Path, out: Path, corpora: Sequence[str]) -> None:
    """Run `turnwise meta` at system level on each corpus, and keep correlations, p-values and numbers of systems."""
    out.mkdir(parents=True, exist_ok=True)
    kept: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    prepared = prepare(data, out)
    for corpus in corpora:
        arguments = prepared[corpus]
        folder = out / f"meta-{corpus}"
        if not (folder / "results.json").exists():
            options = [
                "--level",
                "system",
                "--statistic",
                "spearman,pearson",
                "--no-intervals",
                "--no-differences",
            ]
            if code := run(["meta", *arguments, *options, "-q", "-o", str(folder)]):
                sys.exit(code)
        found = json.loads((folder / "results.json").read_bytes())["results"]
        kept = [one for one in kept if one["corpus"] != corpus]
        for record in found:
            if record.get("level") == "system" and record.get("estimate") is not None:
                fields = ("group", "dimension", "metric", "statistic", "estimate", "p")
                line = {"corpus": corpus, **{field: record.get(field) for field in fields}}
                kept.append(line | {"systems": len(record["systems"])})
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


def show() -> None:
    """A table of Spearman and Pearson: one row a metric, one column a corpus; of ji2022 the overall rating."""
    kept = json.loads(RESULTS.read_text())
    columns: dict[str, list[dict[str, Any]]] = {}
    for one in kept:
        name = one["corpus"] + (f" {one['group']}" if one["group"] else "")
        name += f" {one['dimension']}" if one["corpus"] == "dstc7" else ""
        if one["corpus"] != "ji2022" or one["dimension"] == "overall":
            columns.setdefault(name, []).append(one)
    heads = [f"{name} ({records[0]['systems']} systems)" for name, records in columns.items()]
    print(f"| metric | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 1)}")
    for metric in dict.fromkeys(one["metric"] for one in kept):
        cells = []
        for records in columns.values():
            pair = []
            for statistic in ("spearman", "pearson"):
                own = [
                    one["estimate"]
                    for one in records
                    if (one["metric"], one["statistic"]) == (metric, statistic)
                ]
                pair.append(f"{own[0]:.3f}" if own else "")
            cells.append(" ".join(pair).strip() or "-")
        print(f"| `{metric}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/fbd-unseen"))
    parser.add_argument("--corpora", default="dstc7,convai2_2018,ji2022")
    given = parser.parse_args()
    if given.data == "show":
        show()
    else:
        measure(Path(given.data), given.output, given.corpora.split(","))
