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
from turnwise import convert, score
from turnwise.errors import DataError

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
        "turnwise convert --from parquet --map 'id=conv,role=who,content=text' rows.parquet logs.jsonl"
        in said
    )


@pytest.mark.parametrize(
    ("command", "better"),
    [
        ("score -m length logs", "validate logs/day/*.jsonl"),
        ("convert logs logs.jsonl", "convert --from native logs/day/*.jsonl logs.jsonl"),
    ],
)
def test_a_folder_of_native_files_is_told_how_to_give_the_files(
    tmp_path: Path, command: str, better: str
) -> None:
    (tmp_path / "logs" / "day").mkdir(parents=True)
    (tmp_path / "logs" / "about.txt").write_text("Logs, of two days.\n")
    for name in ("a", "b"):
        (tmp_path / "logs" / "day" / f"{name}.jsonl").write_text(json.dumps({**NATIVE, "id": name}))
    status, said = run(f"turnwise {command}", tmp_path)
    assert status == 2
    assert said.endswith(f"is a folder; give the files in it: turnwise {better}")
    status, said = run(f"turnwise {better}", tmp_path)
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
        packed.writestr("b.jsonl", json.dumps({**NATIVE, "id": "2"}))
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
    assert (status, "not kept: replies whose text is not in the tracker" in said) == (0, True)
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
    assert "--pair none compares all items as independent samples" in said


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
    assert "--from csv --map 'id=...,role=author_id,content=text' tweets.csv logs.jsonl" in said


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


FED = [
    {"context": "User: Hi!\nSystem: Hello\nUser: How are you?", "response": "System: Fine", "system": "Meena",
     "annotations": {"Overall": [3, 4]}},
    {"context": "User: Hi!\nSystem: Hello there\nUser: Bye\nSystem: See you", "system": "Mitsuku",
     "annotations": {"Overall": [3, 4]}},
]  # fmt: skip
HH = [{"chosen": "\n\nHuman: hi\n\nAssistant: hello you", "rejected": "\n\nHuman: hi\n\nAssistant:"}]


@pytest.mark.parametrize(
    ("records", "judged", "of"), [(FED, 1, " that are rated, of 4 (--items all takes all)"), (HH, 2, "")]
)
def test_convert_counts_the_replies_that_score_judges(
    tmp_path: Path, records: list[Any], judged: int, of: str
) -> None:
    (tmp_path / "in.json").write_text(json.dumps(records))
    status, said = run("turnwise convert in.json logs.jsonl", tmp_path)
    assert status == 0, said
    assert f"  scored replies: {judged}{of}; ratings: " in said
    status, said = run("turnwise score logs.jsonl -m length -q --format json", tmp_path)
    assert sum(one["n_items"] for one in json.loads(said)["results"]) == judged


def test_an_agent_without_a_rated_reply_is_named_where_only_rated_replies_are_scored(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps(FED))
    run("turnwise convert in.json logs.jsonl", tmp_path)
    note = (
        "note: 1 dialogue without a rated reply not scored, because other replies of the file are rated (Mitsuku 1); "
        "--items all scores every reply"
    )
    assert run("turnwise score logs.jsonl -m length", tmp_path)[1].endswith(note)
    for line in ("-m length --items all", "-m length --items rated", "-m length --where agent=Meena"):
        assert "without a rated reply" not in run(f"turnwise score logs.jsonl {line}", tmp_path)[1]


def test_files_without_agents_that_are_scored_together_are_named(tmp_path: Path) -> None:
    bot(tmp_path / "bot_a.jsonl", "one", "two")
    bot(tmp_path / "bot_b.jsonl", "one two", "three four")
    status, said = run("turnwise score bot_a.jsonl bot_b.jsonl -m length", tmp_path)
    assert status == 0
    assert (
        "note: 2 files name no agent, so their replies are scored together as `unknown`: bot_a.jsonl, "
        in said
    )
    assert "--by file scores each file by itself, and --agent NAME names the agent" in said
    files = [tmp_path / "bot_a.jsonl", tmp_path / "bot_b.jsonl"]
    notes = str(score(files, metrics="length", figures=False).notes())
    assert 'by="file" scores each file by itself, and agent=NAME names the agent' in notes
    _, said = run("turnwise score bot_a.jsonl bot_b.jsonl -m length --by file", tmp_path)
    assert "name no agent" not in said
    assert re.findall(r"bot_[ab] +\d\.000", said) == ["bot_a     1.000", "bot_b     2.000"]
    for line in ("bot_a.jsonl", "bot_a.jsonl bot_b.jsonl --agent me"):
        assert "name no agent" not in run(f"turnwise score {line} -m length", tmp_path)[1]


def chats(path: Path, words: int, **keys: Any) -> None:
    """Dialogues of two replies, of `words` words or one more, in which the second context has the first reply."""
    lines = []
    for number in range(12):
        reply = " ".join(["yes"] * (words + number % 2))
        said = [f"question {number}", reply, "more", f"{reply} indeed"]
        messages = [
            {"role": role, "content": one} for role, one in zip(("user", "assistant") * 2, said, strict=True)
        ]
        named = {key: value.format(number) for key, value in keys.items()}
        lines.append(json.dumps({**named, "messages": messages}))
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines))


def compared(line: str, folder: Path) -> tuple[dict[str, Any], str]:
    """The one result of `compare`, and its notes."""
    status, said = run(f"turnwise compare {line} -m length --format json 2> notes", folder)
    assert status == 0, (folder / "notes").read_text()
    (found,) = json.loads(said)["results"]
    return found, (folder / "notes").read_text()


@pytest.mark.parametrize(
    ("files", "agents", "keys"),
    [
        (("bot_a.jsonl", "bot_b.jsonl"), ("bot_a", "bot_b"), {}),
        (("bot_a.jsonl", "bot_b.jsonl"), ("bot_a", "bot_b"), {"id": "q{}"}),
        (("new/bot.jsonl", "old/bot.jsonl"), ("new/bot.jsonl", "old/bot.jsonl"), {}),
        (("new/bot.jsonl", "old/bot.jsonl"), ("new/bot.jsonl", "old/bot.jsonl"), {"id": "q{}"}),
    ],
)
def test_two_plain_files_of_several_turns_pair_by_id(
    tmp_path: Path, files: tuple[str, str], agents: tuple[str, str], keys: dict[str, str]
) -> None:
    """By context only the first replies pair; the note names the key that pairs the others too."""
    for name, words in zip(files, (3, 5), strict=True):
        chats(tmp_path / name, words, **keys)
    found, said = compared(" ".join(files), tmp_path)
    assert (found["agent_a"], found["agent_b"]) == agents
    assert (found["n_items"], found["unpaired_a"], found["unpaired_b"]) == (12, 12, 12)
    assert "--pair id makes 24 pairs instead of 12" in said
    found, said = compared(f"{' '.join(files)} --pair id", tmp_path)
    assert (found["n_items"], found["n_clusters"], found["estimate"], said) == (24, 12, -2, "")
    assert str(tmp_path) not in str(found["flips"])
    assert "/tmp" not in str(found["flips"])


def test_a_file_that_names_no_agent_has_its_own_name_beside_one_that_does(tmp_path: Path) -> None:
    chats(tmp_path / "bot_a.jsonl", 3)
    chats(tmp_path / "bot_d.jsonl", 5, agent="D", id="{}")
    found, _ = compared("bot_a.jsonl bot_d.jsonl", tmp_path)
    assert (found["agent_a"], found["agent_b"], found["n_items"]) == ("bot_a", "D", 12)


def test_records_without_an_agent_among_others_have_the_name_of_the_file(tmp_path: Path) -> None:
    chats(tmp_path / "all.jsonl", 3, agent="old")
    chats(tmp_path / "more.jsonl", 5)
    with (tmp_path / "all.jsonl").open("a") as file:
        file.write("\n" + (tmp_path / "more.jsonl").read_text())
    (tmp_path / "rest.jsonl").write_text((tmp_path / "more.jsonl").read_text())
    _, said = run("turnwise compare all.jsonl rest.jsonl -m length", tmp_path)
    agents = {line.split()[0] for line in said.split("\n\n")[0].splitlines()[3:]}
    assert agents == {"old", "all", "rest"}, said


def test_ids_that_pair_nothing_are_named_in_the_note(tmp_path: Path) -> None:
    chats(tmp_path / "a.jsonl", 3, id="a{}")
    chats(tmp_path / "b.jsonl", 5, id="b{}")
    _, said = compared("a.jsonl b.jsonl --pair id", tmp_path)
    assert "fewer than half of the items of a and b have a partner with the same `id`" in said


def test_lines_that_hold_other_questions_are_not_said_to_pair(tmp_path: Path) -> None:
    chats(tmp_path / "a.jsonl", 3)
    chats(tmp_path / "b.jsonl", 5)
    lines = (tmp_path / "b.jsonl").read_text().splitlines()
    (tmp_path / "b.jsonl").write_text("\n".join(reversed(lines)))
    _, said = compared("a.jsonl b.jsonl", tmp_path)
    assert "--pair id" not in said


TWEETS = "tweet,who,reply,text\n1,ann,,It is late.\n2,Desk,1,Sorry! Which order?\n3,bob,,Hi\n4,Desk,3,Hello there\n"
TWEET_MAP = "--map message=tweet,reply_to=reply,role=who,content=text --roles 'Desk=assistant,*=user'"


def test_a_saved_mapping_lets_every_command_read_a_table(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TWEETS)
    status, said = run("turnwise score --from csv table.csv -m length", tmp_path)
    assert (status, "--mapping FILE.toml" in said) == (2, True), said
    line = f"turnwise convert --from csv {TWEET_MAP} --save-mapping desk.toml table.csv log.jsonl"
    assert run(line, tmp_path)[0] == 0
    for command in ("score -m length", "validate", "meta -m length", "power --difference 1 -m length"):
        first, second = (
            run(f"turnwise {command} {source}", tmp_path)
            for source in ("--mapping desk.toml table.csv", "log.jsonl")
        )
        assert (first[0], first[1].replace("table.csv", "log.jsonl")) == second
    status, said = run("cat table.csv | turnwise score --mapping desk.toml - -m length --agent me", tmp_path)
    assert (status, "length  Desk " in said) == (0, True), said


def test_a_mapping_of_roles_alone_goes_with_from(tmp_path: Path) -> None:
    times = ("31.12.24, 09:15 - ", "31.12.24, 09:16 - ")
    (tmp_path / "chat.txt").write_text(f"{times[0]}Ann: hi\n{times[1]}Bot: hello you\n")
    (tmp_path / "who.toml").write_text('[roles]\nBot = "assistant"\n"*" = "user"\n')
    for how in ("--from whatsapp --mapping who.toml", "--mapping who.toml"):
        status, said = run(f"turnwise score {how} chat.txt -m length", tmp_path)
        assert (status, "length  Bot       2.000" in said) == (0, True), said


def test_a_mapping_file_with_a_mistake_is_named(tmp_path: Path) -> None:
    bot(tmp_path / "a.jsonl", "one")
    (tmp_path / "bad.toml").write_text('form = "csv"\n')
    status, said = run("turnwise score --mapping bad.toml a.jsonl -m length", tmp_path)
    assert (status, "--mapping bad.toml: there is no key `form`; the nearest are from" in said) == (
        2,
        True,
    ), said


def test_a_mapping_may_be_given_as_a_dict(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("conv,who,text\n1,user,hi\n1,bot,hello you\n")
    columns = {"id": "conv", "role": "who", "content": "text"}
    (found,) = score(
        tmp_path / "in.csv",
        metrics="length",
        mapping={"from": "csv", "map": columns, "agent": "m1"},
        figures=False,
    ).records()
    assert (found["agent"], found["estimate"]) == ("m1", 2)


@pytest.mark.parametrize("command", ["rate runs.json --port 0", "rate runs.json --export rated.jsonl"])
def test_rate_names_a_foreign_file_with_the_commands_that_read_it(tau: Path, command: str) -> None:
    pytest.importorskip("starlette")
    status, said = run(f"turnwise {command}", tau.parent)
    assert status == 2
    assert "turnwise: error: runs.json: is in the format tau-bench " in said
    assert "or rate it directly: turnwise rate --from tau-bench runs.json" in said


def test_reference_dialogues_in_another_format_are_named(tau: Path) -> None:
    bot(tau.parent / "a.jsonl", "one")
    status, said = run("turnwise score a.jsonl -m specificity --real runs.json", tau.parent)
    assert status == 2
    assert "runs.json: is in the format tau-bench " in said
    assert said.endswith("turnwise convert --from tau-bench runs.json logs.jsonl")


CHATGPT = [
    {
        "title": "A chat",
        "current_node": "b",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["a"]},
            "a": {
                "id": "a",
                "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hi"]}},
                "parent": "root",
                "children": ["b"],
            },
            "b": {
                "id": "b",
                "message": {
                    "author": {"role": "assistant"},
                    "content": {"content_type": "text", "parts": ["hello you"]},
                },
                "parent": "a",
                "children": [],
            },
        },
    }
]
TAU2 = {
    "info": {"agent_info": {"llm": "m1"}},
    "tasks": [],
    "simulations": [{"id": "s1", "task_id": "t", "messages": CHAT, "reward_info": {"reward": 1.0}}],
}
TAU2_RUN = {
    "run/results.json": json.dumps({**TAU2, "simulations": None}),
    "run/simulations/s1.json": json.dumps(TAU2["simulations"][0]),
}
FROM = [{"from": "user", "text": "hi"}, {"from": "bot", "text": "hello you"}]
WHATSAPP = "31.12.24, 09:15 - Ann: hi\n31.12.24, 09:16 - Bot: hello you\n"


def zipped(path: Path, **files: str) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)


@pytest.mark.parametrize(
    ("files", "reader", "options"),
    [
        (
            {"conversations.json": json.dumps(CHATGPT), "user.json": "{}", "chat.html": "<html>"},
            "chatgpt",
            "",
        ),
        ({"WhatsApp Chat/_chat.txt": WHATSAPP}, "whatsapp", " --roles 'Bot=assistant,*=user'"),
        ({"results.json": json.dumps(TAU2, indent=1)}, "tau2", ""),
        (TAU2_RUN, "tau2", ""),
        ({"a.jsonl": json.dumps(NATIVE)}, "native", ""),
        (
            {"a.csv": "conv,who,text\n1,user,hi\n1,bot,hello you\n"},
            "csv",
            " --map id=conv,role=who,content=text",
        ),
    ],
)
def test_a_zip_file_with_one_file_that_is_recognised_is_read(
    tmp_path: Path, files: dict[str, str], reader: str, options: str
) -> None:
    """An empty option: also without --from; the file in it is the only one that a reader recognises."""
    zipped(tmp_path / "in.zip", **files)
    status, said = run(f"turnwise convert --from {reader}{options} in.zip logs.jsonl", tmp_path)
    assert (status, "assistant  1 message" in said) == (0, True), said
    assert ("not kept: other files of the zip file: 2" in said) == ("user.json" in files)
    converted = (tmp_path / "logs.jsonl").read_bytes()
    assert run("turnwise validate logs.jsonl", tmp_path)[0] == 0
    if options:
        return
    status, said = run("turnwise validate in.zip", tmp_path)
    assert (status, f"in the format {reader} " in said) == (2, True), said
    assert f"turnwise convert --from {reader} in.zip logs.jsonl, or score it directly" in said
    status, said = run(f"turnwise score --from {reader} in.zip -m length", tmp_path)
    assert (status, "2.000" in said) == (0, True), said
    assert run("turnwise convert in.zip again.jsonl", tmp_path)[0] == 0
    assert (tmp_path / "again.jsonl").read_bytes() == converted


def test_errors_in_a_zip_file_name_the_file_in_it(tmp_path: Path) -> None:
    zipped(tmp_path / "in.zip", **{"chat/_chat.txt": WHATSAPP})
    status, said = run("turnwise convert in.zip logs.jsonl", tmp_path)
    assert (status, said.startswith("turnwise: error: in.zip/chat/_chat.txt: the roles of")) == (2, True), (
        said
    )
    zipped(tmp_path / "bad.zip", **{"a.jsonl": json.dumps(NATIVE) + '\n{"messages": 3}'})
    status, said = run("turnwise convert bad.zip logs.jsonl", tmp_path)
    assert (status, said.startswith("turnwise: error: bad.zip/a.jsonl:2: $.messages is 3")) == (2, True), said


def test_a_zip_file_with_several_files_names_them_and_their_formats(tmp_path: Path) -> None:
    zipped(tmp_path / "in.zip", **{"a.json": json.dumps(CHATGPT), "b.json": json.dumps(TAU2)})
    for command in ("validate in.zip", "convert in.zip logs.jsonl"):
        status, said = run(f"turnwise {command}", tmp_path)
        assert (status, "give the files in it (a.json (chatgpt), b.json (tau2))" in said) == (2, True), said
    assert run("turnwise convert --from tau2 in.zip logs.jsonl", tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("content", "option"),
    [
        ('{"q": "hi", "a": "hello you"}\n{"q": "x", "a": "y z"}\n', "--map 'context=q,response=a'"),
        (
            json.dumps({"conversations": [{"messages": CHAT}], "n": 1}),
            "--each 'conversations[*]' --map 'messages=messages,role=role,content=content'",
        ),
        (
            json.dumps({"data": [{"meta": {"chat": FROM}}]}, indent=1),
            "--each 'data[*]' --map 'messages=meta.chat,role=from,content=text'",
        ),
    ],
)  # fmt: skip
def test_json_of_an_unknown_shape_is_named_with_a_map_that_reads_it(
    tmp_path: Path, content: str, option: str
) -> None:
    (tmp_path / "in.jsonl").write_text(content)
    for command in ("validate in.jsonl", "score in.jsonl -m length", "convert in.jsonl logs.jsonl"):
        status, said = run(f"turnwise {command}", tmp_path)
        assert (status, said.count("\n")) == (2, 0), said
        named = f"turnwise convert --from json {option} in.jsonl logs.jsonl"
        assert named in said
    status, said = run(named, tmp_path)
    assert (status, "assistant  " in said) == (0, True), said


def test_keys_with_usual_names_are_converted_without_a_map(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"prompt": "hi", "response": "hello you"}\n')
    status, said = run("turnwise convert in.jsonl logs.jsonl", tmp_path)
    assert (status, "keys are read by their names: context=prompt,response=response" in said) == (0, True), (
        said
    )
    status, said = run("turnwise score logs.jsonl -m length", tmp_path)
    assert (status, "2.000" in said) == (0, True), said


def test_records_of_an_unknown_shape_are_named_once_with_their_keys(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"left": 1, "right": 2}\n' * 50)
    status, said = run("turnwise validate in.jsonl", tmp_path)
    assert (status, said.count("\n")) == (2, 0)
    assert "in.jsonl: has records with the keys left, right; expected JSON Lines" in said
    assert "--from json --map 'messages=...,role=...,content=...' in.jsonl logs.jsonl" in said


def test_several_pretty_printed_values_are_named_with_the_command_that_makes_lines(tmp_path: Path) -> None:
    lines = [json.dumps({"messages": CHAT}, indent=1) for _ in range(3)]
    (tmp_path / "many.json").write_text("\n".join(lines))
    for command in (
        "validate many.json",
        "convert many.json logs.jsonl",
        "convert --from openai many.json logs.jsonl",
    ):
        status, said = run(f"turnwise {command}", tmp_path)
        assert status == 2
        assert "several JSON values over several lines" in said
        assert said.endswith("which this writes: jq -c . many.json > lines.jsonl")
    (tmp_path / "one.json").write_text(lines[0])
    assert run("turnwise convert one.json logs.jsonl", tmp_path)[0] == 0


def test_a_table_whose_columns_have_the_names_of_meanings_needs_no_option(tmp_path: Path) -> None:
    (tmp_path / "messages.csv").write_text("id;role;content\n1;user;hi\n1;assistant;hello you\n")
    (tmp_path / "replies.csv").write_text("context,response,rating:overall\nhi,hello you,3\n")
    polars = pytest.importorskip("polars")
    polars.DataFrame({"context": ["hi"], "response": ["hello you"]}).write_parquet(
        tmp_path / "replies.parquet"
    )
    for name in ("messages.csv", "replies.csv", "replies.parquet"):
        status, said = run(f"turnwise convert {name} logs.jsonl", tmp_path)
        assert (status, "assistant  1 message" in said) == (0, True), said
        _, said = run(f"turnwise validate {name}", tmp_path)
        assert f"turnwise convert --from {name.partition('.')[2]} {name} logs.jsonl" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"User: line\n" * 60_000, 'is text, not JSON; expected JSON Lines, one dialogue a line. It begins with "User'),
        (b"\xff\xfe\x00\x01\n" * 5000, "is neither JSON nor text in UTF-8; expected JSON Lines"),
        (b"{'messages': []}\n" * 5000, "is not JSON: JSON is malformed"),
        (json.dumps({"messages": CHAT * 50}, indent=1)[:-9].encode(), "is not JSON: Input data was truncated"),
    ],
)  # fmt: skip
def test_a_file_without_a_line_of_json_has_one_problem(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "in.txt").write_bytes(content)
    status, shown = run("turnwise validate in.txt", tmp_path)
    assert (status, shown.count("\n"), shown.startswith(f"in.txt: {said}")) == (2, 0, True), shown


def test_a_line_that_is_not_json_among_others_is_named_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("# a comment\n" + f"{json.dumps(NATIVE)}\n")
    status, said = run("turnwise validate in.jsonl", tmp_path)
    assert (status, said.startswith("in.jsonl:1: is not JSON"), said.count("\n")) == (2, True, 0), said


@pytest.mark.parametrize(
    ("reader", "content", "found"),
    [
        ("tau2", TAU, "it is in the format tau-bench ("),
        ("otel", TAU2, "it is in the format tau2 ("),
        ("csv", [{"chosen": "hi" * 2000, "rejected": "yo"}], "it is in the format preferences ("),
        ("hh-rlhf", [{"messages": DEVELOPER}], "it is in the format openai ("),
        ("rasa", [{"q": "x", "a": "y"}], "(line 1: $.events is missing); it has records with the keys q, a"),
        ("rasa", [NATIVE], "it is in the native format: leave out --from"),
        ("native", TAU2, "it is in the format tau2 ("),
    ],
)
def test_a_wrong_format_is_answered_with_the_right_one(
    tmp_path: Path, reader: str, content: Any, found: str
) -> None:
    """A list is written as JSON Lines, an object over several lines."""
    is_lines = isinstance(content, list) and content is not TAU
    text = "\n".join(map(json.dumps, content)) if is_lines else json.dumps(content, indent=1)
    (tmp_path / "in.json").write_text(text)
    for command in (
        f"convert --from {reader} in.json logs.jsonl",
        f"score --from {reader} in.json -m length",
    ):
        status, said = run(f"turnwise {command}", tmp_path)
        assert status == 2
        assert said.startswith("turnwise: error: in.json: cannot be read as ")
        assert found in said
        assert len(said) < 500


def test_an_error_of_the_right_format_or_of_a_map_is_not_explained_by_another_format(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps({**TAU2, "simulations": [{"id": 1, "messages": 3}]}))
    (tmp_path / "in.jsonl").write_text(json.dumps({"messages": CHAT}))
    (tmp_path / "bad.jsonl").write_text(json.dumps({"messages": [{"role": "robot", "content": "x"}]}))
    for line in (
        "--from tau2 in.json",
        "--from json --map messages=said,role=role,content=content in.jsonl",
        "--from native bad.jsonl",
    ):
        status, said = run(f"turnwise convert {line} logs.jsonl", tmp_path)
        assert (status, "cannot be read as" in said) == (2, False), said
