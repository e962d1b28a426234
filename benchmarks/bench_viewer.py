"""`turnwise view` on 100,000 dialogues: time and memory until the first page, against reading the file once, and the
size of that page against the one of 1,000 dialogues.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import MESSAGES, write
from benchmarks.harness import Line, peak

DIALOGUES, FEW = 100_000, 1_000
READ = "import sys\nfrom turnwise.logs.scan import scan\nscan(sys.argv[1:])"
VIEW = """
import sys
from starlette.testclient import TestClient
from turnwise.commands.view import open_viewer
from turnwise.web.viewer.app import app

with open_viewer(sys.argv[1:], reader=None, pair=None, quiet=True) as viewer:
    print(len(TestClient(app(viewer, "token")).get("/view/token").content))
"""


def measured(code: str, path: Path) -> tuple[float, str]:
    """Processor seconds of a new process that runs `code`, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-W", "ignore", "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout.strip()


def bench() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        many, few = Path(folder) / "many.jsonl", Path(folder) / "few.jsonl"
        write(many, DIALOGUES * MESSAGES // 2)
        write(few, FEW * MESSAGES // 2)
        what = f"{DIALOGUES:,} dialogues of {MESSAGES} messages, {many.stat().st_size / 1e6:.0f} MB"
        times = [min(measured(code, many)[0] for _ in range(2)) for code in (VIEW, READ)]
        yield Line(
            f"processor time until the first page, {what}",
            *times,
            "reading and checking once",
            5,
            at_most=True,
        )
        memory = [peak(code, [str(many)]) for code in (VIEW, READ)]
        yield Line(
            f"peak memory until the first page, {what}",
            *memory,
            "reading and checking once",
            5,
            "MiB",
            at_most=True,
        )
        sizes = [int(measured(VIEW, path)[1]) / 1000 for path in (many, few)]
        yield Line(f"size of the first page, {what}", *sizes, f"{FEW:,} dialogues", 1.1, "kB", at_most=True)
