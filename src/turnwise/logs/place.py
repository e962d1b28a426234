"""Where a source is read: at its own path, or in a zip file, of which a file or folder is unpacked."""

from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from turnwise.errors import Problem, UsageError
from turnwise.logs.archive import members, one_of, unpacked
from turnwise.logs.foreign import foreign, recognised
from turnwise.logs.memory import is_file
from turnwise.logs.readers import ALIASES, find, recognise
from turnwise.logs.readers.sniff import sample
from turnwise.logs.readers.source import Options


class Place(NamedTuple):
    """The user's path of a source, the path that is read, and the name of its reader."""

    given: str
    path: str
    reader: str
    folder: str = ""  # temporary, of an unpacked zip file
    others: int = 0  # files of the zip file that are not read

    def renamed(self, text: str) -> str:
        """The text with the zip file in place of the temporary folder."""
        return text.replace(self.folder, self.given) if self.folder else text

    def renamed_problem(self, problem: Problem | str) -> Problem | str:
        """The problem with the zip file in place of the temporary folder."""
        if isinstance(problem, str):
            return self.renamed(problem)
        return replace(problem, file=self.renamed(problem.file), message=self.renamed(problem.message))


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
    if not is_unpacked(name, source):
        return Place(source, source, name or recognised(source))
    folder = stack.enter_context(unpacked(source))
    member = one_of(members(folder), folder, None if name is None else ALIASES.get(name, name))
    if member is None:
        raise UsageError(str(foreign(source, command=None)))
    if member.name:
        options.notes.append(f"{member.name} of the zip file was read")
    return Place(source, member.path, name or member.reader, folder, member.others)
