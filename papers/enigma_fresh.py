"""`python papers/enigma_fresh.py run|again [CASES]|show`: coverage, width and refusals of `ope` on newly drawn agents.

Each case draws 16 new sellers (`simulate --draw`), simulates 100 dialogues of each with the replies of all, and
estimates every seller from the others. The settings of estimators and calibration were chosen on draws below 100; the
draws here are 1000 and above. Results are added to papers/enigma-fresh.json case by case; cases that are there are
not run again. `again` estimates anew, with the truths that are there, the cases that an earlier rule of refusals was
measured on (`inside` of a record is the rule's number). `show` rewrites the tables of papers/enigma-fresh.md.
"""

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import turnwise as tw
from turnwise.estimators.refusal import INSIDE

FAMILIES = ("behaviour", "wordings", "graded", "stochastic")
DRAWS = (1000, 1001, 1002)
# Setting -> share of the dialogues of each agent.
SETTINGS = {"all": 1.0, "10 %": 0.1}
ESTIMATORS = ("robust", "fqe", "dice-linear", "direct", "nearest", "mean-relabelled")
SPREAD = 0.3  # standard deviation of `reward` inside an agent, here and in the paper's logs
KEPT = (
    "raw",
    "distance",
    "overlap",
    "ess",
    "imbalance",
)  # diagnostics that might tell how wrong an estimate is
REASONS = {
    "not ranked": "cannot rank the known agents",
    "same estimate": "cannot rank the known agents",
    "outside the scale": "outside the scale",
    "nobody logged": "says what nobody says",
}
HERE = Path(__file__).with_name("enigma-fresh.json")
PAGE = HERE.with_suffix(".md")


def case(family: str, draw: int, truth: dict[str, float] | None = None) -> list[dict]:
    """One record for each setting, estimator and agent of a draw; true means are simulated unless they are given."""
    rows = []
    with TemporaryDirectory() as folder:
        logs = str(Path(folder) / "logs.jsonl")
        more = 3000 if truth is None else 0
        made = tw.simulate("booking", output=logs, family=family, draw=draw, seed=draw, truth=more)
        if truth is None:
            truth = {agent: means["reward"]["mean"] for agent, means in made.truth["agents"].items()}
        for setting, share in SETTINGS.items():
            found = tw.ope(
                logs, all_agents=True, rating="reward", estimators=",".join(ESTIMATORS), fraction=share
            )
            rows += [
                {"family": family, "draw": draw, "setting": setting, **record(one, truth)} for one in found
            ]
    return rows


def record(one: dict, truth: dict[str, float]) -> dict:
    """What is kept of an estimate: the truth, the estimate and its interval, given or withheld, and why."""
    withheld = one["diagnostics"].get("withheld") or {}
    interval = one["interval"] or withheld.get("interval")
    estimate = one["estimate"] if one["estimate"] is not None else withheld.get("estimate")
    reason = next((name for words, name in REASONS.items() if words in (one["reason"] or "")), one["reason"])
    return {
        "agent": one["target"],
        "estimator": one["estimator"],
        "truth": truth[one["target"]],
        "estimate": None if estimate is None else float(np.clip(estimate, 0, 1)),
        "interval": None if interval is None else np.clip(interval, 0, 1).tolist(),
        "refused": reason,
        "inside": INSIDE,
        **{key: round(one["diagnostics"][key], 4) for key in KEPT if key in one["diagnostics"]},
    }


def summary(rows: list[dict]) -> dict:
    """Coverage, mean absolute error, half width and their ratio, and the ratio at which exactly 95 % would hold."""
    rows = [row for row in rows if row["interval"] is not None]
    if not rows:
        return {"agents": 0}
    error = np.array([abs(row["estimate"] - row["truth"]) for row in rows])
    low, high = np.array([row["interval"] for row in rows]).T
    truth = np.array([row["truth"] for row in rows])
    half = float(np.mean(high - low) / 2)
    return {
        "agents": len(rows),
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "mae": float(error.mean()),
        "half_width": half,
        "ratio": half / float(error.mean()),
        "needed": float(np.quantile(error, 0.95) / error.mean()),
        "far": float(np.mean(error > 0.1)),
    }


def line(cells: list[str], found: dict, keys: tuple[str, ...]) -> str:
    shown = [str(found["agents"]), *("-" if key not in found else f"{found[key]:.3f}" for key in keys)]
    return f"| {' | '.join([*cells, *shown])} |"


def coverage_table(rows: list[dict]) -> str:
    keys = ("coverage", "mae", "half_width", "ratio", "needed")
    head = ["setting", "family", "agents", *keys]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for setting in SETTINGS:
        mine = [
            row
            for row in rows
            if row["setting"] == setting and row["estimator"] == "robust" and row["refused"] is None
        ]
        for family in (*FAMILIES, "all families"):
            some = [row for row in mine if family in (row["family"], "all families")]
            lines.append(line([setting, family], summary(some), keys))
    return "\n".join(lines)


def refusal_table(rows: list[dict]) -> str:
    keys = ("coverage", "mae", "far")
    head = ["estimators", "", "agents", "coverage", "mae", "off by more than .1"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    groups = {"robust": ("robust",), "all six": ESTIMATORS}
    for name, estimators in groups.items():
        mine = [row for row in rows if row["estimator"] in estimators]
        lines.append(line([name, "answered"], summary([row for row in mine if row["refused"] is None]), keys))
        refused = [row for row in mine if row["refused"] is not None]
        for reason in sorted({row["refused"] for row in refused}):
            some = [row for row in refused if row["refused"] == reason]
            lines.append(line([name, f"refused: {reason}"], summary(some), keys))
        lines.append(line([name, f"refused, all {len(refused)} of {len(mine)}"], summary(refused), keys))
    return "\n".join(lines)


def break_even_table(rows: list[dict]) -> str:
    """The mean error of `robust` and of the relabelled mean, and the rated dialogues of the target that do as well."""
    head = [
        "setting",
        "family",
        "robust",
        "dialogues that do as well",
        "mean-relabelled",
        "dialogues that do as well",
    ]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for setting in SETTINGS:
        for family in FAMILIES:
            cells = [setting, family]
            for estimator in ("robust", "mean-relabelled"):
                asked = {"setting": setting, "family": family, "estimator": estimator, "refused": None}
                mae = summary([row for row in rows if asked.items() <= row.items()]).get("mae")
                # The mean of n ratings with standard deviation SPREAD is off by sqrt(2 / pi) SPREAD / sqrt(n).
                cells += (
                    ["-", "-"] if mae is None else [f"{mae:.3f}", f"{2 / np.pi * (SPREAD / mae) ** 2:.0f}"]
                )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def show(rows: list[dict]) -> None:
    """Rewrite the tables of the page."""
    text = PAGE.read_text()
    tables = {
        "coverage": coverage_table(rows),
        "refusals": refusal_table(rows),
        "break-even": break_even_table(rows),
    }
    for part, table in tables.items():
        block = re.compile(rf"(<!-- {part} -->\n).*?(<!-- /{part} -->)", re.S)
        text = block.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)
    PAGE.write_text(text)


def write(rows: list[dict]) -> None:
    """Keep the records, one a line."""
    HERE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main() -> None:
    rows = json.loads(HERE.read_text()) if HERE.exists() else []
    command, *most = sys.argv[1:]
    if command == "run":
        there = {(row["family"], row["draw"]) for row in rows}
        cases = [(family, draw) for draw in DRAWS for family in FAMILIES if (family, draw) not in there]
        for family, draw in cases[: int(most[0]) if most else None]:
            rows += case(family, draw)
            write(rows)
    elif command == "again":
        old = {(row["family"], row["draw"]) for row in rows if row.get("inside") != INSIDE}
        for family, draw in sorted(old)[: int(most[0]) if most else None]:
            mine = {"family": family, "draw": draw}
            truth = {row["agent"]: row["truth"] for row in rows if mine.items() <= row.items()}
            others = [row for row in rows if not mine.items() <= row.items()]
            rows = [*others, *case(family, draw, truth)]
            write(rows)
    show(rows)


if __name__ == "__main__":
    main()
