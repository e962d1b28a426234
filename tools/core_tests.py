"""`python -m tools.core_tests [PYTEST OPTIONS]`: the tests that need only the core and the extras `tables` and `test`.

They run on every system and Python version, without torch and without weights.
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
    "tests/test_demo_corpus.py",
)

if __name__ == "__main__":
    sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-q", *FOLDERS, *sys.argv[1:]]))
