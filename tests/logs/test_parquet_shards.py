"""Parquet beside JSON Lines: the same dialogues, and so the same numbers, whatever file they lie in."""

import gzip
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import polars
import pytest

from tests.corpus import corpus
from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.errors import DataError
from turnwise.logs import native
from turnwise.logs.readers import parquet
from turnwise.logs.shards import shards

TYPED, TEXT = "typed.parquet", "text.parquet"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rated replies as JSON Lines, as Parquet with nested columns, and as Parquet with JSON text in them."""
    place = tmp_path_factory.mktemp("parquet")
    lines = corpus(place / "rated.jsonl", 12).read_bytes()
    (place / "rated.jsonl.gz").write_bytes(gzip.compress(lines))
    rows = [json.loads(line) for line in lines.splitlines()]
    polars.DataFrame(rows, infer_schema_length=None).write_parquet(place / TYPED, row_group_size=5)
    write_text(place / TEXT, rows)
    logs = place / "ope.jsonl"
    native.write(held(agents=6, dialogues=20), str(logs))
    (place / "ope.jsonl.gz").write_bytes(gzip.compress(logs.read_bytes()))
    write_text(place / "ope.parquet", [json.loads(line) for line in logs.read_bytes().splitlines()])
    return place


def write_text(path: Path, rows: list[dict[str, Any]]) -> None:
    """As tables of logs are often kept: what is nested is one text."""
    plain = [
        {key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in row.items()}
        for row in rows
    ]
    polars.DataFrame(plain).write_parquet(path, row_group_size=7)


@pytest.mark.parametrize("name", [TYPED, TEXT])
def test_rows_are_the_dialogues_of_the_lines(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = list(native.read(str(folder / "rated.jsonl")))
    assert list(native.read(str(folder / name))) == true
    monkeypatch.setattr(parquet, "ROWS", 4)
    cut = shards([str(folder / name)], size=3000)
    assert len(cut) > 3
    assert [one for shard in cut for one in shard.read()] == true


def test_only_the_rows_of_the_shard_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass: shards do not overlap, and nobody holds more than `ROWS` rows."""
    asked: list[tuple[int, int]] = []
    lazy = polars.LazyFrame.slice

    def noted(frame: polars.LazyFrame, offset: int, length: int | None = None) -> polars.LazyFrame:
        asked.append((offset, int(length or 0)))
        return lazy(frame, offset, length)

    monkeypatch.setattr(parquet, "ROWS", 8)
    monkeypatch.setattr(polars.LazyFrame, "slice", noted)
    for shard in shards([str(folder / TYPED)], size=1):
        list(shard.read())
    assert asked == [(0, 8), (8, 8), (16, 8), (24, 8), (32, 4)]


COMMANDS = {
    "score {} -m bleu-2,rouge-l,length,fbd[model=hashing] --draws 100": ("rated.jsonl.gz", TYPED, TEXT),
    "meta {} -m bleu-2,length --draws 100": ("rated.jsonl.gz", TYPED, TEXT),
    "ope {} --all --stream --model hashing --estimator fqe,dice-linear": ("ope.jsonl.gz", "ope.parquet"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_numbers_do_not_show_what_file_they_come_from(folder: Path, command: str, capsys) -> None:
    found = []
    for name in COMMANDS[command]:
        assert run([*command.format(folder / name).split(), "-q", "--format", "json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["results"])
    assert all(results == found[0] for results in found)


def test_a_bad_row_is_named(folder: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "bad.parquet"
    write_text(path, [{"messages": [{"role": "user", "content": "hi"}]}, {"messages": [{"role": "bot"}]}])
    assert run(["score", str(path), "-m", "length"]) == 2
    assert 'bad.parquet:2: $.messages[0].role is "bot"' in capsys.readouterr().err
    polars.DataFrame({"messages": ["{"]}).write_parquet(path)
    with pytest.raises(DataError, match=r"bad\.parquet:1: \$\.messages is not JSON"):
        list(shards([str(path)])[0].read())


def test_every_bad_row_is_named_as_every_bad_line_is(tmp_path: Path, capsys) -> None:
    path = tmp_path / "bad.parquet"
    good = '[{"role": "user", "content": "hi"}]'
    polars.DataFrame({"messages": ["{", good, "3", good]}).write_parquet(path)
    assert run(["validate", str(path)]) == 2
    said = capsys.readouterr().err
    assert "bad.parquet:1: $.messages is not JSON" in said
    assert "bad.parquet:3: $.messages is 3" in said
    assert "bad.parquet:2" not in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_looked_into_before_it_is_read(tmp_path: Path, capsys) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    line = b'{"messages": [{"role": "user", "content": "hi"}]}'
    writer = threading.Thread(target=pipe.write_bytes, args=(line,))
    writer.start()
    assert run(["validate", str(pipe)]) == 0
    writer.join()
    assert capsys.readouterr().err == ""


def test_what_only_begins_like_parquet_is_an_error_and_no_crash(tmp_path: Path, capsys) -> None:
    path = tmp_path / "torn.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    assert run(["validate", str(path)]) == 2
    assert "torn.parquet: cannot be read" in capsys.readouterr().err


def test_without_the_library_the_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    assert run(["score", str(folder / TYPED), "-m", "length"]) == 2
    assert "pip install 'turnwise[tables]'" in capsys.readouterr().err
