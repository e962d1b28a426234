"""The three kinds of inputs: each is a working folder with files and the command lines to run in it."""

import random
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.fuzz.command_lines import Scene, command_line
from benchmarks.fuzz.odd_files import ODD_TEXTS, Maker, damaged, spoil, write
from tests.log_sources import SOURCES, Said

KINDS = ("commands", "lines", "foreign")


def steps(kind: str, folder: Path, rng: random.Random, *, neural: bool = False) -> Iterator[list[str]]:
    """Write the files of an input into the folder and yield its command lines, one after the other was run."""
    if kind == "commands":
        scene = Scene.make(folder, rng, neural=neural)
        for _ in range(rng.choice((1, 2, 2, 3))):
            yield command_line(scene)
        if scene.finished and rng.random() < 0.6:
            yield ["report", *scene.finished, "-o", rng.choice(("r.html", "r.md", "r.json"))]
    elif kind == "lines":
        yield _damaged_lines(folder, rng)
    else:
        yield _damaged_foreign(folder, rng)


def _damaged_lines(folder: Path, rng: random.Random) -> list[str]:
    """A native file with damaged bytes, and the command that checks it."""
    maker = Maker(rng)
    path = folder / "a.jsonl"
    write(path, maker.records(rng.choice((1, 1, 2, 3))), rng)
    path.write_bytes(damaged(path.read_bytes(), rng))
    return ["validate", path.name, *rng.choice(([], [], ["--format", "json"]))]


@cache
def _sources() -> Mapping[str, Any]:
    """The forms of foreign files."""
    return SOURCES


def _damaged_foreign(folder: Path, rng: random.Random) -> list[str]:
    """A file of another format with odd texts and damage, and the command that converts it."""
    source = _sources()[rng.choice(list(_sources()))]
    roles = ["user", "assistant"] * rng.choice((1, 1, 2, 3))
    said: Said = [(role, rng.choice(ODD_TEXTS) if rng.random() < 0.3 else "some words") for role in roles]  # type: ignore[misc]
    value = source.build(said[: source.turns])
    if rng.random() < 0.6 and isinstance(value, dict | list) and value:
        spoil(value, rng)  # type: ignore[arg-type]
    try:
        path, options = source.write(value, folder)
    except UnicodeEncodeError:  # half a character, which not every form can hold
        path, options = source.write(source.build(said[: source.turns]), folder)
    if path.is_file() and rng.random() < 0.4:
        path.write_bytes(damaged(path.read_bytes(), rng))
    words = ["convert", str(path), *options.more, "out.jsonl"]
    if rng.random() < 0.7 or options.more:
        words += ["--from", source.reader]
    if options.columns:
        words += ["--map", ",".join(f"{meaning}={column}" for meaning, column in options.columns.items())]
    return words
