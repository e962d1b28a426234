"""The index: where dialogues are, what their numbers are, and what a query finds."""

import gzip
import json
import math
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from tests.web.viewer.conftest import exchange, rating, write_records
from turnwise.errors import DataError, UsageError
from turnwise.web.viewer import texts
from turnwise.web.viewer.index import Changed
from turnwise.web.viewer.log_file import LogFile, plain_file
from turnwise.web.viewer.query import Query, Range, select
from turnwise.web.viewer.reading import build
from turnwise.web.viewer.texts import TextWriter, terms


def column(table, key: str) -> list[float | None]:
    return [None if math.isnan(value) else round(float(value), 4) for value in table.columns[key].values]


def test_a_dialogue_is_read_from_its_place_whatever_is_around_it(visit, tmp_path):
    records = [
        exchange("first"),
        exchange("é𝄞", "b", "x" * 5000, "y"),
        {"messages": exchange("")["messages"]},
    ]
    lines = [json.dumps(one, ensure_ascii=False) for one in records]
    path = tmp_path / "logs.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + f"{lines[0]}\n\n  \n{lines[1]}\r\n{lines[2]}".encode())
    index = visit(path).index
    assert [index.dialogue(row).id for row in range(3)] == [
        "first",
        "é𝄞",
        "5",
    ]  # a line without an id has its number
    assert index.dialogue(1).turns[0].text == "x" * 5000
    assert [index.find(name) for name in ("first", "é𝄞", "5", "6", "")] == [0, 1, 2, None, None]


def test_packed_files_and_tables_are_read_from_a_plain_copy_that_is_deleted(visit, tmp_path):
    records = [exchange(f"d{number}") for number in range(3)]
    plain = write_records(tmp_path / "plain.jsonl", records)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert plain_file(str(plain), lambda: tmp_path) == str(plain)
    index = visit(packed).index
    assert index.dialogue(2).id == "d2"
    copy = Path(index.files[0].path)
    assert copy.exists()
    assert copy != packed
    assert index.files[0].shown == str(packed)


def test_a_parquet_file_is_read(visit, tmp_path):
    polars = pytest.importorskip("polars")
    records = [exchange(f"d{number}") for number in range(3)]
    polars.DataFrame(records).write_parquet(tmp_path / "logs.parquet")
    assert visit(tmp_path / "logs.parquet").index.dialogue(1).turns[1].text == "reply of a"


def test_a_bad_line_names_its_place_and_a_foreign_file_its_format(visit, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(exchange("a")) + "\n{]\n")
    with pytest.raises(DataError, match=r"bad\.jsonl:2"):
        visit(path)
    path.write_text(json.dumps([exchange("a")]))
    with pytest.raises(DataError, match="--from"):
        visit(path)
    with pytest.raises(DataError, match="cannot be read"):
        visit(tmp_path / "absent.jsonl")


def test_a_file_that_changes_is_not_read_at_the_wrong_place(visit, tmp_path):
    path = write_records(tmp_path / "logs.jsonl", [exchange("a"), exchange("b")])
    shown = visit(path)
    assert "reply of a" in shown.get("/dialogue", [("id", "b")])
    with path.open("a") as file:
        file.write("\n")
    with pytest.raises(Changed, match="has changed since it was read"):
        shown.index.dialogue(0)
    assert "has changed since it was read" in shown.get("/dialogue", [("id", "b")], status=503)


def test_ratings_are_means_over_raters_and_a_dialogue_without_its_own_has_those_of_its_replies(visit):
    whole = [rating(4, "x"), rating(1, "y"), rating(2, "x", "rude", direction="lower")]
    turns = [rating(5, "x", turn=1), rating(2, "y", turn=1), rating(3, "x", turn=3)]
    talk = ("q", "r", "q", "r")
    index = visit(
        exchange("w", "a", *talk, ratings=whole + turns),
        exchange("t", "a", *talk, ratings=turns),
        exchange("n"),
    ).index
    assert column(index.dialogues, "rating:overall") == [2.5, 3.25, None]
    assert column(index.dialogues, "spread:overall") == [3, 3, None]
    assert column(index.dialogues, "rating:rude") == [2, None, None]
    assert index.dialogues.columns["rating:rude"].lower
    assert "spread:rude" not in index.dialogues.columns  # one rater only
    assert index.replies.rows.turn.tolist() == [1, 3, 1, 3, 1]
    assert column(index.replies, "rating:overall") == [3.5, 3, 3.5, 3, None]
    assert column(index.replies, "spread:overall") == [3, None, 3, None, None]


def test_rated_turns_of_the_user_are_rows_too(visit):
    index = visit(exchange("a", "a", "q", "r", ratings=[rating(1, turn=0)])).index
    assert index.replies.rows.turn.tolist() == [0, 1]
    assert column(index.replies, "rating:overall") == [1, None]


def test_a_preference_counts_for_both_dialogues(visit):
    chosen = [
        {"other": "b", "winner": "this", "turn": 1, "other_turn": 3},
        {"other": "gone", "winner": "tie"},
    ]
    index = visit(
        exchange("a", "x", preferences=chosen),
        exchange("b", "y", "q", "r", "q", "r", preferences=[{"other": "a", "winner": "both_bad"}]),
    ).index
    assert column(index.replies, "preference:overall") == [1, None, 0]
    assert column(index.dialogues, "preference:overall") == [0.5, 0.5]  # their own; not of their replies


def test_replies_to_the_same_context_are_paired_and_dialogues_by_a_key(visit):
    records = [
        exchange(f"{agent}{number}", agent, f"question {number}", f"{agent} says", meta={"topic": number % 2})
        for number in range(3)
        for agent in ("a", "b")
    ]
    records.append({"id": "first", "agent": "a", "messages": [{"role": "assistant", "content": "hello"}]})
    replies = visit(*records).index.replies
    first, second = replies.pairs(0, 1)
    assert [(int(x), int(y)) for x, y in zip(first, second, strict=True)] == [(0, 1), (2, 3), (4, 5)]
    assert replies.beside(0).tolist() == [0, 1]
    assert replies.beside(6).tolist() == []  # no context before it
    dialogues = visit(*records[:-1], pair="meta.topic").index.dialogues
    first, second = dialogues.pairs(0, 1)
    assert [(int(x), int(y)) for x, y in zip(first, second, strict=True)] == [(0, 1), (2, 3)]
    with pytest.raises(UsageError, match=r"--pair meta\.nothing: no dialogue has this key"):
        visit(*records, pair="meta.nothing")


def test_a_query_keeps_what_fulfils_all_of_it_and_sorts_it(visit):
    index = visit(
        *(
            exchange(f"d{number}", "ab"[number % 2], ratings=[rating(number % 5, "x")] if number != 7 else [])
            for number in range(10)
        )
    ).index

    def found(**query) -> list[int]:
        return select(index, Query(**query)).tolist()

    assert found() == list(range(10))
    assert found(agents=("b",)) == [1, 3, 5, 7, 9]
    assert found(agents=("b", "nobody")) == [1, 3, 5, 7, 9]
    assert found(agents=("nobody",)) == []
    assert found(ranges=(Range("rating:overall", 1, 2),)) == [1, 2, 6]
    assert found(ranges=(Range("rating:overall", 4),)) == [4, 9]
    assert found(ranges=(Range("rating:overall", None, 0), Range("size:turns", 2))) == [0, 5]
    assert found(sort="rating:overall", agents=("b",)) == [9, 3, 1, 5, 7]  # 7 has no rating
    assert found(sort="rating:overall", order="asc", agents=("b",)) == [5, 1, 3, 9, 7]
    with pytest.raises(HTTPException, match="have no column 'rating:nothing'"):
        found(sort="rating:nothing")


def test_the_gap_is_a_difference_of_ranks_within_the_agent(visit):
    given = [("a", 1, 10), ("a", 2, 30), ("a", 3, 20), ("b", 5, 1), ("b", 1, 2), ("c", 3, 3)]
    records = [
        exchange(f"d{number}", agent, ratings=[rating(people), rating(metric, dimension="other")])
        for number, (agent, people, metric) in enumerate(given)
    ]
    table = visit(*records).index.dialogues
    assert table.gap("rating:other", "rating:overall").values.tolist()[:5] == pytest.approx(
        [0, 1 / 3, -1 / 3, -0.5, 0.5]
    )
    assert math.isnan(table.gap("rating:other", "rating:overall").values[5])  # one row of agent c
    backwards = [
        exchange(
            f"d{number}", "a", ratings=[rating(value), rating(value, dimension="bad", direction="lower")]
        )
        for number, value in enumerate((1, 2))
    ]
    table = visit(*backwards).index.dialogues
    assert table.gap("rating:bad", "rating:overall").values.tolist() == [0.5, -0.5]


def test_sorting_by_distance_from_zero_takes_both_ends(visit):
    values = {"d0": -3.0, "d1": 1.0, "d2": 2.0}
    index = visit(*(exchange(name, ratings=[rating(value)]) for name, value in values.items())).index
    assert select(index, Query(sort="rating:overall", order="abs")).tolist() == [0, 2, 1]


def test_a_search_finds_words_in_any_case_phrases_ids_and_tool_calls(visit):
    call = {"type": "function", "function": {"name": "find_hotel", "arguments": '{"area": "North"}'}}
    tools = exchange("t", "a", "book", "ok")
    tools["messages"].insert(1, {"role": "assistant", "content": None, "tool_calls": [call]})
    index = visit(
        exchange("one", "a", "My GARDEN is green", "nice garden"),
        exchange("Straße", "a", "x", "the other one"),
        tools,
    ).index

    def found(text: str, unit="dialogue") -> list[int]:
        return select(index, Query(unit=unit, text=text, every=True)).tolist()

    assert found("garden") == [0]
    assert found("GARDEN Green") == [0]
    assert found("green garden") == [0]
    assert found('"green garden"') == []
    assert found('"garden is"') == [0]
    assert found("STRASSE") == [1]
    assert found("find_hotel north") == [2]
    assert found("one") == [0, 1]
    assert found("   ") == [0, 1, 2]
    assert found("absent") == []
    assert found("garden", "reply") == [0]  # in the reply
    assert found("green", "reply") == []  # only the user said it
    assert found("other", "reply") == [1]


def test_a_text_with_nul_is_searched_without_mixing_up_its_neighbours(visit):
    index = visit(exchange("a", "a", "q", "one\0two"), exchange("b", "a", "q", "three")).index
    assert select(index, Query(text="two", unit="reply", every=True)).tolist() == [0]
    assert select(index, Query(text="three", unit="reply", every=True)).tolist() == [1]


@given(
    st.lists(st.lists(st.text("abAB \0ßé", max_size=6), min_size=1, max_size=4), max_size=6),
    st.text("abß", min_size=1, max_size=3),
)
@settings(max_examples=60)
@pytest.mark.parametrize("held", [0, 1 << 24])
def test_the_searched_text_finds_what_a_plain_search_finds(held, groups, word):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HELD", "BUFFER"):
            patch.setattr(texts, name, held)  # with 0 bytes the text is in a file
        _compare_searches(groups, word)


def _compare_searches(groups, word):
    writer = TextWriter()
    starts, ends = [], []
    for group in groups:
        starts.append(writer.place)
        ends.append(writer.add(group)[-1])
    store = writer.finish()
    found = store.find(word, np.array(starts, np.int64), np.array(ends, np.int64))
    store.close()
    expected = [
        any(word.casefold() in text.replace("\0", " ").casefold() for text in group) for group in groups
    ]
    assert found.tolist() == expected


def test_terms_are_words_and_phrases_each_once():
    assert terms('a "b  c" a \0 "" "d') == ["a", "b  c", "d"]
    assert terms("") == []


def test_alternatives_are_rows_only_if_they_were_scored(tmp_path):
    record = exchange("a", "x")
    record["messages"][1]["alternatives"] = {"y": ["one", "two"], "z": "three"}
    path = write_records(tmp_path / "logs.jsonl", [record, exchange("b", "x")])
    file = LogFile(str(path), "logs", str(path))
    with closing(build([file])) as index:
        assert len(index.replies) == 2
    with closing(build([file], speakers=["y"])) as index:
        assert [index.agents[code] for code in index.replies.rows.agent] == ["x", "y", "y", "x"]
        assert index.replies.rows.sample.tolist() == [-1, 0, 1, -1]
        assert select(index, Query(unit="reply", text="two", every=True)).tolist() == [2]
    with closing(build([file], speakers=["@alternatives"])) as index:
        assert len(index.replies) == 5


def test_files_may_share_ids_and_links_name_the_file(visit, tmp_path):
    one = write_records(tmp_path / "one.jsonl", [exchange("d", "a")])
    two = write_records(tmp_path / "two.jsonl", [exchange("d", "b")])
    shown = visit(one, two)
    assert (shown.index.find("d", file="one"), shown.index.find("d", file="two")) == (0, 1)
    assert shown.index.find("d", file="three") is None
    assert "reply of b" in shown.get("/dialogue", [("id", "d"), ("file", "two")])
    assert "file=two" in shown.get()


def test_a_file_and_its_copy_are_both_shown(visit, tmp_path):
    one = write_records(tmp_path / "one.jsonl", [exchange("d", "a")])
    two = write_records(tmp_path / "two.jsonl", [exchange("d", "a")])
    assert len(visit(one, two).index) == 2
