"""The dialogues that a finished run is about: its input files, if they are still there and unchanged."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from turnwise.errors import DataError
from turnwise.logs import native
from turnwise.logs.files import stored
from turnwise.records import InputFile
from turnwise.report.runs import KEYS, RESULTS, Run
from turnwise.types import Dialogue, Role, Turn

TRANSCRIPTS = "transcripts.jsonl"


RunInput: TypeAlias = InputFile  # as results.json names it


class TranscriptLine(msgspec.Struct):
    """A line of transcripts.jsonl: a dialogue whose texts a run keeps."""

    id: str
    agent: str
    roles: list[Role]
    turns: list[str]


def holds_run(path: str) -> bool:
    """Whether a path is a results.json of turnwise or a folder with one in it, at any depth."""
    root = Path(path)
    places = (
        [root] if root.is_file() and root.name == RESULTS else root.rglob(RESULTS) if root.is_dir() else ()
    )
    return any(map(_is_result, places))


def _is_result(path: Path) -> bool:
    """Whether a file is a results.json of turnwise, and not of another program."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(found, dict) and found.keys() >= KEYS


def inputs(run: Run) -> list[RunInput]:
    """The input files of a run; none if its document names none."""
    return list(run.document.origin.inputs)


def places(run: Run, path: str) -> Iterator[str]:
    """Where an input file may be: relative to the current folder, or to a folder above the run's."""
    if os.path.isabs(path):
        yield path
        return
    yield path
    for folder in (run.folder.resolve(), *run.folder.resolve().parents):
        yield str(folder / path)


def sha256(path: str) -> str:
    """The checksum of a file's bytes as stored; "" if it cannot be read."""
    hasher = hashlib.sha256()
    try:
        for chunk in stored(path):
            hasher.update(chunk)
    except DataError:
        return ""
    return hasher.hexdigest()


def write_transcripts(run: Run, path: Path) -> int:
    """Write the few dialogues whose texts a run keeps as a native file; returns how many there are."""
    found = [_dialogue(one) for one in run.lines(TRANSCRIPTS, TranscriptLine)]
    return native.write(found, str(path)) if found else 0


def _dialogue(line: TranscriptLine) -> Dialogue:
    """A line of transcripts.jsonl as a dialogue."""
    turns = tuple(Turn(role, text) for role, text in zip(line.roles, line.turns, strict=True))
    return Dialogue(line.id, line.agent, turns)
