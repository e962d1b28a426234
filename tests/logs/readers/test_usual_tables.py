"""Tables and flat records whose columns say by their names what they are, in files, in memory and on the hub."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import turnwise
from turnwise.errors import DataError, UsageError
from turnwise.library.data import files
from turnwise.logs.native import read
from turnwise.logs.readers import recognise_records
from turnwise.logs.readers.usual_columns import usual_columns
from turnwise.types import Dialogue

SAID = [
    ("c1", "user", "Is it open?"),
    ("c1", "bot", "Yes, from ten."),
    ("c2", "user", "Hi"),
    ("c2", "bot", "Hello."),
]


def texts(dialogues: list[Dialogue]) -> list[list[tuple[str, str]]]:
    """Role and text of the messages of each dialogue."""
    return [[(turn.role, turn.text) for turn in dialogue.turns] for dialogue in dialogues]


TALK = [
    [("user", "Is it open?"), ("assistant", "Yes, from ten.")],
    [("user", "Hi"), ("assistant", "Hello.")],
]


def of_file(path: Path, text: str, **options: Any) -> tuple[list[Dialogue], tuple[str, ...]]:
    """The dialogues of a file with this text, and the notes on it."""
    path.write_text(text)
    target = path.with_suffix(".out.jsonl")
    done = turnwise.convert(path, target, **options)
    return list(read(str(target))), done.notes


def in_memory(data: Any, **options: Any) -> list[Dialogue]:
    """The dialogues of data in memory, as every function of the library reads them."""
    with files(data, **options) as stored:
        return [dialogue for path in stored.paths for dialogue in read(path)]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("conversation_id,role,text", "id=conversation_id,role=role,content=text"),
        ("session_id,speaker,message,timestamp", "id=session_id,role=speaker,content=message,time=timestamp"),
        ("id,conversation_id,role,content", "id=conversation_id,role=role,content=content"),
        ("prompt,completion,model", "context=prompt,response=completion,agent=model"),
        ("Question,Answer,Ground_Truth", "context=Question,response=Answer,reference=Ground_Truth"),
        ("context,response,question", "context=context,response=response"),
        ("question,context,answer", ""),
        ("question,answer,prediction", ""),
        ("id,text,label", ""),
        ("q,a", ""),
    ],
)
def test_columns_with_usual_names_say_what_they_are_unless_two_may_be_meant(
    header: str, expected: str
) -> None:
    columns = usual_columns(header.split(","))
    assert ",".join(f"{meaning}={one}" for meaning, (one,) in columns.items()) == expected


def test_a_csv_file_of_messages_needs_no_map(tmp_path: Path) -> None:
    rows = "\n".join(",".join(f'"{cell}"' for cell in row) for row in SAID)
    dialogues, notes = of_file(tmp_path / "log.csv", f"conversation_id,role,text\n{rows}\n")
    assert texts(dialogues) == TALK
    assert notes == ("columns are read by their names: id=conversation_id,content=text",)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json"])
def test_prompts_and_completions_need_no_map(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"prompt": "Is it open?", "completion": "Yes, from ten.", "model": "m1"},
        {"prompt": "Hi", "completion": "Hello.", "model": "m2"},
    ]
    cells = [tuple(row.values()) for row in rows]
    lines = [f'"{prompt}","{reply}",{model}' for prompt, reply, model in cells]
    text = {
        ".csv": "\n".join(["prompt,completion,model", *lines, ""]),
        ".jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        ".json": json.dumps(rows),
    }  # fmt: skip
    dialogues, _ = of_file(tmp_path / f"log{suffix}", text[suffix])
    assert texts(dialogues) == TALK
    assert [dialogue.agent for dialogue in dialogues] == ["m1", "m2"]


def test_the_rows_of_a_session_are_the_exchanges_of_one_dialogue(tmp_path: Path) -> None:
    header = "session_id,user_message,bot_response,rating"
    table = f"{header}\ns,Is it open?,Yes.,\ns,On Sunday too?,No.,2\nt,Hi,Hello.,5\n"
    first, second = of_file(tmp_path / "log.csv", table)[0]
    assert [turn.text for turn in first.turns] == ["Is it open?", "Yes.", "On Sunday too?", "No."]
    assert [(rating.turn, rating.value) for rating in first.ratings] == [(3, 2.0)]
    assert [(rating.turn, rating.value) for rating in second.ratings] == [(1, 5.0)]


def test_a_conversation_whose_contexts_repeat_it_is_told_once(tmp_path: Path) -> None:
    rows = [
        {"conversation_id": "c", "context": ["Open?"], "response": "Yes."},
        {"conversation_id": "c", "context": ["Open?", "Yes.", "Sunday?"], "response": "No."},
    ]
    (dialogue,), _ = of_file(tmp_path / "log.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert [turn.text for turn in dialogue.turns] == ["Open?", "Yes.", "Sunday?", "No."]


def test_replies_of_several_agents_to_the_same_question_are_dialogues_of_their_own(tmp_path: Path) -> None:
    table = "question_id,question,answer,model\n1,Open?,Yes.,m1\n1,Open?,Closed.,m2\n2,Hi,Hello.,m1\n"
    dialogues, _ = of_file(tmp_path / "log.csv", table)
    assert [(one.id, one.agent, one.turns[1].text) for one in dialogues] == [
        ("1", "m1", "Yes."), ("1-m2", "m2", "Closed."), ("2", "m1", "Hello."),
    ]  # fmt: skip


def test_a_turn_that_is_an_exchange_has_its_question_first(tmp_path: Path) -> None:
    rows = ("c,1,user,Open?", "c,1,assistant,Yes.", "c,2,user,Thanks", "c,2,assistant,Bye")
    table = "\n".join(["conversation_id,turn,role,content", *rows, ""])
    (dialogue,), _ = of_file(tmp_path / "log.csv", table)
    assert [turn.text for turn in dialogue.turns] == ["Open?", "Yes.", "Thanks", "Bye"]


def test_a_context_may_be_messages_with_roles(tmp_path: Path) -> None:
    prompt = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Open?"}]
    (dialogue,), notes = of_file(
        tmp_path / "log.jsonl", json.dumps({"prompt": prompt, "completion": "Yes."}) + "\n"
    )
    assert texts([dialogue]) == [[("system", "Be brief."), ("user", "Open?"), ("assistant", "Yes.")]]
    assert not any("alternate" in note for note in notes)


@pytest.mark.parametrize("written", [json.dumps, repr])
def test_dialogues_in_a_cell_of_a_csv_file_are_read_as_json_or_as_python_prints_them(
    tmp_path: Path, written: Any
) -> None:
    said = [{"role": "user", "content": "It's open?"}, {"role": "assistant", "content": "Yes."}]
    cell = written(said).replace('"', '""')
    (dialogue,), _ = of_file(tmp_path / "log.csv", f'id,model,messages\n7,m1,"{cell}"\n')
    assert (dialogue.id, dialogue.agent) == ("7", "m1")
    assert texts([dialogue]) == [[("user", "It's open?"), ("assistant", "Yes.")]]


def test_a_cell_that_is_no_list_of_messages_is_an_error_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"log\.csv:2: \$\.messages is \"nothing\", no list of messages"):
        of_file(tmp_path / "log.csv", "id,messages\n7,nothing\n")


@pytest.mark.parametrize("kind", ["pandas", "polars", "records", "sql"])
def test_tidy_tables_in_memory_need_no_map(kind: str) -> None:
    names = ("conversation_id", "role", "text")
    data: Any = [dict(zip(names, row, strict=True)) for row in SAID]
    if kind == "sql":
        polars = pytest.importorskip("polars")
        store = sqlite3.connect(":memory:")
        store.execute("create table log (conversation_id, role, text)")
        store.executemany("insert into log values (?, ?, ?)", SAID)
        data = polars.read_database("select * from log", store)
    elif kind != "records":
        data = pytest.importorskip(kind).DataFrame(data)
    assert texts(in_memory(data)) == TALK


def test_a_map_is_used_for_tables_in_memory() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"x": ["Is it open?", "Hi"], "y": ["Yes, from ten.", "Hello."], "ok": ["up", "down"]}
    )
    frame["at"] = pandas.Timestamp("2026-01-02")
    mapping = {"map": {"context": "x", "response": "y", "rating:good[1-5]": "ok:up=5,down=1"}, "agent": "m1"}
    dialogues = in_memory(frame, mapping=mapping)
    assert texts(dialogues) == TALK
    assert [(one.agent, one.ratings[0].value) for one in dialogues] == [("m1", 5.0), ("m1", 1.0)]
    assert dialogues[0].meta == {"at": "2026-01-02T00:00:00"}


def test_a_map_of_messages_is_used_for_records_in_memory() -> None:
    records = [{"traj": [{"who": "user", "say": "Hi"}, {"who": "bot", "say": "Hello."}], "n": 7}]
    mapping = {"map": "messages=traj,role=who,content=say,id=n"}
    (dialogue,) = in_memory(records, mapping=mapping)
    assert dialogue.id == "7"
    assert texts([dialogue]) == TALK[1:]


def test_records_of_another_tool_in_memory_are_recognised() -> None:
    records = [{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello."}]}]
    assert recognise_records(records) == "sharegpt"
    assert texts(in_memory(records)) == TALK[1:]


def test_a_table_that_does_not_say_what_it_is_names_the_map_that_it_needs() -> None:
    with pytest.raises(
        UsageError, match=r"its columns are `q`, `a`. Say what they are: mapping=\{'map': 'context=q"
    ):
        in_memory([{"q": "Hi", "a": "Hello."}])


CALL = """
import sys, turnwise
print(turnwise.score(sys.argv[1], reader="hf", metrics=["length"]).records()[0]["n_items"])
"""


def test_a_dataset_of_the_hub_is_read_by_its_id_from_the_cache_of_the_hub_library(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    stored = tmp_path / "hub" / "datasets--ann--chats"
    (stored / "snapshots" / "abc" / "data").mkdir(parents=True)
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text("abc")
    for split, count in (("train", 3), ("test", 2)):
        rows = "".join(f'{{"prompt": "Hi {n}", "completion": "Hello."}}\n' for n in range(count))
        (stored / "snapshots" / "abc" / "data" / f"{split}.jsonl").write_text(rows)
    offline = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}

    def asked(address: str) -> subprocess.CompletedProcess[str]:
        """What `score` says of a dataset, in a process whose hub library knows this cache alone."""
        return subprocess.run(
            [sys.executable, "-c", CALL, address], env=offline, capture_output=True, text=True, check=False
        )

    assert asked("hf://datasets/ann/chats").stdout == "5\n"
    assert asked("hf://ann/chats@main/data/test.jsonl").stdout == "2\n"
    assert "hf://ann/other: cannot be downloaded" in asked("hf://ann/other").stderr
    assert "expected hf://datasets/USER/NAME" in asked("hf://ann").stderr
