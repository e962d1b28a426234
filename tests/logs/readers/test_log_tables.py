"""Tables: CSV, Parquet and folders of datasets, in both layouts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

from turnwise.errors import DataError, TurnwiseError, UsageError
from turnwise.logs import native
from turnwise.logs.conversion import convert
from turnwise.logs.items.items import Selection, items
from turnwise.logs.readers import READERS, source
from turnwise.logs.readers.columns import moment, parse
from turnwise.logs.readers.drafts import Draft, Drafts
from turnwise.logs.readers.hf import _of_split
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue, Preference, Rating, Reply, Turn


def read(name: str, path: Path, mapped: str = "", split: str | None = None) -> list[Dialogue]:
    options = Options(columns=parse(mapped), split=split)
    dialogues = list(READERS[name].read(str(path), options))
    out = path.parent / "converted.jsonl"
    convert(name, str(path), str(out), options)
    assert list(native.read(str(out))) == dialogues
    out.unlink()
    return dialogues


def csv(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


MESSAGES = (
    "conv,who,said,idx,model,score,happy,gold,lang",
    "x,Human,hi,0,,,4,,en",
    'x,bot,"yo, ""you""\nthere",10,m1,3,4,hello,en',
    "y,bot,first,2,m2,,,,fr",
    "y,human,second,3,,,,,fr",
    "x,human,bye,9,,,,,en",
)
MAP = (
    "id=conv,role=who,content=said,turn=idx,agent=model,"
    "rating:overall=score,dialogue-rating:happy=happy,reference=gold"
)


def test_rows_of_messages_are_grouped_and_ordered(tmp_path: Path) -> None:
    assert read("csv", csv(tmp_path / "a.csv", *MESSAGES), MAP) == [
        Dialogue(
            "x",
            "m1",
            (
                Turn("user", "hi", extra={"lang": "en"}),
                Turn("user", "bye", extra={"lang": "en"}),
                Turn("assistant", 'yo, "you"\nthere', references=("hello",), extra={"lang": "en"}),
            ),
            (Rating("x", "happy", 4.0), Rating("x#2", "overall", 3.0, turn=2)),
        ),
        Dialogue(
            "y",
            "m2",
            (Turn("assistant", "first", extra={"lang": "fr"}), Turn("user", "second", extra={"lang": "fr"})),
        ),
    ]


def test_rows_of_items_split_their_context(tmp_path: Path) -> None:
    path = csv(
        tmp_path / "a.tsv",
        "ctx\tresponse\tagent\trating:fluent\tcorpus\talternative:b",
        "u1||a1||u2\ta2\tm\t.5\tz\tno",
    )
    assert read("csv", path, "context=ctx", "||") == [
        Dialogue(
            "2",
            "m",
            (
                Turn("user", "u1"),
                Turn("assistant", "a1", extra={"judged": False}),
                Turn("user", "u2"),
                Turn("assistant", "a2", alternatives={"b": (Reply("no"),)}),
            ),
            (Rating("2#3", "fluent", 0.5, turn=3),),
            meta={"corpus": "z"},
        )
    ]
    assert (
        len(read("csv", path, "context=ctx")[0].turns) == 2
    )  # without a separator the context is one message


def test_rows_that_repeat_an_item_add_their_ratings(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "id,context,response,rater,rating:o", "1,u,a,r1,3", "1,u,a,r2,4")
    (dialogue,) = read("csv", path)
    assert [(rating.rater, rating.value, rating.turn) for rating in dialogue.ratings] == [
        ("r1", 3, 1),
        ("r2", 4, 1),
    ]
    path = csv(tmp_path / "a.csv", "id,context,response", "1,u,a", "1,u,b")
    with pytest.raises(
        DataError, match=r':3: is "b"; expected "a", which an earlier row has at the same place'
    ):
        read("csv", path)


def test_rows_without_an_id_are_items_of_their_own(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "context,response,rater,rating:o", "u,a,r1,3", "u,a,r2,4")
    assert [(d.id, len(d.ratings)) for d in read("csv", path)] == [("2", 1), ("3", 1)]


def test_rows_that_repeat_a_message_add_their_ratings(tmp_path: Path) -> None:
    rows = ("1,bot,a,0,r1,3", "1,bot,a,0,r2,4", "1,bot,a,1,r1,5")
    path = csv(tmp_path / "a.csv", "id,role,content,turn,rater,rating:o", *rows)
    (dialogue,) = read("csv", path)
    assert len(dialogue.turns) == 2
    assert [(r.rater, r.value, r.turn) for r in dialogue.ratings] == [
        ("r1", 3, 0),
        ("r2", 4, 0),
        ("r1", 5, 1),
    ]


def test_a_rating_may_have_its_scale_in_brackets(tmp_path: Path) -> None:
    lines = ("id,role,content,score,happy,dialogue-rating:kind[0-10]", "1,bot,a,4,-1,7")
    path = csv(tmp_path / "a.csv", *lines)
    (dialogue,) = read("csv", path, "rating:overall[1-5]=score,dialogue-rating:happy[-1.5--0.5]=happy")
    assert dialogue.ratings == (
        Rating("1#0", "overall", 4.0, turn=0, scale=(1.0, 5.0)),
        Rating("1", "kind", 7.0, scale=(0.0, 10.0)),
        Rating("1", "happy", -1.0, scale=(-1.5, -0.5)),
    )
    (unbracketed,) = read("csv", path, "rating:overall[best]=score")
    assert unbracketed.ratings[0].dimension == "overall[best]"


def test_a_rating_off_its_scale_is_an_error_at_its_cell(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "id,role,content,score", "1,bot,a,5", "1,bot,b,6")
    with pytest.raises(DataError, match=r':3: \$\.score is "6"; expected a number on the scale 1 to 5'):
        read("csv", path, "rating:overall[1-5]=score")


def test_a_mapped_scale_stands_before_the_columns_own_name(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "response,rating:o,score", "a,9,2")
    (dialogue,) = read("csv", path, "rating:o[1-5]=score")
    assert [(r.value, r.scale) for r in dialogue.ratings] == [(2.0, (1.0, 5.0))]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["id,role,content", "1,user"], ":2: has 2 cells; expected 3"),
        (["id,role,content", ",user,x"], ":2: is .*; expected an id and a role in every row"),
        (["id,role,content,rating:o", "1,user,x,high"], r':2: \$\["rating:o"\] is "high"; expected a number'),
        (["id,role,content,rating:o", "1,user,x,nan"], "expected a finite number"),
        (["id,role,content,turn", "1,user,x,first"], r':2: \$\.turn is "first"; expected a number'),
        (["id,role,content,agent", "1,bot,x,m", "1,bot,y,n"], ':3: is "n"; expected "m", the agent of'),
        (["id,id,content", "1,2,x"], "names a column twice"),
        (["a,b", "1,2"], "has the columns a, b; expected `response`; or `id`"),
        (["id,role,content", '1,user,"x'], "is not CSV: unexpected end of data"),
        (["response"], "has no dialogue in it"),
    ],
)
def test_problems_of_tables_have_a_place(tmp_path: Path, lines: list[str], message: str) -> None:
    path = csv(tmp_path / "a.csv", *lines)
    with pytest.raises(DataError, match=message):
        convert("csv", str(path), str(tmp_path / "out.jsonl"))
    assert list(tmp_path.iterdir()) == [path]


def test_a_spreadsheets_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfid,role,content\r\n1,user,hi\r\n")
    assert read("csv", path)[0].id == "1"


@pytest.mark.parametrize(
    ("mapped", "message"),
    [
        ("id", "expected MEANING=COLUMN"),
        ("identity=x", "where MEANING is one of id, role"),
        ("rating=x", "expected MEANING=COLUMN"),
        ("id=a,id=b", "`id` already is the column `a`"),
        ("rating:o=a,rating:o[1-5]=b", "`rating:o` already is the column `a`"),
        ("rating:o[5-1]=a", r"`o\[5-1\]`: expected a scale \[LOW-HIGH\] whose ends are in order"),
    ],
)
def test_a_map_that_means_nothing_is_a_usage_error(mapped: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(mapped)


def test_a_mapped_column_must_exist(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "id,role,content", "1,user,x")
    with pytest.raises(
        UsageError, match="--map agent=modell: there is no such column; there are id, role, content"
    ):
        read("csv", path, "agent=modell")


def test_parquet_tables_are_read_as_csv_is(tmp_path: Path) -> None:
    rows = {
        "conv": [1, 1],
        "who": ["user", "assistant"],
        "said": ["hi", "yo"],
        "score": [None, 4.5],
        "day": [None, "2020-01-01"],
    }
    path = tmp_path / "a.parquet"
    polars.DataFrame(rows).with_columns(polars.col("day").str.to_date()).write_parquet(path)
    assert read("parquet", path, "id=conv,role=who,content=said,rating:overall=score") == [
        Dialogue(
            "1",
            "unknown",
            (Turn("user", "hi"), Turn("assistant", "yo", extra={"day": "2020-01-01"})),
            (Rating("1#1", "overall", 4.5, turn=1),),
        )
    ]


def test_parquet_contexts_may_be_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    polars.DataFrame({"context": [["a", "b"]], "response": ["c"]}).write_parquet(path)
    assert [turn.role for turn in read("parquet", path)[0].turns] == ["assistant", "user", "assistant"]


ASKED = {"role": "user", "content": "hi", "tool_calls": None}
CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
CHATS: list[dict[str, Any]] = [{"messages": [ASKED, CALLED]}, {"messages": [ASKED]}]


def stored(folder: Path, rows: list[dict[str, Any]], parts: int = 1) -> None:
    """What `save_to_disk` writes: Arrow streams and a list of them."""
    folder.mkdir(parents=True)
    names = [f"data-{i:05}-of-{parts:05}.arrow" for i in range(parts)]
    for i, name in enumerate(names):
        frame = polars.DataFrame(rows, infer_schema_length=None)
        frame[i * len(rows) // parts : (i + 1) * len(rows) // parts].write_ipc_stream(folder / name)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))


def test_a_dataset_on_disk_is_its_chats(tmp_path: Path) -> None:
    stored(tmp_path / "set", CHATS, parts=2)
    dialogues = read("hf", tmp_path / "set")
    assert [dialogue.id for dialogue in dialogues] == ["1", "2"]
    assert dialogues[0].turns == (
        Turn("user", "hi"),
        Turn("assistant", None, extra={"tool_calls": [{"id": "c"}]}),
    )


def test_splits_are_kept_and_keep_ids_apart(tmp_path: Path) -> None:
    rows = [{"id": "1", "context": "u", "response": "a", "rating:o": 1.0}]
    for split in ("train", "test"):
        stored(tmp_path / "set" / split, rows)
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    dialogues = read("hf", tmp_path / "set")
    assert [(d.id, d.meta, d.ratings[0].item) for d in dialogues] == [
        ("train-1", {"split": "train"}, "train-1#1"),
        ("test-1", {"split": "test"}, "test-1#1"),
    ]


def test_a_folder_of_parquet_files_has_its_splits_in_their_names(tmp_path: Path) -> None:
    (tmp_path / "set" / "data").mkdir(parents=True)
    said = [{"from": "human", "value": "hi"}]
    for i in range(2):
        frame = polars.DataFrame([{"conversations": said}])
        frame.write_parquet(tmp_path / "set" / "data" / f"train-{i:05}-of-00002.parquet")
    assert [dialogue.id for dialogue in read("hf", tmp_path / "set")] == ["train-1", "train-2"]


def test_preferences_of_a_dataset_with_splits_name_the_other_dialogue_by_its_new_id() -> None:
    vote = Preference(other="2", winner="other")
    made = _of_split(Dialogue("1", "a", (Turn("assistant", "hello"),), preferences=(vote,)), "train")
    assert (made.id, made.preferences[0].other) == ("train-1", "train-2")


@pytest.mark.parametrize("name", ["parquet", "hf"])
def test_what_is_no_dataset_is_an_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(DataError):
        list(READERS[name].read(str(path), Options()))
    with pytest.raises(DataError):
        list(READERS[name].read(str(tmp_path), Options()))


def test_without_polars_the_error_names_the_extra(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['polars'] = None\n"
        "from turnwise.errors import MissingExtra\n"
        "from turnwise.logs.readers import parquet\n"
        "try: list(parquet.read('x.parquet'))\n"
        "except MissingExtra as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "turnwise[tables]" in shown


def test_speakers_of_a_table_whose_role_is_not_known_are_asked_for(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "id,role,content", "1,alien,x", "1,Support,y", "1,alien,z")
    with pytest.raises(
        UsageError, match=r"`alien` \(2\), `Support` \(1\).*--roles 'alien=assistant,\*=user'"
    ):
        convert("csv", str(path), str(tmp_path / "out.jsonl"))
    (dialogue,) = READERS["csv"].read(str(path), Options(roles={"Support": "assistant", "*": "user"}))
    assert dialogue.agent == "Support"
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant", "user"]


def test_messages_that_reply_to_each_other_are_one_dialogue_in_the_order_of_time(tmp_path: Path) -> None:
    path = csv(
        tmp_path / "tweets.csv",
        "tweet,who,text,answers,at",
        "3,ann,thanks,2,2024-01-01T10:02:00",
        "2,Shop,hello,1,2024-01-01T10:01:00",
        "1,ann,hi,,2024-01-01T10:00:00",
        "9,bob,alone,,2024-01-01T09:00:00",
    )
    columns = parse("message=tweet,reply_to=answers,role=who,content=text,time=at")
    first, second = READERS["csv"].read(str(path), Options(columns, roles={"Shop": "assistant", "*": "user"}))
    assert (first.id, [turn.text for turn in first.turns]) == ("1", ["hi", "hello", "thanks"])
    assert (second.id, first.agent, second.agent) == ("9", "Shop", "unknown")


def test_a_wide_table_has_a_column_a_turn(tmp_path: Path) -> None:
    path = csv(tmp_path / "wide.csv", "case;q1;a1;q2;a2;grade", "x;hi;yo;and?;well;4", "y;hi;no;;;2")
    columns = parse(
        "id=case,say:user=q1,say:assistant=a1,say:user=q2,say:assistant=a2,dialogue-rating:grade[1-5]=grade"
    )
    first, second = READERS["csv"].read(str(path), Options(columns))
    assert [(turn.role, turn.text) for turn in first.turns] == [
        ("user", "hi"), ("assistant", "yo"), ("user", "and?"), ("assistant", "well"),
    ]  # fmt: skip
    assert len(second.turns) == 2
    assert [rating.value for rating in (*first.ratings, *second.ratings)] == [4, 2]


def test_other_delimiters_and_encodings_are_found(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes("id;role;content\r\n1;user;caf\xe9\r\n".encode("cp1252"))
    options = Options()
    (dialogue,) = READERS["csv"].read(str(path), options)
    assert dialogue.turns[0].text == "caf\xe9"
    assert options.notes == ["the file is not UTF-8, and is read as Windows-1252"]
    path.write_bytes("id\trole\tcontent\n1\tuser\tcaf\xe9\n".encode("utf-16"))
    assert next(iter(READERS["csv"].read(str(path), Options()))).turns[0].text == "caf\xe9"


NESTED = {
    "runs": [
        {
            "case": 7,
            "log": [{"who": "ann", "say": "hi"}, {"who": "Bot", "say": "yo"}],
            "info": {"model": "m"},
            "ok": True,
        }
    ]
}


def test_any_json_is_read_by_a_map_of_paths(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(NESTED, indent=1))
    columns = parse("messages=log,role=who,content=say,id=case,agent=info.model,rating:ok[0-1]=ok")
    options = Options(columns, roles={"Bot": "assistant", "*": "user"}, each="runs[*]")
    (dialogue,) = READERS["json"].read(str(path), options)
    assert (dialogue.id, dialogue.agent) == ("7", "m")
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [("user", "hi"), ("assistant", "yo")]
    assert dialogue.ratings == (Rating("7", "ok", 1.0, scale=(0.0, 1.0)),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(), "the format `json` needs --map"),
        (Options(parse("messages=log,role=who,content=say"), each="runs[*]"), "roles of these speakers"),
        (Options(parse("messages=log,role=who,content=say"), each="nowhere[*]"), "has nothing at --each"),
        (Options(parse("messages=log"), each="runs[x]"), "is no path"),
        (Options(parse("messages=no,role=who,content=say"), each="runs[*]"), r"no .* expected a list of messages"),
    ],
)  # fmt: skip
def test_a_map_that_does_not_fit_says_what_is_wrong(tmp_path: Path, options: Options, message: str) -> None:
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(NESTED))
    with pytest.raises(TurnwiseError, match=message):
        list(READERS["json"].read(str(path), options))


TWEETS = "message=tweet,reply_to=answers,role=who,content=text,time=at"
SHOP = {"Shop": "assistant", "*": "user"}


def tweets(folder: Path, *rows: str) -> Path:
    return csv(folder / "tweets.csv", "tweet,who,text,answers,at", *rows)


def threads(path: Path, options: Options | None = None) -> list[Dialogue]:
    return list(READERS["csv"].read(str(path), options or Options(parse(TWEETS), roles=SHOP)))


def test_a_message_of_a_table_keeps_its_speaker_its_id_its_time_and_what_it_replies_to(
    tmp_path: Path,
) -> None:
    path = tweets(tmp_path, "1,ann,hi,,2024-01-01T10:00:00", "2,Shop,hello,1,2024-01-01T10:01:00")
    (dialogue,) = threads(path)
    assert [turn.extra for turn in dialogue.turns] == [
        {"tweet": "1", "at": "2024-01-01T10:00:00", "name": "ann"},
        {"tweet": "2", "answers": "1", "at": "2024-01-01T10:01:00", "name": "Shop"},
    ]


def test_the_branches_of_a_thread_are_one_dialogue_and_a_note_counts_them(tmp_path: Path) -> None:
    at = "2024-01-01T10:00:0"
    path = tweets(
        tmp_path, f"1,ann,hi,,{at}0", f"2,Shop,hello,1,{at}1", f"3,bob,me too,1,{at}2", f"9,Shop,late,8,{at}3"
    )
    options = Options(parse(TWEETS), roles=SHOP)
    first, second = threads(path, options)
    assert [(turn.extra["name"], turn.text) for turn in first.turns] == [
        ("ann", "hi"),
        ("Shop", "hello"),
        ("bob", "me too"),
    ]
    assert second.id == "8"
    assert options.notes == [
        "1 message to which others reply are not in the table",
        "1 message with several replies: branches of a thread are read as one dialogue, in order",
    ]


def test_without_times_a_message_follows_the_one_that_it_replies_to(tmp_path: Path) -> None:
    path = tweets(tmp_path, "3,ann,thanks,2,", "2,Shop,hello,1,2024-01-01T10:01:00", "1,ann,hi,,")
    (dialogue,) = threads(path)
    assert [turn.text for turn in dialogue.turns] == ["hi", "hello", "thanks"]


@pytest.mark.parametrize(
    "at",
    [
        "Tue Oct 31 22:10:47 +0000 2017",
        "Tue, 31 Oct 2017 22:10:47 +0000",
        "2017-10-31T22:10:47Z",
        "2017-10-31 22:10:47",  # without a zone: UTC
        "2017-10-31T23:10:47+01:00",
        "1509487847",
    ],
)
def test_times_are_read_in_the_usual_forms(at: str) -> None:
    assert moment(at) == 1509487847.0


def test_a_time_in_another_form_is_an_error_that_names_the_forms(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "id,role,content,time", "1,user,x,yesterday")
    with pytest.raises(
        DataError, match=r':2: \$\.time is "yesterday"; expected a time: ISO 8601, RFC 2822, or seconds'
    ):
        read("csv", path)


def test_messages_of_the_same_time_stay_in_the_order_of_the_rows(tmp_path: Path) -> None:
    path = csv(
        tmp_path / "a.csv", "id,role,content,time", "1,user,a,5", "1,bot,b,5", "1,user,c,4", "1,bot,b,5"
    )
    (dialogue,) = read("csv", path)
    assert [turn.text for turn in dialogue.turns] == ["c", "a", "b"]


def test_cells_in_which_a_repeated_row_differs_are_beside_its_ratings(tmp_path: Path) -> None:
    path = csv(
        tmp_path / "a.csv",
        "id,context,response,rater,rating:o,age,reference",
        "1,u,a,r1,3,20,g1",
        "1,u,a,r2,4,30,g2",
        "1,u,a,r3,,40,g1",
    )
    options = Options()
    (dialogue,) = READERS["csv"].read(str(path), options)
    assert dialogue.meta == {"age": "20"}
    assert [dict(one.extra) for one in dialogue.ratings] == [{}, {"age": "30"}]
    assert dialogue.turns[1].references == ("g1", "g2")
    assert options.dropped == {
        "raters of rows without a rating": 1,
        "cells in which a row differs from the one that it repeats": 1,
    }


def test_an_agent_that_only_rows_of_users_name_is_the_agent(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "id,role,content,agent", "1,user,hi,m1", "1,bot,yo,")
    assert read("csv", path)[0].agent == "m1"
    path = csv(tmp_path / "a.csv", "id,role,content,agent", "1,user,hi,ann", "1,bot,yo,m1")
    (dialogue,) = read("csv", path)
    assert (dialogue.agent, dialogue.turns[0].extra) == ("m1", {"agent": "ann"})


def test_context_whose_speakers_are_not_known_is_not_judged(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "context,response", "Hi! || Hello. || Is it open?,Yes.")
    options = Options(split="||")
    done = convert("csv", str(path), str(tmp_path / "out.jsonl"), options)
    assert (dict(done.account.messages), done.account.judged) == ({"user": 2, "assistant": 2}, 1)
    assert [note for note in done.notes if "roles alternate backwards" in note]
    judged = items(native.read(str(tmp_path / "out.jsonl")), Selection())
    assert [item.turns[-1].text for item in judged] == ["Yes."]


def many_rows(folder: Path, ids: list[int], turn: bool = True) -> Path:
    rows = [
        f"{one},{'bot' if place % 2 else 'user'},w{place},{place if turn else ''}"
        for place, one in enumerate(ids)
    ]
    return csv(folder / "many.csv", "id,role,content,turn", *rows)


@pytest.mark.parametrize("ids", [[1, 1, 2, 2, 3], [1, 2, 1, 2]])
def test_a_large_table_gives_the_same_dialogues(
    tmp_path: Path, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = many_rows(tmp_path, ids)
    expected = read("csv", path)
    monkeypatch.setattr(source, "LARGE", 1)
    assert read("csv", path) == expected
    assert len(expected) == len(set(ids))


def test_of_a_large_table_that_is_sorted_by_id_only_one_dialogue_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LARGE", 1)
    held: list[int] = []
    take = Drafts.take

    def counted_take(drafts: Drafts, identity: str) -> Draft:
        held.append(len(drafts.known))
        return take(drafts, identity)

    monkeypatch.setattr(Drafts, "take", counted_take)
    path = many_rows(tmp_path, [one for one in range(50) for _ in range(4)])
    assert len(list(READERS["csv"].read(str(path), Options()))) == 50
    assert (len(held), max(held)) == (49, 2)  # the complete one and the one that begins


def test_speakers_of_a_large_table_are_asked_for_before_any_dialogue_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LARGE", 1)
    path = csv(
        tmp_path / "a.csv", "id,role,content", "1,user,a", "2,user,b", "3,alien,c", "4,Support,d", "5,alien,e"
    )
    found = READERS["csv"].read(str(path), Options())
    assert next(found).id == "1"
    with pytest.raises(UsageError, match=r"`alien` \(2\), `Support` \(1\)"):
        next(found)


DEEP = {
    "d": {"msgs": [{"who": {"name": "Bot"}, "body": {"parts": ["Hi", "there"]}},
                   {"who": {"name": "Al"}, "body": {"parts": ["yo"]}, "at": 5}]},
    "scores": [{"v": 3, "by": "r1"}, {"v": 4, "by": "r2"}], "lang": "en",
}  # fmt: skip
STARS = "messages=d.msgs[*],role=who.name,content=body.parts[*],rating:q[1-5]=scores[*].v"
BOT = {"Bot": "assistant", "*": "user"}


def deep(
    folder: Path, columns: str, *records: Any, each: str | None = None
) -> tuple[list[Dialogue], Options]:
    path = folder / "deep.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    options = Options(parse(columns), roles=BOT, each=each)
    return list(READERS["json"].read(str(path), options)), options


def test_a_wildcard_takes_all_values(tmp_path: Path) -> None:
    (dialogue,), options = deep(tmp_path, f"{STARS},rater=scores[*].by", DEEP)
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [("assistant", "Hi\nthere"), ("user", "yo")]
    assert [part["text"] for part in dialogue.turns[0].parts] == ["Hi", "there"]
    assert [dict(turn.extra) for turn in dialogue.turns] == [{"name": "Bot"}, {"at": 5, "name": "Al"}]
    assert [(one.dimension, one.value, one.rater) for one in dialogue.ratings] == [
        ("q", 3, "r1"),
        ("q", 4, "r2"),
    ]
    assert (dialogue.meta, options.dropped) == ({"lang": "en"}, {})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (f"{STARS},id=scores[*].v", r"scores\[\*\].v.* has 2 values; expected one"),
        (f"{STARS},agent=d.msgs[*].who.name", "has 2 values; expected one"),
        (f"{STARS},rater=d.msgs[*].who.name", None),
        (f"{STARS},rater=d.msgs[*].body.parts[*]", "has 2 values, and there are 3 raters"),
    ],
)
def test_several_values_where_one_is_expected_are_an_error(
    tmp_path: Path, columns: str, message: str | None
) -> None:
    if message is None:
        (dialogue,), _ = deep(tmp_path, columns, DEEP)
        assert [one.rater for one in dialogue.ratings] == ["Bot", "Al"]
        return
    with pytest.raises(DataError, match=message):
        deep(tmp_path, columns, DEEP)


def test_a_wildcard_in_rows_gives_references_and_ratings(tmp_path: Path) -> None:
    row = {"q": "hi", "a": "yo", "refs": [{"t": "hey"}, {"t": "hello"}], "marks": [1, 2]}
    columns = "context=q,response=a,reference=refs[*].t,rating:o=marks[*]"
    (dialogue,), _ = deep(tmp_path, columns, row)
    assert dialogue.turns[1].references == ("hey", "hello")
    assert [one.value for one in dialogue.ratings] == [1, 2]
    with pytest.raises(DataError, match="has 2 values; expected one"):
        deep(tmp_path, "response=refs[*].t", row)


def test_keys_of_a_message_that_the_map_does_not_name_are_kept(tmp_path: Path) -> None:
    said = [{"role": "x", "content": "html", "who": "Bot", "text": "hi", "name": "B."}]
    (dialogue,), _ = deep(
        tmp_path, "messages=log,role=who,content=text,id=case", {"case": 7, "id": 9, "log": said}
    )
    assert dialogue.turns[0].extra == {
        "source_role": "x",
        "source_content": "html",
        "name": "B.",
        "speaker": "Bot",
    }
    assert (dialogue.id, dialogue.meta) == ("7", {"id": 9})


def test_what_is_outside_the_records_is_counted_at_every_level(tmp_path: Path) -> None:
    log = [{"role": "Bot", "content": "hi"}]
    whole = {"v": 1, "runs": [{"seed": 3, "results": [{"log": log}]}, {"seed": 4, "results": [{"log": log}]}]}
    found, options = deep(tmp_path, "messages=log", whole, each="runs[*].results[*]")
    assert len(found) == 2
    assert options.dropped == {"values outside the records that --each names": 3}


def test_the_numbers_of_records_without_an_id_start_at_1_in_lines_and_in_lists(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "hi"}]}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(chat)}\n" * 2)
    (tmp_path / "a.json").write_text(json.dumps([chat, chat]))
    for name in ("openai", "messages"):
        for file in ("a.jsonl", "a.json"):
            assert [one.id for one in READERS[name].read(str(tmp_path / file), Options())] == ["1", "2"]
