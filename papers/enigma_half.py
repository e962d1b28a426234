"""`python -m papers.enigma_half FOLDER [HALVES]`: why `robust` was poor on trained sellers with half of the dialogues.

Logs of eight trained sellers (draw 0, 30 dialogues each, in FOLDER, simulated if they are not there), of which an
earlier papers/enigma-trained.md had its tables, are halved with ten seeds, the first of which is the half of that page.
For each half and seller enigma-half.json has the raw estimate of `robust` by the earlier rule (the ridge is raised
where the mean of fitted Q is far off) and by the present one (where the iteration diverges), the largest eigenvalue of
the iteration, and the calibrated estimates. Halves that are there are not run again; at most HALVES are run.

`python -m papers.enigma_half rules` counts for which sellers of rules the present rule raises the ridge
(enigma-half-rules.json).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import turnwise as tw
from papers.enigma_trained_baselines import kept_logs
from papers.usage import words
from turnwise.encode.episodes import encode, kept, leave_out, whole
from turnwise.estimators.linear.problem import Problem, Problems
from turnwise.estimators.linear.regression import RIDGE, first_q, fitted_q, penalty
from turnwise.estimators.linear.robust import RIDGE_FACTORS, _stable_q, balanced
from turnwise.logs.native import read_all
from turnwise.run.ope.logged_data import _fraction
from turnwise.run.scoring.tally import generator
from turnwise.types import Episodes, Floats
from turnwise.worlds import booking

KEPT = Path(__file__).with_name("enigma-half.json")
NAME, AGENTS, DIALOGUES, TRUTH = "trained-eight", 8, 30, 200
SEEDS = range(10)
RULES = (("behaviour", 0, 30), ("behaviour", 1, 10), ("stochastic", 0, 30), ("wordings", 0, 30))
ESTIMATORS = "robust,dice-linear,mean-relabelled"


def logged(folder: Path) -> Episodes:
    """The episodes of draw 0, rated by `reward`."""
    logs = kept_logs(folder, NAME, 0)
    if not Path(logs).exists():
        tw.simulate(
            "booking", output=logs, family="trained", draw=0, seed=0, agents=AGENTS, dialogues=DIALOGUES,
            samples=1, truth=TRUTH,
        )  # fmt: skip
    dialogues = list(read_all([logs]))
    rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in dialogues}
    return encode(whole(dialogues, rewards), rating="reward", scale=(0, 1))


def earlier_q(problem: Problem) -> tuple[Floats, int]:
    """Fitted Q by the earlier rule, and the factor of its ridge."""
    low, high = float(problem.reward.min()), float(problem.reward.max())
    for factor in (1, 10, 100):
        v = fitted_q(problem, RIDGE * factor)
        if 2 * low - high <= float(np.mean(problem.first @ v)) <= 2 * high - low:
            return v, factor
    return fitted_q(problem, RIDGE * 1000), 1000


def parts(episodes: Episodes, target: str) -> dict[str, float]:
    """The raw estimate of `robust` for one target by both rules, with the factors of the ridge and the eigenvalue."""
    problem = Problems(leave_out(episodes, {target}), "minilm").of(target)
    w, _ = balanced(problem.shift, 1.0)

    def value(v: Floats) -> float:
        missed = problem.reward + problem.shift @ v - problem.first @ v
        return float(np.mean(first_q(problem, v) + w * missed))

    before, factor_before = earlier_q(problem)
    now = _stable_q(problem, RIDGE)
    factor = next(one for one in RIDGE_FACTORS if np.array_equal(fitted_q(problem, RIDGE * one), now))
    step = np.linalg.solve(problem.gram + np.diag(penalty(problem, RIDGE)), problem.next_gram)
    return {
        "eigenvalue": float(np.abs(np.linalg.eigvals(step)).max()),
        "mean_q": float(np.mean(problem.first @ fitted_q(problem, RIDGE))),
        "factor_before": factor_before,
        "before": value(before),
        "factor": factor,
        "raw": value(now),
    }


def rules(family: str, draw: int, dialogues: int) -> dict[str, Any]:
    """For how many of 16 sellers of rules the ridge is raised."""
    sellers = booking.family(family, agents=16, draw=draw)
    held = [
        booking.WORLD.play(
            agent, np.random.default_rng([3, draw, number, one]), identity=f"{name}/{one}", name=name,
            others=sellers, samples=1,
        )
        for number, (name, agent) in enumerate(sellers.items())
        for one in range(dialogues)
    ]  # fmt: skip
    rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in held}
    problems = Problems(encode(whole(held, rewards), rating="reward", scale=(0, 1)), "minilm")
    made = [problems.of(name) for name in sellers]
    raised = sum(not np.array_equal(_stable_q(one, RIDGE), fitted_q(one, RIDGE)) for one in made)
    return {"family": family, "draw": draw, "dialogues": dialogues, "sellers": len(made), "raised": raised}


def main() -> None:
    folder, *most = words(__doc__)
    if folder == "rules":
        counted = [rules(*case) for case in RULES]
        KEPT.with_name("enigma-half-rules.json").write_text(json.dumps(counted, indent=1) + "\n")
        print(counted)
        return
    rows: list[dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else []
    episodes = logged(Path(folder))
    true = json.loads(Path(kept_logs(Path(folder), NAME, 0)).with_suffix(".truth.json").read_text())
    truth = {agent: round(means["reward"]["mean"], 4) for agent, means in true["agents"].items()}
    halves = [half for half in (None, *SEEDS) if all(row["half"] != half for row in rows)]
    for half in halves[: int(most[0]) if most else None]:
        chosen, asked = episodes, {"seed": 0}
        if half is not None:
            chosen = kept(episodes, _fraction(episodes, 0.5, generator(half, "fraction")))
            asked = {"seed": half, "fraction": 0.5}
        found = tw.ope(
            kept_logs(Path(folder), NAME, 0), all_agents=True, rating="reward", estimators=ESTIMATORS,
            **asked,
        )  # fmt: skip
        given = {(one["target"], one["estimator"]): one for one in found}
        for target, mean in truth.items():
            row = {"half": half, "target": target, "truth": mean, **parts(chosen, target)}
            for name in ESTIMATORS.split(","):
                row[name] = given[target, name]["estimate"]
                row[f"{name}, raw"] = given[target, name]["raw"]
            rows.append(row)
        KEPT.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    for line in table(rows):
        print(line)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Pearson of each half, and the sellers for which the iteration diverged."""
    columns = ("before", "raw", "dice-linear, raw", "mean-relabelled, raw", *ESTIMATORS.split(","))
    head = ("half", "eigenvalues above 1", *columns)
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for half in dict.fromkeys(row["half"] for row in rows):
        some = [row for row in rows if row["half"] == half]
        above = ", ".join(f"{row['target']} {row['eigenvalue']:.2f}" for row in some if row["eigenvalue"] > 1)
        cells = ["none: all data" if half is None else str(half), above or "-"]
        for name in columns:
            known = [(row["truth"], row[name]) for row in some if row[name] is not None]
            pearson = np.corrcoef(np.array(known).T)[0, 1] if len(known) > 3 else np.nan
            cells.append(f"{pearson:.2f}" + ("" if len(known) == len(some) else f" ({len(known)})"))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
