"""What a metric says beside its number: fields of the score that it may fill, and keys of its own."""

import math
import re
from typing import Any

import numpy as np
import pytest

from turnwise.errors import PluginError
from turnwise.metrics import resolve
from turnwise.records import PrecisionRecall, ScoreRecord, plain
from turnwise.run.scoring.said import with_curve, with_said
from turnwise.types import Metric

BLANK = ScoreRecord(estimate=1.0, metric="length", agent="bot")


def said(**given: Any) -> ScoreRecord:
    metric = resolve("length")
    assert isinstance(metric, Metric)
    return with_said(BLANK, metric, "details", given)


def test_known_keys_are_fields_and_others_are_kept_as_they_are() -> None:
    record = said(floor=0.5, n_real=7, depth=3.0, words={"a": 1})
    assert (record.floor, record.n_real) == (0.5, 7)
    assert record.more == {"depth": 3.0, "words": {"a": 1}}
    assert plain(record)["depth"] == 3.0


def test_a_number_that_is_not_known_is_written_as_null() -> None:
    record = said(floor=math.nan, depth=math.inf)
    assert record.floor is None
    assert {key: plain(record)[key] for key in ("floor", "depth")} == {"floor": None, "depth": None}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"estimate": 2.0}, "returned `estimate`, which is a key of every result"),
        ({"floor": "low"}, "Expected `float | null`, got `str`"),
        ({"depth": np.float32(3)}, "numpy.float32"),
    ],
)
def test_what_a_result_cannot_hold_is_a_mistake_of_the_metric(given: dict[str, Any], why: str) -> None:
    with pytest.raises(PluginError, match=re.escape(why)) as caught:
        said(**given)
    assert "details returned" in str(caught.value)


def test_a_curve_of_other_numbers_than_precision_and_recall_is_kept_too() -> None:
    points = {"precision": [0.0, 1.0], "recall": [1.0, 0.0]}
    assert with_curve(BLANK, points).curve == PrecisionRecall(precision=(0.0, 1.0), recall=(1.0, 0.0))
    other = with_curve(BLANK, {"x": [0.0, 0.5, 1.0]})
    assert other.curve is None
    assert plain(other)["curve"] == {"x": [0.0, 0.5, 1.0]}
