"""Logs of several tools, scored and exported for these tools: `python -m tests.exported_scores FOLDER` writes them for
`tools/check_exported_scores.py`, which gives them to the tools' own packages.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import turnwise

WRITTEN = Path(__file__).parent / "fixtures" / "written"
REPLIES = ("Yes, from ten.", "No.", "Is it Sunday?")


def langfuse_traces() -> list[dict[str, Any]]:
    """Traces of Langfuse: of a session, and one with a call inside."""
    said: list[dict[str, str]] = []
    traces: list[dict[str, Any]] = []
    for number, reply in enumerate(REPLIES[:2]):
        said.append({"role": "user", "content": f"Question {number}?"})
        output = {"role": "assistant", "content": reply}
        traces.append(
            {
                "id": f"trace-{number}",
                "sessionId": "s",
                "timestamp": number,
                "input": list(said),
                "output": output,
            }
        )
        said.append(output)
    call = {
        "id": "call-7", "traceId": "trace-2", "type": "GENERATION", "model": "m1", "startTime": "2026-01-02T03:04:05Z",
        "input": [{"role": "user", "content": "Open?"}], "output": {"role": "assistant", "content": REPLIES[2]},
    }  # fmt: skip
    return [
        *traces,
        {"id": "trace-2", "input": "Open?", "output": REPLIES[2], "observations": [call], "userId": "u"},
    ]


def langsmith_runs() -> list[dict[str, Any]]:
    """Runs of LangSmith, each a dialogue of its own."""
    return [
        {
            "id": str(uuid5(NAMESPACE_URL, str(number))), "trace_id": str(uuid5(NAMESPACE_URL, str(number))),
            "run_type": "llm", "name": "ChatOpenAI", "start_time": f"2026-01-02T03:04:0{number}",
            "inputs": {"messages": [{"role": "user", "content": "Open?"}]},
            "outputs": {"choices": [{"message": {"role": "assistant", "content": reply}}]},
        }
        for number, reply in enumerate(REPLIES)
    ]  # fmt: skip


def otel_request() -> dict[str, Any]:
    """An OTLP request with a span of a model's call for each reply."""

    def attribute(key: str, value: Any) -> dict[str, Any]:
        return {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}

    def message(role: str, text: str) -> list[dict[str, Any]]:
        return [{"role": role, "parts": [{"type": "text", "content": text}]}]

    spans = [
        {
            "traceId": f"{number + 1:032x}", "spanId": f"{number + 1:016x}", "name": "chat m1",
            "startTimeUnixNano": str(number), "endTimeUnixNano": str(number + 1),
            "attributes": [
                attribute("gen_ai.operation.name", "chat"), attribute("gen_ai.request.model", "m1"),
                attribute("gen_ai.input.messages", message("user", "Open?")),
                attribute("gen_ai.output.messages", message("assistant", reply)),
            ],
        }
        for number, reply in enumerate(REPLIES)
    ]  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def write(folder: Path) -> None:
    """Write each tool's logs into a folder, score them, and export the scores beside them."""
    for form, logs in (
        ("langfuse", langfuse_traces()),
        ("langsmith", langsmith_runs()),
        ("otel", otel_request()),
    ):
        (folder / f"{form}.json").write_text(json.dumps(logs), encoding="utf-8")
    shutil.copy(WRITTEN / "inspect_written.json", folder / "inspect.json")
    shutil.copy(WRITTEN / "inspect_written.json", folder / "inspect_written.json")
    for form in ("langfuse", "langsmith", "otel", "inspect"):
        logs_path, run = str(folder / f"{form}.json"), folder / f"{form}_run"
        turnwise.score(logs_path, reader=form, metrics=["length", "question-rate"], output=run)
        suffix = "json" if form == "otel" else "jsonl"
        target = folder / f"{form}.{'scores.json' if suffix == 'json' else suffix}"
        turnwise.export_scores(run, to=form, reader=form, logs=logs_path, output=target)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
