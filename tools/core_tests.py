"""`python -m tools.core_tests`: the tests without torch, with the extras `tables`, `pandas` and `test`.

They run on every system and Python version and need no weights.
"""

import subprocess
import sys

FOLDERS = (
    "tests/stats",
    "tests/logs",
    "tests/ratings",
    "tests/meta",
    "tests/metrics/reference",
    "tests/metrics/unreferenced",
    "tests/test_errors.py",
    "tests/test_library.py",
    "tests/test_terminal.py",
    "tests/test_demo_corpus.py",
)

if __name__ == "__main__":
    sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-q", *FOLDERS, *sys.argv[1:]]))
