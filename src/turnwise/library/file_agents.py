"""Which file is which agent, where records do not tell the compared agents apart: the files' names stand for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from turnwise.errors import DataError

UNNAMED = "unknown"  # the agent of a record that names none


@dataclass(frozen=True, slots=True)
class FileAgents:
    """The agent of each file, and the name in the records that it replaces."""

    names: Mapping[str, str]  # path -> agent
    replaced: str


def agents_of_files(shown: Mapping[str, str]) -> FileAgents | None:
    """The files' names as agents, if the records of several files name no agent, or all the same one.

    `shown` is path -> the user's name of the file. None for one file, for folders, and where records name several
    agents. Only the first records are looked at, unless they name the same agent.
    """
    from turnwise.logs.native import file_names, read

    if len(shown) < 2 or any(Path(path).is_dir() for path in shown):
        return None
    try:
        firsts = {first.agent if (first := next(iter(read(path)), None)) else None for path in shown}
        if len(firsts) != 1 or (agent := firsts.pop()) is None:
            return None
        if agent != UNNAMED and any(one.agent != agent for path in shown for one in read(path)):
            return None
    except DataError:  # the command checks all files, and says what is wrong
        return None
    stems = file_names(list(shown.values()))
    return FileAgents({path: stems[name] for path, name in shown.items()}, agent)
