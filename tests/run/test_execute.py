"""Workers do what the parent asks, in order, and do not outlive it."""

import operator
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from turnwise.run.execute import in_order

PARENT = """
import operator, time
from turnwise.run.execute import in_order

if __name__ == "__main__":
    results = in_order(operator.pow, 2, range(8), jobs=2)
    print(next(results), flush=True)
    time.sleep(60)
"""


def children(parent: int) -> set[int]:
    """Processes whose parent is `parent`."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_results_come_in_the_order_of_the_tasks_whatever_the_number_of_processes():
    expected = [2**n for n in range(9)]
    assert list(in_order(operator.pow, 2, range(9), jobs=1)) == expected
    assert list(in_order(operator.pow, 2, range(9), jobs=2)) == expected


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for orphans in /proc")
def test_workers_end_by_themselves_when_the_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"1\n"
    workers = children(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.wait()
    process.stdout.close()
    until = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    orphans = [worker for worker in workers if alive(worker)]
    for worker in orphans:
        os.kill(worker, signal.SIGKILL)
    assert not orphans
