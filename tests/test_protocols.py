"""Optional attributes of plugins: the default is supplied where a plugin does not have one."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import turnwise
from turnwise import estimators, protocols, worlds
from turnwise.agents.calling import BatchAgent
from turnwise.metrics import resolve
from turnwise.protocols import (
    Abstains,
    AgentExtras,
    Asks,
    Curved,
    EstimatesMany,
    EstimatorExtras,
    Explains,
    HasRaterErrors,
    KnowsTraining,
    MetricExtras,
    Priced,
    ReadsPlaceholders,
    SamplesRaters,
    Streaming,
    SumEstimator,
    Summarises,
    TakesMetrics,
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
from turnwise.types import ChecksSample, Estimator, HasMoments, Metric, NeedsFitting, Summed

ABILITIES = (
    *(Metric, Summed, HasMoments, ChecksSample, NeedsFitting, Estimator, BatchAgent, Streaming),
    *(Abstains, Asks, Explains, Summarises, Priced, Curved, SamplesRaters, HasRaterErrors, KnowsTraining),
    ReadsPlaceholders,
    *(TakesMetrics, TakesSelfPlay, TaskCritic, SumEstimator, EstimatesMany),
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


def members(protocol: type) -> set[str]:
    """The public names that a protocol and its bases declare."""
    declared = [base for base in protocol.__mro__ if getattr(base, "_is_protocol", False)]
    names = {name for base in declared for name in (*vars(base), *inspect.get_annotations(base))}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("protocol", ABILITIES, ids=lambda protocol: protocol.__name__)
def test_a_protocol_recognises_a_plugin_by_its_members_without_reading_them(protocol: type) -> None:
    def broken(_: object) -> Any:
        raise RuntimeError("no licence")

    names = members(protocol)
    assert names
    assert isinstance(type("Whole", (), dict.fromkeys(names, property(broken)))(), protocol)
    for name in names:
        rest = dict.fromkeys(names - {name}, property(broken))
        assert not isinstance(type("Part", (), rest)(), protocol), name
        assert not isinstance(type("Part", (), {**rest, "__getattr__": broken})(), protocol), name


def test_a_method_that_is_none_counts_as_absent_and_an_instance_attribute_as_present() -> None:
    class Plugin:
        cost: Any = None

    plugin = Plugin()
    assert not isinstance(plugin, Priced)
    plugin.cost = len
    assert isinstance(plugin, Priced)


def test_a_class_that_derives_from_a_protocol_is_an_ordinary_class() -> None:
    class Derived(Priced):
        def cost(self, items: object, /) -> int:
            return 1

    class Other:
        def cost(self, items: object, /) -> int:
            return 1

    assert isinstance(Derived(), Priced)
    assert isinstance(Other(), Priced)
    assert isinstance(Derived(), Derived)
    assert not isinstance(Other(), Derived)


def test_every_protocol_of_plugins_is_tested_above() -> None:
    found = [
        name
        for path in ("types.py", "protocols.py", "agents/calling.py")
        for name in re.findall(r"@runtime_checkable\nclass (\w+)", (SOURCES / path).read_text("utf-8"))
    ]
    assert sorted(found) == sorted(protocol.__name__ for protocol in ABILITIES)


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
