"""Thumbs, stars and words beside messages and records, which are read as ratings."""

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise
from turnwise.errors import DataError, UsageError
from turnwise.logs.dialogue import as_record, from_record
from turnwise.logs.labels import KEYS, WORDS, label, number_of
from turnwise.logs.native import read
from turnwise.types import Dialogue

REPLY = {"role": "assistant", "content": "Yes, from ten."}
QUESTION = {"role": "user", "content": "Is it open?"}


def dialogue(reply: dict[str, Any], **record: Any) -> Dialogue:
    """A dialogue of a question and a reply with further keys."""
    return from_record({"messages": [QUESTION, {**REPLY, **reply}], **record}, default_id="1")


def values(read: Dialogue) -> list[tuple[str, float, int | None]]:
    """Dimension, value and turn of the ratings of a dialogue."""
    return [(rating.dimension, rating.value, rating.turn) for rating in read.ratings]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("feedback", "up", ("thumb", 1.0, 1)),
        ("feedback", "Thumbs down", ("thumb", 0.0, 1)),
        ("thumbs", "👍", ("thumb", 1.0, 1)),
        ("liked", False, ("thumb", 0.0, 1)),
        ("stars", 4, ("stars", 4.0, 1)),
        ("rating", 2.5, ("rating", 2.5, 1)),
        ("rating", "good", ("thumb", 1.0, 1)),
        ("like", False, ("thumb", 0.0, 1)),
        ("feedback", {"thumbs": "up"}, ("thumb", 1.0, 1)),
        ("stars", "★★★★", ("stars", 4.0, 1)),
    ],
)
def test_a_label_of_a_message_is_a_rating_of_its_turn(
    key: str, value: Any, expected: tuple[str, float, int]
) -> None:
    read = dialogue({key: value})
    assert values(read) == [expected]
    assert key not in read.turns[1].extra


def test_a_label_of_a_record_is_a_rating_of_the_dialogue() -> None:
    assert values(dialogue({}, feedback="down", stars=5)) == [("thumb", 0.0, None), ("stars", 5.0, None)]


@pytest.mark.parametrize(
    ("key", "value"),
    [("feedback", 0), ("feedback", "it was fine"), ("stars", 9), ("reaction", 3), ("liked", None)],
)
def test_a_value_whose_meaning_is_not_certain_stays_beside_the_message(key: str, value: Any) -> None:
    read = dialogue({key: value})
    assert read.ratings == ()
    assert read.turns[1].extra == {key: value}


def test_what_stands_beside_the_word_is_kept_in_the_rating() -> None:
    (rating,) = dialogue({"feedback": {"rating": "thumbsDown", "comment": "wrong day", "value": 3}}).ratings
    assert (rating.dimension, rating.value) == ("thumb", 0.0)
    assert rating.extra == {
        "comment": "wrong day", "source_value": 3, "label": "thumbsDown", "label_key": "feedback.rating",
    }  # fmt: skip


def test_a_dialogue_with_labels_is_the_same_after_it_is_written_and_read_again() -> None:
    once = dialogue({"feedback": "up", "stars": 3}, liked=True)
    again = from_record(as_record(once), default_id="1")
    assert again == once
    assert len(again.ratings) == 3


def test_words_for_good_and_bad_are_different_words() -> None:
    assert {number_of(word) for word in WORDS} == {0.0, 1.0}
    assert all(label("feedback", word) is not None for word in WORDS)
    assert label("content", "up") is None
    assert all(isinstance(key, str) for key in KEYS)


LOG = [
    {"id": "a", "agent": "m1", "messages": [QUESTION, {**REPLY, "fb": "yes!"}], "info": {"csat": "4"}},
    {"id": "b", "agent": "m2", "messages": [QUESTION, {**REPLY, "fb": "meh"}], "info": {"csat": "2"}},
    {"id": "c", "agent": "m2", "messages": [QUESTION, REPLY]},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A file whose messages have labels under a key that is not known."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in LOG))
    return path


def converted(log: Path, columns: str, **more: Any) -> list[Dialogue]:
    """The dialogues of a log, read with a map."""
    target = log.with_name("out.jsonl")
    turnwise.convert(log, target, columns=columns, **more)
    return list(read(str(target)))


@pytest.mark.parametrize("reader", [None, "native", "json"])
def test_a_map_gives_the_numbers_of_words_in_every_format(log: Path, reader: str | None) -> None:
    messages = "messages=messages,agent=agent," if reader == "json" else ""
    columns = f"{messages}rating:thumb=fb:yes!=1,meh=0,rating:csat[1-5]=info.csat"
    first, second, third = converted(log, columns, reader=reader)
    assert sorted(values(first)) == [("csat", 4.0, None), ("thumb", 1.0, 1)]
    assert sorted(values(second)) == [("csat", 2.0, None), ("thumb", 0.0, 1)]
    assert values(third) == []
    assert {rating.scale for rating in first.ratings} == {(0.0, 1.0), (1.0, 5.0)}
    assert "fb" not in first.turns[1].extra


def test_a_map_of_a_label_that_has_a_usual_meaning_comes_first(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"messages": [QUESTION, {**REPLY, "feedback": "up"}]}) + "\n")
    (read,) = converted(log, "rating:happy=feedback:up=5,down=1")
    assert values(read) == [("happy", 5.0, 1)]


@pytest.mark.parametrize("reader", [None, "json"])
def test_a_path_that_matches_nothing_is_an_error_with_the_paths_that_exist(
    log: Path, reader: str | None
) -> None:
    messages = "messages=messages," if reader == "json" else ""
    with pytest.raises(UsageError, match="rating:thumb=feedback: nothing is there in any record") as refusal:
        converted(log, f"{messages}rating:thumb=feedback", reader=reader)
    assert {"messages[*].fb", "info.csat"} <= {*str(refusal.value).replace(",", " ").split()}


def test_a_path_that_matches_nothing_in_flat_records_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"q": "Open?", "a": "Yes.", "info": {"csat": 4}}\n')
    with pytest.raises(
        UsageError, match=r"rating:x=csat: nothing is there in any record; there are q, a, info\.csat"
    ):
        converted(log, "context=q,response=a,rating:x=csat", reader="json")


def test_a_path_over_messages_rates_turns_and_never_the_dialogue(log: Path) -> None:
    first, *_ = converted(log, "messages=messages,rating:thumb=messages[*].fb:yes!=1,meh=0", reader="json")
    assert values(first) == [("thumb", 1.0, 1)]
    with pytest.raises(UsageError, match=r"leads over the messages, and so rates turns; write rating:thumb="):
        converted(log, "messages=messages,dialogue-rating:thumb=messages[*].fb", reader="json")


def test_a_word_without_a_number_is_an_error_that_says_how_to_give_it(log: Path) -> None:
    with pytest.raises(DataError, match=r"is \"meh\"; expected one of yes!; --map 'rating:thumb=fb:WORD=1"):
        converted(log, "rating:thumb=fb:yes!=1")


def test_convert_says_which_labels_it_read_and_which_it_left(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    said = [{"feedback": "up"}, {"feedback": "up"}, {"feedback": "down"}, {"feedback": "so so"}]
    log.write_text("".join(json.dumps({"messages": [QUESTION, {**REPLY, **one}]}) + "\n" for one in said))
    done = turnwise.convert(log, tmp_path / "out.jsonl")
    assert done.notes == (
        "`feedback` is read as the rating thumb: up = 1 (2), down = 0 (1); 1 other value stay as they are",
    )


def test_convert_says_which_values_are_no_ratings_and_how_to_make_them_some(tmp_path: Path) -> None:
    records = [{"messages": [QUESTION, {**REPLY, "vote": value}]} for value in (1, -1, 1)]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, records)))
    done = turnwise.convert(log, tmp_path / "out.jsonl")
    assert done.notes == (
        "`vote` is not read as a rating: 3 values of no certain meaning; "
        "--map rating:NAME=vote:VALUE=1,VALUE=0 says what they mean",
    )
    turnwise.convert(log, tmp_path / "out.jsonl", columns="rating:thumb=vote:1=1,-1=0")
    assert [
        one.value for one in (rating for d in read(str(tmp_path / "out.jsonl")) for rating in d.ratings)
    ] == [
        1.0,
        0.0,
        1.0,
    ]


def test_the_labels_of_a_table_are_ratings(tmp_path: Path) -> None:
    table = tmp_path / "log.csv"
    table.write_text("context,response,feedback,stars\nOpen?,Yes.,up,3\nOpen?,No.,whatever,5\n")
    turnwise.convert(table, tmp_path / "out.jsonl")
    first, second = read(str(tmp_path / "out.jsonl"))
    assert values(first) == [("thumb", 1.0, 1), ("stars", 3.0, 1)]
    assert values(second) == [("stars", 5.0, 1)]
    assert second.meta == {"feedback": "whatever"}


def test_a_metric_named_after_a_rated_dimension_is_pointed_to_its_ratings(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"messages": [QUESTION, {**REPLY, "feedback": "up"}]}) + "\n")
    with pytest.raises(UsageError, match="are the metric `rating:thumb`"):
        turnwise.score(str(log), metrics=["thumb"])
