"""Coverage of 95 % intervals of a judge that is asked n times for each reply (`judge[samples=n]`).

    OMP_NUM_THREADS=1 python -m benchmarks.judge_samples

A judge with known means: the quality of a reply is that of its dialogue plus its own; each call adds noise and is
rounded to a value from 1 to 5. The mean of a reply is what the judge gives over endless calls, that of the agent is its
mean over endless dialogues. Covered are the agent's mean, by the interval that `score` gives it, and the means of
replies, by the margin that `score` writes (`item_margin`, from the spread pooled over replies), beside Student's t of
each reply's own samples. Results are written to benchmarks/results/judge_samples.json; the exit code is 1 if a coverage
of ours is not between .93 and .97 and the line does not say why.
"""

import json
import sys
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

from turnwise.metrics.judge.judgement import spread
from turnwise.metrics.rows import quotient
from turnwise.stats.interval import interval_of_sums
from turnwise.types import Floats

RESULT = Path(__file__).parent / "results" / "judge_samples.json"
BAND = (0.93, 0.97)
TRIALS, DRAWS, SEED = 1000, 300, 0
VALUES = np.arange(1.0, 6.0)
EDGES = np.array([1.5, 2.5, 3.5, 4.5])
QUALITY, OF_DIALOGUES, OF_REPLIES = 3.3, 0.6, 0.6  # the mean, and the standard deviations
REPLIES = (1, 6)  # replies of a dialogue, from and to
NOISES = {"little": 0.4, "much": 1.0}  # standard deviation of the noise of a call


def chances(quality: Floats, noise: float) -> Floats:
    """(n, 5) the probability of each value for replies of this quality."""
    below = ndtr((EDGES - quality[:, None]) / noise)
    ends = np.ones((len(quality), 1))
    return np.diff(np.concatenate([0 * ends, below, ends], axis=1), axis=1)


def truth(noise: float) -> float:
    """The mean of the judge over endless dialogues: all noise is normal, so its variances add up."""
    total = sqrt(OF_DIALOGUES**2 + OF_REPLIES**2 + noise**2)
    return float((chances(np.array([QUALITY]), total) @ VALUES)[0])


def trial(rng: np.random.Generator, n_dialogues: int, samples: int, noise: float) -> dict[str, Any]:
    """Whether the agent's interval covers, and the shares of replies whose intervals do."""
    sizes = rng.integers(REPLIES[0], REPLIES[1] + 1, size=n_dialogues)
    codes = np.repeat(np.arange(n_dialogues), sizes)
    quality = (
        QUALITY + rng.normal(0, OF_DIALOGUES, n_dialogues)[codes] + rng.normal(0, OF_REPLIES, len(codes))
    )
    called = quality[:, None] + rng.normal(0, noise, (len(codes), samples))
    values = 1.0 + (called[..., None] > EDGES).sum(axis=-1)
    means = values.mean(axis=1)
    sums = np.zeros((n_dialogues, 2))
    np.add.at(sums, codes, np.stack([means, np.ones(len(means))], axis=1))
    found, _ = interval_of_sums(
        sums, lambda each: quotient(each[..., 0], each[..., 1]), draws=DRAWS, rng=rng, bounds=(1.0, 5.0)
    )
    true = truth(noise)
    result: dict[str, Any] = {"agent": found is not None and found[0] <= true <= found[1]}
    pooled = spread(values.tolist())
    if pooled is not None:
        own = chances(quality, noise) @ VALUES
        result["replies"] = float(np.mean(np.abs(means - own) <= pooled.margin + 1e-9))
        half = float(stdtrit(samples - 1, 0.975)) * values.std(axis=1, ddof=1) / sqrt(samples)
        result["replies, own t"] = float(np.mean(np.abs(means - own) <= half + 1e-9))
    return result


def main() -> int:
    """Run all settings, print and write them; 1 if an interval of ours misses the band."""
    lines = []
    for label, noise in NOISES.items():
        for n_dialogues in (10, 20, 50, 200):
            for samples in (1, 3, 5, 10):
                rng = np.random.default_rng([SEED, n_dialogues, samples, round(10 * noise)])
                found = [trial(rng, n_dialogues, samples, noise) for _ in range(TRIALS)]
                line: dict[str, Any] = {"noise": label, "dialogues": n_dialogues, "samples": samples}
                line |= {key: round(float(np.mean([one[key] for one in found])), 4) for key in found[0]}
                ours = [line[key] for key in ("agent", "replies") if key in line]
                line["valid"] = all(BAND[0] <= one <= BAND[1] for one in ours)
                lines.append(line)
                print(json.dumps(line), flush=True)
    command = "OMP_NUM_THREADS=1 python -m benchmarks.judge_samples"
    kept = {"command": command, "trials": TRIALS, "band": BAND, "lines": lines}
    RESULT.write_text(json.dumps(kept, indent=1) + "\n")
    return 0 if all(line["valid"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
