"""Messages name the keywords of a function in Python, and the options of a command on its line."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import turnwise as tw
from tests.library.test_command_line import COMMANDS, OWN
from turnwise.cli.common.group import cli
from turnwise.library.arguments import _hints
from turnwise.library.keywords import keyword, with_keywords

DEMO = str(Path(tw.__file__).parent / "data" / "demo.jsonl")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_the_keyword_that_the_command_passes_on(name: str):
    hints: dict[str, Any] = {}
    for function in COMMANDS[name][0]:
        hints |= _hints(function)
    command = cli.get_command(click.Context(cli), name)
    for parameter in command.params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            if option.startswith("-") and parameter.name not in OWN:
                found = keyword(option, hints)
                assert found is not None, option
                assert found[0] == parameter.name, option
                is_negative = option in parameter.secondary_opts or (
                    parameter.is_flag and not parameter.flag_value
                )
                assert found[1] is not is_negative, option


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tw.compare(DEMO, metrics="length"), 'agents="A,B" names the two to compare; the data has good, dull'),
        (lambda: tw.power(), "or the spread: sd=... with icc=... and rater_sd=..., or win_rate=..."),
        (lambda: tw.power(sd=1, difference=1, power=0.1, alpha=0.2), "power=0.1 must be above alpha=0.2"),
        (lambda: tw.calibrate(DEMO, metrics="length", labels="x"), 'labels="x": expected how the rated items'),
        (lambda: tw.ope(DEMO), 'targets="@alternatives", or leave each out in turn with all_agents=True'),
        (lambda: tw.score(DEMO, metrics="length", address="h:1"), '"h:1" is that of a Ray cluster: add on="ray"'),
        (lambda: tw.score(DEMO, metrics="length", where={"a": "b"}), 'where={"a": "b"} matches none of 40 dialogues'),
        (lambda: tw.score(DEMO, metrics="length", items="rated", role="user"), 'items="rated": no user turn'),
    ],
)  # fmt: skip
def test_an_error_of_a_function_names_its_keywords(call: Callable[[], object], message: str):
    with pytest.raises(tw.TurnwiseError) as raised:
        call()
    assert message in str(raised.value)


def test_the_problems_of_a_data_error_have_the_same_words():
    with pytest.raises(tw.DataError) as raised:
        tw.score(DEMO, metrics="length", where={"a": "b"})
    assert str(raised.value) == "\n".join(map(str, raised.value.problems))


def test_the_same_error_of_a_command_names_its_options(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "turnwise", "compare", DEMO, "-m", "length"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--agents A,B names the two to compare" in done.stderr


@pytest.mark.parametrize(
    ("function", "text", "expected"),
    [
        (tw.ope, "leave --stream out, and --no-calibrate", "leave stream=True out, and calibrate=False"),
        (tw.harden, "--harden writes a model: give -o a folder", "harden writes a model: give output=... a folder"),
        (tw.calibrate, "draw at random (--labels random)", 'draw at random (labels="random")'),
        (tw.power, "goes with --ties and --icc alone", "goes with ties=... and icc=... alone"),
    ],
)  # fmt: skip
def test_options_become_keywords_with_their_values(function: Callable[..., object], text: str, expected: str):
    assert with_keywords(text, function.__name__, _hints(function)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "first: turnwise convert --from mt-bench A B logs.jsonl",
        "`turnwise respond --self-play` makes some; `meta --level pair` too",
        "say --map 'id=...' with --from csv",  # --map is an option of another command
        "a text -- with a dash-o and -5",
    ],
)
def test_commands_and_options_of_other_commands_stay_as_they_are(text: str):
    assert with_keywords(text, "compare", _hints(tw.compare)) == text


def test_an_argument_without_its_name_is_answered_with_the_keyword():
    with pytest.raises(tw.UsageError) as caught:
        tw.score(DEMO, "length")  # type: ignore[misc]
    assert str(caught.value) == (
        "score: too many positional arguments: 2 were given, and only `data` can be given without a name; name the "
        "others: metrics=..."
    )


def test_a_reason_in_a_result_names_keywords_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "failing_keywords.py").write_text("def score(replies):\n    raise ValueError('no')\n")
    monkeypatch.chdir(tmp_path)
    names = "failing_keywords:score,length"
    (failed,) = [one for one in tw.score(DEMO, metrics=names, max_errors=3).findings if one.status == "error"]
    assert failed.reason is not None
    assert "more than max_errors=3 allows" in failed.reason
    with pytest.raises(tw.TooManyErrors, match="more than max_errors=3 allows"):
        tw.score(DEMO, metrics="failing_keywords:score", max_errors=3)


def test_a_finding_of_a_comparison_has_its_verdict():
    (found,) = tw.compare(DEMO, metrics="length", agents=("good", "dull"), figures=False).findings
    assert found.verdict == found.details["verdict"]
    assert tw.score(DEMO, metrics="length", figures=False).findings[0].verdict is None
