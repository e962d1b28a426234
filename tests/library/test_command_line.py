"""The options of each command are the parameters of its function, with the same defaults."""

import inspect

import click
import pytest
from click.core import ParameterSource

import turnwise as tw
from turnwise.cli.common.group import cli

# Parameters of a command line alone, and those that it computes.
OWN = {
    "config",
    "style",
    "quiet",
    "verbose",
    "wide",
    "gates",
    "junit",
    "no_cache",
    "harden",
    "gate",
    "schema",
}
COMPUTED = {"progress", "figures", "reuse"}
COMMANDS = {  # command -> its functions, and the least that must be typed
    "compare": ([tw.compare], "logs.jsonl"),
    "meta": ([tw.meta_evaluate], "logs.jsonl"),
    "calibrate": ([tw.calibrate], "logs.jsonl -m length --labels random"),
    "power": ([tw.power], "--sd 1 --difference 0.3"),
    "ope": ([tw.ope], "logs.jsonl"),
    "attack": ([tw.attack, tw.harden], "length --contexts logs.jsonl"),
    "train": ([tw.train], "adem logs.jsonl -o model"),
    "respond": ([tw.respond], "logs.jsonl --agent a:b --name a -o out.jsonl"),
    "simulate": ([tw.simulate], "chat -o out.jsonl"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_the_parameters_of_its_function_and_their_defaults(name: str):
    functions, line = COMMANDS[name]
    command = cli.get_command(click.Context(cli), name)
    context = command.make_context(name, line.split())
    known: dict[str, inspect.Parameter] = {}
    for function in functions:
        known |= inspect.signature(function).parameters
    typed = {key: value for key, value in context.params.items() if key not in OWN}
    assert set(typed) - COMPUTED == set(known) - COMPUTED
    for key, value in typed.items():
        if key not in COMPUTED and context.get_parameter_source(key) is ParameterSource.DEFAULT:
            default = known[key].default
            assert (
                value in (default, (default,))
                or (not value and default in (None, (), ""))
                or (key == "output" and value is None)
            ), key
