"""Chooses the next task of a rater.

Each task goes to N raters. Agents are balanced within and between raters. No rater gets a task twice, except as a
repeat. Shared tasks, attention checks and repeats ("special" tasks) are mixed in at random: the probability of a
special task is the share of special tasks among those that the rater has ahead, which spreads them evenly. A task
that a rater has abandoned goes to others when the event `expired` says so (`crowd/places.py`). A rater who fails an
attention check, or whom the administrator distrusts, continues without being told, and others get the tasks too.
"""

from dataclasses import dataclass
from math import ceil

from turnwise.web.study.ledger import Ledger, Purpose, Rater, Slot
from turnwise.web.study.tasks import Task, shuffled, uniform

REPEAT_DISTANCE = 5  # number of tasks between a task and its repeat, if there are enough


@dataclass(frozen=True, slots=True)
class Assignment:
    """A task for a rater, its purpose, and whether the second of two replies is shown first."""

    task: Task
    purpose: Purpose
    flipped: bool


def next_task(ledger: Ledger, rater: Rater) -> Assignment | None:
    """The rater's next task, ordinary or special; None if there is none."""
    study, number = ledger.study, len(rater.slots) + 1
    mine = rater.n_given.get("task", 0)
    ordinary = None
    if study.per_rater is None or mine < study.per_rater:
        ordinary = ledger.open_tasks.choose(rater.groups_seen, rater.agents)
    special = _special(ledger, rater, late=ordinary is None)
    ordinary_ahead = _ordinary_ahead(ledger, mine) if ordinary else 0
    u = uniform(study.seed, rater.name, number, "special")
    purpose: Purpose = "task"
    task = ordinary
    if special and u < len(special) / (len(special) + ordinary_ahead):
        purpose, task = special[0]
    if task is None:
        return None
    flipped = study.compares and uniform(study.seed, rater.name, number, "flip") < 0.5
    return Assignment(task, purpose, flipped)


def tasks_ahead(ledger: Ledger, rater: Rater) -> int:
    """The approximate number of tasks, special ones included, that a rater has ahead."""
    mine = rater.n_given.get("task", 0)
    has_task = ledger.open_tasks.choose(rater.groups_seen, rater.agents) is not None
    return len(_special(ledger, rater, late=True)) + (_ordinary_ahead(ledger, mine) if has_task else 0)


def _ordinary_ahead(ledger: Ledger, mine: int) -> int:
    """The number of ordinary tasks ahead of a rater who has had `mine`: the rest of `per_rater`.

    Without that limit, the rest of a fair share of all answers that are wanted, at least 1.
    """
    study = ledger.study
    if study.per_rater is not None:
        return study.per_rater - mine
    fair = ceil(len(ledger.open_tasks.others) * study.per_task / max(len(ledger.raters), 1))
    return max(1, min(len(ledger.open_tasks.others), fair) - mine)


def _special(ledger: Ledger, rater: Rater, *, late: bool) -> list[tuple[Purpose, Task]]:
    """The shared tasks, checks and repeats that the rater has ahead, with their purposes, the next one first.

    `late` says that the rater has no ordinary task left; then a repeat may come earlier.
    """
    seed = ledger.study.seed
    shared: list[tuple[Purpose, Task]] = [
        ("shared", t) for t in ledger.open_tasks.shared if t.group not in rater.groups_seen
    ]
    checks: list[tuple[Purpose, Task]] = [
        ("check", t) for t in ledger.checks if t.group not in rater.groups_seen
    ]
    found = shuffled(shared + checks, seed, rater.name, key=lambda one: one[1].id)
    wanted = ledger.study.quality.repeats - rater.n_given.get("repeat", 0)
    if wanted > 0 and ledger.study.mode not in ("write", "chat"):
        at_end = late and not found  # no other task is left, so a repeat may come early
        found += [
            ("repeat", slot.task) for slot in _repeatable(rater, 1 if at_end else REPEAT_DISTANCE)[:wanted]
        ]
    return found


def _repeatable(rater: Rater, apart: int) -> list[Slot]:
    """The rater's slots, oldest first and without the last `apart`, of ordinary and shared tasks not repeated yet."""
    repeated = {slot.task.id for slot in rater.slots if slot.purpose == "repeat"}
    old = rater.slots[: max(0, len(rater.slots) - apart)]
    return [slot for slot in old if slot.purpose in ("task", "shared") and slot.task.id not in repeated]
