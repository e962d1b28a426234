"""`train turnwise --on preferences`: weights from choices, held-out accuracy, and data that cannot be learned from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import turnwise
from tests.tiny_trained import TOPICS, tiny_trained
from tests.wild_corpora import WILD, needs_wild
from turnwise.errors import DataError, UsageError
from turnwise.metrics.learned.trained import load_trained
from turnwise.metrics.learned.turnwise.metric import weights_of
from turnwise.metrics.learned.turnwise.preference_fit import BEFORE, accuracy, fit_choices
from turnwise.networks.training.preferences import Choice
from turnwise.types import Floats

WORDS = "and then the old one was here again with a new friend of ours".split()


def made(rng: np.random.Generator, n: int = 120, k: int = 4) -> tuple[Floats, Floats]:
    """Differences of signals, and choices of which the first signal decides; a fifth are ties."""
    gaps = rng.normal(size=(n, k))
    chosen = rng.random(n) < 1 / (1 + np.exp(-2 * gaps[:, 0]))
    return gaps, np.where(rng.random(n) < 0.2, 0.5, chosen.astype(float))


def test_the_weights_minimise_the_penalised_loss_in_which_a_tie_is_half_a_choice() -> None:
    rng = np.random.default_rng(0)
    gaps, outcomes = made(rng)
    fit = fit_choices(gaps, outcomes, np.arange(len(outcomes)), np.zeros(4), rng=rng)

    def loss(weights: Floats) -> float:
        log_odds = gaps @ weights
        likelihood = outcomes * np.log(1 / (1 + np.exp(-log_odds)))
        likelihood += (1 - outcomes) * np.log(1 / (1 + np.exp(log_odds)))
        return float(-likelihood.sum() + fit.penalty / 2 * weights @ weights)

    expected = minimize(loss, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(fit.weights, expected, atol=1e-5)


def test_swapping_the_two_sides_changes_no_weight() -> None:
    gaps, outcomes = made(np.random.default_rng(1))
    swap = np.arange(len(outcomes)) % 3 == 0
    one = fit_choices(gaps, outcomes, np.arange(120), np.ones(4), rng=np.random.default_rng(2))
    other = fit_choices(
        np.where(swap[:, None], -gaps, gaps),
        np.where(swap, 1 - outcomes, outcomes),
        np.arange(120),
        np.ones(4),
        rng=np.random.default_rng(2),
    )
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-8)


def test_a_start_that_predicts_the_opposite_is_not_followed() -> None:
    gaps, outcomes = made(np.random.default_rng(3), n=300)
    fit = fit_choices(gaps, outcomes, np.arange(300), np.array([-1.0, 0, 0, 0]), rng=np.random.default_rng(0))
    assert fit.weights[0] > 0


def test_choices_by_chance_are_predicted_by_chance_on_held_out_contexts() -> None:
    rng = np.random.default_rng(4)
    gaps, outcomes = rng.normal(size=(300, 20)), (rng.random(300) < 0.5).astype(float)
    fit = fit_choices(gaps, outcomes, np.arange(300) // 3, np.zeros(20), rng=rng)
    choices = [Choice(f"{at}a", f"{at}b", outcome) for at, outcome in enumerate(outcomes)]
    finding = accuracy("m", fit.predicted, choices, np.arange(300) // 3, method="held out")
    assert finding.interval[0] < 0.5 < finding.interval[1]


def reply(name: str, agent: str, asked: str, words: int) -> dict[str, Any]:
    said = [{"role": "user", "content": asked}, {"role": "assistant", "content": " ".join(WORDS[:words])}]
    return {"id": name, "agent": agent, "messages": said}


def simulated(n: int = 160, *, whole: bool = False, seed: int = 0) -> list[dict[str, Any]]:
    """Choices of people who prefer the longer of two replies, nine times in ten; some are ties."""
    rng = np.random.default_rng(seed)
    records = []
    for at in range(n):
        asked = f"tell me about the {TOPICS[at % len(TOPICS)]} and the {rng.choice(TOPICS)} number {at}"
        short, long = int(rng.integers(2, 6)), int(rng.integers(8, 14))
        first_is_short = bool(rng.random() < 0.5)
        right = bool(rng.random() < 0.9)
        winner = "tie" if rng.random() < 0.1 else "other" if first_is_short == right else "this"
        vote = {"other": f"{at}-b", "winner": winner, "rater": f"p{at % 5}"} | ({} if whole else {"turn": 1})
        sides = (short, long) if first_is_short else (long, short)
        records.append({**reply(f"{at}-a", "x", asked, sides[0]), "preferences": [vote]})
        records.append(reply(f"{at}-b", "y", asked, sides[1]))
    return records


@pytest.mark.parametrize("whole", [False, True])
def test_a_known_preference_is_learned_and_reported_on_held_out_contexts(tmp_path: Path, whole: bool) -> None:
    found = turnwise.train(
        "turnwise",
        simulated(whole=whole),
        on="preferences",
        output=tmp_path / "mine",
        settings={"start": tiny_trained("turnwise")},
    )
    after, before = found
    assert (after["statistic"], before["statistic"]) == ("accuracy", BEFORE)
    assert 0.82 < after["estimate"] < 0.97
    assert after["interval"][0] > max(0.5, before["estimate"])
    card = json.loads((tmp_path / "mine" / "card.json").read_text())
    assert card["held_out"]["accuracy"]["estimate"] == pytest.approx(after["estimate"])
    assert card["raters"] == {"dimension": "overall", "choices": 160, "raters": 5}
    assert "--on preferences" in card["command"]
    # New choices of the same people are predicted as well.
    judged = turnwise.meta_evaluate(
        simulated(60, whole=whole, seed=9), metrics=f"turnwise[trained={tmp_path / 'mine'}]", level="pair"
    )
    assert judged.records()[0]["estimate"] > 0.75


def test_scores_of_a_model_trained_on_preferences_are_log_odds_about_0_without_intervals(
    tmp_path: Path,
) -> None:
    data = simulated()
    turnwise.train(
        "turnwise",
        data,
        on="preferences",
        output=tmp_path / "mine",
        settings={"start": tiny_trained("turnwise")},
    )
    name = f"turnwise[trained={tmp_path / 'mine'}]"
    scored = turnwise.score(data, metrics=name, output=tmp_path / "out")
    assert np.mean([record["estimate"] for record in scored]) == pytest.approx(0, abs=0.01)
    lines = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text().splitlines()]
    assert not any("intervals" in line for line in lines)
    judged = turnwise.meta_evaluate(data, metrics=name, level="pair")
    assert any("learned from 320 of 320 items" in note for note in judged.notes())


def test_the_data_decides_what_can_be_learned_from(tmp_path: Path) -> None:
    plain = [{key: value for key, value in one.items() if key != "preferences"} for one in simulated(40)]
    with pytest.raises(DataError, match="the data has none; `turnwise rate --mode pairwise` collects some"):
        turnwise.train("turnwise", plain, on="preferences", output=tmp_path / "m")
    with pytest.raises(DataError, match='on="preferences" uses the preferences of the data'):
        turnwise.train("turnwise", simulated(40), output=tmp_path / "m")
    with pytest.raises(UsageError, match="`train adem` learns from ratings, not from preferences"):
        turnwise.train("adem", simulated(40), on="preferences", output=tmp_path / "m")
    with pytest.raises(UsageError, match="no preference has the dimension `style`"):
        turnwise.train("turnwise", simulated(40), on="preferences", dimension="style", output=tmp_path / "m")
    tied = simulated(40)
    for one in tied:
        for vote in one.get("preferences", ()):
            vote["winner"] = "tie"
    with pytest.raises(DataError, match=r"0 choices .* \(40 ties\); at least 30"):
        turnwise.train(
            "turnwise",
            tied,
            on="preferences",
            output=tmp_path / "m",
            settings={"start": tiny_trained("turnwise")},
        )


@needs_wild
def test_the_choices_of_hh_rlhf_are_learned_from_and_judged_honestly(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra `neural`")
    found = turnwise.train(
        "turnwise",
        WILD / "hh_rlhf_pairs.jsonl",
        reader="preferences",
        on="preferences",
        output=tmp_path / "hh",
    )
    after, before = found
    assert after["n_items"] == before["n_items"] == 149  # one reply is empty
    assert before["estimate"] == pytest.approx(0.386, abs=0.03)  # as `meta --level pair` measures it
    assert after["estimate"] > before["estimate"]
    assert 0.4 < after["estimate"] < 0.65
    start = weights_of(load_trained("turnwise", ""))
    final = weights_of(load_trained("turnwise", str(tmp_path / "hh")))
    assert not np.allclose(start.weights, final.weights)
