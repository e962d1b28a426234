"""What befalls runs and their workers, for tests of what is left of them."""

import pytest

from turnwise.run.resume.unfinished import Unfinished

# A metric that asks for more than it is allowed, for `question LAST`, while `hungry` lies beside it.
HUNGRY = """
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
# A command that is killed for good after so many parts of its run: no handler runs, nothing is flushed.
KILLED = """
import os, signal, sys
from turnwise.cli.group import run
from turnwise.run.resume import unfinished
from turnwise.run.resume.unfinished import Unfinished
unfinished.SHARE = 0  # sums are written after every shard, however fast it was
left, put = int(sys.argv[1]), Unfinished.put
def deadly(self, name, value):
    global left
    put(self, name, value)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
Unfinished.put = deadly
run(sys.argv[2:])
"""


def dies_after(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    put, left = Unfinished.put, [parts]

    def deadly(self: Unfinished, name: str, value: object) -> None:
        put(self, name, value)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Unfinished, "put", deadly)
