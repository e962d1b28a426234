"""Attention checks: tasks that look like the others and say in words what to answer.

They are told in the reply itself, where only somebody who reads will find them. A check asks for the lowest or
the highest answer, so that one sentence fits every scale.
"""

from dataclasses import replace

from turnwise.types import Turn
from turnwise.web.study.chance import ordered
from turnwise.web.study.definition import Study
from turnwise.web.study.tasks import Task

_ASKED = "This line checks that people read what they judge. Please give the {end} answer to every question."
_CHOSEN = "This line checks that people read what they judge. Please choose this one as the better one."
_WORDS = ("green apple tree", "seven grey boats", "warm paper lantern", "small copper bell")


def checks(study: Study, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """The attention checks of a study; a live conversation has none."""
    if study.mode == "chat" or not tasks:
        return ()
    bases = ordered(tasks, study.seed, "check", key=lambda task: task.id)
    return tuple(_check(study, bases[k % len(bases)], k) for k in range(study.quality.checks))


def _check(study: Study, base: Task, number: int) -> Task:
    high = number % 2 == 1
    check = replace(base, id=f"check-{number + 1}", agents=(), group=f"check-{number + 1}", items=())
    if study.mode == "write":
        words = _WORDS[number % len(_WORDS)]
        asked = f"This line checks that people read. Please reply with these three words only: {words}"
        return replace(check, context=(*base.context[:-1], Turn("user", asked)), password=words)
    if study.mode == "pairwise":
        a, b = base.replies
        told = Turn("assistant", _CHOSEN)
        replies = (
            ((*a[:-1][:1], told), b) if high else (a, (*b[:-1][:1], told))
        )  # a talk keeps its first line
        return replace(check, replies=replies, expected={q.name: float(high) for q in study.questions})
    expected = {q.name: q.scale[1 if high else 0] for q in study.questions}
    told = Turn("assistant", _ASKED.format(end="highest" if high else "lowest"))
    if study.mode == "dialogue":
        return replace(check, context=(*base.context[:2], told), expected=expected)
    return replace(check, replies=((told,),), expected=expected)
