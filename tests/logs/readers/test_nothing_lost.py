"""What readers of evaluations and chats keep beside the messages: references, preferences, files, other keys."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import DataError
from turnwise.logs.dialogue import as_record
from turnwise.logs.readers import READERS, recognise
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue


def lines(path: Path, *records: Any) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def read(name: str, path: str, options: Options) -> list[Dialogue]:
    return list(READERS[name].read(path, options))


def answer(model: str, *turns: str) -> dict[str, Any]:
    return {
        "question_id": 7,
        "model_id": model,
        "answer_id": "x",
        "choices": [{"index": 0, "turns": list(turns)}],
    }


QUESTION = {"question_id": 7, "category": "math", "turns": ["2 + 2 ?", "and 3 ?"], "reference": ["4", ""]}


def test_references_of_mt_bench_are_references_of_the_replies(tmp_path: Path) -> None:
    questions = lines(tmp_path / "q.jsonl", QUESTION)
    options = Options(more=(lines(tmp_path / "a.jsonl", answer("org/m1", "four", "five")),))
    (dialogue,) = read("mt-bench", questions, options)
    assert [turn.references for turn in dialogue.turns] == [(), ("4",), (), ()]
    assert (dialogue.meta["answer_id"], dialogue.meta["category"]) == ("x", "math")
    assert not options.dropped


def test_a_question_of_mt_bench_without_an_answer_is_counted(tmp_path: Path) -> None:
    questions = lines(tmp_path / "q.jsonl", QUESTION)
    options = Options(more=(lines(tmp_path / "a.jsonl", answer("m1", "four")),))
    (dialogue,) = read("mt-bench", questions, options)
    assert len(dialogue.turns) == 2
    assert options.dropped == {"turns that have a question or an answer only": 1}


def test_a_question_of_mt_bench_that_nobody_answers_is_counted(tmp_path: Path) -> None:
    questions = lines(tmp_path / "q.jsonl", QUESTION, {"question_id": 8, "turns": ["why ?"]})
    options = Options(more=(lines(tmp_path / "a.jsonl", answer("m1", "four", "five")),))
    assert len(read("mt-bench", questions, options)) == 1
    assert options.dropped == {"questions that no model answers": 1}


def test_models_of_mt_bench_with_the_same_short_name_have_ids_that_differ(tmp_path: Path) -> None:
    def judged(model: str, score: int) -> dict[str, Any]:
        return {"question_id": 7, "model": model, "judge": "j", "turn": 1, "score": score}

    answers = lines(tmp_path / "a.jsonl", answer("org1/m", "four", "five"), answer("org2/m", "4", "5"))
    marks = lines(tmp_path / "j.jsonl", judged("org2/m", 9), judged("org1/m", 3))
    options = Options(more=(answers, marks))
    first, second = read("mt-bench", lines(tmp_path / "q.jsonl", QUESTION), options)
    assert (first.id, second.id) == ("7-org1/m", "7-org2/m")
    assert [one.ratings[0].value for one in (first, second)] == [3, 9]
    marks = lines(tmp_path / "j.jsonl", judged("m", 9))
    with pytest.raises(DataError, match=r'j.jsonl:1: names the model "m", which may be org1/m or org2/m'):
        read("mt-bench", str(tmp_path / "q.jsonl"), Options(more=(answers, marks)))


def test_a_second_answer_of_mt_bench_is_an_error_at_its_line(tmp_path: Path) -> None:
    answers = lines(tmp_path / "a.jsonl", answer("m", "four", "five"), answer("m", "4", "5"))
    with pytest.raises(
        DataError, match=r"a\.jsonl:2: is a second answer of \"m\" to question 7; .*a\.jsonl:1"
    ):
        read("mt-bench", lines(tmp_path / "q.jsonl", QUESTION), Options(more=(answers,)))


def test_judged_pairs_of_mt_bench_are_preferences(tmp_path: Path) -> None:
    def pair(first: str, second: str, *winners: str, turn: int = 1) -> dict[str, Any]:
        won = dict(zip(("g1_winner", "g2_winner"), winners, strict=True))
        return {
            "question_id": 7,
            "model_1": first,
            "model_2": second,
            "judge": ["gpt-4", "pair-v2"],
            "turn": turn,
            **won,
        }

    files = (
        lines(tmp_path / "a.jsonl", answer("org/m1", "four", "five"), answer("org/m2", "4", "5")),
        lines(
            tmp_path / "j.jsonl",
            pair("m1", "m2", "model_2", "model_2"),
            pair("m1", "m2", "model_1", "model_2", turn=2),
            pair("m2", "m1", "error", "model_1"),
            pair("m1", "m3", "tie", "tie"),
        ),
    )
    options = Options(more=files)
    first, second = read("mt-bench", lines(tmp_path / "q.jsonl", QUESTION), options)
    assert [(one.other, one.winner, one.turn, one.rater) for one in first.preferences] == [
        ("7-m2", "other", 1, "gpt-4"),
        ("7-m2", "tie", 3, "gpt-4"),
    ]
    kept = first.preferences[1].extra
    assert kept == {
        "judge": ["gpt-4", "pair-v2"],
        "automatic": True,
        "g1_winner": "model_1",
        "g2_winner": "model_2",
    }
    assert not second.preferences
    assert options.dropped == {
        "judgments that failed (winner error)": 1,
        "judgments of answers that are not here": 1,
    }


@pytest.mark.parametrize("batch", [False, True])
def test_what_a_response_says_beside_its_reply_is_kept(tmp_path: Path, batch: bool) -> None:
    def choice(place: int, text: str) -> dict[str, Any]:
        return {"index": place, "finish_reason": "length", "message": {"role": "assistant", "content": text}}

    response = {"id": "resp", "model": "m-2024", "usage": {"total_tokens": 7}, "system_fingerprint": "fp"}
    answered: Any = {**response, "choices": [choice(0, "one"), choice(1, "two")]}
    kept: Any = {**response, "choices": [{"index": 0, "finish_reason": "length"}, choice(1, "two")]}
    if batch:
        answered, kept = ({"status_code": 200, "body": one} for one in (answered, kept))
    asked = {"messages": [{"role": "user", "content": "hi"}], "model": "m"}
    options = Options()
    (dialogue,) = read("openai", lines(tmp_path / "a.jsonl", {**asked, "response": answered}), options)
    assert [turn.text for turn in dialogue.turns] == ["hi", "one"]
    assert dialogue.meta == {"response": kept}
    assert (dialogue.agent, options.dropped) == ("m", {})


def test_choices_beside_the_messages_end_the_dialogue(tmp_path: Path) -> None:
    choices = [{"index": 0, "message": {"role": "assistant", "content": "one"}}]
    record = {"messages": [{"role": "user", "content": "hi"}], "choices": choices, "usage": {"total": 3}}
    (dialogue,) = read("openai", lines(tmp_path / "a.jsonl", record), Options())
    assert [turn.text for turn in dialogue.turns] == ["hi", "one"]
    assert (dialogue.meta, dialogue.extra) == (
        {"response": {"choices": [{"index": 0}]}},
        {"usage": {"total": 3}},
    )


def test_a_part_of_an_unknown_type_stays_a_part(tmp_path: Path) -> None:
    summary = {"type": "summary_text", "text": "long ago"}
    for name, record in (
        ("openai", {"messages": [{"role": "user", "content": [summary]}]}),
        ("anthropic", {"messages": [{"role": "user", "content": [summary]}]}),
    ):
        (dialogue,) = read(name, lines(tmp_path / "a.jsonl", record), Options())
        assert (list(dialogue.turns[0].parts), dialogue.turns[0].text) == ([summary], "")


def test_results_of_an_anthropic_batch_are_read_beside_their_requests(tmp_path: Path) -> None:
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "hello"}],
    }
    results = {"custom_id": "a", "result": {"type": "succeeded", "message": message}}
    path = lines(tmp_path / "a.jsonl", results)
    assert recognise(path) == "anthropic"
    with pytest.raises(DataError, match="join the batch's results with its requests by `custom_id`"):
        read("anthropic", path, Options())
    params = {"model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    (dialogue,) = read("anthropic", lines(tmp_path / "a.jsonl", {**results, "params": params}), Options())
    assert (dialogue.id, dialogue.agent, [turn.text for turn in dialogue.turns]) == (
        "a",
        "c",
        ["hi", "hello"],
    )
    assert dialogue.meta["result"] == {"type": "succeeded"}


def test_promptfoo_keeps_what_was_asserted_and_counts_the_settings(tmp_path: Path) -> None:
    checked = {
        "pass": True,
        "componentResults": [{"pass": True, "assertion": {"type": "contains", "value": "Lima"}}],
    }
    result = {
        "id": "r1", "provider": {"id": "m1"}, "prompt": {"raw": "Capital?", "label": "capital"}, "score": 1,
        "response": {"output": "Lima", "tokenUsage": {"total": 3}}, "gradingResult": checked, "testIdx": 4,
    }  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"evalId": "e", "config": {}, "results": {"results": [result]}}))
    options = Options()
    (dialogue,) = read("promptfoo", str(path), options)
    assert dialogue.meta["gradingResult"] == checked
    assert dialogue.meta["prompt"] == {"label": "capital"}
    assert dialogue.meta["response"] == {"tokenUsage": {"total": 3}}
    assert options.dropped == {"settings and totals of the whole evaluation": 1}


def test_alpaca_eval_keeps_what_it_says_of_the_judgment(tmp_path: Path) -> None:
    record = {
        "instruction": "hi", "output_1": "yo", "output_2": "hello", "generator_1": "a", "generator_2": "b",
        "preference": 1.0, "annotator": "gpt", "price_per_example": 0.5, "raw_completion": {"tokens": 9},
    }  # fmt: skip
    first, _ = read("preferences", lines(tmp_path / "a.jsonl", record), Options())
    (kept,) = as_record(first)["preferences"]
    assert (kept["value"], kept["price_per_example"], kept["raw_completion"]) == (1.0, 0.5, {"tokens": 9})


def test_slack_keeps_files_as_parts_and_other_keys_beside_the_message(tmp_path: Path) -> None:
    file = {"id": "F1", "name": "plan.pdf"}
    said = [
        {
            "type": "message",
            "user": "U1",
            "text": "see this",
            "ts": "1.0",
            "files": [file],
            "reactions": [{"name": "ok"}],
        },
        {
            "type": "message",
            "subtype": "file_share",
            "upload": True,
            "user": "U1",
            "text": "",
            "ts": "2.0",
            "file": file,
        },
        {"type": "message", "bot_id": "B1", "text": "thanks <@U1>", "ts": "3.0"},
    ]
    (tmp_path / "general").mkdir()
    (tmp_path / "general" / "2024-01-01.json").write_text(json.dumps(said))
    (tmp_path / "users.json").write_text(json.dumps([{"id": "U1", "name": "ann"}]))
    options = Options(roles={"B1": "assistant", "*": "user"})
    (dialogue,) = read("slack", str(tmp_path), options)
    assert [turn.text for turn in dialogue.turns] == ["see this", "", "thanks @ann"]
    assert [list(turn.parts) for turn in dialogue.turns[:2]] == [
        [{"type": "text", "text": "see this"}, {"type": "file", "file": file}],
        [{"type": "file", "file": file}],
    ]
    assert dialogue.turns[0].extra["reactions"] == [{"name": "ok"}]
    assert not options.dropped


def test_rasa_keeps_events_that_are_no_messages(tmp_path: Path) -> None:
    events = [
        {"event": "action", "name": "action_listen", "timestamp": 1.0},
        {"event": "user", "text": "hi", "parse_data": {"intent": {"name": "greet"}, "entities": []}},
        {"event": "bot", "text": "hello", "metadata": {"utter_action": "utter_greet"}},
    ]
    tracker = {"sender_id": "s", "events": events, "paused": False}
    (dialogue,) = read("rasa", lines(tmp_path / "t.jsonl", tracker), Options())
    assert dialogue.meta["events"] == events[:1]
    assert dialogue.meta["tracker"] == {"paused": False}
    assert dialogue.turns[0].extra["intent"] == "greet"
    assert dialogue.turns[1].extra["metadata"] == {"utter_action": "utter_greet"}


def test_keys_of_blocks_of_anthropic_are_kept(tmp_path: Path) -> None:
    cited = {"type": "text", "text": "b", "citations": [{"cited_text": "x"}]}
    blocks = [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        cited,
        {"type": "tool_use", "id": "c1", "name": "find", "input": {}, "cache_control": {"type": "ephemeral"}},
    ]
    system = [{"type": "text", "text": "p", "cache_control": {"type": "ephemeral"}}]
    asked = {"model": "m", "max_tokens": 9, "system": system, "messages": [{"role": "user", "content": "a"}]}
    answered = {"role": "assistant", "content": blocks, "stop_reason": "tool_use"}
    path = lines(tmp_path / "a.jsonl", {"request": asked, "response": answered})
    (dialogue,) = read("anthropic", path, Options())
    prompt, _, reply = as_record(dialogue)["messages"]
    assert prompt["content"] == system
    assert reply["content"] == [cited]
    assert (reply["thinking"], reply["thinking_blocks"]) == ("t", blocks[:2])
    assert reply["tool_calls"][0]["cache_control"] == {"type": "ephemeral"}
    assert reply["stop_reason"] == "tool_use"
    assert dialogue.meta["request"] == {"max_tokens": 9}
    assert [turn.content for turn in dialogue.turns] == ["p", "a", "b"]


def test_a_redacted_thought_alone_is_no_empty_text(tmp_path: Path) -> None:
    blocks = [{"type": "redacted_thinking", "data": "d"}, {"type": "text", "text": "b"}]
    path = lines(tmp_path / "a.jsonl", {"messages": [{"role": "assistant", "content": blocks}]})
    (dialogue,) = read("anthropic", path, Options())
    (reply,) = as_record(dialogue)["messages"]
    assert reply == {"role": "assistant", "content": "b", "thinking_blocks": blocks[:1]}


def test_keys_of_messages_of_threads_are_kept(tmp_path: Path) -> None:
    noted = [{"type": "file_citation", "text": "[1]"}]
    more = {"id": "m1", "run_id": "r", "metadata": {"a": "b"}, "attachments": [{"file_id": "f"}]}
    message = {
        "object": "thread.message",
        "thread_id": "t",
        "role": "user",
        "content": [{"type": "text", "text": {"value": "hi", "annotations": noted}}],
        **more,
    }
    options = Options()
    path = lines(tmp_path / "a.jsonl", {"object": "list", "data": [message], "has_more": False})
    (dialogue,) = read("openai", path, options)
    (turn,) = as_record(dialogue)["messages"]
    assert turn == {"role": "user", "content": [{"annotations": noted, "type": "text", "text": "hi"}], **more}
    assert options.dropped == {"keys of a list of messages (`first_id`, `has_more` and others)": 1}
