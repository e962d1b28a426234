"""`python -m benchmarks.faults`: try every command under every fault, print the table and write results/faults.json.

`--kills N` is the number of random moments at which each command is killed, and of flipped bits. `--only NAMES` tries
some commands or faults alone, and writes nothing.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks.faults import crashes, judges
from benchmarks.faults.crashes import Cell
from benchmarks.faults.order import order_cells
from benchmarks.faults.workplace import COMMANDS, Workplace
from tests.tiny_models import write_bert

RESULT = Path(__file__).parents[1] / "results" / "faults.json"
GROUPS = ("crashes", "judge", "order")


def cells(folder: Path, only: list[str], seed: int, tries: int) -> Iterator[Cell]:
    """All cells, or those of the named commands and groups."""
    groups = [name for name in GROUPS if name in only] or list(GROUPS)
    names = [name for name in COMMANDS if name in only] or list(COMMANDS)
    if "crashes" in groups:
        workplace = Workplace.make(folder / "data")
        for name in names:
            rng = random.Random(f"{seed} {name}")
            whole = crashes.whole_run(workplace, name, COMMANDS[name])
            yield crashes.kills(workplace, name, whole, rng, tries)
            yield crashes.kept_flips(workplace, name, whole, rng, tries)
            if (found := crashes.finished_flips(workplace, name, whole, rng, tries)) is not None:
                yield found
            yield from crashes.full_disks(workplace, name, whole)
        if "score" in names:
            write_bert(folder / "data" / "bert")
            yield crashes.cache_flips(workplace, random.Random(seed), tries)
    if "order" in groups:
        yield from order_cells(folder / "order")
    if "judge" in groups:
        (folder / "judge").mkdir()
        yield from judges.cells(folder / "judge")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], choices=[[], *GROUPS, *COMMANDS])
    given = parser.parse_args()
    found: list[Cell] = []
    with tempfile.TemporaryDirectory() as folder:
        for cell in cells(Path(folder), given.only, given.seed, given.kills):
            found.append(cell)
            sign = {True: "held", False: "FAILED", None: "not tried"}[cell.held]
            print(f"{cell.command:13} {cell.fault:38} {sign:9} {cell.how}", flush=True)
    failed = [cell for cell in found if cell.held is False]
    print(f"{sum(cell.held is True for cell in found)} of {len(found)} cells held, {len(failed)} failed")
    if not given.only:
        about = {"command": f"python -m benchmarks.faults --kills {given.kills} --seed {given.seed}"}
        RESULT.write_text(json.dumps({**about, "cells": [asdict(cell) for cell in found]}, indent=1) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
