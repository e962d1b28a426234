"""The attack on a metric: diagnosis, baselines, search, shortening and the final test on held-out contexts.

All random choices come from one generator.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from turnwise.attacks.baselines import VERDICTS, baselines
from turnwise.attacks.context import Context, with_rare_words
from turnwise.attacks.diagnosis import Diagnosis, Tendency, diagnose, tendencies
from turnwise.attacks.injections import planted_verdicts
from turnwise.attacks.search import Search, shorten
from turnwise.attacks.strategy import Candidate, Strategy
from turnwise.attacks.target import ENDED, Hangs, Target
from turnwise.attacks.verdict import TestedStrategy, measure_strategy
from turnwise.types import Floats

STAGES = ("baselines", "search", "samples", "rl")
MAX_FOUND = 16  # strategies of a search that are tested
MIN_SEARCH_CALLS = (
    500  # below which an attack gives no verdict; a convention: a good search takes some thousand calls
)
MAX_FURTHER = 6  # candidates of a language model, sampled or tuned, that are tested
MAX_REASONS = 20  # distinct reasons for missing scores that are reported


class ScoredReplies(NamedTuple):
    """A candidate, its reply in each held-out context, and their scores (NaN where the metric gave none)."""

    candidate: Candidate
    replies: list[str]
    scores: Floats


@dataclass(frozen=True, slots=True)
class Attack:
    """The result of an attack.

    `strategies` has significant frauds first, then by falling gain, and includes the control. `promising` are the
    templates with a gain in the search, best first; `errors` maps the reason for a missing score to the number of
    replies.
    """

    diagnosis: Diagnosis
    people: TestedStrategy  # people's own replies
    strategies: tuple[TestedStrategy, ...]  # frauds first, then by falling gain; includes controls
    tendencies: tuple[Tendency, ...]
    promising: tuple[str, ...]  # templates that scored above people in the search, best first
    tried: int  # strategies scored at least once
    calls: int  # metric calls
    unsearched: bool  # the search had fewer than `MIN_SEARCH_CALLS` calls
    untested: int  # strategies not tested because the budget ended or the metric stopped responding
    errors: dict[str, int]  # reason for a missing score -> number of replies, most frequent first

    @property
    def worst(self) -> TestedStrategy | None:
        """The significant fraud with the largest gain; None if there is no significant one."""
        return next((one for one in self.strategies if one.significant), None)

    @property
    def gameable(self) -> bool:
        """Whether a fraud has a significant gain."""
        return self.worst is not None


def attack(
    target: Target,
    search_on: Sequence[Context],
    test_on: Sequence[Context],
    *,
    texts: Iterable[str],
    verdicts: Sequence[float] = VERDICTS,
    rng: np.random.Generator,
    draws: int = 1000,
    stages: Sequence[str] = STAGES[:2],
    planted: bool = False,
    further: Callable[[], Sequence[Candidate]] = tuple,
    report: Callable[[str], None] = lambda _: None,
) -> Attack:
    """Search for strategies on `search_on` and test them against people on `test_on`.

    Fixed replies are mined from `texts`. `verdicts` are the highest scores of a judge, for prompt injections; with
    `planted` they are also planted in results of tools and in system prompts. `draws` counts bootstrap draws.
    `further` returns more candidates to test, those of a language model. `report` gets lines on the progress. If the
    metric scores none of people's replies, nothing is tested: there is nothing to compare with. Raises `BudgetSpent`
    or `Hangs` if the diagnosis cannot be finished.
    """
    search_on, test_on = with_rare_words(search_on, search_on), with_rare_words(search_on, test_on)
    diagnosis = diagnose(target, search_on)
    human = target.scores([(context, context.human) for context in test_on])
    report(f"diagnosis: {target.calls} calls")
    pool = [context.human for context in [*search_on, *test_on]]
    wanted = "baselines" in stages and diagnosis.scores
    candidates = list(baselines(pool, rng, verdicts)) if wanted else []
    if planted and candidates:
        candidates += planted_verdicts(verdicts)
    scored = _score_candidates(
        target, candidates, test_on, report
    )  # before the search, so that they are always tested
    tried = len(candidates)
    promising: list[str] = []
    further_ones = MAX_FURTHER if {"samples", "rl"} & set(stages) else 0
    reserved = (MAX_FOUND + further_ones) * len(test_on)  # calls for the final test
    left = target.budget - reserved - target.calls
    unsearched = "search" in stages and left < MIN_SEARCH_CALLS
    if "search" in stages and diagnosis.scores and left > 0:
        search = Search(target, search_on, rng, calls=target.budget - reserved, report=report)
        chosen = _distinct(_with_shortened(search, search.run(texts), search_on))
        tried += len(search.tried) + len(search.mixed)
        promising = [
            one for one in sorted(search.tried, key=lambda one: -search.tried[one]) if search.tried[one] > 0
        ]
        more = [*(one.candidate for one in search.mixed), *(one.candidate for one in chosen)][:MAX_FOUND]
        scored += _score_candidates(target, more, test_on, report)
        candidates += more
    if diagnosis.scores:
        more = list(_further_candidates(further, report))
        scored += _score_candidates(target, more, test_on, report)
        candidates += more
        tried += len(more)
    verdict = partial(measure_strategy, contexts=test_on, people=human, draws=draws, rng=rng)
    tested = sum(one.kind != "people" for one in candidates)
    found = [
        verdict(one.name, one.kind, one.description, replies=replies, scores=scores, tested=tested)
        for one, replies, scores in scored
    ]
    person = verdict(
        "people", "people", "what people said", replies=[context.human for context in test_on], scores=human,
        tested=1,
    )  # fmt: skip
    report(f"tested: {len(found)} strategies on {len(test_on)} contexts, {target.calls} calls in all")
    return Attack(
        diagnosis=diagnosis,
        people=person,
        strategies=tuple(
            sorted(found, key=lambda one: (not one.significant, np.inf if np.isnan(one.gain) else -one.gain))
        ),
        tendencies=tuple(_tendencies(scored, test_on)),
        promising=tuple(promising),
        tried=tried,
        calls=target.calls,
        unsearched=unsearched,
        untested=len(candidates) - len(found),
        errors=dict(target.errors.most_common(MAX_REASONS)),
    )


def _score_candidates(
    target: Target,
    candidates: Iterable[Candidate],
    contexts: Sequence[Context],
    report: Callable[[str], None],
) -> list[ScoredReplies]:
    """The replies and scores of the candidates in order, up to the one at which the budget ends or the metric hangs."""
    found = []
    replies_of = [(one, [one.reply(context) for context in contexts]) for one in candidates]
    pairs_of = [list(zip(map(one.context, contexts), replies, strict=True)) for one, replies in replies_of]
    target.score_ahead([pair for pairs in pairs_of for pair in pairs])
    for (one, replies), pairs in zip(replies_of, pairs_of, strict=True):
        try:
            found.append(ScoredReplies(one, replies, target.scores(pairs)))
        except ENDED as error:
            report(f"stopped before testing `{one.name}`: {error}")
            break
    return found


def _tendencies(scored: Sequence[ScoredReplies], contexts: Sequence[Context]) -> list[Tendency]:
    """Tendencies over the replies of all tested candidates, strongest first; empty with fewer than ten scores."""
    pairs = [pair for one in scored for pair in zip(contexts, one.replies, strict=True)]
    return tendencies(pairs, np.concatenate([one.scores for one in scored])) if scored else []


def _further_candidates(
    further: Callable[[], Sequence[Candidate]], report: Callable[[str], None]
) -> Sequence[Candidate]:
    """The candidates that `further` returns, those of a language model; none if the metric stops responding."""
    try:
        return further()
    except Hangs as error:
        report(f"stopped before a policy was tuned: {error}")
        return ()


def _with_shortened(
    search: Search, chosen: Sequence[Strategy], contexts: Sequence[Context]
) -> list[Strategy]:
    """The strategies found, followed by shortened versions of the first four.

    Shortening uses the first 16 contexts and ends early when the calls of the search are used up. Afterwards the target
    may use its whole budget again.
    """
    found = list(chosen)
    for one in chosen[:4]:
        try:
            found.append(shorten(search, one, contexts[:16]))
        except ENDED:
            break
    search.target.allow(None)
    return found


def _distinct(strategies: Iterable[Strategy]) -> list[Strategy]:
    """The strategies without those whose template occurred before, in order."""
    return list({one.template: one for one in strategies}.values())
