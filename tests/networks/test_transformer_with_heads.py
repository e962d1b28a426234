"""The small transformer: causal, with heads that learn, and the same answers after it was stored."""

import numpy as np
import pytest

pytest.importorskip("torch")
import torch

from turnwise.networks.training.loop import Plan, fit
from turnwise.networks.transformer import CHOICE, Example, Mark, Reader, Sizes, half, new_network

SIZES = {"vocabulary": 8, "width": 16, "layers": 1, "longest": 12, "heads": {"kind": 2}, "features": 2}


def example(first: int) -> Example:
    """The text repeats its first token; the class is its parity, and the right candidate has feature 0."""
    candidates = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    mark = Mark(1, {"kind": first % 2}, candidates, 1)
    return Example([first, 1, first, first, 2], [False, False, True, True, True], (mark,))


def trained() -> Reader:
    network = new_network(Sizes(**SIZES), 0)
    examples = [example(first) for first in (3, 4, 5, 6)]
    fit(
        network,
        lambda at: network.losses([examples[one] for one in at], {"kind": 1.0, CHOICE: 1.0}),
        len(examples),
        plan=Plan(epochs=120, batch=4, rate=0.01, patience=None),
    )
    return Reader.read(half(network), {"sizes": SIZES})


def test_it_learns_to_write_to_classify_and_to_choose() -> None:
    reader = trained()
    for first in (3, 4, 5, 6):
        assert reader.text([first, 1], end=2, most=5) == (first, first)
        assert reader.class_of("kind", [first, 1]) == first % 2
        assert reader.choice([first, 1], np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])) == 2
    right = reader.log_likelihood([3, 1, 3, 3, 2], 2)
    assert right > reader.log_likelihood([3, 1, 4, 4, 2], 2)
    assert right == pytest.approx(0.0, abs=0.5)


def test_a_state_depends_on_earlier_tokens_only() -> None:
    network = new_network(Sizes(**SIZES), 0)
    one, other = (network.states(torch.tensor([[3, 4, last]])) for last in (5, 6))
    assert torch.allclose(one[:, :2], other[:, :2])
    assert not torch.allclose(one[:, 2], other[:, 2])


def test_the_seed_decides_the_weights_and_the_global_generator_is_left_alone() -> None:
    before = torch.random.get_rng_state()
    same, again, other = (new_network(Sizes(**SIZES), seed).tokens.weight for seed in (0, 0, 1))
    assert torch.equal(same, again)
    assert not torch.equal(same, other)
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_text_that_is_too_long_keeps_its_end() -> None:
    network = new_network(Sizes(**{**SIZES, "longest": 3}), 0)
    assert torch.isfinite(network.losses([example(3)], {"kind": 1.0})).all()
    long = Example([5, 1, 3, 3, 2], [False, False, True, True, True])
    end = Example([3, 3, 2], [True, True, True])
    assert network.mean_loss([long]) == pytest.approx(network.mean_loss([end]))
