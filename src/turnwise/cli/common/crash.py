"""An exception that no command expects: a short report on standard error, the traceback in a file, and exit code 70.

The report names no path, option value or text of the data, so it can be pasted into an issue. The exception's message
may quote the data, so it is only in the file.
"""

import platform
import tempfile
import traceback

from turnwise import __version__
from turnwise.cli import CRASHED
from turnwise.commands import COMMANDS
from turnwise.terminal import say_lines


def crashed(args: list[str], error: Exception) -> int:
    """Print a report of the exception on standard error, save the traceback, and return exit code 70."""
    command = f"turnwise {args[0]}" if args and args[0] in COMMANDS else "turnwise"
    lines = [
        f"turnwise: unexpected {type(error).__name__} in `{command}`; this is a defect of turnwise, not of your data",
        f"  versions: turnwise {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"  traceback: {_saved(error)}",
        "  please report it with the traceback; look through the file first, as it may quote your data",
    ]
    say_lines(*lines, err=True)
    return CRASHED


def _saved(error: Exception) -> str:
    """The path of a new file with the traceback, or why it could not be saved."""
    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="turnwise-",
            suffix=".traceback.txt",
            encoding="utf-8",
            errors="backslashreplace",
            delete=False,
        ) as file:
            file.write(text)
    except OSError as why:
        return f"could not be saved: {why.strerror or type(why).__name__}"
    return file.name
