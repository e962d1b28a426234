"""The dialogues in a zip file: the one file, or the folder, in it that a reader recognises.

`conversations.json` of ChatGPT's export and a zipped run folder of tau2 are such. Some readers read zip files
themselves (`Reader.packed`), and get them as they are.
"""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from turnwise.errors import DataError, Problem
from turnwise.logs.files import Packed
from turnwise.logs.readers import recognise

SUFFIXES = (".jsonl", ".json", ".parquet", ".csv", ".tsv", ".txt")  # of files that may hold dialogues
OF_SYSTEM = "__MACOSX"  # a folder that macOS adds


@dataclass(frozen=True, slots=True)
class Member:
    """A file or folder of an unpacked zip file that a reader recognises; `name` is empty for all of the zip file."""

    path: str
    name: str
    reader: str
    others: int  # files of the zip file that are not read


@contextmanager
def unpacked(path: str) -> Iterator[str]:
    """A temporary folder with the files of a zip file; one that is damaged or encrypted raises `DataError`."""
    with TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(path) as packed:
                packed.extractall(folder)
        except Packed.BROKEN as error:
            found = f"cannot be unpacked: the zip file is damaged or encrypted ({error})"
            raise DataError(Problem(path, None, "", found)) from None
        yield folder


def members(folder: str) -> list[Member]:
    """What readers recognise in an unpacked zip file: all of it as a folder, else each file; empty if nothing."""
    files = list(_files(folder))
    inner = [one for one in os.listdir(folder) if one != OF_SYSTEM]
    roots = [folder, *(os.path.join(folder, one) for one in inner if len(inner) == 1)]
    for root in filter(os.path.isdir, roots):
        if (reader := recognise(root)) is not None:
            return [Member(root, "", reader, 0)]
    found = []
    for file in files:
        reader = recognise(file) if file.removesuffix(".gz").endswith(SUFFIXES) else None
        if reader is not None:
            name = os.path.relpath(file, folder).replace(os.sep, "/")
            found.append(Member(file, name, reader, len(files) - 1))
    return found


def one_of(found: list[Member], folder: str, reader: str | None) -> Member | None:
    """The one member that a reader, or any reader for None, recognises; else the only file that may hold dialogues, if
    a reader is named. None if there are several or none.
    """
    mine = [one for one in found if reader in (None, one.reader)]
    if mine or reader is None:
        return mine[0] if len(mine) == 1 else None
    files = list(_files(folder))
    possible = [file for file in files if file.removesuffix(".gz").endswith(SUFFIXES)]
    if len(possible) != 1:
        return None
    name = os.path.relpath(possible[0], folder).replace(os.sep, "/")
    return Member(possible[0], name, reader, len(files) - 1)


def _files(folder: str) -> Iterator[str]:
    """The files in a folder and its folders, sorted, without hidden ones and those that macOS adds."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one != OF_SYSTEM)
        yield from (os.path.join(place, name) for name in sorted(names) if not name.startswith("."))
