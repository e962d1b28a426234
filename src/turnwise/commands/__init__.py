"""The commands: one module each, whose class has its settings, runs it, and prints its result.

The first line of a module's docstring is the command's line in `turnwise --help`.
"""

import os

# The order of `turnwise --help`; commands that are not named follow in the order of the alphabet.
_FIRST = (
    "init",
    "validate", "convert", "score", "compare", "diff", "meta", "calibrate", "power", "reliability", "attack", "train",
    "simulate", "rate", "view", "respond", "play", "ope", "report", "export",
    "demo", "fetch", "ls", "doctor",
)  # fmt: skip
SHARED = ("agreement", "function", "opening", "screen")  # modules that are no commands


def _modules() -> list[str]:
    """The names of the modules in this folder, which is listed here because `pkgutil` takes long to import."""
    return sorted(name[:-3] for name in os.listdir(__path__[0]) if name.endswith(".py") and name[0] != "_")


COMMANDS = tuple(dict.fromkeys((*_FIRST, *(name for name in _modules() if name not in SHARED))))
