"""Where a source is read: at its own path, or in a zip file, of which a file or folder is unpacked."""

from contextlib import ExitStack
from typing import NamedTuple

from turnwise.errors import DataError, UsageError
from turnwise.logs.archive import members, one_of, unpacked
from turnwise.logs.foreign import foreign, recognised, renamed
from turnwise.logs.memory import is_file
from turnwise.logs.readers import ALIASES, find, recognise
from turnwise.logs.readers.sniff import sample
from turnwise.logs.readers.source import Options


class Place(NamedTuple):
    """The user's name of a source, the path that is read, and the name of its reader."""

    given: str
    path: str
    reader: str
    folder: str = ""  # temporary, of an unpacked zip file
    others: int = 0  # files of the zip file that are not read

    def renamed(self, error: UsageError | DataError) -> UsageError | DataError:
        """The error with the user's name in place of what is read."""
        return renamed(error, self.folder or self.path, self.given)


def is_unpacked(name: str | None, source: str) -> bool:
    """Whether a source is a zip file whose reader, recognised if `name` is None, does not read zip files itself."""
    if not is_file(source) or sample(source).form != "zip":
        return False
    reader = find(name) if name is not None else None
    if reader is None and (found := recognise(source)) is not None:
        reader = find(found)
    return reader is None or not (reader.packed or reader.offer)


def located(source: str, name: str | None, options: Options, stack: ExitStack) -> Place:
    """Where a source is read, and by which reader; a note says which file of a zip file that is.

    What is unpacked is deleted when `stack` is left. No reader, or several possible files, raise `UsageError`.
    """
    shown = options.shown or source
    if not is_unpacked(name, source):
        return Place(shown, source, name or recognised(source, shown))
    folder = stack.enter_context(unpacked(source))
    member = one_of(members(folder), folder, None if name is None else ALIASES.get(name, name))
    if member is None:
        raise UsageError(str(foreign(source, command=None)))
    if member.name:
        options.notes.append(f"{member.name} of the zip file was read")
    return Place(shown, member.path, name or member.reader, folder, member.others)
