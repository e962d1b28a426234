"""The published recurrent critic, small: fitted Q with a target network and the least of K dropout passes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from turnwise.encode.episodes import encode, whole  # noqa: E402
from turnwise.errors import Refused, UsageError  # noqa: E402
from turnwise.estimators import resolve  # noqa: E402
from turnwise.estimators.critic.controls import LOGGED, PREFIX, with_controls  # noqa: E402
from turnwise.estimators.neural.actions import points_of  # noqa: E402
from turnwise.estimators.neural.critic import Learner, PaperCritic  # noqa: E402
from turnwise.types import Dialogue, Episodes, Turn  # noqa: E402

SMALL = {"drawn": 960, "batch": 16, "hidden": 16, "words": 8, "passes": 2}


def talk(place: int, rng: np.random.Generator) -> Dialogue:
    turns: list[Turn] = []
    for _ in range(int(rng.integers(1, 5))):
        turns += [Turn("user", "i want a hotel"), Turn("assistant", "the slotname is free . shall i book ?")]
    turns += [Turn("user", "that is all , thanks"), Turn("assistant", "you are welcome . goodbye .")]
    return Dialogue(f"d{place}", "human", tuple(turns))


@pytest.fixture(scope="module")
def episodes() -> Episodes:
    rng = np.random.default_rng(0)
    dialogues = with_controls([talk(place, rng) for place in range(60)], np.random.default_rng(1))
    return encode(
        whole(dialogues, {one.id: 100.0 for one in dialogues}), rating="return", delexicalised=False
    )


def test_the_logged_agent_is_worth_about_its_discounted_length_when_every_dialogue_pays(
    episodes: Episodes,
) -> None:
    training = PaperCritic(
        reward="one", passes=1, **{k: v for k, v in SMALL.items() if k != "passes"}
    ).evaluation(episodes)
    found = training.value(episodes.alternatives[LOGGED])
    returned = np.mean(100 * 0.9 ** (np.diff(episodes.first) - 1))
    # Three seeds came within 3.1 of 76.7; four times the training within .8.
    assert found.value == pytest.approx(returned, abs=5)
    assert found.value == pytest.approx(found.q[episodes.first[:-1]].mean())


@pytest.mark.slow
def test_saying_goodbye_at_every_turn_beats_people_as_published(episodes: Episodes) -> None:
    training = PaperCritic(reward="one", **SMALL).evaluation(episodes)
    people = training.value(episodes.alternatives[LOGGED]).value
    assert training.value(episodes.alternatives[PREFIX + "goodbye"]).value > people + 5


def test_the_same_seed_gives_the_same_value(episodes: Episodes) -> None:
    quick = SMALL | {"drawn": 64}
    values = [
        PaperCritic(reward="one", **quick)
        .evaluation(episodes, seed=seed)
        .value(episodes.alternatives[LOGGED])
        .value
        for seed in (3, 3, 4)
    ]
    assert values[0] == values[1] != values[2]


def test_more_passes_are_more_pessimistic(episodes: Episodes) -> None:
    quick = {key: value for key, value in (SMALL | {"drawn": 320}).items() if key != "passes"}
    one, ten = (
        PaperCritic(reward="one", passes=passes, **quick)
        .evaluation(episodes)
        .value(episodes.alternatives[LOGGED])
        .value
        for passes in (1, 10)
    )
    assert ten < one


@pytest.mark.parametrize("actions", ["acts", "hashing"])
def test_distance_is_taken_off_targets_and_not_off_the_value_that_is_reported(
    episodes: Episodes, actions: str
) -> None:
    training = PaperCritic(reward="one", actions=actions, penalty=0.5, dropout=0.0, **SMALL).evaluation(
        episodes
    )
    learner = Learner(training, torch.as_tensor(episodes.alternatives[PREFIX + "goodbye"].text[:, 0]))
    everyone = np.arange(len(episodes.dialogues))
    learner.train(everyone)
    batch = training.batch(everyone)
    worth, cost = learner._worth(learner.network, batch)
    assert (cost > 0).any()
    reported, _ = learner.values_and_errors(everyone)
    assert reported == pytest.approx(worth.detach().numpy(), abs=1e-6)
    after = torch.cat([(worth - cost)[1:], torch.zeros(1)]).masked_fill(batch.last, 0.0)
    wanted = (training.reward[batch.rows] + 0.9 * after).clamp(0.0, 1.0)
    assert torch.allclose(learner._bootstrapped(learner.network, batch), wanted, atol=1e-6)


def test_vectors_are_standardised_and_acts_are_bits() -> None:
    found = points_of(("hello there", "goodbye", "the slotname ?"), "hashing")
    assert found.mean.mean(dim=0).abs().max() < 1e-5
    assert set(points_of(("the slotname ?", ""), "acts").mean.unique().tolist()) == {0.0, 1.0}


def test_it_is_asked_for_by_name_and_says_what_it_cannot_do(episodes: Episodes) -> None:
    critic = resolve("critic-paper[reward=one,hidden=20]")
    assert "hidden:20" in str(critic.signature)
    assert resolve("critic-paper").weight == 0.0
    assert resolve("critic-paper[actions=minilm]").weight == 0.1
    for bad in ("negatives=.1", "pessimism=1", "folds=1", "passes=0"):
        with pytest.raises(UsageError, match="critic-paper"):
            resolve(f"critic-paper[{bad}]")


def test_negative_rewards_do_not_fit_a_sigmoid(episodes: Episodes) -> None:
    from dataclasses import replace

    poor = replace(episodes, reward=-episodes.reward)
    with pytest.raises(Refused, match="sigmoid"):
        PaperCritic(reward="one", **SMALL).evaluation(poor).value(poor.alternatives[LOGGED])
