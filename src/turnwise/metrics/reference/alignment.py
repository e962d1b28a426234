"""METEOR's alignment of two texts: how many words match, and in how many unbroken chunks.

A word matches at most one word of the other text. Of all such alignments METEOR takes one with the most exact
matches, of those one with the most matches by stem, then by synonym (`shared`), and of those one with the
fewest chunks: runs of matches that stand side by side and in the same order in both texts.

Chunks are matches less bonds, a bond being two matches side by side in both texts; so the search is for the
most bonds. It goes through the reply once and keeps, for every set of places in the reference that is taken
and may still be wanted, the best way to get there: the result is exact. The problem is NP-hard (it holds the
minimum common string partition), so texts that repeat themselves over and over need a limit: of more than
`WIDTH` open ways the best go on, and of more than `PLACES` places for a word the first are tried. Matches are
then still the most, and chunks few but perhaps not the fewest.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from turnwise.metrics.reference.shared import Pair, Shared, shared

WIDTH, PLACES = 200, 8

# Places in the reference are bits of a number. What is known of the words so far: the places taken that may
# still be wanted, the place where a match would make a bond (or 0), and the costly pairs used.
Way: TypeAlias = tuple[int, int, tuple[Pair, ...]]


class Alignment(NamedTuple):
    matches: int
    chunks: int


class Choice(NamedTuple):
    """A word of the reply that a bond may reach."""

    places: int  # where it would have a bond before or after it
    starts: int  # where it would have one after it
    alone: bool  # the word and its one place can match nothing else
    costly: Mapping[int, Pair]  # place -> pair, where the match can cost others


def align(reply: Sequence[str], reference: Sequence[str]) -> Alignment:
    said, where = Counter(reply), dict.fromkeys(reference, 0)
    for at, word in enumerate(reference):
        where[word] |= 1 << at
    words = shared(said, Counter(reference))
    places = {word: sum([where[other] for other in others]) for word, others in words.pairs.items()}
    sets = [places.get(word, 0) for word in reply]
    choices = []
    before = 0
    for word, here, following in zip(reply, sets, [*sets, 0][1:], strict=True):
        starts = here & following >> 1
        if bonded := here & (starts | before << 1):
            costly = _costly_places(word, words, where) if words.costly else {}
            alone = said[word] == here.bit_count() == 1 and not costly
            choices.append(Choice(bonded, starts, alone, costly))
        before = starts
    bonds = _bonds(choices, words) if choices else 0
    return Alignment(words.matches, words.matches - bonds)


def _costly_places(word: str, words: Shared, where: Mapping[str, int]) -> dict[int, Pair]:
    pairs = [(word, other) for other in words.pairs[word] if (word, other) in words.costly]
    return {place: pair for pair in pairs for place in _each(where[pair[1]])}


def _bonds(choices: Sequence[Choice], words: Shared) -> int:
    """The most bonds that an alignment with all matches can have.

    Only matches with a bond are chosen here: the others can be put anywhere afterwards.
    """
    allowed = cache(words.allows)
    later = [0]  # places that words from here to the end may want from each other
    for choice in reversed(choices):
        later.append(later[-1] if choice.alone else later[-1] | choice.places)
    later.pop()
    ways: dict[Way, int] = {(0, 0, ()): 0}  # -> most bonds so far
    for places, starts, alone, costly in choices:
        wanted = later.pop()
        found: dict[Way, int] = {}
        for (taken, bond, used), bonds in ways.items():
            # A word that is alone takes its place: it can do no harm there.
            way = taken & wanted, (starts << 1 if alone else 0), used
            found[way] = max(found.get(way, 0), bonds + (alone and places == bond))
            if alone or not (free := places & (starts | bond) & ~taken):
                continue
            for place in islice(_each(free & bond, free & ~bond), PLACES):
                pair = costly.get(place)
                using = tuple(sorted((*used, pair))) if pair else used
                if pair is None or allowed(using):
                    way = (taken | place) & wanted, (place & starts) << 1, using
                    found[way] = max(found.get(way, 0), bonds + (place == bond))
        ways = found if len(found) <= WIDTH else dict(nlargest(WIDTH, found.items(), key=itemgetter(1)))
    return max(ways.values())


def _each(*sets: int) -> Iterator[int]:
    """The places in the sets, one by one."""
    for places in sets:
        while places:
            place = places & -places
            yield place
            places ^= place
