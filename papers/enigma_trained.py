"""`python -m papers.enigma_trained run FOLDER FAMILY DRAW|add FILE...|show`: Tables 1, 3, 4 of ENIGMA, all baselines.

Sellers of a family of the booking world are each left out and estimated from the others on `flight`, `status` and
`reward`, with all dialogues, half, a tenth, and in the challenging setting. The family `trained` are transformers that
cloned dialogues, as in the paper. Logs are kept in FOLDER, and results, part by part, in FOLDER/FAMILY-DRAW.json; parts
that are there are not run again, so cases run side by side and go on after a stop. `add` takes such files over into
papers/enigma-trained.json; `show` rewrites the tables of papers/enigma-trained.md.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import turnwise as tw
from papers.enigma_trained_baselines import enigma, kept_logs, language, self_play
from papers.enigma_trained_tables import page_with
from papers.usage import words
from turnwise.run.dialogues.trained_sellers import trained_sellers
from turnwise.types import Agent
from turnwise.worlds import booking

FAMILIES = ("trained", "behaviour", "wordings", "stochastic", "graded")
SCORES = ("reward", "flight", "status")
SETTINGS: dict[str, dict[str, Any]] = {
    "full": {},
    "50 %": {"fraction": 0.5},
    "10 %": {"fraction": 0.1},
    "challenging": {"challenging": 15},
}
ESTIMATORS = "robust,mean-relabelled,mean,features,dice-linear"
AGENTS, DIALOGUES, TRUTH = 12, 30, 200
SAMPLES = {"trained": 1}  # of the replies at each point; trained sellers always say the same
HERE = Path(__file__).with_name("enigma-trained.json")
PAGE = HERE.with_suffix(".md")


def simulated(case: dict[str, Any], folder: Path) -> None:
    """The logs of the case, in the folder, and the true means of its agents."""
    made = tw.simulate(
        "booking",
        output=kept_logs(folder, case["family"], case["draw"]),
        family=case["family"],
        draw=case["draw"],
        seed=case["draw"],
        agents=AGENTS,
        dialogues=DIALOGUES,
        samples=SAMPLES.get(case["family"], 2),
        truth=TRUTH,
        jobs=int(os.environ.get("JOBS", "1")),
    )
    case["truth"] = {
        name: {score: round(means[score]["mean"], 4) for score in (*SCORES, "name")}
        for name, means in made.truth["agents"].items()
    }


def agents_of(case: dict[str, Any]) -> dict[str, Agent]:
    if case["family"] == "trained":
        return trained_sellers(AGENTS, case["draw"])
    return dict(booking.family(case["family"], agents=AGENTS, draw=case["draw"]))


def with_language(case: dict[str, Any], folder: Path) -> None:
    case["language"] = {name: language(agent, case["draw"]) for name, agent in agents_of(case).items()}


def with_self_play(case: dict[str, Any], folder: Path) -> None:
    logs = kept_logs(folder, case["family"], case["draw"])
    case["self-play"] = self_play(agents_of(case), logs, case["draw"], SCORES)


def with_estimates(case: dict[str, Any], folder: Path, setting: str, score: str) -> None:
    """Estimates and intervals by score, estimator and agent; what was refused has the reason."""
    logs = kept_logs(folder, case["family"], case["draw"])
    found: dict[str, dict[str, Any]] = {}
    for one in tw.ope(logs, all_agents=True, rating=score, estimators=ESTIMATORS, **SETTINGS[setting]):
        record = {key: one[key] for key in ("raw", "estimate", "interval")}
        if one["refused"]:
            record = {"raw": one["raw"], "refused": one["reason"]}
        found.setdefault(one["estimator"], {})[one["target"]] = record
    case.setdefault("estimates", {}).setdefault(setting, {})[score] = found


def with_enigma(case: dict[str, Any], folder: Path, setting: str) -> None:
    logs = kept_logs(folder, case["family"], case["draw"])
    case.setdefault("enigma", {})[setting] = enigma(logs, list(case["truth"]), SCORES, SETTINGS[setting])


def run(folder: Path, family: str, draw: int) -> None:
    """The parts of one case that are not there yet, each written when it is done, with its seconds."""
    kept = folder / f"{family}-{draw}.json"
    case: dict[str, Any] = {
        "family": family, "draw": draw, "agents": AGENTS, "dialogues": DIALOGUES, "seconds": {}
    }  # fmt: skip
    if kept.exists():
        case = json.loads(kept.read_text())
    parts: dict[tuple[str, ...], Any] = {("simulate",): simulated, ("language",): with_language}
    parts |= {("estimates", setting, score): with_estimates for setting in SETTINGS for score in SCORES}
    parts |= {("self-play",): with_self_play}
    parts |= {("enigma", setting): with_enigma for setting in SETTINGS}
    for name in [name for name in parts if ", ".join(name) not in case["seconds"]]:
        start = time.perf_counter()
        parts[name](case, folder, *name[1:])
        case["seconds"][", ".join(name)] = round(time.perf_counter() - start, 1)
        part = kept.with_suffix(".part")
        part.write_text(json.dumps(case) + "\n")
        part.rename(kept)


def add(cases: list[dict[str, Any]], files: list[str]) -> list[dict[str, Any]]:
    """The cases with those of these files, which replace those of the same family and draw."""
    found = {(one["family"], one["draw"]): one for one in cases}
    for file in files:
        one = json.loads(Path(file).read_text(), parse_float=lambda text: round(float(text), 6))
        found[one["family"], one["draw"]] = one
    order = [*FAMILIES, *sorted({family for family, _ in found} - set(FAMILIES))]
    return sorted(found.values(), key=lambda one: (order.index(one["family"]), one["draw"]))


def main() -> None:
    cases = json.loads(HERE.read_text()) if HERE.exists() else []
    command, *more = words(__doc__, ("run", "add", "show"))
    if command == "run":
        folder, family, draw = more
        Path(folder).mkdir(parents=True, exist_ok=True)
        run(Path(folder), family, int(draw))
        return
    if command == "add":
        cases = add(cases, more)
        HERE.write_text(json.dumps(cases) + "\n")
    PAGE.write_text(page_with(cases, PAGE.read_text()))


if __name__ == "__main__":
    main()
