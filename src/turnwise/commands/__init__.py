"""The commands: one module each, whose class has its settings, runs it, and prints its result.

The first line of a module's docstring is the command's line in `turnwise --help`.
"""

# In the order of `turnwise --help`.
COMMANDS = (
    "validate", "convert", "score", "compare", "diff", "meta", "calibrate", "power", "attack", "train", "simulate",
    "rate", "view", "respond", "ope", "report", "export", "demo", "fetch", "ls", "doctor",
)  # fmt: skip
