"""Which words of a reply and a reference can match in METEOR's stages, and the largest number of matches.

The stages are exact matches, then stems, then synonyms; each stage uses the word copies that the earlier ones leave
over. The numbers depend on how often each word occurs, not on where. For one stem, exact and stem matches together are
as many as the text with fewer words of that stem has. The number of synonym matches is a maximum flow through a small
network: source, stems of the reply, words of the reply, words of the reference, stems of the reference, sink.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from turnwise.metrics.reference.porter import stem
from turnwise.metrics.reference.wordnet import synsets

STAGES = ("exact", "stem", "synonym")

Pair: TypeAlias = tuple[str, str]  # a word of the reply and one of the reference
# Flow nodes; followed by a stem: the node of that stem on the reply's or reference's side.
_SOURCE, _SINK = (">", "<")


class WordMatches(NamedTuple):
    """The word pairs that may match, and the largest number of matches."""

    matches: int  # matched words of all stages
    by_synonym: int  # matched words of the synonym stage
    pairs: Mapping[str, list[str]]  # word of the reply -> words of the reference that it may match
    contested: frozenset[Pair]  # pairs whose match can make other matches impossible
    # Copies of a word, or of a stem on either side, that the earlier stages leave over.
    capacity: Mapping[str, int]
    synonyms: list[Pair]

    def allows(self, used: Sequence[Pair]) -> bool:
        """Whether an alignment that contains these pairs can still have the largest number of matches."""
        spent = Counter(node for pair in used for node in _path(pair))
        if any(count > self.capacity[node] for node, count in spent.items()):
            return False
        used_synonyms = sum(stem(word) != stem(other) for word, other in used)
        remaining = {node: count - spent[node] for node, count in self.capacity.items()}
        return used_synonyms + _max_flow(self.synonyms, remaining) == self.by_synonym


def word_matches(reply: Mapping[str, int], reference: Mapping[str, int]) -> WordMatches:
    """The possible matches of two texts, given how often each word occurs in them."""
    pairs = {word: [word] for word in reply if word in reference}
    # Copies of each word that remain after the exact matches.
    ours = {word: more for word, count in reply.items() if (more := count - reference.get(word, 0)) > 0}
    theirs = {word: more for word, count in reference.items() if (more := count - reply.get(word, 0)) > 0}
    exact = sum(reply.values()) - sum(ours.values())
    common_stems = set(map(stem, ours)).intersection(map(stem, theirs))
    their_synsets = frozenset[int]().union(*map(synsets, theirs))
    with_synonym = [word for word in ours if not their_synsets.isdisjoint(synsets(word))]
    if not common_stems and not with_synonym:
        return WordMatches(exact, 0, pairs, frozenset(), {}, [])

    # Of a stem: remaining copies in the reply minus in the reference.
    surplus: dict[str, int] = defaultdict(int)
    for word, more in ours.items():
        surplus[stem(word)] += more
    for word, more in theirs.items():
        surplus[stem(word)] -= more
    same_stem = [
        (word, other)
        for word in ours
        if stem(word) in common_stems
        for other in theirs
        if stem(other) == stem(word)
    ]
    unmatched = [word for word in theirs if surplus[stem(word)] < 0]
    synonyms = [
        (word, other)
        for word in with_synonym
        if surplus[stem(word)] > 0
        for other in unmatched
        if not synsets(other).isdisjoint(synsets(word))
    ]
    for word, other in same_stem + synonyms:
        pairs.setdefault(word, []).append(other)
    of_stems = {(_SOURCE if more > 0 else _SINK) + root: abs(more) for root, more in surplus.items()}
    capacity = {**ours, **theirs, **of_stems}
    by_synonym = _max_flow(synonyms, capacity)
    by_stem = sum(ours.values()) - sum(more for more in surplus.values() if more > 0)
    matches = exact + by_stem + by_synonym
    return WordMatches(matches, by_synonym, pairs, _contested(pairs), capacity, synonyms)


def _contested(pairs: Mapping[str, list[str]]) -> frozenset[Pair]:
    """All pairs except exact matches and pairs of two words that can match only each other."""
    partners = Counter(other for others in pairs.values() for other in others)
    return frozenset(
        (word, other)
        for word, others in pairs.items()
        for other in others
        if word != other and (len(others) > 1 or partners[other] > 1)
    )


def _path(pair: Pair) -> tuple[str, ...]:
    """The flow nodes whose capacity a match uses: both words and, for synonyms, the stems of both."""
    word, other = pair
    word_stem, other_stem = stem(word), stem(other)
    return pair if word_stem == other_stem else (_SOURCE + word_stem, word, other, _SINK + other_stem)


def _max_flow(synonyms: Sequence[Pair], capacity: Mapping[str, int]) -> int:
    """The largest number of matches by synonym, within the capacities of words and stems (Edmonds and Karp 1972)."""
    residual: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pair in synonyms:
        first, word, other, last = _path(pair)
        residual[_SOURCE][first] = capacity[first]
        residual[first][word] = capacity[word]
        residual[word][other] = min(capacity[word], capacity[other])
        residual[other][last] = capacity[other]
        residual[last][_SINK] = capacity[last]

    flow = 0
    while True:
        before = {_SOURCE: ""}  # node -> the one it is reached from
        reached = [_SOURCE]
        for node in reached:
            for onward, free in residual[node].items():
                if free and onward not in before:
                    before[onward] = node
                    reached.append(onward)
        if _SINK not in before:
            return flow
        node = _SINK
        while node != _SOURCE:
            residual[before[node]][node] -= 1
            residual[node][before[node]] += 1
            node = before[node]
        flow += 1
