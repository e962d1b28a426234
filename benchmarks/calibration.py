"""Coverage of our 95 % intervals, and rejection rates of our tests at 5 % under true null hypotheses.

`OMP_NUM_THREADS=1 python -m benchmarks.calibration` simulates clustered dialogues with known truth and writes
benchmarks/results/calibration.json. `--only WORDS` repeats only the checks with these words in their name and keeps the
other lines. An interval is valid in a setting if it covers 93-97 %, a test if it rejects 4-6 %. If a method is known to
fail in a setting, the line gives the reason; the method should not be used there. The exit code is 1 if a check fails
that is not known to fail.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import sqrt
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import simulated as sim

RESULT = Path(__file__).parent / "results" / "calibration.json"
# Statistics of `meta`. tau-c is left out: it has the numerator, the resamples and the tests of kendall.
CHECKED = ("pearson", "spearman", "kendall", "pairwise")
BANDS = {"coverage": (0.93, 0.97), "rejection": (0.04, 0.06)}

COARSE = "conservative: so few systems have few attainable values, hence few attainable p"
SKEWED = "a mean of few skewed clusters is skewed itself"
UNROOTED = "too wide: a share of different words settles faster than the square root of the corpus"
UNLIKE = "conservative: scores of so different shapes are not exchangeable"
NOISY = "noise in the systems' means draws the estimate to 0: ask for more contexts"


@dataclass(frozen=True)
class Check:
    what: str
    setting: str
    kind: str  # coverage or rejection
    trial: Callable[[np.random.Generator], bool]  # whether the interval covered, or the test rejected
    fails: str = ""  # the reason, if the method is known to be invalid in this setting

    @property
    def key(self) -> str:
        return f"{self.what}; {self.setting}"


def intervals() -> Iterator[Check]:
    for n in (20, 50, 200):
        for method in ("BCa", "percentile", "plain percentile", "t", "percentile of turns"):
            for skewed in (False, True):
                fails = "turns of a dialogue are not independent" if method == "percentile of turns" else ""
                if method == "plain percentile" and n == 20:
                    fails = "too narrow for few clusters, which is why ours is widened"
                trial = partial(sim.mean_trial, method=method, n_clusters=n, skewed=skewed)
                setting = f"{n} clusters, {'skewed' if skewed else 'normal'}"
                yield Check(f"{method}, mean of turns", setting, "coverage", trial, fails)
        for name in CHECKED:
            trial = partial(sim.correlation_trial, statistic=name, n_clusters=n)
            yield Check(f"BCa, {name} over turns", f"{n} clusters, ratings 1-5", "coverage", trial)
    for n in (2, 5, 10):
        for method in ("jackknife t", "BCa"):
            for skewed in (False, True):
                fails = "few clusters: ours is the jackknife's t" if method == "BCa" else SKEWED
                trial = partial(sim.mean_trial, method=method, n_clusters=n, skewed=skewed)
                setting = f"{n} clusters, {'skewed' if skewed else 'normal'}"
                yield Check(f"{method}, mean of turns", setting, "coverage", trial, fails)
    for n in (50, 200):
        for flip in (False, True):
            trial = partial(sim.share_trial, n_clusters=n, most=0.1, flip=flip)
            setting = f"{n} clusters, true share {'90-100' if flip else '0-10'} %"
            yield Check("BCa or Wilson, share at the edge", setting, "coverage", trial)
        for name in sim.SAMPLED:
            trial = partial(sim.subsample_trial, name=name, n_clusters=n)
            fails = UNROOTED if name.startswith("distinct") else ""
            yield Check(f"subsampling, {name}", f"{n} clusters", "coverage", trial, fails)
        trial = partial(sim.unpaired_trial, n_clusters=n, other=30, kind="coverage")
        yield Check("t, difference of unpaired systems", f"{n} and 30 clusters", "coverage", trial)
    for name in CHECKED:
        for spread, fails in ((10, ""), (4, NOISY), (2, NOISY)):
            trial = partial(sim.systems_trial, statistic=name, n_clusters=100, spread=spread)
            setting = f"{sim.SYSTEMS} systems, 100 contexts, true means spread {spread} standard errors"
            yield Check(f"BCa, {name} across systems", setting, "coverage", trial, fails)


def tests() -> Iterator[Check]:
    for n in (8, 50, 200):
        for skewed in (False, True):
            trial = partial(sim.paired_trial, n_clusters=n, skewed=skewed)
            setting = f"{n} clusters, {'skewed' if skewed else 'normal'}"
            yield Check("paired permutation", setting, "rejection", trial)
    trial = partial(sim.paired_rows_trial, n_clusters=50)
    yield Check("paired permutation of rows", "50 clusters, distinct-1", "rejection", trial)
    trial = partial(sim.unpaired_trial, n_clusters=50, other=30, kind="rejection")
    yield Check("unpaired permutation", "50 and 30 clusters", "rejection", trial)
    for n, clustered in ((12, False), (50, False), (50, True)):
        trial = partial(sim.williams_trial, n_clusters=n, clustered=clustered)
        setting = f"{n} clusters of turns" if clustered else f"{n} independent items"
        fails = "turns of a dialogue are not independent: use PERM-BOTH" if clustered else ""
        yield Check("Williams", setting, "rejection", trial, fails)
    for name in CHECKED:
        for n in (20, 50):
            trial = partial(sim.perm_both_trial, statistic=name, n_clusters=n)
            yield Check(f"PERM-BOTH, {name} over turns", f"{n} clusters", "rejection", trial)
        if (
            name != "pearson"
        ):  # for Pearson, an increasing transformation of one metric would make the null false
            trial = partial(sim.perm_both_trial, statistic=name, n_clusters=50, skewed=True)
            setting = "50 clusters, one metric log-normal"
            fails = UNLIKE if name == "pairwise" else ""
            yield Check(f"PERM-BOTH, {name} over turns", setting, "rejection", trial, fails)
        for n in (12, 30):
            trial = partial(sim.perm_both_systems_trial, statistic=name, n_systems=n)
            fails = "liberal: 12 systems are few to standardise on" if n == 12 else ""
            yield Check(f"PERM-BOTH, {name} across systems", f"{n} systems", "rejection", trial, fails)
        for n in (20, 50, 200):
            trial = partial(sim.no_correlation_trial, statistic=name, n_clusters=n)
            yield Check(f"correlation test, {name} over turns", f"{n} clusters", "rejection", trial)
        trial = partial(sim.no_correlation_trial, statistic=name, n_clusters=50, tailed=True)
        setting = "50 clusters, heavy-tailed metric"
        yield Check(f"correlation test, {name} over turns", setting, "rejection", trial)
        for n in (6, 12):
            trial = partial(sim.no_order_trial, statistic=name, n_systems=n)
            fails = COARSE if n == 6 and name != "pearson" else ""
            yield Check(f"exact test, {name} across systems", f"{n} systems", "rejection", trial, fails)


def checks() -> list[Check]:
    return [*intervals(), *tests()]


def rate(check: Check, simulations: int) -> float:
    """The share of trials that covered or rejected."""
    rng = np.random.default_rng(sim.SEED)
    return float(sum(check.trial(rng) for _ in range(simulations)) / simulations)


def line(check: Check, found: float, simulations: int) -> dict[str, Any]:
    """A line of the results."""
    low, high = BANDS[check.kind]
    return {
        "what": check.what,
        "setting": check.setting,
        check.kind: found,
        "standard_error": round(sqrt(found * (1 - found) / simulations), 4),
        "valid": bool(low <= found <= high),
        "why_not": "" if low <= found <= high else check.fails,
    }


def _measured(job: tuple[Check, int]) -> float:
    check, simulations = job
    found = rate(check, simulations)
    print(f"{found:.4f}  {check.key}", file=sys.stderr, flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--simulations", type=int, default=5000)
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    kept: dict[str, float] = {}
    if asked.only and RESULT.exists():
        old = json.loads(RESULT.read_text())
        if old["simulations"] != asked.simulations:
            parser.error(f"the kept lines have {old['simulations']} simulations")
        kept = {
            f"{row['what']}; {row['setting']}": row.get("coverage", row.get("rejection"))
            for row in old["lines"]
        }
    chosen = [check for check in checks() if asked.only in check.key]
    with Pool(asked.jobs) as pool:
        found = pool.map(_measured, [(check, asked.simulations) for check in chosen], chunksize=1)
    kept |= {check.key: value for check, value in zip(chosen, found, strict=True)}
    lines = [line(check, kept[check.key], asked.simulations) for check in checks() if check.key in kept]
    head = {
        "command": f"OMP_NUM_THREADS=1 python -m benchmarks.calibration --simulations {asked.simulations}",
        "simulations": asked.simulations,
        "seed": sim.SEED,
        "draws": sim.DRAWS,
        "bands": BANDS,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({**head, "lines": lines}, indent=1) + "\n")
    surprises = [row for row in lines if not row["valid"] and not row["why_not"]]
    for row in surprises:
        print(f"outside its band: {row}", file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
