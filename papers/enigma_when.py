"""`python -m papers.enigma_when run [CASES]|show`: when off-policy evaluation pays, by number of agents and dialogues.

A new seller's mean reward can be had from rated dialogues of other sellers (`ope`), or from n rated dialogues of its
own, alone or with a judge that scored all of them (`turnwise calibrate`). For several numbers of other sellers and of
their dialogues this measures the mean error of `ope`, and the n at which rating the new seller does as well. Sellers
are newly drawn (`simulate --draw`). Results are added to papers/enigma-when.json case by case; `show` rewrites the
tables of docs/when-ope.md.
"""

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import turnwise as tw
from turnwise.logs import native
from turnwise.stats.ppi import Sample, corrected_mean
from turnwise.types import Floats
from turnwise.worlds import booking

FAMILIES = ("behaviour", "stochastic", "wordings", "graded")
DRAW = 2000
SELLERS, MOST, TRUTH = 16, 100, 2000
OTHERS = (5, 15)  # sellers whose dialogues were rated
DIALOGUES = (10, 30, 100)  # rated dialogues of each
ESTIMATORS = {"ours": "robust", "ENIGMA in closed form": "dice-linear", "mean of a judge": "mean-relabelled"}
# Correlation of a judge's score with the reward, within a seller; None: no judge.
JUDGES = (None, 0.5, 0.8, 0.95)
JUDGED = 300  # dialogues of the new seller that the judge scores
RATED = (3, 5, 8, 12, 16, 24, 36, 50, 75, 110, 160, 240)  # of these, rated by people
DRAWS = 60  # of the rated ones, for each seller
HERE = Path(__file__).with_name("enigma-when.json")
PAGE = HERE.resolve().parents[1] / "docs" / "when-ope.md"


def ope_errors(folder: Path, family: str) -> list[dict[str, Any]]:
    """The mean absolute error of each estimator by numbers of other sellers and of their dialogues."""
    logs = str(folder / "logs.jsonl")
    made = tw.simulate(
        "booking",
        output=logs,
        family=family,
        draw=DRAW,
        seed=DRAW,
        agents=SELLERS,
        dialogues=MOST,
        samples=2,
        truth=TRUTH,
    )
    truth = {name: means["reward"]["mean"] for name, means in made.truth["agents"].items()}
    dialogues = list(native.read(logs))
    rng = np.random.default_rng(DRAW)
    rows = []
    for others in OTHERS:
        names = set(rng.permutation(sorted(truth))[: others + 1])
        for count in DIALOGUES:
            part = str(folder / "part.jsonl")
            native.write((one for one in dialogues if one.agent in names), part)
            found = tw.ope(
                part,
                all_agents=True,
                rating="reward",
                estimators=",".join(ESTIMATORS.values()),
                fraction=count / MOST,
            )
            for label, estimator in ESTIMATORS.items():
                mine = [one for one in found if one["estimator"] == estimator]
                error = [abs(one["estimate"] - truth[one["target"]]) for one in mine if not one["refused"]]
                row = {"others": others, "dialogues": count, "method": label, "answered": len(error)}
                mae = float(np.mean(error)) if error else None
                rows.append({**row, "asked": len(mine), "mae": mae})
    return rows


def rating_errors(family: str) -> list[dict[str, Any]]:
    """The mean absolute error of n ratings of a seller's own dialogues, alone and with judges."""
    sellers = booking.family(family, agents=SELLERS, draw=DRAW)
    rng = np.random.default_rng(DRAW)
    rewards = {
        name: np.array([booking.WORLD.truth(one, np.random.default_rng([7, n]))[0] for n in range(TRUTH)])
        for name, one in sellers.items()
    }
    spread = float(np.mean([np.std(one) for one in rewards.values()]))
    rows = []
    for judge in JUDGES:
        noise = 0.0 if judge is None else spread * float(np.sqrt(1 / judge**2 - 1))
        for rated in RATED:
            errors = [
                abs(
                    own_mean(reward, rated, judged=judge is not None, noise=noise, rng=rng)
                    - float(reward.mean())
                )
                for reward in rewards.values()
                for _ in range(DRAWS)
            ]
            rows.append({"judge": judge, "rated": rated, "mae": float(np.mean(errors))})
    return rows


def own_mean(reward: Floats, rated: int, *, judged: bool, noise: float, rng: np.random.Generator) -> float:
    """The mean reward by `rated` ratings of the seller's dialogues, with a judge's scores of `JUDGED` if `judged`."""
    drawn = rng.choice(reward, size=JUDGED, replace=False)
    if not judged:
        return float(drawn[:rated].mean())
    ratings = np.where(np.arange(JUDGED) < rated, drawn, np.nan)
    scores = drawn + noise * rng.standard_normal(JUDGED)
    sample = Sample(scores, ratings, np.ones(JUDGED), np.arange(JUDGED), JUDGED)
    return corrected_mean(sample).estimate


def case(family: str) -> dict[str, Any]:
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        errors = ope_errors(Path(folder), family)
    made = {"family": family, "draw": DRAW, "ope": errors, "ratings": rating_errors(family)}
    return {**made, "seconds": round(time.perf_counter() - start)}


def needed(rows: Sequence[dict[str, Any]], judge: float | None, mae: float) -> str:
    """The number of ratings at which their error falls to `mae`, interpolated between the measured numbers."""
    mine = [row for row in rows if row["judge"] == judge]
    # The error falls with the number of ratings: what chance makes it rise by is taken out.
    error = np.minimum.accumulate([row["mae"] for row in mine])
    count = [row["rated"] for row in mine]
    if mae < error[-1]:
        return f"over {count[-1]}"
    if mae >= error[0]:
        return f"at most {count[0]}"
    return f"{np.exp(np.interp(-np.log(mae), -np.log(error), np.log(count))):.0f}"


def table(cases: Sequence[dict[str, Any]]) -> str:
    head = ["sellers differ in", "others", "dialogues of each", *ESTIMATORS, "ratings alone"]
    head += [f"with a judge of r = {judge:g}" for judge in JUDGES[1:]]

    def rows() -> Iterator[list[str]]:
        for one in cases:
            for others in OTHERS:
                for count in DIALOGUES:
                    mine = {
                        row["method"]: row
                        for row in one["ope"]
                        if (row["others"], row["dialogues"]) == (others, count)
                    }
                    ours = mine["ours"]["mae"]
                    shown = [error_of(mine[method]) for method in ESTIMATORS]
                    even = [needed(one["ratings"], j, ours) if ours is not None else "-" for j in JUDGES]
                    yield [one["family"], str(others), str(count), *shown, *even]

    lines = [head, ["---"] * len(head), *rows()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def error_of(row: dict[str, Any]) -> str:
    if row["mae"] is None:
        return "refused"
    few = f" ({row['answered']} of {row['asked']})" if row["answered"] < row["asked"] else ""
    return f"{row['mae']:.3f}".lstrip("0") + few


def ratings_table(cases: Sequence[dict[str, Any]]) -> str:
    """The mean error of ratings of the seller's own dialogues, over all families."""
    shown = (5, 12, 24, 50, 110, 240)
    head = ["rated dialogues of the seller", *map(str, shown)]
    lines = [head, ["---"] * len(head)]
    for judge in JUDGES:
        cells = []
        for rated in shown:
            found = [
                r["mae"] for c in cases for r in c["ratings"] if (r["judge"], r["rated"]) == (judge, rated)
            ]
            cells.append(f"{np.mean(found):.3f}".lstrip("0"))
        lines.append(["ratings alone" if judge is None else f"with a judge of r = {judge:g}", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    cases = json.loads(HERE.read_text()) if HERE.exists() else []
    command, *most = sys.argv[1:]
    if command == "run":
        there = {one["family"] for one in cases}
        for family in [one for one in FAMILIES if one not in there][: int(most[0]) if most else None]:
            cases.append(case(family))
            HERE.write_text(json.dumps(cases, indent=1) + "\n")
    text = PAGE.read_text()
    for name, made in {"break-even": table(cases), "own ratings": ratings_table(cases)}.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        text = block.sub(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
