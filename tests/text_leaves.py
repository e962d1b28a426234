"""The texts of a file of logs, each with its place, and whether a conversion has kept them.

A text is kept if the output has it: as a value or a key, or line by line inside longer texts (a transcript is cut into
turns, and texts are joined to content). White space, and words such as `Human:` before a turn, do not count. Texts that
are JSON, or a Python literal, are looked into.
"""

import ast
import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Place = tuple[str, ...]  # keys and, for elements of lists, `*`
SPEAKER = re.compile(r"^(?:Human|Assistant|User|System|USER|SYSTEM|APICALL|APIRESP|APIS|GOAL): ?")
SHORT = 4  # letters below which a text inside another one proves nothing


def raw(path: Path) -> Any:
    """What a file, a folder or a zip file holds, by the name of each file."""
    if path.is_dir():
        inside = sorted(one for one in path.rglob("*") if one.is_file())
        return {str(one.relative_to(path)): _decoded(one.name, one.read_bytes()) for one in inside}
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            return {name: _decoded(name, packed.read(name)) for name in packed.namelist() if name[-1] != "/"}
    return _decoded(path.name, path.read_bytes())


def _decoded(name: str, content: bytes) -> Any:
    """The value of JSON, the values of JSON Lines, the rows of a table, or the lines of a text."""
    written = content.decode("utf-8-sig")
    if name.endswith((".csv", ".tsv")):
        return list(csv.DictReader(io.StringIO(written), delimiter="\t" if name.endswith("tsv") else ","))
    try:
        return json.loads(written)
    except ValueError:
        pass  # JSON Lines, or no JSON
    try:
        return [json.loads(line) for line in written.splitlines() if line.strip()]
    except ValueError:
        return written.splitlines()


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every text inside a value, with its place; empty ones are left out."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*place, str(key)))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one, (*place, "*"))
    elif isinstance(value, str) and value.strip():
        inner = _inner(value)
        if inner is None:
            yield place, value
        else:
            yield from leaves(inner, place)


def _inner(text: str) -> Any:
    """The object or list of which a text is the JSON or the Python literal; None for other texts."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return found if isinstance(found, dict | list) else None
    return None


class Kept:
    """The texts of converted dialogues, and their numbers as text."""

    def __init__(self, records: Iterable[Any]) -> None:
        held = list(records)
        self.whole = {_plain(text) for text in (*(one for _, one in leaves(held)), *_keys(held))}
        self.joined = "\n".join(self.whole)
        self.whole |= {str(number) for number in _numbers(held)}

    def __contains__(self, text: str) -> bool:
        return self._has(text) or all(map(self._has, filter(None, map(str.strip, text.splitlines()))))

    def _has(self, text: str) -> bool:
        """Whether the texts have this one, whole or, unless it is short, inside another one."""
        for one in (_plain(text), _plain(SPEAKER.sub("", text.strip()))):
            if not one or one in self.whole or (len(one) >= SHORT and one in self.joined):
                return True
        return False


def _plain(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())


def _keys(value: Any) -> Iterator[str]:
    """The keys of all objects inside a value."""
    if isinstance(value, dict):
        yield from map(str, value)
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inside:
        yield from _keys(one)


def _numbers(value: Any) -> Iterator[float]:
    """The numbers inside a value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inside:
        yield from _numbers(one)
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def lost(source: Any, records: Iterable[Any]) -> dict[Place, str]:
    """Place -> an example of the texts of a source that converted dialogues have not."""
    kept = Kept(records)
    found: dict[Place, str] = {}
    for place, text in leaves(source):
        if text not in kept:
            found.setdefault(place, text)
    return found
