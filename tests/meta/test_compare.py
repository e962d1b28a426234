import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

import turnwise
from turnwise.meta.compare import compare, match_pairs
from turnwise.meta.table import ScoreTable
from turnwise.meta.verdicts import with_verdicts
from turnwise.metrics import resolve
from turnwise.stats.clusters import connected_components
from turnwise.types import Item, Turn


def table(
    metric: str, replies: list[str], *, agent: str, pairs: list[str] | None = None, clusters=None
) -> ScoreTable:
    made = resolve(metric)
    n = len(replies)
    names = tuple(f"{agent}{at}" for at in range(n))
    items = [
        Item(name, name, agent, (Turn("assistant", reply),), 0, name, name)
        for name, reply in zip(names, replies, strict=True)
    ]
    return ScoreTable(
        name=metric,
        metric=made,
        rows=made.rows(items),
        ids=names,
        dialogues=names,
        agents=(agent,) * n,
        groups=("",) * n,
        clusters=tuple(clusters or names),
        pairs=tuple(pairs or names),
        tasks=("",) * n,
        weights=np.ones(n),
    )


def found(a: ScoreTable, b: ScoreTable, agents: tuple[str, str] = ("a", "b"), **how: object):
    return with_verdicts([compare(a, b, agents=agents, group=None, **how)])[0]


PAIRS = [f"context {at}" for at in range(20)]


def words(rng: np.random.Generator, low: int, high: int, n: int = 20) -> list[str]:
    return [" ".join(["word"] * int(rng.integers(low, high))) for _ in range(n)]


def test_an_agent_with_longer_replies_is_found_longer_on_all_pairs():
    rng = np.random.default_rng(0)
    finding = found(
        table("length", words(rng, 8, 14), agent="a", pairs=PAIRS),
        table("length", words(rng, 1, 5), agent="b", pairs=PAIRS),
    )
    assert finding.verdict == "a is higher"
    assert finding.p < 0.01
    assert finding.interval[0] > 0
    assert finding.n_items == 20
    assert finding.method.startswith("paired")
    assert finding.superiority == 1.0


@pytest.mark.parametrize("metric", ["length", "bleu-4", "distinct-2"])
@pytest.mark.parametrize("shared", [PAIRS, None])
@pytest.mark.parametrize("agents", [("one", "two"), ("two", "one"), ("A", "B"), ("B", "A"), ("same", "same")])
def test_a_comparison_the_other_way_round_is_the_mirror_to_the_last_bit(
    metric: str, shared: list[str] | None, agents: tuple[str, str]
):
    rng = np.random.default_rng(1)
    words = [f"w{at}" for at in range(9)]
    sides = []
    for agent in ("x", "y"):
        replies = [" ".join(rng.choice(words, rng.integers(5, 12))) for _ in PAIRS]
        made = table("length" if metric == "bleu-4" else metric, replies, agent=agent, pairs=shared)
        if metric == "bleu-4":
            items = [
                Item(name, name, agent, (Turn("assistant", reply, references=(replies[0],)),), 0, name, name)
                for name, reply in zip(made.ids, replies, strict=True)
            ]
            bleu = resolve(metric)
            made = dataclasses.replace(made, name=metric, metric=bleu, rows=bleu.rows(items))
        sides.append(made)
    forth = found(*sides, agents=agents)
    back = found(*sides[::-1], agents=agents[::-1])
    assert forth.estimate == -back.estimate != 0
    assert forth.interval == tuple(-end for end in back.interval[::-1])
    assert forth.interval_adjusted == tuple(-end for end in back.interval_adjusted[::-1])
    assert (forth.p, forth.p_adjusted, forth.verdict) == (back.p, back.p_adjusted, back.verdict)
    assert (forth.a, forth.higher_a, forth.superiority) == (
        back.b,
        back.higher_b,
        None if back.superiority is None else 1 - back.superiority,
    )
    if agents[0] != agents[1]:  # of items that differ equally, others may be listed
        listed = {(flip.id_b, flip.id_a, -flip.difference) for flip in back.flips}
        assert {(flip.id_a, flip.id_b, flip.difference) for flip in forth.flips} == listed


@pytest.mark.parametrize("shift", np.linspace(0.0, 1.2, 25))
@pytest.mark.parametrize("shared", [True, False])
def test_the_interval_excludes_0_exactly_where_p_is_at_most_5_per_cent(shift: float, shared: bool):
    rng = np.random.default_rng(int(shift * 1000))
    one, two = (
        dataclasses.replace(
            table("length", ["w"] * 12, agent=agent, pairs=PAIRS[:12] if shared else None),
            rows=np.stack([rng.normal(level, 1, 12), np.ones(12)], axis=1),
        )
        for agent, level in (("a", shift), ("b", 0.0))
    )
    (record, _) = with_verdicts(
        [compare(one, two, agents=("a", "b"), group=None), compare(two, two, agents=("a", "b"), group=None)]
    )
    low, high = record.interval
    assert (low < 0 < high) == (record.p > 0.05)
    low, high = record.interval_adjusted
    assert (low < 0 < high) == (record.p_adjusted > 0.05) == (record.verdict == "not shown")


def test_an_agent_against_itself_has_difference_zero_and_verdict_not_shown():
    a = table("length", words(np.random.default_rng(2), 2, 9), agent="a", pairs=PAIRS)
    finding = found(a, a)
    assert finding.estimate == 0
    assert finding.verdict == "not shown"


def test_agents_on_different_dialogues_are_compared_unpaired():
    rng = np.random.default_rng(3)
    finding = found(
        table("length", words(rng, 8, 14), agent="a"), table("length", words(rng, 1, 5), agent="b")
    )
    assert finding.method.startswith("unpaired")
    assert finding.verdict == "a is higher"
    assert finding.n_clusters == 40


@pytest.mark.parametrize("pairs", [PAIRS, None])
def test_a_metric_that_is_not_a_function_of_sums_is_compared_too(pairs):
    varied = [" ".join(f"w{at}{k}" for k in range(6)) for at in range(20)]
    same = ["i do not know what you mean"] * 20
    finding = found(
        table("distinct-2", varied, agent="a", pairs=pairs), table("distinct-2", same, agent="b", pairs=pairs)
    )
    assert finding.verdict == "a is higher"
    assert finding.estimate == pytest.approx(1 - 6 / 120)


def test_several_items_of_one_pair_weigh_as_one():
    a = table("length", ["w w w w", "w w", "w"], agent="a", pairs=["x", "x", "y"])
    b = table("length", ["w", "w"], agent="b", pairs=["x", "y"])
    finding = found(a, b)
    assert finding.a == pytest.approx((3 + 1) / 2)


def test_pairs_that_share_a_dialogue_are_resampled_together():
    codes, n = connected_components([["a:1", "b:1"], ["a:1", "b:2"], ["a:3", "b:3"], ["a:4", "b:2"]])
    assert codes.tolist() == [0, 0, 1, 0]
    assert n == 2


def test_agents_without_common_pairs_have_no_match():
    assert match_pairs(table("length", ["w"], agent="a"), table("length", ["w"], agent="b")) is None


def test_an_agent_without_scored_items_gives_a_reason_and_no_estimate():
    a = table("length", ["w"], agent="a")
    empty = a.where([False])
    finding = found(a, empty)
    assert finding.estimate is None
    assert finding.status == "skipped"
    assert "`b`" in finding.reason


def test_the_pairs_that_differ_most_are_listed_for_both_agents():
    a = table("length", ["w " * n for n in (9, 5, 5, 1)], agent="a", pairs=PAIRS[:4])
    b = table("length", ["w " * n for n in (1, 5, 4, 8)], agent="b", pairs=PAIRS[:4])
    flips = found(a, b).flips
    assert (flips[0].id_a, flips[0].difference) == ("a0", 8)
    assert ("a3", -7) in [(flip.id_a, flip.difference) for flip in flips]
    assert "a1" not in [flip.id_a for flip in flips]


class Errors(type(resolve("length"))):
    """A metric of which less is better, and which is no mere feature."""

    higher_is_better = False
    card = resolve("bleu-4").card


def test_lower_is_better_is_respected_and_a_feature_is_only_called_higher():
    rng = np.random.default_rng(4)
    a = table("length", words(rng, 1, 4), agent="a", pairs=PAIRS)
    b = table("length", words(rng, 8, 12), agent="b", pairs=PAIRS)
    assert found(a, b).verdict == "b is higher"
    worse = [dataclasses.replace(side, metric=Errors()) for side in (a, b)]
    assert found(*worse).verdict == "a scores lower"


def test_p_is_adjusted_over_all_metrics_before_the_verdict():
    rng = np.random.default_rng(0)
    a = table("length", words(rng, 5, 9), agent="a", pairs=PAIRS)
    b = table("length", words(rng, 4, 8), agent="b", pairs=PAIRS)
    alone = found(a, b)
    assert 0.001 < alone.p <= 0.05, "the example must lie where the number of tests matters"
    same = compare(a, a, agents=("a", "b"), group=None)
    raw = compare(a, b, agents=("a", "b"), group=None)
    among = with_verdicts([raw, *[same] * 60])[0]
    assert among.p_adjusted == pytest.approx(min(1.0, 61 * raw.p))
    assert (alone.verdict, among.verdict) == ("a is higher", "not shown")
    assert (alone.family_size, among.family_size) == (1, 61)


def test_a_constant_difference_that_is_not_shown_has_no_interval_and_excludes_nothing():
    a = table("length", ["w w"] * 6, agent="a", pairs=PAIRS[:6])
    b = table("length", ["w"] * 6, agent="b", pairs=PAIRS[:6])
    raw = compare(a, b, agents=("a", "b"), group=None, better="higher")
    # The sign test of six pairs has p 2 / 2^6.
    assert (raw.interval, raw.p) == ((1.0, 1.0), 0.03125)
    (alone,) = with_verdicts([raw], {"": 1.5})
    assert (alone.interval_adjusted, alone.equivalent) == ((1.0, 1.0), True)
    for one in with_verdicts([raw] * 3, {"": 1.5}):
        assert (one.verdict, one.p_adjusted) == ("not shown", 0.09375)
        assert (one.interval_adjusted, one.at_most_apart, one.equivalent, one.no_worse) == (
            None,
            None,
            None,
            (),
        )


def test_metrics_that_are_added_change_nothing_that_people_say():
    rng = np.random.default_rng(0)
    a = table("length", words(rng, 5, 9), agent="a", pairs=PAIRS)
    b = table("length", words(rng, 4, 8), agent="b", pairs=PAIRS)
    raw = compare(a, b, agents=("a", "b"), group=None)
    people = replace(raw, metric="rating:overall")
    alone, among = with_verdicts([people]), with_verdicts([raw, people, *[raw] * 30])
    assert among[1] == alone[0]
    assert (alone[0].family, among[0].family, among[0].family_size) == ("people", "metrics", 31)


def test_a_margin_says_who_is_no_worse_and_who_is_equal():
    same = ["w w w", "w w w w"] * 10
    a = table("length", same, agent="a", pairs=PAIRS)
    b = table("length", [*same[1:], same[0]], agent="b", pairs=PAIRS)
    raw = compare(a, b, agents=("a", "b"), group=None, better="higher")
    low, high = raw.interval
    assert low < 0 < high
    (wide,) = with_verdicts([raw], {"length": 1.0, "": 0.01})
    assert (wide.verdict, wide.equivalent, wide.no_worse) == ("equal within 1", True, ("a", "b"))
    (narrow,) = with_verdicts([raw], {"": high / 2})
    assert (narrow.verdict, narrow.equivalent, narrow.no_worse) == ("not shown", False, ())
    better = replace(raw, estimate=high / 2, interval=(-high / 2, 3 * high / 2))
    (ahead,) = with_verdicts([better], {"": 0.6 * high})
    assert (ahead.verdict, ahead.no_worse) == (f"a is no worse by {0.6 * high:g}", ("a",))
    (other_end,) = with_verdicts([replace(better, better="lower")], {"": 0.6 * high})
    assert other_end.no_worse == ("b",)


def test_an_interval_at_every_look_is_wider_and_agrees_with_its_test():
    rng = np.random.default_rng(0)
    a = table("length", words(rng, 5, 9), agent="a", pairs=PAIRS)
    b = table("length", words(rng, 4, 8), agent="b", pairs=PAIRS)
    once, always = found(a, b), found(a, b, anytime=True)
    assert always.interval[0] < once.interval[0] < once.interval[1] < always.interval[1]
    assert always.p > once.p
    assert (always.interval[0] < 0 < always.interval[1]) == (always.p > 0.05)
    assert "at every look" in always.method


@pytest.mark.parametrize("seed", range(10))
def test_a_mirrored_comparison_of_few_items_is_the_same_when_it_is_mirrored_again(seed: int):
    rng = np.random.default_rng(seed)
    a, b = (table("length", words(rng, 1, 9, n=7), agent=agent, pairs=PAIRS[:7]) for agent in ("a", "b"))
    (one,) = with_verdicts([compare(a, b, agents=("a", "b"), group=None, better="higher")], {"": 2.0})
    (other,) = with_verdicts([compare(b, a, agents=("b", "a"), group=None, better="higher")], {"": 2.0})
    assert one == other.mirrored()
    assert one == one.mirrored().mirrored()
    signs = [flip.difference > 0 for flip in one.flips]
    assert signs == sorted(signs, reverse=True)


def test_a_difference_as_wide_as_the_scale_excludes_nothing():
    a = table("length", ["w", "w w w w w w"], agent="a", pairs=PAIRS[:2])
    b = table("length", ["w w w", "w"], agent="b", pairs=PAIRS[:2])
    raw = compare(a, b, agents=("a", "b"), group=None)
    assert [with_verdicts([replace(raw, points=points)])[0].at_most_apart for points in (4.0, None)] == [
        None,
        max(map(abs, raw.interval)),
    ]
    assert max(map(abs, raw.interval)) > 4


def test_items_without_a_pair_are_counted():
    a = table("length", ["w"] * 4, agent="a", pairs=["x", "y", "z", "alone"])
    b = table("length", ["w w"] * 3, agent="b", pairs=["x", "y", "z"])
    counts = found(a, b)
    assert (counts.unpaired_a, counts.unpaired_b) == (1, 0)


@pytest.mark.parametrize(
    ("dimension", "given", "lower", "verdict", "better"),
    [
        ("overall", {}, (), "a is better", "higher"),
        ("insulting", {}, (), "a is higher", None),
        ("insulting", {"direction": "lower"}, (), "b is better", "lower"),
        ("insulting", {}, ("insulting",), "b is better", "lower"),
        ("polite", {"direction": "higher"}, (), "a is better", "higher"),
    ],
)
def test_ratings_are_called_better_only_where_something_says_which_end_is_good(
    dimension: str, given: dict[str, str], lower: tuple[str, ...], verdict: str, better: str | None
):
    rated = [
        {
            "id": f"{agent}{number}",
            "agent": agent,
            "messages": [
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": "an answer"},
            ],
            "ratings": [{"dimension": dimension, "value": base + number % 2, "scale": [1, 5], **given}],
        }
        for agent, base in (("a", 4), ("b", 1))
        for number in range(12)
    ]
    (record,) = turnwise.compare(rated, lower_is_better=lower, figures=False)
    assert (record["verdict"], record["better"], record["estimate"]) == (verdict, better, 3)


def test_lower_is_better_on_a_dimension_that_nobody_rated_is_an_error():
    rated = {
        "id": "1",
        "agent": "a",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        "ratings": [{"dimension": "rude", "value": 1}],
    }
    with pytest.raises(
        turnwise.UsageError, match=r"no rating has the dimension `rudeness`, and .*the nearest are rude"
    ):
        turnwise.compare([rated, {**rated, "id": "2", "agent": "b"}], lower_is_better="rudeness")


def test_a_metric_that_depends_on_the_amount_of_text_is_compared_on_equally_many_dialogues():
    """Two samples of the same talk, one five times as large: its distinct-2 is lower, but not because of the agent."""
    rng = np.random.default_rng(3)
    talk = [" ".join(rng.choice([f"w{at}" for at in range(20)], 8)) for _ in range(120)]
    a, b = table("distinct-2", talk[:100], agent="a"), table("distinct-2", talk[100:], agent="b")
    finding = found(a, b)
    assert finding.thinned_a == 80
    assert finding.thinned_b == 0
    assert (finding.n_items, finding.n_clusters) == (40, 40)
    assert finding.interval[0] < 0 < finding.interval[1]
    assert finding.verdict == "not shown"
    assert found(b, a).thinned_b == 80
    whole = found(table("length", talk[:100], agent="a"), table("length", talk[100:], agent="b"))
    assert whole.n_items == 120  # a mean does not depend on the number of items


def test_equally_many_items_are_compared_where_one_agent_has_longer_dialogues():
    """The same talk as 10 dialogues of 8 replies and as 80 dialogues of one: nothing is left out."""
    rng = np.random.default_rng(3)
    talk = [" ".join(rng.choice([f"w{at}" for at in range(20)], 8)) for _ in range(160)]
    long = [f"dialogue {at // 8}" for at in range(80)]
    a = table("distinct-2", talk[:80], agent="a", clusters=long)
    b = table("distinct-2", talk[80:], agent="b")
    finding = found(a, b)
    assert (finding.thinned_a, finding.thinned_b) == (0, 0)
    assert abs(finding.estimate) < 0.05
    shorter = found(a, table("distinct-2", talk[80:110], agent="b"))
    assert shorter.thinned_a == 48  # 4 dialogues of 8 replies are as near to 30 as whole dialogues allow
