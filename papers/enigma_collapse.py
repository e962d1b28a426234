"""`python papers/enigma_collapse.py run|show`: when the training of `enigma` collapses, and what cures it.

Sellers are drawn anew, ten of each family with 30 dialogues each. Each is left out and estimated with the four
combinations of the two cures. Results are added to papers/enigma-collapse.json one by one; `show` rewrites the tables
of papers/enigma-neural.md.
"""

import json
import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import turnwise as tw
from turnwise.encode.episodes import encode, leave_out, whole
from turnwise.estimators import resolve
from turnwise.logs.native import read_all

sys.path.insert(0, str(Path(__file__).parents[1]))
from papers.usage import words

FAMILIES = ("behaviour", "wordings", "graded")
DRAW = 1000
VARIANTS = {
    "as published": "enigma[by_step=false,nu_penalty=0.0,allow_collapse=true]",
    "mean 1 at every step": "enigma[by_step=true,nu_penalty=0.0,allow_collapse=true]",
    "penalty of nu": "enigma[by_step=false,nu_penalty=0.1,allow_collapse=true]",
    "both (the default)": "enigma[allow_collapse=true]",
}
HERE = Path(__file__).with_name("enigma-collapse.json")
PAGE = HERE.with_name("enigma-neural.md")
RANGE = (0.5, 2.0)


def run(rows: list[dict], family: str) -> None:
    """Add the records of all variants for one family, and write the file after each variant."""
    with TemporaryDirectory() as folder:
        logs = str(Path(folder) / "logs.jsonl")
        made = tw.simulate(
            "booking", output=logs, family=family, draw=DRAW, agents=10, dialogues=30, samples=2, truth=2000
        )
        dialogues = list(read_all([logs]))
    rewards = {
        one.id: next(rating.value for rating in one.ratings if rating.dimension == "reward")
        for one in dialogues
    }
    episodes = encode(whole(dialogues, rewards), rating="reward", scale=(0, 1), delexicalised=False)
    for variant, name in VARIANTS.items():
        start = time.perf_counter()
        found = []
        for target, means in made.truth["agents"].items():
            one = resolve(name).estimate(leave_out(episodes, {target}), target, rng=np.random.default_rng(0))
            kept = {
                key: one.diagnostics[key] for key in ("mean_zeta", "ess", "by_logged_ratings", "dialogues")
            }
            found.append({"target": target, "truth": means["reward"]["mean"], "estimate": one.value, **kept})
        seconds = round(time.perf_counter() - start, 1)
        rows.append({"family": family, "variant": variant, "seconds": seconds, "targets": found})
        HERE.write_text(json.dumps(rows, indent=1) + "\n")


def table(rows: list[dict]) -> str:
    head = [
        "family",
        "variant",
        "collapsed",
        "mean zeta",
        "ESS of 270",
        "MAE",
        "Pearson",
        "Pearson, logged ratings",
    ]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for row in rows:
        targets = row["targets"]
        zeta = np.array([one["mean_zeta"] for one in targets])
        truth, estimate, logged, size = (
            np.array([one[key] for one in targets])
            for key in ("truth", "estimate", "by_logged_ratings", "ess")
        )
        collapsed = int(np.sum((zeta < RANGE[0]) | (zeta > RANGE[1])))
        cells = [row["family"], row["variant"], f"{collapsed} of {len(targets)}"]
        cells += [f"{zeta.min():.2f} to {zeta.max():.2f}", f"{size.min():.0f} to {size.max():.0f}"]
        cells += [f"{np.abs(truth - estimate).mean():.3f}", f"{np.corrcoef(truth, estimate)[0, 1]:.3f}"]
        cells += [f"{np.corrcoef(truth, logged)[0, 1]:.3f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    rows = json.loads(HERE.read_text()) if HERE.exists() else []
    if words(__doc__, ("run", "show")) == ["run"]:
        for family in FAMILIES:
            if not any(row["family"] == family for row in rows):
                run(rows, family)
    text = PAGE.read_text()
    block = re.compile(r"(<!-- collapse -->\n).*?(<!-- /collapse -->)", re.S)
    PAGE.write_text(block.sub(lambda found: f"{found[1]}{table(rows)}\n{found[2]}", text))


if __name__ == "__main__":
    main()
