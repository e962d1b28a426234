"""Plugins that pass the checks at their resolution and fail while they run: each is named, and the rest goes on."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import turnwise
from tests.plugin_sites import install, run
from tests.tiny_models import write_llama
from turnwise.logs import native
from turnwise.testing import dialogues

MODULE = '''
import math

import numpy as np

from turnwise.plugins import *

CARD = Card("unreferenced", "m", "r", "l", "c")
WHOLE = Card("estimator", "m", "r", "l", "c")
print("printed by the import")


class Good(Mean):
    level, needs, higher_is_better = "turn", frozenset(), True
    unscored, card = "never", CARD

    @property
    def signature(self):
        return Signature(type(self).__name__)

    def value(self, item, /):
        return 1.0


class Prints(Good):
    def value(self, item, /):
        print("printed by the metric")
        return 2.0


class Fails(Good):
    def value(self, item, /):
        raise ValueError(f"no score for {item.id}")


class Infinite(Good):
    def value(self, item, /):
        return math.inf if len(item.reply) % 2 else 1.0


class InfiniteSum(Good):
    def of_sums(self, sums, /):
        return np.full(sums.shape[:-1], np.inf)


class NeedsReferences(Good):
    needs = frozenset({"references"})

    def value(self, item, /):
        return float(len(item.references[0]))


class Estimator:
    card = WHOLE

    @property
    def signature(self):
        return Signature(type(self).__name__)


class OtherMean(Estimator):
    def estimate(self, episodes, target, /, *, rng):
        return Estimate(value=3.0, contributions=np.ones(len(episodes.reward)))


class Divides(Estimator):
    def estimate(self, episodes, target, /, *, rng):
        return 1 / 0


def wrong_role(path, options):
    """Yields a role that is none."""
    yield Dialogue("1", "bot", (Turn("bot", "hi"),))


def one_parameter(path):
    """Takes no options."""
    yield Dialogue("1", "bot", (Turn("user", "hi"),))


def nothing(path, options):
    """Returns nothing."""


def text(path, options):
    """One dialogue a file."""
    print("printed by the reader")
    with open(path, encoding="utf-8") as file:
        yield Dialogue("1", "bot", (Turn("user", "hi"), Turn("assistant", file.read())))


class Agent:
    """Fails."""

    def __call__(self, turns, rng, /):
        raise RuntimeError("no model")
'''
POINTS = """
[turnwise.metrics]
good = failing_pack:Good
prints = failing_pack:Prints
fails = failing_pack:Fails
infinite = failing_pack:Infinite
infinite-sum = failing_pack:InfiniteSum
needs-references = failing_pack:NeedsReferences

[turnwise.estimators]
other-mean = failing_pack:OtherMean
divides = failing_pack:Divides

[turnwise.readers]
wrong-role = failing_pack:wrong_role
one-parameter = failing_pack:one_parameter
nothing = failing_pack:nothing
text = failing_pack:text

[turnwise.agents]
failing = failing_pack:Agent
"""
TARGET = dialogues(agents=7, each=6)[0].agent


def line_of(code: str) -> int:
    """The number of the first line of the module that has this code."""
    return next(number for number, line in enumerate(MODULE.splitlines(), 1) if code in line)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("failing")
    (site / "failing_pack.py").write_text(MODULE)
    install(site, "failing-pack", POINTS)
    native.write(dialogues(agents=7, each=6), str(site / "logs.jsonl"))
    (site / "text.txt").write_text("Hello.")
    return site


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_plugins_print_is_not_in_the_results(site: Path, jobs: str) -> None:
    code, out, stderr = run(
        site, "score", "logs.jsonl", "-m", "length,prints", "--format", "json", "--jobs", jobs
    )
    assert code == 0
    assert {one["metric"] for one in json.loads(out)["results"]} == {"length", "prints"}
    assert {"printed by the import", "printed by the metric"} <= set(stderr)
    code, out, stderr = run(site, "ls", "metrics", "--format", "json")
    assert "good" in {one["name"] for one in json.loads(out)}
    assert "printed by the import" in stderr


def test_what_a_reader_prints_is_not_in_what_is_converted(site: Path) -> None:
    code, out, stderr = run(site, "convert", "--from", "text", "text.txt", "-")
    assert code == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["1"]
    assert "printed by the reader" in stderr


def test_exceptions_from_one_line_are_one_note_with_package_file_and_line(site: Path) -> None:
    code, _, stderr = run(
        site, "score", "logs.jsonl", "-m", "good,fails", "--max-errors", "1000000", "-o", "notes"
    )
    assert code == 0
    where = f"(failing_pack.py:{line_of('no score for')})"
    notes = [line for line in stderr if "ValueError" in line]
    assert len(notes) == 1, notes
    assert "metric `fails` of failing-pack: failing_pack.Fails raised ValueError: no score for" in notes[0]
    assert notes[0].endswith(where)
    items = [json.loads(line) for line in (site / "notes" / "items.jsonl").read_text().splitlines()]
    reasons = {one["id"]: one["unscored"]["fails"]["reason"] for one in items}
    assert all(f"no score for {item} (" in reason for item, reason in reasons.items())


def test_a_traceback_is_printed_with_v_only(site: Path) -> None:
    _, _, quiet = run(site, "score", "logs.jsonl", "-m", "good,fails")
    assert not any(line.startswith("Traceback") for line in quiet)
    _, _, stderr = run(site, "score", "logs.jsonl", "-m", "good,fails", "-v")
    assert sum(line.startswith("Traceback") for line in stderr) == 1
    assert any(line.strip().startswith('raise ValueError(f"no score') for line in stderr)


def test_an_infinite_number_of_an_item_is_an_error_of_that_item(site: Path) -> None:
    args = ("-m", "good,infinite,infinite-sum", "--format", "json", "--max-errors", "1000000")
    code, out, stderr = run(site, "score", "logs.jsonl", *args)
    assert code == 0
    found = json.loads(out)["results"]
    assert not any("RuntimeWarning" in line for line in stderr), stderr
    finite = [one for one in found if one["metric"] == "infinite" and one["estimate"] is not None]
    said = (
        "metric `infinite` of failing-pack: failing_pack.Infinite.rows returned inf; expected numbers between"
    )
    assert {one["estimate"] for one in finite} == {1.0}
    assert any(reason.startswith(said) for one in finite for reason in one["unscored"]), finite
    sums = [one for one in found if one["metric"] == "infinite-sum"]
    assert {(one["status"], one["estimate"]) for one in sums} == {("error", None)}
    assert "failing_pack.InfiniteSum.of_sums returned inf; expected a finite number" in sums[0]["reason"]


def test_a_changed_plugin_is_asked_again(site: Path, tmp_path: Path) -> None:
    (tmp_path / "failing_pack.py").write_text(MODULE)
    install(tmp_path, "failing-pack", POINTS, version="1.5")
    logs = str(site / "logs.jsonl")
    args = ("score", logs, "-m", "good", "--format", "json", "-o", "out")
    _, out, _ = run(tmp_path, *args)
    assert {one["estimate"] for one in json.loads(out)["results"]} == {1.0}
    assert json.loads(out)["origin"]["packages"]["failing-pack"] == "1.5"
    (tmp_path / "failing_pack.py").write_text(MODULE.replace("return 1.0", "return 4.0"))
    # Python takes a compiled module for that of a file of the same size and second.
    os.utime(tmp_path / "failing_pack.py", (time.time() + 5, time.time() + 5))
    _, out, _ = run(tmp_path, *args)
    assert {one["estimate"] for one in json.loads(out)["results"]} == {4.0}


def test_an_estimator_is_named_with_its_package_and_line_and_its_contributions_have_its_value(
    site: Path,
) -> None:
    code, out, stderr = run(
        site, "ope", "logs.jsonl", "--rating", "reward", "--target", TARGET, "--model", "hashing",
        "--estimator", "mean,other-mean,divides", "--no-calibrate", "--format", "json", "-q",
    )  # fmt: skip
    assert code == 0, stderr
    found = {one["estimator"]: one for one in json.loads(out)["results"]}
    assert found["mean"]["estimate"] is not None
    assert found["other-mean"]["reason"] == (
        "estimator `other-mean` of failing-pack: failing_pack.OtherMean.estimate returned an Estimate whose `value` is "
        "3, and the mean of its `contributions` is 1; expected the same number"
    )
    assert found["divides"]["reason"] == (
        "estimator `divides` of failing-pack: failing_pack.Divides.estimate raised ZeroDivisionError: division by zero "
        f"(failing_pack.py:{line_of('return 1 / 0')})"
    )


def test_ope_does_not_ask_a_metric_about_items_that_lack_what_it_needs(site: Path) -> None:
    _, out, stderr = run(
        site, "ope", "logs.jsonl", "--rating", "reward", "--target", TARGET, "--model", "hashing",
        "--estimator", "mean,metric:needs-references", "--no-calibrate", "--format", "json",
    )  # fmt: skip
    assert not any("index out of range" in line for line in [out, *stderr]), stderr


@pytest.mark.parametrize(
    ("reader", "line"),
    [
        (
            "wrong-role",
            'reader `wrong-role` of failing-pack: dialogue 1 of text.txt, as read: $.messages[0].role is "bot"; '
            "expected one of user, assistant, system, tool",
        ),
        (
            "one-parameter",
            "reader `one-parameter` of failing-pack: failing_pack:one_parameter has the parameters (path); expected "
            "read(path, options) -> Iterator[Dialogue]",
        ),
        (
            "nothing",
            "reader `nothing` of failing-pack: returned None; expected an iterator of turnwise.plugins.Dialogue",
        ),
    ],
)
def test_a_wrong_reader_is_named(site: Path, reader: str, line: str) -> None:
    code, _, stderr = run(site, "convert", "--from", reader, "text.txt", "new.jsonl")
    assert code == 2
    assert stderr[-1] == f"turnwise: error: {line}"


def test_ls_readers_leaves_out_a_function_without_options(site: Path) -> None:
    code, out, stderr = run(site, "ls", "readers")
    assert code == 0
    assert "one-parameter" not in out
    assert any("reader `one-parameter` of failing-pack: " in line for line in stderr)


def test_a_file_in_another_encoding_is_an_error_of_the_file(site: Path) -> None:
    (site / "latin.txt").write_bytes("Grüße".encode("latin-1"))
    code, _, stderr = run(site, "convert", "--from", "text", "latin.txt", "new.jsonl")
    assert code == 2
    assert stderr[-1].startswith(
        "turnwise: error: latin.txt: is not in utf-8, which reader `text` of failing-pack reads: invalid"
    )


def test_a_failing_agent_is_named_once_with_its_package_and_line(site: Path) -> None:
    args = ("--agent", "failing", "--name", "new", "-o", "new.jsonl", "--limit", "3", "-q")
    code, _, stderr = run(site, "respond", "logs.jsonl", *args)
    assert code == 3
    line = line_of("no model")
    said = f"the agent `failing` of failing-pack raised RuntimeError: no model (failing_pack.py:{line}) (2 calls)"
    assert stderr[-1].count(said) == 1, stderr
    assert stderr[-1].count("no model") == 1, stderr


def test_text_that_no_reader_recognises_is_answered_with_from(site: Path) -> None:
    (site / "two.txt").write_text("~~ 1\n> hi\n< ho\n")
    code, _, stderr = run(site, "score", "two.txt", "-m", "length")
    assert code == 2
    assert "name that with --from (`turnwise ls readers` has all)" in stderr[-1]


def test_unreadable_metadata_of_another_package_is_no_defect_of_turnwise(site: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    install(tmp_path, "garbled-pack", "[turnwise.metrics]\nfoo bar baz\n")
    logs = str(site / "logs.jsonl")
    write_llama(tmp_path / "llama")
    args = ("--agent", str(tmp_path / "llama"), "--name", "new", "-o", "new.jsonl")
    code, _, stderr = run(
        tmp_path, "respond", logs, *args, warm=False
    )  # torch reads metadata when it is imported
    assert code == 2, stderr
    assert stderr[-1].startswith("turnwise: error: the metadata of garbled-pack (")


def test_ls_estimators_does_not_import_torch(site: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "turnwise", "ls", "estimators"],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(turnwise.__file__).parent.parent)},
    )  # fmt: skip
    assert "lstdq-neural" in done.stdout
    assert not any(line.endswith("| torch") for line in done.stderr.splitlines())
