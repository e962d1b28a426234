"""`turnwise demo`: the whole loop on embedded worlds."""

from turnwise.cli.demo.command import command

__all__ = ["command"]
