"""Replies of nine kinds to a context, for training a network to tell them apart. Works on word numbers."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from papers.flagship.corpus import Corpus, Ids
from turnwise.networks.replies.columns import KIND_NAMES

KINDS = KIND_NAMES
# How often a kind is drawn, relative to the others. `wrong` is drawn often where people wrote wrong replies.
WEIGHTS = {"random": 1.0, "same dialogue": 0.9, "overlap": 1.1, "machine": 1.4, "copy": 0.8, "salad": 1.1,
           "generic": 2.0, "echo": 1.2, "bundle": 1.0}  # fmt: skip
GENERIC_KINDS = ("generic", "echo", "bundle")  # what is drawn as a reply that fits anywhere
WRONG = 2.5
DRAWN = 5  # wrong replies beside the right one
TURNS = 6
SHORTENED = 0.35  # share of contexts of which a random number of the last turns is kept
JOINED = 0.15  # share of contexts without marks between turns
FREQUENT = (4, 3000)  # a word of the overlap index occurs in this many turns
GENERIC_TURNS = 400  # the most frequent turns of the corpora serve as generic replies
STOPWORDS = frozenset(
    "a an the and or but if of to in on at for with from by about as it's it is are was were be been am i you he she "
    "we they me him her us them my your his their our this that these those do does did have has had will would can "
    "could should not no so what who how when where why which there here i'm don't that's just very really too".split()
)
GENERIC = (
    "i don't know", "i'm not sure", "that's great", "that's so interesting", "i see", "oh really", "me too",
    "that sounds like fun", "that's great i love it", "i love music what kind of music do you like",
    "thanks for telling me", "tell me more", "that is interesting tell me more", "wow that sounds amazing",
    "i'm so happy to hear that", "i'm sorry to hear that", "what do you do for fun", "how are you today",
    "that is a good question", "i agree with you", "sounds good to me", "what do you mean by that",
    "i totally understand how you feel", "that must have been hard for you", "i feel the same way",
    "thank you so much for sharing that with me", "it is always nice to talk with you", "yes", "no", "yes i do",
    "no i don't", "of course", "good for you", "that's cool what else do you like", "i hope you have a nice day",
    "that is really nice i would love to hear more about it", "what a wonderful thing to say",
    "i have never thought about it that way before", "it depends on the situation i guess",
    "well it was nice talking to you", "i know exactly what you mean", "you are right about that",
    "let me know how it goes", "everything will be fine don't worry", "i think so too", "that makes sense to me",
)  # fmt: skip
WITH_TOPIC = (
    "that is interesting tell me more about X", "i love X too", "i also like X what about you", "what about X",
    "X is great i love X", "do you like X", "i was just thinking about X", "really X that sounds amazing",
    "i see you like X tell me more", "i'm so happy to hear about X", "why do you say that about X",
    "what do you like most about X", "i have never heard of X is it good", "X sounds like a lot of fun",
    "thank you for telling me about X", "how long have you been into X", "i think X is very important",
)  # fmt: skip
WITH_TURN = (
    "you said T really", "T really", "T", "i agree T", "so you say T", "T is that right", "why T", "yes T", "T too",
    "did you say T", "i think that T", "oh T that is great",
)  # fmt: skip


SLOTS = (
    "turn",
    "end",
    "start",
    "rare",
    "content",
    "earlier",
    "span",
)  # what a template takes from the context
ECHOES = ("end", "span", "content", "rare")  # what an echo takes
PERSONS = {"i": "you", "my": "your", "me": "you", "i'm": "you're", "am": "are", "mine": "yours", "i've": "you've",
           "you": "i", "your": "my", "you're": "i'm", "myself": "yourself", "yours": "mine", "you've": "i've",
           "yourself": "myself"}  # fmt: skip
PHRASE = 6  # longest phrase of a random template, in words
SENTENCE = (4, 30)  # words of a turn that may follow an echo
BUNDLE = (2, 5)  # fewest turns of a bundle, and one more than the most
ALONE = (3, 14)  # words of a turn that may serve as a reply that fits anywhere


@dataclass(frozen=True)
class Template:
    """A reply with fixed words around words of the context."""

    before: Ids
    slot: str
    after: Ids


@dataclass(frozen=True)
class Mined:
    """Replies and templates that an earlier model scores highest in contexts they were not made for."""

    replies: list[Ids]
    templates: list[Template]


@dataclass(frozen=True)
class Example:
    """One context with its replies."""

    context: list[Ids]  # turns, oldest first
    joined: bool  # whether the turns are joined without marks
    replies: list[Ids]
    kinds: list[int]


class Candidates:
    """Draws examples from a corpus."""

    def __init__(
        self,
        corpus: Corpus,
        *,
        sources: frozenset[int],
        samples: dict[int, list[Ids]],
        weights: Mapping[str, float] = WEIGHTS,
        mined: Mined | None = None,
        share: float = 1.0,
    ) -> None:
        """`samples` has replies of a language model by the number of the turn that they replace.

        `share` is that of the dialogues that are used.
        """
        self.corpus, self.samples, self.weights = corpus, samples, weights
        self.mined = mined or Mined([], [])
        table = corpus.arrays["dialogues"]
        kept = np.flatnonzero(np.isin(table[:, 2], sorted(sources)))
        if share < 1:
            kept = np.sort(
                np.random.default_rng(0).choice(kept, size=round(share * len(kept)), replace=False)
            )
        self.ranges = table[:, :2]
        self.positives, self.wrong = defaultdict(list), defaultdict(list)
        for dialogue, kind, turn in corpus.arrays["extra"]:
            (self.wrong if kind else self.positives)[int(dialogue)].append(int(turn))
        self.targets = np.array(
            [(d, turn) for d in kept for turn in range(self.ranges[d, 0] + 1, self.ranges[d, 1])], np.int64
        )
        self.turns = np.concatenate([np.arange(*self.ranges[d]) for d in kept])
        sizes = self.ranges[kept, 1] - self.ranges[kept, 0]
        owner = np.repeat(table[kept, 2], sizes)
        self.by_source = [self.turns[owner == source] for source in np.unique(owner)]
        self.number = {word: at for at, word in enumerate(corpus.words)}
        self.stopwords = {self.number[word] for word in STOPWORDS if word in self.number}
        self.generic = [*self._frequent_turns(), *(ids for text in GENERIC if len(ids := self.ids(text)))]
        self.topics = [self._template(text, "X") for text in WITH_TOPIC]
        self.quotes = [self._template(text, "T") for text in WITH_TURN]
        self.persons = {
            self.number[one]: self.number[other]
            for one, other in PERSONS.items()
            if one in self.number and other in self.number
        }
        self._index()

    def ids(self, text: str) -> Ids:
        """The numbers of a text's words, without those that the corpora do not have."""
        return np.array([self.number[word] for word in text.split() if word in self.number], np.int64)

    def _template(self, text: str, slot: str) -> list[Ids]:
        return [self.ids(part) for part in text.split(slot)]

    def _frequent_turns(self) -> list[Ids]:
        counts: dict[bytes, int] = defaultdict(int)
        for turn in self.turns:
            if 1 < len(words := self.corpus.turn(turn)) <= 12:
                counts[words.tobytes()] += 1
        frequent = sorted(counts, key=lambda one: -counts[one])[:GENERIC_TURNS]
        return [np.frombuffer(one, np.int64) for one in frequent]

    def _index(self) -> None:
        """Turns by word, for the words that are neither frequent nor unique."""
        ends = self.corpus.arrays["turn_ends"]
        starts = np.concatenate([[0], ends[:-1]])
        lengths = (ends - starts)[self.turns]
        owner = np.repeat(self.turns, lengths)
        words = np.concatenate([self.corpus.turn(turn) for turn in self.turns])
        order = np.argsort(words, kind="stable")
        self.by_word = owner[order]
        count = np.bincount(words, minlength=len(self.corpus.words))
        self.word_ends = np.concatenate([[0], np.cumsum(count)])
        self.count = count
        self.rare = (count >= FREQUENT[0]) & (count <= FREQUENT[1])

    def draw(self, number: int, rng: np.random.Generator) -> Example:
        """The example of target `number`."""
        dialogue, target = (int(one) for one in self.targets[number])
        start, end = (int(one) for one in self.ranges[dialogue])
        first = max(start, target - TURNS)
        if rng.random() < SHORTENED:
            first = int(rng.integers(first, target))
        context = [self.corpus.turn(turn) for turn in range(first, target)]
        replies, kinds = [], []
        last = target == end - 1
        right = self.corpus.turn(target)
        if last and (others := self.positives.get(dialogue)):
            right = self.corpus.turn(others[rng.integers(len(others))])
        replies.append(right)
        kinds.append(KINDS.index("right"))
        wanted = dict(self.weights)
        if last and dialogue in self.wrong:
            wanted["wrong"] = WRONG
        elif target - start >= 2:
            wanted["wrong"] = 0.15
        if target not in self.samples:
            del wanted["machine"]
        names = list(wanted)
        weights = np.array([wanted[name] for name in names])
        for name in rng.choice(names, size=min(DRAWN, len(names)), replace=False, p=weights / weights.sum()):
            reply = self._reply(str(name), dialogue, target, context, right, rng)
            if reply is not None and len(reply) and not np.array_equal(reply, right):
                replies.append(reply)
                kinds.append(KINDS.index("generic" if name in GENERIC_KINDS else name))
        return Example(context, bool(rng.random() < JOINED), replies, kinds)

    def _reply(
        self, name: str, dialogue: int, target: int, context: list[Ids], right: Ids, rng: np.random.Generator
    ) -> Ids | None:
        start, end = (int(one) for one in self.ranges[dialogue])
        turn = self.corpus.turn
        match name:
            case "random":
                return turn(self.turns[rng.integers(len(self.turns))])
            case "same dialogue":
                others = [one for one in range(start, end) if one not in (target, target - 1)]
                return turn(others[rng.integers(len(others))]) if others else None
            case "overlap":
                return self._overlap(context, right, rng)
            case "wrong":
                if others := self.wrong.get(dialogue) if target == end - 1 else None:
                    return turn(others[rng.integers(len(others))])
                return self._negated(turn(target - 2))
            case "machine":
                samples = self.samples[target]
                return samples[rng.integers(len(samples))]
            case "copy":
                return self._copy(context, rng)
            case "salad":
                return self._salad(context, right, rng)
            case "echo":
                return self._echo(context, rng)
            case "bundle":
                return self._bundle(context, rng)
            case _:
                return self._generic(context, rng)

    def _overlap(self, context: list[Ids], right: Ids, rng: np.random.Generator) -> Ids | None:
        """A turn of another place that shares a rare word with the context's last turns or with the right reply."""
        near = np.concatenate([*context[-2:], right] if rng.random() < 0.3 else context[-2:])
        words = near[self.rare[near]]
        if not len(words):
            return None
        words = words[np.argsort(self.count[words])][:4]
        word = words[rng.integers(len(words))]
        found = self.by_word[self.word_ends[word] : self.word_ends[word + 1]]
        return self.corpus.turn(found[rng.integers(len(found))])

    def _negated(self, words: Ids) -> Ids | None:
        """The same words with one denied or affirmed that was not; None if there is nothing to change."""
        text = [self.corpus.words[one] for one in words]
        swaps = {"don't": "", "not": "", "can't": "can", "isn't": "is", "never": "always", "no": "yes", "yes": "no",
                 "is": "isn't", "am": "am not", "i'm": "i'm not", "can": "can't", "love": "hate", "like": "don't like",
                 "have": "don't have", "was": "wasn't", "always": "never", "hate": "love"}  # fmt: skip
        for at, word in enumerate(text):
            if word in swaps:
                return self.ids(" ".join([*text[:at], swaps[word], *text[at + 1 :]]))
        return None

    def _copy(self, context: list[Ids], rng: np.random.Generator) -> Ids:
        """A copy of the context: a turn, a part of one, all turns, or a turn in a frame."""
        which = rng.random()
        last = context[-1] if rng.random() < 0.6 else context[rng.integers(len(context))]
        if which < 0.3:
            return last
        if which < 0.45:
            return np.concatenate(context)[-60:]
        if which < 0.65 and len(last) > 3:
            start = rng.integers(0, len(last) // 2)
            return last[start : start + max(3, int(len(last) * rng.uniform(0.5, 1.0)))]
        if which < 0.8:  # most words of the turn, in order
            return last[rng.random(len(last)) < 0.8]
        frame = self.quotes[rng.integers(len(self.quotes))]
        return _filled(frame, last[:30])

    def _generic(self, context: list[Ids], rng: np.random.Generator) -> Ids:
        """A reply that fits anywhere: one that is often said, or one that a model was fooled by; or a template."""
        which = rng.random()
        if which < 0.25 and self.mined.replies:
            return self.mined.replies[rng.integers(len(self.mined.replies))]
        if which < 0.45 and self.mined.templates:
            return self.filled(self.mined.templates[rng.integers(len(self.mined.templates))], context, rng)
        if which < 0.6:
            return self.filled(self.template(rng), context, rng)
        if which < 0.75:
            words = np.concatenate(context[-2:])
            words = words[self.rare[words]]
            if len(words):
                at = int(rng.integers(len(words)))
                return _filled(
                    self.topics[rng.integers(len(self.topics))], words[at : at + 1 + int(rng.random() < 0.3)]
                )
        one = self.generic[rng.integers(len(self.generic))]
        if rng.random() < 0.25:
            one = np.concatenate([one, self.generic[rng.integers(len(self.generic))]])
        return one

    def _echo(self, context: list[Ids], rng: np.random.Generator) -> Ids:
        """Words of the context, then sentences that were said elsewhere: what attacks and policies came to say."""
        if rng.random() < 0.4 and self.mined.templates:
            return self.filled(self.mined.templates[rng.integers(len(self.mined.templates))], context, rng)
        return self.filled(self.echo(rng), context, rng)

    def echo(self, rng: np.random.Generator) -> Template:
        """A random template of an echo: perhaps a few words, then words of the context, then one or two turns."""
        before = self.phrase(rng)[:3] if rng.random() < 0.4 else np.zeros(0, np.int64)
        after = np.concatenate([self.sentence(rng) for _ in range(1 + int(rng.random() < 0.2))])
        return Template(before, ECHOES[rng.integers(len(ECHOES))], after)

    def _bundle(self, context: list[Ids], rng: np.random.Generator) -> Ids:
        """A bundle, in four of ten with words of the context somewhere between its turns."""
        words = self.bundle(rng)
        if rng.random() < 0.6:
            return words
        at = int(rng.integers(len(words) + 1))
        slot = SLOTS[rng.integers(len(SLOTS))]
        return self.filled(Template(words[:at], slot, words[at:]), context, rng)

    def bundle(self, rng: np.random.Generator) -> Ids:
        """Several turns of one corpus, most often of different dialogues: what long frauds are made of."""
        turns = self.by_source[rng.integers(len(self.by_source))]
        chosen = rng.choice(turns, size=rng.integers(*BUNDLE))
        parts = [self.corpus.turn(turn)[: SENTENCE[1]] for turn in chosen]
        if rng.random() < 0.3 and self.mined.replies:
            parts[0] = self.mined.replies[rng.integers(len(self.mined.replies))]
        return np.concatenate(parts)

    def sentence(self, rng: np.random.Generator) -> Ids:
        """A whole turn of some length, or a reply that a model was fooled by."""
        if rng.random() < 0.5 and self.mined.replies:
            return self.mined.replies[rng.integers(len(self.mined.replies))]
        while True:
            words = self.corpus.turn(self.turns[rng.integers(len(self.turns))])
            if SENTENCE[0] <= len(words) <= SENTENCE[1]:
                return words

    def template(self, rng: np.random.Generator) -> Template:
        """A random template: a phrase of any turn before words of the context, after them, or on both sides."""
        before, after = self.phrase(rng), self.phrase(rng)
        sides = rng.random()
        nothing = np.zeros(0, np.int64)
        slot = SLOTS[rng.integers(len(SLOTS))]
        return Template(before if sides < 0.75 else nothing, slot, after if sides > 0.5 else nothing)

    def phrase(self, rng: np.random.Generator) -> Ids:
        """Some words in a row of any turn, or a whole short turn."""
        words = self.corpus.turn(self.turns[rng.integers(len(self.turns))])
        if rng.random() < 0.3 and len(words) <= 2 * PHRASE:
            return words
        size = int(rng.integers(1, PHRASE + 1))
        start = int(rng.integers(max(1, len(words) - size + 1)))
        return words[start : start + size]

    def filled(self, template: Template, context: list[Ids], rng: np.random.Generator) -> Ids:
        """The template with words of the context in its slot."""
        last = context[-1]
        match template.slot:
            case "turn":
                words = last[:30]
            case "end":
                words = last[-int(rng.integers(1, 9)) :]
            case "start":
                words = last[: int(rng.integers(1, 4))]
            case "span":  # some words in a row, with the persons exchanged
                size = int(rng.integers(3, 10))
                start = int(rng.integers(max(1, len(last) - size + 1)))
                words = np.array(
                    [self.persons.get(one, one) for one in last[start : start + size].tolist()], np.int64
                )
            case "earlier":
                words = self._rarest(np.concatenate(context[:-1])) if len(context) > 1 else last[-1:]
            case "rare":
                words = self._rarest(np.concatenate(context[-2:]))
            case _:
                content = np.array([one for one in last if one not in self.stopwords], np.int64)
                words = content[: int(rng.integers(1, 3))]
        return np.concatenate([template.before, words, template.after])

    def _rarest(self, words: Ids) -> Ids:
        """The word that the corpora have least often, as an array."""
        return words[np.argsort(self.count[words], kind="stable")][:1]

    def _salad(self, context: list[Ids], right: Ids, rng: np.random.Generator) -> Ids:
        """Broken text: shuffled, repeated, cut, mixed with other text, or words of the context in disorder."""
        other = self.corpus.turn(self.turns[rng.integers(len(self.turns))])
        words = np.concatenate(context[-3:])
        content = np.array([one for one in words if one not in self.stopwords] or words[:1])
        match int(rng.integers(10)):
            case 0 | 1:
                return rng.permutation(right)
            case 2:  # neighbouring words exchanged
                mixed = right.copy()
                for at in range(0, len(mixed) - 1, 2):
                    if rng.random() < 0.5:
                        mixed[at], mixed[at + 1] = right[at + 1], right[at]
                return mixed
            case 3:
                return rng.permutation(words)[: max(3, len(right))]
            case 4:
                return rng.choice(content, size=max(2, min(len(right), 12)))
            case 5:  # a word or a pair again and again
                at = int(rng.integers(len(right)))
                return np.tile(right[at : at + 1 + int(rng.integers(3))], int(rng.integers(3, 7)))
            case 6:
                return np.concatenate([right[: max(1, len(right) // 2)], other[len(other) // 2 :]])
            case 7:
                kept = np.array([one for one in right if one not in self.stopwords], np.int64)
                return kept if len(kept) else right[::-1]
            case 8:
                return np.concatenate([right, right[-max(2, len(right) // 2) :]])
            case _:
                replaced = right.copy()
                spots = rng.random(len(right)) < 0.35
                replaced[spots] = rng.choice(other if rng.random() < 0.5 else words, size=int(spots.sum()))
                return replaced


def _filled(frame: list[Ids], words: Ids) -> Ids:
    """The parts of a template with the words between them."""
    parts = [frame[0]]
    for _, part in pairwise(frame):
        parts += [words, part]
    return np.concatenate(parts)
