"""The status of a running study for the admin page: progress, agreement, and the reliability of raters."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from statistics import median

from turnwise.ratings import Agreement, RaterReport, agreement
from turnwise.web.study.export import screened_ratings
from turnwise.web.study.ledger import Ledger, Rater
from turnwise.web.study.ratings import CHECK, collected_ratings, screen_raters

HASTY = 1.0  # seconds a task, below which nobody has read it
FEWEST_TIMES = 5  # answers from which the median time says something


@dataclass(frozen=True, slots=True)
class RaterRow:
    """The figures of one rater: answers, checks, time, consistency on repeated tasks, and the screening's report."""

    rater: Rater
    answers: int
    checks: int  # attention checks answered
    failed: int  # attention checks failed
    seconds: float  # median time per task; NaN before the first answer
    consistency: float  # share of equal answers to repeated tasks; NaN without repeats
    report: RaterReport | None  # report of the screening; None before the first rating

    @property
    def hasty(self) -> bool:
        """Whether the rater answers faster than anybody reads."""
        return self.answers >= FEWEST_TIMES and self.seconds < HASTY

    @property
    def flagged(self) -> bool:
        """Whether the screening sets the rater apart."""
        return self.report is not None and self.report.dropped


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """Answers so far and in sum, agreement by question, a row for each rater, and answers by agent."""

    answered: int  # answers that count
    wanted: int  # answers that the study needs in sum
    agreement: tuple[Agreement, ...]  # agreement of the raters who are not set apart, one per question
    raters: tuple[RaterRow, ...]
    agents: dict[str, int]  # answers by agent, or by pair of agents
    apart: dict[str, int]  # why ratings are set apart in the export -> their number


def study_status(ledger: Ledger) -> StudyStatus:
    """Compute the status of a study; agreement is without attention checks and raters who are set apart."""
    ratings = collected_ratings(ledger)
    screened = screen_raters(ledger, ratings)
    reasons = Counter(why for rating, why in screened_ratings(ledger) if why and CHECK not in rating.extra)
    reports = {report.rater: report for report in screened.raters} if screened else {}
    rows = tuple(_rater_row(rater, reports.get(rater.name)) for rater in ledger.raters.values())
    dropped = {row.rater.name for row in rows if row.flagged}
    kept = [r for r in ratings if CHECK not in r.extra and r.rater not in dropped]
    clusters = {task.id: task.cluster for task in ledger.tasks.values()}
    relied = [rater for rater in ledger.raters.values() if rater.is_reliable]
    counted = [
        slot for one in relied for slot in one.slots if slot.answer and slot.purpose in ("task", "shared")
    ]
    return StudyStatus(
        answered=len(counted),
        wanted=len(counted) + _answers_missing(ledger, relied),
        agreement=agreement(kept, stable_raters=True, clusters=clusters, intervals=False) if kept else (),
        raters=rows,
        apart=dict(reasons.most_common()),
        agents=dict(sorted(Counter(" / ".join(slot.task.agents) for slot in counted).items())),
    )


def _rater_row(rater: Rater, report: RaterReport | None) -> RaterRow:
    """The figures of one rater; `report` is that of the screening."""
    slots = [slot for slot in rater.slots if slot.purpose != "training"]
    times = [slot.seconds for slot in slots if slot.seconds is not None]
    first = {slot.task.id: slot.answer for slot in rater.slots if slot.purpose in ("task", "shared")}
    pairs = [(first[s.task.id], s.answer) for s in rater.slots if s.purpose == "repeat" and s.answer]
    same = [a is not None and a.values[name] == b.values[name] for a, b in pairs for name in b.values]
    checked = [slot.failed for slot in rater.slots if slot.purpose == "check" and slot.answer]
    return RaterRow(
        rater=rater,
        answers=sum(slot.answer is not None for slot in slots),
        checks=len(checked),
        failed=sum(checked),
        seconds=median(times) if times else nan,
        consistency=sum(same) / len(same) if same else nan,
        report=report,
    )


def _answers_missing(ledger: Ledger, relied: Sequence[Rater]) -> int:
    """The number of answers that the study still needs from reliable raters `relied`.

    Raters that open tasks lack, tasks given but not answered, and shared tasks that a rater has not answered.
    """
    unanswered = sum(
        slot is not None and slot.purpose == "task" and not slot.expired
        for slot in (r.current for r in relied)
    )
    shared_answers = sum(
        slot.purpose == "shared" and slot.answer is not None for rater in relied for slot in rater.slots
    )
    return (
        ledger.open_tasks.raters_missing
        + unanswered
        + len(ledger.open_tasks.shared) * sum(not rater.left and not rater.place_lost for rater in relied)
        - shared_answers
    )
