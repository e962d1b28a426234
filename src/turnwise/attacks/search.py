"""The search: which fixed reply, template or composition does the metric like best?

Candidates are cheap and metric calls are not, so every round spends its calls where the scores are: many
candidates on few contexts, the better half on twice as many (successive halving). Fixed replies are mined
from the corpus in bundles, several sentences said at once, of which the good ones are taken apart; what wins
is varied (sentences joined, repeated, cut, put around a copy of the context) until three generations in a row bring
nothing better, or the budget ends.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.strategy import SLOTS, Strategy, strategy
from turnwise.attacks.target import BATCH, ENDED, Target
from turnwise.attacks.templates import FRAMES, plain, varied
from turnwise.metrics.words import words
from turnwise.types import Floats

BUNDLE = 6  # sentences said at once
KEPT = 0.5  # of its gain, when a strategy is shortened to what triggers the metric
SHARES = {"mined": 0.35, "templates": 0.55, "evolved": 0.9}  # of its calls, by the end of each stage


@dataclass(slots=True)
class Search:
    target: Target
    contexts: Sequence[Context]
    rng: np.random.Generator
    calls: int  # that it may bring the target to
    report: Callable[[str], None] = lambda _: None
    tried: dict[str, float] = field(default_factory=dict)  # template -> mean gain over people
    _seen: dict[str, int] = field(default_factory=dict)  # template -> contexts it was scored on
    _people: dict[str, float] = field(default_factory=dict)  # context -> score of the person's reply
    _before: int = 0  # calls that were made when it began

    def __post_init__(self) -> None:
        self._before = self.target.calls
        scores = self.target.scores([(context, context.human) for context in self.contexts])
        self._people.update(
            (context.item.id, float(score)) for context, score in zip(self.contexts, scores, strict=True)
        )

    def run(self, texts: Iterable[str]) -> list[Strategy]:
        """The best strategies found, best first: a few fixed replies, copies and templates each."""
        best: list[str] = []
        stages: tuple[tuple[str, Callable[[Sequence[str]], list[str]]], ...] = (
            ("mined", lambda _: self._mined(texts)),
            ("templates", self._templates),
            ("evolved", self._evolved),
        )
        for stage, candidates in stages:
            self.target.allow(self._until(stage))
            try:
                found = candidates(best)
            except ENDED:
                found = []
            best = self._ranked([*best, *found, *self.tried])[:16]
            self.report(f"{stage}: {len(self.tried)} strategies tried in {self.target.calls} calls")
        self.target.allow(self.calls)
        return self._chosen()

    def _until(self, stage: str) -> int:
        """Calls, those before the search with them, at which this stage ends."""
        return self._before + int((self.calls - self._before) * SHARES[stage])

    def _chosen(self) -> list[Strategy]:
        """The best of each kind, that the report can say what each kind comes to."""
        ranked = self._ranked([template for template in self.tried if self._solid(template)])
        made = [strategy(template) for template in ranked]
        kinds = dict.fromkeys(one.kind for one in made)
        return [one for kind in kinds for one in islice((one for one in made if one.kind == kind), 3)]

    def _solid(self, template: str) -> bool:
        return self._seen.get(template, 0) >= min(8, len(self.contexts))

    def gain(self, template: str, contexts: Sequence[Context]) -> float:
        """Mean score minus people's, over these contexts."""
        self.gains([template], contexts)
        return self.tried[template]

    def gains(self, templates: Sequence[str], contexts: Sequence[Context]) -> None:
        """Tries them all; several at once, because a metric is asked in batches."""
        at_once = max(1, BATCH // len(contexts))
        human = self._human(contexts)
        for first in range(0, len(templates), at_once):
            some = templates[first : first + at_once]
            made = [strategy(template) for template in some]
            pairs = [(context, one.reply(context)) for one in made for context in contexts]
            scores = self.target.scores(pairs).reshape(len(some), len(contexts)) - human
            for template, row in zip(some, scores, strict=True):
                known = row[~np.isnan(row)]
                self.tried[template] = float(known.mean()) if len(known) else -np.inf
                self._seen[template] = len(contexts)

    def _human(self, contexts: Sequence[Context]) -> Floats:
        return np.array([self._people[context.item.id] for context in contexts])

    def _ranked(self, templates: Iterable[str]) -> list[str]:
        return sorted(dict.fromkeys(templates), key=lambda one: -self.tried.get(one, -np.inf))

    def _halved(self, templates: Sequence[str], contexts: int, keep: int) -> list[str]:
        """Successive halving: the better half goes on to twice as many contexts."""
        left = list(dict.fromkeys(templates))
        while True:
            sample = self._sample(contexts)
            self.gains(left, sample)
            left = self._ranked(left)
            if len(left) <= keep or contexts >= len(self.contexts):
                return left[:keep]
            left, contexts = left[: max(keep, len(left) // 2)], min(len(self.contexts), 2 * contexts)

    def _sample(self, count: int) -> list[Context]:
        chosen = self.rng.permutation(len(self.contexts))[:count]
        return [self.contexts[place] for place in sorted(chosen)]

    def _mined(self, texts: Iterable[str]) -> list[str]:
        """Fixed replies out of the corpus: bundles first, then the sentences of the best bundles."""
        pool = [plain(text) for text in dict.fromkeys(texts) if text.strip()]
        order = self.rng.permutation(len(pool))
        bundles = [[pool[place] for place in order[at : at + BUNDLE]] for at in range(0, len(pool), BUNDLE)]
        allowed = self._until("mined") - self.target.calls
        best = self._halved([" ".join(bundle) for bundle in bundles[: max(8, allowed // 5)]], 3, 12)
        inside = {" ".join(bundle): bundle for bundle in bundles}
        sentences = [text for joined in best for text in inside[joined]]
        return [*best[:4], *self._halved([*sentences, *self._cut(sentences)], 4, 8)]

    def _cut(self, sentences: Sequence[str]) -> Iterator[str]:
        """Halves of long sentences: what is liked may be a phrase."""
        for text in sentences:
            said = text.split()
            if len(said) >= 6:
                yield " ".join(said[: len(said) // 2])
                yield " ".join(said[len(said) // 2 :])

    def _templates(self, best: Sequence[str]) -> list[str]:
        """Every slot in every frame, and around the best fixed replies."""
        frames = [*FRAMES, *(f"{text} {{}}" for text in best[:3]), *(f"{{}} {text}" for text in best[:3])]
        made = [frame.replace("{}", f"{{{slot}}}") for frame in frames for slot in SLOTS]
        return self._halved(made, 4, 10)

    def _evolved(self, best: Sequence[str]) -> list[str]:
        """Variants of what is best so far, generation after generation, for as long as they get better."""
        population = list(best)
        idle = 0
        while idle < 3 and population:
            before = self.tried.get(population[0], -np.inf)
            children = [varied(population, self.rng) for _ in range(24)]
            new = [child for child in dict.fromkeys(children) if child not in self.tried]
            if new:
                try:
                    self._halved(new, 6, 6)
                except ENDED:
                    break
            population = self._ranked([*population, *new])[:12]
            self._halved(population[:4], len(self.contexts), 4)
            population = self._ranked(population)
            idle = idle + 1 if self.tried[population[0]] <= before else 0
        return population


def shortened(search: Search, made: Strategy, contexts: Sequence[Context]) -> Strategy:
    """The same strategy with every word taken out that most of its gain does not need: what triggers the metric.

    Words are taken out in ever smaller runs as long as enough of the gain stays (delta debugging).
    """
    said = made.template.split()
    goal = search.gain(made.template, contexts)
    if goal <= 0 or len(words(made.fixed)) == 0:
        return made
    size = max(1, len(said) // 2)
    while size >= 1:
        place, moved = 0, False
        while place < len(said) and len(said) > 1:
            left = [*said[:place], *said[place + size :]]
            try:
                good = bool(left) and search.gain(" ".join(left), contexts) >= KEPT * goal
            except ENDED:
                return strategy(" ".join(said))
            said, moved = (left, True) if good else (said, moved)
            place += 0 if good else size
        if size == 1 and not moved:
            break
        size = size // 2 if size > 1 else (1 if moved else 0)
    return strategy(" ".join(said))
