"""Where the venue tables of task metrics are found on disk."""

import os
from importlib.resources import files
from pathlib import Path

from turnwise.errors import UsageError, setting

SHIPPED = "town"  # name of the tables that ship with the package: those of `turnwise simulate task`
FOLDER = "multiwoz_db"  # name of the folder beside the dialogues, or in the folder $TURNWISE_DATA


class NoTables(UsageError):
    """Raised if the venue tables that a task metric needs are not found."""

    def __init__(self, where: str = "") -> None:
        super().__init__(f"no venue tables{where}; {setting('--db', 'DIR')} names the folder that has them")


def tables_folder(db: str | None) -> Path:
    """The folder of venue tables that `db` names; without `db` the one in the folder $TURNWISE_DATA.

    `town` names the tables that ship with the package. Raises `NoTables` if there is no such folder.
    """
    if db == SHIPPED:
        return Path(str(files("turnwise") / "data" / "task" / SHIPPED))
    if db is not None:
        if not Path(db).is_dir():
            raise NoTables(f" in {db}: there is no such folder")
        return Path(db)
    data = os.environ.get("TURNWISE_DATA")
    if data is None or not (Path(data) / FOLDER).is_dir():
        raise NoTables(f" are known: there is no folder {FOLDER} beside the data")
    return Path(data) / FOLDER
