"""`python papers/enigma_fresh.py run|again [CASES]|show`: coverage, width and refusals of `ope` on newly drawn agents.

Each case draws 16 new sellers (`simulate --draw`), simulates 100 dialogues of each with the replies of all, and
estimates every seller from the others. The settings of estimators and calibration were chosen on draws below 100; the
draws here are 1000 and above. Results are added to papers/enigma-fresh.json case by case; cases that are there are
not run again. `again` estimates anew, with the truths that are there, the cases that an earlier rule of refusals was
measured on (`inside` of a record is the rule's number). `goals` asks how much of an agent's ratings the customer's goal
explains. `floor` simulates the model of the intervals itself: how wide they must be if everything is as assumed. `show`
rewrites the tables of papers/enigma-fresh.md.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import turnwise as tw
from turnwise.estimators.calibration import line as fitted_line
from turnwise.estimators.refusal import INSIDE
from turnwise.stats.correlation import spearman
from turnwise.worlds import booking

sys.path.insert(0, str(Path(__file__).parents[1]))
from papers.usage import words

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
PREDICTORS = ("distance", "overlap", "ess", "imbalance")
SHARES = (1, 0.9, 0.8, 0.75, 0.67)
# Of `floor`: spread of errors, standard error of a logged mean, numbers of other agents, simulations.
OWN, LOGGED, OTHERS, WORLDS = (0.012, 0.02, 0.05), 0.03, (15, 47), 4000
AIM = 2.2  # half width over mean absolute error that was aimed at
FLOOR = Path(__file__).with_name("enigma-fresh-floor.json")
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


def shrunk_table(rows: list[dict]) -> str:
    """Coverage of `robust` with all dialogues if every interval had a share of its width."""
    mine = [row for row in rows if row["setting"] == "all" and row["estimator"] == "robust"]
    mine = [row for row in mine if row["refused"] is None]
    head = ["widths times", "ratio", "all families", *FAMILIES]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for share in SHARES:
        cells = []
        for family in (None, *FAMILIES):
            some = [
                {
                    **row,
                    "interval": [
                        row["estimate"] + share * (end - row["estimate"]) for end in row["interval"]
                    ],
                }
                for row in mine
                if family in (None, row["family"])
            ]
            found = summary(some)
            cells += [f"{found['ratio']:.2f}"] if family is None else []
            cells.append(f"{found['coverage']:.3f}")
        lines.append(f"| {' | '.join([f'{share:g}', *cells])} |")
    return "\n".join(lines)


def predictor_table(rows: list[dict]) -> str:
    """Spearman of the absolute error of `robust` with what is known of an estimate, by setting and family."""
    head = ["setting", "family", "agents", *PREDICTORS, "width of the interval"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for setting in SETTINGS:
        for family in FAMILIES:
            asked = {"setting": setting, "family": family, "estimator": "robust", "refused": None}
            some = [row for row in rows if asked.items() <= row.items() and "ess" in row]
            if len(some) < 10:
                continue
            error = np.array([abs(row["estimate"] - row["truth"]) for row in some])
            known = [np.array([row[key] for row in some]) for key in PREDICTORS]
            known.append(np.array([row["interval"][1] - row["interval"][0] for row in some]))
            cells = [f"{spearman(error, one):.2f}" if np.ptp(one) else "-" for one in known]
            lines.append(f"| {' | '.join([setting, family, str(len(some)), *cells])} |")
    return "\n".join(lines)


def show(rows: list[dict]) -> None:
    """Rewrite the tables of the page."""
    text = PAGE.read_text()
    tables = {
        "coverage": coverage_table(rows),
        "refusals": refusal_table(rows),
        "break-even": break_even_table(rows),
        "shrunk": shrunk_table(rows),
        "predictors": predictor_table(rows),
        "floor": floor_table(),
    }
    for part, table in tables.items():
        block = re.compile(rf"(<!-- {part} -->\n).*?(<!-- /{part} -->)", re.S)
        text = block.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)
    PAGE.write_text(text)


def goal_share(family: str, draw: int = 0, dialogues: int = 60, folds: int = 5) -> float:
    """The share of the variance of `reward` inside an agent that the customer's goal explains, on other dialogues."""
    goals, reward, agents = [], [], []
    for number, (name, agent) in enumerate(booking.family(family, agents=16, draw=draw).items()):
        for one in range(dialogues):
            rng = np.random.default_rng([5, number, one])
            held = booking.WORLD.play(agent, rng, identity=str(one), name=name)
            goals.append(
                {
                    f"{key}={value}" if isinstance(value, str) else key: value
                    for key, value in held.goal.items()
                }
            )
            reward.append(next(rating.value for rating in held.ratings if rating.dimension == "reward"))
            agents.append(number)
    common = [key for key, n in Counter(key for goal in goals for key in goal).items() if n > 30]
    features = np.array(
        [
            [1.0 if isinstance(goal.get(key), str) else float(goal.get(key, 0)) for key in common]
            for goal in goals
        ]
    )
    features = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)
    inside, of = np.array(reward), np.array(agents)
    inside = inside - np.array([inside[of == number].mean() for number in of])
    predicted, order = np.zeros(len(inside)), np.random.default_rng(0).permutation(len(inside))
    for fold in range(folds):
        held_out = np.zeros(len(inside), bool)
        held_out[order[fold::folds]] = True
        x, y = features[~held_out], inside[~held_out]
        line = np.linalg.solve(x.T @ x + 50 * np.eye(len(common)), x.T @ y)
        predicted[held_out] = features[held_out] @ line
    return float(1 - np.mean((inside - predicted) ** 2) / np.mean(inside**2))


def floor() -> list[dict]:
    """Coverage and ratio of `ope`'s interval, and of one for which line and spread are known, in simulations.

    Estimates are off by normal errors of one spread, and the other agents' means are logged with a known error, as the
    construction assumes. The coverage `at the aim` is that of intervals of the ratio `AIM`.
    """
    rows = []
    for own in OWN:
        for others in OTHERS:
            rng = np.random.default_rng(0)
            found = []
            for _ in range(WORLDS):
                x = rng.uniform(0.3, 1.0, others + 1)
                truth = x + own * rng.standard_normal(others + 1)
                logged = truth[1:] + LOGGED * rng.standard_normal(others)
                line_of = fitted_line(x[1:], logged, np.full(others, LOGGED))
                low, high = line_of.interval(x[0])
                found.append((line_of.at(x[0]) - truth[0], (high - low) / 2, x[0] - truth[0]))
            off, width, off_known = np.abs(np.array(found)).T
            ratio = float(width.mean() / off.mean())
            rows.append(
                {"spread of errors": own, "other agents": others, "coverage": float(np.mean(off <= width)),
                 "ratio": ratio, "at the aim": float(np.mean(off <= width * AIM / ratio)),
                 "ratio, all known": 1.96 * own / float(off_known.mean()),
                 "at the aim, all known": float(np.mean(off_known <= AIM * off_known.mean()))}
            )  # fmt: skip
    return rows


def floor_table() -> str:
    found = json.loads(FLOOR.read_text()) if FLOOR.exists() else []
    if not found:
        return ""
    lines = [list(found[0]), ["---"] * len(found[0])]
    lines += [
        [f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()]
        for row in found
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write(rows: list[dict]) -> None:
    """Keep the records, one a line."""
    HERE.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main() -> None:
    rows = json.loads(HERE.read_text()) if HERE.exists() else []
    command, *most = words(__doc__, ("run", "again", "floor", "goals", "show"))
    if command == "goals":
        found = {family: round(goal_share(family), 3) for family in FAMILIES}
        HERE.with_name("enigma-fresh-goals.json").write_text(json.dumps(found) + "\n")
        print(found)
    if command == "floor":
        FLOOR.write_text(json.dumps(floor(), indent=1) + "\n")
    elif command == "run":
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
