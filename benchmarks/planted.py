"""Planted weaknesses that the attack finds, and false alarms on metrics without a weakness.

    OMP_NUM_THREADS=1 python -m benchmarks.planted [--weak-seeds 3] [--seeds 20]

Twenty metrics have a weakness that is known (tests/attacks/planted.py): ten of words and copies, ten of kinds of words,
positions and conditions of the context. Each is attacked with 20,000 calls; it counts as found if a fraud is shown
above people whose description names the weakness. Three metrics without a weakness are attacked with as many calls and
seeds. The result is kept in benchmarks/results/planted.json.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.attacks.planted import CLEAN, PLANTED, PLANTED_IN_KINDS, rich_talks, scorer, talks
from turnwise.attacks.attack import Attack, attack
from turnwise.attacks.context import split_contexts
from turnwise.attacks.target import Target

RESULT = Path(__file__).parent / "results" / "planted.json"
BUDGET, CONTEXTS = 20_000, 120


def attacked(score: Any, seed: int, make_contexts: Any) -> Attack:
    search_on, test_on = split_contexts(make_contexts(CONTEXTS, seed))
    texts = [text for one in search_on for text in (one.human, *(turn.text for turn in one.turns))]
    target = Target(scorer(score), BUDGET)
    return attack(target, search_on, test_on, texts=texts, rng=np.random.default_rng(seed), draws=200)


def is_named(found: Attack, words: str) -> bool:
    """Whether a fraud that was shown has a description that names the weakness."""
    return any(re.search(words, one.description) for one in found.strategies if one.significant)


def run(weak_seeds: int, clean_seeds: int) -> dict[str, Any]:
    weak = {}
    for name, planted in {**PLANTED, **PLANTED_IN_KINDS}.items():
        contexts = talks if name in PLANTED else rich_talks
        found = [attacked(planted.score, seed, contexts) for seed in range(weak_seeds)]
        weak[name] = {
            "found": sum(is_named(one, planted.fraud) for one in found),
            "of": weak_seeds,
            "calls": max(one.calls for one in found),
        }
        print(f"{name}: {weak[name]}", file=sys.stderr)
    clean = {}
    for name, score in CLEAN.items():
        for contexts in (talks, rich_talks):
            alarms = sum(attacked(score, seed, contexts).gameable for seed in range(clean_seeds))
            clean[f"{name}, {contexts.__name__}"] = {"alarms": alarms, "of": clean_seeds}
            print(f"{name}, {contexts.__name__}: {alarms} of {clean_seeds}", file=sys.stderr)
    return {"weak": weak, "clean": clean, "budget": BUDGET, "contexts": CONTEXTS}


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--weak-seeds", type=int, default=3)
    options.add_argument("--seeds", type=int, default=20, help="of each metric without a weakness")
    given = options.parse_args()
    found = run(given.weak_seeds, given.seeds)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    every = sum(one["found"] == one["of"] for one in found["weak"].values())
    alarms = sum(one["alarms"] for one in found["clean"].values())
    print(f"{every} of {len(found['weak'])} weaknesses found with every seed; {alarms} false alarms")
