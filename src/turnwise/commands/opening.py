"""Opens the data of a command for the time that it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from turnwise.library.data import files
from turnwise.library.results import folder_of
from turnwise.settings.groups import Reading, Writing

ReadingCommand = TypeVar("ReadingCommand", bound=Reading)


@contextmanager
def opened(
    command: ReadingCommand, *, agent: str | None = None, name_files: bool = False
) -> Iterator[ReadingCommand]:
    """The command with its data as files of the native format, and with a folder to write to."""
    with files(
        command.data, reader=command.reader, mapping=command.mapping, agent=agent, name_files=name_files
    ) as given:
        if not isinstance(command, Writing):
            yield command.changed(data=given.paths, names=given.names)
            return
        with folder_of(command.output, figures=command.figures) as folder:
            place = None if folder is None else str(folder)
            yield command.changed(data=given.paths, names=given.names, output=place)
