"""Load test of the rating app with many simultaneous raters: no rating may be lost or doubled; latency is measured.

    python -m benchmarks.raters --raters 200 --seconds 300 --kill-at 150

Every rater loads a page, waits (exponentially distributed, --think seconds on average), sends the form and goes on to
the next page, over one open connection. Every rating that the server acknowledged is recorded and compared with the
export at the end. --kill-at kills the server with SIGKILL and starts it again. Ratings in flight at that moment may be
lost; acknowledged ones may not. --slowloris N keeps N further connections open, each with half a request, and opens
every one that the server closes again; --files N is the limit of open files of the server (`ulimit -n`).

    python -m benchmarks.raters --raters 200 --seconds 60 --kill-at 30 --before ../earlier/src --rounds 3

compares with another version in alternation: the server of that folder first, then this one's, three times. The CPU
time of the server for each request depends less on the other load of the machine than the response times do.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import numpy as np

TASK = re.compile(rb"item-(\d+) of")
PROOF = re.compile(rb'name="proof" value="([0-9a-f]+)"')
ACTION = re.compile(rb'<form method="post" action="([^"]+)"')
STUDY = "per_task = {raters}\n[quality]\nshared = 0\nchecks = 0\nrepeats = 0\n"


@dataclass
class Record:
    """The acknowledged ratings and the response times of all requests."""

    acknowledged: dict[tuple[str, str], float] = field(default_factory=dict)  # (rater, item) -> value
    unsure: dict[tuple[str, str], float] = field(default_factory=dict)  # sent, but the connection broke
    posts: list[float] = field(default_factory=list)  # seconds
    gets: list[float] = field(default_factory=list)  # seconds
    broken: int = 0  # number of broken connections
    cpu_seconds: float = 0.0  # CPU time of the server between the first and the last request


class Connection:
    """A persistent HTTP connection to the server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        kind = "Content-Type: application/x-www-form-urlencoded\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {len(body)}\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", answer)[1])  # type: ignore[index]
            return int(answer[9:12]), await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise ConnectionError from error

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def hold_half_a_request(port: int, until: float, counts: dict[str, int]) -> None:
    """Send half of a request's head and wait until the server closes the connection, again and again."""
    while time.perf_counter() < until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            counts["opened"] += 1
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-")
            await asyncio.wait_for(reader.read(1), max(0.1, until - time.perf_counter()))
            writer.close()
            counts["closed"] += 1
        except (OSError, TimeoutError):
            await asyncio.sleep(0.5)


async def rate(name: str, link: str, port: int, until: float, think: float, record: Record) -> None:
    """Act as one rater until the time is over or there is nothing left to rate."""
    rng, connection = random.Random(name), Connection(port)
    await asyncio.sleep(rng.random() * think)
    pending: tuple[str, str] | None = None
    while time.perf_counter() < until:
        try:
            began = time.perf_counter()
            status, page = await connection.ask("GET", link)
            record.gets.append(time.perf_counter() - began)
            action, proof, shown = ACTION.search(page), PROOF.search(page), TASK.search(page)
            if status != 200 or action is None or proof is None:
                raise RuntimeError(f"{name} got {status}: {page[:300]!r}")
            value = rng.randint(1, 5)
            if shown is None and b"Thank you" in page:
                break
            if shown is not None:
                await asyncio.sleep(rng.expovariate(1 / think))
                pending = (name, f"item-{int(shown[1])}")
            began = time.perf_counter()
            form = b"proof=" + proof[1] + f"&q0={value}".encode()
            status, _ = await connection.ask("POST", action[1].decode(), form)
            if status != 303:
                raise RuntimeError(f"{name} was answered {status}")
            record.posts.append(time.perf_counter() - began)
            if pending:
                record.acknowledged[pending] = value
        except ConnectionError:
            record.broken += 1
            if pending and pending not in record.acknowledged:
                record.unsure[pending] = value
            await asyncio.sleep(0.2)
        pending = None
    connection.close()


def serve(
    folder: Path, options: argparse.Namespace, port: int = 0, source: str = ""
) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """Start the server as a user does, from the folder `source` if given. Returns it and the raters' links by name."""
    command = [
        sys.executable,
        "-m",
        "turnwise",
        "rate",
        "data.jsonl",
        "--study",
        "study.toml",
        "--port",
        str(port),
    ]
    command += ["--raters", str(options.raters), *(["--store", options.store] if options.store else [])]
    if options.files:
        command = ["sh", "-c", f'ulimit -n {options.files}; exec "$@"', "sh", *command]
    environment = os.environ | ({"PYTHONPATH": str(Path(source).resolve())} if source else {})
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
    if server.stdout is None:
        raise RuntimeError("no output")
    return server, dict(server.stdout.readline().split() for _ in range(options.raters + 1))


def cpu_seconds(process: int) -> float:
    """The CPU time of a running process so far, of user and system; NaN where there is no /proc."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def drive(options: argparse.Namespace, folder: Path, source: str) -> dict[str, object]:
    """Run the whole load test and return its summary."""
    server, links = serve(folder, options, source=source)
    port = int(links["admin"].split(":")[2].split("/")[0])
    paths = {name: "/" + link.split("/", 3)[3] for name, link in links.items()}
    record, until = Record(cpu_seconds=-cpu_seconds(server.pid)), time.perf_counter() + options.seconds
    everybody = [
        asyncio.create_task(rate(name, path, port, until, options.think, record))
        for name, path in paths.items()
        if name != "admin"
    ]
    attack = {"opened": 0, "closed": 0}
    attackers = [
        asyncio.create_task(hold_half_a_request(port, until, attack)) for _ in range(options.slowloris)
    ]
    if options.kill_at:
        await asyncio.sleep(options.kill_at)
        record.cpu_seconds += cpu_seconds(server.pid)
        server.send_signal(signal.SIGKILL)
        server.wait()
        server, _ = await asyncio.to_thread(serve, folder, options, port, source)
        record.cpu_seconds -= cpu_seconds(server.pid)
    await asyncio.gather(*everybody, *attackers)
    record.cpu_seconds += cpu_seconds(server.pid)
    export = await asyncio.to_thread(exported, f"{links['admin'].split('/admin')[0]}{paths['admin']}")
    server.terminate()
    server.wait()
    return summary(options, record, export) | ({"half_requests": attack} if options.slowloris else {})


def exported(admin: str) -> bytes:
    """The export of all ratings."""
    with urlopen(f"{admin}/export.jsonl?everything=yes") as answer:
        content: bytes = answer.read()
        return content


def summary(options: argparse.Namespace, record: Record, export: bytes) -> dict[str, object]:
    """Compare the export with the acknowledged ratings, and summarise the response times."""
    found: dict[tuple[str, str], list[float]] = {}  # (rater, item) -> all values, including replaced ones
    for line in export.splitlines():
        dialogue = json.loads(line)
        for rating in dialogue.get("ratings", ()):
            values = found.setdefault((rating["rater"], dialogue["id"]), [])
            values += [*(old["value"] for old in rating.get("was", ())), rating["value"]]
    lost = [key for key, value in record.acknowledged.items() if found.get(key) != [value]]
    known = record.acknowledged | record.unsure
    return {
        "raters": options.raters,
        "seconds": options.seconds,
        "think_seconds": options.think,
        "killed_at": options.kill_at,
        "ratings_acknowledged": len(record.acknowledged),
        "ratings_exported": sum(map(len, found.values())),
        "in_flight_when_killed": len(record.unsure),
        "lost_or_different": len(lost),
        "doubled": sum(len(values) > 1 for values in found.values()),
        "from_nowhere": sum(key not in known for key in found),
        "post_ms": _milliseconds(record.posts),
        "get_ms": _milliseconds(record.gets),
        "server_cpu_ms_per_request": round(
            record.cpu_seconds * 1000 / (len(record.posts) + len(record.gets)), 2
        ),
        "load_average": round(os.getloadavg()[0], 1),
    }


def _milliseconds(seconds: list[float]) -> dict[str, float]:
    places = {"p50": 50, "p95": 95, "p99": 99, "max": 100}
    return {name: round(float(np.percentile(seconds, at)) * 1000, 1) for name, at in places.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raters", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--think", type=float, default=2.0)
    parser.add_argument("--kill-at", type=float, default=0)
    parser.add_argument("--slowloris", type=int, default=0, help="connections with half a request")
    parser.add_argument("--files", type=int, default=0, help="limit of open files of the server")
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--store", help="a postgresql:// address; default: a SQLite file")
    parser.add_argument("--before", metavar="SRC", help="the folder src of another version, for comparison")
    parser.add_argument("--rounds", type=int, default=1, help="how often each version is measured")
    options = parser.parse_args()
    versions = {"before": options.before, "this": ""} if options.before else {"this": ""}
    runs = [
        {"version": name, **run(options, source)}
        for _ in range(options.rounds)
        for name, source in versions.items()
    ]
    print(json.dumps(runs if len(runs) > 1 else runs[0], indent=1))
    return int(any(one["lost_or_different"] or one["doubled"] or one["from_nowhere"] for one in runs))


def run(options: argparse.Namespace, source: str) -> dict[str, object]:
    """One load test of the server in the folder `source`, or of the installed one, on a study of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.toml").write_text(STUDY.format(raters=options.raters))
        with (folder / "data.jsonl").open("w") as file:
            for k in range(options.items):
                turns = [
                    {"role": "user", "content": f"question {k}"},
                    {"role": "assistant", "content": f"item-{k} of all"},
                ]
                file.write(
                    json.dumps({"id": f"item-{k}", "agent": f"agent-{k % 4}", "messages": turns}) + "\n"
                )
        return asyncio.run(drive(options, folder, source))


if __name__ == "__main__":
    sys.exit(main())
