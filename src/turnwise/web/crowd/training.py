"""Practice tasks with known answers: made from dialogues whose ratings or preferences are the right answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from statistics import mean

from turnwise.errors import DataError
from turnwise.logs.foreign import read_all
from turnwise.logs.items.items import Selection
from turnwise.types import Dialogue, Item
from turnwise.web.crowd.entry import Training
from turnwise.web.study.definition import Study
from turnwise.web.study.ledger import Ledger, Rater, Slot
from turnwise.web.study.tasks import Task, make_tasks

FEEDBACK = "feedback"  # key of `meta` that says why the answer is right
_CHOICES = {"this": 1.0, "tie": 0.5, "other": 0.0}


def training_tasks(study: Study) -> tuple[Task, ...]:
    """The practice tasks of a study in the order of their file; empty if it has no training.

    Raises `DataError` for a dialogue without a right answer to every question.
    """
    if study.training is None:
        return ()
    dialogues = list(read_all([study.training.data], command="rate"))
    by_id = {one.id: one for one in dialogues}
    tasks = [
        replace(
            task,
            id=f"training-{number}",
            group=f"training-{number}",
            expected=_expected(study, task, by_id),
            feedback=str(task.items[0].meta.get(FEEDBACK, "")),
        )
        for number, task in enumerate(make_tasks(study, dialogues, Selection()), 1)
    ]
    if not tasks:
        raise DataError(f"{study.training.data}: has nothing to practise on")
    return tuple(tasks)


def _expected(study: Study, task: Task, dialogues: Mapping[str, Dialogue]) -> dict[str, float]:
    """The right answer to every question, from the ratings or preferences of the data."""
    found: dict[str, list[float]] = {question.name: [] for question in study.questions}
    if study.mode == "pairwise":
        a, b = task.items
        for item, other, of_first in ((a, b, True), (b, a, False)):
            for name, value in _preferences(item, other, dialogues):
                found.setdefault(name, []).append(value if of_first else 1 - value)
    else:
        for rating in task.items[0].ratings:
            found.setdefault(rating.dimension, []).append(rating.value)
    for question in study.questions:
        if not found[question.name]:
            raise DataError(
                f"the practice dialogue {task.items[0].dialogue!r} has no {question.name!r}: every question of the"
                " study needs a right answer, as a rating or a preference"
            )
    return {question.name: mean(found[question.name]) for question in study.questions}


def _preferences(item: Item, other: Item, dialogues: Mapping[str, Dialogue]) -> list[tuple[str, float]]:
    """The question and the choice (1: for `item`) of each preference of `item` over `other`."""
    return [
        (one.dimension, _CHOICES[one.winner])
        for one in dialogues[item.dialogue].preferences
        if one.other == other.dialogue and one.turn == item.turn
    ]


def is_right(training: Training, slot: Slot) -> bool:
    """Whether a practice task was answered rightly: every answer is within the tolerance."""
    answer = slot.answer
    return answer is not None and all(
        abs(answer.values[name] - value) <= training.within + 1e-9
        for name, value in slot.task.expected.items()
    )


def needed(training: Training, total: int) -> int:
    """How many of `total` practice tasks must be right."""
    return ceil(training.pass_mark * total - 1e-9)


def next_practice(ledger: Ledger, rater: Rater) -> Task | None:
    """The rater's next practice task; None if there is no training, it is passed, or it is over."""
    if not ledger.training or rater.trained or rater.left:
        return None
    return ledger.training[rater.n_training % len(ledger.training)]


def round_result(ledger: Ledger, rater: Rater) -> dict[str, object] | None:
    """The body of the event `trained` if the rater has just finished a round; None otherwise."""
    training, total = ledger.study.training, len(ledger.training)
    answered: Sequence[Slot] = [slot for slot in rater.slots if slot.purpose == "training" and slot.answers]
    if training is None or len(answered) != total * (len(rater.rounds) + 1):
        return None
    right = sum(is_right(training, slot) for slot in answered[-total:])
    passed = right >= needed(training, total)
    return {"right": right, "total": total, "passed": passed, "last": len(rater.rounds) + 1 >= training.tries}
