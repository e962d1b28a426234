"""The words after a program's name, for programs of this folder that need no options."""

import sys
from collections.abc import Sequence


def words(about: str | None, commands: Sequence[str] | None = None) -> list[str]:
    """The words after the program's name; prints `about` and ends if help is asked for or the first is no command.

    Without `commands` the first word may be anything.
    """
    given = sys.argv[1:]
    if {"-h", "--help"} & set(given):
        print(about)
        raise SystemExit(0)
    if commands is not None and (not given or given[0] not in commands):
        said = f"there is no `{given[0]}`" if given else "say what to do"
        print(f"{about}\n{said}: {', '.join(commands)}", file=sys.stderr)
        raise SystemExit(2)
    return given
