"""METEOR and its stemmer against nltk.

nltk's corpora need a download, so its METEOR is given either a WordNet without a synset, or one made of our
own table: same words, same base forms. Known disagreements: nltk looks synonyms up by Porter stem (we are
right, `PAIRS` shows it), pairs repeated words from the right (ours never has more chunks), and has a stemmer
of its own making.
"""

from collections import defaultdict
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import _count_chunks, align_words, meteor_score

from turnwise.metrics.reference.alignment import align
from turnwise.metrics.reference.meteor import Meteor
from turnwise.metrics.reference.porter import stem
from turnwise.metrics.reference.wordnet import parts, synsets
from turnwise.types import Item, Turn

# A sentence, two words that mean the same in it, and one that does not. nltk is wrong about every one.
PAIRS = [
    ("my {} would not start this morning", "car", "automobile", "banana"),
    ("we sold both of our {} last year", "cars", "automobiles", "houses"),
    ("i ride my {} to work", "bicycle", "bike", "elephant"),
    ("that was the best {} i have seen", "movie", "film", "goal"),
    ("where did you {} those shoes", "buy", "purchase", "lose"),
    ("she {} a ticket for me", "bought", "purchased", "tore"),
    ("when does the show {}", "begin", "commence", "end"),
    ("they have {} the work", "finished", "completed", "refused"),
    ("i am {} to hear that", "happy", "glad", "ashamed"),
    ("he was {} about the news", "angry", "furious", "calm"),
    ("they live in a {} house", "big", "large", "red"),
    ("she has a {} dog", "little", "small", "black"),
    ("it got dark very {}", "quickly", "rapidly", "seldom"),
    ("do you come here {}", "often", "frequently", "alone"),
    ("{} we should leave now", "maybe", "perhaps", "never"),
    ("i {} missed the bus", "nearly", "almost", "gladly"),
    ("you have to {} one of them", "choose", "select", "carry"),
    ("he did not {} my question", "answer", "reply", "hear"),
    ("it was all a big {}", "error", "mistake", "party"),
    ("the {} is asleep", "baby", "infant", "cat"),
    ("call me on my {}", "telephone", "phone", "horse"),
    ("come here {}", "immediately", "instantly", "tomorrow"),
    ("do not {} yourself", "injure", "hurt", "repeat"),
    ("we {} to open the door", "tried", "attempted", "forgot"),
    ("do you {} his name", "remember", "recall", "like"),
    ("she told us a funny {}", "story", "tale", "number"),
    ("the food was {}", "terrible", "awful", "cheap"),
    ("what do you do on your {}", "vacation", "holiday", "phone"),
    ("it is a very {} joke", "funny", "amusing", "old"),
    ("this {} has ten million people", "country", "nation", "village"),
]

# Words that match as they stand or not at all.
PLAIN = "dog tree seven yellow river cloud window carpet silver music garden copper".split()


def bare(word: str) -> list[Any]:
    return []


@cache
def as_nltk(word: str) -> list[SimpleNamespace]:
    """What nltk's reader would give for a word, from our table."""
    return [
        SimpleNamespace(lemmas=lambda names=names: names) for names in (names_of()[i] for i in synsets(word))
    ]


@cache
def names_of() -> dict[int, list[SimpleNamespace]]:
    found = defaultdict(list)
    for part in parts():
        for lemma, numbers in part.synsets.items():
            for number in numbers:
                found[number].append(SimpleNamespace(name=lambda lemma=lemma: lemma))
    return found


EMPTY, FULL = SimpleNamespace(synsets=bare), SimpleNamespace(synsets=as_nltk)


def ours(reply: str, *references: str) -> float:
    turns = (Turn("assistant", reply, references=references),)
    metric = Meteor()
    return metric.reduce(metric.rows([Item("d#0", "d", "bot", turns, 0, cluster="d", pair="d")]))


def theirs(reply: str, *references: str, wordnet: Any = FULL) -> float:
    return float(meteor_score([text.split() for text in references], reply.split(), wordnet=wordnet))


def test_there_are_thirty_pairs_of_synonyms() -> None:
    assert len({frozenset(pair[1:3]) for pair in PAIRS}) == 30


@pytest.mark.parametrize(("frame", "word", "synonym", "unrelated"), PAIRS)
def test_a_synonym_beats_an_unrelated_word_here_and_not_in_nltk(
    frame: str, word: str, synonym: str, unrelated: str
) -> None:
    for one, other in ((word, synonym), (synonym, word)):
        reply, same, far = (frame.format(w) for w in (one, other, unrelated))
        assert ours(reply, same) > ours(reply, far)
        assert ours(reply, same) == ours(reply, reply)
        assert theirs(reply, same) <= theirs(reply, far)


def test_the_plain_words_share_neither_stem_nor_synset() -> None:
    assert len({stem(word) for word in PLAIN}) == len({PorterStemmer().stem(word) for word in PLAIN}) == 12
    for word in PLAIN:
        assert all(synsets(word).isdisjoint(synsets(other)) for other in PLAIN if other != word)


orders = st.lists(st.sampled_from(PLAIN), unique=True, max_size=12)


@given(orders, st.lists(orders.filter(bool), min_size=1, max_size=3), st.sampled_from([EMPTY, FULL]))
def test_meteor_equals_nltk_without_stems_synonyms_and_repeated_words(
    reply: list[str], references: list[list[str]], wordnet: Any
) -> None:
    texts = [" ".join(words) for words in (reply, *references)]
    assert ours(*texts) == pytest.approx(theirs(*texts, wordnet=wordnet), abs=1e-9)


repeated = st.integers(1, 8).flatmap(lambda size: st.lists(st.sampled_from(PLAIN[:size]), max_size=25))


@given(repeated, repeated)
@example(  # the search from the beginning finds two chunks within its limits
    "tree tree dog tree tree tree tree tree tree dog tree".split(),
    "tree tree tree tree tree dog tree".split(),
)
@settings(max_examples=200)
def test_repeated_words_match_as_often_as_in_nltk_and_in_no_more_chunks(
    reply: list[str], reference: list[str]
) -> None:
    pairs, _, _ = align_words(reply, reference, wordnet=EMPTY)
    matches, chunks = align(reply, reference)
    assert matches == len(pairs)
    assert chunks <= (_count_chunks(pairs) if pairs else 0)


def test_nltk_breaks_a_text_that_has_one_chunk() -> None:
    reply, reference = "the cat saw a dog", "the cat saw a dog or the dog saw the cat"
    assert align(reply.split(), reference.split()) == (5, 1)
    pairs, _, _ = align_words(reply.split(), reference.split(), wordnet=EMPTY)
    assert _count_chunks(pairs) > 1


martin = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)


def test_stems_of_a_large_vocabulary_are_those_of_nltk_in_martins_mode() -> None:
    lemmas = sorted({lemma for part in parts() for lemma in part.synsets})[::12]
    suffixes = ["", "s", "ed", "ing", "ly", "ational", "iveness"]
    vocabulary = [lemma + suffix for lemma in lemmas for suffix in suffixes]
    assert len(vocabulary) > 30_000
    assert [word for word in vocabulary if stem(word) != martin.stem(word)] == []


syllables = st.sampled_from(
    "s ed ing eed y ies sses at bl iz ll ion ation ize al iti bli logi ous ful ness a b e o u z w x".split()
)


@given(st.lists(syllables, max_size=6).map("".join) | st.text(max_size=8).map(str.lower))
def test_stems_of_anything_are_those_of_nltk_in_martins_mode(word: str) -> None:
    assert stem(word) == martin.stem(word)
