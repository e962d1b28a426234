"""Tables: CSV, Parquet and folders of datasets, in both layouts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

from turnwise.errors import DataError, TurnwiseError, UsageError
from turnwise.logs import READERS, native
from turnwise.logs.conversion import convert
from turnwise.logs.readers.columns import parse
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
                Turn("assistant", "a1"),
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
