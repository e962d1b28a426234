"""Formats of JSON: each reader on a small file of its format, and what it says of a broken one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import DataError, UsageError
from turnwise.logs import native
from turnwise.logs.conversion import convert
from turnwise.logs.readers import READERS
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue, Rating, Reply, Turn


def read(name: str, path: Path, options: Options | None = None) -> list[Dialogue]:
    """What a reader reads, which is also what is left of it after writing and reading it again."""
    dialogues = list(READERS[name].read(str(path), options or Options()))
    out = path.parent / "converted.jsonl.gz"
    assert convert(name, str(path), str(out), Options(options.columns, options.split) if options else None)[0]
    assert list(native.read(str(out))) == dialogues
    out.unlink()
    return dialogues


def written(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def problem(name: str, path: Path) -> str:
    with pytest.raises(DataError) as caught:
        list(READERS[name].read(str(path), Options()))
    return str(caught.value)


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CHAT = {
    "model": "gpt-x",
    "tools": [{"type": "function"}],
    "messages": [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "42"}]},
        {"role": "assistant", "content": None, "refusal": "I cannot."},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "7"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("as_list", [False, True])
def test_openai_chats_keep_tools_parts_and_old_roles(tmp_path: Path, as_list: bool) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([CHAT], indent=2) if as_list else json.dumps(CHAT))
    (dialogue,) = read("openai", path)
    assert (dialogue.id, dialogue.agent) == ("1", "gpt-x")
    assert dialogue.extra == {"model": "gpt-x", "tools": [{"type": "function"}]}
    parts = CHAT["messages"][1]["content"]  # type: ignore[index]
    assert dialogue.turns == (
        Turn("system", "be brief", extra={"source_role": "developer"}),
        Turn("user", "see", parts=tuple(parts)),
        Turn("assistant", None, extra={"tool_calls": [CALL]}),
        Turn("tool", "42", extra={"tool_call_id": "c1"}),
        Turn("assistant", "I cannot.", extra={"refusal": "I cannot."}),
        Turn("assistant", None, extra={"function_call": {"name": "f", "arguments": "{}"}}),
        Turn("tool", "7", extra={"name": "f", "source_role": "function"}),
    )


def test_openai_problems_have_a_place(tmp_path: Path) -> None:
    bad = {"messages": [{"role": "user", "content": [{"type": "text"}]}]}
    path = written(tmp_path / "a.jsonl", CHAT, bad)
    assert problem("openai", path).endswith("a.jsonl:2: $.messages[0].content[0].text is missing")
    path.write_text(json.dumps([CHAT, bad]))
    assert problem("openai", path).endswith("a.jsonl: $[1].messages[0].content[0].text is missing")


def test_sharegpt_speakers_become_roles(tmp_path: Path) -> None:
    said = [
        {"from": "human", "value": "hi"},
        {"from": "function_call", "value": '{"name": "f"}'},
        {"from": "observation", "value": "42"},
        {"from": "gpt", "value": "yo", "weight": 1, "content": "x"},
    ]
    path = written(tmp_path / "a.json", {"id": 5, "system": "be kind", "conversations": said, "tools": "[]"})
    assert read("sharegpt", path) == [
        Dialogue(
            "5",
            "unknown",
            (
                Turn("system", "be kind"),
                Turn("user", "hi"),
                Turn("assistant", None, extra={"function_call": '{"name": "f"}'}),
                Turn("tool", "42"),
                Turn("assistant", "yo", extra={"weight": 1, "source_content": "x"}),
            ),
            meta={"tools": "[]"},
        )
    ]
    bad = written(tmp_path / "b.json", {"conversations": [{"from": "alien", "value": "?"}]})
    assert 'b.json:1: $.conversations[0].from is "alien"; expected one of human' in problem("sharegpt", bad)


MULTIWOZ = {
    "SNG01.json": {
        "goal": {"hotel": {"info": {"area": "east"}}, "taxi": {}, "message": ["You want ..."], "topic": {}},
        "log": [
            {
                "text": "a hotel in the east ",
                "metadata": {},
                "dialog_act": {"Hotel-Inform": [["Area", "east"]]},
            },
            {
                "text": "Booked.",
                "metadata": {
                    "hotel": {
                        "semi": {"area": "east", "name": "not mentioned", "stars": ""},
                        "book": {"booked": [{"reference": "X1"}], "people": "2", "day": ""},
                    },
                    "taxi": {"semi": {"area": ""}, "book": {"booked": []}},
                },
                "dialog_act": "No Annotation",
                "span_info": [1],
            },
        ],
        "new": True,
    }
}


def test_multiwoz_states_are_on_the_wizards_messages(tmp_path: Path) -> None:
    path = written(tmp_path / "data.json", MULTIWOZ)
    assert read("multiwoz", path) == [
        Dialogue(
            "sng01",
            "human",
            (
                Turn("user", "a hotel in the east", acts=(["Hotel-Inform", "Area", "east"],)),
                Turn(
                    "assistant",
                    "Booked.",
                    state={"hotel": {"area": "east", "book people": "2"}},
                    extra={"span_info": [1], "dialog_act": "No Annotation"},
                ),
            ),
            goal={"hotel": {"info": {"area": "east"}}},
            meta={
                "new": True,
                "goal_message": ["You want ..."],
                "goal_topic": {},
                "booked": [{"turn": 1, "domain": "hotel", "booked": [{"reference": "X1"}]}],
            },
        )
    ]


def test_multiwoz_problems_have_a_place(tmp_path: Path) -> None:
    broken = {"A.json": {"goal": {}, "log": [{"text": "x", "metadata": {"hotel": {"semi": 3}}}]}}
    expected = '$["A.json"].log[0].metadata.hotel.semi is 3; expected an object'
    assert expected in problem("multiwoz", written(tmp_path / "data.json", broken))


def test_convlab_states_move_to_the_reply_that_acts_on_them(tmp_path: Path) -> None:
    acts = {
        "categorical": [{"intent": "inform", "domain": "hotel", "slot": "area", "value": "east"}],
        "binary": [{"intent": "bye", "domain": "general", "slot": ""}],
    }
    state = {"hotel": {"area": "east", "stars": ""}, "taxi": {"to": ""}}
    turns = [
        {"speaker": "user", "utterance": "east", "utt_idx": 0, "state": state, "dialogue_acts": acts},
        {"speaker": "system", "utterance": "ok", "utt_idx": 1, "db": {}},
        {"speaker": "user", "utterance": "bye", "utt_idx": 2, "state": {"hotel": {"area": "west"}}},
    ]
    values = {"dialogue_id": "d1", "data_split": "test", "goal": {"description": "x"}, "turns": turns}
    path = tmp_path / "data.json"
    path.write_text(json.dumps([values], indent=1))
    assert read("convlab", path) == [
        Dialogue(
            "d1",
            "unknown",
            (
                Turn(
                    "user",
                    "east",
                    acts=(["hotel-inform", "area", "east"], ["general-bye", "", ""]),
                    extra={"utt_idx": 0, "dialogue_acts": acts},
                ),
                Turn("assistant", "ok", state={"hotel": {"area": "east"}}, extra={"utt_idx": 1, "db": {}}),
                Turn("user", "bye", state={"hotel": {"area": "west"}}, extra={"utt_idx": 2}),
            ),
            goal={"description": "x"},
            meta={"data_split": "test"},
        )
    ]  # fmt: skip
    path.write_text(json.dumps([values, {"turns": [{"speaker": "cat", "utterance": "miau"}]}]))
    assert '$[1].turns[0].speaker is "cat"; expected one of user, system' in problem("convlab", path)


def test_tau2_rewards_become_ratings(tmp_path: Path) -> None:
    call = {"id": "c", "name": "find", "arguments": {"x": 1}, "requestor": "assistant"}
    native_call = {
        "id": "c", "type": "function", "function": {"name": "find", "arguments": '{"x":1}'}, "requestor": "assistant"
    }  # fmt: skip
    messages = [
        {"role": "assistant", "content": "Hi", "tool_calls": None, "turn_idx": 0},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_messages": [{"id": "c", "role": "tool", "content": "1", "error": False}]},
        {"role": "tool", "id": "e", "content": None, "error": True},
    ]
    simulation = {
        "id": "s1",
        "task_id": "7",
        "trial": 2,
        "messages": messages,
        "reward_info": {"reward": 1.0},
    }
    results = {
        "info": {"agent_info": {"llm": "m"}, "user_info": {"implementation": "sim"}, "environment_info": {}},
        "tasks": [{"id": "7", "user_scenario": "x"}],
        "simulations": [simulation, {"id": "s2", "task_id": "7", "messages": None}],
    }
    options = Options()
    path = written(tmp_path / "results.json", results)
    assert read("tau2", path, options) == [
        Dialogue(
            "s1",
            "m",
            (
                Turn("assistant", "Hi", extra={"turn_idx": 0}),
                Turn("assistant", None, extra={"tool_calls": [native_call]}),
                Turn("tool", "1", extra={"id": "c", "error": False, "tool_call_id": "c"}),
                Turn("tool", "", extra={"id": "e", "error": True, "tool_call_id": "e"}),
            ),
            (Rating("s1", "reward", 1.0, "tau2", scale=(0.0, 1.0), extra={"automatic": True}),),
            {"id": "7", "user_scenario": "x"},
            {"user": "sim", "task_id": "7", "trial": 2, "reward_info": {"reward": 1.0}},
            {"task": "7", "trial": 2},
        )
    ]
    assert options.dropped["simulations without messages or speech"] == 1
    simulation["messages"] = [{"role": "robot", "content": "x"}]
    assert '$.simulations[0].messages[0].role is "robot"' in problem("tau2", written(path, results))


def test_parlai_logs_know_people_by_their_names(tmp_path: Path) -> None:
    acts = [
        [{"id": "transformer", "text": "hi", "score": 1}, {"id": "localHuman", "text": "yo"}],
        [{"id": "transformer", "text": None}, {"id": "localHuman", "text": "bye"}],
    ]
    context = [{"id": "context", "text": "your persona: a cat"}]
    path = written(tmp_path / "log.jsonl", {"dialog": acts, "context": context, "topic": "pets"})
    (tmp_path / "log.metadata").write_text(json.dumps({"speakers": ["transformer"], "opt": {"lr": 1}}))
    options = Options()
    assert read("parlai", path, options) == [
        Dialogue(
            "1",
            "transformer",
            (
                Turn("system", "your persona: a cat", extra={"id": "context"}),
                Turn("assistant", "hi", extra={"id": "transformer", "score": 1}),
                Turn("user", "yo", extra={"id": "localHuman"}),
                Turn("user", "bye", extra={"id": "localHuman"}),
            ),
            meta={"topic": "pets", "log": {"speakers": ["transformer"]}},
        )
    ]
    assert options.dropped == {"messages without text": 1, "settings of the whole log (`opt`)": 1}


def test_parlai_speakers_whose_role_is_not_known_are_asked_for(tmp_path: Path) -> None:
    flat = [{"speaker": "A", "text": "hi"}, {"speaker": "B", "text": "yo"}]
    path = written(tmp_path / "log.jsonl", {"dialog": flat})
    with pytest.raises(UsageError, match=r"not known .*`A` \(1\), `B` \(1\).*--roles 'A=assistant"):
        list(READERS["parlai"].read(str(path), Options()))
    (dialogue,) = READERS["parlai"].read(str(path), Options(roles={"A": "user", "*": "assistant"}))
    assert dialogue.agent == "B"
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant"]


@pytest.mark.parametrize(
    "names",
    [
        ("alice", "customer_service_bot"),
        ("bob", "personachat_blender"),
        ("human", "partner's persona"),
        ("human", "blender", "partner's persona"),
        ("superhuman", "username_generator"),
    ],
)
def test_parlai_names_that_contain_the_word_for_a_person_are_asked_for(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    path = written(tmp_path / "log.jsonl", {"dialog": [{"id": name, "text": "hi"} for name in names]})
    with pytest.raises(UsageError, match=rf"not known .*`{names[-1]}` \(1\).*--roles"):
        list(READERS["parlai"].read(str(path), Options()))


@pytest.mark.parametrize(
    "person",
    ["human", "User", "Person1", "worker_2", "Turker 1", "customer-12", "localHuman", "human_evaluator"],
)
@pytest.mark.parametrize("bot", ["personachat_blender", "customer_service_bot", "user_simulator"])
def test_parlai_whole_names_of_people_are_users_and_the_other_speaker_is_the_agent(
    tmp_path: Path, person: str, bot: str
) -> None:
    acts = [{"id": bot, "text": "hi"}, {"id": person, "text": "yo"}]
    (dialogue,) = read("parlai", written(tmp_path / "log.jsonl", {"dialog": acts}))
    assert [turn.role for turn in dialogue.turns] == ["assistant", "user"]
    assert dialogue.agent == bot


@pytest.mark.parametrize("rating", ["high", 10**400])
def test_a_final_rating_of_parlai_that_is_no_number_is_an_error_in_words(
    tmp_path: Path, rating: object
) -> None:
    """The second was found by the fuzzer."""
    acts = [{"id": "bot", "text": "hi"}, {"id": "human", "text": "yo", "final_rating": rating}]
    with pytest.raises(DataError, match=r"final_rating.*a number"):
        read("parlai", written(tmp_path / "log.jsonl", {"dialog": acts}))


def test_a_parlai_task_log_with_a_text_that_does_not_say_what_it_is_is_refused(tmp_path: Path) -> None:
    acts = [
        {"id": "human", "text": "USER: a table for two"},
        {"id": "bot", "text": "APICALL: api_name = find"},
        {"id": "bot", "text": "which town ?"},
    ]
    path = written(tmp_path / "log.jsonl", {"dialog": acts})
    message = problem("parlai", path)
    assert ":1: has 2 of 3 texts that begin with USER:" in message
    assert 'such as "which town ?"' in message
    (dialogue,) = READERS["parlai"].read(str(path), Options(roles={"human": "user", "bot": "assistant"}))
    assert [turn.role for turn in dialogue.turns] == ["user", "assistant", "assistant"]


def test_parlai_text_is_episodes_of_texts_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(
        "text:hi\\nthere\tlabels:yo|hello\treward:1\n"
        "text:bye\tlabels:ciao\tepisode_done:True\n"
        "\n"
        "text:again\teval_labels:yes\n"
    )
    assert read("parlai", path) == [
        Dialogue(
            "1",
            "unknown",
            (
                Turn("user", "hi\nthere"),
                Turn("assistant", "yo", references=("hello",), extra={"reward": "1"}),
                Turn("user", "bye"),
                Turn("assistant", "ciao"),
            ),
        ),
        Dialogue("2", "unknown", (Turn("user", "again"), Turn("assistant", "yes"))),
    ]
    path.write_text("text:a\tlabels:b\nno fields here\n")
    assert ':2: is "no fields here"; expected name:value between tabs' in problem("parlai", path)


def exchange(*texts: str) -> Iterator[dict[str, str]]:
    for place, text in enumerate(texts):
        yield {"speaker": ("human_evaluator", "model", "tgt_model")[place % 3], "text": text}


def test_enigma_targets_are_alternatives_and_their_decision_relabels(tmp_path: Path) -> None:
    (tmp_path / "full_w").mkdir()
    line = {
        "dialog": list(exchange("hi", "yes?", "hello?", "book it", "done", "no")),
        "reward": {"reward": 0.2, "flight_score": 0.0},
        "reward_ref": {"reward": 1.0, "flight_score": 1.0},
        "intent": {"goal": "book"},
    }
    path = written(tmp_path / "full_w" / "data.json", line)
    assert read("enigma", path) == [
        Dialogue(
            "1",
            "unknown",
            (
                Turn("user", "hi"),
                Turn("assistant", "yes?", alternatives={"full_w": (Reply("hello?"),)}),
                Turn("user", "book it"),
                Turn(
                    "assistant",
                    "done",
                    alternatives={"full_w": (Reply("no", relabelled={"reward": 0.2, "flight_score": 0.0}),)},
                ),
            ),
            (
                Rating("1", "reward", 1.0, scale=(0.0, 1.0)),
                Rating("1", "flight_score", 1.0, scale=(0.0, 1.0)),
            ),
            meta={"intent": {"goal": "book"}},
        )
    ]


def test_enigma_without_a_reference_reward_rates_the_logged_dialogue(tmp_path: Path) -> None:
    line = {"dialog": list(exchange("__SILENCE__", "hi!", "hey")), "reward": {"enjoy": 0.75}}
    (dialogue,) = read("enigma", written(tmp_path / "target.jsonl", line))
    assert dialogue.turns == (Turn("assistant", "hi!", alternatives={"target": (Reply("hey"),)}),)
    assert [(rating.dimension, rating.value) for rating in dialogue.ratings] == [("enjoy", 0.75)]


def test_enigma_synthetic_lists_are_read_too(tmp_path: Path) -> None:
    lists = {
        "ref_customer_response": ["a"],
        "ref_agent_response": ["b"],
        "gen_agent_response": ["c"],
        "reward": 1,
    }
    (dialogue,) = read("enigma", written(tmp_path / "t.jsonl", lists))
    assert [turn.content for turn in dialogue.turns] == ["a", "b"]
    broken = lists | {"gen_agent_response": []}
    expected = "(there are 1 and 1 and 0)"
    assert expected in problem("enigma", written(tmp_path / "t.jsonl", broken))


def test_what_is_no_enigma_record_is_told_what_one_has(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", {"id": "1", "messages": []})
    expected = ':1: has the keys ["id","messages"]; expected those of an ENIGMA record, `dialog` and `reward`'
    assert expected in problem("enigma", path)
    path = written(tmp_path / "t.jsonl", {"ref_agent_response": []})
    assert "$.ref_customer_response is missing" in problem("enigma", path)


def test_enigma_folders_of_targets_are_one_log(tmp_path: Path) -> None:
    for target, instead in (("5K", "x"), ("10K", "y")):
        (tmp_path / target).mkdir()
        same = {"dialog": list(exchange("hi", "yes", instead)), "reward": 0.5}
        other = {"dialog": list(exchange("hi", f"only {target}", instead)), "reward": 0.5}
        written(tmp_path / target / "data.json", same, same, other)
    dialogues = list(READERS["enigma"].read(str(tmp_path), Options()))
    assert len({dialogue.id for dialogue in dialogues}) == len(dialogues) == 4  # twice the same, and two more
    assert dialogues[0].turns[1].alternatives == {"10K": (Reply("y"),), "5K": (Reply("x"),)}


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("parquet", "hf", "json")])
@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\xff\xfe\x00", b"{", b"[", b"null", b"{}", b"[]", b"[1]", b"a,b\n1\n"]
)
def test_no_reader_takes_rubbish_for_dialogues(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(DataError):
        convert(name, str(path), str(tmp_path / "out.jsonl"))
    assert list(tmp_path.iterdir()) == [path]


def test_the_unified_format_has_two_names_and_is_listed_once(tmp_path: Path) -> None:
    turns = [{"speaker": "user", "utterance": "hi"}]
    path = written(tmp_path / "a.jsonl", {"dialogue_id": "x", "turns": turns})
    for name in ("convlab", "convlab-unified"):
        assert convert(name, str(path), str(tmp_path / name)).n_dialogues == 1
    assert (tmp_path / "convlab").read_bytes() == (tmp_path / "convlab-unified").read_bytes()
    assert [name for name in READERS if name.startswith("convlab")] == ["convlab"]


def test_an_unknown_format_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="there is no reader `opnai`; the nearest are openai"):
        convert("opnai", "a", "b")


def test_a_map_is_refused_where_there_are_no_columns() -> None:
    with pytest.raises(UsageError, match=r"--map and --split are for tables \(json, hf, parquet, csv\)"):
        convert("openai", "a", "b", Options(columns={"id": ("x",)}))


def test_ids_that_repeat_are_not_written(tmp_path: Path) -> None:
    said = {"conversations": [{"from": "human", "value": "hi"}], "id": "same"}
    path = written(tmp_path / "a.jsonl", said, said)
    with pytest.raises(DataError, match='has the id "same" twice'):
        convert("sharegpt", str(path), str(tmp_path / "out.jsonl"))
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("name", ["openai", "tau-bench", "convlab"])
def test_a_large_list_is_read_element_by_element_with_the_same_result(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    one = {
        "openai": {"messages": said, "n": 0.5},
        "tau-bench": {"task_id": 1, "traj": said, "reward": 1.0},
        "convlab": {"dialogue_id": "d", "turns": [{"speaker": "user", "utterance": "hi"}]},
    }[name]
    path = tmp_path / "list.json"
    path.write_text(json.dumps([one, {**one, "dialogue_id": "e", "task_id": 2}], indent=1))
    whole = list(READERS[name].read(str(path), Options()))
    monkeypatch.setattr("turnwise.logs.readers.source.LARGE", 10)
    assert list(READERS[name].read(str(path), Options())) == whole
    assert len(whole) == 2
    path.write_text(json.dumps([one])[:-3])
    with pytest.raises(DataError, match="is not JSON"):
        list(READERS[name].read(str(path), Options()))


def test_bars_tabs_and_line_ends_of_a_parlai_task_are_written_out(tmp_path: Path) -> None:
    path = tmp_path / "task.txt"
    path.write_text(
        "text:a\\tb\\nc\tlabels:d__PIPE__e|f|\tnote:x__PIPE__y\ntext:g\tlabels:|h\tepisode_done:True\n"
    )
    (dialogue,) = read("parlai", path)
    assert [(turn.role, turn.text, turn.references) for turn in dialogue.turns] == [
        ("user", "a\tb\nc", ()),
        ("assistant", "d|e", ("f",)),
        ("user", "g", ()),
        ("assistant", "", ("h",)),
    ]
    assert dialogue.turns[1].extra == {"note": "x|y"}
