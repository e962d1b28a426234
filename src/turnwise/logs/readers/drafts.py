"""Dialogues as the rows of a table come in: speakers and their roles, threads, the order of turns, ratings."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from turnwise.errors import counted
from turnwise.logs.checks import shown, wrong
from turnwise.logs.dialogue import JUDGED, from_record, other_entries
from turnwise.logs.labels import label, rated
from turnwise.logs.readers import speakers
from turnwise.logs.readers.columns import Columns, measured, moment, written
from turnwise.logs.readers.messages import ALTERNATING, beside_rating
from turnwise.logs.readers.openai import message
from turnwise.logs.readers.sharegpt import SPEAKERS
from turnwise.logs.readers.source import Options
from turnwise.logs.readers.usual_columns import is_conversation
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


class _Speakers:
    """Roles of the speakers of a table.

    An unknown speaker is an error only at the end, so that it can name them all.
    """

    def __init__(self, options: Options, file: str) -> None:
        self.options, self.file = options, file
        self.unknown: Counter[str] = Counter()

    def role(self, speaker: str) -> tuple[Role, str | None]:
        """The role of a speaker, and the name to keep: none where the name is one of the usual words for a role.

        The role is by name in --roles, by the usual words, or by `*` in --roles; `user` in the place of an unknown one.
        """
        said = self.options.roles
        usual = ROLES.get(speaker.lower())
        if speaker not in said and usual is not None:
            return usual, None
        known = said.get(speaker) or said.get(speakers.OTHERS)
        if known is None:
            self.unknown[speaker] += 1
        return known or "user", speaker  # the role of an unknown one is never used: `check` raises

    def check(self) -> None:
        """Raise `UsageError` with all speakers that have no role."""
        if self.unknown:
            raise speakers.asked_for(self.unknown, self.file)


class Threads:
    """Finds the first message of the thread that a message belongs to, and how far a message is from it."""

    def __init__(self, rows: Sequence[Row], columns: Columns, options: Options) -> None:
        self.parents: dict[str, str] = {}
        self.timed = all(  # else the order is that of the replies
            columns.own(row.values, "turn") or columns.own(row.values, "time") for row in rows
        )
        for row in rows:
            message, reply_to = (columns.cell(row.values, one, _loose) for one in ("message", "reply_to"))
            if message and reply_to:
                self.parents[message] = reply_to
        held = {columns.cell(row.values, "message", _loose) for row in rows}
        if absent := len({*self.parents.values()} - held):
            options.notes.append(f"{counted(absent, 'message')} to which others reply are not in the table")
        answered = Counter(self.parents.values())
        if branched := sum(count > 1 for count in answered.values()):
            options.notes.append(
                f"{counted(branched, 'message')} with several replies: branches of a thread are read as one dialogue, "
                "in order"
            )

    def root(self, message: str) -> tuple[str, int]:
        """The first message of the thread and the number of steps to it; the message itself and 0 if it replies to
        none.

        A circle ends where it closes.
        """
        seen = {message}
        while message in self.parents and self.parents[message] not in seen:
            message = self.parents[message]
            seen.add(message)
        return message, len(seen) - 1


def _loose(value: Any) -> str | None:
    """A cell as text; None for a cell that is neither text nor number, which is an error when the row is read."""
    return written(value) if type(value) in (str, int, float) else None


Order = tuple[float, int]  # of a turn: its number, time or row, and its place among turns of the same time


@dataclass(slots=True)
class Draft:
    """A dialogue as its rows come in; turns and their ratings are held by their order."""

    id: str
    agent: str | None = None
    turns: dict[Order, Turn] = field(default_factory=dict)
    ratings: list[tuple[Order | None, Rating]] = field(default_factory=list)  # None: of the whole
    meta: dict[str, Any] = field(default_factory=dict)
    others: dict[Order, tuple[str, str]] = field(
        default_factory=dict
    )  # turn -> column and agent of a user's row
    dropped: Counter[str] = field(default_factory=Counter)

    def place(self, order: Order, turn: Turn) -> dict[str, Any]:
        """Put a turn at its order; a turn that is there already must have the same role and content, else `RuleError`.

        Returns what such a row says beside the message in other words than the first one.
        """
        there = self.turns.setdefault(order, turn)
        if (there.role, there.content) != (turn.role, turn.content):
            raise wrong(turn.content, f"{shown(there.content)}, which an earlier row has at the same place")
        more = [one for one in turn.references if one not in there.references]
        instead = {name: one for name, one in turn.alternatives.items() if name not in there.alternatives}
        if more or instead:
            self.turns[order] = replace(
                there, references=(*there.references, *more), alternatives={**there.alternatives, **instead}
            )
        return {
            key: one for key, one in turn.extra.items() if key not in there.extra or there.extra[key] != one
        }

    def exchange(self, said: Sequence[Turn], reply: Turn) -> int:
        """Where an exchange begins: after all turns, or where it stands already; a context that begins with all turns
        so far begins with them.
        """
        held = [(turn.role, turn.content) for _, turn in sorted(self.turns.items())]
        new = [(turn.role, turn.content) for turn in (*said, reply)]
        if new[: len(held)] == held:
            return 0
        return next((at for at in range(len(held)) if held[at : at + len(new)] == new), len(held))

    def rate(
        self, row: Mapping[str, Any], columns: Columns, order: Order, more: Mapping[str, Any] | None = None
    ) -> None:
        """Add the ratings of a row: those of the turn at `order`, and those of the dialogue, the latter once if
        rows repeat them. `more` is kept beside them; it, and a rater, are counted as dropped in a row without ratings.
        """
        rater = columns.cell(row, "rater", written)
        beside_it = beside_rating(more or {}, frozenset())
        of_turn = [
            Rating("", dimension, value, rater, scale=scale, extra=beside_it)
            for dimension, value, scale in columns.ratings(row, "rating")
        ]
        self.ratings += [(order, one) for one in of_turn]
        of_whole = [
            Rating("", dimension, value, rater, scale=scale, extra={} if of_turn else beside_it)
            for dimension, value, scale in columns.ratings(row, "dialogue-rating")
        ]
        for one in of_whole:
            if (None, one) not in self.ratings:  # a table repeats it on each message of the dialogue
                self.ratings.append((None, one))
        if not of_turn and not of_whole:
            self.dropped["raters of rows without a rating"] += rater is not None
            self.dropped["cells in which a row differs from the one that it repeats"] += len(beside_it)

    def speak(self, agent: str | None) -> None:
        """Set the agent; None changes nothing, and an agent other than that of earlier rows raises `RuleError`."""
        if agent is not None and self.agent not in (None, agent):
            raise wrong(agent, f"{shown(self.agent)}, the agent of the dialogue's earlier rows")
        self.agent = self.agent or agent

    def dialogue(self, options: Options) -> Dialogue:
        """The dialogue with its turns in order; without an agent it is the one that all its other rows name, else
        `unknown`. What was not kept is added to `options`.
        """
        options.dropped.update(+self.dropped)
        named = {agent for _, agent in self.others.values()}
        agent = self.agent or (named.pop() if len(named) == 1 else "unknown")
        for order, (column, other) in self.others.items():
            if other != agent:
                turn = self.turns[order]
                self.turns[order] = replace(turn, extra={**turn.extra, column: other})
        places = {order: place for place, order in enumerate(sorted(self.turns))}

        def placed(order: Order | None, rating: Rating) -> Rating:
            """The rating of the turn at `order`, or of the dialogue for None, with its item and turn set."""
            turn = None if order is None else places[order]
            return replace(rating, item=item_id(self.id, turn), turn=turn)

        return rated(
            Dialogue(
                id=self.id,
                agent=agent,
                turns=tuple(self.turns[order] for order in places),
                ratings=tuple(placed(order, rating) for order, rating in self.ratings),
                meta=self.meta,
            )
        )


class Drafts:
    """The dialogues of a table as its rows come in, by id."""

    def __init__(self, columns: Columns, options: Options, file: str) -> None:
        self.columns, self.options = columns, options
        self.speakers = _Speakers(options, file)
        self.threads: Threads | None = None
        self.known: dict[str, Draft] = {}
        self.agents: dict[str, str] = {}  # id of an item -> the first agent that replied
        self.exchanges = any(map(is_conversation, columns.meanings.get("id", ())))
        self._last: str | None = None  # the id of the row before

    def add(self, row: Row) -> str | None:
        """Add a row to its dialogue; the id of the dialogue of the row before, if it is another, else None."""
        identity = self._item(row) if "response" in self.columns else self._message(row)
        before, self._last = self._last, identity
        return before if before != identity else None

    def take(self, identity: str) -> Draft:
        """The dialogue with this id, which is held no longer."""
        return self.known.pop(identity)

    def _message(self, row: Row) -> str:
        """Add a row that is a message; the id of its dialogue. A row without id or role raises `RuleError`."""
        columns, values = self.columns, row.values
        identity, depth = columns.cell(values, "id", written), 0
        speaker = columns.cell(values, "role", written)
        if self.threads is not None:
            message = columns.cell(values, "message", written)
            identity, depth = self.threads.root(message) if message else (None, 0)
        if identity is None or speaker is None:
            raise wrong(dict(values), "an id and a role in every row")
        role, name = self.speakers.role(speaker.strip())
        draft = self.known.setdefault(identity, Draft(identity))
        extra = other_entries(
            {**columns.unmapped(values), **columns.own(values, "message", "reply_to", "time")}, frozenset()
        )
        if name is not None:
            extra["speaker" if "name" in extra else "name"] = name
        turn = _turn(values, columns, role, "content", extra)
        order = self._order(row, draft, turn, depth)
        more = draft.place(order, turn)
        draft.rate(values, columns, order, more)
        agents = columns.own(values, "agent")
        if role == "assistant":
            named = self.options.roles.get(name or "") == "assistant"
            draft.speak(columns.cell(values, "agent", written) or (name if named else None))
        elif agents:
            column, cell = next(iter(agents.items()))
            draft.others[order] = column, written(cell)
        return identity

    def _order(self, row: Row, draft: Draft, turn: Turn, depth: int) -> Order:
        """The order of a message: by `turn`, by `time`, by its distance from the first message of its thread, or by the
        row. Different messages of the same time stay in the order of the rows.
        """
        numbered = self.columns.cell(row.values, "turn", measured)
        if numbered is not None and (self.threads is None or self.threads.timed):
            roles = [draft.turns[order].role for order in draft.turns if order[0] == numbered]
            # A turn may be an exchange: what was asked and what was answered have the same number.
            return numbered, roles.index(turn.role) if turn.role in roles else len(roles)
        at = self.columns.cell(row.values, "time", moment)
        if self.threads is not None and not self.threads.timed:
            at = float(depth)
        if at is None:
            return float(len(draft.turns)), 0
        same = [order for order in draft.turns if order[0] == at]
        for order in same:
            there = draft.turns[order]
            if (there.role, there.content) == (turn.role, turn.content):
                return order
        return at, len(same)

    def _item(self, row: Row) -> str:
        """Add a row that is a context and a response; the id of its dialogue, which is the row's number without one."""
        columns, values = self.columns, row.values
        identity = columns.cell(values, "id", written) or str(row.number)
        agent = columns.cell(values, "agent", written)
        if agent is not None and not self.exchanges and self.agents.setdefault(identity, agent) != agent:
            identity = f"{identity}-{agent}"  # another agent's reply to the same
        beside = columns.unmapped(values)
        labelled = {key: value for key, value in beside.items() if label(key, value) is not None}
        meta = {key: value for key, value in beside.items() if key not in labelled}
        draft = self.known.setdefault(identity, Draft(identity, meta=meta))
        differing = {key: one for key, one in meta.items() if key not in draft.meta or draft.meta[key] != one}
        said = columns.cell(values, "context", _Context(self.options.split)) or ()
        reply = _turn(values, columns, "assistant", "response", labelled)
        # The rows of a conversation are its exchanges, one after another.
        start = draft.exchange(said, reply) if self.exchanges else 0
        for place, turn in enumerate(said):
            draft.place((start + place, 0), turn)
        if any(JUDGED in turn.extra for turn in said) and ALTERNATING not in self.options.notes:
            self.options.notes.append(ALTERNATING)
        order = (start + len(said), 0)
        draft.place(order, reply)
        draft.rate(values, columns, order, {} if start else differing)
        if start:
            draft.turns[order] = replace(
                draft.turns[order], extra={**other_entries(differing, frozenset()), **labelled}
            )
        draft.speak(agent)
        return identity


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
    """The check of a context: a list of messages, a list of texts, or one text that `split` separates into turns, of
    which empty ones are left out. The roles of texts alternate backwards from the response.
    """

    split: str | None

    def __call__(self, value: Any) -> tuple[Turn, ...]:
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            return from_record({"messages": list(map(message, value))}, default_id="1").turns
        if isinstance(value, list):
            texts = list(map(written, value))
        else:
            said = written(value)
            parts = said.split(self.split) if self.split else [said]
            texts = [part.strip() for part in parts if part.strip()]
        return tuple(
            Turn("user", text) if (len(texts) - place) % 2 else Turn("assistant", text, extra={JUDGED: False})
            for place, text in enumerate(texts)
        )


def _reply(value: Any) -> tuple[Reply, ...]:
    """A cell as the one sample of an alternative."""
    return (Reply(written(value)),)
