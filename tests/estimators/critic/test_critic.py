"""The offline critic: what it must know of itself, and what must not fool it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.encode.episodes import encode, whole
from turnwise.errors import Refused, UsageError
from turnwise.estimators import resolve
from turnwise.estimators.critic.controls import (
    CONTROLS,
    LOGGED,
    PREFIX,
    truncated,
    verdict_on_controls,
    with_controls,
)
from turnwise.estimators.critic.critic import Critic
from turnwise.estimators.critic.evaluation import Evaluation, SystemValue, _Fit, _growth
from turnwise.estimators.critic.features import Facts
from turnwise.estimators.critic.words import Axes, BagOfWords, BinaryActs, SemanticActs, words
from turnwise.types import Dialogue, Episodes, Reply, Turn

TOPICS = ("hotel", "train", "taxi", "museum")
SHARES = (0.25, 0.5, 0.75, 1.0)


def talk(place: int, rng: np.random.Generator) -> Dialogue:
    """A clerk answers on topic; when the user was told a price he is content at the end."""
    turns: list[Turn] = []
    for _ in range(int(rng.integers(1, 5))):
        topic = TOPICS[int(rng.integers(len(TOPICS)))]
        wish = ("cheap", "near", "good", "quiet")[int(rng.integers(4))]
        good = f"the slotname is a {wish} {topic} in the slotarea . shall i book it ?"
        poor = f"there is no {topic} ." if rng.random() < 0.5 else "i do not know , sorry ."
        turns.append(Turn("user", f"i want a {wish} {topic} please"))
        turns.append(Turn("assistant", good, alternatives={"good": (Reply(good),), "poor": (Reply(poor),)}))
    return Dialogue(f"d{place}", "human", tuple(turns))


def talks(count: int = 150, seed: int = 0) -> list[Dialogue]:
    rng = np.random.default_rng(seed)
    return [talk(place, rng) for place in range(count)]


def logged_episodes(dialogues: list[Dialogue], shares: tuple[float, ...] = (), seed: int = 1) -> Episodes:
    rng = np.random.default_rng(seed)
    rewards = {one.id: 100.0 * (rng.random() < 0.8) for one in dialogues}
    controlled = with_controls(dialogues, np.random.default_rng(2), shares=shares)
    return encode(whole(controlled, rewards), rating="success", delexicalised=False)


@pytest.fixture(scope="module")
def episodes() -> Episodes:
    return logged_episodes(talks(), SHARES)


@pytest.fixture(scope="module")
def evaluation(episodes: Episodes) -> Evaluation:
    return Critic(reward="success").evaluation(episodes)


def value(evaluation: Evaluation, name: str) -> SystemValue:
    return evaluation.value(evaluation.features.episodes.alternatives[name])


def test_the_logged_agent_is_worth_its_empirical_discounted_return(evaluation: Evaluation) -> None:
    episodes = evaluation.features.episodes
    returned = np.mean(0.9 ** (np.diff(episodes.first) - 1) * episodes.reward)
    assert value(evaluation, LOGGED).value == pytest.approx(returned, abs=1.0)


def test_every_control_lies_below_the_agent_that_answers_as_logged(evaluation: Evaluation) -> None:
    good = value(evaluation, "good").value
    for control in CONTROLS:
        assert value(evaluation, PREFIX + control).value < good - 5


def test_a_system_that_answers_badly_is_worth_less(evaluation: Evaluation) -> None:
    assert value(evaluation, "poor").value < value(evaluation, "good").value - 5


@pytest.mark.parametrize("kind", ["random", "truncated"])
def test_value_falls_with_every_step_of_corruption(evaluation: Evaluation, kind: str) -> None:
    graded = [f"{kind}@{share:g}" for share in SHARES[:-1]]
    found = [value(evaluation, name).value for name in (LOGGED, *graded)]
    assert np.all(np.diff(found) < 0), found


def test_silence_is_worth_nothing(evaluation: Evaluation) -> None:
    assert value(evaluation, "truncated@1").value == 0.0


def test_q_of_a_dialogue_comes_from_a_fit_that_did_not_see_it(episodes: Episodes) -> None:
    spoilt = episodes.reward.copy()
    spoilt[7] = 1e4
    before = Critic(reward="success").evaluation(episodes)
    after = Critic(reward="success").evaluation(replace(episodes, reward=spoilt))
    mine = slice(episodes.first[7], episodes.first[8])
    assert value(after, "good").q[mine] == pytest.approx(value(before, "good").q[mine])
    assert not np.allclose(value(after, "good").q, value(before, "good").q)


def test_the_order_of_dialogues_does_not_matter() -> None:
    dialogues = talks(60)
    paid = {one.id: 100.0 * (place % 3 > 0) for place, one in enumerate(dialogues)}
    found = [
        Critic(reward="success").estimate(
            encode(whole(given, paid), rating="success", delexicalised=False),
            "poor",
            rng=np.random.default_rng(0),
        )
        for given in (dialogues, dialogues[::-1])
    ]
    assert found[0].value == pytest.approx(found[1].value, rel=1e-6)


def test_the_standard_error_is_the_spread_over_fresh_dialogues(episodes: Episodes) -> None:
    spread = []
    for seed in range(12):
        fresh = Critic(reward="success").evaluation(logged_episodes(talks(150, seed=100 + seed), seed=seed))
        spread.append(value(fresh, "good").value)
    mine = value(Critic(reward="success").evaluation(episodes), "good").contributions
    error = mine.std(ddof=1) / np.sqrt(len(mine))
    assert 0.5 * np.std(spread, ddof=1) < error < 2 * np.std(spread, ddof=1)


def test_without_negatives_a_parrot_is_not_told_from_people(episodes: Episodes) -> None:
    blind = Critic(reward="success", negatives=0.0).evaluation(episodes)
    seeing = Critic(reward="success").evaluation(episodes)
    assert value(blind, PREFIX + "parrot").value > value(seeing, PREFIX + "parrot").value


def test_pessimism_lowers_the_value(episodes: Episodes) -> None:
    plain = Critic(reward="success").evaluation(episodes)
    wary = Critic(reward="success", pessimism=1.5).evaluation(episodes)
    assert value(wary, "good").value < value(plain, "good").value


def test_a_reward_at_every_turn_is_summed_with_its_discount() -> None:
    dialogues = talks(120)
    counts = [sum(turn.role == "assistant" for turn in one.turns) for one in dialogues]
    facts = {
        one.id: Facts(np.eye(6)[np.arange(count)], np.ones(count))
        for one, count in zip(dialogues, counts, strict=True)
    }
    evaluation = Critic(reward="progress").with_facts(facts).evaluation(logged_episodes(dialogues))
    returned = np.mean([sum(0.9**t for t in range(count)) for count in counts])
    assert value(evaluation, LOGGED).value == pytest.approx(returned, rel=0.03)


def test_with_ratings_the_value_is_a_mean_rating(episodes: Episodes) -> None:
    critic = resolve("critic")
    found = critic.estimate(episodes, "good", rng=np.random.default_rng(0))
    assert found.value == pytest.approx(episodes.reward.mean(), abs=4)
    assert found.contributions.mean() == pytest.approx(found.value)
    assert "gamma:1" in str(critic.signature)


def test_a_few_dialogues_are_refused() -> None:
    with pytest.raises(Refused, match="30 dialogues"):
        Critic(reward="success").evaluation(logged_episodes(talks(20)))


def test_an_iteration_that_diverges_is_refused(episodes: Episodes, monkeypatch) -> None:
    steps = []
    walked = _Fit.iterated

    def kept(fit: _Fit, step: np.ndarray, right: np.ndarray, count: int) -> np.ndarray:
        steps.append((fit, step, right))
        return walked(fit, step, right, count)

    monkeypatch.setattr(_Fit, "iterated", kept)
    value(Critic(reward="success").evaluation(episodes), "good")
    fit, step, right = steps[0]
    growth = np.abs(np.linalg.eigvals(np.linalg.solve(fit.gram, step))).max()
    assert growth < 1
    walked(fit, step * 0.99 / growth, right, 8)
    with pytest.raises(Refused, match=r"does not converge .* multiplies an error by"):
        walked(fit, step * 1.01 / growth, right, 8)


def test_a_value_that_has_not_converged_is_refused(episodes: Episodes, monkeypatch) -> None:
    walked = _Fit.iterated
    monkeypatch.setattr(_Fit, "iterated", lambda fit, step, right, count: walked(fit, step, right, 1))
    with pytest.raises(Refused, match="further steps would move the value"):
        value(Critic(reward="success").evaluation(episodes), "good")


def test_a_target_without_replies_is_refused(episodes: Episodes) -> None:
    with pytest.raises(Refused, match="respond"):
        Critic().estimate(episodes, "nobody", rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "settings", ["reward=luck", "gamma=0", "gamma=2", "ridge=0", "negatives=-1", "form=odd"]
)
def test_settings_that_mean_nothing_are_usage_errors(settings: str) -> None:
    with pytest.raises(UsageError, match="critic"):
        resolve(f"critic[{settings}]")


def test_binary_acts_are_actions_too(episodes: Episodes) -> None:
    evaluation = Critic(reward="success", actions="acts").evaluation(episodes)
    assert value(evaluation, "poor").value < value(evaluation, "good").value
    rows = BinaryActs(["slotname slotarea"]).encode(["the slotname ?", "sorry , goodbye"])
    assert rows.tolist() == [[0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0]]


def test_semantic_acts_say_what_is_done_with_which_slot() -> None:
    texts = ("which slotarea do you like ?", "slotname is in the slotarea . shall i book it ?", "")
    acts = SemanticActs(texts)
    assert set(acts.columns) == {
        ("request", "slotarea"),
        ("inform", "slotarea"),
        ("inform", "slotname"),
        ("request", ""),
        ("book", ""),
    }
    rows = acts.encode(texts)
    assert rows.sum(axis=1).tolist() == [1.0, 4.0, 0.0]
    assert acts.encode(("slotphone .",)).sum() == 0.0  # never seen


def test_controls_say_what_their_names_promise() -> None:
    dialogue = Dialogue(
        "d", "human", (Turn("user", "hello there"), Turn("assistant", "the slotname is slotarea"))
    )
    other = Dialogue("e", "human", (Turn("user", "hi"), Turn("assistant", "which slotfood ?")))
    found = with_controls([dialogue, other], np.random.default_rng(0))[0].turns[1].alternatives
    said = {name.removeprefix(PREFIX): replies[0].content for name, replies in found.items()}
    assert said[LOGGED] == "the slotname is slotarea"
    assert said["random"] == "which slotfood ?"
    assert said["truncated"] == "the slotname"
    assert said["parrot"] == "hello there"
    assert said["stuffed"] == "slotarea slotfood slotname"


@given(st.text(), st.floats(0, 1))
def test_truncation_keeps_a_beginning(text: str, share: float) -> None:
    kept = truncated(text, share).split()
    assert kept == text.split()[: len(kept)]
    assert truncated(text, 1.0) == ""


def test_a_control_as_good_as_the_worst_system_fools_the_critic() -> None:
    verdict = verdict_on_controls({"a": 50.0, "b": 40.0}, {"parrot": 40.0, "generic": 10.0})
    assert (verdict.fooled_by, verdict.worst, verdict.margin) == (("parrot",), "b", 0.0)
    assert not verdict_on_controls({"a": 50.0}, {"parrot": 40.0}).fooled
    assert verdict_on_controls({"a": 50.0}, {"parrot": float("nan")}).fooled


def test_a_control_as_good_as_the_logged_agent_fools_the_critic_though_no_system_is_reached() -> None:
    verdict = verdict_on_controls({"a": 50.0}, {"parrot": 40.0, "generic": 10.0}, logged=35.0)
    assert (verdict.fooled_by, verdict.worst, verdict.margin) == (("parrot",), LOGGED, -5.0)
    assert not verdict_on_controls({"a": 50.0}, {"parrot": 40.0}, logged=60.0).fooled
    assert verdict_on_controls({}, {"parrot": 40.0}, logged=35.0).fooled


def test_axes_have_unit_variance_where_they_were_fitted() -> None:
    rows = np.random.default_rng(0).normal(size=(200, 5)) @ np.diag([3, 2, 1, 0.5, 0])
    found = Axes.fit(rows, 3)(rows)
    assert found.shape == (200, 3)
    assert np.std(found, axis=0) == pytest.approx(1.0)


def test_words_are_letters_and_questions() -> None:
    assert words("Do n't go! 12:30 ?") == ["do", "n't", "go", "!", "?"]
    assert BagOfWords(["a b", "a"], most=1).encode(["a a", "b"]).tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize("radius", [0.3, 0.95, 0.9999, 1.0001, 3.0, 1e60])
@pytest.mark.parametrize("seed", range(3))
def test_a_matrix_grows_where_its_largest_eigenvalue_is_one_or_more(radius: float, seed: int) -> None:
    drawn = np.random.default_rng(seed).normal(
        size=(20, 20)
    )  # not symmetric: its powers may grow before they fall
    matrix = drawn * radius / np.abs(np.linalg.eigvals(drawn)).max()
    found = _growth(matrix)
    assert found is None if radius < 1 else found == pytest.approx(radius)


def test_a_matrix_that_is_not_finite_grows() -> None:
    assert _growth(np.full((2, 2), np.nan)) == np.inf
