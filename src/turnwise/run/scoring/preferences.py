"""Preferences of the data as pairs of compared items, and their results: win rates and Bradley-Terry strengths."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from turnwise import registry
from turnwise.errors import DataError, UsageError, nearest, setting
from turnwise.logs.items.items import all_items
from turnwise.logs.scan import Census
from turnwise.meta.preferences import SAME_AGENT, About, ComparedPair, cluster_count, strengths, win_rate
from turnwise.metrics import PREFERENCE
from turnwise.records import DifferenceRecord, PreferenceFit
from turnwise.settings.groups import Filtering
from turnwise.types import OTHER_TURN, Dialogue, Item, Preference, item_id

CONTROLS = ("position", "length")
OUTCOMES: Mapping[str, int] = {"this": 1, "other": -1, "tie": 0, "both_bad": 0}
REPEATED = "the same rater chose again between the same two; the last choice counts"
POSITIONS: Mapping[str | None, int] = {"first": 1, "second": -1, None: 0}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Preferences on one dimension, and the covariates to control for."""

    name: str  # as written
    dimension: str
    control: tuple[str, ...] = ()


def preference_names(census: Census) -> tuple[str, ...]:
    """A name for each dimension that has preferences."""
    return tuple(f"{PREFERENCE}{dimension}" for dimension in census.preferences)


def chosen_dimension(asked: str | None, census: Census) -> str:
    """The dimension of the preferences: the asked one, else `overall`, else the only one; `UsageError` if it is not
    clear or has no preference.
    """
    known = tuple(census.preferences)
    if asked is None and "overall" not in known and len(known) > 1:
        raise UsageError(f"there are preferences on {', '.join(known)}; choose with {setting('--dimension')}")
    wanted = asked or ("overall" if "overall" in known else known[0])
    if wanted not in known:
        raise UsageError(f"no preference has the dimension `{wanted}`; {nearest(wanted, known)}")
    return wanted


def parse(name: str, known: Sequence[str]) -> Wanted:
    """The dimension and settings of `preference:DIMENSION[position=true,length=true]`.

    Raises `DataError` if the data has no preferences, and `UsageError` for an unknown dimension or setting.
    """
    rest = name.removeprefix(PREFERENCE)
    if not known:
        raise DataError(
            f"`{name}` needs preferences, and the data has none; docs/format.md shows how they are written"
        )
    dimension, written = (
        (rest, {}) if rest in known else registry.settings(rest, f"{PREFERENCE}overall[position=true]")
    )
    if dimension not in known:
        raise UsageError(f"no preference has the dimension `{dimension}`; {nearest(dimension, known)}")
    for key, value in written.items():
        if key not in CONTROLS or not isinstance(value, bool):
            raise UsageError(f"`{name}`: its settings are position=true and length=true, not {key}={value}")
    return Wanted(name, dimension, tuple(key for key in CONTROLS if written.get(key)))


def preferences(
    names: Sequence[str], spec: Filtering, census: Census, agents: Sequence[str], *, anytime: bool = False
) -> tuple[list[DifferenceRecord], list[PreferenceFit]]:
    """Win rates of every two agents, and a fit of strengths, for each name and group.

    `agents` are those to compare; without them it is every two agents that somebody compared. With `anytime` intervals
    and p hold at every look at growing data.
    """
    wanted = [parse(name, tuple(census.preferences)) for name in names]
    records: list[DifferenceRecord] = []
    fits: list[PreferenceFit] = []
    for one in wanted:
        groups, lost = compared_pairs(spec, census, one.dimension)
        if not groups:
            chosen = ", ".join(map(setting, ("--role", "--where", "--limit")))
            why = f"no preference is about a reply or a dialogue that was selected ({chosen})"
            records.append(
                DifferenceRecord(estimate=None, metric=one.name, level="system", status="refused", reason=why)
            )
        for group, pairs in groups.items():
            about = About(metric=one.name, group=group or None, unscored=dict(lost[group]))
            there = tuple(agents) or tuple(dict.fromkeys(name for pair in pairs for name in pair.agents))
            compared = {frozenset(pair.agents) for pair in pairs}
            asked = [two for two in combinations(there, 2) if agents or frozenset(two) in compared]
            if not asked:
                records.append(_same_agent(about, pairs))
                continue
            # What was left out is counted once, with the first two agents.
            rest = replace(about, unscored={})
            records += [
                win_rate(pairs, two, rest if at else about, anytime=anytime) for at, two in enumerate(asked)
            ]
            among = [pair for pair in pairs if set(pair.agents) <= set(there)]
            fits.append(strengths(among, there, about, control=one.control))
    return records, fits


def _same_agent(about: About, pairs: Sequence[ComparedPair]) -> DifferenceRecord:
    """The refusal of preferences that all are between two replies of one agent."""
    why = (
        f"{SAME_AGENT} in all {len(pairs)} preferences; name the agents in the records (`agent`), or measure how well "
        "a metric predicts them: turnwise meta --level pair -m METRIC"
    )
    return DifferenceRecord(
        estimate=None,
        metric=about.metric,
        group=about.group,
        level="system",
        status="refused",
        reason=why,
        n_items=len(pairs),
        n_clusters=cluster_count(pairs) if pairs else 0,
    )


def compared_pairs(
    spec: Filtering, census: Census, dimension: str
) -> tuple[dict[str, list[ComparedPair]], dict[str, Counter[str]]]:
    """The compared pairs of each group of the selection, and why others were left out."""
    if not census.held:
        census.hold()
    sides = {whole: {item.id: item for item in _items(spec, census, whole=whole)} for whole in _units(census)}
    return _by_group(census, sides, dimension)


def _units(census: Census) -> list[bool]:
    """Whether single replies (False) and whole dialogues (True) were compared."""
    found = {one.turn is None for file in census.held for each in file for one in each.preferences}
    return sorted(found)


def _items(spec: Filtering, census: Census, *, whole: bool) -> Iterator[Item]:
    """All replies, or all whole dialogues, of the selection."""
    return all_items(spec.paths, replace(spec.selection, items="all", as_agents=()), census, whole=whole)


def _by_group(
    census: Census, sides: Mapping[bool, Mapping[str, Item]], dimension: str
) -> tuple[dict[str, list[ComparedPair]], dict[str, Counter[str]]]:
    """The compared pairs of each group, and why others were left out; without those outside the selection.

    Of the choices of one rater between the same two, shown in the same order, the last counts.
    """
    groups: dict[str, dict[Any, ComparedPair]] = {}
    lost: dict[str, Counter[str]] = {}
    for dialogue in (one for file in census.held for one in file):
        for preference in dialogue.preferences:
            if preference.dimension != dimension:
                continue
            items = sides[preference.turn is None]
            this = items.get(item_id(dialogue.id, preference.turn))
            if this is None:
                continue
            other = items.get(_other_id(dialogue, preference, items))
            chosen = groups.setdefault(this.group, {})
            reasons = lost.setdefault(this.group, Counter())
            if other is None:
                reasons["the other one is not in the selected data"] += 1
            else:
                if other.agent == this.agent:
                    reasons[SAME_AGENT] += 1
                pair = _pair(this, other, preference)
                key = len(chosen) if pair.rater is None else _asked(pair)
                if key in chosen:
                    reasons[REPEATED] += 1
                chosen[key] = pair
    return {group: list(chosen.values()) for group, chosen in groups.items()}, lost


def _asked(pair: ComparedPair) -> tuple[str | None, tuple[str, str], int]:
    """What a rater was asked: the two items in a fixed order, and which of them was shown first."""
    first, second = sorted(pair.items)
    position = pair.position if pair.items[0] == first else -pair.position
    return pair.rater, (first, second), position


def _other_id(dialogue: Dialogue, preference: Preference, items: Mapping[str, Item]) -> str:
    """The id of the other item; where files are kept apart, with the prefix of this record's file."""
    turn = preference.extra.get(OTHER_TURN, preference.turn)
    there = item_id(preference.other, turn)
    if there in items:
        return there
    prefix, colon, _ = dialogue.id.partition(":")
    return f"{prefix}{colon}{there}"


def _pair(this: Item, other: Item, preference: Preference) -> ComparedPair:
    """The two items and the choice between them."""
    return ComparedPair(
        agents=(this.agent, other.agent),
        items=(this.id, other.id),
        outcome=OUTCOMES[preference.winner],
        both_bad=preference.winner == "both_bad",
        clusters=(_cluster(this), _cluster(other)),
        rater=preference.rater,
        position=POSITIONS[preference.shown],
        lengths=(_words(this), _words(other)),
    )


def _cluster(item: Item) -> str:
    """What is sampled together: the task, else the context of a compared reply, or the cluster of a dialogue."""
    return item.cluster if item.turn is None or item.task else item.pair


def _words(item: Item) -> int:
    """The number of words of the reply, or of all replies of a whole dialogue."""
    texts = item.replies if item.turn is None else (item.reply,)
    return sum(len(text.split()) for text in texts)
