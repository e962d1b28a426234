"""A conversion that is killed continues and writes the same bytes as an uninterrupted one."""

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

# A short interval and small gzip members, so that a small input has several journals. A conversion whose environment
# names a moment stops there by itself (SIGSTOP), however slowly the test runs beside it: at the first dialogue, or at
# the first journal that has more dialogues than the one it resumes and more than `SOME`.
COUNT = 3_000
SOME = 200
RUN = f"""
import os, signal, sys
from turnwise.cli.common.group import run
from turnwise.logs import conversion, draft

def stop():
    os.kill(os.getpid(), signal.SIGSTOP)

class Stopping(draft.Draft):
    has_stopped = False

    def write(self, line):
        super().write(line)
        if os.environ.get("STOP_AT") == "dialogue" and not self.has_stopped:
            self.has_stopped = True
            stop()

    def save(self, state):
        super().save(state)
        if os.environ.get("STOP_AT") == "journal" and state.dialogues > max(self.done.dialogues, {SOME}):
            stop()

draft.INTERVAL, draft.MEMBER = 0.005, 20_000
conversion.Draft = Stopping
sys.exit(run(["convert", *sys.argv[1:]]))
"""


def chat(number: int) -> dict[str, Any]:
    said = [
        {"role": "user", "content": f"question {number}: my mail is a{number}@example.org"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "look"}, {"type": "input_audio", "input_audio": {}}],
        },
        {"role": "assistant", "content": f"answer {number}"},
    ]
    return {"id": f"d{number}", "model": f"m{number % 3}", "messages": said, "language": "English"}


def write_lines(path: Path, records: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def chats() -> list[dict[str, Any]]:
    return [chat(number) for number in range(COUNT)]


def plain_chats() -> list[dict[str, Any]]:
    return [
        {"id": one["id"], "model": one["model"], "messages": [one["messages"][0], one["messages"][2]]}
        for one in chats()
    ]


def lines(folder: Path) -> list[str]:
    write_lines(folder / "in.jsonl", chats())
    return ["in.jsonl"]


def json_list(folder: Path) -> list[str]:
    (folder / "in.json").write_text(json.dumps(chats()))
    return ["in.json"]


def sharegpt(folder: Path) -> list[str]:
    said = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]
    write_lines(
        folder / "in.jsonl", ({"id": str(number), "conversations": said} for number in range(3 * COUNT))
    )
    return ["in.jsonl"]


def messages(folder: Path) -> list[str]:
    write_lines(
        folder / "in.jsonl",
        (
            {"conversation_id": one["id"], "model": one["model"], "conversation": one["messages"]}
            for one in chats()
        ),
    )
    return ["in.jsonl"]


def native(folder: Path) -> list[str]:
    lines(folder)
    report(convert(folder, "in.jsonl", "native.jsonl"))
    return ["--from", "native", "native.jsonl"]


def redacted(folder: Path) -> list[str]:
    write_lines(folder / "in.jsonl", (chat(number) for number in range(COUNT // 3)))
    return ["--redact", "in.jsonl"]


def parquet(folder: Path) -> list[str]:
    polars = pytest.importorskip("polars")
    polars.DataFrame(plain_chats()).write_parquet(folder / "in.parquet", row_group_size=COUNT // 10)
    return ["in.parquet"]


def parquet_folder(folder: Path) -> list[str]:
    polars = pytest.importorskip("polars")
    (folder / "data").mkdir()
    some = plain_chats()
    for part, split in enumerate(("test", "train", "validation")):
        rows = some[part * COUNT // 3 : (part + 1) * COUNT // 3]
        polars.DataFrame(rows).write_parquet(folder / f"data/{split}-00000-of-00001.parquet")
    return ["--from", "hf", "data"]


def table(folder: Path) -> list[str]:
    rows = "".join(f"{number},user,hi {number}\n{number},bot,yo\n" for number in range(COUNT))
    (folder / "in.csv").write_text("id,role,content\n" + rows)
    return ["--from", "csv", "in.csv"]


def with_drops(folder: Path) -> list[str]:
    """A reader that reads the file from its beginning when it is resumed, and counts what it drops."""
    event = [
        {"event": "user", "text": "hi", "timestamp": 1.0},
        {"event": "action", "name": "utter_greet", "timestamp": 2.0},
        {"event": "bot", "text": "hello", "timestamp": 3.0},
        {"event": "action", "name": "utter_lost", "timestamp": 4.0},
    ]
    write_lines(folder / "in.jsonl", ({"sender_id": str(number), "events": event} for number in range(COUNT)))
    return ["--from", "rasa", "in.jsonl"]


def convert(folder: Path, *arguments: str, stop_at: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "STOP_AT": stop_at},
    )  # fmt: skip


def stopped(folder: Path, *arguments: str, at: str) -> subprocess.Popen[bytes]:
    """A conversion that has stopped at a moment, see `RUN`."""
    process = convert(folder, *arguments, stop_at=at)
    # WNOWAIT: that it has ended is left to be found by `communicate`.
    found = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    if found is None or found.si_code != os.CLD_STOPPED:
        raise AssertionError(process.communicate()[1].decode())
    return process


def kill_in_the_middle(folder: Path, *arguments: str) -> int:
    """Kill a conversion when its journal has some hundred new dialogues, and return how many it has."""
    process = stopped(folder, *arguments, at="journal")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (folder / arguments[-1]).exists()
    return written(folder / f".{arguments[-1]}.journal")


def interrupted(process: subprocess.Popen[bytes]) -> bytes:
    """What a stopped conversion says when it is interrupted."""
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    return process.communicate()[1]


def written(journal: Path) -> int:
    """The number of dialogues that a journal says are written."""
    return int(json.loads(journal.read_bytes())["dialogues"])


def report(process: subprocess.Popen[bytes]) -> list[str]:
    _, err = process.communicate()
    assert process.returncode == 0, err.decode()
    return err.decode().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "suffix"),
    [
        *((one, ".jsonl") for one in (lines, json_list, sharegpt, messages, native, redacted)),
        *((one, ".jsonl") for one in (parquet, parquet_folder, table, with_drops)),
        (lines, ".jsonl.gz"),
        (parquet_folder, ".jsonl.gz"),
    ],
)
def test_a_killed_conversion_continues_with_the_same_bytes_and_report(
    source: Any, suffix: str, tmp_path: Path
):
    arguments = source(tmp_path)
    whole = report(convert(tmp_path, *arguments, f"whole{suffix}"))
    done = kill_in_the_middle(tmp_path, *arguments, f"out{suffix}")
    resumed = report(convert(tmp_path, *arguments, f"out{suffix}"))
    assert (tmp_path / f"out{suffix}").read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()
    note = f"note: an interrupted conversion was continued after {done} dialogues"
    assert note in resumed
    resumed.remove(note)
    assert resumed[1:] == whole[1:]
    assert not list(tmp_path.glob(".out*"))


def test_a_conversion_killed_several_times_has_the_same_bytes(tmp_path: Path):
    arguments = lines(tmp_path)
    report(convert(tmp_path, *arguments, "whole.jsonl"))
    moments = [kill_in_the_middle(tmp_path, *arguments, "out.jsonl") for _ in range(3)]
    assert moments == sorted(set(moments))
    report(convert(tmp_path, *arguments, "out.jsonl"))
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("change", ["input", "option", "damaged journal"])
def test_a_changed_input_or_option_starts_from_the_beginning_and_says_so(change: str, tmp_path: Path):
    arguments = lines(tmp_path)
    kill_in_the_middle(tmp_path, *arguments, "out.jsonl")
    if change == "input":
        write_lines(tmp_path / "in.jsonl", (chat(number) for number in range(1, 51)))
    elif change == "option":
        arguments = ["--agent", "me", *arguments]
    else:
        (tmp_path / ".out.jsonl.journal").write_text("no journal")
    said = report(convert(tmp_path, *arguments, "out.jsonl"))
    report(convert(tmp_path, *arguments, "whole.jsonl"))
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert any("started from the beginning" in line for line in said) == (change != "damaged journal")
    assert not any("continued" in line for line in said)


def test_an_interruption_keeps_the_draft_and_an_error_deletes_it(tmp_path: Path):
    arguments = lines(tmp_path)
    said = interrupted(stopped(tmp_path, *arguments, "out.jsonl", at="journal"))
    assert b"interrupted; the same command resumes where it stopped" in said
    assert (tmp_path / ".out.jsonl.draft").exists()
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write("{broken\n")
    process = convert(tmp_path, *arguments, "out.jsonl")
    assert b"is not JSON" in process.communicate()[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]


def test_an_interruption_before_the_first_journal_says_that_nothing_is_kept(tmp_path: Path):
    arguments = lines(tmp_path)
    said = interrupted(stopped(tmp_path, *arguments, "out.jsonl", at="dialogue"))
    assert b"interrupted; the same command starts again from the beginning" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]


def test_two_conversions_to_the_same_file_at_once_are_refused(tmp_path: Path):
    arguments = lines(tmp_path)
    first = stopped(tmp_path, *arguments, "out.jsonl", at="dialogue")
    second = convert(tmp_path, *arguments, "out.jsonl")
    said = second.communicate()[1]
    first.send_signal(signal.SIGCONT)
    report(first)
    assert b"is being written by another conversion" in said
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == COUNT


def test_a_compressed_file_of_several_members_is_read_as_one(tmp_path: Path):
    arguments = lines(tmp_path)
    report(convert(tmp_path, *arguments, "out.jsonl"))
    report(convert(tmp_path, *arguments, "out.jsonl.gz"))
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == (tmp_path / "out.jsonl").read_bytes()


def test_a_terminal_shows_progress_in_bytes(tmp_path: Path):
    pty = pytest.importorskip("pty")
    write_lines(tmp_path / "in.jsonl", (chat(number) for number in range(3 * COUNT)))  # enough to be shown
    arguments = ["in.jsonl"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments, "out.jsonl"],
        cwd=tmp_path, stderr=theirs, env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 1 << 16)
        except OSError:  # the end of a terminal
            break
        if not chunk:
            break
        shown += chunk
    process.wait()
    size = (tmp_path / "in.jsonl").stat().st_size / 1e6
    assert b"converting" in shown
    assert f"/{size:.1f}".encode() in shown
