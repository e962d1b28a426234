"""Write the tables of papers/lava.md from the results of papers/lava.py, and keep the results in papers/lava.json.

python papers/lava_tables.py RESULTS            # a folder with a JSON file for each stage and seed
python papers/lava_tables.py papers/lava.json   # from the kept results
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

PAPER = {"joint": (66.06, 51.95, 17.0), "plas": (83.94, 67.54, 14.0)}  # Table 1: match, success, BLEU
BEGIN = {"full": "<!-- results -->\n", "small": "<!-- small results -->\n"}
END = "\n<!-- end of results -->"
PLAS = ("plas", "gentle", "undiscounted", "close")
NAMES = {
    "joint": "LAVA_mt, joint loss (eq. 4)",
    "alternate": "LAVA_mt, 10:1",
    "kl": "LAVA_kl",
    "warm": "joint, after the warm-up (eq. 5)",
    "plas": "joint + PLAS, settings of section 5.2",
    "gentle": "joint + PLAS, rates .003 and .0003, for longer",
    "undiscounted": "joint + PLAS, these rates, gamma .99",
    "close": "joint + PLAS, these rates, MSE with weight 4",
    "gradient": "joint + policy gradient",
}


def table(results: Path) -> None:
    """Write the tables; new results replace the kept ones of the same size."""
    store = Path(__file__).with_name("lava.json")
    found: list[dict[str, Any]] = json.loads(store.read_text())
    if results.is_dir():
        new = [json.loads(path.read_text()) for path in sorted(results.rglob("*-[0-9]*.json"))]
        again = {one["size"] for one in new}
        found = [one for one in found if one["size"] not in again] + new
    keep = ("stage", "seed", "size", "device", "seconds", "at", "test", "last", "curve")
    kept = [{key: one[key] for key in keep if key in one} for one in found]
    store.write_text(json.dumps(kept, indent=1) + "\n")
    for size, begin in BEGIN.items():
        mine = [one for one in found if one["size"] == size and _moved(one)]
        shown = "\n\n".join("\n".join(lines) for lines in (_means(mine), _seeds(mine), _falls(mine)))
        print(shown)
        page = Path(__file__).with_name("lava.md")
        before, _, rest = page.read_text().partition(begin)
        page.write_text(f"{before}{begin}\n{shown}\n{END}{rest.partition(END)[2]}")


def _moved(run: dict[str, Any]) -> bool:
    """Whether the policy was trained at all; in some PLAS runs the time ended while only the critic was trained."""
    return run["stage"] not in PLAS or any("actor_loss" in point for point in run["curve"])


def _means(found: list[dict[str, Any]]) -> Iterator[str]:
    yield "| policy | seeds | match | success | BLEU | match, leaderboard | success, leaderboard | distinct replies |"
    yield "|---|---|---|---|---|---|---|---|"
    keys = ("match", "success", "bleu", "match_leaderboard", "success_leaderboard", "distinct")
    for stage, name in NAMES.items():
        runs = [one["test"] for one in found if one["stage"] == stage]
        if runs:
            cells = [_spread([run[key] for run in runs], 3 if key == "distinct" else 1) for key in keys]
            yield f"| {name} | {len(runs)} | {' | '.join(cells)} |"
        if stage in PAPER:
            match, success, bleu = PAPER[stage]
            named = "SL" if stage == "joint" else "SL + PLAS"
            yield f"| *the paper's {named}* | 5 | {match} | {success} | {bleu:.0f} | | | |"


def _spread(values: list[float], digits: int) -> str:
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def _seeds(found: list[dict[str, Any]]) -> Iterator[str]:
    there = {one["stage"] for one in found}
    shown = [stage for stage in ("joint", "warm", *PLAS, "gradient") if stage in there]
    yield f"| seed | SL: match / success / BLEU | {' | '.join(shown[1:])} | epochs, updates | kept | at the end |"
    yield "|---" * (len(shown) + 4) + "|"
    for seed in sorted({one["seed"] for one in found}):
        runs = {one["stage"]: one for one in found if one["seed"] == seed}
        cells = [
            "{match:.1f} / {success:.1f} / {bleu:.2f}".format(**runs[stage]["test"]) if stage in runs else "-"
            for stage in shown
        ]
        last = [runs[stage]["curve"][-1] if stage in runs else {} for stage in shown]
        made = ", ".join(f"{one.get('epoch', one.get('update', 0)):.0f}" for one in last)
        searched = [stage for stage in (*PLAS, "gradient") if stage in runs]
        kept = ", ".join(f"{stage} {_kept(runs[stage]):.0f}" for stage in searched)
        ends = ", ".join(
            "{0} {match:.1f} / {success:.1f}".format(stage, **runs[stage]["last"]) for stage in searched
        )
        yield f"| {seed} | {' | '.join(cells)} | {made} | {kept} | {ends} |"


def _kept(run: dict[str, Any]) -> float:
    """The update of the policy that was kept: the first with the best validation success."""
    best = max(run["curve"], key=lambda point: point["success"])
    return float(best["update"])


def _falls(found: list[dict[str, Any]]) -> Iterator[str]:
    """Does the paper's claim hold: PLAS raises match and success over SL, and BLEU falls less than with gradients?"""
    for seed in sorted({one["seed"] for one in found}):
        runs = {one["stage"]: one["test"] for one in found if one["seed"] == seed}
        for stage in PLAS:
            if not {"joint", stage, "gradient"} <= set(runs):
                continue
            start, offline, online = runs["joint"], runs[stage], runs["gradient"]
            rise = {key: offline[key] - start[key] for key in ("match", "success")}
            falls = start["bleu"] - offline["bleu"], start["bleu"] - online["bleu"]
            verdict = all(value > 0 for value in rise.values()) and falls[0] < falls[1]
            yield (
                f"* seed {seed}, {stage}: match {rise['match']:+.1f}, success {rise['success']:+.1f}; BLEU falls by "
                f"{falls[0]:.2f}, with policy gradient by {falls[1]:.2f}: {'holds' if verdict else 'FAILS'}"
            )


if __name__ == "__main__":
    table(Path(sys.argv[1]))
