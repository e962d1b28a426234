"""Metrics from the probabilities of a language model, on a tiny model whose scores are recomputed in the test."""

import math

import numpy as np
import pytest

from tests.tiny_models import write_llama
from turnwise.encode import TextInContext, load_lm
from turnwise.metrics import resolve
from turnwise.types import Item, Turn


@pytest.fixture(scope="module")
def llama(tmp_path_factory) -> str:
    pytest.importorskip("torch")
    return str(write_llama(tmp_path_factory.mktemp("m") / "llama", chat=True))


def item(reply: str, *, said: str = "i love my cat") -> Item:
    return Item("d#1", "d", "bot", (Turn("user", said), Turn("assistant", reply)), 1, "d", "d")


def number(metric, *items: Item) -> float:
    return metric.reduce(metric.rows(list(items)))


def test_perplexity_likelihood_and_pmi_come_from_the_same_sums(llama):
    model = load_lm(llama)
    one, two = item("i like the piano"), item("you play a song", said="we hear a song")
    given = model.score([TextInContext(i.reply, i.context, "assistant") for i in (one, two)])
    alone = model.score([TextInContext(i.reply, (), "assistant") for i in (one, two)])
    per_token = given[:, 0].sum() / given[:, 1].sum()
    assert number(resolve("loglik", model=llama), one, two) == pytest.approx(per_token)
    assert number(resolve("ppl", model=llama), one, two) == pytest.approx(math.exp(-per_token))
    gained = given[:, 0] - alone[:, 0]
    assert number(resolve("pmi", model=llama), one, two) == pytest.approx(gained.sum() / given[:, 1].sum())
    assert number(resolve("pmi-total", model=llama), one, two) == pytest.approx(gained.mean())


def test_fed_is_the_difference_between_positive_and_negative_follow_ups(llama):
    from turnwise.metrics.unreferenced.likelihood import NEGATIVE_FOLLOW_UPS, POSITIVE_FOLLOW_UPS

    one = item("i like the piano")
    after = (*one.context, Turn("assistant", one.reply))
    each = [
        load_lm(llama).score([TextInContext(text, after, "user")])[0]
        for text in (*POSITIVE_FOLLOW_UPS, *NEGATIVE_FOLLOW_UPS)
    ]
    means = np.array([total / count for total, count in each]).reshape(2, -1).mean(axis=1)
    assert number(resolve("fed", model=llama), one) == pytest.approx(means[0] - means[1])
