"""The command line of a command is made from its settings and those of its screen."""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from click.testing import CliRunner

from turnwise.cli.building import command_line
from turnwise.commands.screen import Quiet
from turnwise.settings.groups import Command
from turnwise.settings.option import Names, Option, Paths
from turnwise.terminal import say


@dataclass(frozen=True, kw_only=True)
class Small(Quiet):
    """Settings of the command line alone."""

    about: Annotated[bool, Option("Print something and end.", prints=lambda: say("about this"))] = False
    old: Annotated[bool, Option("Without effect.", hidden=True)] = False


@dataclass(frozen=True, kw_only=True)
class Example(Command):
    """An example."""

    command: ClassVar[str] = "example"
    screen_class = Small
    configurable: ClassVar[bool] = False
    given: ClassVar[dict[str, Any]] = {}

    kind: Annotated[Literal["one", "two"], Option("A choice.", flags="KIND")] = field(
        default="one", kw_only=False
    )
    names: Annotated[Names, Option("Names.", flags="[NAME]...")] = ()
    output: Annotated[Paths, Option("Files.", flags="-o --output", repeatable=True)] = "report.html"
    progress: Annotated[bool, Option("Show progress.", only_python=True)] = False

    @classmethod
    def on_command_line(cls, screen: Small, given: dict[str, Any]) -> int:
        cls.given.clear()
        cls.given.update(given, quiet=screen.quiet, command=cls(**given))
        return 0


def run(*words: str) -> str:
    done = CliRunner().invoke(command_line(Example), list(words))
    assert done.exit_code == 0, done.output
    return done.output


def test_only_what_was_given_is_passed_on_and_the_class_has_the_defaults():
    run()
    assert set(Example.given) == {"progress", "quiet", "command"}
    assert Example.given["progress"]
    assert Example.given["command"].output == ("report.html",)
    run("two", "a,b", "c", "-o", "report.html", "-q")
    assert Example.given["command"] == Example("two", names=("a", "b", "c"), output="report.html")
    assert Example.given["output"] == ("report.html",)


def test_a_flag_that_prints_ends_before_other_parameters_are_looked_at():
    assert run("nonsense", "--about") == "about this\n"


def test_the_help_has_choices_and_defaults_and_no_hidden_options():
    text = run("--help")
    assert "[OPTIONS] [one|two] [NAME]..." in text
    assert "[default: report.html]" in text
    assert "--old" not in text
    assert "--progress" not in text
