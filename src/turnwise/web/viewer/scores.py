"""Adds the scores of finished runs to an index, and reads the lines of a run that are about one dialogue.

`items.jsonl` has the scores of replies, `dialogues.jsonl` those of dialogues, and `NAME.turns.jsonl` the values of a
critic. Of the first and the last only the places of lines are kept; a page reads the lines that it shows.
"""

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from turnwise.errors import DataError
from turnwise.logs.files import count_read
from turnwise.report.figure import OfMetric
from turnwise.report.runs import Run
from turnwise.types import item_id
from turnwise.web.viewer.index import Index
from turnwise.web.viewer.table import WHOLE, Numbers, Small, Table, Unit, Whole

ITEMS, DIALOGUES, CRITICS = "items.jsonl", "dialogues.jsonl", "*.turns.jsonl"
LOGGED = "logged"  # in a critic's line: the logged reply, where several agents were logged
_SAMPLE = re.compile(r"~(\d+)$")  # at the end of an item's id: which of several alternatives


class _Line(msgspec.Struct, gc=False):
    """What is needed of a line to find its row."""

    dialogue: str
    id: str = ""
    turn: int | None = None
    agent: str = ""
    scores: dict[str, float | None] = {}
    estimator: str = ""  # of a critic's line
    q: dict[str, float | None] = {}  # of a critic's line: agent -> value


_decode = msgspec.json.Decoder(_Line).decode


@dataclass(slots=True)
class ScoredRun:
    """A finished run whose scores are in an index."""

    run: Run
    keys: Mapping[str, str]  # metric -> column
    unmatched: int = 0  # lines about dialogues or replies that are not in the index
    _lines: list["_Lines"] = field(default_factory=list)

    def records(self, row: int) -> Iterator[dict[str, Any]]:
        """The lines about a dialogue (by its row) and its replies, in the order of the run's files."""
        for lines in self._lines:
            yield from lines.of(row)


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """Where the lines about each dialogue are in a file of a run."""

    path: Path
    rows: Small  # dialogues, in order
    offsets: Whole

    def of(self, row: int) -> Iterator[dict[str, Any]]:
        """The decoded lines about a dialogue; none if the file is gone or has other lines now."""
        low, high = np.searchsorted(self.rows, np.array([row, row + 1], np.int32))
        if low == high or not self.path.exists():
            return
        with self.path.open("rb") as file:
            for offset in self.offsets[low:high]:
                file.seek(int(offset))
                try:
                    found = msgspec.json.decode(file.readline())
                except msgspec.DecodeError:
                    return
                if isinstance(found, dict):
                    yield found


class _Finder:
    """Finds rows of an index by what a run calls them."""

    def __init__(self, index: Index, files: Mapping[int, str]) -> None:
        self._index, self._files = index, files  # number of a file -> prefix of its ids in the run
        self._name: str | None = None
        self.row: int | None = None  # of the dialogue that was found last
        self._replies: dict[tuple[int, int, int], int] = {}  # (turn, agent, sample) -> row

    def dialogue(self, name: str) -> int | None:
        """The row of a dialogue, by its id in the run."""
        if name != self._name:
            self._name, self.row, self._replies = name, self._search(name), {}
        return self.row

    def _search(self, name: str) -> int | None:
        """The row of a dialogue in one of the run's files, with or without the file's prefix before its id."""
        for file, prefix in self._files.items():
            found = self._index.find(name, file=file)
            if found is None and prefix and name.startswith(prefix):
                found = self._index.find(name.removeprefix(prefix), file=file)
            if found is not None:
                return found
        return None

    def reply(self, line: _Line) -> int | None:
        """The row of a reply; `dialogue` must have been called for its dialogue."""
        if self.row is None or line.turn is None:
            return None
        if not self._replies:
            rows = self._index.replies_of(self.row)
            about = self._index.replies.rows
            at = slice(rows.start, rows.stop)
            keys = zip(
                about.turn[at].tolist(), about.agent[at].tolist(), about.sample[at].tolist(), strict=True
            )
            self._replies = dict(zip(keys, rows, strict=True))
        code = self._index.agent_code(line.agent)
        return None if code is None else self._replies.get((line.turn, code, _sample(line)))


def _sample(line: _Line) -> int:
    """The number of the alternative that an item is; `WHOLE` for a logged reply."""
    if not line.id or not line.id.startswith(f"{item_id(line.dialogue, line.turn)}@"):
        return WHOLE
    match = _SAMPLE.search(line.id)
    return int(match[1]) if match else 0


class _Collected:
    """Scores of one table while a run is read: metric -> rows and numbers."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[array[int], array[float]]] = {}

    def add(self, metric: str, row: int, value: float | None) -> None:
        """Add a score; None is none."""
        if value is not None:
            rows, values = self._found.setdefault(metric, (array("i"), array("f")))
            rows.append(row)
            values.append(value)

    def put(self, table: Table, keys: Mapping[str, str], lower: frozenset[str]) -> None:
        """Add the columns to a table; a column of an earlier run keeps its numbers."""
        for metric, key in keys.items():
            rows, values = self._found.get(metric, (array("i"), array("f")))
            column: Numbers = np.full(len(table), np.nan, np.float32)
            column[np.frombuffer(rows, np.int32)] = np.frombuffer(values, np.float32)
            if key in table.columns:
                before = table.columns[key].values
                column = np.where(np.isnan(before), column, before)
            table.put(key, key.removeprefix("metric:"), "metric", column, lower=metric in lower)


def add_scores(index: Index, run: Run, files: Mapping[int, str], known: dict[str, str]) -> ScoredRun:
    """Add the scores of a run to an index.

    `files` are the run's inputs in the index: number -> the prefix that their ids have in the run. `known` (column ->
    signature) is extended: a metric that an earlier run has with another signature gets a column of its own. A line
    that is no JSON object raises `DataError`.
    """
    signatures = {name: one.signature for one in run.results for name in one.named("metric")}
    lower = frozenset(
        str(one.metric) for one in run.results if isinstance(one, OfMetric) and one.better == "lower"
    )
    tables: dict[Unit, _Collected] = {"dialogue": _Collected(), "reply": _Collected()}
    metrics: dict[str, None] = {}
    scored = ScoredRun(run, {})
    for path in (run.folder / ITEMS, *sorted(run.folder.glob(CRITICS))):
        rows, offsets = array("i"), array("q")
        finder = _Finder(index, files)
        for offset, line in _read(path):
            scores = (
                line.scores if not line.estimator else {line.estimator: _value_of_logged(index, finder, line)}
            )
            dialogue = finder.dialogue(line.dialogue)
            row = dialogue if line.turn is None else finder.reply(_named(index, finder, line))
            if dialogue is None or row is None:
                scored.unmatched += 1
                continue
            rows.append(dialogue)
            offsets.append(offset)
            for metric, value in scores.items():
                metrics[metric] = None
                if line.turn is not None:
                    tables["reply"].add(metric, row, value)
        scored._lines.append(_sorted(path, rows, offsets))
    finder = _Finder(index, files)
    for _, line in _read(run.folder / DIALOGUES):
        row = finder.dialogue(line.dialogue)
        if row is not None and index.dialogues.rows.agent[row] == index.agent_code(line.agent):
            for metric, value in line.scores.items():
                metrics[metric] = None
                tables["dialogue"].add(metric, row, value)
    scored.keys = {metric: _key(metric, signatures.get(metric, ""), run.name, known) for metric in metrics}
    for unit, collected in tables.items():
        collected.put(index.table(unit), scored.keys, lower)
    return scored


def _named(index: Index, finder: _Finder, line: _Line) -> _Line:
    """The line with its agent: a critic's line is about the logged reply and names no agent."""
    if line.agent or finder.row is None:
        return line
    return msgspec.structs.replace(line, agent=index.agents[index.dialogues.rows.agent[finder.row]])


def _value_of_logged(index: Index, finder: _Finder, line: _Line) -> float | None:
    """The value that a critic gives to the logged reply, under `logged` or the agent's name; None if it has none."""
    row = finder.dialogue(line.dialogue)
    if row is None:
        return None
    return line.q.get(LOGGED, line.q.get(index.agents[index.dialogues.rows.agent[row]]))


def _key(metric: str, signature: str, run: str, known: dict[str, str]) -> str:
    """The column of a metric: its name, with the run's folder if that name has another signature already."""
    plain = f"metric:{metric}"
    key = plain if known.get(plain, signature) == signature else f"{plain} ({run})"
    known[key] = signature
    return key


def _sorted(path: Path, rows: "array[int]", offsets: "array[int]") -> _Lines:
    """The places of lines in the order of dialogues."""
    order = np.argsort(np.frombuffer(rows, np.int32), kind="stable")
    return _Lines(path, np.frombuffer(rows, np.int32)[order], np.frombuffer(offsets, np.int64)[order])


def _read(path: Path) -> Iterator[tuple[int, _Line]]:
    """Offset and content of each line; none if the file is absent. A bad line raises `DataError` with its number."""
    if not path.exists():
        return
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield offset, _decode(line)
            except msgspec.DecodeError as error:
                raise DataError(f"{path}:{number}: {error}") from None
            offset += len(line)
            count_read(len(line))
