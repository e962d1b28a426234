"""Why a study does not go on, and how many people to invite, as sentences for the administrator."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from math import ceil

from turnwise.web.crowd.places import places_left
from turnwise.web.study.ledger import Ledger, Rater
from turnwise.web.study.ratings import iso_time
from turnwise.web.study.recorder import Recorder

RECENT = 60 * 60.0  # seconds for which a failure of an agent is shown


def stalls(recorder: Recorder, ledger: Ledger) -> list[str]:
    """What keeps the study from going on; `ledger` has the stored events. Empty if nothing does."""
    return [*_storage(recorder), *_agents(ledger, recorder.clock()), *_people(ledger)]


def _storage(recorder: Recorder) -> Iterator[str]:
    """A full disk, a lost database, another server."""
    if recorder.write_error is not None:
        yield (
            f"Answers cannot be stored: {recorder.write_error}. Raters are told to wait; the server tries again every"
            " second and goes on by itself."
        )


def _agents(ledger: Ledger, now: float) -> Iterator[str]:
    """Agents that failed lately."""
    recent = [(at, agent, reason) for at, agent, reason in ledger.failures if now - at < RECENT]
    last = {agent: (at, reason) for at, agent, reason in recent}
    for agent, count in Counter(agent for _, agent, _ in recent).items():
        at, reason = last[agent]
        yield f"The agent {agent} failed {count} times in the last hour; last at {iso_time(at)}: {reason}"


def _people(ledger: Ledger) -> Iterator[str]:
    """Too few raters, a full quota, a study that is paused or closed."""
    study, missing = ledger.study, ledger.open_tasks.raters_missing
    if ledger.closed:
        why = f": {ledger.closed_because}" if ledger.closed_because else ""
        yield f"The study is closed{why}."
    if ledger.paused:
        yield "The study is paused."
    if not missing:
        return
    able = len(_able(ledger))
    if study.crowd is not None:
        if places_left(ledger) == 0:
            yield (
                f"All {study.crowd.quota} places are taken, and {missing} answers are not assigned to anybody. Raise"
                " the quota or per_rater if that stays so."
            )
        elif (short := _quota_lacks(ledger)) > 0:
            yield (
                f"The quota is too small: people who can still take part give at most {missing - short} of the"
                f" {missing} answers that are missing. Raise the quota or per_rater."
            )
        return
    if able < study.per_task:
        yield (
            f"Each task needs {study.per_task} raters, and there are {able} whose answers count: invite"
            f" {study.per_task - able} more."
        )
    elif (more := to_invite(ledger)) > 0:
        yield f"The raters who are there cannot do all tasks: invite {more} more."


def to_invite(ledger: Ledger) -> int:
    """How many further raters the unassigned answers need; 0 if those who are there can give them all."""
    study = ledger.study
    free = _free_answers(ledger)
    missing = ledger.open_tasks.raters_missing - free
    able = len(_able(ledger))
    if missing <= 0:
        return max(0, study.per_task - able) if ledger.open_tasks.raters_missing else 0
    each = study.per_rater or len(ledger.open_tasks.others)
    return max(ceil(missing / max(each, 1)), study.per_task - able)


def _quota_lacks(ledger: Ledger) -> int:
    """How many of the missing answers a crowd cannot give because of its quota; 0 without a quota."""
    left = places_left(ledger)
    if left is None:
        return 0
    each = ledger.study.per_rater or len(ledger.open_tasks.others)
    return max(0, ledger.open_tasks.raters_missing - _free_answers(ledger) - left * each)


def _free_answers(ledger: Ledger) -> int:
    """How many further tasks the raters who are there may take."""
    study, n_tasks = ledger.study, len(ledger.open_tasks.others)
    most = n_tasks if study.per_rater is None else study.per_rater
    return sum(
        max(0, most - rater.n_given.get("task", 0))
        for rater in _able(ledger)
        if rater.token and rater.completed_at is None
    )


def _able(ledger: Ledger) -> list[Rater]:
    """The raters whose answers count and who may go on."""
    return [
        rater
        for rater in ledger.raters.values()
        if rater.is_reliable and not rater.left and not rater.place_lost
    ]


def clock_time(at: float) -> str:
    """Seconds since 1970 as hours and minutes in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S UTC")
