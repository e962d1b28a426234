"""Frauds that the regression of `turnwise` is taught, and the regression with them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from papers.flagship import taught
from turnwise.encode.text.normalise import plain
from turnwise.metrics.learned.turnwise.ridge import (
    CORPUS_WEIGHT,
    MARGIN,
    PAIRS_WEIGHT,
    fit_ridge,
    standardised,
)
from turnwise.types import Dialogue, Turn

SAID = ("Hello, how are you?", "I am well, my dog is not.", "What happened to your dog?",
        "He ate the whole cake on Sunday.", "That sounds like a long night.")  # fmt: skip


def dialogues(count: int) -> list[Dialogue]:
    return [
        Dialogue(id=str(n), agent="human", turns=tuple(
            Turn("assistant" if at % 2 else "user", f"{text} It was number {n}.") for at, text in enumerate(SAID)
        ))
        for n in range(count)
    ]  # fmt: skip


def test_every_family_is_taught_and_no_fraud_is_the_persons_reply():
    made = taught.lessons(dialogues(30), np.random.default_rng(0), count=20)
    assert {family for one in made for family, _ in one.frauds} == set(taught.COUNTS)
    for one in made:
        for _, fraud in one.frauds:
            assert fraud.context == one.person.context
            assert plain(fraud.reply) not in ("", plain(one.person.reply))


def test_a_shuffled_reply_has_the_persons_words():
    for one in taught.lessons(dialogues(10), np.random.default_rng(0), count=10):
        for family, fraud in one.frauds:
            if family == "shuffled":
                assert sorted(fraud.reply.split()) == sorted(plain(one.person.reply).split())


def test_pairs_have_the_signals_of_person_and_fraud_and_leave_out_what_has_none():
    def table(items):
        lengths = np.array([[len(item.reply), len(item.context)] for item in items], dtype=float)
        lengths[lengths[:, 0] > 60] = np.nan
        return lengths

    people, frauds = taught.pairs(dialogues(30), table)
    assert people.shape == frauds.shape
    assert not np.isnan(people).any()
    assert not np.isnan(frauds).any()
    assert (people[:, 1] == frauds[:, 1]).all()


@pytest.fixture
def corpora():
    rng = np.random.default_rng(1)
    tables = [rng.normal(size=(n, 4)) for n in (60, 90)]
    ratings = [table @ [1.0, 0.5, 0.0, 0.0] + rng.normal(size=len(table)) for table in tables]
    people = rng.normal(size=(80, 4))
    return tables, ratings, (people, people + [0.3, 0.0, 0.8, 0.0] + 0.3 * rng.normal(size=(80, 4)))


def test_taught_frauds_are_lower_than_without(corpora):
    tables, ratings, (people, frauds) = corpora
    plain_fit, taught_fit = (
        fit_ridge(tables, ratings, penalty=10.0, pairs=pairs) for pairs in (None, (people, frauds))
    )

    def gain(fit):
        return np.mean(fit.predict(frauds) - fit.predict(people))

    assert gain(taught_fit) < gain(plain_fit) - 0.2


def test_the_weights_minimise_the_loss(corpora):
    tables, ratings, pairs = corpora
    found = fit_ridge(tables, ratings, penalty=10.0, cut=3.0, pairs=pairs)
    differences = found.standardise(pairs[0]) - found.standardise(pairs[1])

    def loss(weights):
        total = 10.0 * weights @ weights
        for table, rated in zip(tables, ratings, strict=True):
            x = np.clip((table - table.mean(axis=0)) / found.scale, -3, 3)
            total += CORPUS_WEIGHT * np.mean((standardised(rated) - x @ weights) ** 2)
        return total + PAIRS_WEIGHT * np.mean(np.maximum(MARGIN - differences @ weights, 0) ** 2)

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6})
    assert found.weights == pytest.approx(best.x, abs=1e-4)
