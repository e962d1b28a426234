"""The addresses of the viewer's pages. An id is a parameter, because it may hold any character."""

from turnwise.errors import UsageError
from turnwise.web.pages.security import parse_number
from turnwise.web.viewer.index import Index
from turnwise.web.viewer.query import Query
from turnwise.web.viewer.table import WHOLE, Unit


class Links:
    """Makes addresses; `token` is their secret part."""

    def __init__(self, index: Index, token: str) -> None:
        self._index = index
        self.base = f"/view/{token}"
        self.attacks = f"{self.base}/attacks"

    def listed(self, query: Query, *, page: int | None = None) -> str:
        """The address of a list."""
        return self.base + query.link(page=page)

    def dialogue(
        self,
        at: int,
        *,
        turn: int | None = None,
        query: Query | None = None,
        page: int | None = None,
        whole: int | None = None,
    ) -> str:
        """The address of a dialogue (its row) at a turn; with the query of the list that it is opened from.

        Without a query it is the permanent one. `whole` is the place of a long message that is to be shown whole.
        """
        found = (query or Query()).link(**self._place(at, turn), page=page, whole=whole)
        return f"{self.base}/dialogue{found}" + ("" if turn is None else f"#t{turn}")

    def row(self, row: int, query: Query) -> str:
        """The address of a row of a list."""
        about = self._index.table(query.unit).rows
        at, turn, sample = int(about.dialogue[row]), int(about.turn[row]), int(about.sample[row])
        if sample == WHOLE:
            return self.dialogue(at, turn=None if turn == WHOLE else turn, query=query)
        alternative = {"as": self._index.agents[about.agent[row]], "sample": sample}
        return f"{self.base}/dialogue{query.link(**self._place(at, turn), **alternative)}#t{turn}"

    def other(self, identity: str, turn: int | None) -> str | None:
        """The address of a dialogue by its id; None if it is not here."""
        at = self._index.find(identity)
        return None if at is None else self.dialogue(at, turn=turn)

    def beside(self, query: Query, names: tuple[str, str], *, page: int | None = None) -> str:
        """The address of two agents side by side."""
        return f"{self.base}/beside" + query.link(first=names[0], second=names[1], page=page)

    def context(self, unit: Unit, at: int, turn: int | None, names: tuple[str, str] = ("", "")) -> str:
        """The address of one context with two agents side by side; without names, of those that are there."""
        query = Query(unit=unit, every=unit == "reply")
        return f"{self.base}/beside" + query.link(
            first=names[0] or None, second=names[1] or None, **self._place(at, turn)
        )

    def item(self, item: str | None) -> str:
        """The address of a dialogue or reply by the item's id (`ID` or `ID#TURN`), of the list for None.

        `UsageError` if there is no such item.
        """
        if item is None:
            return self.base
        at, turn = self._index.find(item), None
        if at is None:
            identity, _, place = item.rpartition("#")
            at, turn = self._index.find(identity), parse_number(place)
            if at is None or not place.isdigit() or turn >= self._index.n_turns(at):
                raise UsageError(f"--item {item}: there is no such dialogue or reply; expected ID or ID#TURN")
        return self.dialogue(at, turn=turn)

    def _place(self, at: int, turn: int | None) -> dict[str, object]:
        """The parameters that name a dialogue and a turn; the file only if there are several."""
        file = self._index.file_of(at).name if len(self._index.files) > 1 else None
        return {"id": self._index.dialogue(at).id, "file": file, "turn": turn}
