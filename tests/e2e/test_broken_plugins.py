"""A package of broken plugins: each gets one clear line, and everything else goes on.

The package is installed as a folder with a module and dist-info metadata, as pip would leave it.
"""

import json
import os
from pathlib import Path

import pytest

from tests import plugin_sites
from tests.plugin_sites import install
from turnwise.logs import native
from turnwise.testing import dialogues

MODULE = '''
from turnwise.plugins import *
from turnwise.plugins import Mean
import numpy as np

CARD = Card(kind="feature", meaning="m", range="r", limits="l", citation="c")
WHOLE = Card(kind="estimator", meaning="m", range="r", limits="l", citation="c")


class Good(Mean):
    level, needs, higher_is_better = "turn", frozenset(), True
    unscored, card = "never", CARD
    signature = property(lambda self: Signature("good"))

    def value(self, item, /):
        return float(len(item.reply))


class NoCard(Good):
    card = None


class WrongLevel(Good):
    level = "paragraph"


class WrongNeeds(Good):
    needs = frozenset({"money"})


class TextSignature(Good):
    signature = "good"


class ListRows(Good):
    signature = property(lambda self: Signature("list-rows"))

    def rows(self, items, /):
        return [[1.0, 1.0] for _ in items]


class FewRows(Good):
    signature = property(lambda self: Signature("few-rows"))

    def rows(self, items, /):
        return np.ones((max(0, len(items) - 1), 2))


class IntRows(Good):
    signature = property(lambda self: Signature("int-rows"))

    def rows(self, items, /):
        return np.ones((len(items), 2), dtype=int)


class TextNumber(Good):
    signature = property(lambda self: Signature("text-number"))
    of_sums = None

    def reduce(self, rows, /):
        return "much"


class Raises(Good):
    signature = property(lambda self: Signature("raises"))

    def __init__(self):
        raise RuntimeError("no licence\\nfor this machine")


class FloatEstimator:
    card = WHOLE
    signature = property(lambda self: Signature("float"))

    def estimate(self, episodes, target, /, *, rng):
        return 0.5


class NoEstimate:
    card = WHOLE
    signature = property(lambda self: Signature("none"))


def records(path, options):
    yield {"id": "1"}


def misread(path, options):
    raise KeyError("speaker")


class Silent:
    """An agent that says nothing."""

    def __call__(self, turns, rng):
        return None


def answer(turns, rng):
    return Reply("hello")


def train(task):
    """Trains nothing."""
    return {"weights": 1}


class TrainerClass:
    """A class and not an instance."""
'''
WORLD = """
from turnwise.worlds import chat
WORLD, family = chat.WORLD, chat.family
"""
POINTS = """
[turnwise.metrics]
good = broken_pack:Good
no-card = broken_pack:NoCard
wrong-level = broken_pack:WrongLevel
wrong-needs = broken_pack:WrongNeeds
text-signature = broken_pack:TextSignature
list-rows = broken_pack:ListRows
few-rows = broken_pack:FewRows
int-rows = broken_pack:IntRows
text-number = broken_pack:TextNumber
raises = broken_pack:Raises
no-module = no_such_module:Metric
no-class = broken_pack:NoSuchClass
length = broken_pack:Good
a:b = broken_pack:Good
twice = broken_pack:Good

[turnwise.estimators]
float = broken_pack:FloatEstimator
no-estimate = broken_pack:NoEstimate

[turnwise.readers]
records = broken_pack:records
misread = broken_pack:misread
no-reader = broken_pack:CARD

[turnwise.agents]
silent = broken_pack:Silent
bare = broken_pack:answer

[turnwise.worlds]
no-families = broken_world

[turnwise.trainers]
dict = broken_pack:train
class = broken_pack:TrainerClass
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    (site / "broken_pack.py").write_text(MODULE)
    (site / "broken_world.py").write_text(WORLD)
    install(site, "broken-pack", POINTS)
    install(site, "other-pack", "[turnwise.metrics]\ntwice = broken_pack:Good\n")
    native.write(dialogues(agents=7, each=6), str(site / "logs.jsonl"))
    return site


def run(site: Path, *args: str) -> tuple[int, str, list[str]]:
    """What a command gives, which is never a traceback."""
    found = plugin_sites.run(site, *args)
    assert "Traceback" not in "".join(found[2]), found[2]
    return found


UNLISTED = {
    "no-card": "metric `no-card` of broken-pack: `card` is None; expected a turnwise.plugins.Card",
    "wrong-level": "metric `wrong-level` of broken-pack: `level` is 'paragraph'; expected one of turn, dialogue",
    "wrong-needs": "metric `wrong-needs` of broken-pack: `needs` has `money` in it; expected a frozenset of context",
    "text-signature": "metric `text-signature` of broken-pack: `signature` is 'good'; expected a property that returns",
    "no-module": "metric `no-module` of broken-pack: cannot be loaded from no_such_module:Metric: ModuleNotFoundError",
    "no-class": "metric `no-class` of broken-pack: cannot be loaded from broken_pack:NoSuchClass: AttributeError",
    "length": "metric `length` of broken-pack: turnwise itself has a metric of this name, which is used",
    "a:b": "metric `a:b` of broken-pack: a name has none of the characters",
    "twice": "metric `twice`: broken-pack and other-pack offer this name, and neither is used",
}


def test_ls_lists_the_good_ones_and_names_each_broken_one_in_a_line(site: Path) -> None:
    code, out, stderr = run(site, "ls", "metrics")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines()[2:] if line]
    assert {"good", "length", "bleu-4", "list-rows"} <= set(names)
    assert not set(UNLISTED) - {"length"} & set(names)
    for line in UNLISTED.values():
        assert sum(one.startswith(f"note: {line}") for one in stderr) == 1, (line, stderr)
    assert len(stderr) == len(UNLISTED)


@pytest.mark.parametrize(
    ("kind", "there", "line"),
    [
        (
            "estimators",
            "robust",
            "estimator `no-estimate` of broken-pack: has no `estimate`; expected a function",
        ),
        (
            "readers",
            "native",
            "reader `no-reader` of broken-pack: broken_pack:CARD is no function; expected read(",
        ),
        (
            "worlds",
            "chat",
            "world `no-families` of broken-pack: has no `FAMILIES`; expected a dict of family names",
        ),
        (
            "trainers",
            "tfidf",
            "trainer `class` of broken-pack: is the class TrainerClass; expected a function, or",
        ),
    ],
)
def test_ls_of_other_kinds_goes_on_too(site: Path, kind: str, there: str, line: str) -> None:
    code, out, stderr = run(site, "ls", kind)
    assert code == 0
    assert any(one.split()[0] == there for one in out.splitlines())
    assert [one for one in stderr if one.startswith("note: ")] == stderr
    assert sum(one.startswith(f"note: {line}") for one in stderr) == 1, stderr


def test_ls_agents_shows_plugins(site: Path) -> None:
    code, out, stderr = run(site, "ls", "agents")
    assert code == 0
    assert "An agent that says nothing." in out
    assert stderr == []


BROKEN = {
    "no-card": "metric `no-card` of broken-pack: `card` is None",
    "raises": "metric `raises` of broken-pack: cannot be made: RuntimeError: no licence for this machine",
    "list-rows": "broken_pack.ListRows.rows returned a list; expected a float64 array of shape",
    "few-rows": "broken_pack.FewRows.rows returned an array of shape (",
    "int-rows": "broken_pack.IntRows.rows returned an array of int64; expected a float64 array",
    "text-number": "broken_pack.TextNumber.reduce returned 'much'; expected a float",
}


def test_score_reports_each_broken_metric_and_scores_the_others(site: Path) -> None:
    names = ",".join(["good", "length", *BROKEN])
    code, out, stderr = run(site, "score", "logs.jsonl", "-m", names, "--format", "json", "-q", "-o", "out")
    assert code in (0, 3), stderr
    found = json.loads(out)["results"]
    scored = {one["metric"] for one in found if one["estimate"] is not None}
    assert scored == {"good", "length"}
    for name, line in BROKEN.items():
        reasons = {one["reason"] for one in found if one["metric"] == name}
        assert all(one["status"] == "error" for one in found if one["metric"] == name)
        assert any(line in reason for reason in reasons), (name, reasons)
        assert all("\n" not in reason for reason in reasons)


def test_compare_and_meta_go_on_without_the_broken_metrics(site: Path) -> None:
    agents = sorted({one.agent for one in dialogues(agents=7, each=6)})
    code, out, stderr = run(
        site, "compare", "logs.jsonl", "--agents", f"{agents[0]},{agents[-1]}", "-m",
        "length,text-number,no-card", "--format", "json", "-q",
    )  # fmt: skip
    assert code in (0, 3), stderr
    assert {one["metric"] for one in json.loads(out)["results"] if one["estimate"] is not None} == {"length"}


def test_ope_reports_a_broken_estimator_and_estimates_with_the_others(site: Path) -> None:
    target = dialogues(agents=7, each=6)[0].agent
    code, out, stderr = run(
        site, "ope", "logs.jsonl", "--rating", "reward", "--target", target, "--model", "hashing",
        "--estimator", "mean,float,no-estimate", "--no-calibrate", "--format", "json", "-q",
    )  # fmt: skip
    assert code in (0, 3), (stderr, out)
    found = {one["estimator"]: one for one in json.loads(out)["results"]}
    assert found["mean"]["estimate"] is not None
    assert found["float"]["status"] == found["no-estimate"]["status"] == "error"
    assert found["float"]["reason"] == (
        "estimator `float` of broken-pack: broken_pack.FloatEstimator.estimate returned 0.5; "
        "expected a turnwise.plugins.Estimate"
    )
    assert found["no-estimate"]["reason"].startswith(
        "estimator `no-estimate` of broken-pack: has no `estimate`"
    )


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ("convert", "--from", "records", "logs.jsonl", "new.jsonl"),
            "reader `records` of broken-pack: dialogue 1 is a dict; expected a turnwise.plugins.Dialogue",
        ),
        (
            ("convert", "--from", "misread", "logs.jsonl", "new.jsonl"),
            "reader `misread` of broken-pack: raised KeyError: 'speaker' (broken_pack.py:89) in logs.jsonl after 0 "
            "dialogues",
        ),
        (
            ("convert", "--from", "no-reader", "logs.jsonl", "new.jsonl"),
            "reader `no-reader` of broken-pack: broken_pack:CARD is no function",
        ),
        (
            (
                "respond",
                "logs.jsonl",
                "--agent",
                "silent",
                "--name",
                "silent",
                "-o",
                "new.jsonl",
                "--limit",
                "1",
            ),
            "returned None; expected a turnwise.plugins.Reply",
        ),
        (
            ("respond", "logs.jsonl", "--agent", "bare", "--name", "bare", "-o", "new.jsonl", "--limit", "1"),
            "agent `bare` of broken-pack: broken_pack:answer has a parameter `turns` without a default",
        ),
        (
            ("simulate", "no-families", "-o", "new.jsonl"),
            "world `no-families` of broken-pack: has no `FAMILIES`",
        ),
        (
            ("train", "dict", "logs.jsonl", "-o", "model"),
            "trainer `dict` of broken-pack: returned {'weights': 1}; expected a turnwise.plugins.TrainedModel",
        ),
        (
            ("score", "logs.jsonl", "-m", "twice"),
            "metric `twice`: broken-pack and other-pack offer this name",
        ),
    ],
)
def test_each_broken_plugin_is_named_in_one_line(site: Path, args: tuple[str, ...], line: str) -> None:
    code, _, stderr = run(site, *args)
    assert code in (2, 3)
    assert sum(line in one for one in stderr) == 1, stderr
    assert not (site / "new.jsonl").exists()


def test_a_package_with_unreadable_entry_points_does_not_stop_the_others(site: Path, tmp_path: Path) -> None:
    install(tmp_path, "garbled-pack", "[turnwise.metrics]\nno equals sign here\n")
    os.symlink(site / "broken_pack.py", tmp_path / "broken_pack.py")
    install(tmp_path, "fine-pack", "[turnwise.metrics]\nfine = broken_pack:Good\n")
    code, out, stderr = run(tmp_path, "ls", "metrics")
    assert code == 0
    assert "bleu-4" in out
    assert any(line.startswith("fine ") for line in out.splitlines()), stderr


RAISING = """
from broken_pack import CARD, WHOLE, Good
from turnwise.plugins import *
import sys


def broken(self):
    raise RuntimeError("no licence")


class Computed(Good):
    card = property(lambda self: CARD)
    level = property(lambda self: "turn")
    needs = property(lambda self: frozenset())
    signature = property(lambda self: Signature("computed"))


class WithSetting(Computed):
    def __init__(self, n):
        self.n = n


class NoneCard(Good):
    card = property(lambda self: None)


class RaisingCard(Good):
    card = property(broken)


class RaisingDirection(Good):
    higher_is_better = property(broken)


class RaisingSpan(Good):
    span = property(broken)


class RaisingHalf(Good):
    half_width = property(broken)


class RaisingVerdicts(Good):
    verdicts = property(broken)


class AbsentInside(Good):
    bounds = property(lambda self: self.missing)


class RaisingCost(Good):
    signature = property(lambda self: Signature("raising-cost"))

    def cost(self, items, /):
        raise RuntimeError("no price list")


class RaisingFit(Good):
    signature = property(lambda self: Signature("raising-fit"))
    fit = property(broken)


class CostProperty(Good):
    signature = property(lambda self: Signature("cost-property"))
    cost = property(broken)


class RaisingGetattr(Good):
    signature = property(lambda self: Signature("raising-getattr"))

    def __getattr__(self, name):
        raise RuntimeError("no licence")


class Exits(Good):
    signature = property(lambda self: Signature("exits"))

    def rows(self, items, /):
        sys.exit("enough")


class ComputedCard:
    card = property(lambda self: WHOLE)
    signature = property(lambda self: Signature("computed-card"))

    def estimate(self, episodes, target, /, *, rng):
        raise Refused("none", "none")


class EstimatorCard(ComputedCard):
    card = property(broken)


class EstimatorSignature(ComputedCard):
    signature = property(broken)


class Nested(ComputedCard):
    nested = property(broken)


class FiveMetrics(ComputedCard):
    metrics = 5

    def with_scores(self, numbers, /):
        return self


class RaisingMetrics(FiveMetrics):
    metrics = property(broken)


class EstimatorGetattr(ComputedCard):
    def __getattr__(self, name):
        raise RuntimeError("no licence")


class RaisingReward(ComputedCard):
    reward = property(broken)


class Agent:
    signature = property(broken)

    def __call__(self, turns, rng):
        return Reply("hello")


class Learner:
    learns = property(broken)

    def __call__(self, task):
        return None


learner = Learner()
"""
RAISING_POINTS = """
[turnwise.metrics]
computed = raising_pack:Computed
with-setting = raising_pack:WithSetting
none-card = raising_pack:NoneCard
raising-card = raising_pack:RaisingCard
raising-direction = raising_pack:RaisingDirection
raising-span = raising_pack:RaisingSpan
raising-half = raising_pack:RaisingHalf
raising-verdicts = raising_pack:RaisingVerdicts
absent-inside = raising_pack:AbsentInside
raising-cost = raising_pack:RaisingCost
exits = raising_pack:Exits
raising-fit = raising_pack:RaisingFit
cost-property = raising_pack:CostProperty
raising-getattr = raising_pack:RaisingGetattr

[turnwise.estimators]
computed-card = raising_pack:ComputedCard
raising-card = raising_pack:EstimatorCard
raising-signature = raising_pack:EstimatorSignature
raising-nested = raising_pack:Nested
five-metrics = raising_pack:FiveMetrics
raising-metrics = raising_pack:RaisingMetrics
raising-getattr = raising_pack:EstimatorGetattr
raising-reward = raising_pack:RaisingReward

[turnwise.agents]
raising-agent = raising_pack:Agent

[turnwise.trainers]
raising-trainer = raising_pack:learner
"""
OWN = """
def few(records):
    return [1.0]


def number(records):
    return 3.0


def texts(records):
    return ["much" for _ in records]
"""


@pytest.fixture(scope="module")
def raising(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose plugins have computed attributes, most of which raise."""
    site = tmp_path_factory.mktemp("raising")
    (site / "broken_pack.py").write_text(MODULE)
    (site / "raising_pack.py").write_text(RAISING)
    (site / "mine.py").write_text(OWN)
    install(site, "raising-pack", RAISING_POINTS)
    native.write(dialogues(agents=7, each=6), str(site / "logs.jsonl"))
    return site


def test_ls_metrics_makes_a_plugin_with_computed_attributes_and_goes_on_past_those_that_raise(
    raising: Path,
) -> None:
    code, out, stderr = run(raising, "ls", "metrics")
    assert code == 0
    names = {line.split()[0] for line in out.splitlines()[2:] if line}
    assert {"computed", "length", "raising-cost"} <= names
    notes = {
        "with-setting": "the setting `n` has no default; write with-setting[n=...]",
        "none-card": "`card` is None; expected a turnwise.plugins.Card",
        "raising-card": "raising_pack.RaisingCard.card raised RuntimeError: no licence",
        "raising-direction": "raising_pack.RaisingDirection.higher_is_better raised RuntimeError: no licence",
    }
    for name, problem in notes.items():
        line = f"note: metric `{name}` of raising-pack: {problem}"
        assert sum(one.startswith(line) for one in stderr) == 1, (line, stderr)
    assert len(stderr) == len(notes)
    assert not names & set(notes)


@pytest.mark.parametrize(
    ("kind", "there", "line"),
    [
        ("estimators", "computed-card", "estimator `raising-card` of raising-pack: raising_pack.EstimatorCard.card"),
        ("trainers", "tfidf", "trainer `raising-trainer` of raising-pack: raising_pack.Learner.learns"),
    ],
)  # fmt: skip
def test_ls_goes_on_past_an_attribute_that_raises(raising: Path, kind: str, there: str, line: str) -> None:
    code, out, stderr = run(raising, "ls", kind)
    assert code == 0
    assert any(one.split()[0] == there for one in out.splitlines())
    assert all(one.startswith("note: ") for one in stderr)
    assert stderr.count(f"note: {line} raised RuntimeError: no licence (raising_pack.py:8)") == 1, stderr


def test_score_goes_on_past_metrics_whose_attributes_raise(raising: Path) -> None:
    broken = {
        "raising-card": "raising_pack.RaisingCard.card raised RuntimeError: no licence",
        "raising-direction": "raising_pack.RaisingDirection.higher_is_better raised RuntimeError: no licence",
        "raising-span": "raising_pack.RaisingSpan.span raised RuntimeError: no licence",
        "raising-half": "raising_pack.RaisingHalf.half_width raised RuntimeError: no licence",
        "absent-inside": "raising_pack.AbsentInside.bounds raised AttributeError",
        "raising-fit": "raising_pack.RaisingFit.fit raised RuntimeError: no licence",
        "raising-getattr": "raising_pack.RaisingGetattr.fit raised RuntimeError: no licence",
    }
    names = ",".join(["length", "computed", "raising-cost", "cost-property", *broken])
    code, out, stderr = run(raising, "score", "logs.jsonl", "-m", names, "--format", "json", "-o", "out")
    assert code in (0, 3), stderr
    found = json.loads(out)["results"]
    scored = {one["metric"] for one in found if one["estimate"] is not None}
    assert scored == {"length", "computed", "raising-cost", "cost-property"}
    for name, problem in broken.items():
        (one,) = [one for one in found if one["metric"] == name]
        assert one["status"] == "error"
        assert problem in one["reason"]
    cost = (
        "its cost is not known: metric `raising-cost` of raising-pack: raising_pack.RaisingCost.cost raised "
        "RuntimeError: no price list (raising_pack.py:55)"
    )
    assert f"note: raising-cost: {cost}" in stderr


def test_score_goes_on_past_functions_that_return_something_else_than_a_number_a_reply(raising: Path) -> None:
    names = "mine:few,mine:number,mine:texts,length"
    code, out, stderr = run(raising, "score", "logs.jsonl", "-m", names, "--format", "json", "-q")
    assert code in (0, 3), stderr
    found = json.loads(out)["results"]
    assert {one["metric"] for one in found if one["estimate"] is not None} == {"length"}
    reasons = " ".join(str(one["reason"]) for one in found)
    assert "replies and returned 1 numbers" in reasons
    assert "mine:number returned 3.0 instead of a list of numbers" in reasons
    assert "mine:texts returned 'much' for reply 0 of its list: not a number" in reasons


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_metric_that_calls_sys_exit_is_named_and_the_others_are_scored(raising: Path, jobs: str) -> None:
    names = ("-m", "exits,length", "--format", "json", "--jobs", jobs)
    code, out, stderr = run(raising, "score", "logs.jsonl", *names)
    assert code == 0, stderr
    found = json.loads(out)["results"]
    assert {one["metric"] for one in found if one["estimate"] is not None} == {"length"}
    reasons = {one["reason"] for one in found if one["metric"] == "exits"}
    said = "metric `exits` of raising-pack: raising_pack.Exits called sys.exit('enough') (raising_pack.py:79)"
    assert all(reason.endswith(said) for reason in reasons), reasons
    assert sum(one.endswith(said) for one in stderr) == 1, stderr


def test_attack_reports_verdicts_that_raise(raising: Path) -> None:
    code, out, stderr = run(
        raising, "attack", "raising-verdicts", "--contexts", "logs.jsonl", "--format", "json", "-q"
    )
    assert code == 3, stderr
    (one,) = json.loads(out)["results"]
    assert one["status"] == "error"
    assert "raising_pack.RaisingVerdicts.verdicts raised RuntimeError: no licence" in one["reason"]


@pytest.mark.parametrize("hash_seed", ["0", "1", "2"])
def test_ope_goes_on_past_estimators_whose_attributes_raise(
    raising: Path, hash_seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
    target = dialogues(agents=7, each=6)[0].agent
    broken = {
        "raising-signature": "raising_pack.EstimatorSignature.signature raised RuntimeError: no licence",
        "raising-nested": "raising_pack.Nested.nested raised RuntimeError: no licence",
        "five-metrics": "raising_pack.FiveMetrics.metrics is 5; expected a list of names of metrics",
        "raising-metrics": "raising_pack.RaisingMetrics.metrics raised RuntimeError: no licence",
        "raising-getattr": "raising_pack.EstimatorGetattr.model raised RuntimeError: no licence",
        "raising-reward": "raising_pack.RaisingReward.reward raised RuntimeError: no licence",
    }
    code, out, stderr = run(
        raising, "ope", "logs.jsonl", "--rating", "reward", "--target", target, "--model", "hashing",
        "--estimator", ",".join(["mean", *broken]), "--no-calibrate", "--format", "json", "-q",
    )  # fmt: skip
    assert code in (0, 3), (stderr, out)
    found = {one["estimator"]: one for one in json.loads(out)["results"]}
    assert found["mean"]["estimate"] is not None
    for name, problem in broken.items():
        assert found[name]["status"] == "error"
        assert problem in found[name]["reason"]


def test_respond_names_an_agent_whose_signature_raises(raising: Path) -> None:
    code, _, stderr = run(
        raising, "respond", "logs.jsonl", "--agent", "raising-agent", "--name", "new", "-o", "new.jsonl",
        "--limit", "1",
    )  # fmt: skip
    assert code == 2
    assert (
        sum("raising_pack.Agent.signature raised RuntimeError: no licence" in one for one in stderr) == 1
    ), stderr
    assert not (raising / "new.jsonl").exists()


FITTED = '''
from broken_pack import CARD, WHOLE, Good
from turnwise.plugins import *
import numpy as np


def broken(self):
    raise RuntimeError("no licence")


class FittedGood(Good):
    signature = property(lambda self: Signature("fitted-good"))


class Level(Good):
    level = property(broken)


class Signed(Good):
    signature = property(broken)


class NeedsRaise(Good):
    needs = property(broken)

    def fit(self, items, /):
        return FittedGood()


class LevelRaisesAfter(Good):
    def fit(self, items, /):
        return Level()


class SignatureRaisesAfter(Good):
    def fit(self, items, /):
        return Signed()


class FitsAgain(Good):
    """What `fit` returns has `fit` too."""

    def __init__(self, fitted: bool = False):
        self.fitted = fitted

    signature = property(lambda self: Signature("fits-again"))

    @property
    def unscored(self):
        if self.fitted:
            raise RuntimeError("no licence")
        return "never"

    def fit(self, items, /):
        return FitsAgain(True)


class TextValue(Good):
    signature = property(lambda self: Signature("text-value"))

    def value(self, item, /):
        return "1"


class NanValue(Good):
    unscored = "the model is silent"
    signature = property(lambda self: Signature("nan-value"))

    def value(self, item, /):
        return float("nan")


class NanNumber(Good):
    signature = property(lambda self: Signature("nan-number"))
    of_sums = None

    def reduce(self, rows, /):
        return float("nan")


class NanSums(Good):
    signature = property(lambda self: Signature("nan-sums"))

    def of_sums(self, sums, /):
        return np.full(sums.shape[:-1], np.nan)


class WithSetting(Good):
    signature = property(lambda self: Signature("with-setting"))

    def __init__(self, n):
        self.n = n


class Whole:
    card = WHOLE
    model = "hashing"
    signature = property(lambda self: Signature("whole"))

    def estimate(self, episodes, target, /, *, rng):
        return Estimate(value=0.5, contributions=np.array([0.5, 0.5]))

    def value(self, problem):
        return 0.5


class StreamSignature(Whole):
    signature = property(broken)


class StreamValue(Whole):
    def value(self, problem):
        raise RuntimeError("no licence")


class StreamText(Whole):
    def value(self, problem):
        return "0.5"


class Slow(Whole):
    nested = False

    def estimate(self, episodes, target, /, *, rng):
        raise RuntimeError("no licence")


class SlowRefuses(Whole):
    nested = False

    def estimate(self, episodes, target, /, *, rng):
        raise Refused("too few points", "too-few-points")


class EstimatorSetting(Whole):
    def __init__(self, n):
        self.n = n


def documented(path, options):
    """Transcripts of our hotline.

    More lines.
    """
    yield from ()


def undocumented(path, options):
    yield from ()
'''
FITTED_POINTS = """
[turnwise.metrics]
needs-raise = fitted_pack:NeedsRaise
level-after = fitted_pack:LevelRaisesAfter
signature-after = fitted_pack:SignatureRaisesAfter
fits-again = fitted_pack:FitsAgain
text-value = fitted_pack:TextValue
nan-value = fitted_pack:NanValue
nan-number = fitted_pack:NanNumber
nan-sums = fitted_pack:NanSums
with-setting = fitted_pack:WithSetting

[turnwise.estimators]
whole = fitted_pack:Whole
stream-signature = fitted_pack:StreamSignature
stream-value = fitted_pack:StreamValue
stream-text = fitted_pack:StreamText
slow = fitted_pack:Slow
slow-refuses = fitted_pack:SlowRefuses
with-setting = fitted_pack:EstimatorSetting

[turnwise.readers]
documented = fitted_pack:documented
undocumented = fitted_pack:undocumented
"""


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose plugins fail after `fit`, in a stream, in a training, or return something else than a number."""
    site = tmp_path_factory.mktemp("fitted")
    (site / "broken_pack.py").write_text(MODULE)
    (site / "fitted_pack.py").write_text(FITTED)
    install(site, "fitted-pack", FITTED_POINTS)
    native.write(dialogues(agents=7, each=6), str(site / "logs.jsonl"))
    return site


def test_score_goes_on_past_fitted_metrics_whose_attributes_raise_and_values_that_are_no_numbers(
    fitted: Path,
) -> None:
    broken = {
        "needs-raise": "fitted_pack.NeedsRaise.needs raised RuntimeError: no licence",
        "level-after": "fitted_pack.Level.level raised RuntimeError: no licence",
        "signature-after": "fitted_pack.Signed.signature raised RuntimeError: no licence",
        "fits-again": "fitted_pack.FitsAgain.unscored raised RuntimeError: no licence",
        "text-value": "fitted_pack.TextValue.value returned '1'; expected a float or None",
        "with-setting": "metric `with-setting` of fitted-pack: the setting `n` has no default; "
        "write with-setting[n=...]",
    }
    names = ",".join(["length", *broken])
    code, out, stderr = run(fitted, "score", "logs.jsonl", "-m", names, "--format", "json", "-q")
    assert code in (0, 3), stderr
    found = json.loads(out)["results"]
    assert {one["metric"] for one in found if one["estimate"] is not None} == {"length"}
    for name, problem in broken.items():
        reasons = {one["reason"] for one in found if one["metric"] == name}
        assert any(problem in str(reason) for reason in reasons), (name, reasons)
    code, out, _ = run(fitted, "score", "logs.jsonl", "-m", "with-setting[n=3]", "--format", "json", "-q")
    assert code == 0
    assert all(one["estimate"] is not None for one in json.loads(out)["results"])


def test_score_says_why_a_number_is_nan(fitted: Path) -> None:
    names = "length,nan-value,nan-number,nan-sums"
    code, out, stderr = run(fitted, "score", "logs.jsonl", "-m", names, "--format", "json", "-q")
    assert code in (0, 3), stderr
    found = json.loads(out)["results"]
    assert {one["metric"] for one in found if one["estimate"] is not None} == {"length"}
    reasons = {
        "nan-value": "no value or NaN: the model is silent (",
        "nan-number": "fitted_pack.NanNumber.reduce returned NaN for",
        "nan-sums": "fitted_pack.NanSums.of_sums returned NaN for",
    }
    for name, reason in reasons.items():
        mine = [one for one in found if one["metric"] == name]
        assert mine
        assert all(reason in str(one["reason"]) for one in mine), mine


def test_ope_goes_on_past_slow_estimators_that_raise_or_refuse_and_settings_without_a_default(
    fitted: Path,
) -> None:
    target = dialogues(agents=7, each=6)[0].agent
    names = "mean,slow,slow-refuses,with-setting"
    code, out, stderr = run(
        fitted, "ope", "logs.jsonl", "--rating", "reward", "--target", target, "--model", "hashing",
        "--estimator", names, "--no-calibrate", "--format", "json", "-q",
    )  # fmt: skip
    assert code in (0, 3), (stderr, out)
    found = {one["estimator"]: one for one in json.loads(out)["results"]}
    assert found["mean"]["estimate"] is not None
    assert (found["slow"]["status"], found["slow-refuses"]["status"]) == ("error", "refused")
    assert "fitted_pack.Slow.estimate raised RuntimeError: no licence" in found["slow"]["reason"]
    assert found["slow-refuses"]["reason"] == "too few points"
    assert "the setting `n` has no default; write with-setting[n=...]" in found["with-setting"]["reason"]


def test_a_streamed_ope_goes_on_past_estimators_that_raise(fitted: Path) -> None:
    target = dialogues(agents=7, each=6)[0].agent
    broken = {
        "stream-signature": "fitted_pack.StreamSignature.signature raised RuntimeError: no licence",
        "stream-value": "fitted_pack.StreamValue.value raised RuntimeError: no licence",
        "stream-text": "fitted_pack.StreamText.value returned '0.5'; expected a float",
    }
    code, out, stderr = run(
        fitted, "ope", "logs.jsonl", "--stream", "--rating", "reward", "--target", target, "--model", "hashing",
        "--estimator", ",".join(["fqe", "whole", *broken]), "--no-calibrate", "--format", "json", "-q",
    )  # fmt: skip
    assert code in (0, 3), (stderr, out)
    found = {one["estimator"]: one for one in json.loads(out)["results"]}
    assert found["fqe"]["estimate"] is not None
    assert found["whole"]["estimate"] == 0.5
    for name, problem in broken.items():
        assert found[name]["status"] == "error"
        assert problem in found[name]["reason"]


def test_ls_readers_shows_the_first_line_of_a_plugins_docstring(fitted: Path) -> None:
    code, out, stderr = run(fitted, "ls", "readers")
    assert code == 0, stderr
    lines = {line.split()[0]: line for line in out.splitlines()[2:]}
    assert lines["documented"].endswith("Transcripts of our hotline.")
    assert lines["undocumented"].endswith("of the package fitted-pack")
