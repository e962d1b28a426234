"""Chats of agent frameworks, answers and votes of arenas, trees of OpenAssistant: what is read of them."""

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.text_leaves import lost, raw
from tests.user_variables import corpora
from turnwise.errors import DataError
from turnwise.logs import native
from turnwise.logs.conversion import Converted, convert
from turnwise.types import Dialogue

WRITTEN = Path(__file__).parents[2] / "fixtures" / "written"
TREES = corpora().parent / "wild_more" / "oasst_trees.jsonl"
QUESTION, REPLY = "A table for two tonight, please.", "Table 7 is free at seven."


def read(source: Path, tmp_path: Path) -> tuple[list[Dialogue], Converted]:
    """The dialogues of a file whose format is recognised."""
    out = tmp_path / "out.jsonl"
    done = convert(None, str(source), str(out))
    return list(native.read(str(out))), done


def of_records(records: list[Any], tmp_path: Path) -> tuple[list[Dialogue], Converted]:
    """The dialogues of JSON Lines."""
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    return read(source, tmp_path)


def said(dialogue: Dialogue) -> list[tuple[str, str]]:
    """Role and text of each message."""
    return [(turn.role, turn.text) for turn in dialogue.turns]


@pytest.mark.parametrize("name", ["vercel_ui_messages.json", "vercel_model_messages.json"])
def test_chats_that_the_ai_sdk_wrote_have_their_calls_results_and_errors(name: str, tmp_path: Path) -> None:
    (dialogue,), done = read(WRITTEN / name, tmp_path)
    assert done.name == "vercel"
    assert said(dialogue) == [
        ("user", QUESTION), ("assistant", ""), ("tool", '{"table":7}'), ("tool", "no forecast"), ("assistant", REPLY),
    ]  # fmt: skip
    calls = [(call["id"], call["function"]["name"]) for call in dialogue.turns[1].tool_calls]
    assert calls == [("call_1", "findTable"), ("call_2", "checkWeather")]
    assert json.loads(dialogue.turns[1].tool_calls[0]["function"]["arguments"]) == {
        "people": 2,
        "time": "19:00",
    }
    assert [turn.extra["tool_call_id"] for turn in dialogue.turns[2:4]] == ["call_1", "call_2"]
    assert [turn.extra.get("error") for turn in dialogue.turns[2:4]] == [None, True]
    assert dialogue.turns[1].extra["reasoning"][0]["text"] == "They want a table."


def test_a_chat_of_version_4_of_the_ai_sdk_has_its_invocations(tmp_path: Path) -> None:
    invocation = {
        "state": "result", "toolCallId": "c1", "toolName": "find", "args": {"n": 2}, "result": {"table": 7},
    }  # fmt: skip
    messages = [
        {"id": "1", "role": "user", "content": QUESTION},
        {"id": "2", "role": "assistant", "content": REPLY, "toolInvocations": [invocation]},
    ]
    source = tmp_path / "chat.json"
    source.write_text(json.dumps(messages))
    (dialogue,), _ = read(source, tmp_path)
    assert said(dialogue) == [
        ("user", QUESTION),
        ("assistant", ""),
        ("tool", '{"table":7}'),
        ("assistant", REPLY),
    ]


def test_the_history_that_livekit_wrote_has_its_calls_and_interruptions(tmp_path: Path) -> None:
    (dialogue,), done = read(WRITTEN / "livekit_history.json", tmp_path)
    assert done.name == "livekit"
    assert said(dialogue) == [
        ("system", "You book tables."), ("user", QUESTION), ("assistant", ""), ("tool", '{"table": 7}'),
        ("assistant", f"{REPLY} Shall I"), ("user", "Yes, book it."), ("assistant", "Done."),
    ]  # fmt: skip
    (call,) = dialogue.turns[2].tool_calls
    assert (call["id"], call["function"]["name"]) == ("call_1", "find_table")
    assert dialogue.turns[3].extra["tool_call_id"] == "call_1"
    assert [turn.extra.get("interrupted") for turn in dialogue.turns[4:]] == [True, False, False]


def test_the_context_that_pipecat_wrote_is_one_dialogue(tmp_path: Path) -> None:
    (dialogue,), _ = read(WRITTEN / "pipecat_context.json", tmp_path)
    assert [turn.role for turn in dialogue.turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert dialogue.turns[2].tool_calls[0]["function"]["name"] == "find_table"


def test_thinking_blocks_of_anthropic_are_beside_the_reply_and_not_in_it(tmp_path: Path) -> None:
    (dialogue,), done = read(WRITTEN / "anthropic_thinking.json", tmp_path)
    assert (done.name, dialogue.agent) == ("anthropic", "claude-x")
    assert [turn.text for turn in dialogue.turns if turn.role == "assistant"] == [REPLY, REPLY]
    assert dialogue.turns[2].extra["thinking"] == "They want a table."
    assert [block["type"] for block in dialogue.turns[2].extra["thinking_blocks"]] == [
        "thinking",
        "redacted_thinking",
    ]


@pytest.mark.parametrize("name", ["langchain_messages", "langchain_dumpd", "pydantic_ai"])
def test_messages_that_frameworks_wrote_have_their_roles_and_calls(name: str, tmp_path: Path) -> None:
    (dialogue,), done = read(WRITTEN / f"{name}.json", tmp_path)
    assert done.name == "frameworks"
    roles = [
        (turn.role, turn.text.replace(" ", "") if turn.role == "tool" else turn.text)
        for turn in dialogue.turns
    ]
    assert roles == [
        ("system", "You book tables."), ("user", QUESTION), ("assistant", ""), ("tool", '{"table":7}'),
        ("assistant", REPLY),
    ]  # fmt: skip
    (call,) = dialogue.turns[2].tool_calls
    assert (call["id"], call["function"]["name"]) == ("call_1", "find_table")
    assert json.loads(call["function"]["arguments"]) == {"people": 2}
    assert dialogue.turns[3].extra["tool_call_id"] == "call_1"
    assert dialogue.agent == ("m1" if name == "pydantic_ai" else "unknown")


def test_the_items_that_openai_agents_wrote_are_one_dialogue(tmp_path: Path) -> None:
    (dialogue,), done = read(WRITTEN / "openai_agents.json", tmp_path)
    assert done.name == "openai"
    assert said(dialogue) == [
        ("user", QUESTION),
        ("assistant", ""),
        ("tool", '{"table": 7}'),
        ("assistant", REPLY),
    ]
    (call,) = dialogue.turns[1].tool_calls
    assert (call["id"], call["function"]["name"]) == ("call_1", "find_table")
    assert dialogue.turns[2].extra["tool_call_id"] == "call_1"


def test_messages_that_llama_index_wrote_have_the_texts_of_their_blocks(tmp_path: Path) -> None:
    (dialogue,), _ = read(WRITTEN / "llama_index.json", tmp_path)
    assert said(dialogue) == [("user", QUESTION), ("assistant", REPLY)]


def test_the_state_of_a_graph_is_one_dialogue_in_each_record(tmp_path: Path) -> None:
    state = {
        "thread_id": "t",
        "messages": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello"}],
    }
    dialogues, done = of_records([state, state | {"thread_id": "u"}], tmp_path)
    assert (done.name, [one.id for one in dialogues]) == ("frameworks", ["t", "u"])
    assert all(said(one) == [("user", "Hi"), ("assistant", "Hello")] for one in dialogues)


MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


@pytest.mark.parametrize(
    ("value", "count"),
    [(MESSAGES, 1), ([MESSAGES, MESSAGES], 2), ([{"history": MESSAGES, "session_id": "s"}], 1)],
)
def test_a_list_of_messages_is_one_dialogue_and_a_list_of_lists_is_several(
    value: Any, count: int, tmp_path: Path
) -> None:
    source = tmp_path / "chat.json"
    source.write_text(json.dumps(value))
    dialogues, done = read(source, tmp_path)
    assert [said(dialogue) for dialogue in dialogues] == [[("user", "Hi"), ("assistant", "Hello")]] * count
    assert done.name == "messages"


def test_an_answer_of_arena_hard_is_the_text_of_its_message(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": {"answer": "Lima.", "thought": "Peru"}}
    record = {"uid": "u", "ans_id": "a", "model": "m1", "messages": [MESSAGES[0], reply], "tstamp": 1.5}
    (dialogue,), _ = of_records([record], tmp_path)
    assert dialogue.agent == "m1"
    assert said(dialogue)[1] == ("assistant", "Lima.")
    assert dialogue.turns[1].extra == {"thought": "Peru"}


def response(identity: str, before: str | None, question: str, answer: str) -> dict[str, Any]:
    """A stored response of OpenAI."""
    text = {"type": "output_text", "text": answer, "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": identity, "object": "response", "model": "m1", "instructions": "Be brief.",
        "previous_response_id": before, "input": question, "usage": {"n": 1},
        "output": [{"type": "reasoning", "id": "r", "summary": []}, message],
    }  # fmt: skip


def test_responses_that_continue_each_other_are_one_dialogue(tmp_path: Path) -> None:
    records = [
        response("r1", None, "A?", "a"),
        response("x", None, "X?", "x"),
        response("r2", "r1", "B?", "b"),
    ]
    dialogues, _ = of_records(records, tmp_path)
    assert [(one.id, said(one)) for one in dialogues] == [
        ("x", [("system", "Be brief."), ("user", "X?"), ("assistant", "x")]),
        (
            "r2",
            [("system", "Be brief."), ("user", "A?"), ("assistant", "a"), ("user", "B?"), ("assistant", "b")],
        ),
    ]
    (earlier,) = dialogues[1].meta["responses"]
    assert (earlier["id"], earlier["usage"]) == ("r1", {"n": 1})


def test_a_response_that_names_one_of_another_file_stands_alone(tmp_path: Path) -> None:
    (dialogue,), _ = of_records([response("r2", "elsewhere", "B?", "b")], tmp_path)
    assert said(dialogue)[-1] == ("assistant", "b")


def test_the_list_of_stored_completions_has_one_dialogue_each(tmp_path: Path) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": MESSAGES[1]}
    stored = [
        {
            "object": "chat.completion",
            "id": f"c{n}",
            "model": "m1",
            "choices": [choice],
            "messages": MESSAGES[:1],
        }
        for n in (1, 2)
    ]
    source = tmp_path / "stored.json"
    source.write_text(json.dumps({"object": "list", "data": stored, "has_more": False}, indent=1))
    dialogues, done = read(source, tmp_path)
    assert [one.id for one in dialogues] == ["c1", "c2"]
    assert all(said(one) == [("user", "Hi"), ("assistant", "Hello")] for one in dialogues)
    assert dict(done.dropped) == {"keys of a list of messages (`first_id`, `has_more` and others)": 1}


def test_a_stored_completion_without_its_question_is_an_error_that_says_so(tmp_path: Path) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": MESSAGES[1]}
    with pytest.raises(DataError, match="has replies without what was asked"):
        of_records([{"object": "chat.completion", "id": "c", "model": "m", "choices": [choice]}], tmp_path)


def vote(first: str, second: str, winner: str, turn: int, judge: str) -> dict[str, Any]:
    """A vote of MT-bench on the answers of two models."""

    def answers(model: str) -> list[dict[str, str]]:
        said = [("user", "A?"), ("assistant", f"{model} a"), ("user", "B?"), ("assistant", f"{model} b")]
        return [{"role": role, "content": text} for role, text in said]

    return {
        "question_id": 81, "model_a": first, "model_b": second, "winner": winner, "judge": judge, "turn": turn,
        "conversation_a": answers(first), "conversation_b": answers(second),
    }  # fmt: skip


VOTES = [
    vote("m1", "m2", "model_a", 1, "expert_1"),
    vote("m1", "m2", "tie", 2, "author_3"),
    vote("m3", "m1", "model_b", 1, "gpt4_pair"),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_the_votes_of_mt_bench_stand_on_one_dialogue_of_each_answer(suffix: str, tmp_path: Path) -> None:
    source = tmp_path / f"votes{suffix}"
    if suffix == ".parquet":
        polars = pytest.importorskip("polars")
        polars.DataFrame(VOTES).write_parquet(source)
    else:
        source.write_text("".join(json.dumps(one) + "\n" for one in VOTES))
    dialogues, _ = read(source, tmp_path)
    assert [(one.id, one.agent) for one in dialogues] == [("81-m1", "m1"), ("81-m2", "m2"), ("81-m3", "m3")]
    choices = [
        (one.other, one.winner, one.turn, one.rater, one.extra.get("automatic"))
        for dialogue in dialogues
        for one in dialogue.preferences
    ]
    assert choices == [
        ("81-m2", "this", 1, "expert_1", None),
        ("81-m2", "tie", 3, "author_3", None),
        ("81-m1", "other", 1, "gpt4_pair", True),
    ]


def test_an_answer_that_differs_between_votes_is_an_error(tmp_path: Path) -> None:
    other = vote("m1", "m2", "model_a", 1, "expert_2")
    other["conversation_a"][1]["content"] = "something else"
    with pytest.raises(
        DataError, match="expected the same answer of this model in all votes on the question"
    ):
        of_records([VOTES[0], other], tmp_path)


def test_the_attributes_of_helpsteer_are_ratings_and_its_strengths_preferences(tmp_path: Path) -> None:
    names = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")
    rated = {"prompt": "Hi", "response": "Hello", **dict(zip(names, (3, 4, 4, 1, 0), strict=True))}
    (dialogue,), _ = of_records([rated], tmp_path)
    ratings = {one.dimension: (one.value, one.scale, one.turn) for one in dialogue.ratings}
    assert ratings["helpfulness"] == (3.0, (0.0, 4.0), 1)
    assert ratings["verbosity"] == (0.0, (0.0, 4.0), 1)
    assert len(ratings) == 5
    second = {"prompt": "Hi", "response_1": "a", "response_2": "b", "preference_strength": -2}
    third = {"context": MESSAGES[:1], "response1": "a", "response2": "b", "overall_preference": 1}
    pairs, _ = of_records([second, third], tmp_path)
    assert [one.preferences[0].winner for one in pairs if one.preferences] == ["this", "other"]
    assert said(pairs[2]) == [("user", "Hi"), ("assistant", "a")]


def test_a_chat_about_an_image_keeps_personalities_and_the_image(tmp_path: Path) -> None:
    record = {
        "image_hash": "abc",
        "dialog": [["Sweet", "What a cat!"], ["Rude", "It is fat."], ["Sweet", "No!"]],
    }
    (dialogue,), done = of_records([record], tmp_path)
    assert (done.name, dialogue.agent, dialogue.meta) == ("parlai", "human", {"image_hash": "abc"})
    assert [turn.role for turn in dialogue.turns] == ["assistant", "user", "assistant"]
    assert [turn.extra["personality"] for turn in dialogue.turns] == ["Sweet", "Rude", "Sweet"]
    assert [turn.extra.get("judged") for turn in dialogue.turns] == [False, None, None]


def replies_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    """All messages of a tree."""
    return [message, *(inner for reply in message.get("replies", []) for inner in replies_in(reply))]


@pytest.mark.skipif(not TREES.is_file(), reason="needs the trees of OpenAssistant")
@pytest.mark.parametrize("form", ["trees", "rows"])
def test_all_replies_and_ranked_pairs_of_openassistant_are_read_once(form: str, tmp_path: Path) -> None:
    trees = [json.loads(line) for line in TREES.read_text(encoding="utf-8").splitlines()]
    messages = [message for tree in trees for message in replies_in(tree["prompt"])]
    if form == "trees":
        dialogues, done = read(TREES, tmp_path)
    else:
        rows = []
        for tree in trees:
            beside = {
                "message_tree_id": tree["message_tree_id"],
                "tree_state": tree["tree_state"],
                "parent_id": None,
            }
            for message in replies_in(tree["prompt"]):
                rows.append({**beside, **{key: one for key, one in message.items() if key != "replies"}})
        dialogues, done = of_records(rows, tmp_path)
    assert done.name == "oasst"
    judged = [
        turn
        for one in dialogues
        for turn in one.turns
        if turn.role == "assistant" and "judged" not in turn.extra
    ]
    replies = Counter(message["message_id"] for message in messages if message["role"] == "assistant")
    assert Counter(turn.extra["message_id"] for turn in judged) == replies
    assert sum(not message["replies"] for message in messages) == len(dialogues)
    pairs = sum(
        len(
            list(
                combinations(
                    [one for one in message["replies"] if one["role"] == "assistant" and "rank" in one], 2
                )
            )
        )
        for message in messages
    )
    assert done.account.preferences == {"rank": pairs}
    ranks = {message["message_id"]: message.get("rank") for message in messages}
    texts = {one.id: one.turns for one in dialogues}
    for dialogue in dialogues:
        for choice in dialogue.preferences:
            this, other = (
                turns[choice.turn].extra["message_id"] for turns in (dialogue.turns, texts[choice.other])
            )
            expected = (
                "tie" if ranks[this] == ranks[other] else "this" if ranks[this] < ranks[other] else "other"
            )
            assert choice.winner == expected


def test_the_labels_of_openassistant_are_ratings_of_the_reply(tmp_path: Path) -> None:
    labels = {"name": ["quality", "toxicity"], "value": [0.75, 0.0], "count": [3, 3]}
    rows = [
        {"message_id": "p", "parent_id": None, "text": "Hi", "role": "prompter", "message_tree_id": "p"},
        {"message_id": "r", "parent_id": "p", "text": "Hello", "role": "assistant", "message_tree_id": "p",
         "labels": labels},
    ]  # fmt: skip
    (dialogue,), _ = of_records(rows, tmp_path)
    assert [(one.dimension, one.value, one.turn, one.rater) for one in dialogue.ratings] == [
        ("quality", 0.75, 1, "mean"), ("toxicity", 0.0, 1, "mean"),
    ]  # fmt: skip


def test_rows_that_reply_to_each_other_in_a_circle_are_counted(tmp_path: Path) -> None:
    def row(identity: str, parent: str | None, role: str) -> dict[str, Any]:
        return {
            "message_id": identity,
            "parent_id": parent,
            "text": "x",
            "role": role,
            "message_tree_id": "p",
        }

    rows = [
        row("p", None, "prompter"),
        row("r", "p", "assistant"),
        row("a", "b", "prompter"),
        row("b", "a", "assistant"),
    ]
    (dialogue,), done = of_records(rows, tmp_path)
    assert dialogue.id == "r"
    assert dict(done.dropped) == {"messages that reply to each other in a circle": 2}


# Keys whose words are the shape of a file: what a message, a part or an item is.
SHAPE = {"type", "kind", "role", "state", "block_type", "part_kind"}
CONSTRUCTOR = ("*", "id", "*")  # of LangChain's serialised messages: the name of the class
BY_TOOLS = sorted(
    path.name for path in WRITTEN.glob("*.json") if not path.name.startswith(("said", "inspect"))
)


@pytest.mark.parametrize("name", [*BY_TOOLS, pytest.param("oasst", marks=pytest.mark.skipif(
    not TREES.is_file(), reason="needs the trees of OpenAssistant"))])  # fmt: skip
def test_every_text_of_a_file_that_a_tool_wrote_is_kept(name: str, tmp_path: Path) -> None:
    source = TREES if name == "oasst" else WRITTEN / name
    read(source, tmp_path)
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    gone = lost(raw(source), records)
    assert [place for place in gone if place[-1] not in SHAPE and place != CONSTRUCTOR] == []
