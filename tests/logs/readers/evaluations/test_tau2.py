"""Results of tau2-bench: voice runs, crashed simulations, large files."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import DataError
from turnwise.logs.readers import READERS, recognise, sniff, source
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue

ABOUT = {"timestamp": "t", "info": {"agent_info": {"llm": "m"}}, "tasks": [{"id": "1"}, {"id": "2"}]}


def simulation(name: str = "s1", **more: Any) -> dict[str, Any]:
    return {"id": name, "task_id": "1", **more}


def written(folder: Path, *simulations: dict[str, Any]) -> str:
    path = folder / "results.json"
    path.write_text(json.dumps({**ABOUT, "simulations": simulations}))
    return str(path)


def spoken(folder: Path, *ticks: dict[str, Any], options: Options | None = None) -> Dialogue:
    numbered = [{"tick_id": place, **tick} for place, tick in enumerate(ticks)]
    (dialogue,) = READERS["tau2"].read(written(folder, simulation(ticks=numbered)), options or Options())
    return dialogue


def user(script: str) -> dict[str, Any]:
    return {"user_chunk": {"role": "user", "contains_speech": True, "audio_script_gold": script}}


def agent(content: str, *utterances: str, **more: Any) -> dict[str, Any]:
    piece = {"role": "assistant", "contains_speech": True, "content": content}
    return {"agent_chunk": piece | ({"utterance_ids": list(utterances)} if utterances else {}), **more}


def script(active: str, uuid: str = "u1") -> str:
    chunks = "<chunk id=0>Hello, </chunk><chunk id=1>my &lt;late&gt; order</chunk><chunk id=2> again</chunk>"
    return f'<message uuid="{uuid}" active="{active}">{chunks}</message>'


CALL = {"id": "c1", "name": "get_order", "arguments": {"id": "7"}, "requestor": "assistant"}
RESULT = {"id": "c1", "role": "tool", "content": "late", "requestor": "assistant"}


def test_only_the_active_chunks_of_a_script_are_said_and_each_once(tmp_path: Path) -> None:
    options = Options()
    dialogue = spoken(tmp_path, user(script("0")), user(script("0,1")), user(script("1")), options=options)
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [("user", "Hello, my <late> order")]
    assert dialogue.turns[0].extra["ticks"] == [0, 2]
    assert options.dropped["pieces of a script that were never spoken"] == 1


def test_calls_and_results_of_a_tick_are_tool_calls_and_tool_messages(tmp_path: Path) -> None:
    dialogue = spoken(
        tmp_path,
        user(script("0")),
        agent("Let me see. ", agent_tool_calls=[CALL], agent_tool_results=[RESULT]),
        agent("It is late."),
    )
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [
        ("user", "Hello, "),
        ("assistant", "Let me see. "),
        ("tool", "late"),
        ("assistant", "It is late."),
    ]
    (call,) = dialogue.turns[1].tool_calls
    assert (call["function"]["name"], call["id"]) == ("get_order", "c1")
    assert dialogue.turns[2].extra["tool_call_id"] == "c1"


def test_a_user_may_call_tools_without_a_word(tmp_path: Path) -> None:
    dialogue = spoken(
        tmp_path,
        agent("Restart it."),
        {"user_tool_calls": [CALL], "user_tool_results": [RESULT]},
        agent("Done?"),
    )
    assert [(turn.role, turn.text, len(turn.tool_calls)) for turn in dialogue.turns] == [
        ("assistant", "Restart it.", 0),
        ("user", "", 1),
        ("tool", "late", 0),
        ("assistant", "Done?", 0),
    ]


def test_pieces_of_one_utterance_are_one_message_also_if_the_other_side_speaks_meanwhile(
    tmp_path: Path,
) -> None:
    dialogue = spoken(
        tmp_path,
        agent("Your order ", "a1"),
        user(script("0")) | agent("is late ", "a1"),
        user(script("1")) | agent("today.", "a1", agent_tool_calls=[CALL]),
        agent("Anything else?", "a2"),
    )
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [
        ("assistant", "Your order is late today."),
        ("user", "Hello, my <late> order"),
        ("assistant", ""),
        ("assistant", "Anything else?"),
    ]


def test_keys_of_ticks_and_pieces_are_counted_by_what_they_are(tmp_path: Path) -> None:
    options = Options()
    loud = {
        "agent_chunk": {
            "contains_speech": True,
            "content": "hi",
            "speech_effects": {"a": 1},
            "audio_path": "x",
        }
    }
    spoken(tmp_path, {"timestamp": "t", "user_chunk": {"contains_speech": False}}, loud, options=options)
    assert options.dropped["times and other keys of ticks"] == 1
    assert options.dropped["effects, audio and other keys of pieces of speech"] == 2


def test_a_piece_on_the_wrong_side_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'ticks\[0\]\.user_chunk\.role is "assistant"; expected user'):
        spoken(tmp_path, {"user_chunk": {"role": "assistant", "content": "hi"}})


def test_a_crashed_simulation_of_a_folder_is_counted(tmp_path: Path) -> None:
    (tmp_path / "simulations").mkdir()
    (tmp_path / "results.json").write_text(json.dumps(ABOUT))
    whole = simulation("a", messages=[{"role": "user", "content": "hi"}])
    silent = simulation("c", ticks=[{"tick_id": 0, "user_chunk": {"contains_speech": False}}])
    for one in (whole, simulation("b", termination_reason="error"), silent):
        (tmp_path / "simulations" / f"{one['id']}.json").write_text(json.dumps(one))
    options = Options()
    found = list(READERS["tau2"].read(str(tmp_path), options))
    assert [one.id for one in found] == ["a"]
    assert options.dropped["simulations without messages or speech"] == 2
    assert options.dropped["tasks without a simulation"] == 1


def test_a_large_file_is_read_simulation_by_simulation_to_the_same_dialogues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [{"role": "user", "content": "hi"}]
    path = written(
        tmp_path, *(simulation(f"s{place}", messages=said) for place in range(3)), simulation("s3")
    )
    whole, parts = Options(), Options()
    expected = list(READERS["tau2"].read(path, whole))
    monkeypatch.setattr(source, "LARGE", 1)
    monkeypatch.setattr(source, "read_json", lambda _: pytest.fail("the file is read whole"))
    assert list(READERS["tau2"].read(path, parts)) == expected
    assert (parts.dropped, len(expected)) == (whole.dropped, 3)


def test_a_large_file_is_recognised_by_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = [{"role": "user", "content": "hi"}]
    path = written(tmp_path, *(simulation(f"s{place}", messages=said) for place in range(9)))
    Path(path).write_text(json.dumps(json.loads(Path(path).read_text()), indent=1))
    monkeypatch.setattr(sniff, "LARGE", 1)
    monkeypatch.setattr(sniff, "BEGIN", 300)
    assert recognise(path) == "tau2"
    assert len(sniff.sample(path).first["simulations"]) < 4


def test_a_large_file_that_is_cut_off_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(written(tmp_path, simulation(messages=[{"role": "user", "content": "hi"}])))
    path.write_bytes(path.read_bytes()[:-5])
    monkeypatch.setattr(source, "LARGE", 1)
    with pytest.raises(DataError, match="is not JSON"):
        list(READERS["tau2"].read(str(path), Options()))


def test_marks_of_the_protocol_are_no_part_of_what_the_user_said() -> None:
    from turnwise.logs.readers.protocol_marks import without_marks

    whole = "Thanks, that is all. ###STOP###"
    both = without_marks({"role": "user", "content": whole})
    assert (both["content"], both["source_content"]) == ("Thanks, that is all.", whole)
    assert without_marks({"role": "user", "content": "###TRANSFER###"})["content"] == ""
    quoted = {"role": "assistant", "content": "Say ###STOP### to end."}
    assert without_marks(quoted) is quoted
