"""METEOR's alignment of a reply with a reference: the number of matched words and the number of chunks.

Each word matches at most one word of the other text. METEOR chooses, in this order: an alignment with the most exact
matches, then the most matches by stem, then the most matches by synonym (see `word_matches`), then the fewest chunks.
A chunk is a run of matches that are adjacent and in the same order in both texts.

The number of chunks is the number of matches minus the number of links. A link is a pair of matches that are adjacent
in both texts, so the search maximises the number of links. It is a dynamic programme over the words of the reply. Its
state is the set of reference positions that are taken and that a later word could use; for each state it keeps the
largest number of links. The result is exact. The problem is NP-hard (it contains the minimum common string partition),
so very repetitive texts need two limits: at most `BEAM_WIDTH` states are kept, and at most `MAX_POSITIONS` positions
are tried for each word. When a limit applies, the search is also made from the end of the texts, and the better result
counts. The number of matches is still the maximum then, but the number of chunks may be larger than the minimum.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from turnwise.metrics.reference.word_matches import Pair, WordMatches, word_matches

BEAM_WIDTH = 200  # search states that are kept after each word
MAX_POSITIONS = 8  # reference positions that are tried for one word of the reply

# A set of reference positions is an integer with one bit for each position. A state of the search is: the taken
# positions that a later word could use, the position at which the next match would form a link (0: none), and the
# contested pairs that are used.
State: TypeAlias = tuple[int, int, tuple[Pair, ...]]


class Alignment(NamedTuple):
    """The numbers of matched words and of chunks."""

    matches: int
    chunks: int


class Candidate(NamedTuple):
    """A word of the reply that can be part of a link, with the reference positions it can take."""

    positions: int  # where a link with the word before or after it is possible
    link_starts: int  # where a link with the word after it is possible
    forced: bool  # the word and its only position can match nothing else
    contested: Mapping[int, Pair]  # position -> pair, where this match can make other matches impossible


def align(reply: Sequence[str], reference: Sequence[str]) -> Alignment:
    """The numbers of matches and chunks of the METEOR alignment of two tokenised texts."""
    found, is_exact = _search(reply, reference)
    if is_exact:
        return found
    backwards, _ = _search(reply[::-1], reference[::-1])
    return min(found, backwards)  # their matches are equal


def _search(reply: Sequence[str], reference: Sequence[str]) -> tuple[Alignment, bool]:
    """The alignment by a search from the beginning of the texts, and whether no limit applied."""
    reply_counts, positions_of = Counter(reply), dict.fromkeys(reference, 0)
    for at, word in enumerate(reference):
        positions_of[word] |= 1 << at
    words = word_matches(reply_counts, Counter(reference))
    allowed = {word: sum([positions_of[other] for other in others]) for word, others in words.pairs.items()}
    sets = [allowed.get(word, 0) for word in reply]
    candidates = []
    previous_starts = 0
    for word, here, following in zip(reply, sets, [*sets, 0][1:], strict=True):
        link_starts = here & following >> 1
        if linked := here & (link_starts | previous_starts << 1):
            contested = _contested_positions(word, words, positions_of) if words.contested else {}
            forced = reply_counts[word] == here.bit_count() == 1 and not contested
            candidates.append(Candidate(linked, link_starts, forced, contested))
        previous_starts = link_starts
    links, is_exact = _most_links(candidates, words) if candidates else (0, True)
    return Alignment(words.matches, words.matches - links), is_exact


def _contested_positions(word: str, words: WordMatches, positions_of: Mapping[str, int]) -> dict[int, Pair]:
    """Reference position (one bit) -> contested pair, for the contested pairs of this word of the reply."""
    pairs = [(word, other) for other in words.pairs[word] if (word, other) in words.contested]
    return {position: pair for pair in pairs for position in _single_positions(positions_of[pair[1]])}


def _most_links(candidates: Sequence[Candidate], words: WordMatches) -> tuple[int, bool]:
    """The largest number of links in an alignment that has all matches, and whether no limit applied.

    The search assigns positions only to matches that are part of a link. The other matches do not change the number
    of links, so they can take any remaining position afterwards.
    """
    is_allowed = cache(words.allows)
    later = [0]  # for each candidate, from the last to the first: positions that later candidates compete for
    for candidate in reversed(candidates):
        later.append(later[-1] if candidate.forced else later[-1] | candidate.positions)
    later.pop()
    states: dict[State, int] = {(0, 0, ()): 0}  # state -> largest number of links so far
    is_exact = True
    for positions, link_starts, forced, contested in candidates:
        relevant = later.pop()
        reached: dict[State, int] = {}
        for (taken, link_at, used), links in states.items():
            # A forced word takes its position in every branch, because no other word can use it.
            state = taken & relevant, (link_starts << 1 if forced else 0), used
            reached[state] = max(reached.get(state, 0), links + (forced and positions == link_at))
            if forced or not (free := positions & (link_starts | link_at) & ~taken):
                continue
            is_exact = is_exact and free.bit_count() <= MAX_POSITIONS
            for position in islice(_single_positions(free & link_at, free & ~link_at), MAX_POSITIONS):
                pair = contested.get(position)
                using = tuple(sorted((*used, pair))) if pair else used
                if pair is None or is_allowed(using):
                    state = (taken | position) & relevant, (position & link_starts) << 1, using
                    reached[state] = max(reached.get(state, 0), links + (position == link_at))
        if len(reached) <= BEAM_WIDTH:
            states = reached
        else:
            states = dict(nlargest(BEAM_WIDTH, reached.items(), key=itemgetter(1)))
            is_exact = False
    return max(states.values()), is_exact


def _single_positions(*sets: int) -> Iterator[int]:
    """Every position (one bit) of the sets, from the lowest bit of each set to the highest."""
    for positions in sets:
        while positions:
            position = positions & -positions
            yield position
            positions ^= position
