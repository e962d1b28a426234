"""`python -m benchmarks.fuzz --inputs N`: run random inputs, print counts by kind, and keep the failing ones.

Three kinds: `commands` are random valid command lines over small odd files; `lines` are native files with damaged
bytes, through `validate`; `foreign` are damaged files of other formats, through `convert`. Each failing input is kept
in its own folder below --keep with its files, its command line and the traceback. Equal failures are counted, and kept
up to three times. `--only KIND:NUMBER` runs one input again.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fuzz.command_lines import FUNCTIONS
from benchmarks.fuzz.inputs import KINDS, steps
from benchmarks.fuzz.watched import Seen, watched

KEPT = 3  # times that an equal failure is kept
_FRAME = re.compile(r'File "[^"]*/(turnwise/[^"]+)", line (\d+)')


def signature(problem: str) -> str:
    """A short name of a failure, equal for equal places in the code."""
    frames = _FRAME.findall(problem)
    last = problem.strip().splitlines()[-1] if problem.strip() else ""
    kind = last.split(":")[0] if frames else last[:90]
    return f"{kind} at {frames[-1][0]}:{frames[-1][1]}" if frames else kind


@contextlib.contextmanager
def scene_folder() -> Iterator[Path]:
    """An empty folder as the working folder, on a file system in memory where there is one."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder, contextlib.chdir(folder):
        yield Path(folder)


def one_input(
    kind: str, seed: int, number: int, *, neural: bool, show: bool = False
) -> list[tuple[list[str], Seen]]:
    """Run the command lines of one input; each with what was seen."""
    rng = random.Random(f"{seed} {kind} {number}")
    found = []
    for words in steps(kind, Path(), rng, neural=neural):
        seen = watched(words)
        found.append((words, seen))
        if show:
            print(
                f"$ turnwise {' '.join(map(repr, words))}\n{seen.out}{seen.err}[{seen.code}] {seen.problem}"
            )
        if seen.problem:
            break
    return found


def keep(folder: Path, kind: str, number: int, done: list[tuple[list[str], Seen]]) -> None:
    """Copy the working folder with the command lines and the failure."""
    place = folder / f"{kind}-{number}"
    shutil.copytree(Path(), place, dirs_exist_ok=True, symlinks=True)
    said = "".join(f"$ turnwise {json.dumps(words)}\n{seen.err}[{seen.code}]\n" for words, seen in done)
    (place / "failure.txt").write_text(
        said + done[-1][1].problem, encoding="utf-8", errors="backslashreplace"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000, help="inputs of each kind")
    parser.add_argument("--minutes", type=float, help="stop after this time even if inputs are left")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--neural", action="store_true", help="also metrics and estimators that need torch")
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"), help="folder of failing inputs")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="run this input alone and show it")
    given = parser.parse_args()
    sys.path.insert(0, tempfile.mkdtemp(prefix="fuzz-"))
    (Path(sys.path[0]) / "fuzz_functions.py").write_text(FUNCTIONS)
    os.environ |= {"HF_HUB_OFFLINE": "1", "TURNWISE_CACHE_LIMIT": str(2**26)}
    if given.neural:
        import torch  # noqa: F401  # here, so that no command is charged for it
    if given.only:
        kind, _, number = given.only.partition(":")
        with scene_folder():
            done = one_input(kind, given.seed, int(number), neural=given.neural, show=True)
            keep(given.keep.absolute() / "only", kind, int(number), done)
        return int(any(seen.problem for _, seen in done))
    return campaign(given)


def campaign(given: argparse.Namespace) -> int:
    """Run all inputs and print the counts; returns 1 if an input failed."""
    place, start = given.keep.absolute(), time.monotonic()
    counts: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    slowest, largest = 0.0, 0
    for number in range(given.first, given.first + given.inputs):
        for kind in given.kinds:
            with scene_folder():
                done = one_input(kind, given.seed, number, neural=given.neural)
                counts[kind] += 1
                for words, seen in done:
                    codes[f"{words[0]} {seen.code}"] += 1
                    slowest, largest = max(slowest, seen.seconds), max(largest, seen.memory)
                if done and done[-1][1].problem:
                    name = signature(done[-1][1].problem)
                    failures[name] += 1
                    if failures[name] <= KEPT:
                        keep(place, kind, number, done)
                        print(f"{kind}:{number} {name}", flush=True)
        if given.minutes is not None and time.monotonic() - start > 60 * given.minutes:
            break
    total = sum(counts.values())
    print(
        f"{total} inputs ({', '.join(f'{count} {kind}' for kind, count in counts.items())}), seed {given.seed}"
    )
    print(f"slowest command {slowest:.1f} s of processor time, most memory added {largest / 2**20:.0f} MB")
    print("; ".join(f"{name}: {count}" for name, count in sorted(codes.items())))
    print(f"{sum(failures.values())} failures in {len(failures)} places")
    for name, count in failures.most_common():
        print(f"  {count} {name}")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
