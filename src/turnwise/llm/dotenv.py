"""A key from `.env` in the working directory, where the environment lacks it.

Only the variable that is asked for is read, by the name that a provider's model or a setting `key` gives. It is put
into no environment, and no message repeats what the file has.
"""

import os
from pathlib import Path

from turnwise.errors import UsageError

FILE = ".env"


def named_key(name: str) -> str:
    """The value of a variable in the environment, else in `.env`; "" if neither has it.

    A file that cannot be read raises `UsageError`.
    """
    return os.environ.get(name, "").strip() or _in_file(name).strip()


def _in_file(name: str) -> str:
    """The value of `NAME=VALUE`, the last one, in `.env`: it may be quoted, and `export` may stand before it."""
    try:
        lines = Path(FILE).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{FILE}: cannot be read for {name}: {reason}") from None
    found = ""
    for line in lines:
        key, sign, value = line.strip().removeprefix("export ").partition("=")
        if sign and key.strip() == name:
            found = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    """A value without its quotes, or without the comment that follows it."""
    quote = value[:1]
    if quote in ("'", '"') and quote in value[1:]:
        return value[1 : value.index(quote, 1)]
    return value.partition(" #")[0].rstrip()
