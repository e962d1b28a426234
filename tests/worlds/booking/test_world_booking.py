"""The booking world: sentences are parsed as intended, scores are AirDialogue's, sellers are pure functions."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import UsageError
from turnwise.logs import native
from turnwise.types import Reply, Turn
from turnwise.worlds.booking import FAMILIES, WORLD, customer, family, parsing, wording
from turnwise.worlds.booking.flights import (
    DATES,
    Flight,
    Tables,
    matching_flights,
    parse_tables,
    unmet_conditions,
)
from turnwise.worlds.booking.intent import Decision, Intent, correct_outcome, draw_intent
from turnwise.worlds.booking.mistakes import MISTAKES
from turnwise.worlds.booking.scoring import distance, flight_score, name_score, score
from turnwise.worlds.booking.sellers import Habits, Seller, decide

seeds = st.integers(0, 2**32 - 1)
SELLERS = {f"{name}/{agent}": seller for name in FAMILIES for agent, seller in family(name).items()}


def flight(number: int, **changes) -> Flight:
    kept = Flight(number, "JFK", "LAX", 60, 70, 9, 15, "economy", 200, 0, "UA")
    return kept._replace(**changes)


def make_intent(goal: str = "book", **wishes) -> Intent:
    kept = {"origin": "JFK", "destination": "LAX", "leaves": 60, "returns": 70, "price": 300}
    kept |= {"cabin": None, "stops": None, "airline": None, "time": None}
    return Intent(goal, "Anna Baker", kept | wishes, talkative=False, careful=True, patience=2, wording=0)


FLIGHTS = (flight(1000), flight(1001, cabin="business", price=600), flight(1002, leaves=63, origin="BOS"))


def test_a_correct_decision_scores_one_on_every_dimension():
    tables = Tables(FLIGHTS, None)
    scores = score(Decision("booked", 1000, "Anna Baker"), make_intent(), tables)
    assert scores == {"reward": 1.0, "name": 1.0, "flight": 1.0, "status": 1.0}


def test_reward_weights_name_flight_and_status_by_two_five_and_three_tenths():
    tables = Tables(FLIGHTS, None)
    assert score(Decision("booked", 1000, "Emma Ford"), make_intent(), tables)["reward"] == pytest.approx(0.8)
    assert score(Decision("changed", 1000, "Anna Baker"), make_intent(), tables)["reward"] == pytest.approx(
        0.7
    )
    assert score(Decision("no_flight", None, "Anna Baker"), make_intent(), tables)["reward"] == pytest.approx(
        0.2
    )
    assert score(Decision(None), make_intent(), tables)["reward"] == 0.0


def test_a_partly_correct_name_scores_its_f1():
    assert name_score("Anna Reed", "Anna Baker") == 0.5
    assert name_score("Anna", "Anna Baker") == pytest.approx(2 / 3)
    assert name_score("", "Anna Baker") == 0.0


def test_the_distance_of_two_flights_equals_a_calculation_by_hand():
    # The class differs and the price is three times the other: (1 + 1) / 12.
    assert distance(FLIGHTS[0], FLIGHTS[1]) == pytest.approx(2 / 12)
    # Another airport, and 2 March (day 60) against 5 March: (1 + 3/31) / 12.
    assert DATES[60] == "Mar 2"
    assert distance(FLIGHTS[2], FLIGHTS[0]) == pytest.approx((1 + 3 / 31) / 12)


def test_a_wrong_flight_is_scored_by_its_distance_to_the_correct_one():
    tables, numbers = Tables(FLIGHTS, None), frozenset({1000})
    assert flight_score(1001, numbers, tables) == 0.0  # the largest distance in the table
    assert flight_score(1002, numbers, tables) == pytest.approx(1 - (1 + 3 / 31) / 2)
    assert flight_score(1999, numbers, tables) == 0.0  # no such flight
    assert flight_score(None, numbers, tables) == 0.0
    assert flight_score(None, frozenset(), tables) == 1.0
    assert flight_score(1000, frozenset(), tables) == 0.0


@pytest.mark.parametrize(
    ("goal", "reservation", "wishes", "status"),
    [
        ("book", None, {}, "booked"),
        ("book", None, {"price": 100}, "no_flight"),
        ("change", 1002, {}, "changed"),
        ("change", 1002, {"time": "evening"}, "no_flight"),
        ("change", None, {}, "no_reservation"),
        ("cancel", 1002, {}, "cancelled"),
        ("cancel", None, {}, "no_reservation"),
    ],
)
def test_the_correct_status_follows_from_goal_reservation_and_conditions(goal, reservation, wishes, status):
    assert correct_outcome(make_intent(goal, **wishes), Tables(FLIGHTS, reservation))[0] == status


@given(seeds)
def test_tables_written_as_a_briefing_are_parsed_back_unchanged(seed):
    scene = WORLD.scene(np.random.default_rng(seed))
    assert parse_tables(scene.briefing.text) == scene.tables


@given(seeds)
def test_matching_flights_are_those_without_unmet_conditions(seed):
    scene = WORLD.scene(np.random.default_rng(seed))
    found = {one.number for one in matching_flights(scene.tables.flights, scene.intent.wishes)}
    assert found == {
        one.number for one in scene.tables.flights if not unmet_conditions(one, scene.intent.wishes)
    }


@given(seeds)
def test_every_fact_that_a_customer_states_is_parsed(seed):
    one = draw_intent(np.random.default_rng(seed))
    said = [customer.answer(one, topic) for topic in wording.TOPICS]
    facts = parsing.known_facts([Turn("user", text) for text in said])
    assert facts == {**one.wishes, "goal": one.goal, "name": one.name}
    for topic, text in zip(wording.TOPICS, said, strict=True):
        assert set(parsing.parse_facts(text)) == set(wording.TOPICS[topic])


@pytest.mark.parametrize("name", wording.WORDINGS)
def test_every_wording_of_a_move_is_parsed_as_that_move(name):
    words = wording.WORDINGS[name]
    values = {"number": 1007, "date": "Mar 2", "cabin": "economy", "price": 200, "name": "Anna Baker"}
    for topic in wording.TOPICS:
        assert parsing.asked_topics(words[topic]) == (topic,)
        assert parsing.parse_decision(words[topic]) is None
        assert parsing.offered_flight(words[topic]) is None
    for status in ("booked", "changed"):
        assert parsing.parse_decision(words[status].format(**values)) == Decision(status, 1007, "Anna Baker")
    for status in ("cancelled", "no_flight", "no_reservation"):
        assert parsing.parse_decision(words[status].format(**values)) == Decision(status, None, "Anna Baker")
    assert parsing.offered_flight(words["offer"].format(**values)) == 1007
    assert parsing.asked_topics(words["remark"]) == ()
    assert parsing.parse_decision(words["remark"]) is None


def test_sentences_of_an_unknown_seller_are_parsed():
    assert parsing.asked_topics("Sure! Could I get your name, and what's your budget?") == ("name", "price")
    assert parsing.asked_topics("I need your travel dates.") == ("dates",)
    confirmation = "I have booked flight 1012 for Emma Ford. Is there anything else?"
    assert parsing.parse_decision(confirmation) == Decision("booked", 1012, "Emma Ford")
    assert parsing.parse_decision("Shall I say that flight 1012 is booked?") is None


@pytest.mark.parametrize("name", SELLERS)
def test_the_same_context_and_generator_give_the_same_reply(name):
    seller = SELLERS[name]
    rng = np.random.default_rng(5)
    for _ in range(5):
        dialogue = WORLD.play(SELLERS["stochastic/chance-09"], rng)
        turns = (Turn("system", dialogue.meta["briefing"]), *dialogue.turns)
        for index, turn in enumerate(turns):
            if turn.role == "assistant":
                once, twice = (seller(turns[:index], np.random.default_rng(index)) for _ in range(2))
                assert once == twice


@given(st.sampled_from(sorted(SELLERS)), seeds)
def test_dialogues_end_within_the_limit_with_a_decision_on_an_existing_flight(name, seed):
    rng = np.random.default_rng(seed)
    dialogue = WORLD.play(SELLERS[name], rng)
    replies = [turn for turn in dialogue.turns if turn.role == "assistant"]
    assert 1 <= len(replies) <= customer.MAX_REPLIES
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant"] * len(replies)
    assert all(turn.outcome is None for turn in replies[:-1])
    assert all(0.0 <= value <= 1.0 for value in replies[-1].outcome.values())
    decision = parsing.parse_decision(replies[-1].text)
    assert decision is not None
    tables = parse_tables(dialogue.meta["briefing"])
    assert decision.flight is None or tables.flight(decision.flight) is not None
    assert {rating.dimension: rating.value for rating in dialogue.ratings} == replies[-1].outcome


@given(seeds)
def test_a_seller_with_default_habits_always_decides_correctly(seed):
    dialogue = WORLD.play(Seller(), np.random.default_rng(seed))
    assert dialogue.turns[-1].outcome == {"reward": 1.0, "name": 1.0, "flight": 1.0, "status": 1.0}


@given(seeds)
def test_a_careful_customer_rejects_a_flight_with_unmet_conditions(seed):
    rng = np.random.default_rng(seed)
    scene = WORLD.scene(rng)
    one = scene.intent
    for number in (1000, 1007, 1029):
        offer = Turn("assistant", f"How about flight {number}?")
        answer = customer.next_message(
            one, scene.tables, [Turn("user", customer.first_message(one)), offer], rng
        )
        agreed = answer.startswith(wording.AGREED)
        if one.careful and unmet_conditions(scene.tables.flight(number), one.wishes):
            assert not agreed
        if one.goal == "cancel":
            assert not agreed


def test_a_customer_leaves_after_too_many_repeated_questions():
    class Nag:
        def __call__(self, turns, rng, /):
            return Reply("What is your name?")

    dialogue = WORLD.play(Nag(), np.random.default_rng(0))
    users = [turn.text for turn in dialogue.turns if turn.role == "user"]
    assert parsing.is_leaving(users[-1])
    assert not any(parsing.is_leaving(text) for text in users[:-1])
    assert len(users) < customer.MAX_REPLIES
    # Nothing was decided, so the status is wrong.
    assert dialogue.turns[-1].outcome["status"] == 0.0


def test_an_agent_that_only_reads_text_can_be_the_seller():
    seen = []

    def stranger(turns, rng, /):
        seen.append(turns[0])
        name = parsing.known_facts(turns).get("name")
        return Reply(f"There is no flight for {name}." if name else "May I have your name?")

    dialogue = WORLD.play(stranger, np.random.default_rng(3))
    assert seen[0].role == "system"
    assert "reservation:" in seen[0].text
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant"] * 2
    assert dialogue.turns[-1].outcome["name"] == 1.0


def test_every_reply_has_alternatives_and_equal_samples_are_stored_once():
    others = {"sure": Seller(), "unsure": Seller(Habits(noise=0.5, remarks=0.5))}
    rng = np.random.default_rng(1)
    kept = set()
    for _ in range(20):
        dialogue = WORLD.play(others["unsure"], rng, others=others, samples=4)
        points = [turn for turn in dialogue.turns if turn.role == "assistant"]
        for turn in points:
            assert list(turn.alternatives) == ["sure", "unsure"]
            assert len(turn.alternatives["sure"]) == 1
            kept.add(len(turn.alternatives["unsure"]))
            if turn is not points[-1]:
                assert all(reply.relabelled is None for said in turn.alternatives.values() for reply in said)
        # At the last turn every alternative has the scores of a decision: its own, or a relabelled one.
        for said in points[-1].alternatives.values():
            assert all((reply.outcome is None) != (reply.relabelled is None) for reply in said)
    assert kept == {1, 4}


def test_relabelled_scores_are_those_of_a_decision_on_the_logged_dialogue():
    quick, slow = Seller(Habits(hurries=1.0)), Seller()
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(30):
        dialogue = WORLD.play(quick, rng, others={"slow": slow})
        (reply,) = dialogue.turns[-1].alternatives["slow"]
        if reply.relabelled is not None:
            found += 1
            facts = parsing.known_facts(dialogue.turns)
            scene_tables = parse_tables(dialogue.meta["briefing"])
            own = decide(facts, scene_tables)
            assert reply.relabelled["name"] == name_score(own.name, dialogue.goal["name"])
    assert found > 5


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_covers_a_wide_range_of_true_means(name):
    means = []
    for seller in family(name, agents=16).values():
        rewards = [WORLD.truth(seller, np.random.default_rng([9, i]))[0] for i in range(120)]
        means.append(np.mean(rewards))
    assert max(means) - min(means) > 0.45
    assert np.std(means) > 0.12
    assert len(set(np.round(means, 3))) >= 14  # almost all means differ


@given(st.sampled_from(sorted(FAMILIES)), st.integers(1, 300))
def test_a_family_has_the_requested_number_of_agents(name, agents):
    assert len(family(name, agents=agents)) == agents


def test_the_wordings_family_contains_every_mistake_and_wording():
    sellers = family("wordings", agents=16)
    assert {kind for one in sellers.values() for kind in one.habits.mistakes} == set(MISTAKES)
    assert {one.habits.wording for one in sellers.values()} == set(wording.WORDINGS) - {"wordy"}


def test_an_unknown_family_is_an_error_that_names_similar_families():
    with pytest.raises(UsageError, match="there is no family `grade`; the nearest are graded"):
        family("grade")


def test_a_dialogue_is_unchanged_by_writing_and_reading_the_native_format():
    rng = np.random.default_rng(4)
    for seller in islice(SELLERS.values(), 0, None, 7):
        dialogue = WORLD.play(seller, rng, others={"a": seller})
        assert native.parse(native.dump(dialogue), file="f", line_number=1) == dialogue


def test_a_seller_without_a_briefing_is_an_error():
    with pytest.raises(UsageError, match="briefing"):
        Seller()([Turn("user", "Hi, I want to book a flight.")], np.random.default_rng(0))
