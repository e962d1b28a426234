from copy import copy

import pytest

from turnwise.cli.common.group import run
from turnwise.commands import COMMANDS
from turnwise.errors import LISTS, Refused, TooFewItems, counted, unknown


def test_a_number_and_its_noun_agree():
    assert [counted(n, "test") for n in (0, 1, 2)] == ["0 tests", "1 test", "2 tests"]


def test_an_unknown_name_is_answered_with_the_nearest_and_a_list_only_where_there_is_one():
    assert str(unknown("command", "scroe", list(COMMANDS))).endswith("(`turnwise --help` has all)")
    assert "turnwise ls" not in str(unknown("tokeniser", "13b", ["13a", "words"]))
    assert str(unknown("tokeniser", "13b", ["13a"])).endswith("there is only 13a")


def test_a_refusal_has_a_code_and_keeps_its_fields_between_processes():
    with pytest.raises(TypeError, match="code"):
        Refused("too few")  # type: ignore[call-arg]
    error = TooFewItems("{n:#agent}, and {needed} are needed", "too-few-agents", n=1, needed=4)
    other = copy(error)  # made anew as `pickle` makes it
    assert (type(other), str(other)) == (TooFewItems, "1 agent, and 4 are needed")
    assert other.reason == error.reason


@pytest.mark.parametrize("where", LISTS.values())
def test_every_list_that_an_error_names_exists(capsys, where):
    command = where.split("`")[1].removeprefix("turnwise ").split()
    if command != ["--help"]:  # answered before the group is loaded
        assert run(command) == 0
        assert capsys.readouterr().out
