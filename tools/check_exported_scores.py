"""Give exported scores to the tools that they are for, and compare what these hold with what the run found:
`python -m tools.check_exported_scores FOLDER`, which `tests.exported_scores` wrote.

The packages need other releases than ours, so this runs in an environment of its own: `pip install langfuse langsmith
inspect-ai`. Langfuse's and LangSmith's clients send to a local server, which keeps what it is sent; Inspect AI scores a
log of its `mockllm` with `precomputed_scores`. Prints a line for each tool; a difference ends with an error.
"""

import gzip
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

RECEIVED: list[tuple[str, Any]] = []  # path and body of each request


class _Server(BaseHTTPRequestHandler):
    """Keeps the JSON of each request, and answers that all is well."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer what a client asks about the server."""
        self._answer({"version": "0.13", "instance_flags": {}, "batch_ingest_config": {}})

    def do_POST(self) -> None:
        """Keep a request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        try:
            sent = json.loads(body)
        except (ValueError, UnicodeDecodeError):
            sent = None
        RECEIVED.append((self.path, sent))
        # Langfuse sends a list of scores, LangSmith one object.
        is_batch = isinstance(sent, list)
        self._answer({"message": "Accepted"} if is_batch else sent or {})

    def _answer(self, value: Any) -> None:
        """Send a value as JSON."""
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _lines(path: Path) -> list[dict[str, Any]]:
    """The objects of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _same(tool: str, sent: list[Any], held: list[Any]) -> None:
    """Print how many values a tool holds; an error if they are not those that were exported."""
    if sorted(map(repr, sent)) != sorted(map(repr, held)):
        raise SystemExit(
            f"{tool}: exported {sorted(map(repr, sent))}, and it holds {sorted(map(repr, held))}"
        )
    print(f"{tool} {version(tool)}: {len(held)} values, all equal")


def langfuse(folder: Path, address: str) -> None:
    """Send the scores with Langfuse's client."""
    from langfuse import Langfuse

    scores = _lines(folder / "langfuse.jsonl")
    client = Langfuse(public_key="pk", secret_key="sk", base_url=address)
    for score in scores:
        client.create_score(**score)
    client.flush()
    held = [
        (body["id"], body["traceId"], body.get("observationId"), body["name"], body["value"], body["comment"])
        for _, batch in RECEIVED
        if isinstance(batch, list)
        for body in batch
    ]
    sent = [
        (
            one["score_id"],
            one["trace_id"],
            one.get("observation_id"),
            one["name"],
            one["value"],
            one["comment"],
        )
        for one in scores
    ]
    _same("langfuse", sent, held)


def langsmith(folder: Path, address: str) -> None:
    """Send the scores with LangSmith's client."""
    from langsmith import Client

    RECEIVED.clear()
    scores = _lines(folder / "langsmith.jsonl")
    client = Client(api_url=address, api_key="none", auto_batch_tracing=False)
    for score in scores:
        client.create_feedback(**score)
    held = [
        (body["id"], body["run_id"], body["key"], body["score"], body["comment"])
        for path, body in RECEIVED
        if path.endswith("/feedback")
    ]
    sent = [(one["feedback_id"], one["run_id"], one["key"], one["score"], one["comment"]) for one in scores]
    _same("langsmith", sent, held)


def inspect(folder: Path) -> None:
    """Score a log of Inspect AI with the exported file."""
    from inspect_ai import score
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import mean, precomputed_scores

    records = _lines(folder / "inspect.jsonl")
    names = sorted({name for record in records for name in record["value"]})
    log = read_eval_log(str(folder / "inspect_written.json"))
    metrics = {name: [mean()] for name in names}
    scored = score(
        log, precomputed_scores(str(folder / "inspect.jsonl"), metrics=metrics), action="overwrite"
    )
    held = [
        (str(sample.id), sample.epoch, name, value)
        for sample in scored.samples or []
        for one in (sample.scores or {}).values()
        for name, value in one.as_dict().items()
    ]
    sent = [
        (record["id"], record["epoch"], name, value)
        for record in records
        for name, value in record["value"].items()
    ]
    _same("inspect-ai", sent, held)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    langfuse(Path(sys.argv[1]), url)
    langsmith(Path(sys.argv[1]), url)
    inspect(Path(sys.argv[1]))
