"""Where venue tables are looked for."""

import os
from importlib.resources import files
from pathlib import Path

from turnwise.errors import UsageError

TOWN = "town"  # the tables that ship: those of `turnwise simulate task`
FOLDER = "multiwoz_db"  # beside the conversations, or in the folder of the corpora


class NoTables(UsageError):
    """A task metric without the tables it looks things up in."""

    def __init__(self, where: str = "") -> None:
        super().__init__(f"no venue tables{where}; --db DIR names the folder that has them")


def folder_of(db: str | None) -> Path:
    """The folder that is named, else that of the corpora which TURNWISE_DATA names."""
    if db == TOWN:
        return Path(str(files("turnwise") / "data" / "task" / TOWN))
    if db is not None:
        if not Path(db).is_dir():
            raise NoTables(f" in {db}: there is no such folder")
        return Path(db)
    data = os.environ.get("TURNWISE_DATA")
    if data is None or not (Path(data) / FOLDER).is_dir():
        raise NoTables(f" are known: there is no folder {FOLDER} beside the data")
    return Path(data) / FOLDER
