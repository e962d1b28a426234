"""Which file is which agent, where records do not tell the compared agents apart: the files' names stand for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnwise.errors import DataError
from turnwise.logs.dialogue import UNNAMED
from turnwise.logs.memory import is_folder


@dataclass(frozen=True, slots=True)
class FileAgents:
    """The agent of each file, and the name in the records that it replaces."""

    names: Mapping[str, str]  # path -> agent, for the files in which a name is replaced
    replaced: str


def agents_of_files(paths: Sequence[str]) -> FileAgents | None:
    """The files' names as agents: of records that name none, or of all records if they all name the same agent.

    None for one file, for folders, and where records name several agents.
    """
    from turnwise.logs.native import file_names, read

    if len(paths) < 2 or any(map(is_folder, paths)):
        return None
    try:
        agents = {path: {dialogue.agent for dialogue in read(path)} for path in paths}
    except DataError:  # the command checks all files, and says what is wrong
        return None
    stems = file_names(paths)
    unnamed = {path: stems[path] for path in paths if UNNAMED in agents[path]}
    if unnamed:
        return FileAgents(unnamed, UNNAMED)
    every = set().union(*agents.values())
    if len(every) != 1:
        return None
    return FileAgents(stems, every.pop())
