"""Forms of tables, datasets and corpora, built from a list of turns; `tests/log_sources.py` has the others."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars
from polars.exceptions import PolarsError

from tests.log_sources import (
    EVERY,
    NAMES,
    WHO,
    Said,
    Source,
    as_csv,
    as_json,
    as_lines,
    both,
    messages,
    other,
)

SEPARATOR = "<next>"
WORDS = {"user": "human", "assistant": "gpt", "system": "system", "tool": "tool"}  # of ShareGPT


def as_parquet(value: Any, folder: Path) -> Path:
    """A table with a row for each record; without rows where the records cannot be one table."""
    path = folder / "in.parquet"
    try:
        _frame(value).write_parquet(path)
    except PolarsError:  # an object without keys
        polars.DataFrame().write_parquet(path)
    return path


def as_dataset(value: Any, folder: Path) -> Path:
    """A folder as `save_to_disk` writes it."""
    path = folder / "in"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    _frame(value).write_ipc_stream(path / "data.arrow")
    (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return path


def _frame(value: Any) -> polars.DataFrame:
    rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    try:
        return polars.DataFrame(rows, infer_schema_length=None)
    except (PolarsError, TypeError, ValueError):  # a column has one type
        return polars.DataFrame()


def as_indented(value: Any, folder: Path) -> Path:
    path = folder / "in.json"
    path.write_text(json.dumps(value, indent=1))
    return path


def table_of_messages(said: Said) -> Any:
    """A message a row, with a rating and a reference of the agent's."""
    return [
        {
            "conv": "7",
            "who": role,
            "text": text,
            "place": str(place),
            "score": "3" if role == "assistant" else "",
            "rater": "r1" if role == "assistant" else "",
            "gold": "g" if role == "assistant" else "",
            "lang": "en",
        }
        for place, (role, text) in enumerate(said)
    ]


def table_of_threads(said: Said) -> Any:
    """Messages that reply to the one before, by people with names."""
    return [
        {
            "tweet": str(1000 + place),
            "author": NAMES[role],
            "text": text,
            "answers": str(999 + place) if place else "",
            "at": f"Tue Oct 31 22:10:{place:02d} +0000 2017",
        }
        for place, (role, text) in enumerate(said)
    ]


def table_of_items(said: Said) -> Any:
    context = SEPARATOR.join(text for _, text in said[:-1])
    return [{"context": context, "response": said[-1][1], "system": "m", "fluent": "0.5", "corpus": "c"}]


def wide_table(said: Said) -> Any:
    return [
        {
            "case": "x",
            **{f"t{place}": text for place, (_, text) in enumerate(said)},
            "grade": "4",
            "note": "n",
        }
    ]


def rows_of_messages(said: Said) -> Any:
    """As a table of messages in a typed form, with numbers."""
    return [
        {
            "id": 7,
            "role": role,
            "content": text,
            "turn": place,
            "rating:o": 2.5 if role == "assistant" else None,
        }
        for place, (role, text) in enumerate(said)
    ]


def rows_of_chats(said: Said) -> Any:
    return [{"id": "1", "model": "m", "messages": messages(said), "language": "English"}]


def sharegpt(said: Said) -> Any:
    turns = [{"from": WORDS[role], "value": text, "weight": 1} for role, text in said]
    return [{"id": "1", "model": "m", "conversations": turns, "source": "s"}]


def multiwoz(said: Said) -> Any:
    log = [
        {
            "text": text,
            "metadata": {"hotel": {"semi": {"area": "north"}, "book": {"booked": [], "people": "2"}}}
            if role == "assistant"
            else {},
            "dialog_act": {"Hotel-Inform": [["Area", "north"]]},
        }
        for role, text in said
    ]
    return {"SNG1.json": {"goal": {"message": ["m"], "hotel": {"info": {"area": "north"}}}, "log": log}}


def enigma(said: Said) -> Any:
    texts = [text for _, text in said]
    acts = [
        {"text": one}
        for asked, reply in zip(texts[::2], texts[1::2], strict=True)
        for one in (asked, reply, "instead")
    ]
    return {"dialog": acts, "reward": {"a": 1.0}, "reward_ref": {"a": 0.5}, "kb": ["k"]}


def native(said: Said) -> Any:
    marks = [{"dimension": "o", "value": 3, "rater": "r", "turn": 0, "scale": [1, 5], "comment": "c"}]
    vote = [{"other": "2", "winner": "this", "rater": "r", "shown": "first", "reason": "w"}]
    return {
        "id": "1",
        "agent": "bot",
        "messages": [{**one, "references": ["g"], "alternatives": {"b": ["i"]}} for one in messages(said)],
        "ratings": marks,
        "preferences": vote,
        "goal": {"area": "north"},
        "meta": {"topic": "t"},
    }


def lmsys(said: Said) -> Any:
    asked = json.dumps([text for role, text in said if role == "user"])
    replies = {
        f"response_{side}": json.dumps([text for role, text in turns if role == "assistant"])
        for side, turns in zip("ab", (said, other(said)), strict=True)
    }
    won = {"winner_model_a": "0", "winner_model_b": "1", "winner_tie": "0"}
    return [{"id": "30192", "model_a": "m1", "model_b": "m2", "prompt": asked, **replies, **won}]


MESSAGES = {"id": ("conv",), "role": ("who",), "content": ("text",), "turn": ("place",), "rating:o": ("score",),
            "reference": ("gold",)}  # fmt: skip
THREADS = {
    "message": ("tweet",),
    "reply_to": ("answers",),
    "role": ("author",),
    "content": ("text",),
    "time": ("at",),
}
ITEMS = {"agent": ("system",), "rating:fluent[0-1]": ("fluent",)}
WIDE = {
    "id": ("case",),
    "say:user": ("t0", "t2"),
    "say:assistant": ("t1", "t3"),
    "dialogue-rating:g": ("grade",),
}

TABLES: dict[str, Source] = {
    "csv": Source("csv", table_of_messages, as_csv, roles=EVERY, options={"columns": MESSAGES}, named=False),
    "csv threads": Source("csv", table_of_threads, as_csv, options={"columns": THREADS, "roles": WHO}, named=False),
    "csv items": Source(
        "csv", table_of_items, as_csv, alternating=True, replied=True, named=False,
        options={"columns": ITEMS, "split": SEPARATOR},
    ),
    "csv wide": Source("csv", wide_table, as_csv, turns=4, alternating=True, options={"columns": WIDE}, named=False),
    "parquet": Source("parquet", rows_of_messages, as_parquet, roles=EVERY, named=False),
    "parquet chats": Source("parquet", rows_of_chats, as_parquet, roles=EVERY),
    "parquet sharegpt": Source("parquet", sharegpt, as_parquet, roles=EVERY),
    "hf": Source("hf", rows_of_chats, as_dataset, roles=EVERY),
    "hf table": Source("hf", rows_of_messages, as_dataset, roles=EVERY),
    "sharegpt": Source("sharegpt", sharegpt, as_lines, roles=EVERY),
    "sharegpt list": Source("sharegpt", sharegpt, as_json, roles=EVERY),
    "multiwoz": Source("multiwoz", multiwoz, as_indented, alternating=True),
    "enigma": Source("enigma", enigma, as_lines, alternating=True, replied=True),
    "native": Source("native", native, as_lines, roles=EVERY),
    "lmsys": Source("preferences", lmsys, as_csv, alternating=True, replied=True, expected=both),
}  # fmt: skip
