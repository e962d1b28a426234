"""Rows of a table become dialogues, in one of three layouts.

*One row a message*: rows with the same `id` are a dialogue, in the order of `turn` or `time` (ISO 8601 or seconds),
  else of
the file; other columns stay with the message. Where there is no `id`, but `message` and `reply_to`, messages that reply
to each other are one dialogue, named after its first message.

*One row an item* (there is a column `response`): `context` comes before it, as one user message or, if `split`
  separates
turns in it, as turns whose roles alternate backwards from the response; other columns go to `meta`.

*One row a dialogue*: `say:ROLE` names the columns of the turns, which are read in the order of the table; empty cells
  are
passed over.

Rows that repeat a message (the same `id` and `turn`) or an item (the same `id`) add their ratings to it, so that a
table with one row a rating is read too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import RuleError, shown, wrong
from turnwise.logs.dialogue import other_entries
from turnwise.logs.readers import speakers
from turnwise.logs.readers.columns import Columns, measured, moment, written
from turnwise.logs.readers.sharegpt import SPEAKERS
from turnwise.logs.readers.source import Options, raise_data_error
from turnwise.types import Dialogue, Rating, Reply, Role, Turn, item_id

ROLES: dict[str, Role] = {
    **SPEAKERS,
    "bot": "assistant",
    "agent": "assistant",
    "ai": "assistant",
    "customer": "user",
}


class Row(NamedTuple):
    """One row of a table: its cells by column, and its number for errors."""

    number: int  # the line, or the row where the format has no lines
    values: Mapping[str, Any]


def dialogues(rows: Iterable[Row], header: Sequence[str], file: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of a table in the layout that its columns have; `file` is named in errors.

    Rows of a layout with one row a message or item are gathered in memory first. Columns that fit no layout
    raise `DataError`, and speakers without a known role `UsageError`.
    """
    columns = Columns.fitted(options.columns, header)
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
            "say with --map which columns they are"
        )
        raise DataError(Problem(file, None, "", f"has the columns {', '.join(header)}; {needed}"))
    if said:
        yield from _wide(rows, said, columns, file, options)
        return
    speakers_ = _Speakers(options, file)
    drafts: dict[str, _Draft] = {}
    threads = _Threads()
    if threaded:
        rows = list(rows)  # a reply may stand before the message it replies to
        for row in rows:
            threads.add(
                columns.cell(row.values, "message", written), columns.cell(row.values, "reply_to", written)
            )
    for row in rows:
        try:
            if "response" in columns:
                _item(drafts, row, columns, options.split)
            else:
                _message(drafts, row, columns, speakers_, threads if threaded else None)
        except RuleError as error:
            raise_data_error(error, file, row.number)
    speakers_.check()
    for draft in drafts.values():
        yield draft.dialogue()


def _wide(
    rows: Iterable[Row], said: Sequence[tuple[str, str]], columns: Columns, file: str, options: Options
) -> Iterator[Dialogue]:
    """One dialogue a row; `said` has the role and the column of each turn. Ratings are of the last turn.

    A row without any text raises `DataError`.
    """
    for row in rows:
        try:
            identity = columns.cell(row.values, "id", written) or str(row.number)
            draft = _Draft(identity, meta=columns.unmapped(row.values))
            for role, column in sorted(said, key=lambda one: list(row.values).index(one[1])):
                text = row.values[column]
                if text not in (None, ""):
                    draft.place(len(draft.turns), Turn(_role(role), written(text)))
            if not draft.turns:
                raise wrong(dict(row.values), "text in one of the columns of turns")
            draft.rate(row.values, columns, len(draft.turns) - 1)
            draft.speak(columns.cell(row.values, "agent", written))
        except RuleError as error:
            raise_data_error(error, file, row.number)
        yield draft.dialogue()


class _Speakers:
    """Roles of the speakers of a table.

    An unknown speaker is an error only at the end, so that it can name them all.
    """

    def __init__(self, options: Options, file: str) -> None:
        self.options, self.file = options, file
        self.counts: Counter[str] = Counter()
        self.unknown = False

    def role(self, value: Any) -> Role:
        """The role of a speaker: by name in --roles, by the usual words, or by `*` in --roles; `user` in the
        place of an unknown one.
        """
        speaker = written(value).strip()
        self.counts[speaker] += 1
        known = (
            self.options.roles.get(speaker)
            or ROLES.get(speaker.lower())
            or self.options.roles.get(speakers.OTHERS)
        )
        self.unknown = self.unknown or known is None
        return known or "user"  # never used: `check` raises

    def check(self) -> None:
        """Raise `UsageError` with all speakers that have no role."""
        if self.unknown:
            usual = {speaker: ROLES[speaker.lower()] for speaker in self.counts if speaker.lower() in ROLES}
            speakers.roles(self.counts, self.options, file=self.file, known=usual)


class _Threads:
    """Finds the first message of the thread that a message belongs to."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}

    def add(self, message: str | None, reply_to: str | None) -> None:
        """Note that one message replies to another; nothing happens if either is absent."""
        if message and reply_to:
            self.parents[message] = reply_to

    def root(self, message: str) -> str:
        """The first message of the thread; the message itself if it replies to none. A circle ends where it closes."""
        seen = {message}
        while message in self.parents and self.parents[message] not in seen:
            message = self.parents[message]
            seen.add(message)
        return message


@dataclass(slots=True)
class _Draft:
    """A dialogue as its rows come in; turns and their ratings are held by their order: the turn's number, time
    or row.
    """

    id: str
    agent: str | None = None
    turns: dict[float, Turn] = field(default_factory=dict)
    ratings: list[tuple[float | None, Rating]] = field(default_factory=list)  # None: of the whole
    meta: dict[str, Any] = field(default_factory=dict)

    def place(self, order: float, turn: Turn) -> None:
        """Put a turn at its order; another turn that is there already must have the same role and content, else
        `RuleError`.
        """
        there = self.turns.setdefault(order, turn)
        if (there.role, there.content) != (turn.role, turn.content):
            raise wrong(turn.content, f"{shown(there.content)}, which an earlier row has at the same place")

    def rate(self, row: Mapping[str, Any], columns: Columns, order: float) -> None:
        """Add the ratings of a row: those of the turn at `order`, and those of the dialogue, the latter once if
        rows repeat them.
        """
        rater = columns.cell(row, "rater", written)
        for dimension, value, scale in columns.ratings(row, "rating"):
            self.ratings.append((order, Rating("", dimension, value, rater, scale=scale)))
        for dimension, value, scale in columns.ratings(row, "dialogue-rating"):
            of_whole = (None, Rating("", dimension, value, rater, scale=scale))
            if of_whole not in self.ratings:  # a table repeats it on each message of the dialogue
                self.ratings.append(of_whole)

    def speak(self, agent: str | None) -> None:
        """Set the agent; None changes nothing, and an agent other than that of earlier rows raises `RuleError`."""
        if agent is not None and self.agent not in (None, agent):
            raise wrong(agent, f"{shown(self.agent)}, the agent of the dialogue's earlier rows")
        self.agent = self.agent or agent

    def dialogue(self) -> Dialogue:
        """The dialogue with its turns in order; without an agent it is `unknown`."""
        indices = {order: index for index, order in enumerate(sorted(self.turns))}

        def placed(order: float | None, rating: Rating) -> Rating:
            """The rating of the turn at `order`, or of the dialogue for None, with its item and turn set."""
            turn = None if order is None else indices[order]
            return replace(rating, item=item_id(self.id, turn), turn=turn)

        return Dialogue(
            id=self.id,
            agent=self.agent or "unknown",
            turns=tuple(self.turns[order] for order in indices),
            ratings=tuple(placed(order, rating) for order, rating in self.ratings),
            meta=self.meta,
        )


def _message(
    known: dict[str, _Draft],
    row: Row,
    columns: Columns,
    speakers_: "_Speakers",
    threads: "_Threads | None",
) -> None:
    """Add a row that is a message to the draft of its dialogue in `known`; `threads` gives the dialogue if
    there is no id.
    """
    identity, role = columns.cell(row.values, "id", written), columns.cell(row.values, "role", speakers_.role)
    speaker = columns.cell(row.values, "role", written)
    if threads is not None:
        message = columns.cell(row.values, "message", written)
        identity = message and threads.root(message)
    if identity is None or role is None:
        raise wrong(dict(row.values), "an id and a role in every row")
    draft = known.setdefault(identity, _Draft(identity))
    order = columns.cell(row.values, "turn", measured)
    if order is None:
        order = columns.cell(row.values, "time", moment)
    index = len(draft.turns) if order is None else order
    extra = other_entries(columns.unmapped(row.values), frozenset())
    draft.place(index, _turn(row.values, columns, role, "content", extra))
    draft.rate(row.values, columns, index)
    if role == "assistant":
        named = speakers_.options.roles.get(speaker or "") == "assistant"
        draft.speak(columns.cell(row.values, "agent", written) or (speaker if named else None))


def _item(known: dict[str, _Draft], row: Row, columns: Columns, split: str | None) -> None:
    """Add a row that is a context and a response to the draft of its dialogue in `known`; without an id, the
    row's number is the id.
    """
    identity = columns.cell(row.values, "id", written) or str(row.number)
    draft = known.setdefault(identity, _Draft(identity, meta=columns.unmapped(row.values)))
    said = columns.cell(row.values, "context", _Context(split)) or ()
    for index, text in enumerate(said):
        draft.place(index, Turn("user" if (len(said) - index) % 2 else "assistant", text))
    draft.place(len(said), _turn(row.values, columns, "assistant", "response", {}))
    draft.rate(row.values, columns, len(said))
    draft.speak(columns.cell(row.values, "agent", written))


def _turn(row: Mapping[str, Any], columns: Columns, role: Role, content: str, extra: dict[str, Any]) -> Turn:
    """The turn of a row, with references and alternatives; `content` is the meaning of the text's column.

    An empty cell gives an empty text.
    """
    return Turn(
        role=role,
        content=columns.cell(row, content, written) or "",
        references=tuple(columns.cells(row, "reference", written)),
        alternatives=columns.labelled(row, "alternative", _reply),
        extra=extra,
    )


@dataclass(frozen=True, slots=True)
class _Context:
    """The check of a context: a list of texts as it is, or one text that `split` separates into turns, of which
    empty ones are left out.
    """

    split: str | None

    def __call__(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, list):
            return tuple(map(written, value))
        said = written(value)
        turns = said.split(self.split) if self.split else [said]
        return tuple(turn.strip() for turn in turns if turn.strip())


def _role(value: Any) -> Role:
    """The role that one of the usual words stands for; any other word raises `RuleError`."""
    role = ROLES.get(written(value).strip().lower())
    if role is None:
        raise wrong(value, f"one of {', '.join(ROLES)}")
    return role


def _reply(value: Any) -> tuple[Reply, ...]:
    """A cell as the one sample of an alternative."""
    return (Reply(written(value)),)
