"""The contract of metrics."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from turnwise.conformance.calls import fitted_on, number_of, numbers_of, rows_of, signature_of
from turnwise.conformance.plugins import metric_problem
from turnwise.errors import Refused
from turnwise.metrics.rows import scored, stack_rows
from turnwise.protocols import metric_extras
from turnwise.run.scoring.blocks import unmet_need
from turnwise.testing.data import dialogue_items, turn_items
from turnwise.testing.expect import ContractError, an_instance, expect, no_problem, running
from turnwise.types import HasMoments, Item, Metric, NeedsFitting, Rows, Summed


@dataclass(frozen=True)
class Subject:
    """A metric under test: ready to score, with items and their rows."""

    made: Metric | NeedsFitting  # as its class makes it
    metric: Metric  # fitted, where it must be
    items: Sequence[Item]
    fit_items: Sequence[Item]
    rows: Rows


def check_metric(
    metric: Metric | NeedsFitting,
    items: Sequence[Item] | None = None,
    *,
    fit_items: Sequence[Item] | None = None,
    checks: Sequence[Callable[[Subject], None]] | None = None,
) -> None:
    """Check that a metric keeps its contract; raises `ContractError` with one sentence where it does not.

    A distance between distributions should be made with a minimum sample size of 4 or less.

    Parameters:
        metric: The metric, as its class makes it.
        items: What it scores; items that lack what the metric `needs` are left out, as in `turnwise score`. Default:
            `turn_items()`, or `dialogue_items()` for a metric of whole dialogues.
        fit_items: What a metric with `fit` is fitted on. Default: `turn_items()`.
        checks: Some of `turnwise.testing.metrics.CHECKS`, each a function of its own, to leave out those that take
            long: all of them score some 180 items. Default: all.
    """
    subject = subject_of(metric, items, fit_items=fit_items)
    for check in CHECKS if checks is None else checks:
        with running(f"the check that {(check.__doc__ or check.__name__).strip().rstrip('.').lower()}"):
            check(subject)


def subject_of(
    metric: Metric | NeedsFitting,
    items: Sequence[Item] | None = None,
    *,
    fit_items: Sequence[Item] | None = None,
) -> Subject:
    """The metric, fitted if it has `fit`, with items that have what it needs, and their rows.

    Raises `ContractError` if it is no metric.
    """
    an_instance(metric)
    no_problem(metric_problem(metric))
    fit_items = turn_items() if fit_items is None else fit_items
    with running("`fit`"):
        ready = fitted_on(metric, fit_items) if isinstance(metric, NeedsFitting) else metric
    if items is None:
        items = dialogue_items() if "dialogue" in ready.needs else turn_items()
    items = [item for item in items if unmet_need(ready, item) is None]
    with running("`rows`"):
        rows = rows_of(ready, items)
    return Subject(metric, ready, items, fit_items, rows)


def attributes_are_valid(subject: Subject) -> None:
    """The attributes are valid and the signature has a name."""
    no_problem(metric_problem(subject.metric))
    expect(signature_of(subject.metric).name.strip(), "`signature.name` is empty; expected the metric's name")
    card = subject.metric.card
    for words in (card.meaning, card.range, card.limits, card.citation, subject.metric.unscored):
        expect(words == words.strip() != "", f"{words!r} is no text without spaces around it")


def some_items_are_scored(subject: Subject) -> None:
    """Some items are scored and give a number."""
    expect(
        scored(subject.rows).any(), "no item of the test data was scored; give check_metric items that can be"
    )
    number = number_of(subject.metric, subject.rows)
    expect(math.isfinite(number), f"`reduce` of scored rows is {number}; expected a finite number")


def a_row_depends_on_its_item_alone(subject: Subject) -> None:
    """A row depends on its own item alone, and not on the others of the list."""
    metric, items = subject.metric, subject.items
    for cut in range(1, len(items)):
        parts = stack_rows([rows_of(metric, items[:cut]), rows_of(metric, items[cut:])])
        expect(
            same(entries(parts), entries(subject.rows)),
            f"rows of {len(items)} items at once differ from rows of the first {cut} and of the others",
        )


def order_does_not_matter(subject: Subject) -> None:
    """The order of rows does not change the number."""
    rng = np.random.default_rng(0)
    whole = number_of(subject.metric, subject.rows)
    for _ in range(5):
        number = number_of(subject.metric, subject.rows[rng.permutation(subject.rows.shape[0])])
        expect(
            math.isclose(number, whole, rel_tol=1e-9, abs_tol=1e-12),
            f"`reduce` is {whole}, and {number} with the same rows in another order",
        )


def any_subset_reduces(subject: Subject) -> None:
    """Any subset of rows reduces as if it were all rows."""
    metric, items = subject.metric, subject.items
    rng = np.random.default_rng(1)
    for size in range(1, len(items) + 1):
        chosen = np.sort(rng.choice(len(items), size=size, replace=False))
        alone = reduced(metric, rows_of(metric, [items[index] for index in chosen]))
        expect(
            same((reduced(metric, subject.rows[chosen]),), (alone,)),
            f"`reduce` of {size} chosen rows differs from `reduce` of the rows of these items alone",
        )


def unscored_rows_change_nothing(subject: Subject) -> None:
    """Rows with NaN change nothing."""
    kept = subject.rows[scored(subject.rows)]
    expect(
        same((number_of(subject.metric, kept),), (number_of(subject.metric, subject.rows),)),
        "`reduce` changes when rows with NaN are left out; they must be ignored",
    )


def no_items_give_no_number(subject: Subject) -> None:
    """No items give no rows and no number."""
    rows = rows_of(subject.metric, [])
    expect(
        rows.shape == (0, subject.rows.shape[1]),
        f"`rows` of no items has shape {rows.shape}; expected (0, {subject.rows.shape[1]})",
    )
    number = reduced(subject.metric, rows)
    expect(math.isnan(number), f"`reduce` of no rows is {number}; expected NaN")


def one_item_is_scored_by_its_row(subject: Subject) -> None:
    """One item gives a number exactly where its row has no NaN."""
    for index, known in enumerate(scored(subject.rows)):
        number = reduced(subject.metric, subject.rows[[index]])
        wanted = bool(known) and subject.metric.level != "system"
        state = "scored" if known else "unscored"
        expect(
            math.isfinite(number) == wanted, f"`reduce` of item {index} alone, which is {state}, is {number}"
        )


def sums_are_enough(subject: Subject) -> None:
    """The `of_sums` of summed rows is the `reduce` of the rows."""
    metric = subject.metric
    if not isinstance(metric, Summed):
        return
    rows = subject.rows[scored(subject.rows)]
    if not isinstance(rows, np.ndarray):
        raise ContractError("a metric with `of_sums` returned sparse rows; expected a numpy array")
    total, number = float(numbers_of(metric, rows.sum(axis=0))), number_of(metric, rows)
    expect(total == number, f"`of_sums` of the summed rows is {total}, and `reduce` of the rows is {number}")
    empty = float(numbers_of(metric, np.zeros(rows.shape[1])))
    expect(math.isnan(empty), f"`of_sums` of zeros, the sum of no rows, is {empty}; expected NaN")
    rng = np.random.default_rng(2)
    counts = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=(3, 4)).astype(float)
    at_once = numbers_of(metric, counts @ rows)
    for index in np.ndindex(3, 4):
        drawn = number_of(metric, np.repeat(rows, counts[index].astype(int), axis=0))
        expect(
            math.isclose(at_once[index], drawn, rel_tol=1e-12, abs_tol=1e-300)
            or (math.isnan(at_once[index]) and math.isnan(drawn)),
            f"`of_sums` of many sums at once gives {at_once[index]} where `reduce` gives {drawn}",
        )


def moments_are_enough(subject: Subject) -> None:
    """The `of_moments` of added moments is the `reduce` of the rows."""
    metric = subject.metric
    if not isinstance(metric, HasMoments):
        expect(not hasattr(metric, "moments"), "has `moments` and no `of_moments`; expected both or neither")
        return
    rows = subject.rows[scored(subject.rows)]
    parts = [metric.moments(rows[start::3]) for start in range(3)]
    found = [metric.of_moments(one + two + three) for one, two, three in permutations(parts)]
    expect(
        all(math.isclose(one, found[0], rel_tol=1e-9) for one in found),
        "`of_moments` depends on the order in which moments are added",
    )
    number = number_of(metric, rows)
    expect(
        math.isclose(found[0], number, rel_tol=1e-6, abs_tol=metric_extras(metric).summary_error),
        f"`of_moments` of all moments is {found[0]}, and `reduce` of the rows is {number}",
    )


def the_same_input_gives_the_same_rows(subject: Subject) -> None:
    """The same items give the same rows, bit for bit."""
    again = rows_of(subject.metric, subject.items)
    expect(same(entries(again), entries(subject.rows)), "a second call of `rows` with the same items differs")


def it_can_be_sent_to_a_worker(subject: Subject) -> None:
    """The metric can be pickled, because worker processes get it so."""
    with running("pickling the metric"):
        sent: Metric = pickle.loads(pickle.dumps(subject.metric))  # noqa: S301
    expect(sent.signature == subject.metric.signature, "the signature differs after pickling")
    expect(same(entries(rows_of(sent, subject.items)), entries(subject.rows)), "rows differ after pickling")


def inputs_are_not_changed(subject: Subject) -> None:
    """The items and the rows are not changed."""
    before = copy.deepcopy(list(subject.items))
    rows = rows_of(subject.metric, subject.items)
    expect(list(subject.items) == before, "`rows` changed the items")
    kept = entries(rows.copy())
    reduced(subject.metric, rows)
    expect(same(entries(rows), kept), "`reduce` changed the rows")


def other_data_is_another_signature(subject: Subject) -> None:
    """A metric that was fitted on other data has another signature."""
    if not isinstance(subject.made, NeedsFitting):
        return
    signature = str(signature_of(subject.metric))
    fewer = fitted_on(subject.made, list(subject.fit_items)[:-1])
    expect(str(signature_of(fewer)) != signature, "the signature is the same after a fit on other data")
    turned = fitted_on(subject.made, list(reversed(subject.fit_items)))
    expect(
        str(signature_of(turned)) == signature, "the signature changes with the order of the data of the fit"
    )


CHECKS: tuple[Callable[[Subject], None], ...] = (
    attributes_are_valid,
    some_items_are_scored,
    the_same_input_gives_the_same_rows,
    a_row_depends_on_its_item_alone,
    order_does_not_matter,
    any_subset_reduces,
    unscored_rows_change_nothing,
    no_items_give_no_number,
    one_item_is_scored_by_its_row,
    sums_are_enough,
    moments_are_enough,
    it_can_be_sent_to_a_worker,
    inputs_are_not_changed,
    other_data_is_another_signature,
)


def reduced(metric: Metric, rows: Rows) -> float:
    """The number of these rows; NaN if a system-level metric refuses so few rows.

    At other levels a refusal is a `ContractError`.
    """
    try:
        return number_of(metric, rows)
    except Refused as error:
        if metric.level != "system":
            raise ContractError(f"`reduce` raised Refused at level {metric.level}: {error}") from error
        return math.nan


def entries(rows: Rows) -> tuple[Any, ...]:
    """The shape and the numbers of rows as a tuple that `same` can compare, dense or sparse."""
    if isinstance(rows, np.ndarray):
        return rows.shape, rows.tolist()
    return rows.shape, rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()


def same(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Whether two results of `entries` are equal bit for bit; NaN equals NaN."""
    return repr(first) == repr(second)
