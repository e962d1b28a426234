"""Contract checks for plugins: the suite that turnwise runs on its own metrics, estimators, readers and so on.

This module is public: its names, listed in `__all__`, stay for at least one minor version after they are deprecated.

    from turnwise.testing import check_metric

    def test_contract() -> None:
        check_metric(Shouting())

Each function returns nothing where the plugin keeps its contract. Otherwise it raises `ContractError`, an
`AssertionError` whose message says in one sentence what does not hold. Neither pytest nor hypothesis is needed.
"""

from turnwise.testing.agents import check_agent
from turnwise.testing.data import dialogue_items, dialogues, episodes, training_task, turn_items
from turnwise.testing.estimators import check_estimator
from turnwise.testing.expect import ContractError
from turnwise.testing.metrics import check_metric
from turnwise.testing.readers import check_reader
from turnwise.testing.trainers import check_trainer
from turnwise.testing.worlds import check_world

__all__ = [
    "ContractError",
    "check_agent",
    "check_estimator",
    "check_metric",
    "check_reader",
    "check_trainer",
    "check_world",
    "dialogue_items",
    "dialogues",
    "episodes",
    "training_task",
    "turn_items",
]
