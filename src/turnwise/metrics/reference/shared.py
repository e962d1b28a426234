"""Which words of two texts can match, by METEOR's stages, and how many do at most.

Exact matches come first, then stems, then synonyms, each with what the stages before must leave over. How
many there are depends on how often words are said, not on where. Exact matches and those by stem are together
as many as the text with fewer words of that stem has. Synonyms are the largest matching of the rest: a flow
through a small network, from stems to words to words to stems.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from turnwise.metrics.reference.porter import stem
from turnwise.metrics.reference.wordnet import synsets

STAGES = ("exact", "stem", "synonym")

Pair: TypeAlias = tuple[str, str]  # a word of the reply and one of the reference
_SOURCE, _SINK = ">", "<"  # and with a stem behind them, what is left of that stem on either side


class Shared(NamedTuple):
    matches: int  # in all
    by_synonym: int  # of them
    pairs: Mapping[str, list[str]]  # word of the reply -> words of the reference that it may match
    costly: frozenset[Pair]  # pairs whose matches can cost others
    left: Mapping[str, int]  # copies of a word, or of a stem on either side, that earlier stages leave over
    synonyms: list[Pair]

    def allows(self, used: Sequence[Pair]) -> bool:
        """Whether an alignment in which these pairs match can still have all the matches there are."""
        spent = Counter(node for pair in used for node in _path(pair))
        if any(count > self.left[node] for node, count in spent.items()):
            return False
        made = sum(stem(word) != stem(other) for word, other in used)
        left = {node: count - spent[node] for node, count in self.left.items()}
        return made + _flow(self.synonyms, left) == self.by_synonym


def shared(said: Mapping[str, int], wanted: Mapping[str, int]) -> Shared:
    pairs = {word: [word] for word in said if word in wanted}
    ours = {word: more for word, count in said.items() if (more := count - wanted.get(word, 0)) > 0}
    theirs = {word: more for word, count in wanted.items() if (more := count - said.get(word, 0)) > 0}
    exact = sum(said.values()) - sum(ours.values())
    common = set(map(stem, ours)).intersection(map(stem, theirs))
    meant = frozenset[int]().union(*map(synsets, theirs))
    near = [word for word in ours if not meant.isdisjoint(synsets(word))]
    if not common and not near:
        return Shared(exact, 0, pairs, frozenset(), {}, [])

    balance: dict[str, int] = defaultdict(int)  # of a stem: how many more we have left than they
    for word, more in ours.items():
        balance[stem(word)] += more
    for word, more in theirs.items():
        balance[stem(word)] -= more
    stems = [
        (word, other)
        for word in ours
        if stem(word) in common
        for other in theirs
        if stem(other) == stem(word)
    ]
    poor = [word for word in theirs if balance[stem(word)] < 0]
    synonyms = [
        (word, other)
        for word in near
        if balance[stem(word)] > 0
        for other in poor
        if not synsets(other).isdisjoint(synsets(word))
    ]
    for word, other in stems + synonyms:
        pairs.setdefault(word, []).append(other)
    of_stems = {(_SOURCE if more > 0 else _SINK) + root: abs(more) for root, more in balance.items()}
    left = {**ours, **theirs, **of_stems}
    by_synonym = _flow(synonyms, left)
    by_stem = sum(ours.values()) - sum(more for more in balance.values() if more > 0)
    return Shared(exact + by_stem + by_synonym, by_synonym, pairs, _costly(pairs), left, synonyms)


def _costly(pairs: Mapping[str, list[str]]) -> frozenset[Pair]:
    """All but exact pairs and those of two words that can match only each other."""
    suitors = Counter(other for others in pairs.values() for other in others)
    return frozenset(
        (word, other)
        for word, others in pairs.items()
        for other in others
        if word != other and (len(others) > 1 or suitors[other] > 1)
    )


def _path(pair: Pair) -> tuple[str, ...]:
    """What a match uses up: a copy of each word and, for synonyms, of what their stems leave over."""
    word, other = pair
    one, two = stem(word), stem(other)
    return pair if one == two else (_SOURCE + one, word, other, _SINK + two)


def _flow(synonyms: Sequence[Pair], left: Mapping[str, int]) -> int:
    """The largest number of matches by synonym (Edmonds and Karp 1972)."""
    room: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pair in synonyms:
        first, word, other, last = _path(pair)
        room[_SOURCE][first] = left[first]
        room[first][word] = left[word]
        room[word][other] = min(left[word], left[other])
        room[other][last] = left[other]
        room[last][_SINK] = left[last]

    flow = 0
    while True:
        before = {_SOURCE: ""}  # node -> the one it is reached from
        reached = [_SOURCE]
        for node in reached:
            for onward, free in room[node].items():
                if free and onward not in before:
                    before[onward] = node
                    reached.append(onward)
        if _SINK not in before:
            return flow
        node = _SINK
        while node != _SOURCE:
            room[before[node]][node] -= 1
            room[node][before[node]] += 1
            node = before[node]
        flow += 1
