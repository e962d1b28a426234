"""The document of a command's results with their origin.

Equal settings over equal files give equal bytes.
"""

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from turnwise import __version__
from turnwise.logs.items.selection import Selection, recorded
from turnwise.records import Document, InputFile, Origin, Record, RunSettings
from turnwise.registry import package_version, used_offer
from turnwise.report import results
from turnwise.settings.groups import Command

AnyDocument = TypeVar("AnyDocument", bound=Document)


PACKAGES = ("numpy", "scipy", "msgspec", "sacrebleu", "rapidfuzz")  # packages that compute numbers
# Common settings that can change a number, with the value that is recorded of a command that does not have them.
SETTINGS: dict[str, Any] = {
    "metrics": (), "selection": Selection(), "real": None, "model": None, "db": None, "seed": 0, "draws": 1000
}  # fmt: skip


def finish(
    kind: type[AnyDocument],
    spec: Command,
    records: Sequence[Record],
    sha256: Mapping[str, str],
    **sections: Any,
) -> AnyDocument:
    """The document of these results, which is written as results.json to the command's output folder, if it has one.

    `sha256`: input path -> digest. `sections` are further fields of the document.
    """
    document = document_of(kind, spec, records, sha256, **sections)
    if spec.folder is not None:
        results.write(spec.folder / "results.json", document)
    return document


def document_of(
    kind: type[AnyDocument],
    spec: Command,
    records: Sequence[Record],
    sha256: Mapping[str, str],
    **sections: Any,
) -> AnyDocument:
    """As `finish`, without a file."""
    return kind(results=tuple(records), origin=origin(spec, sha256), **sections)


def origin(spec: Command, sha256: Mapping[str, str]) -> Origin:
    """Where results come from: versions, the commit of this code, the inputs with their hashes, the settings."""
    settings = {name: getattr(spec, name, default) for name, default in SETTINGS.items()}
    settings["selection"] = recorded(settings["selection"])
    return Origin(
        turnwise=__version__,
        commit=_commit(),
        python=platform.python_version(),
        packages={**{name: version(name) for name in PACKAGES}, **_plugin_packages(spec)},
        inputs=tuple(InputFile(path=str(path), sha256=sha256[path]) for path in spec.paths),
        settings=RunSettings(**msgspec.to_builtins({**settings, "options": dict(spec.options)})),
    )


def _plugin_packages(spec: Command) -> dict[str, str | None]:
    """The packages of the plugins that a command names, with their versions."""
    offers = (
        used_offer(group, name.removeprefix("metric:").partition("[")[0])
        for group, name in dict.fromkeys(spec.plugins())
    )
    return {offer.owner: package_version(offer.owner) for offer in offers if offer is not None}


@cache
def _commit() -> str | None:
    """The commit of the checkout that this code runs from; None for an installed package, or if it is not found.

    It is read from git's files, because git itself may not answer in time on a busy machine; and once for each process,
    because one run must not record two commits.
    """
    return checked_out(Path(__file__).parents[3])


def checked_out(root: Path) -> str | None:
    """The commit that is checked out in a folder; None if it is no checkout, or its branch has no plain file."""
    own = root / ".git"
    try:
        if own.is_file():  # of a further worktree: the place of its files
            own = root / own.read_text().strip().removeprefix("gitdir: ")
        head = (own / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        branch = head.removeprefix("ref: ")
        shared = own / (own / "commondir").read_text().strip() if (own / "commondir").exists() else own
        if (shared / branch).is_file():
            return (shared / branch).read_text().strip()
        packed = (line.split() for line in (shared / "packed-refs").read_text().splitlines())
        return next((line[0] for line in packed if line[1:] == [branch]), None)
    except OSError:
        return None
