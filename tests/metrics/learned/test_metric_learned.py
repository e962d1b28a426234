"""Learned metrics: training on small talk, invariances of their scores, and refused training data."""

import string
from dataclasses import replace

import numpy as np
import pytest

from tests.tiny_trained import rated_items, task, tiny_trained
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned.turnwise import calibration
from turnwise.metrics.learned.usr import retrieval
from turnwise.types import Item

TRAINED = ("turnwise", "usr-ret", "usr-full", "maude", "att")


@pytest.mark.parametrize("name", ["turnwise", "usr-ret", "maude", "att"])
def test_case_and_punctuation_do_not_change_scores(name: str) -> None:
    metric = resolve(name, trained=tiny_trained(name))
    items = rated_items()[0]

    def changed(change: object) -> list[Item]:
        return [
            replace(one, turns=(*one.turns[:-1], replace(one.turns[-1], content=change(one.reply))))
            for one in items
        ]

    before = metric.rows(items)
    drop = str.maketrans("", "", string.punctuation)
    for change in (
        str.upper,
        lambda text: text + ".",
        lambda text: f"{text}?!",
        lambda text: text.translate(drop),
    ):
        np.testing.assert_array_equal(metric.rows(changed(change)), before)


def test_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UsageError, match="epochs"):
        retrieval.train(task("usr-ret", settings={"epoch": 3}))
    with pytest.raises(UsageError, match="expected int"):
        retrieval.train(task("usr-ret", settings={"epochs": "many"}))
    with pytest.raises(UsageError, match="uses vectors of hashing"):
        calibration.train(task("turnwise", model="minilm", settings={"start": tiny_trained("turnwise")}))


@pytest.mark.parametrize("name", TRAINED)
def test_the_model_of_another_metric_is_refused(name: str) -> None:
    other = "att" if name != "att" else "maude"
    with pytest.raises(UsageError, match=f"`{other}`"):
        str(resolve(name, trained=tiny_trained(other)).signature)
