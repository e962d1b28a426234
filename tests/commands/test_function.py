"""The public function of a command, and its command line, are made from the fields of its class."""

import pydoc
from collections.abc import Callable
from pathlib import Path

import pytest

import turnwise as tw
from turnwise.cli.common.group import run
from turnwise.commands.compare import Compare
from turnwise.commands.power import parsed_counts

DEMO = str(Path(tw.__file__).parent / "data" / "demo.jsonl")


def test_a_package_that_a_call_lacks_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_without_torch(_: Compare) -> None:
        raise ModuleNotFoundError("no torch", name="torch")

    monkeypatch.setattr(Compare, "run", run_without_torch)
    with pytest.raises(tw.MissingExtra, match="this call of `compare` needs the extra"):
        tw.compare(DEMO)


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("diff old", "Missing argument 'NEW'"),
        ("compare", "Missing argument 'DATA...'"),
        (
            "calibrate logs.jsonl -m length",
            "Missing option '--labels'. --labels random|weights:KEY|unknown: How the",
        ),
        ("calibrate logs.jsonl --labels random", "Missing option '-m' / '--metric'"),
    ],
)
def test_what_must_be_given_is_named_by_the_command_line(
    line: str, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == 2
    assert missing in capsys.readouterr().err


def test_counts_by_comma_are_whole_numbers_above_zero() -> None:
    assert parsed_counts("1, 3,5") == (1, 3, 5)
    for text in ("a", "0", "1.5", "2000000000"):
        with pytest.raises(ValueError, match=f"`{text}` is not whole numbers from 1 to 1,000,000,000"):
            parsed_counts(text)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tw.compare(DEMO, margin=-1.0), "margin=-1.0: expected a number above 0, or NAME=NUMBER"),
        (lambda: tw.meta_evaluate(DEMO, statistics=","), "`statistics` names nothing"),
        (lambda: tw.meta_evaluate(DEMO, precision=1.0), "meta_evaluate: `precision` must be a float >= 1e-06 and < 1"),
        (lambda: tw.calibrate(DEMO, metrics="length", labels="random", plan=2), "plan=... writes plan.jsonl"),
        (lambda: tw.power(sd=1, difference=float("nan")), "power: `difference` must be a float"),
        (lambda: tw.power(DEMO, sd=1), "sd=...: the pilot's own spread is used"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_named_as_keywords(call: Callable[[], object], message: str) -> None:
    with pytest.raises(tw.UsageError) as raised:
        call()
    assert message in str(raised.value)


def test_help_shows_data_by_its_name() -> None:
    for function in (tw.score, tw.compare, tw.validate, tw.attack):
        shown = pydoc.plain(pydoc.render_doc(function))
        assert ": Data," in shown or ": Data)" in shown
        assert "turnwise.settings.data" not in shown
    assert "real: Data | None = None" in pydoc.plain(pydoc.render_doc(tw.play))
