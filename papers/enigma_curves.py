"""ENIGMA's learning curves (figures 2, 3 and 12): objective, estimate and mean zeta against the iteration.

    python papers/enigma_curves.py LOGS -e enigma -e 'enigma[normalised=false]' -t noise-040 -o CURVES.json

LOGS is a file that `turnwise simulate booking` wrote; the truth in LOGS.truth.json is printed beside every estimate.
Estimators have the names and settings of `turnwise ope`. Texts are not delexicalised, as in the paper.
"""

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import numpy as np

from turnwise import estimators
from turnwise.encode.episodes import encode, leave_out, whole
from turnwise.logs.native import read_all
from turnwise.types import Episodes


def episodes(logs: str, rating: str) -> Episodes:
    dialogues = list(read_all([logs]))
    rewards = {one.id: r.value for one in dialogues for r in one.ratings if r.dimension == rating}
    return encode(whole(dialogues, rewards), rating=rating, delexicalised=False)


def truth(logs: str, rating: str) -> dict[str, float]:
    """The true mean of each agent; empty if there is no file of truths beside the logs."""
    path = Path(logs.removesuffix(".gz").removesuffix(".jsonl") + ".truth.json")
    if not path.is_file():
        return {}
    return {agent: found[rating]["mean"] for agent, found in json.loads(path.read_text())["agents"].items()}


def device() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or "CPU"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs")
    parser.add_argument("-e", "--estimator", action="append", required=True)
    parser.add_argument("-t", "--target", action="append", help="default: every agent")
    parser.add_argument("-r", "--rating", default="reward")
    parser.add_argument("-m", "--model", help="name or folder of the encoder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    logged, known = episodes(options.logs, options.rating), truth(options.logs, options.rating)
    found = []
    for name in options.estimator:
        estimator = estimators.resolve(name, model=options.model)
        for target in options.target or logged.agents:
            start = time.perf_counter()
            rng = np.random.default_rng(options.seed)
            estimate = estimator.estimate(leave_out(logged, {target}), target, rng=rng)
            seconds = time.perf_counter() - start
            print(
                f"{name} {target}: {estimate.value:.3f}, truth {known.get(target)}, {seconds:.0f} s",
                flush=True,
            )
            found.append(
                {
                    "estimator": name,
                    "target": target,
                    "truth": known.get(target),
                    "estimate": round(estimate.value, 4),
                    "seconds": round(seconds, 1),
                    "diagnostics": {key: round(value, 4) for key, value in estimate.diagnostics.items()},
                    "curves": {key: np.round(curve, 4).tolist() for key, curve in estimate.curves.items()},
                }
            )
            made = {"command": " ".join(sys.argv), "device": device(), "runs": found}
            options.output.write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
