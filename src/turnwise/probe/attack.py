"""The attack: diagnose, baselines, search, shorten, judge. Everything random comes from one generator."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from turnwise.probe.baselines import baselines
from turnwise.probe.context import Context
from turnwise.probe.diagnosis import Diagnosis, Tendency, diagnosed, tendencies
from turnwise.probe.search import Search, shortened
from turnwise.probe.strategy import Strategy
from turnwise.probe.target import Spent, Target
from turnwise.probe.verdict import Judged, judged
from turnwise.types import Floats

STAGES = ("baselines", "search", "rl")
FOUND = 16  # strategies that a search may bring to be judged
FURTHER = 2  # that a tuned policy may


class Entry(NamedTuple):
    """A strategy to be judged."""

    name: str
    kind: str
    description: str
    reply: Callable[[Context], str]


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
    rng: np.random.Generator,
    draws: int = 1000,
    stages: Sequence[str] = STAGES[:2],
    further: Callable[[], Sequence[Entry]] = tuple,
    report: Callable[[str], None] = lambda _: None,
) -> Attack:
    """`texts` is what fixed replies are mined from; `further` is asked for more strategies to judge, those of a
    tuned policy, and is not asked where the metric gives no reason to."""
    diagnosis = diagnosed(target, search_on)
    report(f"diagnosis: {target.calls} calls")
    pool = [context.human for context in [*search_on, *judge_on]]
    entries = [
        Entry(one.name, one.kind, one.description, one.reply)
        for one in baselines(pool, rng)
        if "baselines" in stages
    ]
    tried = len(entries)
    promising: list[str] = []
    judging = (len(entries) + FURTHER + FOUND + 1) * len(judge_on)
    unsearched = "search" in stages and target.budget - judging <= target.calls
    if "search" in stages and diagnosis.words is None and not unsearched:
        search = Search(target, search_on, rng, calls=target.budget - judging, report=report)
        chosen = _distinct(_shorter(search, search.run(texts), search_on))[:FOUND]
        tried += len(search.tried)
        promising = [
            one for one in sorted(search.tried, key=lambda one: -search.tried[one]) if search.tried[one] > 0
        ]
        entries += [Entry(one.template, one.kind, one.description, one.reply) for one in chosen]
    more = further() if diagnosis.words is None else ()
    entries += more
    tried += len(more)
    human = target.scores([(context, context.human) for context in judge_on])
    settings = {"contexts": judge_on, "people": human, "draws": draws, "rng": rng}
    found: list[Judged] = []
    asked: list[tuple[Context, str]] = []
    known: list[Floats] = []
    tested = sum(kind != "people" for _, kind, _, _ in entries)
    for name, kind, description, reply in entries:
        replies = [reply(context) for context in judge_on]
        pairs = list(zip(judge_on, replies, strict=True))
        try:
            scores = target.scores(pairs)
        except Spent:
            report(f"the budget ends before `{name}` is judged")
            break
        found.append(
            judged(name, kind, description, replies=replies, scores=scores, tested=tested, **settings)  # type: ignore[arg-type]
        )
        asked += pairs
        known.append(scores)
    person = judged(
        "people", "people", "what people said", replies=[context.human for context in judge_on], scores=human,
        tested=1, **settings,  # type: ignore[arg-type]
    )  # fmt: skip
    report(f"judged: {len(found)} strategies on {len(judge_on)} contexts, {target.calls} calls in all")
    return Attack(
        diagnosis=diagnosis,
        people=person,
        strategies=tuple(
            sorted(found, key=lambda one: (not one.significant, -one.gain if one.gain == one.gain else 0))
        ),
        tendencies=tuple(tendencies(asked, np.concatenate(known)) if known else ()),
        promising=tuple(promising),
        tried=tried,
        calls=target.calls,
        unsearched=unsearched,
    )


def _shorter(search: Search, chosen: Sequence[Strategy], contexts: Sequence[Context]) -> list[Strategy]:
    """What was found and what remains of its best when every needless word is gone."""
    found = list(chosen)
    for one in chosen[:4]:
        try:
            found.append(shortened(search, one, contexts[:16]))
        except Spent:
            break
    search.target.allow(None)
    return found


def _distinct(strategies: Iterable[Strategy]) -> list[Strategy]:
    return list({one.template: one for one in strategies}.values())
