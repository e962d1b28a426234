"""The booking world: what is said is what is read, scores are AirDialogue's, sellers are pure policies."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import UsageError
from turnwise.logs import native
from turnwise.types import Reply, Turn
from turnwise.worlds.booking import FAMILIES, WORLD, customer, family, reading, wording
from turnwise.worlds.booking.flights import DATES, Flight, Tables, parsed, qualified, unmet
from turnwise.worlds.booking.intent import Decision, Intent, intent, right
from turnwise.worlds.booking.mistakes import MISTAKES
from turnwise.worlds.booking.scoring import distance, flight_score, name_score, score
from turnwise.worlds.booking.sellers import Habits, Seller, decision

seeds = st.integers(0, 2**32 - 1)
SELLERS = {f"{name}/{agent}": seller for name in FAMILIES for agent, seller in family(name).items()}


def flight(number: int, **changes) -> Flight:
    kept = Flight(number, "JFK", "LAX", 60, 70, 9, 15, "economy", 200, 0, "UA")
    return kept._replace(**changes)


def wanted(goal: str = "book", **wishes) -> Intent:
    kept = {"origin": "JFK", "destination": "LAX", "leaves": 60, "returns": 70, "price": 300}
    kept |= {"cabin": None, "stops": None, "airline": None, "time": None}
    return Intent(goal, "Anna Baker", kept | wishes, talkative=False, careful=True, patience=2, words=0)


FLIGHTS = (flight(1000), flight(1001, cabin="business", price=600), flight(1002, leaves=63, origin="BOS"))


def test_a_right_decision_scores_one_on_everything():
    tables = Tables(FLIGHTS, None)
    scores = score(Decision("booked", 1000, "Anna Baker"), wanted(), tables)
    assert scores == {"reward": 1.0, "name": 1.0, "flight": 1.0, "status": 1.0}


def test_reward_is_two_tenths_name_five_flight_three_status():
    tables = Tables(FLIGHTS, None)
    assert score(Decision("booked", 1000, "Emma Ford"), wanted(), tables)["reward"] == pytest.approx(0.8)
    assert score(Decision("changed", 1000, "Anna Baker"), wanted(), tables)["reward"] == pytest.approx(0.7)
    assert score(Decision("no_flight", None, "Anna Baker"), wanted(), tables)["reward"] == pytest.approx(0.2)
    assert score(Decision(None), wanted(), tables)["reward"] == 0.0


def test_half_a_name_scores_its_f1():
    assert name_score("Anna Reed", "Anna Baker") == 0.5
    assert name_score("Anna", "Anna Baker") == pytest.approx(2 / 3)
    assert name_score("", "Anna Baker") == 0.0


def test_the_distance_of_two_flights_by_hand():
    # The class differs and the price is three times the other: (1 + 1) / 12.
    assert distance(FLIGHTS[0], FLIGHTS[1]) == pytest.approx(2 / 12)
    # Another airport, and 2 March (day 60) against 5 March: (1 + 3/31) / 12.
    assert DATES[60] == "Mar 2"
    assert distance(FLIGHTS[2], FLIGHTS[0]) == pytest.approx((1 + 3 / 31) / 12)


def test_a_wrong_flight_is_graded_by_its_distance_to_the_right_one():
    tables, numbers = Tables(FLIGHTS, None), frozenset({1000})
    assert flight_score(1001, numbers, tables) == 0.0  # the farthest that the table holds
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
def test_what_a_right_seller_does(goal, reservation, wishes, status):
    assert right(wanted(goal, **wishes), Tables(FLIGHTS, reservation))[0] == status


@given(seeds)
def test_a_table_survives_its_own_text(seed):
    scene = WORLD.scene(np.random.default_rng(seed))
    assert parsed(scene.briefing.text) == scene.tables


@given(seeds)
def test_qualified_flights_are_those_that_fail_no_condition(seed):
    scene = WORLD.scene(np.random.default_rng(seed))
    found = {one.number for one in qualified(scene.tables.flights, scene.wanted.wishes)}
    assert found == {one.number for one in scene.tables.flights if not unmet(one, scene.wanted.wishes)}


@given(seeds)
def test_all_that_a_customer_says_is_heard(seed):
    one = intent(np.random.default_rng(seed))
    said = [customer.answer(one, topic) for topic in wording.TOPICS]
    heard = reading.heard([Turn("user", text) for text in said])
    assert heard == {**one.wishes, "goal": one.goal, "name": one.name}
    for topic, text in zip(wording.TOPICS, said, strict=True):
        assert set(reading.stated(text)) == set(wording.TOPICS[topic])


@pytest.mark.parametrize("name", wording.WORDINGS)
def test_every_wording_of_a_move_is_read_as_that_move(name):
    words = wording.WORDINGS[name]
    values = {"number": 1007, "date": "Mar 2", "cabin": "economy", "price": 200, "name": "Anna Baker"}
    for topic in wording.TOPICS:
        assert reading.asked(words[topic]) == (topic,)
        assert reading.decided(words[topic]) is None
        assert reading.offered(words[topic]) is None
    for status in ("booked", "changed"):
        assert reading.decided(words[status].format(**values)) == Decision(status, 1007, "Anna Baker")
    for status in ("cancelled", "no_flight", "no_reservation"):
        assert reading.decided(words[status].format(**values)) == Decision(status, None, "Anna Baker")
    assert reading.offered(words["offer"].format(**values)) == 1007
    assert reading.asked(words["remark"]) == ()
    assert reading.decided(words["remark"]) is None


def test_a_stranger_is_understood():
    assert reading.asked("Sure! Could I get your name, and what's your budget?") == ("name", "price")
    assert reading.asked("I need your travel dates.") == ("dates",)
    told = "I have booked flight 1012 for Emma Ford. Is there anything else?"
    assert reading.decided(told) == Decision("booked", 1012, "Emma Ford")
    assert reading.decided("Shall I say that flight 1012 is booked?") is None


@pytest.mark.parametrize("name", SELLERS)
def test_the_same_history_and_generator_give_the_same_reply(name):
    seller = SELLERS[name]
    rng = np.random.default_rng(5)
    for _ in range(5):
        dialogue = WORLD.play(SELLERS["stochastic/chance-09"], rng)
        turns = (Turn("system", dialogue.meta["briefing"]), *dialogue.turns)
        for place, turn in enumerate(turns):
            if turn.role == "assistant":
                once, twice = (seller(turns[:place], np.random.default_rng(place)) for _ in range(2))
                assert once == twice


@given(st.sampled_from(sorted(SELLERS)), seeds)
def test_conversations_end_in_time_with_a_decision_that_the_table_allows(name, seed):
    rng = np.random.default_rng(seed)
    dialogue = WORLD.play(SELLERS[name], rng)
    replies = [turn for turn in dialogue.turns if turn.role == "assistant"]
    assert 1 <= len(replies) <= customer.T_MAX
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant"] * len(replies)
    assert all(turn.outcome is None for turn in replies[:-1])
    assert all(0.0 <= value <= 1.0 for value in replies[-1].outcome.values())
    decided = reading.decided(replies[-1].text)
    assert decided is not None
    tables = parsed(dialogue.meta["briefing"])
    assert decided.flight is None or tables.flight(decided.flight) is not None
    assert {rating.dimension: rating.value for rating in dialogue.ratings} == replies[-1].outcome


@given(seeds)
def test_a_seller_without_faults_is_always_right(seed):
    dialogue = WORLD.play(Seller(), np.random.default_rng(seed))
    assert dialogue.turns[-1].outcome == {"reward": 1.0, "name": 1.0, "flight": 1.0, "status": 1.0}


@given(seeds)
def test_a_careful_customer_never_agrees_to_a_flight_that_fails_a_condition(seed):
    rng = np.random.default_rng(seed)
    scene = WORLD.scene(rng)
    one = scene.wanted
    for number in (1000, 1007, 1029):
        offer = Turn("assistant", f"How about flight {number}?")
        answer = customer.reaction(one, scene.tables, [Turn("user", customer.opening(one)), offer], rng)
        agreed = answer.startswith(wording.AGREED)
        if one.careful and unmet(scene.tables.flight(number), one.wishes):
            assert not agreed
        if one.goal == "cancel":
            assert not agreed


def test_a_customer_who_is_asked_the_same_too_often_leaves():
    class Nag:
        def __call__(self, turns, rng, /):
            return Reply("What is your name?")

    dialogue = WORLD.play(Nag(), np.random.default_rng(0))
    users = [turn.text for turn in dialogue.turns if turn.role == "user"]
    assert reading.leaves(users[-1])
    assert not any(reading.leaves(text) for text in users[:-1])
    assert len(users) < customer.T_MAX
    # Nothing was decided: no name, no status; a flight only where there was none to book.
    assert dialogue.turns[-1].outcome["status"] == 0.0


def test_an_agent_that_only_knows_text_can_be_put_in_the_world():
    seen = []

    def stranger(turns, rng, /):
        seen.append(turns[0])
        name = reading.heard(turns).get("name")
        return Reply(f"There is no flight for {name}." if name else "May I have your name?")

    dialogue = WORLD.play(stranger, np.random.default_rng(3))
    assert seen[0].role == "system"
    assert "reservation:" in seen[0].text
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant"] * 2
    assert dialogue.turns[-1].outcome["name"] == 1.0


def test_alternatives_stand_at_every_point_and_deterministic_ones_once():
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
        # At the end of the log everyone's decision is known: by the reply, or by what it would come to.
        for said in points[-1].alternatives.values():
            assert all((reply.outcome is None) != (reply.relabelled is None) for reply in said)
    assert kept == {1, 4}


def test_what_is_relabelled_is_the_decision_on_the_logged_conversation():
    quick, slow = Seller(Habits(hurries=1.0)), Seller()
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(30):
        dialogue = WORLD.play(quick, rng, others={"slow": slow})
        (reply,) = dialogue.turns[-1].alternatives["slow"]
        if reply.relabelled is not None:
            found += 1
            heard = reading.heard(dialogue.turns)
            scene_tables = parsed(dialogue.meta["briefing"])
            own = decision(heard, scene_tables)
            assert reply.relabelled["name"] == name_score(own.name, dialogue.goal["name"])
    assert found > 5


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_spreads_over_a_wide_range_of_true_means(name):
    means = []
    for seller in family(name, agents=16).values():
        rewards = [WORLD.truth(seller, np.random.default_rng([9, i]))[0] for i in range(120)]
        means.append(np.mean(rewards))
    assert max(means) - min(means) > 0.45
    assert np.std(means) > 0.12
    assert len(set(np.round(means, 3))) >= 14  # hardly any two alike


@given(st.sampled_from(sorted(FAMILIES)), st.integers(1, 300))
def test_a_family_has_as_many_members_as_are_asked_for(name, agents):
    assert len(family(name, agents=agents)) == agents


def test_every_kind_of_mistake_and_wording_is_in_the_family_of_wordings():
    sellers = family("wordings", agents=16)
    assert {kind for one in sellers.values() for kind in one.habits.mistakes} == set(MISTAKES)
    assert {one.habits.wording for one in sellers.values()} == set(wording.WORDINGS) - {"wordy"}


def test_an_unknown_family_is_told_with_its_neighbours():
    with pytest.raises(UsageError, match="there is no family `grade`; the nearest are graded"):
        family("grade")


def test_a_dialogue_survives_the_native_format():
    rng = np.random.default_rng(4)
    for seller in islice(SELLERS.values(), 0, None, 7):
        dialogue = WORLD.play(seller, rng, others={"a": seller})
        assert native.parse(native.dump(dialogue), file="f", line_number=1) == dialogue


def test_a_seller_without_its_table_says_so():
    with pytest.raises(UsageError, match="briefing"):
        Seller()([Turn("user", "Hi, I want to book a flight.")], np.random.default_rng(0))
