"""Ways to make runs and their workers fail, for tests of resuming and error reports."""

import pytest

from turnwise.run.resume.partial_results import PartialResults

# A metric that runs out of memory on the reply to `question LAST` while there is a file `hungry` in its folder.
OUT_OF_MEMORY_METRIC = """
import pathlib, resource
HERE = pathlib.Path(__file__).parent
def length(records):
    last = any("question LAST " in record["context"][-1]["content"] for record in records)
    if last and (HERE / "hungry").exists():
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**26, before[1]))
        try:
            bytearray(2**30)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
    with (HERE / "calls").open("a") as file:
        file.write(f"{len(records)} ")
    return [len(record["response"]) for record in records]
"""
# A script that runs a command and kills itself with SIGKILL after writing a number of parts of the run.
SELF_KILLING_COMMAND = """
import os, signal, sys
from turnwise.cli.common.group import run
from turnwise.run.resume import partial_results
from turnwise.run.resume.partial_results import PartialResults
partial_results.WRITE_INTERVAL_FACTOR = 0  # write sums after every shard, however fast it was
left, put = int(sys.argv[1]), PartialResults.put
def put_or_die(self, name, value):
    global left
    put(self, name, value)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
PartialResults.put = put_or_die
run(sys.argv[2:])
"""


def interrupt_after(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    """Interrupt the run after it has written this many parts."""
    put, left = PartialResults.put, [parts]

    def put_or_interrupt(self: PartialResults, name: str, value: object) -> None:
        put(self, name, value)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(PartialResults, "put", put_or_interrupt)
