"""Spans that OpenTelemetry's SDK writes while the test runs: what was said to a model is what the reader gives back.

The packages come with the extra `dev`; where they are absent the tests are skipped.
"""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from turnwise.logs import native
from turnwise.logs.conversion import convert
from turnwise.logs.readers.traces.otel import AROUND, REPEATS

trace = pytest.importorskip("opentelemetry.sdk.trace")
export = pytest.importorskip("opentelemetry.sdk.trace.export")
memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
encoder = pytest.importorskip("opentelemetry.exporter.otlp.proto.common.trace_encoder")
json_format = pytest.importorskip("google.protobuf.json_format")

MODEL = "stub-model"
SAID = [
    ("system", "Be brief."),
    ("user", "What is a noun?"),
    ("assistant", "A word for a thing."),
    ("user", '{"a": [1, 2]}'),
    ("assistant", "[]"),
    ("user", "Thanks!\nBye."),
    ("assistant", "Bye."),
]


def in_attributes(span: Any, sent: list[tuple[str, str]], reply: str) -> None:
    """The current conventions: messages as JSON in attributes."""

    def parts(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"type": "text", "content": text}]}

    span.set_attribute("gen_ai.input.messages", json.dumps([parts(*one) for one in sent]))
    span.set_attribute("gen_ai.output.messages", json.dumps([parts("assistant", reply)]))


def in_events(span: Any, sent: list[tuple[str, str]], reply: str) -> None:
    """The conventions before 1.37: an event for each message."""
    for role, text in sent:
        span.add_event(f"gen_ai.{role}.message", {"content": text, "role": role})
    span.add_event("gen_ai.choice", {"index": 0, "message": json.dumps({"content": reply})})


def in_numbers(span: Any, sent: list[tuple[str, str]], reply: str) -> None:
    """OpenLLMetry's numbered attributes."""
    for place, (role, text) in enumerate(sent):
        span.set_attribute(f"gen_ai.prompt.{place}.role", role)
        span.set_attribute(f"gen_ai.prompt.{place}.content", text)
    span.set_attribute("gen_ai.completion.0.role", "assistant")
    span.set_attribute("gen_ai.completion.0.content", reply)


def as_otlp(spans: Any) -> str:
    return json.dumps(json_format.MessageToDict(encoder.encode_spans(spans)))


def as_printed(spans: Any) -> str:
    return "\n".join(span.to_json(indent=None) for span in spans)


@pytest.mark.parametrize("written", [as_otlp, as_printed])
@pytest.mark.parametrize("record", [in_attributes, in_events, in_numbers])
def test_spans_of_the_sdk_give_the_chat(
    tmp_path: Path, record: Callable[[Any, list[tuple[str, str]], str], None], written: Callable[[Any], str]
) -> None:
    kept = memory.InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("app")
    with tracer.start_as_current_span("session", attributes={"gen_ai.operation.name": "invoke_agent"}):
        for place, (role, reply) in enumerate(SAID):
            if role == "assistant":
                with tracer.start_as_current_span(f"chat {MODEL}") as span:
                    span.set_attribute("gen_ai.request.model", MODEL)
                    record(span, SAID[:place], reply)
    path, out = tmp_path / "spans.json", tmp_path / "out.jsonl"
    path.write_text(written(kept.get_finished_spans()))
    found = convert(None, str(path), str(out))
    assert found.name == "otel"
    (dialogue,) = native.read(str(out))
    assert [(turn.role, turn.text) for turn in dialogue.turns] == SAID
    assert dialogue.agent == MODEL
    assert found.dropped["spans that call no model"] == 1  # the session
    assert found.dropped.keys() <= {"spans that call no model", AROUND, REPEATS}


class StubModel(BaseHTTPRequestHandler):
    """An OpenAI-compatible server: it calls a tool where one is offered and not used yet, else it gives `REPLIES`."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sent = body["messages"]
        if body.get("tools") and sent[-1]["role"] != "tool":
            call = {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city":"Rome"}'},
            }
            reply: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
        else:
            reply = {"role": "assistant", "content": REPLIES[sent[-1]["content"]]}
        choice = {
            "index": 0,
            "finish_reason": "tool_calls" if "tool_calls" in reply else "stop",
            "message": reply,
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        found = {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "choices": [choice],
            "usage": usage,
        }
        data = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """No lines on stderr."""


REPLIES = {
    "What is a noun?": "A word for a thing.",
    "Thanks!\nBye.": "Bye.",
    "20 degrees": "It is warm in Rome.",
}


@pytest.fixture
def model() -> Iterator[str]:
    """The address of a stub model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), StubModel)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("capture", ["SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"])
def test_what_the_instrumentation_of_openai_writes_is_what_was_said(
    capture: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai = pytest.importorskip("openai")
    instrumentation = pytest.importorskip("opentelemetry.instrumentation.openai_v2")
    logs = pytest.importorskip("opentelemetry.sdk._logs")
    log_export = pytest.importorskip("opentelemetry.sdk._logs.export")
    log_encoder = pytest.importorskip("opentelemetry.exporter.otlp.proto.common._log_encoder")
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", capture)
    spans, events = memory.InMemorySpanExporter(), log_export.InMemoryLogRecordExporter()
    tracing, logging = trace.TracerProvider(), logs.LoggerProvider()
    tracing.add_span_processor(export.SimpleSpanProcessor(spans))
    logging.add_log_record_processor(log_export.SimpleLogRecordProcessor(events))
    instrumentor = instrumentation.OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=tracing, logger_provider=logging)
    try:
        client = openai.OpenAI(base_url=model, api_key="none")
        chats = [_chat(client, tracing), _tool_chat(client, tracing)]
    finally:
        instrumentor.uninstrument()
    path, out = tmp_path / "otlp.jsonl", tmp_path / "out.jsonl"
    requests = [encoder.encode_spans(spans.get_finished_spans())]
    if capture != "SPAN_ONLY":
        requests.append(log_encoder.encode_logs(events.get_finished_logs()))
    path.write_text("".join(json.dumps(json_format.MessageToDict(one)) + "\n" for one in requests))
    found = convert(None, str(path), str(out))
    assert found.name == "otel"
    dialogues = list(native.read(str(out)))
    assert [[(turn.role, turn.text) for turn in one.turns] for one in dialogues] == chats
    assert {one.agent for one in dialogues} == {MODEL}
    (call,) = [call for turn in dialogues[1].turns for call in turn.tool_calls]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (
        "weather",
        {"city": "Rome"},
    )
    assert found.dropped["spans that call no model"] == 2  # the two sessions
    assert found.dropped.keys() <= {"spans that call no model", AROUND, REPEATS}


def _chat(client: Any, tracing: Any) -> list[tuple[str, str]]:
    """Two calls of one trace, of which the second repeats the first; returns what was said."""
    said = [{"role": "system", "content": "Be brief."}]
    with tracing.get_tracer("app").start_as_current_span("session"):
        for question in ("What is a noun?", "Thanks!\nBye."):
            said.append({"role": "user", "content": question})
            answer = client.chat.completions.create(model=MODEL, messages=said)
            said.append({"role": "assistant", "content": answer.choices[0].message.content})
    return [(one["role"], one["content"]) for one in said]


def _tool_chat(client: Any, tracing: Any) -> list[tuple[str, str]]:
    """A dialogue in which the model calls a tool; returns what was said."""
    tool = {
        "type": "function",
        "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
    }
    said: list[dict[str, Any]] = [{"role": "user", "content": "How is the weather in Rome?"}]
    with tracing.get_tracer("app").start_as_current_span("session"):
        answer = client.chat.completions.create(model=MODEL, messages=said, tools=[tool]).choices[0].message
        said.append(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [call.model_dump() for call in answer.tool_calls],
            }
        )
        said.append({"role": "tool", "tool_call_id": answer.tool_calls[0].id, "content": "20 degrees"})
        answer = client.chat.completions.create(model=MODEL, messages=said, tools=[tool]).choices[0].message
        said.append({"role": "assistant", "content": answer.content})
    return [(one["role"], one["content"]) for one in said]
