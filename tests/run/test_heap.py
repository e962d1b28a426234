"""Freed memory stays in a command's process."""

import platform
import subprocess
import sys

import pytest

CODE = """
import resource, sys
import numpy as np
from turnwise.run.workers.heap import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(400):
    several = [np.ones(2**17) for _ in range(4)]  # 1 MB each
    del several
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the limits are those of glibc")
def test_arrays_of_a_megabyte_are_not_given_back_to_the_system_each_time() -> None:
    faults = {
        name: int(subprocess.run([sys.executable, "-c", CODE, name], capture_output=True, check=True).stdout)
        for name in ("kept", "default")
    }
    assert faults["kept"] < 4_000  # the pages of 4 arrays, of 4 KB each, are 1,024
    assert faults["default"] > 10 * faults["kept"]
