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
    balance: dict[str, int] = defaultdict(int)  # of a stem: how many more we have left than they
    of_stem: dict[str, list[str]] = defaultdict(list)
    for word, more in ours.items():
        balance[stem(word)] += more
    for word, more in theirs.items():
        root = stem(word)
        balance[root] -= more
        of_stem[root].append(word)
    matches = sum(said.values()) - sum(more for more in balance.values() if more > 0)

    stems = [(word, other) for word in ours for other in of_stem.get(stem(word), ())]
    meant = [(word, ids) for word in theirs if balance[stem(word)] < 0 and (ids := synsets(word))]
    any_of_theirs = frozenset[int]().union(*[ids for _, ids in meant])
    synonyms = [
        (word, other)
        for word in ours
        if not any_of_theirs.isdisjoint(synsets(word)) and balance[stem(word)] > 0
        for other, ids in meant
        if not ids.isdisjoint(synsets(word))
    ]
    if not stems and not synonyms:
        return Shared(matches, 0, pairs, frozenset(), {}, [])
    for word, other in stems + synonyms:
        pairs.setdefault(word, []).append(other)
    of_stems = {(_SOURCE if more > 0 else _SINK) + root: abs(more) for root, more in balance.items()}
    left = {**ours, **theirs, **of_stems}
    by_synonym = _flow(synonyms, left)
    return Shared(matches + by_synonym, by_synonym, pairs, _costly(pairs), left, synonyms)


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
