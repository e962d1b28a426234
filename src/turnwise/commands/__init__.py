"""The commands: one module each, whose class has its settings, runs it, and prints its result.

The first line of a module's docstring is the command's line in `turnwise --help`.
"""
