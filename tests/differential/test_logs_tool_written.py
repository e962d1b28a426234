"""Spans that OpenTelemetry's SDK writes while the test runs: what was said to a model is what the reader gives back.

The packages come with the extra `dev`; where they are absent the tests are skipped.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnwise.logs import native
from turnwise.logs.readers import convert

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
    assert found.dropped == {"spans that call no model": 1}  # the session
