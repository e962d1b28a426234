"""The chat world: sentences are parsed as intended, flaws lower the quality, the panel's mean is exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.logs import native
from turnwise.types import Reply, Turn
from turnwise.worlds.chat import FAMILIES, WORLD, family, raters, user
from turnwise.worlds.chat.quality import DIMENSIONS, latent_quality
from turnwise.worlds.chat.talkers import NO_THING, Habits, Talker
from turnwise.worlds.chat.topics import (
    TOPICS,
    briefing,
    draw_persona,
    parse,
    persona_from_briefing,
    statement,
)

seeds = st.integers(0, 2**32 - 1)
TALKERS = {f"{name}/{agent}": talker for name in FAMILIES for agent, talker in family(name).items()}


def talk(*texts: str) -> list[Turn]:
    return [Turn("assistant" if index % 2 else "user", text) for index, text in enumerate(texts)]


@pytest.mark.parametrize("topic", TOPICS)
def test_every_sentence_is_parsed_as_intended(topic):
    about = TOPICS[topic]
    assert parse(about.asks).asks == (topic,)
    assert parse(NO_THING[topic]).topics == {topic}
    for thing in about.things:
        assert parse(statement(topic, thing)).claims == {topic: thing}
        remark = parse(about.comment.format(thing))
        assert remark.topics == {topic}
        assert not remark.claims
        assert not remark.question


@given(seeds)
def test_a_persona_written_as_a_briefing_is_parsed_back_unchanged(seed):
    persona = draw_persona(np.random.default_rng(seed), size=4)
    assert persona_from_briefing(Turn("system", briefing(persona).text)) == persona


def test_every_flaw_lowers_the_quality():
    opening, sport = "Hi! I live in Oslo. Where do you live?", "Cool. Do you do any sport?"
    first, second = "I live in Lima. Do you have a pet?", "I do judo every weekend. What music do you like?"
    good = talk(opening, first, sport, second)
    false = talk(opening, first, sport, f"In fact I live in Cairo. {second}")
    deaf = talk(opening, "I see.", sport, "That is interesting.")
    same = talk(opening, first, "Cool. Where do you live?", first)
    best = latent_quality(good)
    assert best["sense"] == 5.0
    assert best["listening"] == 5.0
    assert latent_quality(false)["sense"] == 2.0  # one reply of two is a contradiction
    assert latent_quality(deaf)["listening"] == 1.0
    assert latent_quality(same)["overall"] < best["overall"] - 0.5
    assert all(latent_quality(flawed)["overall"] < best["overall"] for flawed in (false, deaf, same))


def test_each_of_the_later_dimensions_has_a_flaw_that_lowers_it():
    opening, sport = "Hi! I live in Oslo. Where do you live?", "Cool. Do you do any sport?"
    first, second = "I live in Lima. Do you have a pet?", "Wow! I do judo every weekend."
    best = latent_quality(talk(opening, first, sport, second))
    flawed = {
        "avoids_repetition": talk(opening, first, sport, first),
        "fluent": talk(opening, first, sport, "i do do judo every weekend"),
        "inquisitive": talk(opening, "I live in Lima.", sport, second),
        "persona": talk(opening, "It is a nice city. Do you have a pet?", sport, second),
        "enjoyable": talk(opening, first, sport, "I do judo every weekend."),
        "human_like": talk(opening, first, sport, "wow i do judo judo every weekend"),
    }
    for dimension, turns in flawed.items():
        assert latent_quality(turns)[dimension] < best[dimension] - 0.3, dimension
    assert set(flawed) == set(DIMENSIONS[4:])


def test_ratings_of_the_first_dimensions_do_not_depend_on_the_later_ones():
    qualities = dict(zip(DIMENSIONS, np.linspace(1.5, 4.5, len(DIMENSIONS)).tolist(), strict=True))
    first = {name: qualities[name] for name in DIMENSIONS[:4]}
    every = raters.ratings(qualities, "d", np.random.default_rng(7))
    assert every[: 3 * len(first)] == raters.ratings(first, "d", np.random.default_rng(7))


@pytest.mark.parametrize("flaw", ["contradicts", "repeats", "ignores", "strays"])
def test_a_more_frequent_flaw_lowers_the_true_score(flaw):
    means = []
    for share in (0.0, 0.4, 0.8):
        talker = Talker(Habits(**{flaw: share}))
        means.append(np.mean([WORLD.truth(talker, np.random.default_rng([3, i]))[0] for i in range(150)]))
    assert means[0] > means[1] + 0.1
    assert means[1] > means[2] + 0.1


def test_garbled_replies_lower_fluency_and_nothing_else_of_the_first_dimensions():
    def truth(garbles):
        talker = Talker(Habits(garbles=garbles))
        return np.mean([WORLD.truth(talker, np.random.default_rng([4, i])) for i in range(200)], axis=0)

    clear, garbled = (dict(zip(DIMENSIONS, truth(share), strict=True)) for share in (0.0, 0.8))
    assert garbled["fluent"] < clear["fluent"] - 1.5
    assert abs(garbled["listening"] - clear["listening"]) < 0.15


@pytest.mark.parametrize("name", TALKERS)
def test_the_same_context_and_generator_give_the_same_reply(name):
    dialogue = WORLD.play(TALKERS["graded/flaw-08"], np.random.default_rng(5))
    turns = (Turn("system", dialogue.meta["briefing"]), *dialogue.turns)
    for index, turn in enumerate(turns):
        if turn.role == "assistant":
            once, twice = (TALKERS[name](turns[:index], np.random.default_rng(index)) for _ in range(2))
            assert once == twice


@given(st.sampled_from(sorted(TALKERS)), seeds)
def test_dialogues_end_within_the_limits_and_ratings_are_on_the_scale(name, seed):
    dialogue = WORLD.play(TALKERS[name], np.random.default_rng(seed), others={"a": TALKERS[name]})
    replies = [turn for turn in dialogue.turns if turn.role == "assistant"]
    assert user.MIN_REPLIES <= len(replies) <= user.MAX_REPLIES
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant"] * len(replies)
    assert all(turn.outcome is None and turn.alternatives for turn in replies)
    assert {rating.value for rating in dialogue.ratings} <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert len({rating.rater for rating in dialogue.ratings}) == raters.RATERS_PER_DIALOGUE
    assert len(dialogue.ratings) == raters.RATERS_PER_DIALOGUE * len(DIMENSIONS)
    assert native.parse(native.dump(dialogue), file="f", line_number=1) == dialogue


def test_a_raters_expected_rating_is_the_mean_of_its_ratings():
    rng = np.random.default_rng(0)
    for rater in raters.panel()[:4]:
        for quality in (1.0, 2.6, 4.9):
            drawn = [rater.rate(quality, rng) for _ in range(4000)]
            assert np.mean(drawn) == pytest.approx(
                rater.expected_rating(quality), abs=4 * np.std(drawn) / 63 + 1e-9
            )


def test_raters_differ_in_bias_and_scale():
    means = [[rater.expected_rating(quality) for quality in (2.0, 4.0)] for rater in raters.panel()]
    low, high = np.transpose(means)
    assert np.std(low) > 0.2
    assert np.std(high - low) > 0.2


def test_ratings_are_unbiased_estimates_of_the_truth():
    talker = Talker(Habits(repeats=0.3, ignores=0.3))
    gaps = []
    for number in range(600):
        rng = np.random.default_rng([1, number])
        dialogue = WORLD.play(talker, rng)
        rated = np.mean([rating.value for rating in dialogue.ratings if rating.dimension == "overall"])
        gaps.append(rated - raters.expected_ratings(latent_quality(dialogue.turns))["overall"])
    assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(len(gaps))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_covers_a_wide_range_of_true_means(name):
    means = [
        np.mean([WORLD.truth(talker, np.random.default_rng([9, i]))[0] for i in range(100)])
        for talker in family(name).values()
    ]
    assert max(means) - min(means) > 2.0
    assert len(set(np.round(means, 2))) >= 14


def test_an_agent_that_only_reads_text_can_talk_in_the_world():
    def parrot(turns, rng, /):
        return Reply(turns[-1].text)

    dialogue = WORLD.play(parrot, np.random.default_rng(0))
    assert len(dialogue.ratings) == raters.RATERS_PER_DIALOGUE * len(DIMENSIONS)


@given(st.sampled_from(sorted(FAMILIES)), st.integers(1, 300))
def test_a_family_has_the_requested_number_of_agents(name, agents):
    assert len(family(name, agents=agents)) == agents
