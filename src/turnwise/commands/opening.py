"""Opens the data of a command for the time that it runs."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from turnwise.library.data import Files, files
from turnwise.library.results import folder_of
from turnwise.settings.groups import Formatted

ReadingCommand = TypeVar("ReadingCommand", bound=Formatted)


@contextmanager
def opened(
    command: ReadingCommand, *, agent: str | None = None, name_files: bool = False, empty: bool = False
) -> Iterator[ReadingCommand]:
    """The command with its data as files of the native format, and with a folder to write to if it has `output`.

    `empty`: there is no data.
    """
    held = (
        nullcontext(Files(()))
        if empty
        else files(
            getattr(command, command.source), reader=command.reader, mapping=command.mapping, agent=agent,
            name_files=name_files,
        )
    )  # fmt: skip
    with held as given:
        ready = command.changed(
            **{command.source: given.paths}, names=given.names, shared_agent=given.shared_agent
        )
        if not hasattr(command, "output"):
            yield ready
            return
        with folder_of(command.output, figures=getattr(command, "figures", False)) as folder:
            yield ready.changed(output=None if folder is None else str(folder))
