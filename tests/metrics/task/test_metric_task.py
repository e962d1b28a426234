"""Inform, success and the other task metrics on small worked examples and on published systems."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.small_tables import write_tables
from turnwise.cli.common.group import run
from turnwise.errors import DataError, UsageError
from turnwise.logs.items.items import Selection, items
from turnwise.logs.items.points import REFERENCE_ACTS
from turnwise.logs.native import read
from turnwise.metrics import resolve
from turnwise.metrics.task import ontology as ontologies
from turnwise.metrics.task.inform import Inform, Success
from turnwise.metrics.task.system_turns import delexicalised, system_turns
from turnwise.metrics.task.tables import NoTables
from turnwise.metrics.task.venues import Venues
from turnwise.metrics.task.wording import DelexicalisedBleu, EntityF1, Mismatch
from turnwise.types import Item, Turn

MULTIWOZ = ontologies.load()
CHEAP_INDIAN = {"restaurant": {"info": {"food": "indian", "pricerange": "cheap"}, "reqt": ["phone"]}}
# Leaderboard of MultiWOZ (budzianowski/multiwoz, README): inform and success on the test set.
PUBLISHED = {
    "labes": (68.5, 58.1), "damd": (57.9, 47.6), "augpt": (76.6, 60.5), "soloist": (82.3, 72.4),
    "ubar": (83.4, 70.3), "bort": (85.5, 77.4), "galaxy-e2e": (85.4, 75.7), "mars": (88.9, 78.0),
    "uniconv": (66.7, 58.7), "sfn": (93.4, 82.3), "hdsa": (87.9, 79.4), "lava": (95.9, 93.5),
    "galaxy-policy": (92.8, 83.5),
}  # fmt: skip


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(write_tables(tmp_path / "db"))


def dialogue(
    replies: Sequence[str],
    states: Sequence[Mapping[str, Any]],
    goal: Mapping[str, Any],
    meta: Mapping[str, Any] | None = None,
) -> Item:
    turns: list[Turn] = []
    for reply, state in zip(replies, states, strict=True):
        turns += [Turn("user", "and?"), Turn("assistant", reply, state=state)]
    return Item("d", "d", "bot", tuple(turns), None, "d", "d", goal=goal, meta=meta or {})


def task_score(db: str, item: Item, evaluator: Any = "leaderboard") -> tuple[float, float]:
    return Inform(evaluator, db=db).value(item), Success(evaluator, db=db).value(item)


@pytest.mark.parametrize("name", ["[restaurant_name]", "[value_name]", "[name]", "[RESTAURANT_NAME]"])
def test_an_offer_counts_however_its_placeholder_is_spelt(db: str, name: str) -> None:
    state = {"restaurant": {"food": "Indian", "price range": "cheap"}}
    item = dialogue([f"{name} is cheap, phone [phone]"], [state], CHEAP_INDIAN)
    assert task_score(db, item) == (100, 100)


def test_an_offer_with_a_venue_that_does_not_meet_the_goal_does_not_count_for_inform(db: str) -> None:
    item = dialogue(["[name], [phone]"], [{"restaurant": {"food": "indian"}}], CHEAP_INDIAN)
    assert task_score(db, item) == (0, 0)


def test_the_last_offer_counts(db: str) -> None:
    wide, narrow = (
        {"restaurant": {"food": "indian"}},
        {"restaurant": {"food": "indian", "pricerange": "cheap"}},
    )
    assert task_score(db, dialogue(["[name]", "[name] [phone]"], [wide, narrow], CHEAP_INDIAN)) == (100, 100)
    assert task_score(db, dialogue(["[name] [phone]", "[name]"], [narrow, wide], CHEAP_INDIAN)) == (0, 0)


def test_a_dialogue_without_a_requested_slot_counts_for_inform_but_not_for_success(db: str) -> None:
    state = {"restaurant": {"food": "indian", "pricerange": "cheap"}}
    assert task_score(db, dialogue(["[name]"], [state], CHEAP_INDIAN)) == (100, 0)


def test_a_phone_number_given_while_another_domain_is_active_does_not_count_for_the_restaurant(
    db: str,
) -> None:
    restaurant = {"food": "indian", "pricerange": "cheap"}
    states = [{"restaurant": restaurant}, {"restaurant": restaurant, "hotel": {"stars": "4"}}]
    assert task_score(db, dialogue(["[name]", "[phone]"], states, CHEAP_INDIAN)) == (100, 0)


def test_a_reference_number_counts_only_after_the_booking_was_made(db: str) -> None:
    goal = {"restaurant": {"info": {"food": "chinese"}, "book": {"people": "2"}}}
    states = [{"restaurant": {"food": "chinese"}}] * 2
    early = dialogue(["[name] [reference]", "bye"], states, goal, {"booked_domains": [[], ["restaurant"]]})
    late = dialogue(["[name]", "[reference]"], states, goal, {"booked_domains": [[], ["restaurant"]]})
    assert task_score(db, early) == (100, 0)
    assert task_score(db, late) == (100, 100)
    assert resolve("booking", db=db).rows([early, late])[:, 0].tolist() == [0, 100]  # type: ignore[union-attr]


def test_a_train_must_be_named_only_if_its_number_is_requested(db: str) -> None:
    info = {"departure": "cambridge", "destination": "ely", "leaveAt": "10:00"}
    silent = ["booked"], [{"train": {"departure": "cambridge"}}]
    assert task_score(db, dialogue(*silent, {"train": {"info": info}})) == (100, 100)
    assert task_score(db, dialogue(*silent, {"train": {"info": info, "reqt": ["trainID"]}})) == (0, 0)


def test_a_train_that_leaves_later_than_requested_meets_the_constraint_and_an_earlier_one_does_not(
    db: str,
) -> None:
    venues = Venues(Path(db), MULTIWOZ)
    assert venues.find("train", MULTIWOZ.constraints({"leave at": "17 : 00"})) == {"TR2"}
    assert venues.find("train", MULTIWOZ.constraints({"leaveAt": "0900"})) == {"TR1", "TR2"}


def test_predicted_states_of_a_system_are_used_instead_of_the_logged_ones(db: str) -> None:
    true = {"restaurant": {"food": "indian", "pricerange": "cheap"}}
    own = [{"restaurant": {"food": "indian", "pricerange": "expensive"}}]
    item = dialogue(["[name] [phone]"], [true], CHEAP_INDIAN, {"predicted_states": {"bot": own}})
    assert task_score(db, item) == (0, 0)
    assert task_score(db, item, "multiwoz2018") == (100, 100)  # that script knows only the true ones


def test_the_rate_of_a_domain_counts_that_part_of_the_goals_that_have_it(db: str) -> None:
    cheap = {"restaurant": {"food": "indian", "pricerange": "cheap"}}
    both = {**CHEAP_INDIAN, "train": {"info": {"departure": "cambridge"}, "reqt": ["trainID"]}}
    items = [
        dialogue(["[name], [phone]"], [cheap], both),  # the restaurant succeeds, the train is never named
        dialogue(["[name]"], [cheap], CHEAP_INDIAN),  # no phone number
        dialogue(["[trainid]"], [{"train": {"departure": "cambridge"}}], {"train": both["train"]}),
    ]

    def rates(name: str) -> list[float]:
        metric = resolve(name, db=db)
        rows = metric.rows(items)  # type: ignore[union-attr]
        return [*rows[:, 0], metric.reduce(rows)]  # type: ignore[union-attr, list-item]

    nan = float("nan")
    np.testing.assert_array_equal(rates("inform"), [0, 100, 100, pytest.approx(200 / 3)])
    np.testing.assert_array_equal(rates("inform[domain=restaurant]"), [100, 100, nan, 100])
    np.testing.assert_array_equal(rates("success[domain=restaurant]"), [100, 0, nan, 50])
    np.testing.assert_array_equal(rates("success[domain=train]"), [0, nan, 100, 50])
    with pytest.raises(UsageError, match="there is no domain `trains`"):
        resolve("success[domain=trains]", db=db)


def test_rates_of_domains_have_signatures_of_their_own(db: str) -> None:
    assert "domain" not in str(Inform(db=db).signature)
    assert "|domain:train|" in str(Inform(db=db, domain="train").signature)


def test_the_2018_evaluator_gives_the_expectation_over_its_draws(db: str) -> None:
    item = dialogue(["[name] [phone]"], [{"restaurant": {"food": "indian"}}], CHEAP_INDIAN)
    assert task_score(db, item, "multiwoz2018") == (50, 50)


def test_spellings_of_values_do_not_matter() -> None:
    said = {"type": "guest houses", "area": "center", "name": "the lensfield hotel", "parking": "free"}
    assert MULTIWOZ.constraints(said) == {
        "type": "guesthouse",
        "area": "centre",
        "name": "lensfield hotel",
        "parking": "yes",
    }
    assert MULTIWOZ.constraints({"area": "do n't care", "food": "any", "stars": ["4 stars", "5"]}) == {
        "stars": "4"
    }


def test_placeholders_with_an_unknown_slot_are_listed() -> None:
    assert MULTIWOZ.unknown("[value_name] costs [xyz] at [train_trainID]") == ["[xyz]"]


def test_values_in_dialogue_acts_are_replaced_by_placeholders() -> None:
    acts = [["Restaurant-Inform", "Name", "Curry King"], ["Restaurant-Inform", "Area", "centre"]]
    text = "Curry King is in the centre, not the city-centres."
    assert delexicalised(text, acts, MULTIWOZ) == "[name] is in the [area], not the city-centres."


def test_entities_and_mismatch_are_measured_against_what_the_logged_reply_mentions() -> None:
    extra = {REFERENCE_ACTS: [["Restaurant-Inform", "Phone", "123"], ["Restaurant-Request", "Area", "?"]]}
    same = Turn("assistant", "[restaurant_phone]", ("it is 123",), extra=extra)
    other = Turn("assistant", "[name] in the [area]", ("it is 123",), extra=extra)
    turns = (Turn("user", "hi"), same, Turn("user", "hm"), other, Turn("user", "?"), same)
    whole = Item("d", "d", "bot", turns, None, "d", "d")
    assert Mismatch().value(whole) == 50
    replies = [Item("r", "d", "bot", (Turn("user", "hi"), turn), 1, "d", "p") for turn in (same, other)]
    metric = EntityF1()
    assert metric.of_sums(metric.rows(replies)).tolist() == [100, 0]
    assert metric.reduce(metric.rows(replies)) == pytest.approx(200 * 1 / (3 + 2))


def test_the_combined_score_is_bleu_and_half_of_inform_and_success(db: str) -> None:
    state = {"restaurant": {"food": "Indian", "price range": "cheap"}}
    said = ["[restaurant_name] is a cheap indian place", "their phone number is [restaurant_phone] , right"]
    people = ["[name] is a very cheap indian place", "sure , the phone number is [phone]"]
    both = dialogue(said, [state, state], CHEAP_INDIAN)
    one = dialogue([said[0], "i do not know that"], [state, state], CHEAP_INDIAN)
    whole = []
    for item in (both, one):
        turns = list(item.turns)
        turns[1], turns[3] = (
            replace(turns[at], references=(text,)) for at, text in zip((1, 3), people, strict=True)
        )
        whole.append(replace(item, turns=tuple(turns)))
    replies = [replace(item, turns=item.turns[:at]) for item in whole for at in (2, 4)]
    bleu = DelexicalisedBleu()
    parts = Inform(db=db), Success(db=db)
    assert [part.reduce(part.rows(whole)) for part in parts] == [100, 50]
    combined = resolve("combined", db=db)
    assert combined.reduce(combined.rows(whole)) == pytest.approx(bleu.reduce(bleu.rows(replies)) + 75)
    assert np.isnan(combined.reduce(combined.rows([both])))  # nothing to compare the words with
    assert "bleu-delex" in str(combined.signature)
    assert "success|eval:leaderboard" in str(combined.signature)
    with pytest.raises(UsageError, match="evaluator"):
        resolve("combined[evaluator=mine]", db=db)


def test_a_tool_call_does_not_change_the_active_domains(db: str) -> None:
    hotel, restaurant = (
        {"hotel": {"area": "north"}},
        {"restaurant": {"food": "Indian", "price range": "cheap"}},
    )
    item = dialogue(
        ["which ?", "[restaurant_name]", "[phone]"], [hotel, hotel | restaurant, hotel | restaurant], {}
    )
    call = Turn("assistant", None, extra={"tool_calls": [1]})
    called = replace(item, turns=(*item.turns[:5], call, item.turns[5]))
    active = [turn.active for turn in system_turns(item, MULTIWOZ)]
    assert active == [{"hotel"}, {"restaurant"}, {"restaurant"}]
    assert [turn.active for turn in system_turns(called, MULTIWOZ)] == [*active, {"restaurant"}]


def test_score_lists_the_placeholders_that_the_ontology_does_not_know(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, db: str
) -> None:
    turns = [
        {"role": "user", "content": "and [of_the_user] ?"},
        {"role": "assistant", "content": "[restaurant_name] , [blob] or [value_wand] and [blob]",
         "state": {"restaurant": {"food": "indian"}}},
        {"role": "user", "content": "and ?"},
        {"role": "assistant", "content": "[blob] , [phone]", "state": {"restaurant": {"food": "indian"}}},
    ]  # fmt: skip
    record = {"id": "d", "agent": "bot", "messages": turns, "goal": CHEAP_INDIAN}
    (tmp_path / "d.jsonl").write_text(json.dumps(record))
    assert run(["score", str(tmp_path / "d.jsonl"), "-m", "inform,success,length", "--db", db]) == 0
    said = capsys.readouterr().err
    note = "note: placeholders that the ontology does not know: [blob] (3), [value_wand] (1)"
    assert [line for line in said.splitlines() if "placeholder" in line] == [note]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[booking]\nslot = 'loan'", "there is no [domains.NAME]"),
        ("[domains.library]", "`known` is missing in [placeholders]"),
        ("[domains.library]\n[placeholders]\nknow = []", "`know` is not known in [placeholders]"),
        ("[domains.library]\n[slot]", "[slot] is not known; the sections are domains, booking, slots, values"),
        ("[domains.library]\ntabel = 'x'\n[placeholders]\nknown = []", "tabel"),
    ],
)  # fmt: skip
def test_a_wrong_ontology_is_an_error_that_says_what_is_wrong(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(UsageError) as error:
        ontologies.load(str(tmp_path / "own.toml"))
    assert message in str(error.value)


def test_an_ontology_needs_only_its_domains_and_the_slots_of_its_placeholders(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        "[domains.library]\noffer = 'title'\n[placeholders]\nknown = ['title']"
    )
    small = ontologies.load(str(tmp_path / "own.toml"))
    assert small.mentions("[library_title] and [value_title]") == [("library", "title"), (None, "title")]
    assert small.state({"library": {"subject": "Maths", "year": "any"}}) == {"library": {"subject": "maths"}}


def test_an_ontology_can_be_read_from_a_file(tmp_path: Path, db: str) -> None:
    shipped = Path(ontologies.__file__).parents[2] / "data" / "task" / "multiwoz.toml"
    own = tmp_path / "shops.toml"
    own.write_text(shipped.read_text("utf-8").replace("domains.restaurant]", "domains.shop]"))
    goal = {"shop": {"info": {"food": "indian", "pricerange": "cheap"}, "reqt": ["phone"]}}
    state = {"shop": {"food": "indian", "pricerange": "cheap"}}
    item = dialogue(["[shop_name] [phone]"], [state], goal)
    assert Success(ontology=str(own), db=db).value(item) == 100


@pytest.mark.parametrize(
    ("goal", "words"),
    [({"spaceship": {"info": {}}}, "domain `spaceship`"), ({"hotel": ["cheap"]}, "is not an object")],
)
def test_a_goal_with_unknown_names_is_an_error(db: str, goal: Mapping[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        task_score(db, dialogue(["hello"], [{}], goal))


def test_unknown_slots_of_a_state_exclude_no_venue(db: str) -> None:
    state = {"restaurant": {"food": "indian", "pricerange": "cheap", "parking": "yes"}, "moon": "x"}
    assert task_score(db, dialogue(["[name] [phone]"], [state], CHEAP_INDIAN)) == (100, 100)


def test_missing_and_empty_tables_are_clear_errors(tmp_path: Path, db: str) -> None:
    with pytest.raises(NoTables, match="--db DIR"):
        str(resolve("inform", db=str(tmp_path / "nowhere")).signature)  # type: ignore[union-attr]
    (Path(db) / "hotel_db.json").write_text("[]")
    with pytest.raises(DataError, match="table of `hotel` is empty"):
        Venues(Path(db), MULTIWOZ)
    for content in (b'[{"name": "\xff"}]', b'[{"name": ' + b"[" * 5000):
        (Path(db) / "hotel_db.json").write_bytes(content)
        with pytest.raises(DataError, match=r"hotel_db\.json"):
            Venues(Path(db), MULTIWOZ)
    (Path(db) / "hotel_db.json").unlink()
    for content in (b"\x1f\x8b\x08", b"no gzip"):
        (Path(db) / "hotel_db.json.gz").write_bytes(content)
        with pytest.raises(DataError, match=r"hotel_db\.json\.gz"):
            Venues(Path(db), MULTIWOZ)
    with pytest.raises(UsageError, match="no evaluator"):
        resolve("inform", evaluator="mine", db=db)


def test_predicted_states_of_another_number_than_the_replies_are_an_error(db: str) -> None:
    item = dialogue(["[name]"], [{}], CHEAP_INDIAN, {"predicted_states": {"bot": [{}, {}]}})
    with pytest.raises(DataError, match="2 predicted states"):
        task_score(db, item)


@pytest.mark.slow
def test_published_inform_and_success_are_reproduced_within_a_point_for_eleven_of_thirteen_systems(
    corpora: Path,
) -> None:
    chosen = Selection(items="all", where=(("meta.split", "test"),), as_agents=("@alternatives",))
    metric = Success(db=str(corpora / "multiwoz_db"))
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in PUBLISHED}
    for item in items(read(str(corpora / "multiwoz_valtest.jsonl.gz")), chosen, whole=True):
        if item.missing is None:
            judgement = metric.evaluate(item)
            found[item.agent].append((judgement.inform, judgement.success))
    gaps = {}
    for name, (inform, success) in PUBLISHED.items():
        means = [100 * sum(values) / len(values) for values in zip(*found[name], strict=True)]
        gaps[name] = max(abs(means[0] - inform), abs(means[1] - success))
    assert sum(gap <= 1 for gap in gaps.values()) >= 11, gaps
    assert max(gaps.values()) < 1.5, gaps
