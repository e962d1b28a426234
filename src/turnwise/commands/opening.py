"""Opens the data of a command for the time that it runs."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from turnwise.settings.groups import Command, Formatted, Modelling, Reading, Writing
from turnwise.settings.option import split_names

ReadingCommand = TypeVar("ReadingCommand", bound=Formatted)


@contextmanager
def opened(
    command: ReadingCommand, *, agent: str | None = None, name_files: bool = False, empty: bool = False
) -> Iterator[ReadingCommand]:
    """The command with its data, and its reference dialogues, as files of the native format.

    `empty`: there is no data.
    """
    from turnwise.library.data import Files, files  # readers are slow to import, and not needed for --help

    held = (
        nullcontext(Files(()))
        if empty
        else files(
            getattr(command, command.source), reader=command.reader, mapping=command.mapping, agent=agent,
            agent_key=split_names(command.agent_key) if isinstance(command, Reading) else (), name_files=name_files,
        )
    )  # fmt: skip
    with_settings: Command = command
    real = with_settings.real if isinstance(with_settings, Modelling) else None
    with held as given, nullcontext() if real is None else files(real) as people:
        ready = command.changed(**{command.source: given.paths}, shared_agent=given.shared_agent)
        if people is not None:
            ready = ready.changed(real=people.paths)
        # The same files in every copy of the command.
        yield ready.changed(files=with_settings.files) if isinstance(with_settings, Writing) else ready
