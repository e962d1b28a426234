"""From dialogues to items: which turns are selected, what items are clustered and paired by, and in whose name.

A `Selection` says what is asked for; `resolve_selection` adds what the files decide of it.

Two questions are resolved here, once, for every metric and test. The *cluster* is what resampling and splits
must not tear apart: the task, where a record says of which task it is a trial; else the dialogue, or, where a record
holds one selected reply only, all records that answer the same context. The *pair* is what lets two agents be compared
on the same thing: the identical context, or the value of a key such as `meta.item`. The key `id` is the id, or the
line, that a dialogue has in its own file. A system prompt is configuration of the agent, and no part of a context.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

from turnwise.errors import DataError, UsageError, counted, setting
from turnwise.logs import native
from turnwise.logs.dialogue import is_reply
from turnwise.logs.items.keys import lookup, value_of
from turnwise.logs.items.points import Point
from turnwise.logs.items.selection import EVERYONE, FILE, ItemChoice, Selection
from turnwise.logs.scan import Census, Source
from turnwise.types import TASK, Dialogue, Item, Role, item_id, system_prompt

TOOLS = "tools"  # key of a record, or of its `meta`: the schemas of the tools that the agent could call
NO_REPLY = (
    "the agent says nothing in the dialogue"  # why a whole dialogue has nothing to score but its ratings
)
OWN_ID = "id"  # in --pair: the id or line of a dialogue in its own file, with the number of the reply


class FilePlace(NamedTuple):
    """The file that dialogues are from: its name as a group value, and what `native.own_id` needs."""

    name: str | None = None
    prefix: str = ""
    apart: bool = False


def resolve_selection(selection: Selection, census: Census, *, source: Source | None = None) -> Selection:
    """The selection with what the files decide: whether only rated turns are scored, and which agents
    `@alternatives` stands for (it stays if no agent has alternatives). Turn ratings of `source` decide if it is
    given, else those of all files. A named agent without alternatives raises `UsageError`.
    """
    rated = census.turn_rated if source is None else source.turn_rated
    is_rated = bool(rated) if selection.dimension is None else selection.dimension in rated
    chosen = selection.items or ("rated" if is_rated else "all")
    named = [agent for agent in selection.as_agents if agent != EVERYONE]
    check_speakers(named, census.alternatives)
    if EVERYONE not in selection.as_agents or not census.alternatives:
        return replace(selection, items=chosen)
    return replace(selection, items=chosen, as_agents=tuple(dict.fromkeys([*named, *census.alternatives])))


def check_speakers(agents: Iterable[str], there: Iterable[str]) -> None:
    """Raise `UsageError` if one of `agents` is not in `there`, the agents that have alternatives."""
    known = dict.fromkeys(there)
    for agent in agents:
        if agent not in known:
            names = ", ".join(known) or "none"
            raise UsageError(f"no alternatives of agent `{agent}` at any selected turn; there are: {names}")


__all__ = [
    "ItemChoice",
    "Selection",
    "all_items",
    "items",
    "lookup",
    "resolve_selection",
    "selected_dialogues",
]


def items(dialogues: Iterable[Dialogue], selection: Selection, *, whole: bool = False) -> Iterator[Item]:
    """The selected replies as items, or with `whole` one item a dialogue that has any; nothing to score raises
    `DataError`. One pass in flat memory if the selection is resolved; else the dialogues are held in memory to
    settle it.
    """
    asked, tally = selection, _Tally()
    if not selection.is_settled:
        census, dialogues = Census(), list(dialogues)
        for dialogue in dialogues:
            census.add(dialogue)
        selection = resolve_selection(selection, census)
    yield from _items_of_file(dialogues, selection, tally, whole=whole, file=FilePlace())
    tally.check(asked)


def all_items(
    paths: Sequence[str],
    selection: Selection,
    census: Census,
    *,
    whole: bool = False,
    silent: bool = False,
    unrated: Counter[str] | None = None,
    without_reply: Counter[str] | None = None,
    failures: Counter[str] | None = None,
) -> Iterator[Item]:
    """The items of files that are read together; `census` is the count over these files.

    Each file decides for itself whether only its rated turns are scored; `limit` counts dialogues over all
    files. Nothing to judge raises `DataError`. With `silent`, whole dialogues in which the agent says nothing are items
    too, with `missing` set: people can have rated them. In `unrated`, the dialogues of each agent are counted that have
    replies, of which none is rated, where only rated turns are scored; in `without_reply` those without any reply. With
    `failures`, dialogues in which something broke down outside the agent are left out and counted by what it was.
    """
    tally = _Tally(unrated, without_reply, failures)
    names, prefixes = native.file_names(paths), native.id_prefixes(paths)
    files: Iterable[Iterable[Dialogue]] = census.held or native.read_each(paths, apart=census.apart)
    for source, dialogues in zip(census.files, files, strict=True):
        mine = resolve_selection(selection, census, source=source)
        place = FilePlace(names[source.path], prefixes[source.path], census.apart)
        yield from _items_of_file(dialogues, mine, tally, whole=whole, silent=silent, file=place)
    tally.check(selection)


def _items_of_file(
    dialogues: Iterable[Dialogue],
    selection: Selection,
    tally: "_Tally",
    *,
    whole: bool,
    file: FilePlace,
    silent: bool = False,
) -> Iterator[Item]:
    """The items of the dialogues of one file, in order, counted in `tally`; with `as_agents` each item is
    repeated in the words of these agents. With `silent`, whole dialogues without a reply are items too.
    """
    silent = silent and whole and selection.items in ("all", "last") and not selection.as_agents
    tally.rated = tally.rated or selection.items == "rated"
    for dialogue in _filtered(dialogues, selection, tally):
        if tally.failures is not None and dialogue.failure:
            tally.failures[dialogue.failure] += 1
            continue
        places = _selected_turns(dialogue, selection)
        tally.selected += len(places)
        if not places and not _replies(dialogue, selection.role):
            tally.without_reply[dialogue.agent] += 1
        elif not places and selection.items == "rated":
            tally.unrated[dialogue.agent] += 1
        if silent and not places:
            (point,) = _points(dialogue, places, selection, file, whole=True)
            tally.items += 1
            yield replace(point.item, missing=NO_REPLY)
        for point in _points(dialogue, places, selection, file, whole=whole) if places else ():
            found: Iterable[Item] = (point.item,)
            if selection.as_agents:
                tally.spoken.update(point.speakers)
                found = point.spoken_by(selection.as_agents)
            for item in found:
                tally.items += 1
                yield item


def selected_dialogues(dialogues: Iterable[Dialogue], selection: Selection) -> Iterator[Dialogue]:
    """The dialogues that fulfil every `where`, up to `limit` of them; possibly none."""
    return _filtered(dialogues, selection, _Tally())


def _filtered(dialogues: Iterable[Dialogue], selection: Selection, tally: "_Tally") -> Iterator[Dialogue]:
    """The dialogues that fulfil every `where`, up to `limit` of them over all calls with this `tally`."""
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


def _selected_turns(dialogue: Dialogue, selection: Selection) -> list[int]:
    """The indices of the selected turns: turns of the chosen role that are replies, and of these all, the last,
    or those with a turn rating on the chosen dimension.
    """
    places = _replies(dialogue, selection.role)
    if selection.items == "last":
        return places[-1:]
    if selection.items == "rated":
        wanted = selection.dimension
        rated = {rating.turn for rating in dialogue.ratings if wanted in (None, rating.dimension)}
        return [place for place in places if place in rated]
    return places


def _replies(dialogue: Dialogue, role: Role) -> list[int]:
    """The indices of the turns of this role that are replies."""
    return [place for place, turn in enumerate(dialogue.turns) if turn.role == role and is_reply(turn)]


def _group(dialogue: Dialogue, keys: Sequence[str], file: FilePlace) -> str:
    """The values of the group keys, joined by `/`, "" without keys; keys that the record lacks are left out, and a
    record with none of them raises `DataError`. The value of the key `file` is the file's name.
    """
    values = [file.name if key == FILE else lookup(dialogue, key) for key in keys]
    named = [value for value in values if value is not None]
    return "/".join(named) if named or not keys else value_of(dialogue, keys[0])


def _points(
    dialogue: Dialogue, places: list[int], selection: Selection, file: FilePlace, *, whole: bool
) -> list[Point]:
    """One point a selected turn, or with `whole` one for the dialogue.

    Unless the selection names keys for it, a trial is clustered by its task, another dialogue with one selected reply
    by that reply's context, which also pairs it, and others by dialogue. Without a selected reply, the missing one
    counts: it would be at the end.
    Pair and cluster begin with the group if results are by group.
    """
    group = _group(dialogue, selection.group_keys, file)
    prefix = f"{group}/" if selection.by else ""
    by_id = selection.pair == OWN_ID
    named = value_of(dialogue, selection.pair) if selection.pair and not by_id else None
    own = native.own_id(dialogue.id, file.prefix, apart=file.apart) if by_id else ""
    numbers = {place: number for number, place in enumerate(places)} if by_id else {}
    at_end = [len(dialogue.turns)]
    contexts = _contexts(dialogue, places or at_end)
    first, single = (places or at_end)[0], len(places) < 2

    def pair(place: int | None) -> str:
        """What an item of this place (None: the whole dialogue) is paired by: the value of the pair key, with
        the place if several turns are selected; or the dialogue's own id with the number of the reply; else the digest
        of its context, or its id if it has no context.
        """
        if by_id:
            return own if place is None else reply_of(own, numbers[place])
        if named is not None:
            return named if single or place is None else f"{named}#{place}"
        at = first if single else place  # a whole dialogue with one selected reply is paired as that reply
        return contexts.get(at, item_id(dialogue.id, at))

    if selection.cluster:
        cluster = value_of(dialogue, selection.cluster)
    elif dialogue.task:
        cluster = f"{TASK} {dialogue.task}"
    else:
        cluster = pair(first if places else None) if single else dialogue.id

    def point(place: int | None) -> Point:
        """The point of the reply at this place, or of the whole dialogue for None."""
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
            meta=_meta(dialogue),
            ratings=tuple(rating for rating in dialogue.ratings if rating.turn == place),
            task=prefix + dialogue.task if dialogue.task else "",
            trial=dialogue.trial,
            failure=dialogue.failure,
        )
        return Point(item, tuple(places) if place is None else (place,))

    return [point(None)] if whole else [point(place) for place in places]


def _meta(dialogue: Dialogue) -> Mapping[str, Any]:
    """The dialogue's `meta`, with the schemas of its tools if the record has them beside the messages, as OpenAI's
    files do.
    """
    tools = dialogue.extra.get(TOOLS)
    return {**dialogue.meta, TOOLS: tools} if tools and TOOLS not in dialogue.meta else dialogue.meta


def reply_of(own: str, number: int) -> str:
    """What --pair id pairs the selected reply with this number, from 0, of a dialogue with this own id by."""
    return f"{own}#{number + 1}"


def _contexts(dialogue: Dialogue, places: list[int]) -> dict[int | None, str]:
    """A 64-bit hex digest of the roles and texts before each of `places`, without the system prompt; a place without a
    context is left out. The last place may be the end of the dialogue.
    """
    wanted = set(places)
    digests: dict[int | None, str] = {}
    hasher = blake2b(digest_size=8)
    first = len(system_prompt(dialogue.turns))
    for place in range(first, places[-1] + 1):
        if place in wanted and place > first:
            digests[place] = hasher.hexdigest()
        if place == len(dialogue.turns):
            break
        turn = dialogue.turns[place]
        hasher.update(f"{turn.role}\0{len(turn.text)}\0{turn.text}".encode())
    return digests


class _Tally:
    """Counts of what passed each filter, so that the error of an empty selection can name the filter that
    emptied it.
    """

    def __init__(
        self,
        unrated: Counter[str] | None = None,
        without_reply: Counter[str] | None = None,
        failures: Counter[str] | None = None,
    ) -> None:
        self.failures = failures  # what broke down outside the agent -> dialogues; None: they are items
        self.read = self.kept = self.selected = self.items = 0
        self.unrated: Counter[str] = Counter() if unrated is None else unrated  # dialogues of each agent
        self.without_reply: Counter[str] = Counter() if without_reply is None else without_reply
        self.passed: Counter[tuple[str, str]] = Counter()
        self.spoken: dict[str, None] = {}  # agents with alternatives, in order of appearance
        self.rated = False  # whether only rated turns were scored in some file

    def check(self, selection: Selection) -> None:
        """Raise `DataError` if there was no item, and `UsageError` if an agent that `as_agents` names has no
        alternatives.
        """
        if self.selected:
            check_speakers((agent for agent in selection.as_agents if agent != EVERYONE), self.spoken)
        if self.items:
            return
        raise DataError(f"no item is left: {self._reason(selection)}")

    def _reason(self, selection: Selection) -> str:
        """The first filter that left nothing, as a phrase: no dialogue, a `where`, no alternatives, no rated
        turn, or no message of the role.
        """
        if not self.read:
            return (
                "there is no dialogue"
                if selection.limit != 0
                else f"{setting('--limit', 0)} keeps no dialogue"
            )
        before = self.read
        for key, value in selection.where:
            after = self.passed[key, value]
            if not after:
                return f"{setting('--where', f'{key}={value}')} matches none of {counted(before, 'dialogue')}"
            before = after
        kept = counted(before, "dialogue")
        if self.failures and self.failures.total() == before:
            return f"all of {kept} failed for reasons outside the agent"
        if self.selected:
            return "no selected turn has alternatives"
        if self.rated:
            on = f" on dimension `{selection.dimension}`" if selection.dimension else ""
            return f"{setting('--items', 'rated')}: no {selection.role} turn of {kept} is rated{on}"
        return f"{setting('--role', selection.role)}: no message with text in {kept}"
