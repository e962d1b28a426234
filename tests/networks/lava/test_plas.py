"""PLAS: what the actor is kept close to."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.small_task import LAVA, small_task  # noqa: E402
from turnwise.errors import UsageError  # noqa: E402
from turnwise.networks.lava import plas, supervised  # noqa: E402
from turnwise.networks.lava.model import EvaluatedDialogues, Model, bounded  # noqa: E402
from turnwise.networks.lava.state_layout import StateLayout  # noqa: E402
from turnwise.networks.lava.words import Words  # noqa: E402


def moved(anchor: str, closeness: float) -> float:
    """The mean squared distance per dimension between the policy's actions before and after training."""
    dialogues = small_task(80)
    words = Words.learn((turn.text for one in dialogues for turn in one.turns), fewest=1)
    how = supervised.Settings(**{**LAVA, "epochs": 3}, device="cpu")
    model = Model.new(words, StateLayout.learn(dialogues), longest=how.longest, **how.sizes)
    data = model.corpus(dialogues)
    supervised.train(model, data, data, settings=how, seed=0)
    settings = plas.Settings(
        anchor=anchor, closeness=closeness, hidden=16, batch=16, episodes=960, lead=10, every=60, device="cpu"
    )
    rewards = np.random.default_rng(0).integers(2, size=len(dialogues)).astype(float)
    ground = EvaluatedDialogues(data, lambda _number, _replies: 0.0)
    _, search = plas.train(model, data, rewards, ground, settings=settings, seed=0)
    with torch.no_grad():
        before, after = (
            bounded(one.network.state(data.user, data.state), settings.sigma).mean
            for one in (model, search.last)
        )
    return float((after - before).square().mean())


@pytest.mark.slow
def test_a_policy_anchored_to_itself_stays_where_it_was_if_closeness_is_huge() -> None:
    free, kept, logged = moved("policy", 0.0), moved("policy", 1e4), moved("logged", 1e4)
    assert free > 1e-3
    assert kept < 0.01 * free
    assert kept < 0.01 * logged  # the distance to the logged actions pulls it away instead


def test_an_unknown_anchor_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is no anchor `polcy`; the nearest are policy, logged"):
        plas.Settings(anchor="polcy")
