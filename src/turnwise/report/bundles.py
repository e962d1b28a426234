"""Folders of pages that `turnwise view --bundle` wrote, to which a report links."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import msgspec

from turnwise.errors import UsageError, setting

MARK = "bundle.json"
_PAGE = re.compile(r"dialogue-[a-z0-9._-]+\.html")


class Bundle(msgspec.Struct):
    """`bundle.json`: the page of each dialogue by its id."""

    dialogues: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a folder."""

    folder: Path
    pages: Mapping[str, str]

    def link(self, item: str, start: Path) -> str:
        """The address of a dialogue, or of a reply by `ID#TURN`, from a file in `start`; "" if it is not there."""
        identity, turn = item, ""
        if item not in self.pages:
            identity, _, turn = item.rpartition("#")
        if identity not in self.pages or not (turn.isdecimal() or item == identity):
            return ""
        folder = Path(os.path.relpath(self.folder, start)).as_posix()
        return f"{quote(folder)}/{self.pages[identity]}" + (f"#t{turn}" if turn else "")


NO_PAGES = Pages(Path(), {})


def read_pages(folder: Path) -> Pages:
    """The pages of a bundle; `UsageError` if the folder is none."""
    try:
        found = msgspec.json.decode((folder / MARK).read_bytes(), type=Bundle)
    except (OSError, msgspec.DecodeError):
        raise UsageError(
            f"{setting('--bundle', str(folder))}: expected a folder that `turnwise view --bundle` wrote"
        ) from None
    return Pages(folder, {name: page for name, page in found.dialogues.items() if _PAGE.fullmatch(page)})
