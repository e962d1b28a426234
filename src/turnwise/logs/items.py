"""From dialogues to items: what is judged, what it is clustered and paired by, and in whose name.

Two questions are settled here, once, for every metric and test. The *cluster* is what resampling and splits
must not tear apart: the dialogue, or, where a record holds one judged reply only, all records that answer the
same context. The *pair* is what lets two agents be compared on the same thing: the identical context, or the
value of a key such as `meta.item`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

from turnwise.errors import DataError, UsageError
from turnwise.logs.keys import lookup, value_of
from turnwise.logs.points import EVERYONE, Point
from turnwise.logs.scan import Census
from turnwise.types import Dialogue, Item, Role, item_id

__all__ = ["Judged", "Selection", "items", "lookup", "settled"]

Judged = Literal["rated", "last", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which replies are judged, and how they are grouped."""

    judged: Judged | None = None  # None: rated where there are turn ratings, else all
    dimension: str | None = None  # with "rated": only turns rated on this dimension
    role: Role = "assistant"
    pair: str | None = None  # key such as meta.item
    cluster: str | None = None
    by: str | None = None  # one result a group: meta.corpus
    where: tuple[tuple[str, str], ...] = ()
    limit: int | None = None  # dialogues
    as_agents: tuple[str, ...] = ()  # score what these agents would have said


def settled(selection: Selection, census: Census) -> Selection:
    """The selection with `judged` decided by what the files hold."""
    if selection.judged is not None:
        return selection
    found = census.dimensions.items()
    rated = any(counts.n_turn for name, counts in found if selection.dimension in (None, name))
    return replace(selection, judged="rated" if rated else "all")


def items(dialogues: Iterable[Dialogue], selection: Selection, *, whole: bool = False) -> Iterator[Item]:
    """The judged replies, or with `whole` one item a dialogue.

    One pass in flat memory if `selection.judged` is settled; else the dialogues are held to find it out.
    """
    if selection.judged is None:
        census, dialogues = Census(), list(dialogues)
        for dialogue in dialogues:
            census.add(dialogue)
        selection = settled(selection, census)
    tally = _Tally()
    for dialogue in _kept(dialogues, selection, tally):
        places = _judged(dialogue, selection)
        tally.judged += len(places)
        if not places:
            continue
        points = _points(dialogue, places, selection, whole=whole)
        if not selection.as_agents:
            tally.items += len(points)
            yield from (point.item for point in points)
            continue
        for point in points:
            tally.spoken.update(point.speakers)
            for item in point.spoken_by(selection.as_agents):
                tally.items += 1
                yield item
    tally.check(selection)


def _kept(dialogues: Iterable[Dialogue], selection: Selection, tally: "_Tally") -> Iterator[Dialogue]:
    for dialogue in dialogues:
        if tally.kept == selection.limit:
            return
        tally.read += 1
        for key, value in selection.where:
            if lookup(dialogue, key) != value:
                break
            tally.passed[key, value] += 1
        else:
            tally.kept += 1
            yield dialogue


def _judged(dialogue: Dialogue, selection: Selection) -> list[int]:
    """The places of the judged turns; a turn without text cannot be judged."""
    turns = dialogue.turns
    places = [i for i, turn in enumerate(turns) if turn.role == selection.role and turn.content is not None]
    if selection.judged == "last":
        return places[-1:]
    if selection.judged == "rated":
        wanted = selection.dimension
        rated = {rating.turn for rating in dialogue.ratings if wanted in (None, rating.dimension)}
        return [place for place in places if place in rated]
    return places


def _points(dialogue: Dialogue, places: list[int], selection: Selection, *, whole: bool) -> list[Point]:
    group = value_of(dialogue, selection.by) if selection.by else ""
    prefix = f"{group}/" if selection.by else ""
    named = value_of(dialogue, selection.pair) if selection.pair else None
    contexts = _contexts(dialogue, places)
    single = len(places) == 1

    def pair(place: int | None) -> str:
        if named is not None:
            return named if single or place is None else f"{named}#{place}"
        at = places[0] if single else place  # a whole dialogue with one judged reply is paired as that reply
        return contexts.get(at, item_id(dialogue.id, at))

    if selection.cluster:
        cluster = value_of(dialogue, selection.cluster)
    else:
        cluster = pair(places[0]) if single else dialogue.id

    def point(place: int | None) -> Point:
        item = Item(
            id=item_id(dialogue.id, place),
            dialogue=dialogue.id,
            agent=dialogue.agent,
            turns=dialogue.turns if place is None else dialogue.turns[: place + 1],
            turn=place,
            cluster=prefix + cluster,
            pair=prefix + pair(place),
            group=group,
            role=selection.role,
            goal=dialogue.goal,
            meta=dialogue.meta,
        )
        return Point(item, tuple(places) if place is None else (place,))

    return [point(None)] if whole else [point(place) for place in places]


def _contexts(dialogue: Dialogue, places: list[int]) -> dict[int | None, str]:
    """A digest of what was said before each place; a place at the very beginning has none."""
    wanted = set(places)
    digests: dict[int | None, str] = {}
    hasher = blake2b(digest_size=8)
    for place, turn in enumerate(dialogue.turns[: places[-1] + 1]):
        if place in wanted and place > 0:
            digests[place] = hasher.hexdigest()
        hasher.update(f"{turn.role}\0{len(turn.text)}\0{turn.text}".encode())
    return digests


class _Tally:
    """What passed each filter, so that an empty selection can say which one emptied it."""

    def __init__(self) -> None:
        self.read = self.kept = self.judged = self.items = 0
        self.passed: Counter[tuple[str, str]] = Counter()
        self.spoken: dict[str, None] = {}  # agents with alternatives, in order of appearance

    def check(self, selection: Selection) -> None:
        silent = [a for a in selection.as_agents if a != EVERYONE and a not in self.spoken]
        if silent and self.judged:
            there = ", ".join(self.spoken) or "none"
            raise UsageError(f"no alternatives of agent `{silent[0]}` at any judged turn; there are: {there}")
        if self.items:
            return
        raise DataError(f"nothing is left to judge: {self._reason(selection)}")

    def _reason(self, selection: Selection) -> str:
        if not self.read:
            return "there is no conversation" if selection.limit != 0 else "--limit 0 keeps no conversation"
        before = self.read
        for key, value in selection.where:
            after = self.passed[key, value]
            if not after:
                return f"--where {key}={value} matches none of {before} conversations"
            before = after
        if self.judged:
            return "no judged turn has alternatives in which every agent speaks"
        if selection.judged == "rated":
            on = f" on dimension `{selection.dimension}`" if selection.dimension else ""
            return f"--items rated: no {selection.role} turn of {before} conversations is rated{on}"
        return f"--role {selection.role}: {before} conversations have no such message with text"
