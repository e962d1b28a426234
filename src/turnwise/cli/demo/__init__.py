"""`turnwise demo`: the whole loop on embedded worlds."""

from turnwise.cli.demo.demo import command

__all__ = ["command"]
