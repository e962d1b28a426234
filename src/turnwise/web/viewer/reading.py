"""Reads files of dialogues once, and makes the index of their dialogues and replies."""

from array import array
from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError, Problem
from turnwise.logs import native
from turnwise.logs.dialogue import is_reply
from turnwise.logs.files import BOM
from turnwise.logs.foreign import foreign
from turnwise.logs.items.keys import lookup
from turnwise.logs.items.selection import EVERYONE
from turnwise.types import OTHER_TURN, Dialogue, Preference, Role, Turn
from turnwise.web.viewer.index import Index, Places
from turnwise.web.viewer.log_file import LogFile
from turnwise.web.viewer.table import (
    UNPAIRED,
    WHOLE,
    Numbers,
    Rows,
    Small,
    Table,
    Unit,
    Whole,
    averaged,
    spread,
)
from turnwise.web.viewer.texts import TextWriter, turn_text

WON = {
    "this": 1.0,
    "other": 0.0,
    "tie": 0.5,
    "both_bad": 0.5,
}  # the value of a preference for its own dialogue


def build(
    files: Sequence[LogFile],
    *,
    roles: Set[Role] = frozenset({"assistant"}),
    pair: str | None = None,
    speakers: Sequence[str] = (),
) -> Index:
    """Read the files and index their dialogues; the first bad line raises `DataError`.

    Replies are messages of `roles`. `pair` is a key, such as `meta.topic`, whose value pairs dialogues; without it
    replies to the same context are paired. `speakers` are agents whose alternatives are rows of their own.
    """
    builder = _Builder(roles, pair, speakers)
    with ExitStack() as stack:
        stack.callback(builder.close)
        for number, file in enumerate(files):
            for line, offset, length, dialogue in _read(file):
                builder.add(dialogue, (number, line, offset, length))
        index = builder.finish(files)
        stack.pop_all()
    return index


def _read(file: LogFile) -> Iterator[tuple[int, int, int, Dialogue]]:
    """Line number, offset, length and dialogue of each line that is not blank; the first problem raises `DataError`."""
    places = _lines(file)
    for count, found in enumerate(native.checked(file.path)):
        if isinstance(found, Problem):
            raise DataError((foreign(file.path) if count == 0 else None) or found)
        yield *next(places), found


def _lines(file: LogFile) -> Iterator[tuple[int, int, int]]:
    """Number, offset and length of each line that is not blank."""
    with file.open() as stream:
        offset = len(BOM) if stream.read(len(BOM)) == BOM else 0
        stream.seek(offset)
        for number, line in enumerate(stream, 1):
            if not line.isspace():
                yield number, offset, len(line)
            offset += len(line)


class _Growing:
    """The rows of a table while it is read."""

    def __init__(self) -> None:
        self.dialogue, self.turn, self.agent, self.sample = (array("i") for _ in range(4))
        self.pair, self.start, self.end, self.size = (array("q") for _ in range(4))

    def __len__(self) -> int:
        return len(self.dialogue)

    def add(
        self, dialogue: int, turn: int, agent: int, sample: int, pair: int, start: int, end: int, size: int
    ) -> int:
        """Add a row; returns its number."""
        row = len(self.dialogue)
        self.dialogue.append(dialogue)
        self.turn.append(turn)
        self.agent.append(agent)
        self.sample.append(sample)
        self.pair.append(pair)
        self.start.append(start)
        self.end.append(end)
        self.size.append(size)
        return row

    def table(self, unit: Unit) -> Table:
        """The table of these rows, with the number of characters as its first column."""
        rows = Rows(
            dialogue=_small(self.dialogue),
            turn=_small(self.turn),
            agent=_small(self.agent),
            sample=_small(self.sample),
            pair=_whole(self.pair),
            start=_whole(self.start),
            end=_whole(self.end),
        )
        table = Table(unit, rows)
        table.put("size:characters", "characters", "size", _whole(self.size).astype(np.float32))
        return table


class _Given:
    """Ratings on one dimension, or preferences, while they are read: numbers of rows."""

    def __init__(self) -> None:
        self.dialogue, self.turn = array("i"), array("i")  # rows of both tables; `WHOLE` in `turn`
        self.value = array("f")
        self.lower = False

    def add(self, dialogue: int, reply: int, value: float) -> None:
        """Add one number, of a whole dialogue if `reply` is `WHOLE`."""
        self.dialogue.append(dialogue)
        self.turn.append(reply)
        self.value.append(value)


class _Builder:
    """Collects rows and numbers, dialogue by dialogue."""

    def __init__(self, roles: Set[Role], pair: str | None, speakers: Sequence[str]) -> None:
        self._roles, self._pair = roles, pair
        self._speakers = frozenset(speakers)
        self._agents: dict[str, int] = {}
        self._file, self._place = array("i"), tuple(array("q") for _ in range(4))
        self._turns = array("i")
        self._dialogues, self._replies = _Growing(), _Growing()
        self._ratings: dict[str, _Given] = {}
        self._preferences: dict[str, _Given] = {}
        self._others: list[tuple[str, int, str, int | None, float]] = []  # dimension, file, id, turn, value
        self._texts = TextWriter()

    def close(self) -> None:
        """Delete the searched text, if the reading ends before `finish`."""
        self._texts.close()

    def add(self, dialogue: Dialogue, place: tuple[int, int, int, int]) -> None:
        """Add a dialogue; `place` is file, line, offset and length."""
        row = len(self._dialogues)
        file, *where = place
        self._file.append(file)
        for column, value in zip(self._place, (*where, hash((file, dialogue.id))), strict=True):
            column.append(value)
        self._turns.append(len(dialogue.turns))
        agent = self._agent(dialogue.agent)
        start = self._texts.place
        replies = self._add_replies(row, dialogue, agent)
        pair = self._named(dialogue)
        if not self._pair and len(replies) == 1:
            pair = self._replies.pair[next(iter(replies.values()))]
        size = sum([len(turn.content or "") for turn in dialogue.turns])
        self._dialogues.add(row, WHOLE, agent, WHOLE, pair, start, self._texts.place - 1, size)
        for rating in dialogue.ratings:
            given = self._ratings.setdefault(rating.dimension, _Given())
            given.lower |= rating.direction == "lower"
            given.add(row, WHOLE if rating.turn is None else replies[rating.turn], rating.value)
        for preference in dialogue.preferences:
            self._add_preference(row, file, replies, preference)

    def _add_replies(self, row: int, dialogue: Dialogue, agent: int) -> dict[int, int]:
        """Add the replies of a dialogue, and every other turn that was rated or compared; place -> row."""
        judged = {one.turn for one in dialogue.ratings} | {one.turn for one in dialogue.preferences}
        named, roles, context = self._named(dialogue), self._roles, 0
        ends = self._texts.add([dialogue.id, *map(turn_text, dialogue.turns)])
        found = {}
        for place, turn in enumerate(dialogue.turns):
            if place in judged or (turn.role in roles and is_reply(turn)):
                pair = context if not self._pair else hash((named, place)) if named else UNPAIRED
                start, end = ends[place] + 1, ends[place + 1]  # the first text is the id
                found[place] = self._replies.add(row, place, agent, WHOLE, pair, start, end, len(turn.text))
            context = hash((context, turn.role, turn.content or ""))
        if self._speakers:
            for place, reply in found.items():
                self._add_alternatives(row, place, dialogue.turns[place], self._replies.pair[reply])
        return found

    def _add_alternatives(self, row: int, place: int, turn: Turn, pair: int) -> None:
        """Add what the speakers would have said at this turn, a row for each sample."""
        for name, samples in turn.alternatives.items():
            if name in self._speakers or EVERYONE in self._speakers:
                agent = self._agent(name)
                for number, sample in enumerate(samples):
                    start = self._texts.place
                    (end,) = self._texts.add([sample.content])
                    self._replies.add(row, place, agent, number, pair, start, end, len(sample.content))

    def _add_preference(self, row: int, file: int, replies: dict[int, int], preference: Preference) -> None:
        """Add a choice to this dialogue, and note it for the other one."""
        value, turn = WON[preference.winner], preference.turn
        given = self._preferences.setdefault(preference.dimension, _Given())
        given.add(row, WHOLE if turn is None else replies[turn], value)
        other_turn = preference.extra.get(OTHER_TURN, turn)
        place = other_turn if isinstance(other_turn, int) else None
        self._others.append((preference.dimension, file, preference.other, place, 1 - value))

    def _agent(self, name: str) -> int:
        """The code of an agent."""
        return self._agents.setdefault(name, len(self._agents))

    def _named(self, dialogue: Dialogue) -> int:
        """A hash of the value of the pair key; `UNPAIRED` without a key, and for a dialogue that lacks it."""
        value = lookup(dialogue, self._pair) if self._pair else None
        return UNPAIRED if value is None else hash(value)

    def finish(self, files: Sequence[LogFile]) -> Index:
        """The index of everything that was added."""
        dialogues, replies = self._dialogues.table("dialogue"), self._replies.table("reply")
        dialogues.put("size:turns", "turns", "size", _small(self._turns).astype(np.float32))
        places = Places(_small(self._file), *map(_whole, self._place))
        index = Index(files, places, list(self._agents), self._texts.finish(), dialogues, replies)
        self._resolve(index)
        for name, given in self._ratings.items():
            self._put(dialogues, replies, "rating", name, given)
            self._put_spread(dialogues, replies, name, given)
        for name, given in self._preferences.items():
            self._put(dialogues, replies, "preference", name, given)
        return index

    def _resolve(self, index: Index) -> None:
        """Add each preference to the other dialogue, if that is there."""
        for dimension, file, identity, turn, value in self._others:
            row = index.find(identity, file=file)
            row = index.find(identity) if row is None else row
            if row is None:
                continue
            reply = WHOLE
            if turn is not None:
                there = [at for at in index.replies_of(row) if self._replies.turn[at] == turn]
                if not there:
                    continue
                reply = there[0]
            self._preferences[dimension].add(row, reply, value)

    @staticmethod
    def _put(dialogues: Table, replies: Table, kind: str, name: str, given: _Given) -> None:
        """Add the means of ratings, or shares of preferences, to both tables.

        A dialogue without such a number of its own has the mean over its replies.
        """
        whole, rows, turns, values = _parts(given)
        of_replies = averaged(turns[~whole], values[~whole], len(replies))
        there = ~np.isnan(of_replies)
        of_dialogues = averaged(rows[whole], values[whole], len(dialogues))
        means = averaged(replies.rows.dialogue[there], of_replies[there], len(dialogues))
        key, lower = f"{kind}:{name}", given.lower
        shown = name if kind == "rating" else f"{name} wins"
        for table, column in (
            (dialogues, np.where(np.isnan(of_dialogues), means, of_dialogues)),
            (replies, of_replies),
        ):
            table.put(key, shown, "rating" if kind == "rating" else "preference", column, lower=lower)

    @staticmethod
    def _put_spread(dialogues: Table, replies: Table, name: str, given: _Given) -> None:
        """Add the difference between the highest and the lowest rating to both tables.

        A dialogue without several ratings of its own has the largest difference over its replies.
        """
        whole, rows, turns, values = _parts(given)
        of_replies = spread(turns[~whole], values[~whole], len(replies))
        of_dialogues = spread(rows[whole], values[whole], len(dialogues))
        there = ~np.isnan(of_replies)
        largest = np.full(len(dialogues), np.nan, np.float32)
        np.fmax.at(largest, replies.rows.dialogue[there], of_replies[there])
        key, shown = f"spread:{name}", f"{name}, raters apart"
        replies.put(key, shown, "spread", of_replies)
        dialogues.put(key, shown, "spread", np.where(np.isnan(of_dialogues), largest, of_dialogues))


def _parts(given: _Given) -> tuple[NDArray[np.bool_], Small, Small, Numbers]:
    """Which numbers are of whole dialogues, the rows of both tables, and the numbers."""
    turns = _small(given.turn)
    return turns == WHOLE, _small(given.dialogue), turns, np.frombuffer(given.value, np.float32)


def _small(values: "array[int]") -> Small:
    """The numbers of an array of 4 bytes each."""
    return np.frombuffer(values, np.int32)


def _whole(values: "array[int]") -> Whole:
    """The numbers of an array of 8 bytes each."""
    return np.frombuffer(values, np.int64)
