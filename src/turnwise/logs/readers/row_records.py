"""Rows of a table that hold whole dialogues in one column: `messages`, `conversation` or `conversations`.

In a table of texts the cell is the list as JSON, or as Python prints it.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from turnwise.logs.checks import RuleError, shown
from turnwise.logs.readers import openai, sharegpt, table
from turnwise.logs.readers.chats import message_records
from turnwise.logs.readers.source import Options, decoded, raise_data_error
from turnwise.types import Dialogue, Role

Build = Callable[[Any, str, Mapping[str, Role]], Dialogue]  # of a row, its number, and what --roles says
RECORDS: Mapping[str, Build] = {
    "messages": openai.dialogue,
    "conversations": sharegpt.dialogue,
    "conversation": message_records.dialogue,
}
EMPTY = ("", None)


def whole_dialogues(
    rows: Iterable[table.Row], path: str, build: Build, options: Options
) -> Iterator[Dialogue]:
    """The dialogues that `build` makes of rows; an error names `path` and the row."""
    for row in rows:
        try:
            yield build(present(_decoded_cells(row.values)), str(row.number), options.roles)
        except RuleError as error:
            raise_data_error(error, path, row.number)


def present(value: Any) -> Any:
    """The value without nulls at any depth of objects; a table gives every record the keys of all others.

    Nulls that are list elements stay.
    """
    if isinstance(value, Mapping):
        return {key: present(inner) for key, inner in value.items() if inner is not None}
    return [present(inner) for inner in value] if isinstance(value, list) else value


def _decoded_cells(values: Mapping[str, Any]) -> dict[str, Any]:
    """The row without empty cells, in which a dialogue that is written as text is the list itself."""
    row = {column: value for column, value in values.items() if value not in EMPTY}
    for column in RECORDS.keys() & row.keys():
        if isinstance(row[column], str):
            row[column] = _listed(row[column], column)
    return row


def _listed(text: str, column: str) -> Any:
    """The value of a text in JSON, or as Python prints lists; any other text raises `RuleError`."""
    try:
        return decoded(text)
    except RuleError as error:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            problem = f"is {shown(text)}, no list of messages: {error.message}"
            raise RuleError(problem).inside(column) from None
