"""The viewer's pages as a folder of files that need no server: the lists, a page for each dialogue, the attacks."""

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path, PurePath
from typing import ClassVar

from starlette.datastructures import QueryParams

from turnwise.errors import UsageError, setting
from turnwise.report.bundles import MARK, Bundle
from turnwise.report.results import replacing, write
from turnwise.web.pages import templates
from turnwise.web.viewer.index import Index
from turnwise.web.viewer.links import Links
from turnwise.web.viewer.pages import Pages
from turnwise.web.viewer.query import Query
from turnwise.web.viewer.table import Unit
from turnwise.web.viewer.viewer import Viewer

STATIC = ("style.css", "view.css", "view.js", "icon.svg")
OWN = re.compile(r"(index|replies|attacks)(-\d+)?\.html|dialogue-[a-z0-9._-]+\.html")
PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")  # ids that are part of a file's name as they are


class FileLinks(Links):
    """Addresses relative to the folder. A list has its own order and no search."""

    def __init__(self, index: Index) -> None:
        super().__init__(index, "")
        self.base, self.attacks = self.page("dialogue", 1), "attacks.html"

    @staticmethod
    def page(unit: Unit, number: int) -> str:
        """The file of a page of the list."""
        return (
            ("index" if unit == "dialogue" else "replies") + ("" if number == 1 else f"-{number}") + ".html"
        )

    def listed(self, query: Query, *, page: int | None = None) -> str:
        """As in `Links`."""
        return self.page(query.unit, page or 1)

    def dialogue(
        self,
        at: int,
        *,
        turn: int | None = None,
        query: Query | None = None,
        page: int | None = None,
        whole: int | None = None,
    ) -> str:
        """As in `Links`."""
        return self.file(at) + ("" if turn is None else f"#t{turn}")

    def row(self, row: int, query: Query) -> str:
        """As in `Links`."""
        at, turn = self._index.place(query.unit, row)
        return self.dialogue(at, turn=turn)

    def context(self, unit: Unit, at: int, turn: int | None, names: tuple[str, str] = ("", "")) -> str:
        """Empty: pages of two agents need the server."""
        return ""

    def file(self, at: int) -> str:
        """The file of a dialogue. Its name has the id, as far as file systems can have it; a digest keeps it apart."""
        identity, several = self._index.dialogue(at).id, len(self._index.files) > 1
        if PLAIN.fullmatch(identity) and not several:
            return f"dialogue-{identity}.html"
        words = re.sub(r"[^a-z0-9]+", "-", identity.lower())[:60].strip("-")
        digest = sha256(f"{self._index.file_of(at).name}\0{identity}".encode()).hexdigest()[:12]
        return f"dialogue-{words}-{digest}.html"


class FilePages(Pages):
    """Pages of files: everything of a dialogue is on its page, and nothing asks a server."""

    served: ClassVar[bool] = False
    static: ClassVar[str] = ""
    rows: ClassVar[int] = 500
    turns: ClassVar[int] = 10**9

    def shown(self, path: str) -> str:
        """The name of a file or folder: where it was on this machine is nobody's business."""
        return PurePath(path).name


def check_folder(folder: Path) -> None:
    """Raise `UsageError` unless the folder is absent, empty, or an earlier bundle."""
    if folder.exists() and not (folder.is_dir() and ((folder / MARK).is_file() or not any(folder.iterdir()))):
        raise UsageError(
            f"{folder} exists and is no bundle of the viewer; give {setting('--bundle')} a new folder"
        )


def write_bundle(viewer: Viewer, folder: Path, advance: Callable[[int], None]) -> FileLinks:
    """Write the pages in place of those of an earlier bundle; `advance` is called with 1 after each dialogue."""
    check_folder(folder)
    index, links = viewer.index, FileLinks(viewer.index)
    write(folder / MARK, Bundle())  # an interrupted bundle can be written again
    for path in folder.iterdir():
        if OWN.fullmatch(path.name):
            path.unlink()
    for name in STATIC:
        _write(folder / name, templates.static_bytes(name))
    pages = FilePages(viewer, links)
    for name, page in _lists(pages, viewer):
        _write(folder / name, page)
    files: dict[str, str] = {}
    several = len(index.files) > 1
    for at in range(len(index)):
        identity, file = index.dialogue(at).id, index.file_of(at).name
        given = {"id": identity, **({"file": file} if several else {})}
        _write(folder / links.file(at), bytes(pages.dialogue(QueryParams(given)).body))
        files.setdefault(identity, links.file(at))
        if several:  # the id that a line without one has beside other files
            files.setdefault(f"{file}:{identity}", links.file(at))
        advance(1)
    write(folder / MARK, Bundle(dialogues=files))
    return links


def _lists(pages: FilePages, viewer: Viewer) -> Iterator[tuple[str, bytes]]:
    """The pages of the lists and of the attacks, each with its file's name."""
    units: tuple[Unit, ...] = ("dialogue", "reply")
    for unit in units:
        n_pages = max(1, -(-len(viewer.rows(Query(unit=unit))) // pages.rows))
        for number in range(1, n_pages + 1):
            given = QueryParams({"unit": unit, "page": str(number)})
            yield FileLinks.page(unit, number), bytes(pages.entries(given).body)
    if viewer.strategies:
        yield "attacks.html", bytes(pages.attacks(QueryParams()).body)


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as file:
        file.write(content)
