"""What is said about files of another format: the name of the reader, and the options of `convert`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from turnwise.settings.data import MappingLike

if TYPE_CHECKING:
    from turnwise.logs.readers.source import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files are read, in the words of the command line; without a reader the format is recognised."""

    reader: str | None = None
    columns: str = ""
    split: str | None = None
    roles: str = ""
    agent: str | None = None
    each: str | None = None

    def options(self, *, agent: str | None = None, more: tuple[str, ...] = ()) -> "Options":
        """The options for one source, which a reader fills with what it drops; `agent` comes before the mapping's.

        A part of `columns` or `roles` that cannot be understood raises `UsageError`.
        """
        from turnwise.logs.readers import speakers
        from turnwise.logs.readers.columns import parse, words
        from turnwise.logs.readers.source import Options

        return Options(
            columns=parse(self.columns),
            words=words(self.columns),
            split=self.split,
            roles=speakers.parse(self.roles),
            agent=agent or self.agent,
            each=self.each,
            more=more,
        )


def reading(reader: str | None, mapping: MappingLike | None) -> Reading | None:
    """How files are read by the name of a reader and a mapping, whose own reader comes second; None without both.

    A mapping that cannot be read raises `UsageError`.
    """
    if mapping is None:
        return None if reader is None else Reading(reader=reader)
    from turnwise.logs.readers.mapping import checked, load

    kept = load(str(mapping)) if isinstance(mapping, str | Path) else checked(mapping, "mapping")
    return Reading(
        reader=reader or kept.get("from"),
        columns=kept.get("map", ""),
        split=kept.get("split"),
        roles=kept.get("roles", ""),
        agent=kept.get("agent"),
        each=kept.get("each"),
    )
