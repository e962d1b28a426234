"""What `tools/test_installs.py` calls right and wrong; the program itself runs in `make test-installs`."""

import sys

import pytest

from tools.test_installs import (
    OK,
    TRIALS,
    WRONG,
    Outcome,
    available,
    extras,
    other_trials,
    outcome,
    print_matrix,
    trial,
    verdict,
)
from turnwise.commands import COMMANDS
from turnwise.errors import MissingExtra

SERVED = trial("rate logs.jsonl", "web", "postgres")


@pytest.mark.parametrize(
    ("here", "code", "output", "expected"),
    [
        ({"web", "postgres"}, 0, "http://127.0.0.1", OK),
        ({"web"}, 2, str(MissingExtra("the rating app", "postgres")), "needs postgres"),
        (set(), 3, str(MissingExtra("the rating app", "web")), "needs web"),
        ({"web", "postgres"}, 2, str(MissingExtra("the rating app", "web")), WRONG),
        ({"web"}, 2, str(MissingExtra("the rating app", "web")), WRONG),
        (set(), 2, str(MissingExtra("the rating app", "neural")), WRONG),
        (set(), 2, "turnwise: error: no such file", WRONG),
        (set(), 70, str(MissingExtra("the rating app", "web")), WRONG),
        (set(), 0, "", WRONG),
        ({"web", "postgres"}, 0, "Traceback (most recent call last):", WRONG),
    ],
)
def test_a_trial_succeeds_or_names_an_extra_that_it_needs_and_that_is_missing(here, code, output, expected):
    assert verdict(SERVED, frozenset(here), code, output) == expected


def test_a_command_that_asks_for_more_says_so_and_names_no_extra():
    asking = trial("score judge", says="needs an address")
    assert verdict(asking, frozenset(), 2, "it needs an address") == OK
    assert verdict(asking, frozenset(), 2, f"it needs an address; {MissingExtra('it', 'web')}") == WRONG


def test_an_extra_is_there_if_all_its_packages_are_whoever_brought_them():
    assert available(["jsonschema", "polars"]) == {"tools"}
    assert available(["polars", "zstandard"]) == {"tables"}


def test_every_command_and_every_extra_has_a_trial():
    tried = {each.words.split()[0] for each in (*TRIALS, *other_trials([*COMMANDS, "sing"]))}
    assert tried >= {*COMMANDS, "sing"}
    assert {extra for each in TRIALS for extra in each.needs} == set(extras())


def test_a_command_without_a_trial_of_its_own_gives_an_answer_or_a_message_without_an_extra():
    (new,) = other_trials(["sing"])
    assert verdict(new, frozenset(), 0, "la la") == OK
    assert verdict(new, frozenset(), 2, "turnwise: error: no song") == OK
    assert verdict(new, frozenset(), 2, f"turnwise: error: {MissingExtra('it', 'web')}") == WRONG
    assert verdict(new, frozenset(), 70, "turnwise: unexpected TypeError") == WRONG


def test_a_program_that_does_not_end_is_a_wrong_cell_of_the_matrix():
    late = outcome("sleeps", [sys.executable, "-c", "import time; time.sleep(60)"], 0.2)
    assert late.verdict == WRONG
    assert "stopped after" in late.output


def test_the_matrix_has_a_row_for_each_trial(capsys):
    print_matrix({"none": [Outcome("ls", OK), Outcome("view", "needs web")], "web": [Outcome("ls", OK)]})
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["none", "web"],
        ["ok", "ok", "ls"],
        ["needs", "web", "view"],
    ]
