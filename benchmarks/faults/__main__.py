"""`python -m benchmarks.faults`: try every command under every fault, print the table and write results/faults.json.

`--kills N` is the number of random moments at which each command is killed, and of flipped bits. `--only NAMES` tries
some commands or groups of faults alone; in the results they replace what was kept of them.
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


def cells(folder: Path, only: list[str], seed: int, tries: int) -> Iterator[tuple[str, Cell]]:
    """All cells with their groups, or those of the named commands and groups."""
    groups = [name for name in GROUPS if name in only] or list(GROUPS)
    names = [name for name in COMMANDS if name in only] or list(COMMANDS)
    if "crashes" in groups:
        for cell in crash_cells(folder, names, seed, tries):
            yield "crashes", cell
    if "order" in groups:
        for cell in order_cells(folder / "order"):
            yield "order", cell
    if "judge" in groups:
        (folder / "judge").mkdir()
        for cell in judges.cells(folder / "judge"):
            yield "judge", cell


def crash_cells(folder: Path, names: list[str], seed: int, tries: int) -> Iterator[Cell]:
    """The cells of crashes, flipped bits and full disks."""
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], choices=[[], *GROUPS, *COMMANDS])
    given = parser.parse_args()
    found: dict[str, list[Cell]] = {group: [] for group in GROUPS}
    with tempfile.TemporaryDirectory() as folder:
        for group, cell in cells(Path(folder), given.only, given.seed, given.kills):
            found[group].append(cell)
            sign = {True: "held", False: "FAILED", None: "not tried"}[cell.held]
            print(f"{cell.command:13} {cell.fault:38} {sign:9} {cell.how}", flush=True)
    tried = [cell for several in found.values() for cell in several]
    failed = [cell for cell in tried if cell.held is False]
    print(f"{sum(cell.held is True for cell in tried)} of {len(tried)} cells held, {len(failed)} failed")
    kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for group in [name for name in GROUPS if found[name]]:
        command = f"python -m benchmarks.faults --only {group} --kills {given.kills} --seed {given.seed}"
        again = {cell.command for cell in found[group]}
        others = [cell for cell in kept.get(group, {}).get("cells", ()) if cell["command"] not in again]
        kept[group] = {"command": command, "cells": [*others, *(asdict(cell) for cell in found[group])]}
    RESULT.write_text(json.dumps(kept, indent=1) + "\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
