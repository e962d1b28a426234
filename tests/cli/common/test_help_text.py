"""The help of every command at 80 columns: no line is longer, and no word or option is broken."""

import re

import click
import pytest

from turnwise.cli import about, overview
from turnwise.cli.common.group import cli
from turnwise.commands import COMMANDS

WIDTH = 80


def shown(name: str, width: int) -> tuple[click.Command, str]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    context = command.context_class(
        command, info_name=f"turnwise {name}", terminal_width=width, max_content_width=width
    )
    return command, command.get_help(context)


def words(command: click.Command) -> set[str]:
    """The words of the help as written: of its text, of the options' texts, and the options themselves."""
    texts = [command.help or ""]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            texts += [
                parameter.help or "",
                *parameter.opts,
                *parameter.secondary_opts,
                parameter.metavar or "",
            ]
    return {word for text in texts for word in text.replace("\b", "").split()}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_than_the_terminal_and_no_word_is_broken(name: str):
    command, text = shown(name, WIDTH)
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    there = set(re.split(r"[\s,]+", text)) | set(text.split())
    assert {word for word in words(command) if word not in there and word.rstrip(",") not in there} == set()


@pytest.mark.parametrize("width", [60, 72, 90, 100])
def test_no_width_breaks_a_word_at_a_hyphen(width: int):
    for name in COMMANDS:
        assert [line for line in shown(name, width)[1].splitlines() if re.search(r"\w-$", line)] == [], name


def test_the_list_of_commands_fits_too():
    assert [line for line in overview().splitlines() if len(line) > WIDTH] == []
    assert set(" ".join(map(about, COMMANDS)).split()) <= set(overview().split())
