"""The contract of metrics (`turnwise.testing.check_metric`) on every metric that has a name.

A new metric is tested as soon as it has a name. One that must be fitted is fitted on `ITEMS`.
"""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from tests.small_tables import write_tables
from tests.tiny_models import write_bert, write_llama, write_masked, write_regression
from tests.tiny_trained import tiny_trained
from turnwise.conformance.calls import rows_of
from turnwise.metrics import describe, names, parameters, resolve
from turnwise.metrics.rows import scored, stack_rows
from turnwise.testing import check_metric, dialogue_items, turn_items
from turnwise.testing.metrics import CHECKS, Subject, entries, same
from turnwise.types import Item, Metric, NeedsFitting, Summed, Turn, digest

# Settings that do not change the number and are not in the signature; `runs` has no effect without `angles`.
UNSIGNED = ("cache", "concurrency", "fewest", "key", "price", "runs")
# For each default that is a text, another valid value.
OTHERS = {
    "": "other",
    "overall": "fun",
    "auto": "bf16",
    "text": "schema",
    "mean": "majority",
    "leaderboard": "multiwoz2018",
    "f": "p",
    "p": "r",
    "r": "f",
    "product": "together",
    "together": "product",
    "several": "one",
    "13a": "intl",
    "turnwise": "length",
}
WRITERS = {"bert": write_bert, "llama": write_llama, "regression": write_regression, "masked": write_masked}
KINDS = {"regression": "regression", "usr-mlm": "masked"}
LIKELIHOODS = ("ppl", "loglik", "pmi", "pmi-total", "fed")
ITEMS = turn_items()
DIALOGUES = dialogue_items()


@cache
def tiny(kind: str) -> str:
    """A model of a few thousand random weights, which is enough to test the contract."""
    folder = Path(mkdtemp()) / f"tiny-{kind}"
    return str(WRITERS[kind](folder))


@cache
def tables() -> str:
    return str(write_tables(Path(mkdtemp())))


def options(name: str) -> dict[str, Any]:
    """Settings with which a metric can be made here: a tiny model, and a minimum sample size of 4."""
    if name in ("judge", "panel"):
        return {}  # conftest.py gives it an address
    takes = parameters(name)
    given: dict[str, Any] = {"fewest": 4} if "fewest" in takes else {}
    if "db" in takes:
        given["db"] = tables()
    if "model" in takes:
        kind = KINDS.get(name, "llama" if name in LIKELIHOODS else "bert")
        given["model"] = tiny(kind)
    if "metric" in takes:
        given["metric"] = "question-rate"
    if "trained" in takes:
        given["trained"] = tiny_trained(name)
    return given


def made(name: str, items: list[Item] | None = None) -> Metric:
    metric = resolve(name, **options(name))
    return metric.fit(ITEMS if items is None else items) if isinstance(metric, NeedsFitting) else metric


def fit_for(metric: Metric) -> list[Item]:
    """The items that the metric can score."""
    return DIALOGUES if "dialogue" in metric.needs else ITEMS


def numbers() -> dict[str, list[str]]:
    """The number, the rows and the signature of every metric as text, to compare between processes."""
    found = {}
    for name in names():
        metric = made(name)
        rows = metric.rows(fit_for(metric))
        found[name] = [repr(metric.reduce(rows)), digest(repr(entries(rows))), str(metric.signature)]
    return found


every_metric = pytest.mark.parametrize("name", names())


@every_metric
def test_a_metric_is_what_its_description_says(name: str) -> None:
    metric, info = made(name), describe(name)
    assert isinstance(metric, Metric)
    assert info.fitted == isinstance(resolve(name, **options(name)), NeedsFitting)
    assert (info.level, info.needs, info.higher_is_better) == (
        metric.level,
        metric.needs,
        metric.higher_is_better,
    )
    assert info.card is metric.card
    assert info.kind == metric.card.kind
    assert metric.signature.name == name
    for words in (*dataclasses.astuple(metric.card), metric.unscored):
        assert words == words.strip() != ""


@every_metric
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_metric_keeps_the_contract(name: str, check: Callable[[Subject], None]) -> None:
    check_metric(resolve(name, **options(name)), fit_items=ITEMS, checks=(check,))


@every_metric
def test_a_metric_that_is_no_function_of_sums_is_resampled_without_replacement(name: str) -> None:
    metric = made(name)
    assert isinstance(metric, Summed) or metric.resampling == "subsample"


@every_metric
def test_two_objects_of_one_name_give_the_same_bytes(name: str) -> None:
    first, second = made(name), made(name)
    assert first.signature == second.signature
    assert same(entries(first.rows(fit_for(first))), entries(second.rows(fit_for(second))))


def test_no_two_names_have_one_signature() -> None:
    signatures = [str(made(name).signature) for name in names()]
    assert len(set(signatures)) == len(names())


def settings() -> list[tuple[str, str]]:
    """Every setting of every metric whose default is a number or a text, other than models."""
    return [
        (name, setting)
        for name in names()
        for setting, default in parameters(name).items()
        if isinstance(default, int | float | str)
        and setting not in (*UNSIGNED, "model", "ontology", "trained")
        # A trained model has the precision that it was fitted for; another one is refused.
        and not (setting == "precision" and name.startswith("turnwise"))
    ]


@pytest.mark.parametrize(("name", "setting"), settings())
def test_another_setting_is_another_signature(name: str, setting: str) -> None:
    value = parameters(name)[setting]
    # One angle is no curve, and a share of the variance is at most 1.
    step = {"angles": 2, "variance": -0.1}.get(setting, 1)
    other = (
        OTHERS[value] if isinstance(value, str) else not value if isinstance(value, bool) else value + step
    )
    changed = resolve(name, **{**options(name), setting: other})
    metric = changed.fit(ITEMS) if isinstance(changed, NeedsFitting) else changed
    assert str(metric.signature) != str(made(name).signature)


@pytest.mark.slow
def test_another_process_finds_the_same_without_assertions_and_with_other_hashes() -> None:
    code = f"import json, runpy; print(json.dumps(runpy.run_path({__file__!r})['numbers']()))"
    run = subprocess.run(
        [sys.executable, "-O", "-W", "error", "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout) == numbers()


def test_listing_names_imports_nothing_heavy() -> None:
    code = (
        "import sys, turnwise.metrics as m; m.names(); "
        "print(sorted({'numpy', 'scipy', 'torch', 'sacrebleu', 'rapidfuzz'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@every_metric
def test_an_item_that_lacks_what_one_of_our_metrics_needs_is_unscored(name: str) -> None:
    """Commands do not ask about such items; our metrics say so themselves, for those who call `rows` directly."""
    metric = made(name)
    turns = (Turn("assistant", "I like to ride my bike by the sea."),)
    rows = rows_of(metric, [Item("x#0", "x", "bot", turns, 0, cluster="x", pair="x")])
    assert not metric.needs or not scored(rows).any()


@every_metric
def test_items_of_all_kinds_are_scored_as_one_by_one(name: str) -> None:
    """Also those that lack what the metric needs, which `check_metric` leaves out."""
    metric = made(name)
    items = DIALOGUES if "dialogue" in metric.needs else ITEMS
    alone = stack_rows([rows_of(metric, [item]) for item in items])
    assert same(entries(alone), entries(rows_of(metric, items)))
