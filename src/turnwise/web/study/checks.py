"""Attention checks: tasks that look like the others, but whose reply tells the rater which answer to give.

Only a rater who reads the reply finds the instruction. A check asks for the lowest or the highest answer, so that
one sentence fits every scale. The texts are those of the study's language. They are part of the identity of a study:
changing them would lock existing stores.
"""

from dataclasses import replace

from turnwise.types import Turn
from turnwise.web.study.definition import Study
from turnwise.web.study.messages import texts
from turnwise.web.study.tasks import Task, shuffled

N_WORDS = 4  # different words that checks ask for in the mode `write`


def attention_checks(study: Study, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """The attention checks of a study, made from random tasks; none in the mode `chat` or without tasks."""
    if study.mode == "chat" or not tasks:
        return ()
    bases = shuffled(tasks, study.seed, "check", key=lambda task: task.id)
    return tuple(_check(study, bases[k % len(bases)], k) for k in range(study.quality.checks))


def _check(study: Study, base: Task, number: int) -> Task:
    """The attention check with this number (from 0), made from `base`; it belongs to no agent and no item.

    Odd numbers ask for the highest answer (of a pair: for the first reply), even ones for the lowest (the second). In
    the mode `write` every check asks for three words.
    """
    high = number % 2 == 1
    t = texts(study.language)
    check = replace(base, id=f"check-{number + 1}", agents=(), group=f"check-{number + 1}", items=())
    if study.mode == "write":
        words = t[f"check.words_{number % N_WORDS + 1}"]
        asked = t.fill("check.write", words=words)
        return replace(check, context=(*base.context[:-1], Turn("user", asked)), password=words.casefold())
    if study.mode == "pairwise":
        a, b = base.replies
        instruction = Turn("assistant", t["check.choose"])
        # A whole dialogue keeps its first turn.
        replies = ((*a[:-1][:1], instruction), b) if high else (a, (*b[:-1][:1], instruction))
        return replace(check, replies=replies, expected={q.name: float(high) for q in study.questions})
    expected = {q.name: q.scale[1 if high else 0] for q in study.questions}
    instruction = Turn("assistant", t["check.give_high" if high else "check.give_low"])
    if study.mode == "dialogue":
        return replace(check, context=(*base.context[:2], instruction), expected=expected)
    return replace(check, replies=((instruction,),), expected=expected)
