"""How a study stands while it runs: who can be believed, how far people agree, what is done."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from statistics import median

from turnwise.ratings import Agreement, RaterReport, Screened, agreement, screen
from turnwise.types import Rating
from turnwise.web.study.judgements import CHECK, judgements
from turnwise.web.study.ledger import Ledger, Rater


@dataclass(frozen=True, slots=True)
class RaterRow:
    rater: Rater
    answers: int
    checks: int  # attention checks answered
    failed: int
    seconds: float  # median a task; NaN before the first answer
    consistency: float  # share of repeats answered as the first time; NaN without repeats
    report: RaterReport | None  # of the screening; None before there is anything to screen

    @property
    def flagged(self) -> bool:
        return self.report is not None and self.report.dropped


@dataclass(frozen=True, slots=True)
class Standing:
    answered: int  # tasks that count towards what is wanted
    wanted: int
    agreement: tuple[Agreement, ...]  # of the raters who are not set apart, a row a question
    raters: tuple[RaterRow, ...]
    agents: dict[str, int]  # answers by agent, or by pair of agents


def standing(ledger: Ledger) -> Standing:
    ratings = judgements(ledger)
    screened = screened_of(ledger, ratings)
    reports = {report.rater: report for report in screened.raters} if screened else {}
    rows = tuple(_row(rater, reports.get(rater.name)) for rater in ledger.raters.values())
    dropped = {row.rater.name for row in rows if row.flagged}
    kept = [r for r in ratings if CHECK not in r.extra and r.rater not in dropped]
    clusters = {task.id: task.cluster for task in ledger.tasks.values()}
    relied = [rater for rater in ledger.raters.values() if rater.relied]
    counted = [
        slot for one in relied for slot in one.slots if slot.answer and slot.purpose in ("task", "shared")
    ]
    return Standing(
        answered=len(counted),
        wanted=len(counted) + _ahead(ledger, relied),
        agreement=agreement(kept, stable_raters=True, clusters=clusters, intervals=False) if kept else (),
        raters=rows,
        agents=dict(sorted(Counter(" / ".join(slot.task.agents) for slot in counted).items())),
    )


def screened_of(ledger: Ledger, ratings: Sequence[Rating]) -> Screened | None:
    """The raters screened on the first question; None before there is a rating."""
    if not ratings:
        return None
    quality = ledger.study.quality
    asked = {rating.dimension for rating in ratings}
    first = next((q.name for q in ledger.study.questions if q.name in asked), ratings[0].dimension)
    return screen(ratings, first, stable_raters=True, kappa=quality.kappa, min_shared=quality.min_shared)


def _row(rater: Rater, report: RaterReport | None) -> RaterRow:
    times = [slot.seconds for slot in rater.slots if slot.seconds is not None]
    first = {slot.task.id: slot.answer for slot in rater.slots if slot.purpose in ("task", "shared")}
    pairs = [(first[s.task.id], s.answer) for s in rater.slots if s.purpose == "repeat" and s.answer]
    same = [a is not None and a.values[name] == b.values[name] for a, b in pairs for name in b.values]
    checked = [slot.failed for slot in rater.slots if slot.purpose == "check" and slot.answer]
    return RaterRow(
        rater=rater,
        answers=sum(slot.answer is not None for slot in rater.slots),
        checks=len(checked),
        failed=sum(checked),
        seconds=median(times) if times else nan,
        consistency=sum(same) / len(same) if same else nan,
        report=report,
    )


def _ahead(ledger: Ledger, relied: Sequence[Rater]) -> int:
    """Answers that are still wanted: places to give, places given and not answered, and shared tasks."""
    held = sum(rater.current is not None and rater.current.purpose == "task" for rater in relied)
    had = sum(
        slot.purpose == "shared" and slot.answer is not None for rater in relied for slot in rater.slots
    )
    return ledger.pool.left + held + len(ledger.pool.shared) * len(relied) - had
