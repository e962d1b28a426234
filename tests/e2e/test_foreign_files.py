"""What a user does with files of other tools, and with one file a bot: convert, validate, score, compare."""

import gzip
import json
import re
import zipfile
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest

from tests.console import run
from turnwise.errors import DataError
from turnwise.library import convert

TAU = [{"task_id": 3, "trial": 0, "reward": 1.0, "info": {"task": {"goal": "fly"}},
        "traj": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello you"}]}]  # fmt: skip


CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello you"}]
DEVELOPER = [{"role": "developer", "content": "be brief"}, *CHAT]
THREAD = {
    "object": "list",
    "data": [
        {"object": "thread.message", "thread_id": "t1", "created_at": place, "role": one["role"],
         "content": [{"type": "text", "text": {"value": one["content"], "annotations": []}}]}
        for place, one in enumerate(CHAT)
    ],
}  # fmt: skip
RESPONSE = {
    "object": "response",
    "model": "m1",
    "input": "hi",
    "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello you"}]}
    ],
}
NATIVE = {"id": "1", "agent": "m1", "messages": CHAT, "ratings": [{"dimension": "o", "value": 1}]}


@pytest.fixture
def tau(tmp_path: Path) -> Path:
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(TAU, indent=1))
    return path


@pytest.mark.parametrize("command", ["turnwise validate runs.json", "turnwise score runs.json -m length"])
def test_a_foreign_file_is_named_with_the_command_that_reads_it(tau: Path, command: str) -> None:
    status, said = run(command, tau.parent)
    assert status == 2
    assert "is in the format tau-bench" in said
    assert "turnwise convert --from tau-bench runs.json logs.jsonl" in said
    shorter = "turnwise score --from tau-bench runs.json -m length"
    assert shorter in said
    assert run(shorter, tau.parent)[0] == 0
    assert said.count("\n") <= 2


@pytest.mark.parametrize(
    ("content", "indent", "name"),
    [
        ([{"model": "m1", "messages": CHAT}], None, "openai"),
        ({"model": "m1", "messages": CHAT}, 1, "openai"),
        (THREAD, 1, "openai"),
        (THREAD, None, "openai"),
        (RESPONSE, 1, "openai"),
        (RESPONSE, None, "openai"),
        ([NATIVE], 1, "openai"),
        (NATIVE, 1, "openai"),
        ({"custom_id": "a", "body": {"model": "m1", "messages": CHAT}}, None, "openai"),
        ({"messages": DEVELOPER}, None, "openai"),
        ({"conversation_hash": "x", "model": "m1", "conversation": CHAT}, None, "messages"),
        ([{"conversation_hash": "x", "model": "m1", "conversation": CHAT}], 1, "messages"),
    ],
)
def test_the_command_that_is_named_for_a_file_near_the_native_format_reads_it(
    tmp_path: Path, content: Any, indent: int | None, name: str
) -> None:
    (tmp_path / "my logs.json").write_text(json.dumps(content, indent=indent))
    status, said = run("turnwise score 'my logs.json' -m length", tmp_path)
    assert status == 2
    assert f"is in the format {name} " in said
    assert f"turnwise convert --from {name} 'my logs.json' logs.jsonl" in said
    the_named_command_works(said, tmp_path)


def the_named_command_works(said: str, folder: Path) -> None:
    """Run the `turnwise convert` that a message names; its output must be valid and have a reply of the agent."""
    (named,) = re.findall(r"turnwise convert .* logs\.jsonl", said)
    status, converted = run(named, folder)
    assert status == 0, converted
    assert "assistant  1 message" in converted
    assert run("turnwise validate logs.jsonl", folder)[0] == 0


def test_a_native_file_with_an_error_is_told_the_error(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({**NATIVE, "messages": [{"role": "robot", "content": "x"}]}))
    status, said = run("turnwise validate a.jsonl", tmp_path)
    assert status == 2
    assert 'a.jsonl:1: $.messages[0].role is "robot"' in said
    assert "is in the format" not in said


def test_a_parquet_file_of_another_shape_is_named_with_the_command_that_reads_it(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"conversation": [CHAT], "model": ["m1"]}).write_parquet(tmp_path / "wild.parquet")
    status, said = run("turnwise score wild.parquet -m length", tmp_path)
    assert status == 2
    the_named_command_works(said, tmp_path)
    polars.DataFrame({"conv": ["a"], "who": ["bot"], "text": ["x"]}).write_parquet(tmp_path / "rows.parquet")
    status, said = run("turnwise score rows.parquet -m length", tmp_path)
    assert "is a table with the columns conv, who, text" in said
    assert (
        "turnwise convert --from parquet --map 'id=...,role=...,content=...' rows.parquet logs.jsonl" in said
    )


@pytest.mark.parametrize("command", ["score -m length logs", "convert logs logs.jsonl"])
def test_a_folder_of_native_files_is_told_how_to_give_the_files(tmp_path: Path, command: str) -> None:
    (tmp_path / "logs" / "day").mkdir(parents=True)
    (tmp_path / "logs" / "about.txt").write_text("Logs, of two days.\n")
    for name in ("a", "b"):
        (tmp_path / "logs" / "day" / f"{name}.jsonl").write_text(json.dumps({**NATIVE, "id": name}))
    status, said = run(f"turnwise {command}", tmp_path)
    assert status == 2
    assert "is a folder; give the files in it: turnwise validate logs/day/*.jsonl" in said
    status, said = run("turnwise validate logs/day/*.jsonl", tmp_path)
    assert status == 0, said


def test_a_folder_of_foreign_files_is_named_with_the_command_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("a", "b"):
        (tmp_path / "logs" / f"{name}.json").write_text(json.dumps([{"model": "m1", "messages": CHAT}]))
    status, said = run("turnwise score logs -m length", tmp_path)
    assert status == 2
    assert "is a folder; give the files in it. logs/a.json is in the format openai" in said
    the_named_command_works(said, tmp_path)


def test_a_folder_without_logs_is_told_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    status, said = run("turnwise score logs -m length", tmp_path)
    assert status == 2
    assert "logs: is a folder without files that may hold dialogues" in said


@pytest.mark.parametrize("command", ["score -m length in.zip", "convert in.zip logs.jsonl"])
def test_a_zip_file_of_native_files_is_told_how_to_unpack_it(tmp_path: Path, command: str) -> None:
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as packed:
        packed.writestr("a.jsonl", json.dumps(NATIVE))
    status, said = run(f"turnwise {command}", tmp_path)
    assert status == 2
    assert "--map" not in said
    (unpack,) = re.findall(r"python -m zipfile -e in\.zip in", said)
    assert run(unpack, tmp_path)[0] == 0
    status, said = run("turnwise validate in", tmp_path)
    assert "turnwise validate in/*.jsonl" in said
    assert run("turnwise validate in/*.jsonl", tmp_path)[0] == 0


@pytest.mark.parametrize("form", ["slack", "whatsapp", "whatsapp in brackets"])
def test_the_command_for_a_chat_without_an_agent_has_roles(tmp_path: Path, form: str) -> None:
    if form == "slack":
        day = [
            {"type": "message", "user": user, "text": "hello", "ts": f"17356{place:05d}.0"}
            for place, user in enumerate(("U1", "U2"))
        ]
        users = [{"id": "U1", "name": "Ann"}, {"id": "U2", "name": "Bot"}]
        with zipfile.ZipFile(tmp_path / "chat", "w") as packed:
            packed.writestr("users.json", json.dumps(users))
            packed.writestr("general/2024-12-31.json", json.dumps(day))
    else:
        times = ("[31/12/2024, 09:15:02] ", "[31/12/2024, 09:16:02] ")
        times = times if form == "whatsapp in brackets" else ("31.12.24, 09:15 - ", "31.12.24, 09:16 - ")
        (tmp_path / "chat").write_text(f"{times[0]}Ann: hi\n{times[1]}Bot: hello\n")
    status, said = run("turnwise score chat -m length", tmp_path)
    assert status == 2
    reader = form.split()[0]
    assert f"turnwise convert --from {reader} --roles 'NAME=assistant,*=user' chat logs.jsonl" in said
    the_named_command_works(said.replace("'NAME=", "'Bot="), tmp_path)


def test_every_command_reads_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(BOM_UTF8 + json.dumps(NATIVE).encode())
    (tmp_path / "a.json").write_bytes(BOM_UTF8 + json.dumps([NATIVE], indent=1).encode())
    (tmp_path / "a.csv").write_bytes(BOM_UTF8 + b"id,role,content\n1,user,hi\n1,assistant,hello you\n")
    assert run("turnwise validate a.jsonl", tmp_path)[0] == 0
    for command in ("score a.jsonl", "score --from openai a.json", "score --from csv --agent m1 a.csv"):
        status, said = run(f"turnwise {command} -m length", tmp_path)
        assert status == 0, said
        assert "length  m1        2.000" in said


def test_the_command_that_was_named_reads_it_and_says_what_it_understood(tau: Path) -> None:
    status, said = run("turnwise convert --from tau-bench --agent m1 runs.json logs.jsonl", tau.parent)
    assert status == 0, said
    assert "1 dialogue written, read as tau-bench" in said
    assert 'assistant  1 message, e.g. "hello you"' in said
    assert "agents: m1 (1 dialogue)" in said
    assert "ratings: 1 reward" in said


def test_with_from_any_command_reads_a_foreign_file_directly(tau: Path) -> None:
    status, said = run("turnwise score runs.json --from tau-bench --agent m1 -m length", tau.parent)
    assert status == 0, said
    assert "length  m1        2.000" in said


def test_strict_makes_a_drop_an_error_and_writes_nothing(tmp_path: Path) -> None:
    tracker = {
        "sender_id": "x",
        "events": [{"event": "user", "text": "hi"}, {"event": "action", "name": "utter_hi"}],
    }
    (tmp_path / "tracker.json").write_text(json.dumps(tracker))
    status, said = run("turnwise convert tracker.json logs.jsonl", tmp_path)
    assert (status, "not kept: 1 replies whose text is not in the tracker" in said) == (0, True)
    (tmp_path / "logs.jsonl").unlink()
    status, said = run("turnwise convert --strict tracker.json logs.jsonl", tmp_path)
    assert (status, "--strict is given" in said, (tmp_path / "logs.jsonl").exists()) == (2, True, False)


def test_a_mapping_is_saved_and_used_again(tmp_path: Path) -> None:
    record = {"log": [{"who": "ann", "say": "hi"}, {"who": "Bot", "say": "yo"}]}
    (tmp_path / "in.json").write_text(json.dumps([record]))
    first = (
        "turnwise convert --from json --map messages=log,role=who,content=say --roles Bot=assistant,*=user"
    )
    status, said = run(f"{first} --save-mapping team.toml in.json a.jsonl", tmp_path)
    assert status == 0, said
    status, said = run("turnwise convert --mapping team.toml in.json b.jsonl", tmp_path)
    assert status == 0, said
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_convert_refuses_to_write_the_file_that_it_reads(tmp_path: Path) -> None:
    bot(tmp_path / "a.jsonl", "one")
    before = (tmp_path / "a.jsonl").read_bytes()
    (tmp_path / "link.jsonl").symlink_to("a.jsonl")
    for target in ("a.jsonl", "./a.jsonl", "link.jsonl"):
        status, said = run(f"turnwise convert a.jsonl {target}", tmp_path)
        assert (status, f"{target}: is both read and written; give the output another name" in said) == (
            2,
            True,
        )
    assert (tmp_path / "a.jsonl").read_bytes() == before


def test_convert_says_how_many_dialogues_name_no_agent(tmp_path: Path) -> None:
    bot(tmp_path / "a.jsonl", "one", "two")
    _, said = run("turnwise convert a.jsonl logs.jsonl", tmp_path)
    assert "  the records name no agent: give it with --agent NAME" in said
    first, second = (tmp_path / "a.jsonl").read_text().splitlines()
    (tmp_path / "b.jsonl").write_text(f'{{"agent": "x", {first[1:]}\n{second}\n')
    _, said = run("turnwise convert b.jsonl logs.jsonl", tmp_path)
    assert "  1 of 2 dialogues name no agent: give it with --agent NAME" in said


def test_native_files_are_merged_and_their_ids_must_differ(tmp_path: Path) -> None:
    bot(tmp_path / "a.jsonl", "one", "two")
    bot(tmp_path / "b.jsonl", "three")
    status, said = run("turnwise convert --from native a.jsonl b.jsonl merged.jsonl", tmp_path)
    assert (status, "3 dialogues written, read as native" in said) == (0, True), said
    merged = [json.loads(line) for line in (tmp_path / "merged.jsonl").read_text().splitlines()]
    assert [(one["id"], one["messages"][1]["content"]) for one in merged] == [
        ("a:1", "one"),
        ("a:2", "two"),
        ("b:1", "three"),
    ]
    (tmp_path / "c.jsonl").write_bytes((tmp_path / "merged.jsonl").read_bytes())
    status, said = run("turnwise convert --from native merged.jsonl c.jsonl twice.jsonl", tmp_path)
    assert status == 2
    assert said.endswith(
        'c.jsonl:1: $.id is "a:1", which is in merged.jsonl already; expected ids that differ'
    )


LINE = json.dumps({"messages": CHAT})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (LINE[:40].encode(), "is not JSON: Input data was truncated"),
        (json.dumps([{"messages": CHAT}], indent=1)[:40].encode(), "is not JSON: Input data was truncated"),
        (gzip.compress(LINE.encode(), mtime=0)[:-12], "cannot be read to its end"),
        (LINE.replace('"hi"', "NaN").encode(), "is not JSON"),
        (b"", "is empty; expected dialogues"),
        (b"\n\n \n", "is empty; expected dialogues"),
        (LINE.encode("utf-16"), "is in UTF-16; expected UTF-8"),
    ],
    ids=["half a line", "half a list", "half a gzip file", "NaN", "nothing", "blank lines", "UTF-16"],
)
def test_convert_says_what_is_wrong_with_a_damaged_file(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(reason)):
        convert(str(path), str(tmp_path / "out.jsonl"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf16_is_named_with_the_command_that_changes_it(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINE.encode(encoding))
    status, said = run("turnwise score a.jsonl -m length", tmp_path)
    name = encoding.upper().replace("16-", "16")
    command = f"iconv -f {name} -t UTF-8 a.jsonl > utf8.jsonl"
    assert (status, said) == (
        2,
        f"turnwise: error: a.jsonl: is in {name}; expected UTF-8, which this writes: {command}",
    )
    status, said = run(f"{command} && turnwise validate utf8.jsonl", tmp_path)
    assert status == 0, said


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (NATIVE, "native"),
        ({"id": "1", "agent": "m1", "messages": CHAT}, "native"),
        ({"messages": CHAT, "ratings": [{"dimension": "o", "value": 1}]}, "native"),
        ({"messages": CHAT}, "openai"),
        ({"model": "m1", "messages": CHAT, "ratings": []}, "openai"),
        ({"id": 1, "agent": "m1", "messages": CHAT}, "openai"),
        ({"id": "1", "agent": "m1", "messages": DEVELOPER}, "openai"),
        ({"id": "1", "agent": "m1", "messages": CHAT[:1], "choices": [{"message": CHAT[1]}]}, "openai"),
    ],
)
def test_files_with_native_keys_are_read_as_native(tmp_path: Path, record: Any, name: str) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    assert convert(str(tmp_path / "a.jsonl"), str(tmp_path / "out.jsonl")).reader == name


def bot(path: Path, *replies: str) -> None:
    lines = (
        {
            "messages": [
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": reply},
            ]
        }
        for number, reply in enumerate(replies)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_two_plain_files_are_compared_under_their_names(tmp_path: Path) -> None:
    bot(tmp_path / "bot_a.jsonl", *("one two three"[: 3 + 4 * (number % 3)] for number in range(30)))
    bot(tmp_path / "bot_b.jsonl", *("one" for _ in range(20)))
    status, said = run("turnwise compare bot_a.jsonl bot_b.jsonl -m length", tmp_path)
    assert status == 0, said
    assert "length  bot_a    bot_b" in said
    assert "items without a partner, left out: 10 of bot_a and 0 of bot_b" in said
    assert "--pair KEY" in said


@pytest.mark.parametrize("agents", [(None, None), ("old", "new")])
def test_two_files_with_the_same_ids_are_compared_by_context(
    tmp_path: Path, agents: tuple[str | None, str | None]
) -> None:
    """Two agents' replies to one test set: the ids are those of the test set."""
    for name, agent, words in (("a", agents[0], 3), ("b", agents[1], 5)):
        said = [
            [
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": "yes " * words},
            ]
            for number in range(6)
        ]
        named = {} if agent is None else {"agent": agent}
        records = [{"id": f"q{number}", **named, "messages": one} for number, one in enumerate(said)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    status, said = run("turnwise compare a.jsonl b.jsonl -m length --format json", tmp_path)
    assert status == 0, said
    (found,) = json.loads(said)["results"]
    assert (found["agent_a"], found["agent_b"]) == (agents if agents[0] else ("a", "b"))
    assert (found["n_items"], found["estimate"]) == (6, -2)


def test_files_with_the_same_ids_are_still_refused_where_agents_are_not_compared(tmp_path: Path) -> None:
    record = {
        "id": "1",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
    }
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(json.dumps(record))
    status, said = run("turnwise score a.jsonl b.jsonl -m length", tmp_path)
    assert status == 2
    assert "which is in a.jsonl already" in said


def test_two_foreign_files_are_named_in_a_comparison(tau: Path) -> None:
    (tau.parent / "more.json").write_text(json.dumps(TAU, indent=1))
    status, said = run("turnwise compare runs.json more.json -m length", tau.parent)
    assert status == 2
    assert "runs.json: is in the format tau-bench" in said


def test_an_option_of_convert_is_named_as_such_by_other_commands(tmp_path: Path) -> None:
    record = {"dialog": [{"speaker": "A", "text": "hi"}, {"speaker": "B", "text": "yo"}]}
    (tmp_path / "log.jsonl").write_text(json.dumps(record))
    status, said = run("turnwise score --from parlai log.jsonl -m length", tmp_path)
    assert status == 2
    assert "--roles is an option of `turnwise convert`: convert the file first" in said


def test_a_table_that_is_not_mapped_is_shown_with_its_columns(tmp_path: Path) -> None:
    (tmp_path / "tweets.csv").write_text("tweet_id,author_id,text\n1,ann,hi\n")
    status, said = run("turnwise convert tweets.csv logs.jsonl", tmp_path)
    assert status == 2
    assert "is a table with the columns tweet_id, author_id, text" in said
    assert "--from csv --map 'id=...,role=...,content=...'" in said


def test_a_text_is_no_table_because_of_a_comma(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("# Real logs, as their tools write them\n\nText.\n")
    status, said = run("turnwise convert readme.md logs.jsonl", tmp_path)
    assert status == 2
    assert "the format is not recognised" in said


def test_standard_input_needs_the_name_of_its_format(tmp_path: Path) -> None:
    status, said = run("turnwise convert - logs.jsonl", tmp_path)
    assert status == 2
    assert "the format of standard input is not recognised; name it with --from" in said


def test_a_file_of_a_format_with_several_files_is_named_with_the_others(tmp_path: Path) -> None:
    record = {"question_id": 1, "model_id": "m1", "choices": [{"index": 0, "turns": ["hi"]}]}
    (tmp_path / "answers.jsonl").write_text(json.dumps(record))
    status, said = run("turnwise score answers.jsonl -m length", tmp_path)
    assert status == 2
    assert "turnwise convert --from mt-bench answers.jsonl OTHER_FILES... logs.jsonl" in said


def test_names_of_data_sets_are_names_of_formats(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"prompt": "hi", "chosen": "hello", "rejected": "no"}))
    status, said = run("turnwise convert --from hh-rlhf pairs.jsonl logs.jsonl", tmp_path)
    assert status == 0, said
    assert "2 dialogues written" in said
