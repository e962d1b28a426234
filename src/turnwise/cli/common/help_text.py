"""The help of a command, whose lines are broken between words and never at a hyphen."""

from collections.abc import Iterable

import click

_HYPHEN = "\ue000"  # stands for a hyphen while lines are broken: a private character, which no text has


class HelpFormatter(click.HelpFormatter):
    """As click's, but `--agree-with` and `self-play` stay on one line."""

    def write(self, string: str) -> None:
        """Add a text whose lines are broken already."""
        super().write(string.replace(_HYPHEN, "-"))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """As click's."""
        super().write_usage(prog, _unbreakable(args), prefix)

    def write_text(self, text: str) -> None:
        """As click's."""
        super().write_text(_unbreakable(text))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """As click's: a list of terms with their explanations."""
        kept = [(_unbreakable(term), _unbreakable(text)) for term, text in rows]
        super().write_dl(kept, col_max, col_spacing)


class HelpContext(click.Context):
    """The context of a command, with this form of help."""

    formatter_class = HelpFormatter


def _unbreakable(text: str) -> str:
    """The text with a character for each hyphen at which no line is broken."""
    return text.replace("-", _HYPHEN)
