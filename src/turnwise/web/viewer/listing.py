"""The list: a row for each dialogue or reply with two short texts and a few numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from turnwise.types import Dialogue
from turnwise.web.viewer.index import Index
from turnwise.web.viewer.links import Links
from turnwise.web.viewer.query import GAP, Query, column
from turnwise.web.viewer.shown import brief
from turnwise.web.viewer.table import WHOLE, Column, Table
from turnwise.web.viewer.texts import mark

COLUMNS = 4  # of a list, unless they are chosen
SNIPPET = 240  # characters of a message in a list
AHEAD = 60  # characters before a search hit


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a list, and the share of all such numbers below it."""

    column: Column
    value: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a list."""

    link: str
    identity: str
    file: str  # "" if there is one file only
    agent: str
    turn: int | None
    before: str
    text: str
    cells: tuple[Cell, ...]


def entry(index: Index, links: Links, row: int, query: Query, columns: Sequence[Column]) -> Entry:
    """A row of the query's table as a list shows it."""
    table, about = index.table(query.unit), index.table(query.unit).rows
    at, turn, sample = int(about.dialogue[row]), int(about.turn[row]), int(about.sample[row])
    dialogue, agent = index.dialogue(at), index.agents[about.agent[row]]
    before, text = _texts(dialogue, turn, agent, sample, query)
    return Entry(
        link=links.row(row, query),
        identity=dialogue.id,
        file=index.file_of(at).name if len(index.files) > 1 else "",
        agent=agent,
        turn=None if turn == WHOLE else turn,
        before=before,
        text=text,
        cells=tuple(_cell(table, one, float(one.values[row])) for one in columns),
    )


def _cell(table: Table, one: Column, value: float) -> Cell:
    """The number of a row in a column."""
    if value != value:  # NaN
        return Cell(one, None, None)
    return Cell(one, value, None if one.kind in ("gap", "size") else table.share_below(one, value))


def _texts(dialogue: Dialogue, turn: int, agent: str, sample: int, query: Query) -> tuple[str, str]:
    """Two short texts of a row: what was said before, and the reply; of a dialogue its first message and last reply.

    With a search, the second is around the first hit of a dialogue.
    """
    if turn != WHOLE:
        said, earlier = dialogue.turns[turn], reversed(dialogue.turns[:turn])
        before = next((one.text for one in earlier if one.role == "user"), "")
        text = said.text if sample == WHOLE else said.alternatives[agent][sample].content
        return brief(before, SNIPPET // 2), _around(text, query)
    spoken = [one for one in dialogue.turns if one.role in ("user", "assistant") and one.text]
    first = next((one.text for one in spoken if one.role == "user"), spoken[0].text if spoken else "")
    last = next((one.text for one in reversed(spoken) if one.role == "assistant"), "")
    hits = mark(query.text)
    found = next((one.text for one in dialogue.turns if hits and hits.search(one.text)), None)
    return brief(first, SNIPPET // 2), _around(last if found is None else found, query)


def _around(text: str, query: Query) -> str:
    """The beginning of a text, or what is around the first hit of the search."""
    hits = mark(query.text)
    match = hits.search(text) if hits else None
    if match is None or match.start() < SNIPPET - AHEAD:
        return brief(text, SNIPPET)
    return "…" + brief(text[match.start() - AHEAD :], SNIPPET)


def list_columns(table: Table, query: Query) -> list[Column]:
    """The columns that a list shows: those asked for, else up to four that matter for the query."""
    if query.columns:
        return [column(table, query, key) for key in query.columns]
    wanted = [query.sort, *(one.column for one in query.ranges)]
    if query.metric and query.people:
        wanted += [GAP, query.metric, query.people]
    people = sorted(table.of_kind("rating", "preference"), key=lambda one: one.name != "overall")
    rest = (*people[:1], *table.of_kind("metric")[: COLUMNS - 1], *people[1:], *table.of_kind("size")[-1:])
    wanted += [one.key for one in rest]
    distinct = dict.fromkeys(key for key in wanted if key)
    return [column(table, query, key) for key in islice(distinct, COLUMNS)]


def presets(table: Table, query: Query) -> list[tuple[str, Query]]:
    """Lists that people often want, in words and as queries."""
    plain = Query(unit=query.unit)
    people = sorted(table.of_kind("rating"), key=lambda one: one.name != "overall")
    metric = table.columns.get(query.metric) or next(iter(table.of_kind("metric")), None)
    found = []
    if people and metric is not None:
        dimension = table.columns.get(query.people, people[0])
        gap = replace(plain, metric=metric.key, people=dimension.key, sort=GAP)
        found += [
            (f"{metric.name} ranks above people", gap),
            (f"{metric.name} ranks below people", replace(gap, order="asc")),
        ]
    if apart := sorted(table.of_kind("spread"), key=lambda one: one.key != "spread:overall"):
        found.append(("raters far apart", replace(plain, sort=apart[0].key)))
    if people:
        found.append((f"lowest {people[0].name}", replace(plain, sort=people[0].key, order="asc")))
    return found
