"""How often a critic's intervals hold the return of a system that was left out: calibrated, raw, and with one logger.

    python papers/offline_critic_coverage.py [--worlds 3] [--reward success]

Each world has ten graded systems of `turnwise simulate task`. A system's return is the mean discounted return of its
own dialogues, which the estimates do not see. `calibrated` and `raw` are `turnwise ope --all` with and without
calibration, on 40 dialogues of each system; with `one logger` the critic sees the 160 dialogues of one system, each in
turn, and values the nine others. The figures are written to papers/offline-critic.json.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from offline_critic import write

import turnwise as tw
from turnwise.records import EstimateRecord

AGENTS, DIALOGUES, ALONE = 10, 40, 160  # systems of a world; dialogues of each; dialogues of the only logger


class Guess(NamedTuple):
    """One estimate with its interval, and the known return."""

    estimate: float | None
    low: float
    high: float
    known: float
    impossible: bool = False


def logs(folder: Path, dialogues: int, seed: int) -> str:
    """Simulate a world; returns the path of its logs."""
    target = str(folder / f"{dialogues}-{seed}.jsonl")
    tw.simulate(
        "task", output=target, agents=AGENTS, dialogues=dialogues, samples=1, truth=0, delexicalised=True, seed=seed
    )  # fmt: skip
    return target


def left_out(path: str, critic: str, *, calibrate: bool) -> list[Guess]:
    """The estimates of all systems of a world, each without its own dialogues."""
    found = tw.ope(
        path, all_agents=True, estimators=critic, db="town", calibrate=calibrate, progress=False
    ).document
    known = {record.target: record.logged for record in found.results} if calibrate else None
    systems = [record for record in found.results if record.kind in (None, "system")]
    returns = known or _returns(path, critic)
    return [_guess(record, returns[record.target]) for record in systems]


def _returns(path: str, critic: str) -> dict[str, float]:
    """System -> mean discounted return of its own dialogues."""
    found = tw.ope(path, targets="grade-00", estimators=critic, db="town", progress=False).document
    return dict(found.known[0].means)


def alone(path: str, critic: str) -> list[Guess]:
    """The raw values of all systems from the dialogues of one of them, each of these in turn."""
    returns, guesses = _returns(path, critic), []
    for logger in returns:
        others = [name for name in returns if name != logger]
        found = tw.ope(
            path, where={"agent": logger}, targets=others, estimators=critic, db="town", calibrate=False,
            progress=False,
        ).document  # fmt: skip
        possible = next(iter(found.critics.values())).possible
        for record in found.results:
            if record.kind == "system":
                guesses.append(_guess(record, returns[record.target], possible))
    return guesses


def _guess(record: EstimateRecord, known: float, possible: float = np.inf) -> Guess:
    low, high = record.bounds or (np.nan, np.nan)
    above = record.estimate is not None and record.estimate > possible
    return Guess(record.estimate, low, high, known, above)


def summary(guesses: Sequence[Guess]) -> dict[str, float]:
    """Coverage, errors and half width over the estimates that were given, with the number of those refused."""
    given = [one for one in guesses if one.estimate is not None]
    errors = np.array([one.estimate - one.known for one in given])
    return {
        "estimates": len(given),
        "refused": len(guesses) - len(given),
        "coverage": float(np.mean([one.low <= one.known <= one.high for one in given])),
        "half_width": float(np.mean([(one.high - one.low) / 2 for one in given])),
        "mean_error": float(np.abs(errors).mean()),
        "greatest_error": float(np.abs(errors).max()),
        "bias": float(errors.mean()),
        "above_possible": float(np.mean([one.impossible for one in given])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=3, help="worlds for the first two; the last has one")
    parser.add_argument("--reward", default="success", choices=("success", "progress"))
    given = parser.parse_args()
    critic = f"critic[reward={given.reward}]"
    with tempfile.TemporaryDirectory() as folder:
        worlds = [logs(Path(folder), DIALOGUES, seed) for seed in range(given.worlds)]
        guesses = {
            name: [one for path in worlds for one in left_out(path, critic, calibrate=name == "calibrated")]
            for name in ("calibrated", "raw")
        }
        guesses["one logger"] = alone(logs(Path(folder), ALONE, 0), critic)
    found = {name: summary(of) for name, of in guesses.items()}
    write({f"coverage {given.reward}": found})
    for name, numbers in found.items():
        print(name, *(f"{key} {value:.3g}" for key, value in numbers.items()), sep=", ")


if __name__ == "__main__":
    main()
