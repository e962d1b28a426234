"""The viewer's pages: the list, one dialogue, two agents side by side, transcripts of attacks."""

from typing import Any, ClassVar, get_args

import numpy as np
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import Response

from turnwise.web.pages import templates
from turnwise.web.pages.security import parse_number
from turnwise.web.viewer.beside import agents_beside, pair_of, select_pairs
from turnwise.web.viewer.item_numbers import DialogueNumbers
from turnwise.web.viewer.links import Links
from turnwise.web.viewer.listing import entry, list_columns, presets
from turnwise.web.viewer.query import GAP, Query, in_unit
from turnwise.web.viewer.shown import dialogue_notes, messages
from turnwise.web.viewer.table import WHOLE, Unit
from turnwise.web.viewer.texts import mark
from turnwise.web.viewer.viewer import Viewer, agent_counts

PAIRS = 10  # contexts of a page with two agents
LISTED = 12  # agents with a box each; more are chosen in a list


class Pages:
    """Makes a page from the parameters of its address."""

    served: ClassVar[bool] = True  # a server answers forms and other addresses
    static: ClassVar[str] = "/static/"  # before the names of style sheets and scripts
    rows: ClassVar[int] = 50  # of a page of the list
    turns: ClassVar[int] = 200  # messages of a page

    def __init__(self, viewer: Viewer, links: Links) -> None:
        self._viewer, self._links = viewer, links

    def entries(self, given: QueryParams) -> Response:
        """The list of dialogues or replies that fulfil the query."""
        index, query = self._viewer.index, Query.parse(given.multi_items())
        table, rows = index.table(query.unit), self._viewer.rows(query)
        columns = list_columns(table, query)
        page, n_pages = _page(given, len(rows), self.rows)
        shown = rows[(page - 1) * self.rows : page * self.rows]
        return self._render(
            "list",
            query,
            table=table,
            entries=[entry(index, self._links, int(row), query, columns) for row in shown],
            columns=columns,
            n_rows=len(rows),
            first=(page - 1) * self.rows,
            page=page,
            n_pages=n_pages,
            page_link=lambda number: self._links.listed(query, page=number),
            unit_links={unit: self._links.listed(in_unit(index, query, unit)) for unit in get_args(Unit)},
            counts=agent_counts(index),
            presets=[(words, self._links.listed(one)) for words, one in presets(table, query)],
            max_listed=LISTED,
            gap=GAP,
        )

    def dialogue(self, given: QueryParams) -> Response:
        """One dialogue, at one of its turns if the address has one; the error 400 if there is none with this id."""
        index, query, links = self._viewer.index, Query.parse(given.multi_items()), self._links
        at = index.find(given.get("id", ""), file=given.get("file"))
        if at is None:
            raise HTTPException(400, "There is no dialogue with this id here.")
        dialogue = index.dialogue(at)
        n_turns = len(dialogue.turns)
        turn = _place(given.get("turn"), n_turns)
        page, n_pages = _page(given, n_turns, self.turns, default=1 + (turn or 0) // self.turns)
        places = range((page - 1) * self.turns, min(page * self.turns, n_turns))
        numbers = DialogueNumbers(index, self._viewer.runs, at, dialogue)
        whole = _place(given.get("whole"), n_turns)
        position, rows = self._position(at, turn, query, given), self._viewer.rows(query)

        def stepped(step: int) -> str | None:
            """The address of the entry so many steps after this one in the list; None if there is none."""
            if position is None or not 0 <= position + step < len(rows):
                return None
            return links.row(int(rows[position + step]), query)

        return self._render(
            "dialogue",
            query,
            dialogue=dialogue,
            file=self.shown(index.file_of(at).shown),
            turn=turn,
            messages=messages(index, at, dialogue, numbers, places, whole=whole, cut=self.served),
            numbers=numbers.at(None),
            notes_of_dialogue=dialogue_notes(dialogue),
            permanent=lambda place: links.dialogue(at, turn=place),
            whole_link=lambda place: links.dialogue(at, turn=place, query=query, whole=place),
            context_link=lambda place: links.context("reply", at, place),
            position=position,
            n_rows=len(rows),
            following=stepped(1),
            previous=stepped(-1),
            back=links.listed(query, page=None if position is None else 1 + position // self.rows),
            first=places.start,
            page=page,
            n_pages=n_pages,
            page_link=lambda number: links.dialogue(at, query=query, page=number),
        )

    def _position(self, at: int, turn: int | None, query: Query, given: QueryParams) -> int | None:
        """The place of a dialogue, or of a reply in it, in the list of a query; None if it is not in there."""
        index, rows = self._viewer.index, self._viewer.rows(query)
        about = index.table(query.unit).rows
        mine = about.dialogue[rows] == at
        if query.unit == "reply":
            name = given.get("as")
            mine &= about.turn[rows] == (WHOLE if turn is None else turn)
            mine &= about.sample[rows] == (WHOLE if name is None else parse_number(given.get("sample", "")))
            mine &= name is None or about.agent[rows] == index.agent_code(name)
        places = np.flatnonzero(mine)
        return int(places[0]) if len(places) else None

    def beside(self, given: QueryParams) -> Response:
        """Two agents side by side: on all contexts that both have, or on that of one dialogue or reply."""
        index, query, links = self._viewer.index, Query.parse(given.multi_items()), self._links
        there, alone = list(index.agents), None
        if "id" in given:
            alone = self._row(given, query)
            there = agents_beside(index, query.unit, alone)
        first = given.get("first") or (there[0] if there else "")
        second = given.get("second") or next((name for name in there if name != first), "")
        a, b = select_pairs(index, query, (first, second))
        if alone is not None:
            pair = index.table(query.unit).rows.pair
            same = pair[a] == pair[alone]
            a, b = a[same], b[same]
        page, n_pages = _page(given, len(a), PAIRS)
        at = slice((page - 1) * PAIRS, page * PAIRS)
        shown = zip(a[at].tolist(), b[at].tolist(), strict=True)
        others = [name for name in there if name not in (first, second)] if alone is not None else []
        place = None if alone is None else index.place(query.unit, alone)
        return self._render(
            "beside",
            query,
            table=index.table(query.unit),
            names=(first, second),
            others=[
                (name, links.context(query.unit, *place, (first, name)))
                for name in others
                if place is not None
            ],
            pairs=[pair_of(self._viewer, links, rows, query.unit) for rows in shown],
            n_pairs=len(a),
            page=page,
            n_pages=n_pages,
            page_link=lambda number: links.beside(query, (first, second), page=number),
        )

    def attacks(self, _: QueryParams) -> Response:
        """The transcripts of attacks."""
        return self._render("attacks", Query())

    def shown(self, path: str) -> str:
        """A file or folder as pages name it."""
        return path

    def _row(self, given: QueryParams, query: Query) -> int:
        """The row of the dialogue, or of the reply, that the parameters name; the error 400 if there is none."""
        index = self._viewer.index
        at = index.find(given.get("id", ""), file=given.get("file"))
        if at is not None and query.unit == "dialogue":
            return at
        for row in () if at is None else index.replies_of(at):
            if str(index.replies.rows.turn[row]) == given.get("turn"):
                return row
        raise HTTPException(400, "There is no such dialogue or reply here.")

    def _render(self, name: str, query: Query, **values: Any) -> Response:
        """A page of the viewer, with what all of them have."""
        return templates.render(
            f"viewer/{name}",
            viewer=self._viewer,
            index=self._viewer.index,
            query=query,
            base=self._links.base,
            attacks=self._links.attacks,
            served=self.served,
            static=self.static,
            path=self.shown,
            title=self._viewer.title(self.shown),
            here=name,
            other=self._links.other,
            hits=mark(query.text),
            **values,
        )


def _page(given: QueryParams, count: int, size: int, *, default: int = 1) -> tuple[int, int]:
    """The number of the page that is asked for, within bounds, and the number of pages."""
    n_pages = max(1, -(-count // size))
    asked = parse_number(given["page"]) if "page" in given else default
    return min(max(1, asked), n_pages), n_pages


def _place(text: str | None, n_turns: int) -> int | None:
    """The place of a turn that a text spells; None if it is absent, and the error 400 if there is no such turn."""
    if not text:
        return None
    place = parse_number(text)
    if (place == 0 and text != "0") or place >= n_turns:
        raise HTTPException(
            400, f"This dialogue has no turn {text[:20]!r}; its turns are 0 to {n_turns - 1}."
        )
    return place
