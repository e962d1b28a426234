"""Rows of a table become dialogues, in one of three layouts.

*One row a message*: rows with the same `id` are a dialogue, in the order of `turn` or `time`, else of the file; other
columns stay with the message, and so do its own id, what it replies to, its time, and the speaker's name. Where there
is no `id`, but `message` and `reply_to`, messages that reply to each other are one dialogue, named after its first
message; without times a message comes after the one that it replies to. Branches of such a thread are one dialogue, and
a note counts them.

*One row an item* (there is a column `response`): `context` comes before it, as one user message or, if `split`
separates turns in it, as turns whose roles alternate backwards from the response, which a note says; only the response
is judged. Other columns go to `meta`.

*One row a dialogue*: `say:ROLE` names the columns of the turns, which are read in the order of the table; empty cells
are passed over.

Rows with the same `conversation_id` (or another name of a dialogue) are its exchanges, in order: each adds what was
asked and what was answered. Rows with the same other id but another agent are dialogues of their own.

Rows that repeat a message (the same `id` and `turn`) or an item (the same `id`) add their ratings to it, so that a
table with one row a rating is read too; cells in which such a row differs are kept beside its ratings.

A large table whose rows are sorted by `id`, and one without ids, is read dialogue by dialogue; the rows of any other
are gathered in memory.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from turnwise.errors import DataError, Problem, convert_option
from turnwise.logs.checks import RuleError, wrong
from turnwise.logs.files import counting
from turnwise.logs.ids import IdSet
from turnwise.logs.readers.columns import Columns, written
from turnwise.logs.readers.drafts import ROLES, Draft, Drafts, Row, Threads
from turnwise.logs.readers.source import Options, raise_data_error
from turnwise.logs.readers.usual_columns import described
from turnwise.types import Dialogue, Role, Turn

__all__ = ["ROLES", "Row", "dialogues"]


def dialogues(
    rows: Iterable[Row],
    header: Sequence[str],
    file: str,
    options: Options,
    *,
    again: Callable[[], Iterable[Row]] | None = None,
) -> Iterator[Dialogue]:
    """The dialogues of a table in the layout that its columns have; `file` is named in errors.

    `again` returns the rows once more, for a table that is too large for memory: its ids are looked at first, and if
    rows with the same id follow each other, dialogues are yielded one by one. Columns that fit no layout raise
    `DataError`, and speakers without a known role `UsageError`.
    """
    columns = Columns.fitted(options.columns, header, file, options.words)
    assumed = {
        meaning: named
        for meaning, named in columns.meanings.items()
        if meaning not in options.columns and (meaning,) != tuple(named)
    }
    if assumed:
        options.notes.append(f"columns are read by their names: {described(assumed)}")
    said = [(meaning.partition(":")[2], column) for meaning, several in columns.meanings.items()
            if meaning.startswith("say:") for column in several]  # fmt: skip
    threaded = "id" not in columns and {"message", "reply_to"} <= columns.meanings.keys()
    if (
        not said
        and "response" not in columns
        and not ("role" in columns and "content" in columns and ("id" in columns or threaded))
    ):
        needed = (
            "expected `response`; or `id` (or `message` and `reply_to`), `role` and `content`; or `say:ROLE`: "
            f"say with {convert_option('--map')} which columns they are"
        )
        raise DataError(Problem(file, None, "", f"has the columns {', '.join(header)}; {needed}"))
    if said:
        yield from _wide(rows, said, columns, file, options)
        return
    drafts = Drafts(columns, options, file)
    if threaded:
        rows = list(rows)  # a reply may stand before what it answers
        drafts.threads = Threads(rows, columns, options)
    whole = "id" not in columns and not threaded  # each row is a dialogue
    grouped = whole or (again is not None and not threaded and _is_grouped(again, columns))
    for row in rows:
        try:
            before = drafts.add(row)
        except RuleError as error:
            raise_data_error(error, file, row.number)
        if grouped and before is not None:
            complete = drafts.take(before)
            if not drafts.speakers.unknown:  # else it is an error at the end
                yield complete.dialogue(options)
    drafts.speakers.check()
    for draft in drafts.known.values():
        yield draft.dialogue(options)


def _is_grouped(rows: Callable[[], Iterable[Row]], columns: Columns) -> bool:
    """Whether rows with the same id follow each other; False for a row without an id, or with a bad one.

    The bytes that this reads are not counted for the progress bar.
    """
    seen, last = IdSet(), None
    with counting(lambda _: None):
        for row in rows():
            try:
                identity = columns.cell(row.values, "id", written)
            except RuleError:
                return False
            if identity is None or (identity != last and identity in seen):
                return False
            if identity != last:
                seen.add(identity)
                last = identity
    return True


def _wide(
    rows: Iterable[Row], said: Sequence[tuple[str, str]], columns: Columns, file: str, options: Options
) -> Iterator[Dialogue]:
    """One dialogue a row; `said` has the role and the column of each turn. Ratings are of the last turn.

    A row without any text raises `DataError`.
    """
    for row in rows:
        try:
            identity = columns.cell(row.values, "id", written) or str(row.number)
            draft = Draft(identity, meta=columns.unmapped(row.values))
            for role, column in sorted(said, key=lambda one: list(row.values).index(one[1])):
                text = row.values[column]
                if text not in (None, ""):
                    draft.place((len(draft.turns), 0), Turn(_role(role), written(text)))
            if not draft.turns:
                raise wrong(dict(row.values), "text in one of the columns of turns")
            draft.rate(row.values, columns, (len(draft.turns) - 1, 0))
            draft.speak(columns.cell(row.values, "agent", written))
        except RuleError as error:
            raise_data_error(error, file, row.number)
        yield draft.dialogue(options)


def _role(value: Any) -> Role:
    """The role that one of the usual words stands for; any other word raises `RuleError`."""
    role = ROLES.get(written(value).strip().lower())
    if role is None:
        raise wrong(value, f"one of {', '.join(ROLES)}")
    return role
