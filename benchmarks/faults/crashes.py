"""Faults of the machine: a kill at a random moment, flipped bits in what is kept, a full disk."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.workplace import (
    COMMANDS,
    Command,
    Done,
    Workplace,
    is_clear,
    kept_files,
    killed_at,
    written,
)

SAME, CLEAR = "same bytes after resuming", "clear error, nothing lost"


@dataclass(frozen=True, slots=True)
class Cell:
    """One command under one fault."""

    command: str
    fault: str
    held: bool | None  # None: it could not be tried here
    how: str
    tries: int


@dataclass(frozen=True, slots=True)
class Whole:
    """A run without a fault."""

    done: Done
    files: dict[str, bytes]


def whole_run(workplace: Workplace, name: str, command: Command) -> Whole:
    """Run the command once without a fault; a failure of it is a defect of the benchmark."""
    place = workplace.copy(f"{name} whole")
    done = place.run(command.line())
    if done.code not in (0, 4):
        raise RuntimeError(f"{name}: {done.err}")
    return Whole(done, written(place, command))


def kills(workplace: Workplace, name: str, whole: Whole, rng: random.Random, tries: int) -> Cell:
    """Kill the command at random moments of its CPU time, run it again, and compare all bytes."""
    command, held, hit = COMMANDS[name], 0, 0
    for number in range(tries):
        place = workplace.copy(f"{name} killed {number}")
        hit += killed_at(place.start(command.line()), rng.uniform(0.3, 1.0) * whole.done.cpu)
        again = place.run(command.line())
        held += again.code == whole.done.code and written(place, command) == whole.files
        shutil.rmtree(place.folder)
    return Cell(
        name, "kill -9", held == tries and hit > 0, f"{SAME} ({hit} of {tries} killed in time)", tries
    )


def kept_flips(workplace: Workplace, name: str, whole: Whole, rng: random.Random, tries: int) -> Cell:
    """Kill the command late, flip one bit in what it has kept, and run it again.

    The layout of rows.bin may differ after that, as a damaged block stays in it and is written again.
    """
    command, same, clear, flipped = COMMANDS[name], 0, 0, 0
    for number in range(tries):
        place = workplace.copy(f"{name} flipped {number}")
        killed_at(place.start(command.line()), rng.uniform(0.75, 0.95) * whole.done.cpu)
        files = kept_files(place, command)
        if files:
            flipped += 1
            flip(rng.choice(files), rng)
        again = place.run(command.line())
        equal = _without_rows(written(place, command)) == _without_rows(whole.files)
        same += again.code == whole.done.code and equal
        clear += again.code not in (0, 4) and is_clear(again)
        shutil.rmtree(place.folder)
    how = SAME if same == tries else f"{SAME}: {same}, {CLEAR}: {clear}"
    how += f" ({flipped} of {tries} had something kept)"
    return Cell(name, "flipped bit in what is kept", same + clear == tries and flipped > 0, how, tries)


def _without_rows(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if not name.endswith("rows.bin")}


def flip(path: Path, rng: random.Random) -> None:
    """Flip one bit of a file."""
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def finished_flips(
    workplace: Workplace, name: str, whole: Whole, rng: random.Random, tries: int
) -> Cell | None:
    """Flip one bit in the rows of a finished run, and run the same command again; None for a command without rows."""
    command = COMMANDS[name]
    if f"{command.output}/rows.bin" not in whole.files:
        return None
    place, held = workplace.copy(f"{name} rows"), 0
    place.run(command.line())
    rows = place.folder / command.output / "rows.bin"
    content = rows.read_bytes()
    for _ in range(tries):
        rows.write_bytes(content)
        flip(rows, rng)
        again = place.run(command.line())
        held += again.code == whole.done.code and _without_rows(written(place, command)) == _without_rows(
            whole.files
        )
    return Cell(name, "flipped bit in finished rows", held == tries, SAME, tries)


def cache_flips(workplace: Workplace, rng: random.Random, tries: int) -> Cell:
    """Flip bits in the cache of vectors, and score again with it."""
    place = workplace.copy("cache")
    words = "score logs.jsonl -m fbd[model=bert],relatedness[model=bert] --draws 100 -q --limit 30".split()
    first = place.run([*words, "-o", "first"])
    (cache,) = (place.folder / "cache").glob("*.sqlite")
    content, held = cache.read_bytes(), 0
    for number in range(tries):
        for left in cache.parent.iterdir():
            left.unlink()
        cache.write_bytes(content)
        for _ in range(20):
            flip(cache, rng)
        again = place.run([*words, "-o", f"again {number}"])
        files = [(place.folder / out / "items.jsonl").read_bytes() for out in ("first", f"again {number}")]
        held += again.code == first.code == 0 and files[0] == files[1]
    return Cell("score", "20 flipped bits in the vector cache", held == tries, "same bytes", tries)


def full_disks(workplace: Workplace, name: str, whole: Whole) -> Iterator[Cell]:
    """Run the command on small disks, make these larger, and run it again."""
    command, tries, held, errors = COMMANDS[name], 0, 0, 0
    size = sum(map(len, whole.files.values()))
    for share in (0.1, 0.4, 0.8):
        place = workplace.folder.parent / f"{name} disk {share}"
        place.mkdir()
        pages = max(4, int(share * size / 4096))
        if not _mounted(place, pages):
            yield Cell(name, "disk full", None, "not tried: this user may not mount a file system", 0)
            return
        try:
            here = Workplace(place, workplace.environment)
            for file in workplace.folder.iterdir():
                (place / file.name).symlink_to(file)
            cache = {"TURNWISE_CACHE": str(workplace.folder.parent / "cache of disks")}
            first = here.run(command.line(), **cache)
            tries += 1
            errors += first.code == 2 and is_clear(first) and "No space left" in first.err
            fits = first.code == whole.done.code
            subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
            again = here.run(command.line(), **cache)
            same = again.code == whole.done.code and written(here, command) == whole.files
            held += same and (fits or (first.code == 2 and is_clear(first)))
        finally:
            subprocess.run(["umount", str(place)], check=True)
    yield Cell(
        name,
        "disk full",
        held == tries and errors > 0,
        f"clear error ({errors} of {tries}), then {SAME}",
        tries,
    )


def _mounted(place: Path, pages: int) -> bool:
    """Mount a file system in memory of so many pages of 4 kB; False where this user may not."""
    words = ["mount", "-t", "tmpfs", "-o", f"size={pages * 4}k", "tmpfs", str(place)]
    return os.geteuid() == 0 and not subprocess.run(words, capture_output=True, check=False).returncode
