"""Optional attributes of plugins: the default is supplied where a plugin does not have one."""

import inspect
import re
from pathlib import Path

import pytest

import turnwise
from turnwise import estimators, protocols, worlds
from turnwise.metrics import resolve
from turnwise.protocols import (
    AgentExtras,
    EstimatorExtras,
    MetricExtras,
    ReadsPlaceholders,
    SumEstimator,
    TakesSelfPlay,
    TaskCritic,
    TrainerExtras,
    WorldExtras,
    agent_extras,
    estimator_extras,
    metric_extras,
    trainer_extras,
    world_extras,
)

SOURCES = Path(turnwise.__file__).parent
ALL = (MetricExtras, EstimatorExtras, AgentExtras, TrainerExtras, WorldExtras)


def test_an_attribute_of_the_plugin_is_read_and_a_missing_one_has_its_default() -> None:
    class Bare:
        pass

    class Share:
        bounds = (0.0, 1.0)

    assert metric_extras(Share()).bounds == (0.0, 1.0)
    assert metric_extras(Bare()).bounds is None
    assert metric_extras(Bare()).verdicts == (5,)
    assert estimator_extras(Bare()).nested
    assert agent_extras(Bare()).signature is None
    assert trainer_extras(Bare()).learns == "dialogues"
    assert world_extras(Bare()).make_world is None


def test_an_attribute_that_no_protocol_declares_cannot_be_read() -> None:
    with pytest.raises(AttributeError):
        _ = metric_extras(resolve("length")).colour  # type: ignore[attr-defined]


@pytest.mark.parametrize("declared", ALL)
def test_every_declared_attribute_has_a_default_and_a_description(declared: type) -> None:
    source = inspect.getsource(declared)
    for name in declared.__annotations__:
        assert hasattr(declared, name)
        assert re.search(rf"    {name}: .*\n    \"\"\"\w", source), name


def test_no_module_reads_optional_attributes_of_plugins_past_the_helper() -> None:
    names = {name for declared in ALL for name in declared.__annotations__} - {"signature", "model"}
    pattern = re.compile(rf"(getattr|hasattr)\([^()]*, \"({'|'.join(sorted(names))})\"")
    found = [str(path) for path in SOURCES.rglob("*.py") if pattern.search(path.read_text("utf-8"))]
    assert found == []


def test_metrics_with_an_ontology_list_the_placeholders_they_do_not_know() -> None:
    with_ontology = {"inform", "success", "booking", "combined", "bleu-delex", "entity-f1", "mismatch"}
    assert all(isinstance(resolve(name), ReadsPlaceholders) for name in with_ontology)
    assert not isinstance(resolve("length"), ReadsPlaceholders)
    assert protocols.__doc__


def test_worlds_and_estimators_are_recognised_by_protocol_and_not_by_name() -> None:
    names = "|".join((*estimators.names(), *worlds.names()))
    pattern = re.compile(rf"[=!]= \"({names})\"|\bin [(\[{{]\"({names})\"")
    found = [str(path) for path in (SOURCES / "run").rglob("*.py") if pattern.search(path.read_text("utf-8"))]
    assert found == []
    assert isinstance(estimators.resolve("spe"), TakesSelfPlay)
    assert isinstance(estimators.resolve("critic"), TaskCritic)
    assert isinstance(estimators.resolve("fqe"), SumEstimator)
    assert not isinstance(estimators.resolve("balance"), TakesSelfPlay | TaskCritic | SumEstimator)
    assert callable(world_extras(worlds.named("task")).make_world)
