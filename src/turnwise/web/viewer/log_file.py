"""Where the viewer reads dialogues: plain JSON Lines in files or in memory, of which single lines can be read."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from turnwise.errors import DataError, Problem
from turnwise.logs import native
from turnwise.logs.files import GZIP, is_parquet, opened, stored
from turnwise.logs.memory import KEPT, NamedLines


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of dialogues in the native format."""

    path: str  # plain JSON Lines, or lines in memory
    name: str  # on pages and in links
    shown: str  # the file as the user gave it, for errors

    def open(self) -> BinaryIO:
        """The file, or a new one in memory."""
        in_memory = isinstance(self.path, NamedLines)
        return BytesIO(b"".join(stored(self.path))) if in_memory else Path(self.path).open("rb")


def plain_file(path: str, folder: Callable[[], Path]) -> str:
    """The file itself if it is plain JSON Lines, or lines in memory that are not many; else a plain copy in `folder`,
    which is made only then.

    A file that cannot be read raises `DataError`.
    """
    parquet, in_memory = is_parquet(path), isinstance(path, NamedLines)
    if in_memory and sum(map(len, stored(path))) <= KEPT:
        return path
    if not parquet and not in_memory and not _is_packed(path):
        return path
    target = folder() / f"{len(list(folder().iterdir()))}.jsonl"
    if in_memory:
        with target.open("wb") as file:
            file.writelines(stored(path))
    elif parquet:
        native.write(native.read(path), str(target))
    else:
        with opened(path) as stream, target.open("wb") as file:
            shutil.copyfileobj(stream, file)
    return str(target)


def _is_packed(path: str) -> bool:
    """Whether a file begins with the mark of gzip; a file that cannot be read raises `DataError`."""
    try:
        with open(path, "rb") as file:
            return file.read(len(GZIP)) == GZIP
    except OSError as error:
        raise DataError(Problem(path, None, "", f"cannot be read: {error.strerror}")) from None
