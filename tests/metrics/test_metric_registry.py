"""Resolution of metric names and settings, and errors for unknown ones."""

import inspect
import re
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

import turnwise.estimators as estimators
import turnwise.metrics as metrics
import turnwise.registry as registry
from turnwise.errors import PluginError, UsageError
from turnwise.metrics.features.surface import Length
from turnwise.metrics.reference.bleu import Bleu


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points that another package would bring."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: [p for p in points if p.group == group])
    metrics._plugins.cache_clear()
    yield points
    metrics._plugins.cache_clear()


def test_all_metrics_of_the_design_are_registered() -> None:
    wanted = {"bleu-1", "bleu-2", "bleu-3", "bleu-4", "chrf", "rouge-1", "rouge-2", "rouge-l", "rouge-l-b1.2"}
    assert wanted | {"distinct-1", "distinct-2", "length", "question-rate", "specificity"} <= set(
        metrics.names()
    )


def test_a_name_resolves_to_its_metric_with_its_settings() -> None:
    assert metrics.resolve("bleu-2") == Bleu(2)
    assert metrics.resolve("bleu-2", order=3) == Bleu(3)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no metric `rogue-l`; the nearest are rouge-l, "):
        metrics.resolve("rogue-l")
    with pytest.raises(UsageError, match=r"no metric `distnict-2`; the nearest are distinct-2, "):
        metrics.describe("distnict-2")


def test_an_option_that_the_metric_does_not_have_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"metric `bleu-4`: .*colour.*; its settings are: tokenize, lowercase"
    ):
        metrics.resolve("bleu-4", colour="blue")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bertscore[idf=maybe]", "`idf` is true or false, not `maybe`"),
        ("bertscore[baseline=x]", "`baseline` is a number, not `x`"),
        ("bertscore[baseline=nan]", "`baseline` is a number, not `nan`"),
        ("fbd[turns=true]", "`turns` is a whole number, not `true`"),
        ("fbd[turns=1.5]", "`turns` is a whole number, not `1.5`"),
        ("fbd[shrinkage=x]", "`shrinkage` is a number, not `x`"),
        ("fbd[model=3]", "`model` is a text, not `3`"),
        ("fbd[way=sum]", "`way` is one of product, together, not `sum`"),
        ("fbd[name=x]", "unexpected keyword argument 'name'; its settings are: model, layer"),
        ("prd-paper[name=x]", "unexpected keyword argument 'name'; its settings are: model, layer"),
        ("prd[clusters=2.5]", "`clusters` is a whole number, not `2.5`"),
        ("prd[seed=-1]", "0 or more for `seed`, not -1"),
        ("prd[components=-3]", "0 or more for `components`, not -3"),
        ("prd[angles=1]", "2 angles or more, or 0 for the exact maximum, not 1"),
    ],
)
def test_a_setting_that_is_not_what_its_metric_takes_is_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        metrics.resolve(name)


def test_a_setting_of_an_estimator_is_checked_against_its_type_too() -> None:
    for name in ("fqe[ridge=x]", "fqe[ridge=true]"):
        with pytest.raises(UsageError, match=r"estimator `fqe\[ridge=.*`ridge` is a number"):
            estimators.resolve(name)
    assert estimators.resolve("fqe[ridge=10]").ridge == 10  # type: ignore[attr-defined]


@pytest.mark.parametrize("names", [metrics, estimators])
def test_every_default_is_a_valid_setting(names: ModuleType) -> None:
    """So that no annotation is one that a value cannot be held against."""
    for name in names.names():
        maker = names._maker(name)
        given = {key: parameter.default for key, parameter in inspect.signature(maker).parameters.items()}
        written = {key: value for key, value in given.items() if isinstance(value, bool | int | float | str)}
        registry.check(written, maker, name)


def test_another_package_can_add_a_metric(plugins: list[EntryPoint]) -> None:
    plugins.append(EntryPoint("words", "turnwise.metrics.features.surface:Length", "turnwise.metrics"))
    assert "words" in metrics.names()
    assert metrics.resolve("words") == Length()
    assert metrics.describe("words").card is Length.card


def test_our_own_metric_keeps_its_name_and_the_other_is_reported(plugins: list[EntryPoint]) -> None:
    plugins.append(EntryPoint("length", "their.module:Length", "turnwise.metrics"))
    assert metrics.resolve("length") == Length()
    (problem,) = metrics.broken()
    assert str(problem).startswith(
        "metric `length` of their.module:Length: turnwise itself has a metric of this"
    )


def test_a_name_that_two_packages_offer_belongs_to_neither(plugins: list[EntryPoint]) -> None:
    plugins += [EntryPoint("twice", f"{one}:Length", "turnwise.metrics") for one in ("first", "second")]
    assert "twice" not in metrics.names()
    with pytest.raises(
        PluginError, match=r"`twice`: first:Length and second:Length offer this name, and neither"
    ):
        metrics.resolve("twice")


def test_an_entry_point_that_cannot_be_imported_names_its_owner(plugins: list[EntryPoint]) -> None:
    plugins.append(EntryPoint("broken", "no_such_package_here:Metric", "turnwise.metrics"))
    assert "broken" in metrics.names()
    with pytest.raises(UsageError, match=r"metric `broken` of no_such_package_here:Metric: cannot be loaded"):
        metrics.resolve("broken")
