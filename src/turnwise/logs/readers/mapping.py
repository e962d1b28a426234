"""A mapping file: the options of `turnwise convert` for one source, written once and shared by a team.

Other commands take it with `--mapping`, in place of options of their own.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnwise.errors import UsageError, unknown
from turnwise.logs.files import replacing

KEYS = ("from", "map", "split", "roles", "agent", "each")


def load(path: str) -> dict[str, str]:
    """Option -> text of a TOML file; tables become `NAME=VALUE,...`.

    A file that cannot be read, an unknown key or another type raises `UsageError`.
    """
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--mapping {path}: {error}") from None
    return checked(values, f"--mapping {path}")


def checked(values: Mapping[str, Any], source: str) -> dict[str, str]:
    """Option -> text of a mapping's content, with tables as `NAME=VALUE,...`; errors begin with `source`."""
    found: dict[str, str] = {}
    for key, value in values.items():
        if key not in KEYS:
            raise UsageError(f"{source}: {unknown('key', key, KEYS)}")
        if isinstance(value, Mapping):
            found[key] = ",".join(f"{name}={one}" for name, one in value.items())
        elif isinstance(value, str):
            found[key] = value
        else:
            raise UsageError(f"{source}: `{key}` is {value!r}; expected a string or a table of strings")
    return found


def save(path: str, options: Mapping[str, str]) -> None:
    """Write the options as TOML, each as one string, in the order of `KEYS`.

    A file that cannot be written raises `UsageError`.
    """
    plain = [f"{key} = {json.dumps(options[key], ensure_ascii=False)}" for key in KEYS if key in options]
    with replacing(path) as file:
        file.write(("\n".join(plain) + "\n").encode())
