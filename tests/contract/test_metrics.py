"""What every registered metric must do, whatever it measures.

A new metric is under test as soon as it has a name; one that must first see data is fitted on `ITEMS`.
"""

import copy
import dataclasses
import json
import math
import os
import subprocess
import sys
from functools import cache
from itertools import permutations
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

from tests.small_tables import write_tables
from tests.tiny_models import write_bert, write_llama, write_masked, write_regression
from tests.tiny_trained import tiny_trained
from turnwise.errors import Refused
from turnwise.metrics import describe, names, parameters, resolve
from turnwise.metrics.rows import scored
from turnwise.types import Fitted, Item, Merged, Metric, Rows, Summed, Turn, digest

TALKS = [
    # (user, assistant, references) turn by turn
    [
        (
            "Hi there! What do you do for fun?",
            "I like to ride my bike by the sea.",
            ["I ride my bike.", "I read."],
        ),
        ("Nice. Which sea?", "The North Sea, in Denmark. Do you ride a bike?", ["The North Sea, of course."]),
        ("No, I do not like bikes.", "I like to ride my bike by the sea every day.", ["That is a pity."]),
    ],
    [
        (
            "Wie geht's? 元気ですか",
            "元気です！ Très bien, 3.5 out of 5 — don't ask...",
            ["Très bien, merci."],
        ),
        ("ok", "ok", []),
        ("What time is it?", "", ["It is half past ten."]),
        ("Hello?", "?!", ["I am here now.", ""]),
    ],
    [("say it again", "again and again and again and again", ["again and again and again", "never again"])],
    [
        (
            "Tell me a story.",
            " ".join(f"word{place % 37}" for place in range(120)),
            ["word1 word2 word3 word4"],
        )
    ],
    [("Book a table", "The [restaurant_name] is at [value_address]. Shall I book it for 5?", [" ", "Sure"])],
]


GOAL = {"restaurant": {"info": {"food": "indian"}, "reqt": ["address"], "book": {"people": "5"}}}
STATE = {"restaurant": {"food": "indian"}}


def turn_items() -> list[Item]:
    items = []
    for name, talk in zip("abcde", TALKS, strict=True):
        turns: tuple[Turn, ...] = ()
        for user, assistant, references in talk:
            reply = Turn("assistant", assistant, references=tuple(references), state=STATE)
            turns = (*turns, Turn("user", user), reply)
            place = len(turns) - 1
            items.append(
                Item(
                    f"{name}#{place}",
                    name,
                    "bot",
                    turns,
                    place,
                    cluster=name,
                    pair=f"{name}#{place}",
                    goal=GOAL,
                )
            )
    return items


def dialogue_items() -> list[Item]:
    last = {item.dialogue: item for item in turn_items()}
    return [dataclasses.replace(item, id=name, turn=None, pair=name) for name, item in last.items()]


# What changes how or whether a number is made and not the number; and `runs`, which is nothing without `angles`.
UNSIGNED = ("cache", "concurrency", "fewest", "price", "runs")
# Another value of a setting that is a text.
OTHERS = {
    "overall": "fun",
    "auto": "bf16",
    "1-5": "1-7",
    "leaderboard": "multiwoz2018",
    "f": "p",
    "p": "r",
    "r": "f",
    "product": "together",
    "together": "product",
    "several": "one",
}
WRITERS = {"bert": write_bert, "llama": write_llama, "regression": write_regression, "masked": write_masked}
KINDS = {"regression": "regression", "usr-mlm": "masked"}
LIKELIHOODS = ("ppl", "loglik", "pmi", "pmi-total", "fed")
ITEMS = turn_items()
DIALOGUES = dialogue_items()


@cache
def tiny(kind: str) -> str:
    """A model of a few thousand random weights: the contract is about metrics, not about what a model knows."""
    folder = Path(mkdtemp()) / f"tiny-{kind}"
    return str(WRITERS[kind](folder))


@cache
def tables() -> str:
    return str(write_tables(Path(mkdtemp())))


def options(name: str) -> dict[str, Any]:
    """What a metric needs here to be made: a tiny model, and a distance so few replies that these are enough."""
    if name == "judge":
        return {}  # conftest.py gives it an address
    takes = parameters(name)
    given: dict[str, Any] = {"fewest": 4} if "fewest" in takes else {}
    if "db" in takes:
        given["db"] = tables()
    if "model" in takes:
        kind = KINDS.get(name, "llama" if name in LIKELIHOODS else "bert")
        given["model"] = tiny(kind)
    if "trained" in takes:
        given["trained"] = tiny_trained(name)
    return given


def made(name: str, items: list[Item] | None = None) -> Metric:
    metric = resolve(name, **options(name))
    return metric.fit(ITEMS if items is None else items) if isinstance(metric, Fitted) else metric


def reduced(metric: Metric, rows: Rows) -> float:
    """The number, or NaN where a metric of whole systems refuses so few rows."""
    try:
        return metric.reduce(rows)
    except Refused:
        assert metric.level == "system"
        return math.nan


def fit_for(metric: Metric) -> list[Item]:
    return DIALOGUES if "dialogue" in metric.needs else ITEMS


def entries(rows: Rows) -> tuple[Any, ...]:
    """Rows as plain numbers that can be compared, dense or sparse."""
    if isinstance(rows, np.ndarray):
        return rows.shape, rows.tolist()
    return rows.shape, rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()


def stacked(first: Rows, second: Rows) -> Rows:
    if isinstance(first, np.ndarray):
        return np.vstack([first, second])
    from scipy.sparse import vstack

    return vstack([first, second], format="csr")


def same(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    return repr(first) == repr(second)  # NaN equals NaN here, and 1.0 is not 1.0000000000000002


def numbers() -> dict[str, list[str]]:
    """Every metric's number, rows and signature as text: what another process must find too."""
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
    assert info.fitted == isinstance(resolve(name, **options(name)), Fitted)
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
def test_some_items_are_scored_and_give_a_number(name: str) -> None:
    metric = made(name)
    rows = metric.rows(fit_for(metric))
    assert scored(rows).any()
    assert math.isfinite(metric.reduce(rows))


@every_metric
def test_a_row_belongs_to_its_item_alone(name: str) -> None:
    metric = made(name)
    items = fit_for(metric)
    whole = metric.rows(items)
    assert whole.shape[0] == len(items)
    for cut in range(len(items) + 1):
        assert same(entries(stacked(metric.rows(items[:cut]), metric.rows(items[cut:]))), entries(whole))


@every_metric
def test_order_does_not_matter_to_the_number(name: str) -> None:
    metric = made(name)
    rows = metric.rows(fit_for(metric))
    rng = np.random.default_rng(0)
    for _ in range(5):
        shuffled = rows[rng.permutation(rows.shape[0])]
        assert metric.reduce(shuffled) == pytest.approx(metric.reduce(rows), rel=1e-9)


@every_metric
def test_any_subset_reduces_as_if_it_were_all_there_is(name: str) -> None:
    metric = made(name)
    items = fit_for(metric)
    rows = metric.rows(items)
    rng = np.random.default_rng(1)
    for size in range(1, len(items) + 1):
        chosen = np.sort(rng.choice(len(items), size=size, replace=False))
        alone = reduced(metric, metric.rows([items[place] for place in chosen]))
        assert same((reduced(metric, rows[chosen]),), (alone,))


@every_metric
def test_unscored_rows_change_nothing(name: str) -> None:
    metric = made(name)
    rows = metric.rows(fit_for(metric))
    assert same((metric.reduce(rows[scored(rows)]),), (metric.reduce(rows),))


@every_metric
def test_no_items_give_no_rows_and_no_number(name: str) -> None:
    metric = made(name)
    rows = metric.rows([])
    assert rows.shape == (0, metric.rows(fit_for(metric)).shape[1])
    assert math.isnan(reduced(metric, rows))


@every_metric
def test_one_item_gives_a_number_exactly_where_its_row_is_scored(name: str) -> None:
    metric = made(name)
    rows = metric.rows(fit_for(metric))
    for place, known in enumerate(scored(rows)):
        number = known and metric.level != "system"
        assert math.isfinite(reduced(metric, rows[[place]])) == number


@every_metric
def test_an_item_that_lacks_what_is_needed_is_unscored_and_no_crash(name: str) -> None:
    metric = made(name)
    turns = (Turn("assistant", "I like to ride my bike by the sea."),)
    bare = Item("x#0", "x", "bot", turns, 0, cluster="x", pair="x")
    rows = metric.rows([bare])
    if metric.needs:
        assert not scored(rows).any()
        assert math.isnan(reduced(metric, rows))


@every_metric
def test_sums_are_all_that_a_summed_metric_needs(name: str) -> None:
    metric = made(name)
    if not isinstance(metric, Summed):
        assert metric.resampling == "subsample"  # what cannot be summed here is what the bootstrap biases
        return
    rows = metric.rows(fit_for(metric))
    rows = rows[scored(rows)]
    assert isinstance(rows, np.ndarray)
    assert float(metric.of_sums(rows.sum(axis=0))) == metric.reduce(rows)
    assert math.isnan(float(metric.of_sums(np.zeros(rows.shape[1]))))
    rng = np.random.default_rng(2)
    counts = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=(3, 4)).astype(float)
    at_once = metric.of_sums(counts @ rows)
    assert at_once.shape == (3, 4)
    for place in np.ndindex(3, 4):
        drawn = np.repeat(rows, counts[place].astype(int), axis=0)
        assert at_once[place] == pytest.approx(metric.reduce(drawn), rel=1e-12, nan_ok=True)


@every_metric
def test_moments_are_all_that_a_merged_metric_needs(name: str) -> None:
    metric = made(name)
    if not isinstance(metric, Merged):
        assert not hasattr(metric, "moments")
        return
    rows = metric.rows(fit_for(metric))
    rows = rows[scored(rows)]
    parts = [metric.moments(rows[start::3]) for start in range(3)]
    found = [metric.of_moments(one + two + three) for one, two, three in permutations(parts)]
    assert found == pytest.approx([found[0]] * len(found), rel=1e-9)
    about = getattr(
        metric, "summary_error", 0.0
    )  # by how much a score from a summary may differ from the exact one
    assert found[0] == pytest.approx(metric.reduce(rows), rel=1e-6, abs=about)


@every_metric
def test_the_same_input_gives_the_same_bytes(name: str) -> None:
    first, second = made(name), made(name)
    assert first.signature == second.signature
    assert same(entries(first.rows(fit_for(first))), entries(second.rows(fit_for(second))))


@every_metric
def test_inputs_are_not_changed(name: str) -> None:
    metric = made(name)
    items = fit_for(metric)
    before = copy.deepcopy(items)
    rows = metric.rows(items)
    assert items == before
    kept = entries(rows.copy())
    metric.reduce(rows)
    assert same(entries(rows), kept)


def test_no_two_names_have_one_signature() -> None:
    signatures = [str(made(name).signature) for name in names()]
    assert len(set(signatures)) == len(names())


def settings() -> list[tuple[str, str]]:
    """Every setting of every metric that holds a number or a text by default; another model has a hash of its own."""
    return [
        (name, setting)
        for name in names()
        for setting, default in parameters(name).items()
        if isinstance(default, int | float | str)
        and setting not in (*UNSIGNED, "model", "ontology", "trained")
    ]


@pytest.mark.parametrize(("name", "setting"), settings())
def test_another_setting_is_another_signature(name: str, setting: str) -> None:
    value = parameters(name)[setting]
    step = 2 if setting == "angles" else 1  # one angle is no curve
    other = (
        OTHERS[value] if isinstance(value, str) else not value if isinstance(value, bool) else value + step
    )
    changed = resolve(name, **{**options(name), setting: other})
    metric = changed.fit(ITEMS) if isinstance(changed, Fitted) else changed
    assert str(metric.signature) != str(made(name).signature)


@pytest.mark.parametrize("name", [name for name in names() if describe(name).fitted])
def test_other_data_is_another_signature(name: str) -> None:
    assert str(made(name).signature) != str(made(name, ITEMS[:-1]).signature)
    assert str(made(name).signature) == str(made(name, list(reversed(ITEMS))).signature)


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
