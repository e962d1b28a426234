"""Traces of model calls: OpenTelemetry of three generations, Langfuse, LangSmith, Phoenix; objects of OpenAI."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import DataError
from turnwise.logs.dialogue import as_record
from turnwise.logs.readers import READERS, recognise, source
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue

SAID = [
    ("system", "be brief"),
    ("user", "hi"),
    ("assistant", "hello"),
    ("user", "bye"),
    ("assistant", "ciao"),
]


def attribute(key: str, value: Any) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}


def otlp(*spans: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}], **more}


def span(number: int, attributes: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    about = [attribute("gen_ai.request.model", "m1"), *attributes]
    return {
        "traceId": "t",
        "spanId": f"s{number}",
        "startTimeUnixNano": str(number),
        "attributes": about,
        **more,
    }


def parts(said: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said]


def read(name: str, path: Path, content: Any, options: Options | None = None) -> list[Dialogue]:
    path.write_text(json.dumps(content))
    assert recognise(str(path)) == name
    return list(READERS[name].read(str(path), options or Options()))


def spoken(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in dialogue.turns]


def test_calls_that_repeat_the_dialogue_so_far_are_one_dialogue(tmp_path: Path) -> None:
    instructions = attribute("gen_ai.system_instructions", [{"type": "text", "content": "be brief"}])
    calls = [
        span(
            2,
            [
                instructions,
                attribute("gen_ai.input.messages", parts(SAID[1:4])),
                attribute("gen_ai.output.messages", parts(SAID[4:])),
            ],
        ),
        span(
            1,
            [
                instructions,
                attribute("gen_ai.input.messages", parts(SAID[1:2])),
                attribute("gen_ai.output.messages", parts(SAID[2:3])),
            ],
        ),
        {
            "traceId": "t",
            "spanId": "s3",
            "startTimeUnixNano": "3",
            "attributes": [attribute("http.method", "GET")],
        },
    ]
    options = Options()
    (dialogue,) = read("otel", tmp_path / "spans.json", otlp(*calls), options)
    assert (dialogue.id, dialogue.agent, spoken(dialogue)) == ("t", "m1", SAID)
    assert options.dropped == {"spans that call no model": 1}


def test_calls_of_one_trace_that_do_not_go_on_are_dialogues_of_their_own(tmp_path: Path) -> None:
    calls = [
        span(
            number,
            [
                attribute("gen_ai.input.messages", parts([("user", str(number))])),
                attribute("gen_ai.output.messages", parts([("assistant", "ok")])),
            ],
        )
        for number in (1, 2)
    ]
    found = read("otel", tmp_path / "spans.json", otlp(*calls))
    assert [(one.id, spoken(one)[0]) for one in found] == [("t-1", ("user", "1")), ("t-2", ("user", "2"))]


def test_events_of_a_span_hold_the_messages(tmp_path: Path) -> None:
    events = [
        {"name": "gen_ai.system.message", "attributes": [attribute("content", "be brief")]},
        {"name": "gen_ai.user.message", "attributes": [attribute("content", "hi")]},
        {
            "name": "gen_ai.choice",
            "attributes": [attribute("message", {"role": "assistant", "content": "hello"})],
        },
    ]
    (dialogue,) = read("otel", tmp_path / "spans.json", otlp(span(1, [], events=events)))
    assert spoken(dialogue) == SAID[:3]


def test_events_in_the_logs_belong_to_their_span(tmp_path: Path) -> None:
    def body(**values: str) -> dict[str, Any]:
        return {
            "kvlistValue": {
                "values": [{"key": key, "value": {"stringValue": one}} for key, one in values.items()]
            }
        }

    answer = {
        "kvlistValue": {"values": [{"key": "message", "value": body(role="assistant", content="hello")}]}
    }
    logged = [
        {"spanId": "s1", "eventName": "gen_ai.user.message", "body": body(content="hi")},
        {"spanId": "s1", "attributes": [attribute("event.name", "gen_ai.choice")], "body": answer},
    ]
    content = otlp(span(1, []), resourceLogs=[{"scopeLogs": [{"logRecords": logged}]}])
    (dialogue,) = read("otel", tmp_path / "spans.json", content)
    assert spoken(dialogue) == SAID[1:3]


def test_numbered_attributes_hold_the_messages_and_tool_calls(tmp_path: Path) -> None:
    attributes = [
        attribute("gen_ai.prompt.0.role", "user"),
        attribute("gen_ai.prompt.0.content", "hi"),
        attribute("gen_ai.completion.0.role", "assistant"),
        attribute("gen_ai.completion.0.tool_calls.0.name", "look"),
        attribute("gen_ai.completion.0.tool_calls.0.arguments", '{"x": 1}'),
    ]
    (dialogue,) = read("otel", tmp_path / "spans.json", otlp(span(1, attributes)))
    assert spoken(dialogue) == [("user", "hi"), ("assistant", "")]
    (call,) = dialogue.turns[1].tool_calls
    assert call["function"] == {"name": "look", "arguments": '{"x": 1}'}


def test_spans_without_contents_say_what_to_switch_on(tmp_path: Path) -> None:
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(otlp(span(1, []))))
    with pytest.raises(DataError, match="CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"):
        list(READERS["otel"].read(str(path), Options()))


def test_langfuse_traces_of_a_session_are_one_dialogue_with_scores(tmp_path: Path) -> None:
    said = [{"role": role, "content": text} for role, text in SAID]
    traces = [
        {
            "id": "a",
            "sessionId": "s",
            "timestamp": "2024-01-01T10:00:00Z",
            "input": said[:2],
            "output": said[2],
            "scores": [],
        },
        {
            "id": "b",
            "sessionId": "s",
            "timestamp": "2024-01-01T10:01:00Z",
            "input": None,
            "output": None,
            "observations": [
                {"type": "SPAN"},
                {
                    "type": "GENERATION",
                    "model": "m1",
                    "input": {"messages": said[:4]},
                    "output": "ciao",
                    "startTime": "2024-01-01T10:01:01Z",
                },
            ],
            "scores": [
                {"name": "helpful", "value": 0.5, "source": "ANNOTATION"},
                {"name": "tone", "value": "good"},
            ],
        },
    ]
    options = Options()
    (dialogue,) = read("langfuse", tmp_path / "traces.json", traces, options)
    assert (dialogue.id, dialogue.agent, spoken(dialogue)) == ("s", "m1", SAID)
    assert [(one.dimension, one.value, one.turn) for one in dialogue.ratings] == [("helpful", 0.5, 4)]
    assert options.dropped == {"scores that are no number": 1, "observations that are no model call": 1}


def test_langsmith_runs_are_read_in_langchains_spelling(tmp_path: Path) -> None:
    def chain(kind: str, text: str) -> dict[str, Any]:
        return {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", kind],
            "kwargs": {"content": text},
        }

    runs = [
        {
            "id": "r1",
            "trace_id": "t",
            "run_type": "llm",
            "parent_run_id": "r0",
            "start_time": "2024-01-01T10:00:00",
            "inputs": {"messages": [[chain("SystemMessage", "be brief"), chain("HumanMessage", "hi")]]},
            "outputs": {"generations": [[{"text": "hello", "message": chain("AIMessage", "hello")}]]},
            "extra": {"metadata": {"ls_model_name": "m1"}},
            "feedback_stats": {"ok": {"n": 1, "avg": 1.0}},
        },
        {
            "id": "r0",
            "trace_id": "t",
            "run_type": "chain",
            "inputs": {"input": "hi"},
            "outputs": {"output": "hello"},
        },
    ]
    options = Options()
    (dialogue,) = read("langsmith", tmp_path / "runs.json", runs, options)
    assert (dialogue.agent, spoken(dialogue)) == ("m1", SAID[:3])
    assert [(one.dimension, one.value) for one in dialogue.ratings] == [("ok", 1.0)]
    assert options.dropped == {"runs that are no model call": 1}


def test_phoenix_spans_are_read_from_flat_columns(tmp_path: Path) -> None:
    call = {"tool_call.function.name": "look", "tool_call.function.arguments": "{}"}
    rows = [
        {
            "context.trace_id": "t",
            "start_time": 1,
            "attributes.llm.model_name": "m1",
            "attributes.llm.input_messages": [{"message.role": "user", "message.content": "hi"}],
            "attributes.llm.output_messages": [
                {"message.role": "assistant", "message.content": "hello", "message.tool_calls": [call]}
            ],
        },
        {"context.trace_id": "t", "start_time": 2, "attributes.llm.input_messages": None},
    ]
    options = Options()
    (dialogue,) = read("phoenix", tmp_path / "spans.json", rows, options)
    assert (dialogue.agent, spoken(dialogue)) == ("m1", SAID[1:3])
    assert dialogue.turns[1].tool_calls[0]["function"]["name"] == "look"
    assert options.dropped == {"spans that are no model call": 1}


def test_a_stored_response_of_openai_has_calls_and_results(tmp_path: Path) -> None:
    response = {
        "object": "response",
        "id": "resp_1",
        "model": "m1",
        "instructions": "be brief",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "42"},
        ],
        "output": [
            {"type": "reasoning", "summary": []},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "hello", "annotations": []}],
            },
        ],
    }
    (dialogue,) = read("openai", tmp_path / "response.json", response)
    assert (dialogue.id, dialogue.agent) == ("resp_1", "m1")
    assert [turn.role for turn in dialogue.turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert dialogue.turns[-1].text == "hello"
    assert as_record(dialogue)["reasoning_items"] == [{"type": "reasoning", "summary": []}]


def test_a_thread_of_the_assistants_is_one_dialogue_in_the_order_of_time(tmp_path: Path) -> None:
    def said(role: str, value: str, at: int) -> dict[str, Any]:
        content = [{"type": "text", "text": {"value": value, "annotations": []}}]
        about = {"assistant_id": "asst_1"} if role == "assistant" else {"assistant_id": None}
        return {
            "object": "thread.message",
            "thread_id": "th",
            "role": role,
            "content": content,
            "created_at": at,
            **about,
        }

    listed = {"object": "list", "data": [said("assistant", "hello", 2), said("user", "hi", 1)]}
    (dialogue,) = read("openai", tmp_path / "thread.json", listed)
    assert (dialogue.id, dialogue.agent, spoken(dialogue)) == ("th", "asst_1", SAID[1:3])


def _langsmith(inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    return {"id": "r1", "trace_id": "t", "run_type": "llm", "inputs": inputs, "outputs": outputs, **more}


def test_langsmith_keeps_all_messages_of_an_output(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = [{"role": "user", "content": "is it open ?"}]
    answered = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "9 to 5", "tool_call_id": "c1"},
        {"role": "assistant", "content": "until five"},
    ]
    expected = [("user", "is it open ?"), ("assistant", ""), ("tool", "9 to 5"), ("assistant", "until five")]
    earlier = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    new_only = [_langsmith({"messages": asked}, {"messages": answered})]
    with_input = [_langsmith({"messages": asked}, {"messages": [*asked, *answered]})]
    with_history = [_langsmith({"messages": asked}, {"messages": [*earlier, *asked, *answered]})]
    for runs, before in (
        (new_only, []),
        (with_input, []),
        (with_history, [("user", "hi"), ("assistant", "hello")]),
    ):
        options = Options()
        (dialogue,) = read("langsmith", tmp_path / "runs.json", runs, options)
        assert spoken(dialogue) == [*before, *expected]
        assert not options.dropped


def test_langsmith_counts_the_candidates_of_a_reply_that_are_not_kept(tmp_path: Path) -> None:
    candidates = [[{"text": "one"}, {"text": "two"}, {"text": "three"}]]
    options = Options()
    run = _langsmith({"messages": [{"role": "user", "content": "hi"}]}, {"generations": candidates})
    (dialogue,) = read("langsmith", tmp_path / "runs.json", [run], options)
    assert spoken(dialogue) == [("user", "hi"), ("assistant", "one")]
    assert options.dropped == {"further candidates of a reply": 2}


def test_what_langfuse_says_of_each_trace_is_beside_its_reply(tmp_path: Path) -> None:
    said = [{"role": role, "content": text} for role, text in SAID]
    about = [{"metadata": {"a": 1}, "release": "v1", "totalCost": 0.1}, {"metadata": {"a": 2}, "latency": 3}]
    traces = [
        {
            "id": f"t{end}",
            "sessionId": "s",
            "timestamp": end,
            "input": said[:end],
            "output": said[end],
            **more,
        }
        for end, more in zip((2, 4), about, strict=True)
    ]
    options = Options()
    (dialogue,) = read("langfuse", tmp_path / "traces.json", traces, options)
    assert spoken(dialogue) == SAID
    calls = [one.get("call") for one in as_record(dialogue)["messages"]]
    first = {"trace": "t2", "timestamp": 2, **about[0]}
    assert calls == [None, None, first, None, {"timestamp": 4, **about[1]}]
    assert dialogue.meta == {"trace": "t4"}
    assert not options.dropped


def test_keys_of_a_message_stay_when_a_later_call_repeats_it_without_them(tmp_path: Path) -> None:
    said = [{"role": role, "content": text} for role, text in SAID]
    choice = {"finish_reason": "stop", "message": {**said[2], "refusal": "no"}}
    runs = [
        _langsmith({"messages": said[:2]}, {"choices": [choice], "usage": {"total": 7}}, start_time=1),
        _langsmith({"messages": said[:4]}, {"choices": [{"message": said[4]}]}, start_time=2),
    ]
    (dialogue,) = read("langsmith", tmp_path / "runs.json", runs)
    reply = as_record(dialogue)["messages"][2]
    assert (spoken(dialogue), reply["refusal"]) == (SAID, "no")
    assert reply["logged_with"] == [{"finish_reason": "stop"}, {"usage": {"total": 7}}]


def test_attributes_of_a_span_are_kept_and_those_of_its_resource_are_counted(tmp_path: Path) -> None:
    attributes = [
        attribute("gen_ai.input.messages", parts(SAID[1:2])),
        attribute("gen_ai.output.messages", parts(SAID[2:3])),
        attribute("gen_ai.response.id", "r1"),
    ]
    content = otlp(span(1, attributes, name="chat m1"))
    content["resourceSpans"][0]["resource"] = {"attributes": [attribute("service.name", "shop")]}
    options = Options()
    (dialogue,) = read("otel", tmp_path / "spans.json", content, options)
    call = as_record(dialogue)["messages"][-1]["call"]
    assert call["attributes"] == {"gen_ai.request.model": "m1", "gen_ai.response.id": "r1"}
    assert (call["name"], call["spanId"]) == ("chat m1", "s1")
    assert options.dropped == {"keys of requests, resources and scopes (`resource`, `scope` and others)": 1}


def outputs(*texts: str) -> list[dict[str, Any]]:
    return [{**one, "finish_reason": "stop"} for one in parts([("assistant", text) for text in texts])]


def test_results_of_tools_beside_other_parts_are_messages_of_their_own(tmp_path: Path) -> None:
    results = [{"type": "tool_call_response", "id": key, "response": key.upper()} for key in ("a", "b")]
    calls = [{"type": "tool_call", "id": key, "name": "look", "arguments": {}} for key in ("a", "b")]
    sent = [
        {"role": "user", "parts": [{"type": "text", "content": "weather?"}]},
        {"role": "assistant", "parts": calls},
        {
            "role": "user",
            "name": "ann",
            "parts": [*results, {"type": "text", "content": "and hurry up please"}],
        },
    ]
    attributes = [
        attribute("gen_ai.input.messages", sent),
        attribute("gen_ai.output.messages", outputs("Sun.")),
    ]
    (dialogue,) = read("otel", tmp_path / "spans.json", otlp(span(1, attributes)))
    assert spoken(dialogue) == [
        ("user", "weather?"),
        ("assistant", ""),
        ("tool", "A"),
        ("tool", "B"),
        ("user", "and hurry up please"),
        ("assistant", "Sun."),
    ]
    assert [turn.extra.get("tool_call_id") for turn in dialogue.turns[2:5]] == ["a", "b", None]
    assert [turn.extra.get("name") for turn in dialogue.turns[2:5]] == [None, None, "ann"]


def _events(*texts: str) -> dict[str, Any]:
    asked = {"name": "gen_ai.user.message", "attributes": [attribute("content", "hi")]}
    choices = [
        {
            "name": "gen_ai.choice",
            "attributes": [
                {"key": "index", "value": {"intValue": str(place)}},
                attribute("message", {"role": "assistant", "content": text}),
            ],
        }
        for place, text in enumerate(texts)
    ]
    return otlp(span(1, [], events=[asked, *choices]))


def _numbered(*texts: str) -> dict[str, Any]:
    asked = [attribute("gen_ai.prompt.0.role", "user"), attribute("gen_ai.prompt.0.content", "hi")]
    return otlp(
        span(
            1, [*asked, *(attribute(f"gen_ai.completion.{n}.content", text) for n, text in enumerate(texts))]
        )
    )


def _attributes(*texts: str) -> dict[str, Any]:
    asked = attribute("gen_ai.input.messages", parts([("user", "hi")]))
    return otlp(span(1, [asked, attribute("gen_ai.output.messages", outputs(*texts))]))


@pytest.mark.parametrize("build", [_attributes, _events, _numbered])
def test_of_several_candidates_the_first_is_the_reply_in_every_convention(tmp_path: Path, build: Any) -> None:
    options = Options()
    (dialogue,) = read("otel", tmp_path / "spans.json", build("one", "two", "three"), options)
    assert spoken(dialogue) == [("user", "hi"), ("assistant", "one")]
    assert options.dropped == {"further candidates of a reply": 2}


def test_several_output_messages_of_openinference_follow_each_other_with_a_note(tmp_path: Path) -> None:
    said = [("input", 0, "user", "hi"), ("output", 0, "assistant", "one"), ("output", 1, "assistant", "two")]
    attributes = [
        attribute(f"llm.{side}_messages.{place}.message.{key}", value)
        for side, place, role, text in said
        for key, value in (("role", role), ("content", text))
    ]
    options = Options()
    (dialogue,) = read("otel", tmp_path / "spans.json", otlp(span(1, attributes)), options)
    assert [text for _, text in spoken(dialogue)] == ["hi", "one", "two"]
    assert [note for note in options.notes if "follow each other" in note]


def test_an_event_in_the_logs_of_another_trace_belongs_to_no_span_here(tmp_path: Path) -> None:
    held = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "hi"}}]}}
    logged = [
        {"spanId": "s1", "traceId": trace, "eventName": "gen_ai.user.message", "body": held}
        for trace in ("t", "other")
    ]
    options = Options()
    content = otlp(span(1, []), resourceLogs=[{"scopeLogs": [{"logRecords": logged}]}])
    (dialogue,) = read("otel", tmp_path / "spans.json", content, options)
    assert spoken(dialogue) == [("user", "hi")]
    assert options.dropped == {"events of spans that are not here": 1}


def test_a_run_without_messages_has_its_only_text_as_the_text_and_a_note(tmp_path: Path) -> None:
    run = {**_langsmith({"question": "hi", "k": 3}, {"answer": "yo"}), "run_type": "chain"}
    options = Options()
    (dialogue,) = read("langsmith", tmp_path / "runs.json", [run], options)
    assert spoken(dialogue) == [("user", "hi"), ("assistant", "yo")]
    assert dialogue.turns[0].extra["logged_with"] == [{"k": 3}]
    assert [note.partition("messages: ")[2] for note in options.notes] == [
        "`question`, the only text in it, is read as the text",
        "`answer`, the only text in it, is read as the text",
    ]


def test_a_run_with_several_texts_and_no_message_is_read_as_json_and_a_note_says_so(tmp_path: Path) -> None:
    run = {**_langsmith({"question": "hi", "style": "curt"}, {"answer": "yo"}), "run_type": "chain"}
    options = Options()
    (dialogue,) = read("langsmith", tmp_path / "runs.json", [run], options)
    assert dialogue.turns[0].text == '{"question":"hi","style":"curt"}'
    assert options.notes[0].endswith("its JSON is read as the text")


def test_a_session_whose_calls_do_not_repeat_each_other_is_several_dialogues_with_a_note(
    tmp_path: Path,
) -> None:
    traces = [
        {"id": f"t{n}", "sessionId": "s", "timestamp": n, "input": f"in {n}", "output": f"out {n}"}
        for n in (1, 2)
    ]
    options = Options()
    assert [one.id for one in read("langfuse", tmp_path / "traces.json", traces, options)] == ["s-1", "s-2"]
    assert options.notes == [
        "1 group of calls (a session, else a trace) became several dialogues: a call that does not repeat the dialogue "
        "so far begins a new one"
    ]


def test_the_input_of_a_trace_is_kept_where_its_calls_say_something_else(tmp_path: Path) -> None:
    call = {"type": "GENERATION", "input": [{"role": "user", "content": "hi"}], "output": "yo"}
    trace = {"id": "t", "sessionId": "s", "input": "a form", "output": "yo", "observations": [call]}
    (dialogue,) = read("langfuse", tmp_path / "traces.json", [trace])
    assert dialogue.turns[-1].extra["call"]["of_trace"] == {"input": "a form"}


def test_versions_of_a_prompt_are_agents_in_langfuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [
        {"id": f"o{n}", "traceId": f"t{n}", "type": "GENERATION", "model": "m", "promptName": "support",
         "promptVersion": 1 + n % 2, "input": [{"role": "user", "content": f"hi {n}"}],
         "output": {"role": "assistant", "content": "yes"}}
        for n in range(4)
    ]  # fmt: skip
    found = read("langfuse", tmp_path / "a.json", calls)
    assert [one.agent for one in found] == ["m (support v1)", "m (support v2)"] * 2
    assert found[0].meta["prompt"] == "support v1"
    assert [one.agent for one in read("langfuse", tmp_path / "b.json", calls[::2])] == ["m", "m"]
    monkeypatch.setattr(source, "LARGE", 1)
    assert read("langfuse", tmp_path / "a.json", calls) == found


def test_experiments_are_agents_in_langsmith(tmp_path: Path) -> None:
    runs = [
        _langsmith(
            {"messages": [{"role": "user", "content": f"hi {n}"}]}, {"content": "yes", "role": "assistant"},
            id=f"r{n}", session_name=f"exp-{n % 2}", reference_example_id=f"e{n // 2}",
        )
        for n in range(4)
    ]  # fmt: skip
    assert [one.agent for one in read("langsmith", tmp_path / "a.json", runs)] == ["exp-0", "exp-1"] * 2
    plain = [{**run, "reference_example_id": None} for run in runs]
    assert {one.agent for one in read("langsmith", tmp_path / "b.json", plain)} == {"unknown"}


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3)])
def test_a_large_file_of_langfuse_gives_the_same_dialogues(
    tmp_path: Path, order: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [{"role": role, "content": text} for role, text in SAID]
    traces = [
        {"id": f"t{n}", "sessionId": session, "timestamp": n, "input": said[:end], "output": said[end]}
        for n, (session, end) in enumerate((("a", 2), ("a", 4), ("b", 2), ("b", 4)))
    ]
    arranged = [traces[place] for place in order]
    expected = read("langfuse", tmp_path / "traces.json", arranged)
    monkeypatch.setattr(source, "LARGE", 1)
    assert read("langfuse", tmp_path / "traces.json", arranged) == expected
    assert [(one.id, len(one.turns)) for one in expected] == [("a", 5), ("b", 5)]


def test_a_score_of_langsmith_beyond_every_float_is_an_error_in_words(tmp_path: Path) -> None:
    """Found by the fuzzer."""
    run = _langsmith({"messages": [{"role": "user", "content": "hi"}]}, {"content": "hello"})
    run["feedback"] = [{"key": "good", "score": 10**400}]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([run]))
    with pytest.raises(DataError, match="number"):
        list(READERS["langsmith"].read(str(path), Options()))


def test_scores_of_evaluators_are_marked_as_automatic(tmp_path: Path) -> None:
    """A judge of Langfuse or LangSmith is not a person; scores of the API may be people's."""
    trace = {
        "id": "t",
        "observations": [],
        "timestamp": "2024-01-01T10:00:00Z",
        "input": [{"role": "user", "content": "hi"}],
        "output": "hello",
        "scores": [
            {"name": source, "value": 1, "source": source} for source in ("EVAL", "ANNOTATION", "API")
        ],
    }
    (dialogue,) = read("langfuse", tmp_path / "traces.json", [trace])
    assert {one.dimension: one.extra.get("automatic", False) for one in dialogue.ratings} == {
        "EVAL": True, "ANNOTATION": False, "API": False
    }  # fmt: skip
    run = _langsmith({"messages": [{"role": "user", "content": "hi"}]}, {"content": "hello"})
    run["feedback"] = [
        {"key": source, "score": 1, "feedback_source": {"type": source}}
        for source in ("model", "auto_eval", "app", "api")
    ]
    (dialogue,) = read("langsmith", tmp_path / "runs.json", [run])
    marked = {one.dimension: one.extra.get("automatic", False) for one in dialogue.ratings}
    assert marked == {"model": True, "auto_eval": True, "app": False, "api": False}
