"""Imports a command when it is called, and turns every error into a message and an exit code."""

import errno
import importlib
import os
import sys
from typing import Any

import click

from turnwise import __version__
from turnwise.cli import COMMANDS, EXITS, INTERRUPTED
from turnwise.errors import ON_COMMAND_LINE, MissingExtra, TurnwiseError, UsageError, unknown

NEURAL = ("torch", "transformers", "tokenizers", "safetensors", "gguf")  # what the extra `neural` brings


class LazyGroup(click.Group):
    """Imports `turnwise.cli.NAME` only when NAME is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands in the order of `turnwise --help`; imports none."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"turnwise.cli.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click's, but an unknown command raises `UsageError` with the nearest names."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise unknown("command", args[0], list(COMMANDS))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click's, but a missing package of the extra `neural` raises `MissingExtra`, and errors name options."""
        token = ON_COMMAND_LINE.set(True)
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in NEURAL:
                raise MissingExtra("this command", "neural") from error
            raise
        finally:
            ON_COMMAND_LINE.reset(token)


@click.command(
    cls=LazyGroup,
    help="Evaluate dialogue systems from their dialogues; every number has an interval and a signature.",
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
    if args[:1] == ["simulate"]:  # its agents may have changed since
        return "the same command starts again from the beginning"
    if args[:1] == ["convert"]:  # it has no -o
        return "the same command resumes where it stopped"
    return "the same command with the same -o resumes where it stopped"


def run(args: list[str]) -> int:
    """Run one command line (without the program's name) and return the exit code; errors are printed on stderr."""
    try:
        if any("\0" in arg for arg in args):  # every use of such a path is a ValueError
            raise UsageError("an argument has a null byte")
        code = cli.main(args, prog_name="turnwise", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk can still be reported
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except TurnwiseError as error:
        print(f"turnwise: error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        _discard_output()  # the reader has closed the pipe (`turnwise ls metrics | head`)
        return 0
    except (click.Abort, KeyboardInterrupt):
        print(f"turnwise: interrupted; {_how_to_continue(args)}", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        remedy = (
            f"; free some, and {_how_to_continue(args)}"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else ""
        )
        print(f"turnwise: error: {place}{error.strerror or error}{remedy}", file=sys.stderr)
        _discard_output()
        return TurnwiseError.exit_code
    except Exception as error:  # 1 is a failed gate's code, and must not mean anything else
        from turnwise.cli.common.crash import crashed

        return crashed(args, error)
    return code if isinstance(code, int) else 0
