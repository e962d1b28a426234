"""What the events add up to: who was given what, what they answered and said, and what is still open.

The ledger is a fold of the log and of nothing else, so a server that starts again knows what the last one knew.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from turnwise.types import Reply, Turn
from turnwise.web.storage.events import Event
from turnwise.web.study.checks import checks
from turnwise.web.study.definition import Study
from turnwise.web.study.pool import Pool
from turnwise.web.study.tasks import Task

Purpose = Literal["task", "shared", "check", "repeat"]


@dataclass(frozen=True, slots=True)
class Answer:
    at: float
    values: Mapping[str, float]  # dimension -> value
    text: str = ""  # what was written
    understood: bool = True
    held: bool = False  # whether what was written is kept back


@dataclass(slots=True)
class Slot:
    """One task before one rater."""

    number: int  # 1, 2, ... of the rater
    task: Task
    purpose: Purpose
    flipped: bool  # whether the second reply of a pair is shown first
    at: float
    answers: list[Answer] = field(default_factory=list)  # the last one counts, the others are history
    turns: list[Turn] = field(default_factory=list)  # of a live conversation
    said_at: list[float] = field(default_factory=list)
    ended: bool = False  # the conversation
    failure: str = ""  # why the agent has not answered
    waiting: bool = False  # for the agent; not an event, as no server survives its own waiting

    @property
    def answer(self) -> Answer | None:
        return self.answers[-1] if self.answers else None

    @property
    def unheard(self) -> bool:
        """Whether the agent owes an answer and is not at it: it failed, or the server stopped meanwhile."""
        owes = bool(self.failure) or bool(self.said_at and self.turns[-1].role == "user")
        return owes and not (self.waiting or self.ended)

    @property
    def failed(self) -> bool:
        """Whether this is an attention check that was not answered as it asks."""
        answer = self.answer
        if self.purpose != "check" or answer is None:
            return False
        differs = any(answer.values.get(name) != value for name, value in self.task.expected.items())
        return differs or self.task.password not in answer.text.casefold()

    @property
    def held(self) -> bool:
        """Whether what was written here waits for a look."""
        return self.answer is not None and self.answer.held

    @property
    def seconds(self) -> float | None:
        """From when it was given to the first answer."""
        return self.answers[0].at - self.at if self.answers else None


@dataclass(slots=True)
class Rater:
    name: str
    token: str
    slots: list[Slot] = field(default_factory=list)
    met: set[str] = field(default_factory=set)  # groups of tasks
    agents: dict[tuple[str, ...], int] = field(default_factory=dict)  # how often each was judged
    careless: bool = False  # whether an attention check was failed
    doubted: bool = False  # whether the administrator gave their places to others
    seen_at: float = 0.0

    @property
    def relied(self) -> bool:
        """Whether what they judge counts towards the raters that a task wants."""
        return not (self.careless or self.doubted)

    @property
    def current(self) -> Slot | None:
        """What is still to be answered."""
        return self.slots[-1] if self.slots and self.slots[-1].answer is None else None

    @property
    def done(self) -> int:
        return len(self.slots) - (self.current is not None)


class Ledger:
    def __init__(self, study: Study, tasks: tuple[Task, ...]) -> None:
        self.study = study
        self._tasks = tasks
        self.checks = checks(study, tasks)
        self.pool = Pool(study, tasks)
        self.tasks = {task.id: task for task in (*tasks, *self.checks)}
        self.raters: dict[str, Rater] = {}
        self.by_token: dict[str, Rater] = {}
        self.head: Mapping[str, Any] = {}  # the body of the study event
        self.closed = False
        self.seq = 0
        self._apply: Mapping[str, Callable[[Event], None]] = {
            "study": self._study,
            "rater": self._rater,
            "given": self._given,
            "said": self._said,
            "failed": self._failed,
            "ended": self._ended,
            "answered": self._answered,
            "held": self._moderated,
            "released": self._moderated,
            "doubted": self._doubted,
            "trusted": self._doubted,
            "closed": self._gate,
            "opened": self._gate,
        }

    def blank(self) -> "Ledger":
        """The same study before anything happened."""
        return Ledger(self.study, self._tasks)

    def apply(self, event: Event) -> None:
        self.seq = event.seq
        self._apply[event.kind](event)
        if event.rater in self.raters and event.kind in ("given", "said", "answered"):
            self.raters[event.rater].seen_at = event.at

    @property
    def slots(self) -> Iterable[tuple[Rater, Slot]]:
        return ((rater, slot) for rater in self.raters.values() for slot in rater.slots)

    def _slot(self, event: Event) -> Slot:
        number: int = event.body["slot"]
        return self.raters[event.rater].slots[number - 1]

    def _study(self, event: Event) -> None:
        self.head = event.body

    def _rater(self, event: Event) -> None:
        rater = Rater(event.rater, event.body["token"])
        self.raters[rater.name] = self.by_token[rater.token] = rater

    def _given(self, event: Event) -> None:
        rater = self.raters[event.rater]
        task = self.tasks[event.body["task"]]
        purpose: Purpose = event.body["purpose"]
        slot = Slot(len(rater.slots) + 1, task, purpose, event.body["flipped"], event.at)
        if self.study.mode == "chat":
            slot.turns = list(task.context)
        rater.slots.append(slot)
        rater.met.add(task.group)
        if purpose in ("task", "shared"):
            rater.agents[task.agents] = rater.agents.get(task.agents, 0) + 1
        if purpose == "task" and rater.relied:
            self.pool.take(task)

    def _said(self, event: Event) -> None:
        slot, body = self._slot(event), event.body
        reply = Reply(body["content"], body.get("outcome"))
        slot.turns.append(Turn(body["role"], reply.content, outcome=reply.outcome))
        slot.said_at.append(event.at)
        slot.failure = ""

    def _failed(self, event: Event) -> None:
        self._slot(event).failure = event.body["reason"]

    def _ended(self, event: Event) -> None:
        self._slot(event).ended = True

    def _answered(self, event: Event) -> None:
        rater, slot, body = self.raters[event.rater], self._slot(event), event.body
        slot.answers.append(
            Answer(
                event.at,
                body["values"],
                body.get("text", ""),
                body.get("understood", True),
                body.get("held", False),
            )
        )
        if slot.purpose == "check":
            careless = any(one.failed for one in rater.slots)
            self._rely(rater, careless=careless, doubted=rater.doubted)

    def _doubted(self, event: Event) -> None:
        rater = self.raters[event.rater]
        self._rely(rater, careless=rater.careless, doubted=event.kind == "doubted")

    def _rely(self, rater: Rater, *, careless: bool, doubted: bool) -> None:
        """The places of somebody who is not relied on are given to others; whoever is again has them again."""
        before = rater.relied
        rater.careless, rater.doubted = careless, doubted
        if rater.relied != before:
            for slot in rater.slots:
                if slot.purpose == "task":
                    (self.pool.take if rater.relied else self.pool.release)(slot.task)

    def _moderated(self, event: Event) -> None:
        slot = self._slot(event)
        last = slot.answers[-1]
        slot.answers[-1] = Answer(last.at, last.values, last.text, last.understood, event.kind == "held")

    def _gate(self, event: Event) -> None:
        self.closed = event.kind == "closed"
