"""Messages name the keywords of a function in Python, and the options of a command on its line."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import turnwise as tw

DEMO = str(Path(tw.__file__).parent / "data" / "demo.jsonl")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tw.compare(DEMO, metrics="length", agents="good"), 'agents="A,B" names those to compare, two or more'),
        (lambda: tw.power(), "or the spread: sd=... with icc=... and rater_sd=..., or win_rate=..."),
        (lambda: tw.power(sd=1, difference=1, power=0.1, alpha=0.2), "power=0.1 must be above alpha=0.2"),
        (lambda: tw.calibrate(DEMO, metrics="length", labels="x"), 'labels="x": expected how the rated items'),
        (lambda: tw.ope(DEMO), 'targets="@alternatives", or leave each out in turn with all_agents=True'),
        (lambda: tw.ope(DEMO, all_agents=True, stream=True, limit=3), "stream=True takes whole files: leave limit=..."),
        (lambda: tw.ope(DEMO, targets="x", where={"meta.a": "b"}), 'where={"meta.a": "b"} leaves no dialogue'),
        (lambda: tw.respond(DEMO, agent="a:b", name="x", output="o", user="u"), "user=... plays the user in self_play"),
        (lambda: tw.simulate("chat", output="-"), "give a file, or truth=0"),
        (lambda: tw.attack("length", DEMO, by="meta.a"), 'separately with where=...; by=... accepts only `file`'),
        (lambda: tw.harden("length", DEMO, output="o"), "`length` cannot be hardened by itself"),
        (lambda: tw.harden("maude", DEMO, output="o", stages="baselines"), "needs a search: stages=... must have"),
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
        [sys.executable, "-m", "turnwise", "compare", DEMO, "-m", "length", "--agents", "good"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--agents A,B names those to compare, two or more; the data has good, dull" in done.stderr


def test_an_argument_without_its_name_is_answered_with_the_keyword():
    with pytest.raises(tw.UsageError) as caught:
        tw.score(DEMO, "length")  # type: ignore[misc]
    assert str(caught.value) == (
        "score: too many positional arguments: 2 were given, and only `data` can be given without a name; name the "
        "others: metrics=..."
    )


def test_an_argument_that_is_given_twice_is_named():
    with pytest.raises(tw.UsageError) as caught:
        tw.score(DEMO, data=DEMO, metrics="length")  # type: ignore[misc]
    assert str(caught.value) == "score: `data` is given twice, once without its name"


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
    assert found.verdict == "good is higher"
