"""An agent nobody rated, from its own dialogues: what is learned, what is refused, what an interval covers."""

import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import Refused
from turnwise.estimators.dialogues.choice import chosen, left_out
from turnwise.estimators.dialogues.estimate import Panel
from turnwise.estimators.dialogues.moments import MEAN, PENALTIES, Candidate, Moments, candidates_of
from turnwise.estimators.dialogues.pooled import pooled
from turnwise.estimators.dialogues.table import COMPONENTS, Blocks, Table, table
from turnwise.estimators.outside import Distance, check_inside

COLUMNS = {"carries": tuple(range(6)), "noise": tuple(range(6, 16))}


def panel(
    seed: int = 0,
    *,
    agents: int = 10,
    dialogues: int = 40,
    strength: float = 1.0,
    shift: float = 0.0,
    target_quality: float | None = None,
    own: int | None = None,
) -> tuple[Panel, float]:
    """Rated agents and an unrated `new`, whose first four features follow its quality; and its true mean rating.

    `strength` is how strongly, `shift` moves the noise features of `new`.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=agents + 1)
    if target_quality is not None:
        quality[-1] = target_quality
    counts = [dialogues] * agents + [dialogues if own is None else own]
    agent = np.repeat(np.arange(agents + 1), counts)
    features = rng.normal(size=(len(agent), 16))
    features[:, :4] += strength * 0.5 * quality[agent][:, None]
    features[:, 4:10] += 0.5 * rng.normal(size=(agents + 1, 6))[agent]
    features[agent == agents, 10:] += shift
    reward = 3 + 0.5 * quality[agent] + rng.normal(size=len(agent))
    reward[agent == agents] = np.nan
    names = (*(f"a{index}" for index in range(agents)), "new")
    return Panel(Table(names, agent, reward, features, COLUMNS, COLUMNS, {})), 3 + 0.5 * quality[-1]


def test_a_regression_from_sums_is_the_weighted_regression_on_the_dialogues() -> None:
    """Agents count equally although one has four times as many dialogues."""
    rng = np.random.default_rng(1)
    agent = np.repeat([0, 1, 2, 3], [10, 40, 10, 20])
    features, reward = rng.normal(size=(80, 3)), rng.normal(size=80)
    moments = Moments.of(features, agent, reward, 4)
    candidate = Candidate("x", (0, 2))
    found = moments.predictions(candidate, frozenset({3}))
    weights = np.where(agent == 3, 0.0, 1 / np.bincount(agent)[agent] / 3)
    x = features[:, [0, 2]]
    middle, level = weights @ x, weights @ reward
    spread = (x - middle).T @ ((x - middle) * weights[:, None])
    penalty = PENALTIES * np.trace(spread) / 2
    for row, size in zip(found, penalty, strict=True):
        by_hand = np.linalg.solve(spread + size * np.eye(2), (x - middle).T @ (weights * (reward - level)))
        assert row[3] == pytest.approx(level + (x[agent == 3].mean(axis=0) - middle) @ by_hand)


def test_the_ratings_of_a_left_out_agent_change_nothing_of_its_own_prediction() -> None:
    rng = np.random.default_rng(2)
    agent = np.repeat(np.arange(7), 20)
    features, reward = rng.normal(size=(140, 16)), rng.normal(size=140)
    candidates = candidates_of(COLUMNS, {})
    before = left_out(Moments.of(features, agent, reward, 7), candidates, range(7))
    changed = np.where(agent == 4, reward * 3 + 10, reward)
    after = left_out(Moments.of(features, agent, changed, 7), candidates, range(7))
    assert after.predicted[4] == before.predicted[4]
    assert after.choices[4] == before.choices[4]
    assert not np.allclose(np.delete(after.predicted, 4), np.delete(before.predicted, 4))


def test_the_features_that_carry_are_chosen() -> None:
    made, truth = panel(3, agents=12)
    found = made.estimate("new")
    assert found.refusal is None
    assert found.choice in ("carries", "all")
    assert found.interval[0] <= truth <= found.interval[1]


def test_features_that_carry_nothing_are_refused_and_else_cover_the_truth() -> None:
    """Agents are ranked by chance in a twentieth of cases; the interval then knows how little that says."""
    covered = []
    for seed in range(20):
        made, truth = panel(seed, strength=0.0)
        found = made.estimate("new")
        if found.refusal is None:
            covered.append(found.interval[0] <= truth <= found.interval[1])
    assert len(covered) <= 4
    assert all(covered)


def test_the_mean_of_the_others_is_a_candidate_without_columns() -> None:
    rng = np.random.default_rng(0)
    agent = np.repeat(np.arange(6), 10)
    moments = Moments.of(rng.normal(size=(60, 2)), agent, rng.normal(size=60), 6)
    found = moments.predictions(Candidate(MEAN, ()), frozenset({0}))
    assert found[:, 0] == pytest.approx(moments.rating[1:].mean())
    assert chosen(moments, [Candidate(MEAN, ())], range(6)).candidate.name == MEAN


@given(st.integers(0, 10**6), st.floats(-100, 100), st.floats(0.1, 50))
def test_another_scale_of_the_ratings_gives_the_same_estimate_on_that_scale(
    seed: int, shift: float, factor: float
) -> None:
    made, _ = panel(seed % 50, agents=6)
    data = made.data
    other = Panel(
        Table(
            data.agents, data.agent, shift + factor * data.reward, data.features, data.blocks, data.groups, {}
        )
    )
    found, scaled = made.estimate("new"), other.estimate("new")
    assert scaled.value == pytest.approx(shift + factor * found.value, rel=1e-6, abs=1e-6)
    assert scaled.choice == found.choice


def test_intervals_cover_the_truth_and_few_good_agents_are_refused() -> None:
    """150 new agents: with a coverage of .95, fewer than .91 of some 120 answered happen in 4 % of cases."""
    covered, answered = [], 0
    for seed in range(150):
        made, truth = panel(seed, agents=10, dialogues=30, strength=1.5)
        found = made.estimate("new")
        if found.refusal is None:
            answered += 1
            covered.append(found.interval[0] <= truth <= found.interval[1])
    assert answered > 105
    assert np.mean(covered) > 0.91


def test_a_refusal_says_what_the_features_are_about_and_how_often_others_were_chosen() -> None:
    made = panel(4, shift=3.0)[0]
    data = replace(made.data, blocks={"flow": made.data.blocks["noise"], "agent words": (0, 1)})
    refused = str(Panel(data).estimate("new").refusal)
    assert (
        "unlike those of the rated agents in how its replies and its users' turns follow one another"
        in refused
    )
    unstable = [
        str(found.refusal)
        for seed in range(60)
        if (found := panel(seed, agents=5, strength=1.0)[0].estimate("new")).refusal is not None
        and found.refusal.reason.code == "unstable-choice"
    ]
    assert unstable
    # Less than half of five keep the choice.
    assert all(
        re.search(r"one of the 5 rated agents left out, others are chosen in [345] of 5 cases", one)
        for one in unstable
    )


def test_an_agent_far_outside_is_refused() -> None:
    assert panel(4, shift=3.0)[0].estimate("new").refusal.reason.code == "dialogues-outside"
    far = panel(4, agents=12, target_quality=8.0)[0].estimate("new").refusal
    assert far is not None
    assert far.reason.code in ("dialogues-outside", "estimate-outside")


def test_fewer_dialogues_of_the_target_widen_its_interval() -> None:
    panels = (panel(5, agents=14, dialogues=80, strength=3.0, own=own)[0] for own in (400, 10))
    many, few = (made.estimate("new") for made in panels)
    width = [found.interval[1] - found.interval[0] for found in (many, few)]
    assert width[1] > 1.02 * width[0]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"agents": 4}, "too-few-rated-agents"),
        ({"agents": 5, "dialogues": 5, "own": 20}, "too-few-rated"),
        ({"own": 9}, "too-few-own-dialogues"),
    ],
)
def test_too_little_data_is_refused_with_what_would_be_enough(settings: dict[str, int], code: str) -> None:
    with pytest.raises(Refused) as error:
        panel(0, **settings)[0].estimate("new")
    assert error.value.reason.code == code
    if code == "too-few-rated-agents":
        assert "1 agent more rated would be enough" in str(error.value)


def test_ratings_of_the_target_narrow_the_interval_and_contradiction_is_seen() -> None:
    made, truth = panel(3, agents=12)
    found = made.estimate("new")
    rng = np.random.default_rng(0)
    ratings = np.full(40, np.nan)
    ratings[:20] = truth + rng.normal(size=20)
    together = pooled(found, ratings)
    alone = pooled(None, ratings)
    width = [one.interval[1] - one.interval[0] for one in (together, alone, found)]
    assert width[0] < min(width[1:])
    far = pooled(found, ratings + 50)
    assert "contradicts" in far.method
    assert far.estimate == pytest.approx(far.of_ratings)


def test_one_rating_of_a_target_without_a_prediction_is_refused() -> None:
    with pytest.raises(Refused, match="1 rating of the target are too few"):
        pooled(None, np.array([3.0, np.nan]))


def test_a_score_that_ranks_backwards_is_not_turned_round() -> None:
    """With five agents it cannot be told from one that says nothing: the prediction is the mean of the others."""
    agent = np.repeat(np.arange(5), 10)
    quality = np.arange(5.0)
    features = -quality[agent][:, None] + np.random.default_rng(0).normal(size=(50, 1)) * 0.1
    moments = Moments.of(features, agent, quality[agent], 5)
    backwards = moments.predictions(Candidate("score", (0,), between=True), frozenset({4}))
    assert backwards[:, 4] == pytest.approx(1.5)
    forwards = Moments.of(-features, agent, quality[agent], 5)
    assert forwards.predictions(Candidate("score", (0,), between=True), frozenset({4}))[0, 4] > 3


def test_agents_that_are_ranked_weakly_rank_no_agent_unlike_them() -> None:
    """With many agents a weak correlation is shown, too."""
    made = panel(10, agents=16, strength=0.45)[0].estimate("new")
    assert made.p < 0.05
    assert made.ranking < 0.75
    assert made.refusal is not None
    assert made.refusal.reason.code == "dialogues-not-ranked"
    assert "correlate 0.57" in str(made.refusal)


@pytest.mark.parametrize("agents", [6, 16])
def test_with_few_agents_an_unlike_one_is_refused_sooner(agents: int) -> None:
    """What one in ten agents like the others would reach is too far with six of them, and not with sixteen."""
    found = [Distance("what it says", 1.0, 0.4, 0.1)]
    with nullcontext() if agents > 10 else pytest.raises(Refused, match="unlike those of the rated agents"):
        check_inside("new", found, 1 / agents)


def test_a_component_in_which_words_vary_only_by_rounding_is_no_feature() -> None:
    rng = np.random.default_rng(0)
    agent = np.repeat(np.arange(6), 20)
    vectors = rng.standard_normal((120, 3)) @ rng.standard_normal((3, 50))
    blocks = Blocks({}, {"agent words": vectors}, None)
    made = table(tuple("abcdef"), agent, rng.random(120), blocks)
    deviations = made.features[:, list(made.blocks["agent words"])].std(axis=0)
    assert deviations == pytest.approx([1, 1, 1] + [0] * (COMPONENTS - 3), abs=0.05)
