"""`rating:DIMENSION`: means of people's ratings, and what they become without the effects of raters."""

from dataclasses import replace

import numpy as np
import pytest

from turnwise.errors import Refused, UsageError
from turnwise.meta.gold import gold
from turnwise.metrics import resolve
from turnwise.metrics.rating import CentredRating, MeanRating, parse, rating_metric
from turnwise.types import Item, Rating, Turn

TURNS = (Turn("user", "hello"), Turn("assistant", "hi"))


def item(name: str, *ratings: tuple[str, float], agent: str = "a", dimension: str = "overall") -> Item:
    given = tuple(Rating(f"{name}#1", dimension, value, rater, 1) for rater, value in ratings)
    return Item(f"{name}#1", name, agent, TURNS, 1, cluster=name, pair=name, ratings=given)


def test_the_value_of_an_item_is_the_mean_of_its_raters_and_equals_what_meta_uses() -> None:
    items = [item("x", ("ann", 4), ("bob", 2)), item("y", ("ann", 5)), item("z", ("bob", 1), ("cat", 4))]
    metric = resolve("rating:overall")
    assert isinstance(metric, MeanRating)
    rows = metric.rows(items)
    means = gold([r for one in items for r in one.ratings], "overall", "turn").values
    assert rows[:, 0].tolist() == [means[one.id] for one in items] == [3, 5, 2.5]
    assert metric.reduce(rows) == pytest.approx(3.5)


def test_the_last_rating_of_a_rater_counts_and_a_published_mean_only_where_there_is_nothing_else() -> None:
    metric = rating_metric("overall")
    assert isinstance(metric, MeanRating)
    rows = metric.rows([item("x", ("ann", 1), ("ann", 3), ("mean", 5)), item("y", ("mean", 4))])
    assert rows[:, 0].tolist() == [3, 4]


def test_an_item_without_a_rating_on_the_dimension_is_not_scored() -> None:
    metric = rating_metric("overall")
    assert isinstance(metric, MeanRating)
    rows = metric.rows([item("x", ("ann", 1), dimension="fluent"), item("y", ("ann", 2))])
    assert np.isnan(rows[0, 0])
    assert metric.reduce(rows) == 2
    assert metric.unscored == "not rated on `overall`"


def test_ratings_are_mapped_to_0_1_by_their_own_scales() -> None:
    one, two = item("x", ("ann", 4)), item("y", ("ann", 50))
    one = replace(one, ratings=(replace(one.ratings[0], scale=(1, 5)),))
    two = replace(two, ratings=(replace(two.ratings[0], scale=(0, 100)),))
    metric = rating_metric("overall", rescale=True)
    assert isinstance(metric, MeanRating)
    assert metric.rows([one, two])[:, 0].tolist() == [0.75, 0.5]


def crossed(
    rng: np.random.Generator, *, difference: float = 0.0, raters: int = 8, items: int = 30
) -> list[Item]:
    """Two agents on the same contexts, with strict and mild raters and three ratings an item."""
    strict = rng.normal(0, 0.8, raters)
    own = rng.normal(0, 0.3, raters)  # how much more a rater likes agent a
    made = []
    for number in range(items):
        context = rng.normal(0, 0.8)
        for agent, gain in (("a", difference), ("b", 0.0)):
            quality = 3 + context + gain + rng.normal(0, 0.5)
            sign = 0.5 if agent == "a" else -0.5
            given = [
                (f"p{r}", quality + strict[r] + sign * own[r] + rng.normal(0, 0.7))
                for r in rng.choice(raters, 3, replace=False)
            ]
            one = item(f"{number}-{agent}", *given, agent=agent)
            made.append(replace(one, cluster=str(number), pair=str(number)))
    return made


def fitted(items: list[Item]) -> CentredRating:
    metric = rating_metric("overall", raters="centred").fit(items)  # type: ignore[union-attr]
    assert isinstance(metric, CentredRating)
    return metric


def test_a_rater_who_rates_everything_two_points_lower_changes_nothing_after_centring() -> None:
    items = crossed(np.random.default_rng(0))
    moved = [
        replace(one, ratings=tuple(replace(r, value=r.value - 2 * (r.rater == "p0")) for r in one.ratings))
        for one in items
    ]
    differences = []
    for some in (items, moved):
        metric = fitted(some)
        a, b = ([one for one in some if one.agent == agent] for agent in "ab")
        differences.append(metric.reduce(metric.rows(a)) - metric.reduce(metric.rows(b)))
    assert differences[0] == pytest.approx(differences[1], abs=1e-9)


def test_the_effects_of_raters_are_those_of_least_squares_on_agents_and_raters() -> None:
    items = crossed(np.random.default_rng(1), difference=0.5)
    metric = fitted(items)
    entries = [(one.agent == "a", r.rater, r.value) for one in items for r in one.ratings]
    design = np.array(
        [[float(a), float(not a), *(float(r == name) for name in metric.raters)] for a, r, _ in entries]
    )
    solution = np.linalg.lstsq(design, np.array([value for *_, value in entries]), rcond=None)[0]
    effects = solution[2:] - solution[2:].mean()
    np.testing.assert_allclose(metric.effects, effects, atol=1e-9)
    a, b = ([one for one in items if one.agent == agent] for agent in "ab")
    assert metric.reduce(metric.rows(a)) - metric.reduce(metric.rows(b)) == pytest.approx(
        solution[0] - solution[1]
    )


def test_intervals_over_clusters_and_raters_cover_the_truth_where_raters_and_items_are_crossed() -> None:
    rng = np.random.default_rng(5)
    covered_difference = covered_level = 0
    n = 300
    for _ in range(n):
        items = crossed(rng, difference=0.4)
        metric = fitted(items)
        a, b = (metric.rows([one for one in items if one.agent == agent]) for agent in "ab")
        codes = np.arange(a.shape[0])
        bounds, _, _ = metric.rater_difference(a, codes, b, codes)
        level, _ = metric.rater_interval(b, codes)
        assert bounds is not None
        assert level is not None
        covered_difference += bounds[0] <= 0.4 <= bounds[1]
        covered_level += level[0] <= 3 <= level[1]
    # Three standard errors of a coverage of .95 with 300 studies are .038.
    assert 0.912 <= covered_difference / n <= 0.988
    assert 0.912 <= covered_level / n <= 0.988


def test_raters_of_different_agents_cannot_be_centred() -> None:
    items = [item("x", ("ann", 4), agent="a"), item("y", ("bob", 2), agent="b")]
    with pytest.raises(Refused, match="cannot be told from differences between agents"):
        fitted(items)


def test_names_that_may_be_positions_are_refused_unless_they_are_said_to_be_people() -> None:
    items = [item("x", ("r1", 4), ("r2", 3)), item("y", ("r1", 2), ("r2", 2))]
    with pytest.raises(Refused, match=r"rating:overall\[raters=centred,stable=true\]"):
        fitted(items)
    assert rating_metric("overall", raters="centred", stable=True).fit(items)  # type: ignore[union-attr]


def test_one_rater_and_unnamed_raters_are_refused() -> None:
    with pytest.raises(Refused, match="1 rater"):
        fitted([item("x", ("ann", 4)), item("y", ("ann", 3))])
    unnamed = item("x", ("ann", 4), ("bob", 3))
    unnamed = replace(unnamed, ratings=(unnamed.ratings[0], replace(unnamed.ratings[1], rater=None)))
    with pytest.raises(Refused, match="have no rater's name"):
        fitted([unnamed])


def test_settings_are_parsed_and_mistakes_are_named() -> None:
    assert parse("rating:overall[raters=centred,level=dialogue]") == (
        "overall",
        {"raters": "centred", "level": "dialogue"},
    )
    assert parse("rating:fluent [1-5]", ("fluent [1-5]",)) == ("fluent [1-5]", {})
    with pytest.raises(UsageError, match="its settings are: level, raters, rescale, stable"):
        parse("rating:overall[colour=red]")
    with pytest.raises(UsageError, match="`raters` is"):
        parse("rating:overall[raters=some]")
    with pytest.raises(UsageError, match="names no dimension"):
        resolve("rating:")
