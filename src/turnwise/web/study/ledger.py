"""The state of a study: raters, tasks given, answers, live dialogues, and open tasks.

The ledger is computed from the events of the log and nothing else, so a restarted server has the same state.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from turnwise.types import Reply, Turn
from turnwise.web.storage.events import Event
from turnwise.web.study.checks import attention_checks
from turnwise.web.study.definition import Study
from turnwise.web.study.tasks import OpenTasks, Task

Purpose = Literal["task", "shared", "check", "repeat"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A rater's answer to one task: its time, and values by question or a written reply."""

    at: float
    values: Mapping[str, float]  # dimension -> value
    text: str = ""  # the written reply
    understood: bool = True
    held: bool = False  # whether the written reply is withheld


@dataclass(slots=True)
class Slot:
    """A task that was given to a rater, with the rater's answers or the live dialogue."""

    number: int  # 1, 2, ... for each rater
    task: Task
    purpose: Purpose
    flipped: bool  # whether the second reply of a pair is shown first
    at: float
    answers: list[Answer] = field(default_factory=list)  # the last one counts; the others were corrected
    turns: list[Turn] = field(default_factory=list)  # turns of a live dialogue
    message_times: list[float] = field(default_factory=list)  # times of the messages
    ended: bool = False  # whether the live dialogue has ended
    failure: str = ""  # why the agent gave no reply
    waiting: bool = False  # whether the agent is being asked; not an event, as it ends with the server

    @property
    def answer(self) -> Answer | None:
        """The last answer, which counts; None before the first."""
        return self.answers[-1] if self.answers else None

    @property
    def reply_missing(self) -> bool:
        """Whether the agent's reply is missing and not being requested: the agent failed, or the server stopped."""
        is_missing = bool(self.failure) or bool(self.message_times and self.turns[-1].role == "user")
        return is_missing and not (self.waiting or self.ended)

    @property
    def failed(self) -> bool:
        """Whether this is an attention check whose last answer is wrong."""
        answer = self.answer
        if self.purpose != "check" or answer is None:
            return False
        differs = any(answer.values.get(name) != value for name, value in self.task.expected.items())
        return differs or self.task.password not in answer.text.casefold()

    @property
    def held(self) -> bool:
        """Whether the written reply is withheld until the administrator approves it."""
        return self.answer is not None and self.answer.held

    @property
    def seconds(self) -> float | None:
        """The seconds from when the task was given to the first answer; None without an answer."""
        return self.answers[0].at - self.at if self.answers else None


@dataclass(slots=True)
class Rater:
    """A rater with the tasks that were given to them."""

    name: str
    token: str
    slots: list[Slot] = field(default_factory=list)
    groups_seen: set[str] = field(default_factory=set)  # groups of the tasks that the rater has had
    agents: dict[tuple[str, ...], int] = field(
        default_factory=dict
    )  # agents of a task -> how often the rater rated them
    failed_check: bool = False  # whether the rater failed an attention check
    doubted: bool = False  # whether the administrator distrusts the rater
    seen_at: float = 0.0  # time of the last action

    @property
    def is_reliable(self) -> bool:
        """Whether the rater failed no attention check and is not distrusted, so that their answers count for a task."""
        return not (self.failed_check or self.doubted)

    @property
    def current(self) -> Slot | None:
        """The task that is not answered yet, or None."""
        return self.slots[-1] if self.slots and self.slots[-1].answer is None else None

    @property
    def done(self) -> int:
        """The number of answered tasks."""
        return len(self.slots) - (self.current is not None)


class Ledger:
    """The state of a study, which `apply` changes by one event at a time; only `Slot.waiting` is set from outside."""

    def __init__(self, study: Study, tasks: tuple[Task, ...]) -> None:
        self.study = study
        self._tasks = tasks
        self.checks = attention_checks(study, tasks)
        self.open_tasks = OpenTasks(study, tasks)
        self.tasks = {task.id: task for task in (*tasks, *self.checks)}
        self.raters: dict[str, Rater] = {}
        self.by_token: dict[str, Rater] = {}
        self.study_event: Mapping[str, Any] = {}  # the body of the event `study`
        self.closed = False
        self.seq = 0
        self._handlers: Mapping[str, Callable[[Event], None]] = {
            "study": self._on_study,
            "rater": self._on_rater,
            "given": self._on_given,
            "said": self._on_said,
            "failed": self._on_failed,
            "ended": self._on_ended,
            "answered": self._on_answered,
            "held": self._on_moderated,
            "released": self._on_moderated,
            "doubted": self._on_doubted,
            "trusted": self._on_doubted,
            "closed": self._on_open_or_close,
            "opened": self._on_open_or_close,
        }

    def empty_copy(self) -> "Ledger":
        """A ledger of the same study without any event."""
        return Ledger(self.study, self._tasks)

    def apply(self, event: Event) -> None:
        """Change the state by one event; the caller gives the events in the order of the log (not checked)."""
        self.seq = event.seq
        self._handlers[event.kind](event)
        if event.rater in self.raters and event.kind in ("given", "said", "answered"):
            self.raters[event.rater].seen_at = event.at

    @property
    def slots(self) -> Iterable[tuple[Rater, Slot]]:
        """All slots with their raters, by rater in the order of invitation."""
        return ((rater, slot) for rater in self.raters.values() for slot in rater.slots)

    def _slot(self, event: Event) -> Slot:
        """The slot of the event's rater that the event is about."""
        number: int = event.body["slot"]
        return self.raters[event.rater].slots[number - 1]

    def _on_study(self, event: Event) -> None:
        """Keep the body of the first event: identity, secrets and mode of the study."""
        self.study_event = event.body

    def _on_rater(self, event: Event) -> None:
        """Add an invited rater."""
        rater = Rater(event.rater, event.body["token"])
        self.raters[rater.name] = self.by_token[rater.token] = rater

    def _on_given(self, event: Event) -> None:
        """Add a slot to the rater; an ordinary task of a reliable rater counts as one of the task's raters."""
        rater = self.raters[event.rater]
        task = self.tasks[event.body["task"]]
        purpose: Purpose = event.body["purpose"]
        slot = Slot(len(rater.slots) + 1, task, purpose, event.body["flipped"], event.at)
        if self.study.mode == "chat":
            slot.turns = list(task.context)
        rater.slots.append(slot)
        rater.groups_seen.add(task.group)
        if purpose in ("task", "shared"):
            rater.agents[task.agents] = rater.agents.get(task.agents, 0) + 1
        if purpose == "task" and rater.is_reliable:
            self.open_tasks.add_rater(task)

    def _on_said(self, event: Event) -> None:
        """Add a message to a live dialogue; an earlier failure of the agent is over."""
        slot, body = self._slot(event), event.body
        reply = Reply(body["content"], body.get("outcome"))
        slot.turns.append(Turn(body["role"], reply.content, outcome=reply.outcome))
        slot.message_times.append(event.at)
        slot.failure = ""

    def _on_failed(self, event: Event) -> None:
        """Keep the reason why the agent gave no reply."""
        self._slot(event).failure = event.body["reason"]

    def _on_ended(self, event: Event) -> None:
        """End a live dialogue."""
        self._slot(event).ended = True

    def _on_answered(self, event: Event) -> None:
        """Add an answer or a correction; after an attention check the rater's reliability is set anew."""
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
            failed_check = any(one.failed for one in rater.slots)
            self._set_reliability(rater, failed_check=failed_check, doubted=rater.doubted)

    def _on_doubted(self, event: Event) -> None:
        """Set whether the administrator distrusts the rater (events `doubted` and `trusted`)."""
        rater = self.raters[event.rater]
        self._set_reliability(rater, failed_check=rater.failed_check, doubted=event.kind == "doubted")

    def _set_reliability(self, rater: Rater, *, failed_check: bool, doubted: bool) -> None:
        """Set why a rater is unreliable; the ordinary tasks of an unreliable rater need another rater."""
        before = rater.is_reliable
        rater.failed_check, rater.doubted = failed_check, doubted
        if rater.is_reliable != before:
            for slot in rater.slots:
                if slot.purpose == "task":
                    (self.open_tasks.add_rater if rater.is_reliable else self.open_tasks.remove_rater)(
                        slot.task
                    )

    def _on_moderated(self, event: Event) -> None:
        """Withhold or approve the last written reply of a slot (events `held` and `released`)."""
        slot = self._slot(event)
        last = slot.answers[-1]
        slot.answers[-1] = Answer(last.at, last.values, last.text, last.understood, event.kind == "held")

    def _on_open_or_close(self, event: Event) -> None:
        """Set whether the study takes answers."""
        self.closed = event.kind == "closed"
