"""Which paths of a `--map` lead somewhere in a file, and which paths there are instead."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from turnwise.errors import WrongForFile, convert_option
from turnwise.logs.readers.value_paths import values_at

LISTED = 24  # paths that an error lists
LOOKED_AT = 200  # records whose keys are noted for such an error
DEPTH = 3  # keys inside each other that are listed


@dataclass(slots=True)
class MappedPaths:
    """The paths of a map that have matched nothing yet, and the paths of the first records."""

    missing: dict[str, str]  # meaning -> path
    there: dict[str, None] = field(default_factory=dict)
    records: int = 0

    def see(self, value: Any, paths: Mapping[str, str] | None = None) -> None:
        """Look for the missing paths in a record, or for others in their place (meaning -> path) in a message."""
        looked_for = self.missing if paths is None else paths
        for meaning in [meaning for meaning in looked_for if meaning in self.missing]:
            if values_at(value, looked_for[meaning]):
                del self.missing[meaning]

    def note(self, value: Any, before: str = "") -> None:
        """Note the paths of a record's keys, or of a message's with `before` in front, for the error."""
        if self.records < LOOKED_AT and self.missing:
            self.there.update(dict.fromkeys(key_paths(value, before)))

    def check(self, file: str) -> None:
        """Raise `UsageError` if a path matched nothing in any record."""
        for meaning, path in self.missing.items():
            listed = list(self.there)
            more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
            raise WrongForFile(
                file,
                f"{convert_option('--map', f'{meaning}={path}')}: nothing is there in any record; there are "
                f"{', '.join(listed[:LISTED]) or 'no other keys'}{more}",
            )


def key_paths(value: Any, before: str = "", depth: int = DEPTH) -> Iterator[str]:
    """The paths of the keys of an object, those inside objects included, with `[*]` for a list of objects."""
    if not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        if not isinstance(key, str) or not key or set(key) & set(".,=[]"):
            continue
        elements: dict[str, Any] = {}
        for element in inner[:LISTED] if isinstance(inner, list) else ():
            elements |= element if isinstance(element, Mapping) else {}
        if depth > 1 and isinstance(inner, Mapping) and inner:
            yield from key_paths(inner, f"{before}{key}.", depth - 1)
        elif depth > 1 and elements:
            yield from key_paths(elements, f"{before}{key}[*].", depth - 1)
        else:
            yield f"{before}{key}"
