"""The attack: diagnose, baselines, search, shorten, judge. Everything random comes from one generator."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from turnwise.attacks.baselines import VERDICTS, baselines
from turnwise.attacks.context import Context
from turnwise.attacks.diagnosis import Diagnosis, Tendency, diagnosed, tendencies
from turnwise.attacks.search import Search, shortened
from turnwise.attacks.strategy import Entry, Strategy
from turnwise.attacks.target import ENDED, Hangs, Target
from turnwise.attacks.verdict import Judged, judged
from turnwise.types import Floats

STAGES = ("baselines", "search", "rl")
FOUND = 16  # strategies that a search may bring to be judged
FURTHER = 2  # that a tuned policy may
REASONS = 20  # why replies have no score, that are kept


class Answered(NamedTuple):
    """What a strategy answers on the judged contexts, and what the metric says of that."""

    entry: Entry
    replies: list[str]
    scores: Floats


@dataclass(frozen=True, slots=True)
class Attack:
    diagnosis: Diagnosis
    people: Judged
    strategies: tuple[Judged, ...]  # by gain, the worst fraud first; controls among them
    tendencies: tuple[Tendency, ...]
    promising: tuple[str, ...]  # templates that scored above people where they were searched, the best first
    tried: int
    calls: int
    unsearched: bool  # the budget does for judging alone
    unjudged: int  # strategies that were left when the budget ended, or the metric stopped answering
    errors: dict[str, int]  # why replies have no score -> how many, the most frequent first

    @property
    def worst(self) -> Judged | None:
        """The fraud with the largest gain, if there is one."""
        return next((one for one in self.strategies if one.significant), None)

    @property
    def gameable(self) -> bool:
        return self.worst is not None


def attack(
    target: Target,
    search_on: Sequence[Context],
    judge_on: Sequence[Context],
    *,
    texts: Iterable[str],
    verdicts: Sequence[float] = VERDICTS,
    rng: np.random.Generator,
    draws: int = 1000,
    stages: Sequence[str] = STAGES[:2],
    further: Callable[[], Sequence[Entry]] = tuple,
    report: Callable[[str], None] = lambda _: None,
) -> Attack:
    """`texts` is what fixed replies are mined from; `verdicts` are the best that a judge might give;
    `further` is asked for more strategies to judge, those of a tuned policy."""
    diagnosis = diagnosed(target, search_on)
    human = target.scores([(context, context.human) for context in judge_on])
    report(f"diagnosis: {target.calls} calls")
    pool = [context.human for context in [*search_on, *judge_on]]
    entries = list(baselines(pool, rng, verdicts)) if "baselines" in stages else []
    answered = _answered(target, entries, judge_on, report)  # first, whatever becomes of the search
    tried = len(entries)
    promising: list[str] = []
    judging = (FURTHER + FOUND) * len(judge_on)
    unsearched = "search" in stages and target.budget - judging <= target.calls
    if "search" in stages and diagnosis.scores and not unsearched:
        search = Search(target, search_on, rng, calls=target.budget - judging, report=report)
        chosen = _distinct(_shorter(search, search.run(texts), search_on))[:FOUND]
        tried += len(search.tried)
        promising = [
            one for one in sorted(search.tried, key=lambda one: -search.tried[one]) if search.tried[one] > 0
        ]
        more = [one.entry for one in chosen]
        answered += _answered(target, more, judge_on, report)
        entries += more
    if diagnosis.scores:
        more = list(_further(further, report))
        answered += _answered(target, more, judge_on, report)
        entries += more
        tried += len(more)
    verdict = partial(judged, contexts=judge_on, people=human, draws=draws, rng=rng)
    tested = sum(one.kind != "people" for one in entries)
    found = [
        verdict(one.name, one.kind, one.description, replies=replies, scores=scores, tested=tested)
        for one, replies, scores in answered
    ]
    person = verdict(
        "people", "people", "what people said", replies=[context.human for context in judge_on], scores=human,
        tested=1,
    )  # fmt: skip
    report(f"judged: {len(found)} strategies on {len(judge_on)} contexts, {target.calls} calls in all")
    return Attack(
        diagnosis=diagnosis,
        people=person,
        strategies=tuple(
            sorted(found, key=lambda one: (not one.significant, np.inf if np.isnan(one.gain) else -one.gain))
        ),
        tendencies=tuple(_tendencies(answered, judge_on)),
        promising=tuple(promising),
        tried=tried,
        calls=target.calls,
        unsearched=unsearched,
        unjudged=len(entries) - len(found),
        errors=dict(target.errors.most_common(REASONS)),
    )


def _answered(
    target: Target, entries: Iterable[Entry], contexts: Sequence[Context], report: Callable[[str], None]
) -> list[Answered]:
    """As far as the budget, and the metric's answers, go."""
    found = []
    for one in entries:
        replies = [one.reply(context) for context in contexts]
        try:
            found.append(Answered(one, replies, target.scores(list(zip(contexts, replies, strict=True)))))
        except ENDED as error:
            report(f"it ends before `{one.name}` is judged: {error}")
            break
    return found


def _tendencies(answered: Sequence[Answered], contexts: Sequence[Context]) -> list[Tendency]:
    pairs = [pair for one in answered for pair in zip(contexts, one.replies, strict=True)]
    return tendencies(pairs, np.concatenate([one.scores for one in answered])) if answered else []


def _further(further: Callable[[], Sequence[Entry]], report: Callable[[str], None]) -> Sequence[Entry]:
    """What a tuned policy came to; nothing, where the metric stopped answering."""
    try:
        return further()
    except Hangs as error:
        report(f"it ends before a policy is tuned: {error}")
        return ()


def _shorter(search: Search, chosen: Sequence[Strategy], contexts: Sequence[Context]) -> list[Strategy]:
    """What was found and what remains of its best when every needless word is gone."""
    found = list(chosen)
    for one in chosen[:4]:
        try:
            found.append(shortened(search, one, contexts[:16]))
        except ENDED:
            break
    search.target.allow(None)
    return found


def _distinct(strategies: Iterable[Strategy]) -> list[Strategy]:
    return list({one.template: one for one in strategies}.values())
