"""Who is asked what next.

Each task goes to N raters, agents are balanced within and between raters, nobody meets a task twice except in a
repeat. Shared tasks, checks and repeats are mixed in by chance: at each step the chance of a special task is its
share of what the rater has before them, so they are spread evenly however long the session turns out to be.
A task that somebody took and left lying is given to another after a while; both may then answer it. Whoever fails
an attention check, or is doubted by the administrator, goes on without knowing, and their places go to others.
"""

from collections import Counter
from dataclasses import dataclass
from math import ceil

from turnwise.web.study.chance import draw, ordered
from turnwise.web.study.ledger import Ledger, Purpose, Rater, Slot
from turnwise.web.study.tasks import Task

LEASE = 30 * 60.0  # seconds after which a task that was not answered is given to another rater
APART = 5  # tasks that lie between a task and its repeat, where there are so many


@dataclass(frozen=True, slots=True)
class Given:
    task: Task
    purpose: Purpose
    flipped: bool


def following(ledger: Ledger, rater: Rater, *, now: float) -> Given | None:
    """The rater's next task; None when there is none for them."""
    study, number = ledger.study, len(rater.slots) + 1
    mine = sum(slot.purpose == "task" for slot in rater.slots)
    ordinary = None
    if study.per_rater is None or mine < study.per_rater:
        ordinary = ledger.pool.pick(rater.met, rater.agents) or _left_lying(ledger, rater, now)
    special = _special(ledger, rater, late=ordinary is None)
    ahead = _share(ledger, mine) if ordinary else 0
    chance = draw(study.seed, rater.name, number, "special")
    purpose: Purpose = "task"
    task = ordinary
    if special and chance < len(special) / (len(special) + ahead):
        purpose, task = special[0]
    if task is None:
        return None
    flipped = len(task.replies) == 2 and draw(study.seed, rater.name, number, "flip") < 0.5
    return Given(task, purpose, flipped)


def ahead(ledger: Ledger, rater: Rater) -> int:
    """About how many tasks a rater still has before them."""
    mine = sum(slot.purpose == "task" for slot in rater.slots)
    there = ledger.pool.pick(rater.met, rater.agents) is not None
    return len(_special(ledger, rater, late=True)) + (_share(ledger, mine) if there else 0)


def _share(ledger: Ledger, mine: int) -> int:
    """How many ordinary tasks a rater has ahead, all raters taking the same number."""
    study = ledger.study
    if study.per_rater is not None:
        return study.per_rater - mine
    fair = ceil(len(ledger.pool.others) * study.per_task / max(len(ledger.raters), 1))
    return max(1, min(len(ledger.pool.others), fair) - mine)


def _special(ledger: Ledger, rater: Rater, *, late: bool) -> list[tuple[Purpose, Task]]:
    """The shared tasks, checks and repeats that the rater has ahead, the next one first."""
    seed = ledger.study.seed
    shared: list[tuple[Purpose, Task]] = [
        ("shared", t) for t in ledger.pool.shared if t.group not in rater.met
    ]
    checks: list[tuple[Purpose, Task]] = [("check", t) for t in ledger.checks if t.group not in rater.met]
    found = ordered(shared + checks, seed, rater.name, key=lambda one: one[1].id)
    wanted = ledger.study.quality.repeats - sum(slot.purpose == "repeat" for slot in rater.slots)
    if wanted > 0 and ledger.study.mode not in ("write", "chat"):
        over = late and not found  # the session ends here, so a repeat may come early
        found += [("repeat", slot.task) for slot in _repeatable(rater, 1 if over else APART)[:wanted]]
    return found


def _repeatable(rater: Rater, apart: int) -> list[Slot]:
    again = {slot.task.id for slot in rater.slots if slot.purpose == "repeat"}
    old = rater.slots[: max(0, len(rater.slots) - apart)]
    return [slot for slot in old if slot.purpose in ("task", "shared") and slot.task.id not in again]


def _left_lying(ledger: Ledger, rater: Rater, now: float) -> Task | None:
    """A task that wants somebody else, because so many who took it have gone."""
    gone: Counter[str] = Counter()
    for other in ledger.raters.values():
        slot = other.current
        if slot and slot.purpose == "task" and other.relied and now - max(slot.at, other.seen_at) > LEASE:
            gone[slot.task.id] += 1
    left = ((ledger.tasks[name], count) for name, count in gone.items())
    return next(
        (t for t, count in left if t.group not in rater.met and ledger.pool.wants(t, without=count)), None
    )
