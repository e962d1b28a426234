"""Imports a command when it is called, and turns every error into a message and an exit code."""

import errno
import importlib
import io
import os
import re
import sys
from contextvars import ContextVar
from itertools import chain, pairwise
from traceback import walk_tb
from typing import Any

import click

from turnwise import __version__
from turnwise.cli import ABOUT, EXITS, INTERRUPTED
from turnwise.cli.common.help_text import HelpContext
from turnwise.commands import COMMANDS
from turnwise.errors import ON_COMMAND_LINE, DataError, TurnwiseError, UsageError, unknown
from turnwise.extras import named_extras
from turnwise.plugin_code import TRACEBACKS
from turnwise.terminal import say, visible

_NAMES_OUTPUT = re.compile(
    "-[a-z]*o|--output|--config"
)  # an option that names, or may name, the output folder
_OUTPUT = re.compile("-[a-z]*o|--output")
IN_DEMO: ContextVar[bool] = ContextVar("in_demo", default=False)  # whether a command is a step of `demo`


class _ClosedPipe(Exception):
    """The reader of standard output has closed it; click would end with 1, the code of a failed gate."""


class LazyGroup(click.Group):
    """Imports `turnwise.commands.NAME` only when NAME is called."""

    context_class = HelpContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands in the order of `turnwise --help`; imports none."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        from turnwise.cli.building import command_line

        command = command_line(importlib.import_module(f"turnwise.commands.{cmd_name}").COMMAND)
        command.context_class = HelpContext
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click's, but an unknown command raises `UsageError` with the nearest names."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise unknown("command", args[0], list(COMMANDS))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click's, but a missing package of an extra raises `MissingExtra`, and a closed pipe `_ClosedPipe`."""
        token = ON_COMMAND_LINE.set(True)
        try:
            with named_extras("this command"):
                return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ClosedPipe from error
        finally:
            ON_COMMAND_LINE.reset(token)


@click.command(
    cls=LazyGroup,
    help=ABOUT,
    epilog=EXITS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="turnwise")
def cli() -> None:
    pass


def _discard_output() -> None:
    """Discard what standard output has buffered and cannot write, so that Python does not report it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _how_to_continue(args: list[str]) -> str:
    """What the same command does after an interruption, in words for the message."""
    # The steps of `demo` that are done are kept.
    resumption = "always" if IN_DEMO.get() else _resumption(args[0] if args else "")
    if resumption == "never":
        return "the same command starts again from the beginning"
    if resumption == "target":  # there is no -o, and OUT may stand before an option
        begun = any(map(_has_journal, args[1:]))
        return (
            f"the same command {'resumes where it stopped' if begun else 'starts again from the beginning'}"
        )
    if resumption == "rows" and (folder := _output(args)) and not _has_rows(folder):
        return "nothing is stored yet; the same command starts again"
    if resumption == "always" or any(_NAMES_OUTPUT.match(arg) for arg in args) or _finds_config(args):
        return "the same command with the same -o resumes where it stopped"
    return "nothing was kept; with -o DIR the same command can be resumed after an interruption"


def _resumption(name: str) -> str:
    """How a command goes on after an interruption, as its class says."""
    if name not in COMMANDS:
        return "output"
    return str(importlib.import_module(f"turnwise.commands.{name}").COMMAND.resumption)


def _output(args: list[str]) -> str | None:
    """The folder that -o or --output names; None if it may be named in another way, as in a file."""
    named = (value for option, value in pairwise(args) if _OUTPUT.fullmatch(option))
    joined = (arg.removeprefix("--output=") for arg in args if arg.startswith("--output="))
    return next(chain(named, joined), None)


def _finds_config(args: list[str]) -> bool:
    """Whether a file that was found, turnwise.toml, may name the output folder."""
    from turnwise.cli.common.config import found_config

    return "--no-config" not in args and found_config() is not None


def _has_rows(folder: str) -> bool:
    """Whether a run has stored scores in this folder (`run.resume.block_store`, which takes long to import)."""
    try:
        return os.path.getsize(os.path.join(folder, "rows.bin")) > 0
    except OSError:
        return False


class _Screen(io.StringIO):
    """A text that click takes for a terminal: it would remove escape sequences from a message to anything else."""

    def isatty(self) -> bool:
        """True, whatever is printed to."""
        return True


def _show(error: click.ClickException) -> None:
    """Print click's message on wrong usage on standard error; of a missing option also its values and its meaning, of a
    wrong value in a config file its place.
    """
    shown = _Screen()
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        option = error.param
        meaning = f"{option.opts[-1]} {option.metavar or ''}: {option.help}".replace(" :", ":")
        error = click.MissingParameter(meaning, error.ctx, option)
    elif isinstance(error, click.BadParameter):
        from turnwise.cli.common.config import place_of

        error.param_hint = place_of(error) or error.param_hint
    error.show(shown)
    say(shown.getvalue().removesuffix("\n"), err=True)


def _say_error(error: TurnwiseError) -> None:
    """Print the message of an error on standard error; each problem of a file is one line."""
    lines = map(visible, map(str, error.problems)) if isinstance(error, DataError) else [str(error)]
    say(
        "\n".join([f"turnwise: error: {line}" if not at else line for at, line in enumerate(lines)]), err=True
    )


def _has_journal(path: str) -> bool:
    """Whether an interrupted conversion to this file can be continued (`logs.draft`, which takes long to import)."""
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.exists(os.path.join(folder, f".{name}.journal"))


def _unreadable_packages(error: Exception) -> list[str]:
    """The installed packages whose metadata cannot be read, if the error comes from reading metadata; else none.

    `importlib.metadata` reads the entry points of all packages at once, so one of them makes importing torch fail.
    """
    last = [frame for frame, _ in walk_tb(error.__traceback__)][-1:]
    if not any(frame.f_globals.get("__name__", "").startswith("importlib.metadata") for frame in last):
        return []
    from turnwise.registry import unreadable_packages

    return unreadable_packages()


def run(args: list[str]) -> int:
    """Run one command line (without the program's name) and return the exit code; errors are printed on stderr."""
    traced = os.environ.get(TRACEBACKS)
    try:
        if any("\0" in arg for arg in args):  # every use of such a path is a ValueError
            raise UsageError("an argument has a null byte")
        code = cli.main(args, prog_name="turnwise", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk can still be reported
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except TurnwiseError as error:
        _say_error(error)
        return error.exit_code
    except (BrokenPipeError, _ClosedPipe):
        _discard_output()  # the reader has closed the pipe (`turnwise ls metrics | head`)
        return 0
    except (click.Abort, KeyboardInterrupt):
        say(f"turnwise: interrupted; {_how_to_continue(args)}", err=True)
        return INTERRUPTED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        remedy = (
            f"; free some, and {_how_to_continue(args)}"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else ""
        )
        say(f"turnwise: error: {place}{error.strerror or error}{remedy}", err=True)
        _discard_output()
        return TurnwiseError.exit_code
    except Exception as error:  # 1 is a failed gate's code, and must not mean anything else
        from turnwise.cli.common.crash import crashed

        if broken := _unreadable_packages(error):
            say(
                f"turnwise: error: the metadata of {', '.join(broken)} cannot be read, and another package needs it; "
                "uninstall or repair it",
                err=True,
            )
            return UsageError.exit_code
        return crashed(args, error)
    finally:  # -v sets it, and click closes no context of a command line that it could not parse
        if traced is None:
            os.environ.pop(TRACEBACKS, None)
    return code if isinstance(code, int) else 0
