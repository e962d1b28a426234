"""Search for the fixed reply or template that the metric scores highest.

Metric calls are expensive, so candidates are scored by successive halving: many on few contexts, then the better half
on twice as many. Fixed replies are mined from the corpus in bundles of several sentences; the best bundles are split
into their sentences. Then slots of the context are tried in frames, and the search follows the simple features that the
scores so far grow with. The best candidates are varied (joined, repeated, cut, combined with a copy of the context)
until three generations in a row bring no improvement, or the budget ends. At last, templates that pay in some contexts
are combined into mixed strategies, which choose between two by the context.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from turnwise.attacks.baselines import GENERIC
from turnwise.attacks.context import Context
from turnwise.attacks.diagnosis import tendencies
from turnwise.attacks.features import towards
from turnwise.attacks.mixed import Mixed, best_mixed, complementary
from turnwise.attacks.slots import BASIC_SLOTS, FURTHER_SLOTS
from turnwise.attacks.strategy import Strategy, strategy
from turnwise.attacks.target import BATCH, ENDED, Target
from turnwise.attacks.templates import FRAMES, escape_braces, vary
from turnwise.metrics.words import words
from turnwise.types import Floats

BUNDLE = 6  # sentences in one bundle
KEPT_GAIN = 0.5  # share of its gain that a shortened strategy must keep
STAGE_SHARES = {
    "mined": 0.3,
    "templates": 0.48,
    "tendencies": 0.58,
    "evolved": 0.8,
    "mixed": 0.92,
}  # share of the calls used by the end of each stage; the rest is for shortening
TENDENCIES = 4  # strongest tendencies that are followed
MIX_CANDIDATES, MIXED_OF = (
    24,
    10,
)  # templates that may pay in some contexts, and those of them that are combined
MAX_MIXED = 3  # mixed strategies that are tested
MIXED_GAIN = 1.1  # a mixed strategy must gain this many times what the best template gains
MAX_ROWS = 4000  # scored replies from which tendencies are computed


@dataclass(slots=True)
class Search:
    """A search on some contexts; `tried` has the mean gain over people of every template that was tried.

    It stops when the target's total number of calls reaches `calls`.
    """

    target: Target
    contexts: Sequence[Context]
    rng: np.random.Generator
    calls: int  # total number of calls of the target at which the search must stop
    report: Callable[[str], None] = lambda _: None
    tried: dict[str, float] = field(default_factory=dict)  # template -> mean gain over people
    mixed: list[Mixed] = field(default_factory=list)  # those that gain more than any template, best first
    _rows: list[tuple[Context, str, float]] = field(default_factory=list)  # scored replies, for tendencies
    _gains: dict[str, dict[str, float]] = field(
        default_factory=dict
    )  # template -> context -> gain over the person
    _seen: dict[str, int] = field(default_factory=dict)  # template -> contexts it was scored on
    _people: dict[str, float] = field(default_factory=dict)  # context -> score of the person's reply
    _calls_before: int = 0  # calls of the target before the search

    def __post_init__(self) -> None:
        self._calls_before = self.target.calls
        scores = self.target.scores([(context, context.human) for context in self.contexts])
        self._people.update(
            (context.item.id, float(score)) for context, score in zip(self.contexts, scores, strict=True)
        )

    def run(self, texts: Iterable[str]) -> list[Strategy]:
        """Run all stages and return up to three strategies of each kind; the kind of the best one comes first.

        Within a kind they are sorted by falling gain. Fixed replies are mined from `texts`. A stage whose share of the
        calls is used up ends with what it has. Strategies scored on few contexts are left out, unless all are.
        """
        best: list[str] = []
        stages: tuple[tuple[str, Callable[[Sequence[str]], list[str]]], ...] = (
            ("mined", lambda _: self._mined_replies(texts)),
            ("templates", self._templates),
            ("tendencies", self._along_tendencies),
            ("evolved", self._evolved),
            ("mixed", self._mixed),
        )
        for stage, candidates in stages:
            self.target.allow(self._call_limit(stage))
            try:
                found = candidates(best)
            except ENDED:
                found = []
            best = self._ranked([*best, *found, *self.tried])[:16]
            self.report(f"{stage}: {len(self.tried)} strategies tried in {self.target.calls} calls")
        self.target.allow(self.calls)
        return self._best_of_each_kind()

    def _call_limit(self, stage: str) -> int:
        """Total number of calls of the target at which this stage must stop."""
        return self._calls_before + int((self.calls - self._calls_before) * STAGE_SHARES[stage])

    def _best_of_each_kind(self) -> list[Strategy]:
        """The best three strategies of each kind, of those scored on enough contexts; the best kind first.

        If there are none, they are the best of all that were tried.
        """
        enough = [template for template in self.tried if self._scored_enough(template)]
        ranked = self._ranked(enough or self.tried)
        made = [strategy(template) for template in ranked]
        kinds = dict.fromkeys(one.kind for one in made)
        return [one for kind in kinds for one in islice((one for one in made if one.kind == kind), 3)]

    def _scored_enough(self, template: str) -> bool:
        """Whether the template was last scored on at least 8 contexts, or on all if there are fewer."""
        return self._seen.get(template, 0) >= min(8, len(self.contexts))

    def gain(self, template: str, contexts: Sequence[Context]) -> float:
        """Score the template in these contexts of the search; return the mean of its score minus the person's.

        Minus infinity if it has no score. Raises `BudgetSpent` or `Hangs` as the target does.
        """
        self.gains([template], contexts)
        return self.tried[template]

    def gains(self, templates: Sequence[str], contexts: Sequence[Context]) -> None:
        """Score the templates in these contexts, several in one batch, and record their gains in `tried`.

        An earlier gain on other contexts is replaced; a template without any score gets minus infinity.
        """
        at_once = max(1, BATCH // len(contexts))
        human = self._human_scores(contexts)
        made = [strategy(template) for template in templates]
        everything = [(context, one.reply(context)) for one in made for context in contexts]
        self.target.score_ahead(everything)
        for first in range(0, len(templates), at_once):
            some = templates[first : first + at_once]
            pairs = everything[first * len(contexts) : (first + at_once) * len(contexts)]
            scores = self.target.scores(pairs)
            if len(self._rows) < MAX_ROWS:
                self._rows += [(*pair, float(score)) for pair, score in zip(pairs, scores, strict=True)]
            for template, row in zip(some, scores.reshape(len(some), len(contexts)) - human, strict=True):
                self.tried[template] = _mean_gain(row, human)
                by_context = zip((context.item.id for context in contexts), row.tolist(), strict=True)
                self._gains.setdefault(template, {}).update(by_context)
                self._seen[template] = len(contexts)

    def _human_scores(self, contexts: Sequence[Context]) -> Floats:
        """Scores of people's replies in these contexts, in their order; NaN where there is none."""
        return np.array([self._people[context.item.id] for context in contexts])

    def _ranked(self, templates: Iterable[str]) -> list[str]:
        """Distinct templates by falling recorded gain; those that were never tried are last."""
        return sorted(dict.fromkeys(templates), key=lambda one: -self.tried.get(one, -np.inf))

    def successive_halving(self, templates: Sequence[str], contexts: int, keep: int) -> list[str]:
        """The best `keep` templates, scored on `contexts` random contexts, and the better half on twice as many.

        Halving ends when `keep` or fewer are left or all contexts were used.
        """
        left = list(dict.fromkeys(templates))
        while True:
            sample = self._sample(contexts)
            self.gains(left, sample)
            left = self._ranked(left)
            if len(left) <= keep or contexts >= len(self.contexts):
                return left[:keep]
            left, contexts = left[: max(keep, len(left) // 2)], min(len(self.contexts), 2 * contexts)

    def _sample(self, count: int) -> list[Context]:
        """`count` random contexts (all, if there are fewer), in their original order."""
        chosen = self.rng.permutation(len(self.contexts))[:count]
        return [self.contexts[index] for index in sorted(chosen)]

    def _mined_replies(self, texts: Iterable[str]) -> list[str]:
        """Fixed replies: the best 4 bundles of texts, and the best 8 of the sentences and half sentences in bundles."""
        pool = [escape_braces(text) for text in dict.fromkeys(texts) if text.strip()]
        order = self.rng.permutation(len(pool))
        bundles = [[pool[index] for index in order[at : at + BUNDLE]] for at in range(0, len(pool), BUNDLE)]
        allowed = self._call_limit("mined") - self.target.calls
        best = self.successive_halving(
            [" ".join(bundle) for bundle in bundles[: max(8, allowed // 5)]], 3, 12
        )
        inside = {" ".join(bundle): bundle for bundle in bundles}
        sentences = [text for joined in best for text in inside[joined]]
        return [*best[:4], *self.successive_halving([*sentences, *self._sentence_halves(sentences)], 4, 8)]

    def _sentence_halves(self, sentences: Sequence[str]) -> Iterator[str]:
        """Yield both halves of each sentence of six words or more."""
        for text in sentences:
            said = text.split()
            if len(said) >= 6:
                yield " ".join(said[: len(said) // 2])
                yield " ".join(said[len(said) // 2 :])

    def _templates(self, best: Sequence[str]) -> list[str]:
        """The best 10 templates among every basic slot in every frame, and every slot alone and with the best three."""
        with_best = [*(f"{text} {{}}" for text in best[:3]), *(f"{{}} {text}" for text in best[:3])]
        made = [
            frame.replace("{}", f"{{{slot}}}")
            for frames, slots in (((*FRAMES, *with_best), BASIC_SLOTS), (("{}", *with_best), FURTHER_SLOTS))
            for frame in frames
            for slot in slots
        ]
        return self.successive_halving(made, 4, 10)

    def _along_tendencies(self, best: Sequence[str]) -> list[str]:
        """The best 8 templates with more (or less) of the features that the scores so far grow (or fall) with."""
        pairs = [(context, reply) for context, reply, _ in self._rows]
        found = tendencies(pairs, np.array([score for *_, score in self._rows]))[:TENDENCIES]
        made = [made for one in found for made in towards(one.feature, one.correlation, best[:4])]
        new = [one for one in dict.fromkeys(made) if one not in self.tried]
        return self.successive_halving(new, 6, 8) if new else []

    def _mixed(self, best: Sequence[str]) -> list[str]:
        """Combine templates that pay in some contexts into `mixed`; returns the templates that were scored for it.

        Only mixed strategies that gain clearly more on these contexts than the best template are kept.
        """
        plain = [escape_braces(text) for text in GENERIC]
        candidates = list(dict.fromkeys([*complementary(self._gains, MIX_CANDIDATES), *best[:2], *plain]))
        self.gains(candidates, self._sample(16))
        some = {template: self._gains[template] for template in candidates}
        chosen = list(dict.fromkeys([*complementary(some, MIXED_OF), *self._ranked(plain)[:2]]))
        self.gains(chosen, self.contexts)
        rows = [[self._gains[template][context.item.id] for context in self.contexts] for template in chosen]
        found = best_mixed([strategy(one) for one in chosen], np.array(rows), self.contexts, MAX_MIXED)
        top = max(self.tried[template] for template in chosen)
        self.mixed = [mixed for mixed, gain in found if gain > max(0.0, MIXED_GAIN * top)]
        return chosen

    def _evolved(self, best: Sequence[str]) -> list[str]:
        """Templates by falling gain, varied at random until three generations bring no improvement.

        `best` is the first population; later ones have up to 12 templates. If the calls end while new templates are
        scored, it returns what it has; if they end while the best ones are scored again, the error is raised.
        """
        population = list(best)
        idle = 0
        while idle < 3 and population:
            before = self.tried.get(population[0], -np.inf)
            children = [vary(population, self.rng) for _ in range(24)]
            new = [child for child in dict.fromkeys(children) if child not in self.tried]
            if new:
                try:
                    self.successive_halving(new, 6, 6)
                except ENDED:
                    break
            population = self._ranked([*population, *new])[:12]
            self.successive_halving(population[:4], len(self.contexts), 4)
            population = self._ranked(population)
            idle = idle + 1 if self.tried[population[0]] <= before else 0
        return population


def _mean_gain(row: Floats, human: Floats) -> float:
    """The mean of the gains that are known; minus infinity if none is.

    A positive mean is multiplied by the share of people's scored contexts in which the strategy has a score too:
    of a metric that leaves frauds unscored, the few that it does score are of no interest.
    """
    known = row[~np.isnan(row)]
    if not len(known):
        return -np.inf
    mean = float(known.mean())
    return mean * len(known) / int((~np.isnan(human)).sum()) if mean > 0 else mean


def shorten(search: Search, made: Strategy, contexts: Sequence[Context]) -> Strategy:
    """The strategy without the words that most of its gain does not need; unchanged without a gain or fixed words.

    Runs of words are removed, shorter and shorter ones, as long as half of the gain is kept (delta debugging). When the
    calls are used up, what was removed so far stays removed.
    """
    said = made.template.split()
    goal = search.gain(made.template, contexts)
    if goal <= 0 or len(words(made.fixed)) == 0:
        return made
    size = max(1, len(said) // 2)
    while size >= 1:
        index, removed_some = 0, False
        while index < len(said) and len(said) > 1:
            left = [*said[:index], *said[index + size :]]
            try:
                good = bool(left) and search.gain(" ".join(left), contexts) >= KEPT_GAIN * goal
            except ENDED:
                return strategy(" ".join(said))
            said, removed_some = (left, True) if good else (said, removed_some)
            index += 0 if good else size
        if size == 1 and not removed_some:
            break
        size = size // 2 if size > 1 else (1 if removed_some else 0)
    return strategy(" ".join(said))
