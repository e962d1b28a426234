"""`python -m papers.enigma_when run|few FAMILY|real DATA|add FILE|show`: when off-policy evaluation pays.

A new seller's mean reward can be had from rated dialogues of other sellers (`ope`), or from n rated dialogues of its
own, alone or with a judge that scored all of them (`turnwise calibrate`). The errors of `ope` with 15 other sellers are
those of papers/enigma-fresh.json. `run` measures the error of n ratings of a seller's own dialogues for every family,
`few` that of `ope` with few other sellers for one family, and `real` the break-even on the rated corpora of DATA.
Results are added to papers/enigma-when.json; `show` rewrites the tables of docs/when-ope.md. With KEPT=FILE in the
environment `few` writes to that file, and `add` takes it over.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import turnwise as tw
from papers.enigma_real import CORPORA
from papers.enigma_real import HERE as REAL
from papers.usage import words
from turnwise.logs import native
from turnwise.stats.ppi import Sample, corrected_mean
from turnwise.types import Floats
from turnwise.worlds import booking

FAMILIES = ("behaviour", "stochastic", "wordings", "graded")
DRAW = 1000  # of the sellers; settings were chosen on draws below 100
SELLERS, MOST, TRUTH = 16, 100, 1000
FEW = (5,)  # other sellers in `few`
DIALOGUES = (10, 100)  # rated dialogues of each other seller
SETTINGS = {"10 %": 10, "all": 100}  # settings of papers/enigma-fresh.json
ESTIMATORS = {"ours": "robust", "ENIGMA in closed form": "dice-linear", "mean of a judge": "mean-relabelled"}
# Correlation of a judge's score with the reward, within a seller; None: no judge.
JUDGES = (None, 0.5, 0.8, 0.95)
OWN = 400  # dialogues of a seller from which dialogues are drawn
JUDGED = 300  # dialogues of the new seller that the judge scores
RATED = (3, 5, 8, 12, 16, 24, 36, 50, 75, 110, 160, 240)  # of these, rated by people
DRAWS = 30  # of the judged dialogues, for each seller
OWN_FILE = Path(__file__).with_name("enigma-when.json")
HERE = Path(os.environ.get("KEPT", OWN_FILE))
FRESH = OWN_FILE.with_name("enigma-fresh.json")
PAGE = OWN_FILE.resolve().parents[1] / "docs" / "when-ope.md"


def fresh_errors(family: str) -> list[dict[str, Any]]:
    """The mean absolute errors with 15 other sellers, over the sellers of papers/enigma-fresh.json."""
    rows = [row for row in json.loads(FRESH.read_text()) if row["family"] == family]
    found = []
    for setting, count in SETTINGS.items():
        for label, estimator in ESTIMATORS.items():
            mine = [row for row in rows if (row["setting"], row["estimator"]) == (setting, estimator)]
            error = [abs(row["estimate"] - row["truth"]) for row in mine if row["refused"] is None]
            found.append(errors_row(15, count, label, error, len(mine)))
    return found


def errors_row(
    others: int, dialogues: int, method: str, error: Sequence[float], asked: int
) -> dict[str, Any]:
    mae = float(np.mean(error)) if error else None
    row = {"others": others, "dialogues": dialogues, "method": method, "asked": asked}
    return {**row, "answered": len(error), "mae": mae}


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
    for others in FEW:
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
                rows.append(errors_row(others, count, label, error, len(mine)))
    return rows


def rewards_of(family: str) -> dict[str, Floats]:
    """Seller -> the rewards of `OWN` dialogues."""
    sellers = booking.family(family, agents=SELLERS, draw=DRAW)
    return {
        name: np.array([booking.WORLD.truth(one, np.random.default_rng([7, n]))[0] for n in range(OWN)])
        for name, one in sellers.items()
    }


def real_cases(data: Path) -> list[dict[str, Any]]:
    """The rated corpora on which `robust` answered all systems: its mean error, and that of n own ratings."""
    found = []
    for record in json.loads(REAL.read_text()):
        mine = [row for row in record.get("rows", ()) if row["estimator"] == "robust"]
        if not mine or any(row["refused"] for row in mine):
            continue
        corpus, dimension = CORPORA[record["corpus"]], record["dimension"]
        ratings: dict[str, list[float]] = {}
        for one in native.read_all([str(data / corpus.file)]):
            if all(
                one.meta.get(key.removeprefix("meta.")) == value
                for key, value in (corpus.where or {}).items()
            ):
                values = [rating.value for rating in one.ratings if rating.dimension == dimension]
                name = str(one.meta["system"]) if corpus.by_system else str(one.agent)
                if values:
                    ratings.setdefault(name, []).append(float(np.mean(values)))
        errors = [abs(row["estimate"] - row["logged"]) for row in mine]
        found.append(
            {"corpus": record["corpus"], "dimension": dimension, "systems": len(mine),
             "mae": float(np.mean(errors)), "spread": float(np.mean([np.std(one) for one in ratings.values()])),
             "replies": round(float(np.mean([len(one) for one in ratings.values()]))),
             "ratings": rating_errors({name: np.array(one) for name, one in ratings.items()})}
        )  # fmt: skip
    return found


def real_table(kept: dict[str, Any]) -> str:
    head = [
        "corpus",
        "rated",
        "systems",
        "rated replies of each",
        "deviation inside a system",
        "ours",
        "ratings alone",
    ]
    head += [f"with a judge of r = {judge:g}" for judge in JUDGES[1:]]
    lines = [head, ["---"] * len(head)]
    for one in kept.get("real", []):
        even = [needed(one["ratings"], judge, one["mae"]) for judge in JUDGES]
        figures = [f"{one[key]:.2f}".lstrip("0") for key in ("spread", "mae")]
        shown = [one["corpus"], one["dimension"], str(one["systems"]), str(one["replies"])]
        lines.append([*shown, *figures, *even])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def rating_errors(rewards: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """The mean absolute error of n ratings of an agent's own dialogues, alone and with judges."""
    rng = np.random.default_rng(DRAW)
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
    drawn = rng.choice(reward, size=JUDGED)
    if not judged:
        return float(drawn[:rated].mean())
    ratings = np.where(np.arange(JUDGED) < rated, drawn, np.nan)
    scores = drawn + noise * rng.standard_normal(JUDGED)
    sample = Sample(scores, ratings, np.ones(JUDGED), np.arange(JUDGED), JUDGED)
    return corrected_mean(sample).estimate


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


def table(kept: dict[str, Any]) -> str:
    """Errors of `ope` and the number of own ratings that do as well, by family, other sellers and their dialogues."""
    head = ["sellers differ in", "other sellers", "dialogues of each", *ESTIMATORS, "ratings alone"]
    head += [f"with a judge of r = {judge:g}" for judge in JUDGES[1:]]

    def rows() -> Iterator[list[str]]:
        for family in FAMILIES:
            errors = [*kept.get("few", {}).get(family, []), *fresh_errors(family)]
            for others, count in dict.fromkeys((row["others"], row["dialogues"]) for row in errors):
                mine = {
                    row["method"]: row
                    for row in errors
                    if (row["others"], row["dialogues"]) == (others, count)
                }
                ours = mine["ours"]["mae"]
                shown = [error_of(mine[method]) for method in ESTIMATORS]
                own = kept["ratings"][family]
                even = ["-" if ours is None else needed(own, judge, ours) for judge in JUDGES]
                yield [family, str(others), str(count), *shown, *even]

    lines = [head, ["---"] * len(head), *rows()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def error_of(row: dict[str, Any]) -> str:
    if row["mae"] is None:
        return "refused"
    few = f" ({row['answered']} of {row['asked']})" if row["answered"] < row["asked"] else ""
    return f"{row['mae']:.3f}".lstrip("0") + few


def ratings_table(kept: dict[str, Any]) -> str:
    """The mean error of ratings of the seller's own dialogues, over all families."""
    shown = (5, 12, 24, 50, 110, 240)
    head = ["rated dialogues of the agent", *map(str, shown)]
    lines = [head, ["---"] * len(head)]
    every = [row for rows in kept["ratings"].values() for row in rows]
    for judge in JUDGES:
        cells = []
        for rated in shown:
            found = [row["mae"] for row in every if (row["judge"], row["rated"]) == (judge, rated)]
            cells.append(f"{np.mean(found):.3f}".lstrip("0"))
        lines.append(["ratings alone" if judge is None else f"with a judge of r = {judge:g}", *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    kept = json.loads(HERE.read_text()) if HERE.exists() else {"ratings": {}, "few": {}}
    command, *more = words(__doc__, ("run", "few", "real", "add", "show"))
    if command == "real":
        kept["real"] = real_cases(Path(more[0]))
        HERE.write_text(json.dumps(kept, indent=1) + "\n")
        more = []
    if command == "add":
        for name in more:
            kept["few"] |= json.loads(Path(name).read_text())["few"]
        HERE.write_text(json.dumps(kept, indent=1) + "\n")
        more = []
    for family in FAMILIES if command == "run" else more:
        if command == "run" and family not in kept["ratings"]:
            kept["ratings"][family] = rating_errors(rewards_of(family))
        if command == "few":
            with TemporaryDirectory() as folder:
                kept["few"][family] = ope_errors(Path(folder), family)
        HERE.write_text(json.dumps(kept, indent=1) + "\n")
    if HERE != OWN_FILE:
        return
    text = PAGE.read_text()
    blocks = {"break-even": table(kept), "own ratings": ratings_table(kept), "real": real_table(kept)}
    for name, made in blocks.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        text = block.sub(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
