"""200 dialogues against a slow and faulty server, killed three times: `python -m benchmarks.play_killed`.

Agent and user are models behind one local address that answers after 10 to 60 ms and fails in 5 % of them: HTTP 500, a
connection that hangs beyond the timeout, or a broken body. A first run is not interrupted; a second one is killed
(SIGKILL) three times and begun again. The logs are compared byte by byte, the rate of requests is taken at the server,
and the memory of the client is sampled.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

RESULT = Path(__file__).parent / "results" / "play_killed.json"
SCENARIOS, REPEATS, RATE, TIMEOUT = 50, 4, 1500, 4
FAULTS = 0.05
AGENT = (
    "Which order is it?",
    "Let me see. It was sent on Monday.",
    "It will arrive in two days.",
    "It is on its way.",
)
USER = (
    "Where is my parcel, number {}?",
    "It is {}.",
    "And when will it come, {}?",
    "Is there a number to call about {}?",
)


class Server(ThreadingHTTPServer):
    """The model server; remembers when it was asked."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.times, self.faults = Lock(), [], {"500": 0, "hang": 0, "broken": 0}  # type: ignore[var-annotated]
        self.random = random.Random(0)

    def handle_error(self, *_: Any) -> None:
        """Nothing: the client was killed in the middle of an exchange."""


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer slowly, or fail."""
        self.close_connection = True
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.times.append(time.monotonic())
            fault = (
                self.server.random.choice(["500", "hang", "broken"])
                if self.server.random.random() < FAULTS
                else ""
            )
            wait = self.server.random.uniform(0.01, 0.06)
            if fault:
                self.server.faults[fault] += 1
        time.sleep(TIMEOUT * 1.5 if fault == "hang" else wait)
        content = json.dumps(
            {"choices": [{"message": {"content": reply(body)}, "finish_reason": "stop"}]}
        ).encode()
        if fault == "broken":
            content = content[: len(content) // 2]
        try:
            self.send_response(500 if fault == "500" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:  # the client is gone
            return

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def reply(body: dict[str, Any]) -> str:
    """What a seeded model says: the same to the same request."""
    chosen = int(hashlib.sha256(json.dumps([body["messages"], body["seed"]]).encode()).hexdigest(), 16)
    if body["model"] == "agent":
        return f"{AGENT[chosen % len(AGENT)]} ({chosen % 9973})"
    said = sum(message["role"] == "assistant" for message in body["messages"])
    return "Thanks. [DONE]" if said >= 4 else USER[said % len(USER)].format(f"P{chosen % 10}")


def command(address: str, folder: Path, output: str) -> list[str]:
    """The command line of the client."""
    return [
        sys.executable, "-m", "turnwise", "play", str(folder / "scenarios.json"), "--agent", f"bot={address}",
        "--set", "model=agent", "--user", address, "--user-set", "model=user", "--repeats", str(REPEATS), "--no-check",
        "--rate", str(RATE), "--timeout", str(TIMEOUT), "--concurrency", "8", "-q", "-o", str(folder / output),
    ]  # fmt: skip


def memory(process: int) -> int:
    """The resident memory of a process in kilobytes; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


def watched(run: list[str], *, kill_after: float | None = None) -> tuple[int, list[int]]:
    """The exit code of a run, and samples of its memory; with `kill_after` it is killed after this many seconds."""
    process = subprocess.Popen(run, stdout=subprocess.DEVNULL)
    samples, start = [], time.monotonic()
    while process.poll() is None:
        samples.append(memory(process.pid))
        if kill_after is not None and time.monotonic() - start > kill_after:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        time.sleep(0.25)
    return process.returncode, [sample for sample in samples if sample]


def busiest(times: list[float], window: float) -> int:
    """The most requests in any window of this many seconds."""
    most = first = 0
    for last, moment in enumerate(times):
        while times[first] < moment - window:
            first += 1
        most = max(most, last - first + 1)
    return most


def main() -> None:
    """Run twice, compare, and write the result."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    server = Server()
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenarios = [
            {"id": f"s{number:02}", "goal": f"to find parcel {number}", "max_turns": 4}
            for number in range(SCENARIOS)
        ]
        (folder / "scenarios.json").write_text(json.dumps(scenarios))
        start = time.monotonic()
        code, samples = watched(command(address, folder, "whole.jsonl"))
        whole_seconds, n_whole = time.monotonic() - start, len(server.times)
        killed, killed_samples = 0, []
        start = time.monotonic()
        for part in range(3):
            kill_after = whole_seconds * (0.2 + 0.05 * part) + 2
            returned, more = watched(command(address, folder, "cut.jsonl"), kill_after=kill_after)
            killed += returned == -signal.SIGKILL
            killed_samples += more
        last, more = watched(command(address, folder, "cut.jsonl"))
        seconds = time.monotonic() - start
        whole, cut = (folder / "whole.jsonl").read_bytes(), (folder / "cut.jsonl").read_bytes()
        quarter = max(1, len(samples) // 4)
        result = {
            "dialogues": whole.count(b"\n"), "asked": SCENARIOS * REPEATS, "exit_codes": [code, last], "killed": killed,
            "same_bytes": whole == cut, "sha256": hashlib.sha256(cut).hexdigest(),
            "seconds": [round(whole_seconds, 1), round(seconds, 1)],
            "requests": [n_whole, len(server.times) - n_whole], "faults": server.faults,
            "rate": {"allowed_a_minute": RATE, "allowed_a_second": RATE / 60,
                     "busiest_second": busiest(server.times, 1.0), "busiest_ten_seconds": busiest(server.times, 10.0)},
            "memory_mb": {
                "second_quarter": max(samples[quarter : 2 * quarter]) / 1024,
                "last_quarter": max(samples[-quarter:]) / 1024, "most": max(samples) / 1024,
            },
        }  # fmt: skip
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
