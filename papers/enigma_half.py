"""`python -m papers.enigma_half FOLDER`: why `robust` was poor on trained sellers with half of the dialogues.

The logs of `papers/enigma_trained.py` (draw 0, in FOLDER, simulated if they are not there) are halved with ten seeds,
the first of which is the half of papers/enigma-trained.md. For each half and seller it keeps, in enigma-half.json, the
parts of the raw estimate (mean fitted Q at first turns, its correction), by how much the ridge was raised because
fitted Q diverged, and the strength of the ridge of the features; and the raw estimates of other estimators beside it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import turnwise as tw
from papers.enigma_trained import AGENTS, DIALOGUES, HERE
from papers.enigma_trained_baselines import kept_logs
from turnwise.encode.episodes import encode, kept, leave_out, whole
from turnwise.estimators import resolve
from turnwise.estimators.linear.problem import Problems
from turnwise.estimators.linear.regression import RIDGE, first_q, fitted_q
from turnwise.estimators.linear.robust import balanced
from turnwise.logs.native import read_all
from turnwise.run.ope.logged_data import _fraction
from turnwise.run.scoring.tally import generator
from turnwise.types import Episodes

KEPT = Path(__file__).with_name("enigma-half.json")
SEEDS = range(10)
OTHERS = ("dice-linear", "mean-relabelled")


def logged(folder: Path) -> Episodes:
    """The episodes of draw 0, rated by `reward`."""
    logs = kept_logs(folder, "trained", 0)
    if not Path(logs).exists():
        tw.simulate(
            "booking", output=logs, family="trained", draw=0, seed=0, agents=AGENTS, dialogues=DIALOGUES,
            samples=1, truth=0,
        )  # fmt: skip
    dialogues = list(read_all([logs]))
    rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in dialogues}
    return encode(whole(dialogues, rewards), rating="reward", scale=(0, 1))


def parts(episodes: Episodes, target: str) -> dict[str, float]:
    """The parts of the raw estimate of `robust` for one target, at each factor of the ridge up to the one it takes."""
    problems = Problems(leave_out(episodes, {target}), "minilm")
    problem = problems.of(target)
    low, high = float(problem.reward.min()), float(problem.reward.max())
    w, diagnostics = balanced(problem.shift, 1.0)
    found: dict[str, float] = {"strength": problems.strength, "ess": diagnostics["ess"]}
    for factor in (1, 10, 100, 1000):
        v = fitted_q(problem, RIDGE * factor)
        q = float(np.mean(problem.first @ v))
        missed = problem.reward + problem.shift @ v - problem.first @ v
        value = float(np.mean(first_q(problem, v) + w * missed))
        if factor == 1:
            found["q_before"] = q
        if 2 * low - high <= q <= 2 * high - low or factor == 1000:
            return {
                **found,
                "factor": factor,
                "q": q,
                "correction": float(np.mean(w * missed)),
                "value": value,
            }
    raise AssertionError


def main() -> None:
    episodes = logged(Path(sys.argv[1]))
    case = next(one for one in json.loads(HERE.read_text()) if (one["family"], one["draw"]) == ("trained", 0))
    truth = {agent: means["reward"] for agent, means in case["truth"].items()}
    rows: list[dict[str, Any]] = []
    for seed in (None, *SEEDS):
        chosen = episodes
        if seed is not None:
            chosen = kept(episodes, _fraction(episodes, 0.5, generator(seed, "fraction")))
        for target, mean in truth.items():
            seen = leave_out(chosen, {target})
            others = {
                name: resolve(name).estimate(seen, target, rng=np.random.default_rng(0)).value
                for name in OTHERS
            }
            rows.append(
                {"half": seed, "target": target, "truth": mean, **parts(chosen, target), **others,
                 "mean": float(seen.reward.mean())}
            )  # fmt: skip
        some = rows[-len(truth) :]
        known = [row["truth"] for row in some]
        shown = " ".join(
            f"{name} {np.corrcoef(known, [row[name] for row in some])[0, 1]:.2f}"
            for name in ("value", "q", *OTHERS)
        )
        print(
            seed,
            shown,
            "factors",
            [row["factor"] for row in some],
            "strength",
            some[0]["strength"],
            flush=True,
        )
        KEPT.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
