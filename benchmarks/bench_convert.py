"""Memory and speed of `turnwise convert` on JSON Lines, a JSON list and Parquet, beside jq and polars.

`python -m benchmarks.bench_convert --megabytes 1000 --folder DIR` runs it on larger files and writes
benchmarks/results/convert.json; `make bench` has 100 MB. The dialogues are those of the corpora beside the project, in
WildChat's form (`conversation`, `model`), again and again with new ids; without the corpora they are one sentence.

Memory is the peak of a process of its own on a file and on one ten times as large: flat means a ratio near 1. The
peers write the same keys of every record and check nothing: jq and polars (one thread) for JSON Lines, polars for
Parquet, and a loop of `json.loads` and `json.dumps`.
"""

import argparse
import gzip
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.harness import Line, peak

DATA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
CORPORA = ("dailydialog", "multiwoz_valtest", "personachat", "chitchat_byu")
RESULTS = Path(__file__).parent / "results" / "convert.json"
MEGABYTES = 100  # of the larger file; above the size from which JSON lists are read in parts
ROW_GROUP = 10_000  # rows; one is unpacked at a time, so it decides the memory
CONVERT = "import sys\nfrom turnwise.cli.common.group import run\nsys.exit(run(sys.argv[1:]))"
LOOP = """
import json, sys
with open(sys.argv[1]) as lines, open(sys.argv[2], "w") as out:
    for line in lines:
        one = json.loads(line)
        made = {"id": one["conversation_id"], "agent": one["model"], "messages": one["conversation"],
                "meta": {"language": one["language"]}}
        out.write(json.dumps(made) + "\\n")
"""
POLARS = """
import sys
import polars
source, target = sys.argv[1:]
read = polars.scan_parquet if source.endswith(".parquet") else polars.scan_ndjson
made = read(source).select(id="conversation_id", agent="model", messages="conversation", meta=polars.struct("language"))
made.sink_ndjson(target)
"""
JQ = "{id: .conversation_id, agent: .model, messages: .conversation, meta: {language}}"


def dialogues() -> list[list[dict[str, str]]]:
    """The messages of all dialogues of the corpora; one dialogue if there are no corpora."""
    found = []
    for name in CORPORA:
        path = DATA / f"{name}.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                for line in lines:
                    said = json.loads(line)["messages"]
                    found.append([{"role": one["role"], "content": one["content"]} for one in said])
    text = "what time does the museum open on sunday and how much is a ticket for two adults please " * 2
    return found or [[{"role": "user", "content": text}, {"role": "assistant", "content": text}]]


def records(size: int) -> Iterator[dict[str, Any]]:
    """Records that are together about `size` bytes of JSON."""
    said = dialogues()
    lengths = [len(msgspec.json.encode(one)) for one in said]
    written = 0
    for number in count():
        if written >= size:
            return
        place = number % len(said)
        yield {
            "conversation_id": str(number),
            "model": "m1",
            "conversation": said[place],
            "language": "English",
        }
        written += lengths[place] + 80


def write_lines(path: Path, size: int) -> int:
    lines = 0
    with path.open("wb") as file:
        for lines, one in enumerate(records(size), 1):  # noqa: B007  # the count is what is returned
            file.write(msgspec.json.encode(one) + b"\n")
    return lines


def write_list(path: Path, size: int) -> int:
    lines = 0
    with path.open("wb") as file:
        file.write(b"[")
        for lines, one in enumerate(records(size), 1):
            file.write((b"," if lines > 1 else b"") + msgspec.json.encode(one))
        file.write(b"]")
    return lines


def write_parquet(path: Path, size: int) -> int:
    """Not compressed, so that the file is about as large as its text."""
    import polars

    lines = path.with_suffix(".jsonl")
    written = write_lines(lines, size)
    made = polars.scan_ndjson(lines)
    made.sink_parquet(path, compression="uncompressed", row_group_size=ROW_GROUP)
    lines.unlink()
    return written


def timed(command: list[str], output: Path | None = None) -> float:
    """Seconds of a command; `output` is the file for what it prints. Polars has one thread, as the others have."""
    start = time.perf_counter()
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
    with open(output or os.devnull, "wb") as file:
        subprocess.run(command, check=True, stdout=file, stderr=subprocess.PIPE, env=environment)
    return time.perf_counter() - start


def peers(source: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """Name and seconds of each peer that can read the file."""
    if source.suffix == ".jsonl":
        yield (
            "json.loads and json.dumps",
            timed([sys.executable, "-c", LOOP, str(source), str(folder / "peer.jsonl")]),
        )
        if jq := shutil.which("jq"):
            yield "jq", timed([jq, "-c", JQ, str(source)], folder / "peer.jsonl")
    if source.suffix != ".json":
        yield "polars", timed([sys.executable, "-c", POLARS, str(source), str(folder / "peer.jsonl")])


FORMS: Mapping[str, Callable[[Path, int], int]] = {
    ".jsonl": write_lines, ".json": write_list, ".parquet": write_parquet,
}  # fmt: skip


def bench(
    megabytes: int = MEGABYTES, folder: str | None = None, forms: Sequence[str] = tuple(FORMS)
) -> Iterator[Line]:
    for suffix in forms:
        write = FORMS[suffix]
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place, peaks, seconds, lines = Path(name), [], 0.0, 0
            for size in (megabytes * 100_000, megabytes * 1_000_000):
                source = place / f"{size}{suffix}"
                lines = write(source, size)
                start = time.perf_counter()
                peaks.append(peak(CONVERT, ["convert", str(source), str(place / "out.jsonl")]))
                seconds = time.perf_counter() - start
            about = f"{suffix} of {source.stat().st_size / 1e6:.0f} MB, {lines} dialogues"
            yield Line(
                f"peak memory of converting {about}",
                ours=peaks[1], peer=peaks[0], peer_name="a tenth of it", goal=1.3, unit="MiB", at_most=True,
            )  # fmt: skip
            for peer, took in peers(source, place):
                yield Line(
                    f"lines a second of converting {about}",
                    ours=lines / seconds, peer=lines / took, peer_name=peer,
                    goal=0.05 if peer == "polars" else 0.2, unit="lines/s", rate=True,
                )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_convert", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the larger file")
    parser.add_argument("--folder", help="where the files are written, and deleted; default: the system's")
    parser.add_argument(
        "--forms", nargs="*", default=[".jsonl", ".parquet"], choices=list(FORMS), help="of the files"
    )
    given = parser.parse_args()
    for form in given.forms:
        lines = []
        for line in bench(given.megabytes, given.folder, [form]):
            lines.append({**asdict(line), "ratio": line.ratio, "met": line.met})
            measured = f"ours {line.ours:.4g} {line.unit}, {line.peer_name} {line.peer:.4g}"
            print(f"{line.name}: {measured}: ratio {line.ratio:.3g}", flush=True)
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[form] = {
            "python": platform.python_version(),
            "command": f"python -m benchmarks.bench_convert --megabytes {given.megabytes} --forms {form}",
            "lines": lines,
        }
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
