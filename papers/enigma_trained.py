"""`python -m papers.enigma_trained run FOLDER FAMILY DRAW [PARTS]|show`: Tables 1, 3 and 4 of ENIGMA, all baselines.

Sellers of a family of the booking world are each left out and estimated from the others on `flight`, `status` and
`reward`, with all dialogues, half, a tenth, and in the challenging setting. The family `trained` are transformers that
cloned dialogues, as in the paper. Logs are kept in FOLDER, results in papers/enigma-trained.json part by part; parts
that are there are not run again, and at most PARTS are run, or those of this name (`estimates`). `show` rewrites the
tables of papers/enigma-trained.md.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import turnwise as tw
from papers.enigma_trained_baselines import enigma, kept_logs, language, self_play
from papers.enigma_trained_tables import page_with
from turnwise.run.dialogues.trained_sellers import trained_sellers
from turnwise.types import Agent
from turnwise.worlds import booking

SCORES = ("reward", "flight", "status")
SETTINGS: dict[str, dict[str, Any]] = {
    "full": {},
    "50 %": {"fraction": 0.5},
    "10 %": {"fraction": 0.1},
    "challenging": {"challenging": 15},
}
ESTIMATORS = ("robust", "mean-relabelled", "mean", "features")
MORE = {"full": ("dice-linear",)}  # setting -> further estimators
AGENTS, DIALOGUES, TRUTH = 8, 30, 200
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
    estimators = ",".join((*ESTIMATORS, *MORE.get(setting, ())))
    for one in tw.ope(logs, all_agents=True, rating=score, estimators=estimators, **SETTINGS[setting]):
        record = {key: one[key] for key in ("raw", "estimate", "interval")}
        if one["refused"]:
            record = {"raw": one["raw"], "refused": one["reason"]}
        found.setdefault(one["estimator"], {})[one["target"]] = record
    case.setdefault("estimates", {}).setdefault(setting, {})[score] = found


def with_enigma(case: dict[str, Any], folder: Path, setting: str) -> None:
    logs = kept_logs(folder, case["family"], case["draw"])
    case.setdefault("enigma", {})[setting] = enigma(logs, list(case["truth"]), SCORES, SETTINGS[setting])


def run(cases: list[dict[str, Any]], folder: Path, family: str, draw: int, which: str = "") -> None:
    """The parts of one case that are not there yet, each written when it is done, with its seconds.

    `which` is the largest number of parts, or the first word of their names; all without it.
    """
    asked = {"family": family, "draw": draw}
    case = next((one for one in cases if asked.items() <= one.items()), None)
    if case is None:
        case = {**asked, "agents": AGENTS, "dialogues": DIALOGUES, "seconds": {}}
        cases.append(case)
    parts: dict[tuple[str, ...], Any] = {("simulate",): simulated, ("language",): with_language}
    parts |= {("estimates", "full", score): with_estimates for score in SCORES}
    parts |= {("enigma", "full"): with_enigma, ("self-play",): with_self_play}
    parts |= {("estimates", setting, score): with_estimates for score in SCORES for setting in SETTINGS}
    parts |= {("enigma", setting): with_enigma for setting in SETTINGS}
    missing = [name for name in parts if ", ".join(name) not in case["seconds"]]
    if which and not which.isdigit():
        missing = [name for name in missing if name[0] == which]
    for name in missing[: int(which) if which.isdigit() else None]:
        start = time.perf_counter()
        parts[name](case, folder, *name[1:])
        case["seconds"][", ".join(name)] = round(time.perf_counter() - start, 1)
        HERE.write_text(json.dumps(cases, indent=1) + "\n")


def main() -> None:
    cases = json.loads(HERE.read_text()) if HERE.exists() else []
    command, *more = sys.argv[1:]
    if command == "run":
        folder, family, draw, *which = more
        run(cases, Path(folder), family, int(draw), *which)
    PAGE.write_text(page_with(cases, PAGE.read_text()))


if __name__ == "__main__":
    main()
