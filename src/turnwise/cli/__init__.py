"""The command line: made from the classes of the commands.

`turnwise --help` is answered from the first lines of their modules, which are read and not imported, because importing
click alone takes twice as long as starting Python.
"""

import io
import os
import sys

from turnwise import commands
from turnwise.commands import COMMANDS

INTERRUPTED = 130  # what a shell expects after Ctrl-C
CRASHED = 70  # an unexpected exception; EX_SOFTWARE of sysexits.h
WIDTH = 80  # columns of a line of `turnwise --help`
ABOUT = "Evaluate dialogue systems from their dialogues; every number has an interval and a signature."
EXITS = "Exit codes: 0 ok, 1 a gate failed, 2 usage or data, 3 could not measure, 4 refused, 70 a defect."


def overview() -> str:
    """The text of `turnwise --help`, without a line end."""
    width = max(map(len, COMMANDS))
    lines = [_wrapped(f"  {name:<{width}}  ", about(name)) for name in COMMANDS]
    return "\n".join(
        [
            "Usage: turnwise COMMAND [OPTIONS] [ARGS]...",
            "",
            _wrapped("", ABOUT),
            "",
            "Commands:",
            *lines,
            "",
            "`turnwise COMMAND --help` explains one.",
            "Results go to stdout, everything else to stderr.",
            _wrapped("", EXITS),
        ]
    )


def about(name: str) -> str:
    """What a command does in one line: the first of its module, which is read and not imported."""
    with open(os.path.join(commands.__path__[0], f"{name}.py"), encoding="utf-8") as source:
        return source.readline().strip().strip('"')


def _wrapped(head: str, text: str) -> str:
    """The words of the text after `head`, in lines of at most 80 columns that are indented like the first one.

    Written out here because importing textwrap, which needs `re`, takes about as long as starting Python.
    """
    lines = [head]
    for word in text.split():
        if len(lines[-1]) + len(word) > WIDTH:
            lines.append(" " * len(head))
        lines[-1] += f"{word} "
    return "\n".join(line.rstrip() for line in lines)


def _escape_unprintable() -> None:
    """Make standard output and error print characters that their encoding lacks as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")


def main(argv: list[str] | None = None) -> None:
    """Entry point of the console script: runs the command line `argv`, by default that of the process, and
    exits with its code.
    """
    _escape_unprintable()
    args = sys.argv[1:] if argv is None else argv
    if not args or args[0] in ("-h", "--help"):
        try:
            print(overview(), flush=True)
        except BrokenPipeError:  # `turnwise --help | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    try:
        import logging

        from turnwise.cli.common.group import run
        from turnwise.run.workers.heap import keep_freed_memory
        from turnwise.terminal import LogFormatter

        keep_freed_memory()
        if logging.lastResort:  # prints warnings where nobody has set up logging
            logging.lastResort.setFormatter(LogFormatter())
        code = run(args)
    except KeyboardInterrupt:  # before `run` could begin to catch it
        print("turnwise: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except Exception as error:  # a broken installation: the command could not be imported
        from turnwise.cli.common.crash import crashed

        code = crashed(args, error)
    if code == INTERRUPTED:
        # Python remembers an interrupt that arrived while it ran source text, as `dataclass` does, and would end by
        # the signal instead of with this code; running other source text clears that.
        exec("")
    sys.exit(code)
