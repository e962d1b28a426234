"""Which file is which agent, where records do not tell the compared agents apart: the files' names stand for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from turnwise.errors import DataError
from turnwise.logs.dialogue import UNNAMED


@dataclass(frozen=True, slots=True)
class FileAgents:
    """The agent of each file, and the name in the records that it replaces."""

    names: Mapping[str, str]  # path -> agent, for the files in which a name is replaced
    replaced: str


def agents_of_files(shown: Mapping[str, str]) -> FileAgents | None:
    """The files' names as agents: of records that name none, or of all records if they all name the same agent.

    `shown` is path -> the user's name of the file. None for one file, for folders, and where records name several
    agents.
    """
    from turnwise.logs.native import file_names, read

    if len(shown) < 2 or any(Path(path).is_dir() for path in shown):
        return None
    try:
        agents = {path: {dialogue.agent for dialogue in read(path)} for path in shown}
    except DataError:  # the command checks all files, and says what is wrong
        return None
    stems = file_names(list(shown.values()))
    unnamed = {path: stems[name] for path, name in shown.items() if UNNAMED in agents[path]}
    if unnamed:
        return FileAgents(unnamed, UNNAMED)
    every = set().union(*agents.values())
    if len(every) != 1:
        return None
    return FileAgents({path: stems[name] for path, name in shown.items()}, every.pop())
