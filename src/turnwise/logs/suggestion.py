"""Which --map a record or a table of an unknown shape needs: usual names are filled in, others are left as `...`."""

from collections.abc import Iterable, Mapping
from typing import Any

# Meaning -> names that are usual for it, in lower case.
USUAL = {
    "id": ("id", "conversation_id", "conv_id", "dialogue_id", "dialog_id", "session_id", "thread_id", "chat_id",
           "conv"),
    "message": ("message_id", "tweet_id", "post_id", "id"),
    "reply_to": ("reply_to", "in_reply_to", "in_response_to", "in_response_to_tweet_id", "parent_id", "parent"),
    "role": ("role", "from", "speaker", "author", "sender", "who", "author_id"),
    "content": ("content", "text", "value", "message", "utterance", "body", "say"),
    "context": ("context", "prompt", "question", "query", "input", "instruction", "user", "q"),
    "response": ("response", "answer", "completion", "output", "reply", "assistant", "bot", "a"),
}  # fmt: skip
NOT_GIVEN = "..."
SPECIAL = frozenset(".,=[]'\" ")  # characters that a key of a path must not have
DEPTH = 2  # objects inside a record in which messages are looked for


def table_options(columns: Iterable[str]) -> str:
    """A --map for a table with these columns: a context and a response a row where there are both, else a message,
    in threads where a column says what it replies to.
    """
    names = list(columns)
    if all(_usual(one, names) != NOT_GIVEN for one in ("context", "response")):
        return _map(names, "context", "response")
    if _usual("reply_to", names) != NOT_GIVEN:
        return _map(names, "message", "reply_to", "role", "content")
    return _map(names, "id", "role", "content")


def json_options(record: Any) -> str:
    """The options of `--from json` for a record: --map, and --each where it holds a list of records itself."""
    values = record if isinstance(record, Mapping) else {}
    if (found := _messages(values)) is not None:
        return _nested(*found)
    for key, inner in values.items():
        first = inner[0] if isinstance(inner, list) and inner else None
        if _is_key(key) and isinstance(first, Mapping) and (found := _messages(first)) is not None:
            return f"--each '{key}[*]' {_nested(*found)}"
    texts = [key for key, value in values.items() if isinstance(value, str)]
    flat = table_options(texts)
    return _nested(NOT_GIVEN, {}) if NOT_GIVEN in flat else flat


def _nested(path: str, message: Mapping[str, Any]) -> str:
    """The --map of records with messages at this path."""
    return _map(message, "role", "content", messages=path)


def _messages(
    values: Mapping[str, Any], above: str = "", depth: int = DEPTH
) -> tuple[str, Mapping[str, Any]] | None:
    """The path of a list of objects that have a text, and the first of them; None if there is none."""
    for key, inner in values.items():
        if not _is_key(key):
            continue
        if isinstance(inner, list) and inner and isinstance(inner[0], Mapping):
            if _usual("content", inner[0]) != NOT_GIVEN:
                return above + key, inner[0]
        elif isinstance(inner, Mapping) and depth:
            found = _messages(inner, f"{above}{key}.", depth - 1)
            if found is not None:
                return found
    return None


def _map(names: Iterable[str], *meanings: str, **known: str) -> str:
    """`--map 'MEANING=NAME,...'` with the known names first, then the usual one of each meaning."""
    there = list(names)
    pairs = [*known.items(), *((meaning, _usual(meaning, there)) for meaning in meanings)]
    return f"--map '{','.join(f'{meaning}={name}' for meaning, name in pairs)}'"


def _usual(meaning: str, names: Iterable[str]) -> str:
    """The first of the names that is usual for a meaning, in the order of `USUAL`; `...` if there is none."""
    there = {name.lower(): name for name in names if _is_key(name)}
    return next((there[name] for name in USUAL[meaning] if name in there), NOT_GIVEN)


def _is_key(key: object) -> bool:
    """Whether a key can stand in a path or a map as it is."""
    return isinstance(key, str) and bool(key) and not SPECIAL & set(key)
