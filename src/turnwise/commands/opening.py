"""Opens the data of a command for the time that it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from turnwise.library.data import files
from turnwise.library.results import folder_of
from turnwise.settings.groups import Command, Formatted, Writing

ReadingCommand = TypeVar("ReadingCommand", bound=Formatted)


@contextmanager
def opened(
    command: ReadingCommand, *, agent: str | None = None, name_files: bool = False
) -> Iterator[ReadingCommand]:
    """The command with its data as files of the native format, and with a folder to write to."""
    data = getattr(command, command.source)
    with files(
        data, reader=command.reader, mapping=command.mapping, agent=agent, name_files=name_files
    ) as given:
        ready = command.changed(**{command.source: given.paths}, names=given.names)
        writing: Command = command
        if not isinstance(writing, Writing):
            yield ready
            return
        with folder_of(writing.folder, figures=writing.figures) as folder:
            yield ready.changed(output=None if folder is None else str(folder))
