from typing import Any

import numpy as np
import pytest
from scipy import stats

import turnwise
from turnwise.meta.correlate import correlate
from turnwise.meta.differences import differences, with_adjusted_p
from turnwise.meta.gold import gold, one_rater, one_rater_of_systems, tie_floor
from turnwise.meta.points import agent_points
from turnwise.meta.statistic_parts import settled, settled_p
from turnwise.meta.table import ScoreTable
from turnwise.metrics import resolve
from turnwise.report.gate import Gate
from turnwise.stats.clusters import codes
from turnwise.stats.correlation import row_correlations
from turnwise.stats.interval import bca
from turnwise.stats.resample import bootstrap_weights
from turnwise.stats.shared_draws import SharedDraws
from turnwise.types import Item, Rating, Turn

AGENTS = ("good", "fair", "poor", "bad")
DRAWS = SharedDraws(lambda: np.random.default_rng(0))


def scored(lengths, *, metric="length", agents=None, dialogues=None) -> ScoreTable:
    """A table of replies with these numbers of words."""
    made = resolve(metric)
    n = len(lengths)
    dialogues = tuple(dialogues or [f"d{at}" for at in range(n)])
    ids = tuple(f"{name}#{at}" for at, name in enumerate(dialogues))
    turns = [(Turn("user", "hi"), Turn("assistant", "w " * int(length))) for length in lengths]
    items = [Item(name, d, "bot", t, 1, d, d) for name, d, t in zip(ids, dialogues, turns, strict=True)]
    return ScoreTable(
        name=metric,
        metric=made,
        rows=made.rows(items),
        ids=ids,
        dialogues=dialogues,
        agents=tuple(agents or ["bot"] * n),
        groups=("",) * n,
        clusters=dialogues,
        pairs=ids,
        tasks=("",) * n,
        weights=np.ones(n),
    )


def people(table: ScoreTable, values, *, raters=("x",), noise=0.0, direction="higher", whole=False, seed=0):
    rng = np.random.default_rng(seed)
    units = dict.fromkeys(table.dialogues) if whole else table.ids
    ratings = [
        Rating(
            unit,
            "overall",
            float(value + noise * rng.normal()),
            rater,
            None if whole else at,
            (-99, 99),
            direction,
        )
        for at, (unit, value) in enumerate(zip(units, values, strict=True))
        for rater in raters
    ]
    return gold(ratings, "overall", "dialogue" if whole else "turn")


def found(table, gold, level="turn", statistic="spearman"):
    return correlate(table, gold, level, statistic, draws=300, rng=DRAWS)


LENGTHS = np.random.default_rng(5).integers(1, 30, size=60)
RATINGS = LENGTHS / 10 + np.random.default_rng(6).normal(0, 1, size=60)


@pytest.mark.parametrize(
    ("statistic", "oracle"),
    [("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)],
)
def test_the_estimate_equals_scipy(statistic, oracle):
    table = scored(LENGTHS)
    finding = found(table, people(table, RATINGS), statistic=statistic)
    assert finding.estimate == pytest.approx(oracle(LENGTHS, RATINGS).statistic, abs=1e-9)
    assert finding.interval[0] < finding.estimate < finding.interval[1]
    assert finding.p < 0.01
    assert finding.n_items == finding.n_clusters == 60


@pytest.mark.parametrize("level", ["turn", "system"])
def test_without_intervals_the_estimate_and_its_test_are_the_same(level):
    table = scored(LENGTHS, agents=[AGENTS[at % 4] for at in range(60)])
    gold = people(table, RATINGS)
    with_one, without = (
        correlate(table, gold, level, "pearson", intervals=asked, draws=300, rng=DRAWS)
        for asked in (True, False)
    )
    assert without.estimate == with_one.estimate
    assert without.interval is None
    assert without.method.startswith("none: no interval asked for")
    assert without.p == pytest.approx(with_one.p, abs=0.05)


def test_a_metric_that_ranks_in_reverse_has_a_negative_correlation():
    table = scored(LENGTHS)
    assert found(table, people(table, -RATINGS)).estimate < -0.5


def test_a_dimension_on_which_lower_is_better_is_mirrored():
    table = scored(LENGTHS)
    assert found(table, people(table, -RATINGS, direction="lower")).estimate > 0.5


def test_ratings_of_dialogues_are_correlated_with_the_score_of_the_whole_dialogue():
    table = scored([2, 4, 10, 20, 1, 1], dialogues=["a", "a", "b", "b", "c", "c"])
    finding = found(table, people(table, [3, 15, 1], whole=True), level="dialogue", statistic="pearson")
    assert finding.estimate == pytest.approx(1.0)
    assert finding.n_items == 3


def test_at_system_level_each_agent_has_its_score_and_mean_rating():
    agents = [AGENTS[at % 4] for at in range(60)]
    table = scored(LENGTHS, agents=agents)
    points = agent_points(table, people(table, RATINGS))
    for name, x, y in zip(points.names, points.x, points.y, strict=True):
        mine = [at for at, agent in enumerate(agents) if agent == name]
        assert x == pytest.approx(LENGTHS[mine].mean())
        assert y == pytest.approx(RATINGS[mine].mean())


def test_two_systems_are_too_few():
    table = scored(LENGTHS, agents=["good", "bad"] * 30)
    finding = found(table, people(table, RATINGS), level="system")
    assert finding.estimate is None
    assert "2 systems" in finding.reason


@pytest.mark.parametrize("level", ["turn", "system"])
def test_equal_ratings_give_a_reason_and_no_estimate(level):
    table = scored(LENGTHS, agents=[AGENTS[at % 4] for at in range(60)])
    finding = found(table, people(table, np.ones(60)), level=level)
    assert finding.estimate is None
    assert finding.reason == "all ratings are equal"
    assert finding.status == "skipped"


def test_a_constant_metric_gives_a_reason_and_no_estimate():
    table = scored([5] * 60)
    assert "same number" in found(table, people(table, RATINGS)).reason


def test_leaving_out_the_one_influential_system_changes_the_correlation():
    lengths = [1, 2, 1, 2, 1, 2, 20, 21]
    ratings = [2, 1, 2, 1, 2, 1, 9, 9]
    agents = ["a", "a", "b", "b", "c", "c", "star", "star"]
    table = scored(lengths, agents=agents)
    finding = found(table, people(table, ratings), statistic="pearson")
    assert finding.estimate > 0.9
    assert finding.without["star"] < -0.9


def test_the_ceiling_is_one_rater_against_the_mean_of_the_others():
    table = scored(LENGTHS)
    judged = people(table, RATINGS, raters=("x", "y", "z"), noise=0.5)
    values = judged.matrix.values
    one = np.concatenate([values[k] for k in range(3)])
    others = np.concatenate([np.delete(values, k, axis=0).mean(axis=0) for k in range(3)])
    # `one_rater` pools rating by rating, in the order of the matrix.
    assert one_rater(judged.matrix, "pearson") == pytest.approx(stats.pearsonr(one, others).statistic)
    agent_of = {name: AGENTS[at % 4] for at, name in enumerate(table.ids)}
    assert 0.8 < one_rater_of_systems(judged.matrix, agent_of, "pearson") <= 1


def test_the_ceiling_is_nan_where_only_means_were_published():
    table = scored(LENGTHS)
    assert np.isnan(one_rater(people(table, RATINGS, raters=("mean",)).matrix, "pearson"))


def test_a_constant_metric_has_the_share_of_ties_as_pairwise_accuracy():
    # Of the six pairs of 1, 1, 1, 2, three are tied.
    assert tie_floor(np.array([1.0, 1, 1, 2]), "pairwise") == pytest.approx(0.5)
    assert np.isnan(tie_floor(np.array([1.0, 1, 1, 2]), "pearson"))


def test_a_good_metric_is_shown_to_differ_from_noise_and_not_from_itself():
    table = scored(LENGTHS)
    noise = scored(np.random.default_rng(8).integers(1, 30, size=60))
    noise = ScoreTable(**{**{slot: getattr(noise, slot) for slot in noise.__slots__}, "name": "noise"})
    judged = people(table, RATINGS)
    rows = with_adjusted_p(differences([table, noise], judged, "turn", ["pearson"], draws=500, rng=DRAWS))
    assert rows[0].difference > 0.3
    assert rows[0].p_adjusted < 0.05
    assert rows[0].p_williams < 0.05
    twin = ScoreTable(**{**{slot: getattr(table, slot) for slot in table.__slots__}, "name": "twin"})
    same = differences([table, twin], judged, "turn", ["pearson"], draws=500, rng=DRAWS)
    assert same[0].difference == pytest.approx(0)
    assert same[0].p == 1


def test_a_metric_of_which_lower_is_better_is_negated():
    # Replies of one word said 1 to 5 times: repeat-internal-1 rises with length, and people dislike it.
    lengths = [1, 2, 3, 4, 5] * 6
    table = scored(lengths, metric="repeat-internal-2")
    assert not table.metric.higher_is_better
    assert found(table, people(table, [-length for length in lengths])).estimate > 0.5


def test_williams_test_is_omitted_where_turns_share_a_dialogue():
    table = scored(LENGTHS, dialogues=[f"d{at // 3}" for at in range(60)])
    other = scored(LENGTHS[::-1], dialogues=[f"d{at // 3}" for at in range(60)])
    twin = ScoreTable(**{**{slot: getattr(other, slot) for slot in other.__slots__}, "name": "other"})
    rows = differences([table, twin], people(table, RATINGS), "turn", ["pearson"], draws=99, rng=DRAWS)
    assert rows[0].p is not None
    assert rows[0].p_williams is None


def test_the_one_rater_of_systems_falls_with_the_noise_of_the_raters():
    table = scored(LENGTHS, agents=[AGENTS[at % 4] for at in range(60)])
    agent_of = dict(zip(table.ids, table.agents, strict=True))
    calm = people(table, RATINGS, raters=("x", "y", "z"), noise=0.1)
    noisy = people(table, np.zeros(60), raters=("x", "y", "z"), noise=3.0)
    assert one_rater_of_systems(calm.matrix, agent_of, "pearson") > 0.9
    assert one_rater_of_systems(noisy.matrix, agent_of, "pearson") < 0.9


def test_metrics_are_compared_over_systems_on_units_that_both_scored():
    agents = [AGENTS[at % 4] for at in range(60)]
    full = scored(LENGTHS, agents=agents)
    part = full.where([at % 5 != 0 for at in range(60)])
    part = ScoreTable(**{**{slot: getattr(part, slot) for slot in part.__slots__}, "name": "part"})
    rows = differences([full, part], people(full, RATINGS), "system", ["pearson"], draws=99, rng=DRAWS)
    assert rows[0].difference == pytest.approx(0)


def test_an_interval_over_systems_is_that_of_scores_and_ratings_of_the_same_draws():
    agents = tuple(AGENTS[at % 4] for at in range(60))
    dialogues = [f"d{at // 2:02}" for at in range(60)]
    table = scored(LENGTHS, agents=agents, dialogues=dialogues)
    rated = people(table, RATINGS, noise=2.0)
    clusters = np.arange(60) // 2
    scores, ratings = np.array(LENGTHS, dtype=float), np.array([rated.values[name] for name in table.ids])
    agent_codes = codes(agents)[0]

    def correlations(weights):
        """(b, C) weights of clusters -> (b,) correlations of the systems' weighted means."""
        of_item = weights[:, clusters]
        means = [
            np.stack(
                [
                    (of_item * side)[:, agent_codes == at].sum(axis=1)
                    / of_item[:, agent_codes == at].sum(axis=1)
                    for at in range(4)
                ],
                axis=1,
            )
            for side in (scores, ratings)
        ]
        return row_correlations("pearson", *means)

    drawn = np.concatenate(list(bootstrap_weights(30, 300, np.random.default_rng(0))))
    whole, left_out = correlations(np.ones((1, 30))), correlations(1.0 - np.eye(30))
    expected = bca(float(whole[0]), correlations(drawn), left_out, n_clusters=30)
    assert found(table, rated, "system", "pearson").interval == pytest.approx(expected)


def rated_lengths(seed: int) -> list[dict[str, Any]]:
    """Thirty rated replies of which the longer are somewhat better."""
    rng = np.random.default_rng(seed)
    made = []
    for at in range(30):
        n = int(rng.integers(1, 12))
        rating = float(np.clip(round(3 + 0.3 * (n - 6) / 3 + rng.normal()), 1, 5))
        turns = [{"role": "user", "content": f"q{at}"}, {"role": "assistant", "content": "w " * n}]
        ratings = [{"dimension": "overall", "value": rating, "scale": [1, 5], "turn": 1}]
        made.append({"id": f"d{at}", "agent": "a", "messages": turns, "ratings": ratings})
    return made


@pytest.mark.parametrize(("data", "at_edge"), [(16, False), (9, True)])
def test_draws_are_as_many_as_a_gate_needs_or_it_says_that_it_is_at_the_edge(
    data: int, at_edge: bool
) -> None:
    # With 1,000 draws alone, the seed decides on both data sets whether 0 is inside the interval.
    said = []
    for seed in range(4):
        found = turnwise.meta_evaluate(
            rated_lengths(data),
            metrics="length",
            statistics="spearman",
            level="turn",
            seed=seed,
            figures=False,
        )
        said += Gate.parse("length >= 0").verdicts(found.findings)
    if at_edge:
        assert all(" at the edge: " in one.explanation for one in said)
    else:
        assert len({one.passed for one in said}) == 1


def test_draws_stop_where_the_interval_is_clear_of_0() -> None:
    asked: list[int] = []

    def interval(draws: int) -> tuple[tuple[float, float], str]:
        asked.append(draws)
        return (0.009, 0.209), f"BCa bootstrap by cluster, {draws} draws"

    # Ends from 1,000 draws may be .2 half-widths off, .02, and from 16,000 draws .005.
    assert settled(interval, 1000).error == pytest.approx(0.005)
    assert asked == [1000, 4000, 16000]
    asked.clear()
    assert settled(interval, 1000, cheap=False).error == pytest.approx(0.02)
    assert asked == [1000]
    assert settled(lambda draws: ((0.0, 0.2), "t on the jackknife by cluster"), 1000).error == 0.0
    tried: list[int] = []
    assert settled_p(lambda draws: tried.append(draws) or 0.058, 1000) == 0.058
    assert tried == [1000, 4000, 16000]
