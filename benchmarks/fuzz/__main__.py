"""`python -m benchmarks.fuzz --inputs N`: run random inputs, print counts by kind, and keep the failing ones.

An input is a folder of small files and what is run on it, all in one process: one of `lines` is a native file of one to
three dialogues with one to three damaged places, through `validate`; one of `foreign` is a file of another format with
odd texts, of which most are damaged, through `convert`; one of `commands` is one to three odd files and one to four
random valid command lines over them. Each failing input is kept in its own folder below --keep with its files, its
command line and the traceback. Equal failures are counted, and kept up to three times. `--only KIND:NUMBER` runs one
input again. `--results FILE` keeps the counts, and a later call goes on where the file ends; `--again` runs its failing
inputs once more, after what they found was mended.
"""

import argparse
import contextlib
import faulthandler
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fuzz.command_lines import FUNCTIONS
from benchmarks.fuzz.inputs import KINDS, steps
from benchmarks.fuzz.tally import Count, Tally
from benchmarks.fuzz.watched import Seen, watched
from turnwise.run.workers.threads import limited_threads

KEPT = 3  # times that an equal failure is kept
STUCK = 180  # seconds after which a process that does not see signals is ended


def _memory() -> str | None:
    """A file system in memory where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextlib.contextmanager
def scene_folder() -> Iterator[Path]:
    """An empty folder as the working folder, on a file system in memory where there is one."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder, contextlib.chdir(folder):
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
    parser.add_argument(
        "--inputs", type=int, default=1000, help="inputs of each kind, those in --results included"
    )
    parser.add_argument("--minutes", type=float, help="stop after this time even if inputs are left")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--neural", action="store_true", help="also metrics and estimators that need torch")
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"), help="folder of failing inputs")
    parser.add_argument("--results", type=Path, help="file of counts, which a later call continues")
    parser.add_argument("--again", action="store_true", help="run the failing inputs of --results again")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="run this input alone and show it")
    given = parser.parse_args()
    sys.path.insert(0, tempfile.mkdtemp(prefix="fuzz-"))
    (Path(sys.path[0]) / "fuzz_functions.py").write_text(FUNCTIONS)
    os.environ |= {"HF_HUB_OFFLINE": "1", "TURNWISE_CACHE_LIMIT": str(2**26)}
    if given.neural:
        import torch  # noqa: F401  # here, so that no command is charged for it
    with own_cache():
        if given.only:
            kind, _, number = given.only.partition(":")
            return int(not alone(kind, int(number), given))
        tally = Tally.read(given.results, seed=given.seed, first=given.first)
        if given.again:
            for kind, number in tally.failing():
                if alone(kind, number, given):
                    tally.kinds[kind].mended.append(number)
        else:
            with limited_threads():  # here, as looking for the libraries takes a fifth of a short command
                campaign(given, tally)
        tally.write(given.results)
    print(tally)
    return int(any(len(count.failing) > len(count.mended) for count in tally.kinds.values()))


@contextlib.contextmanager
def own_cache() -> Iterator[None]:
    """An empty cache beside the user's models, so that the user's own cache is not emptied down to the limit."""
    models = Path(os.environ.get("TURNWISE_CACHE", Path.home() / ".cache" / "turnwise")) / "models"
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        if models.is_dir():
            (Path(folder) / "models").symlink_to(models.absolute())
        os.environ["TURNWISE_CACHE"] = folder
        yield


def alone(kind: str, number: int, given: argparse.Namespace) -> bool:
    """Run one input and show it; returns whether nothing is wrong."""
    with scene_folder():
        done = one_input(kind, given.seed, number, neural=given.neural, show=not given.again)
        keep(given.keep.absolute() / "only", kind, number, done)
    return not any(seen.problem for _, seen in done)


def campaign(given: argparse.Namespace, tally: "Tally") -> None:
    """Run the inputs that the tally does not have yet."""
    place, start = given.keep.absolute(), time.monotonic()
    ends = (start + 60 * given.minutes) if given.minutes is not None else float("inf")
    written = start
    for kind in given.kinds:
        count = tally.kinds.setdefault(kind, Count(next=given.first))
        while count.next < given.first + given.inputs and time.monotonic() < ends:
            number = count.next
            # A loop in C does not see the signal that ends a hang: this shows its place and ends the process.
            faulthandler.dump_traceback_later(STUCK, exit=True)
            with scene_folder():
                done = one_input(kind, given.seed, number, neural=given.neural)
                name = count.add(number, done, tally.revision)
                if name and count.failures[name] <= KEPT:
                    keep(place, kind, number, done)
                    print(f"{kind}:{number} {name}", flush=True)
            if time.monotonic() - written > 20:
                tally.write(given.results)
                written = time.monotonic()
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    sys.exit(main())
