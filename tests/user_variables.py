"""Environment variables that a user may have set, and that would change what the tests see."""

import os
from pathlib import Path

CORPORA_OF_TESTS = "CORPORA_OF_TESTS"  # what TURNWISE_DATA was, for the processes that pytest starts
# Where weights are found: they are the same everywhere, and fetched before the tests.
KEPT = {"TURNWISE_CACHE", "TURNWISE_WEIGHTS", "TURNWISE_SCREENSHOTS", "TURNWISE_AXE"}
# The width and the colours of output, a browser's screen, a running cluster, a key; what Python prints by itself, and
# where it looks for modules.
OTHERS = {
    "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "DISPLAY", "WAYLAND_DISPLAY", "RAY_ADDRESS",
    "OPENAI_API_KEY", "PYTHONWARNINGS", "PYTHONDEVMODE", "PYTHONIOENCODING", "PYTHONSAFEPATH",
    "PYTHONPROFILEIMPORTTIME",
}  # fmt: skip


def forget() -> None:
    """Remove these variables, so that commands do the same for every user."""
    os.environ[CORPORA_OF_TESTS] = str(corpora())
    for name in list(os.environ):
        if name in OTHERS or (name.startswith("TURNWISE_") and name not in KEPT):
            del os.environ[name]


def corpora() -> Path:
    """The folder of real corpora, which lie outside of the repository: TURNWISE_DATA, else beside the checkout."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return Path(os.environ.get(CORPORA_OF_TESTS) or os.environ.get("TURNWISE_DATA") or beside)
