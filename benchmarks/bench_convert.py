"""Memory and speed of `turnwise convert` on JSON Lines, a JSON list and Parquet.

Memory is the peak of a process of its own on a file and on one ten times as large: flat means a ratio near 1. The
peer in speed is a loop of `json.loads` and `json.dumps` over the same lines, which checks nothing.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Line, peak

SMALL, LARGE = (
    30_000,
    300_000,
)  # dialogues; the large list is above the size from which lists are read in parts
CONVERT = "import sys\nfrom turnwise.cli.group import run\nsys.exit(run(sys.argv[1:]))"
WORDS = "what time does the museum open on sunday and how much is a ticket for two adults please " * 2


def record(number: int) -> dict[str, Any]:
    said = [{"role": "user", "content": f"{number} {WORDS}"}, {"role": "assistant", "content": WORDS}]
    return {"conversation_id": str(number), "model": "m1", "conversation": said, "language": "English"}


def write_lines(path: Path, count: int) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(record(number)) + "\n" for number in range(count))


def write_list(path: Path, count: int) -> None:
    with path.open("w") as file:
        file.write("[")
        file.writelines(("," if number else "") + json.dumps(record(number)) for number in range(count))
        file.write("]")


def write_parquet(path: Path, count: int) -> None:
    import polars

    polars.DataFrame([record(number) for number in range(count)]).write_parquet(path, row_group_size=10_000)


def bench() -> Iterator[Line]:
    for suffix, write in ((".jsonl", write_lines), (".json", write_list), (".parquet", write_parquet)):
        with tempfile.TemporaryDirectory() as name:
            folder, peaks = Path(name), []
            for count in (SMALL, LARGE):
                source = folder / f"{count}{suffix}"
                write(source, count)
                start = time.perf_counter()
                peaks.append(peak(CONVERT, ["convert", str(source), str(folder / "out.jsonl")]))
                seconds = time.perf_counter() - start
            size = source.stat().st_size / 1e6
            yield Line(
                f"peak memory of converting {suffix} of {size:.0f} MB",
                ours=peaks[1], peer=peaks[0], peer_name="a tenth of it", goal=1.3, unit="MiB", at_most=True,
            )  # fmt: skip
            if suffix == ".jsonl":
                start = time.perf_counter()
                with source.open() as lines, (folder / "plain.jsonl").open("w") as out:
                    out.writelines(json.dumps(json.loads(line)) + "\n" for line in lines)
                plain = time.perf_counter() - start
                yield Line(
                    f"lines a second of converting {suffix}",
                    ours=LARGE / seconds, peer=LARGE / plain, peer_name="json.loads and json.dumps", goal=0.3,
                    unit="lines/s", rate=True,
                )  # fmt: skip
