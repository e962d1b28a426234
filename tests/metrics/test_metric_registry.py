"""Names of metrics: how they are found, and how they are refused."""

from importlib.metadata import EntryPoint

import pytest

import turnwise.metrics as metrics
import turnwise.plugins as registry
from turnwise.errors import UsageError
from turnwise.metrics.features.surface import Length
from turnwise.metrics.reference.bleu import Bleu


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points that another package would bring."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: [p for p in points if p.group == group])
    metrics._table.cache_clear()
    yield points
    metrics._table.cache_clear()


def test_the_names_of_the_design_are_there() -> None:
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
    with pytest.raises(UsageError, match=r"metric `bleu-4`: .*colour.*; its settings are: none"):
        metrics.resolve("bleu-4", colour="blue")


def test_another_package_can_add_a_metric(plugins: list[EntryPoint]) -> None:
    plugins.append(EntryPoint("words", "turnwise.metrics.features.surface:Length", "turnwise.metrics"))
    assert "words" in metrics.names()
    assert metrics.resolve("words") == Length()
    assert metrics.describe("words").card is Length.card


def test_a_second_owner_of_a_name_is_refused(plugins: list[EntryPoint]) -> None:
    plugins.append(EntryPoint("length", "their.module:Length", "turnwise.metrics"))
    with pytest.raises(
        UsageError, match=r"two packages offer `length` among the metrics: turnwise and their.module:Length"
    ):
        metrics.names()


def test_an_entry_point_that_cannot_be_imported_names_its_owner(plugins: list[EntryPoint]) -> None:
    plugins.append(EntryPoint("broken", "no_such_package_here:Metric", "turnwise.metrics"))
    assert "broken" in metrics.names()
    with pytest.raises(UsageError, match=r"metric `broken` of no_such_package_here:Metric cannot be loaded"):
        metrics.resolve("broken")
