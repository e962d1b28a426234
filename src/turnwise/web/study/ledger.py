"""The state of a study: raters, tasks given, answers, live dialogues, and open tasks.

The ledger is computed from the events of the log and nothing else, so a restarted server has the same state.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from turnwise.types import Reply, Turn
from turnwise.web.storage.events import REDACTED, Event
from turnwise.web.study.checks import attention_checks
from turnwise.web.study.definition import Study
from turnwise.web.study.tasks import OpenTasks, Task

Purpose = Literal["task", "shared", "check", "repeat", "training"]
Left = Literal["", "declined", "screened_out", "failed_training"]  # why a rater takes no further part
SPOKEN = ("user", "assistant")  # roles of the turns that a rater sees as messages


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
    flipped: bool  # whether the second of a pair is shown first
    at: float
    answers: list[Answer] = field(default_factory=list)  # `answer` is the one that counts
    dialogues: list[list[Turn]] = field(default_factory=list)  # turns of the live dialogue with each agent
    message_times: list[float] = field(default_factory=list)  # times of the messages
    ended: bool = False  # whether the live dialogue has ended
    decided: set[int] = field(default_factory=set)  # agents (by index) whose decision ended their dialogue
    failures: dict[int, str] = field(default_factory=dict)  # agent (by index) -> why it gave no reply
    expired: bool = False  # whether the task was given to others because the rater did nothing for too long
    # Not events, as they end with the server: agents that are being asked, and what they have said so far.
    waiting: set[int] = field(default_factory=set)
    partial: dict[int, str] = field(default_factory=dict)

    @property
    def answer(self) -> Answer | None:
        """The answer that counts: the last one, of an attention check or practice the first; None without one."""
        if not self.answers:
            return None
        return self.answers[0 if self.purpose in ("check", "training") else -1]

    @property
    def turns(self) -> list[Turn]:
        """The turns of a live dialogue, with the first agent if there are two; empty for other tasks."""
        return self.dialogues[0] if self.dialogues else []

    @property
    def n_messages(self) -> int:
        """The number of messages of a live dialogue that the rater sees in one column."""
        return max((_count_spoken(turns) for turns in self.dialogues), default=0)

    @property
    def missing(self) -> list[int]:
        """The agents (by index) whose reply is missing and not being requested: they failed, or the server stopped."""
        if self.ended or (not self.message_times and not self.failures):
            return []
        return [
            side
            for side, turns in enumerate(self.dialogues)
            if side not in self.waiting
            and side not in self.decided
            and (side in self.failures or bool(turns and turns[-1].role == "user"))
        ]

    @property
    def is_right(self) -> bool:
        """Whether an attention check was answered as it asks; the first answer counts. False without an answer."""
        answer = self.answer
        if answer is None:
            return False
        same = all(answer.values.get(name) == value for name, value in self.task.expected.items())
        return same and self.task.password in answer.text.casefold()

    @property
    def failed(self) -> bool:
        """Whether this is an attention check whose first answer is wrong."""
        return self.purpose == "check" and bool(self.answers) and not self.is_right

    @property
    def held(self) -> bool:
        """Whether the written reply is withheld until the administrator approves it."""
        return self.answer is not None and self.answer.held

    @property
    def seconds(self) -> float | None:
        """The seconds from when the task was given to the first answer; None without an answer."""
        return self.answers[0].at - self.at if self.answers else None


def _count_spoken(turns: Iterable[Turn]) -> int:
    """The number of messages with words of the user and the assistant."""
    return sum(turn.role in SPOKEN and bool(turn.text) for turn in turns)


@dataclass(slots=True)
class Rater:
    """A rater with the tasks that were given to them."""

    name: str
    token: str  # of the link; "" if the link was revoked
    link_at: float = 0.0  # when the link was made
    joined: Mapping[str, str] | None = None  # parameters of the common link; None for an invited rater
    joined_at: float = 0.0
    consented: bool = False
    screened: bool = False  # whether the screening questions were answered, and allow to take part
    trained: bool = False  # whether the practice was passed
    rounds: list[tuple[int, int]] = field(
        default_factory=list
    )  # right answers and tasks of each round of practice
    left: Left = ""
    completed_at: float | None = None
    code: str = ""  # completion code
    place_lost: bool = False  # whether the place of this person in the crowd expired
    slots: list[Slot] = field(default_factory=list)
    n_given: dict[Purpose, int] = field(
        default_factory=dict
    )  # purpose -> number of slots, counted by the ledger
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
        return self.slots[-1] if self.slots and not self.slots[-1].answers else None

    @property
    def done(self) -> int:
        """The number of answered tasks, without practice."""
        return (
            len(self.slots)
            - self.n_training
            - (self.current is not None and self.current.purpose != "training")
        )

    @property
    def n_training(self) -> int:
        """The number of practice tasks so far."""
        return self.n_given.get("training", 0)


class Ledger:
    """The state of a study, which `apply` changes by one event at a time.

    Only `Slot.waiting` and `Slot.partial` are set from outside.
    """

    def __init__(self, study: Study, tasks: tuple[Task, ...], training: tuple[Task, ...] = ()) -> None:
        self.study = study
        self._tasks = tasks
        self.training = training
        self.checks = attention_checks(study, tasks)
        self.open_tasks = OpenTasks(study, tasks)
        self.tasks = {task.id: task for task in (*tasks, *self.checks)}
        self._practice = {task.id: task for task in training}
        self.raters: dict[str, Rater] = {}
        self.by_token: dict[str, Rater] = {}
        self.by_person: dict[str, Rater] = {}  # id on the platform -> rater
        self.study_event: Mapping[str, Any] = {}  # the body of the event `study`
        self.closed = False
        self.closed_because = ""
        self.paused = False
        self.n_withdrawn = self.n_forgotten = 0
        self.failures: list[tuple[float, str, str]] = []  # time, agent and reason of each failure of an agent
        self.seq = 0
        self._handlers: Mapping[str, Callable[[Event], None]] = {
            "study": self._on_study,
            "rater": self._on_rater,
            "joined": self._on_rater,
            "renewed": self._on_link,
            "revoked": self._on_link,
            "consented": self._on_consented,
            "screened": self._on_screened,
            "trained": self._on_trained,
            "given": self._on_given,
            "expired": self._on_expired,
            "returned": self._on_returned,
            "completed": self._on_completed,
            "said": self._on_said,
            "failed": self._on_failed,
            "ended": self._on_ended,
            "answered": self._on_answered,
            "held": self._on_moderated,
            "released": self._on_moderated,
            "doubted": self._on_doubted,
            "trusted": self._on_doubted,
            "withdrawn": self._on_withdrawn,
            "forgotten": self._on_forgotten,
            "paused": self._on_open_or_close,
            "closed": self._on_open_or_close,
            "opened": self._on_open_or_close,
        }

    def empty_copy(self) -> "Ledger":
        """A ledger of the same study without any event."""
        return Ledger(self.study, self._tasks, self.training)

    def apply(self, event: Event) -> None:
        """Change the state by one event; the caller gives the events in the order of the log (not checked).

        A redacted event of a rater who withdrew changes nothing.
        """
        self.seq = event.seq
        if event.body.get(REDACTED) == "withdrawn":
            return
        self._handlers[event.kind](event)
        if event.rater in self.raters and event.kind in _ACTIONS:
            self.raters[event.rater].seen_at = event.at

    @property
    def slots(self) -> Iterable[tuple[Rater, Slot]]:
        """All slots but practice with their raters, by rater in the order of invitation."""
        return (
            (rater, slot)
            for rater in self.raters.values()
            for slot in rater.slots
            if slot.purpose != "training"
        )

    def _slot(self, event: Event) -> Slot:
        """The slot of the event's rater that the event is about."""
        number: int = event.body["slot"]
        return self.raters[event.rater].slots[number - 1]

    def _on_study(self, event: Event) -> None:
        """Keep the body of the first event: identity, secrets and mode of the study."""
        self.study_event = event.body

    def _on_rater(self, event: Event) -> None:
        """Add an invited rater, or a person who joined; an erased identity leaves a rater without link and person."""
        body = event.body
        rater = Rater(event.rater, body.get("token", ""), link_at=event.at)
        self.raters[rater.name] = rater
        if rater.token:
            self.by_token[rater.token] = rater
        if event.kind == "joined":
            rater.joined, rater.joined_at = body.get("parameters", {}), event.at
            if person := body.get("person"):
                self.by_person[person] = rater

    def _on_link(self, event: Event) -> None:
        """Replace a rater's link by another, or revoke it (events `renewed` and `revoked`)."""
        rater = self.raters[event.rater]
        self.by_token.pop(rater.token, None)
        rater.token, rater.link_at = event.body.get("token", ""), event.at
        if rater.token:
            self.by_token[rater.token] = rater

    def _on_consented(self, event: Event) -> None:
        """Keep whether a rater agreed to take part."""
        rater = self.raters[event.rater]
        rater.consented = event.body["agreed"]
        if not rater.consented:
            rater.left = "declined"

    def _on_screened(self, event: Event) -> None:
        """Keep whether the screening questions allow a rater to take part."""
        rater = self.raters[event.rater]
        rater.screened = event.body["passed"]
        if not rater.screened:
            rater.left = "screened_out"

    def _on_trained(self, event: Event) -> None:
        """Keep the result of a round of practice."""
        rater, body = self.raters[event.rater], event.body
        rater.rounds.append((body["right"], body["total"]))
        rater.trained = body["passed"]
        if not rater.trained and body["last"]:
            rater.left = "failed_training"

    def _on_given(self, event: Event) -> None:
        """Add a slot to the rater; an ordinary task of a reliable rater counts as one of the task's raters."""
        rater = self.raters[event.rater]
        purpose: Purpose = event.body["purpose"]
        task = (self._practice if purpose == "training" else self.tasks)[event.body["task"]]
        slot = Slot(len(rater.slots) + 1, task, purpose, event.body["flipped"], event.at)
        if self.study.mode == "chat":
            slot.dialogues = [list(task.context) for _ in task.agents]
        rater.slots.append(slot)
        rater.n_given[purpose] = rater.n_given.get(purpose, 0) + 1
        rater.groups_seen.add(task.group)
        if purpose in ("task", "shared"):
            rater.agents[task.agents] = rater.agents.get(task.agents, 0) + 1
        if purpose == "task" and rater.is_reliable:
            self.open_tasks.add_rater(task)

    def _on_expired(self, event: Event) -> None:
        """Give the unfinished task of a rater to others; a person of a crowd loses the place."""
        rater = self.raters[event.rater]
        rater.place_lost = rater.joined is not None
        slot = rater.current
        if slot is not None and not slot.expired:
            slot.expired = True
            if slot.purpose == "task" and rater.is_reliable:
                self.open_tasks.remove_rater(slot.task)

    def _on_returned(self, event: Event) -> None:
        """Give a person of a crowd the place again."""
        self.raters[event.rater].place_lost = False

    def _on_completed(self, event: Event) -> None:
        """Keep that a person finished, and the completion code."""
        rater = self.raters[event.rater]
        rater.completed_at, rater.code = event.at, event.body["code"]

    def _on_said(self, event: Event) -> None:
        """Add a message to a live dialogue, the rater's to those of all agents that have not decided yet."""
        slot, body = self._slot(event), event.body
        reply = Reply(body["content"], body.get("outcome"))
        turn = Turn(body["role"], reply.content, outcome=reply.outcome)
        if turn.role == "user":
            sides = [side for side in range(len(slot.dialogues)) if side not in slot.decided]
        else:
            sides = [body.get("side", 0)]
        for side in sides:
            slot.dialogues[side].append(turn)
            slot.failures.pop(side, None)
            if turn.outcome:
                slot.decided.add(side)
        slot.message_times.append(event.at)

    def _on_failed(self, event: Event) -> None:
        """Keep the reason why an agent gave no reply."""
        slot, side = self._slot(event), event.body.get("side", 0)
        slot.failures[side] = event.body["reason"]
        self.failures.append((event.at, slot.task.agents[side], event.body["reason"]))

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
        if slot.expired:  # the rater came back and answered after all
            slot.expired = False
            if slot.purpose == "task" and rater.is_reliable:
                self.open_tasks.add_rater(slot.task)
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
                if slot.purpose == "task" and not slot.expired:
                    (self.open_tasks.add_rater if rater.is_reliable else self.open_tasks.remove_rater)(
                        slot.task
                    )

    def _on_moderated(self, event: Event) -> None:
        """Withhold or approve the last written reply of a slot (events `held` and `released`)."""
        slot = self._slot(event)
        slot.answers[-1] = replace(slot.answers[-1], held=event.kind == "held")

    def remove(self, rater: Rater) -> None:
        """Remove a rater who withdraws, with everything they did; their tasks need another rater.

        The rater's events must be redacted in the log, so that a restarted server has the same state.
        """
        del self.raters[rater.name]
        self._erase_identity(rater)
        for slot in rater.slots:
            if slot.purpose == "task" and rater.is_reliable and not slot.expired:
                self.open_tasks.remove_rater(slot.task)

    def _on_withdrawn(self, _: Event) -> None:
        """Count a rater whose events were redacted."""
        self.n_withdrawn += 1

    def forget(self, rater: Rater, name: str) -> None:
        """Erase who a rater is: the name, the link and the parameters of the platform; the answers stay.

        The rater's events must be redacted in the log, so that a restarted server has the same state.
        """
        self._erase_identity(rater)
        rater.name = name
        self.raters = {one.name: one for one in self.raters.values()}

    def _on_forgotten(self, _: Event) -> None:
        """Count a rater whose identity was erased."""
        self.n_forgotten += 1

    def _erase_identity(self, rater: Rater) -> None:
        """Remove the link and the parameters of the platform."""
        self.by_token.pop(rater.token, None)
        self.by_person = {person: one for person, one in self.by_person.items() if one is not rater}
        rater.token = ""
        rater.joined = {} if rater.joined is not None else None

    def _on_open_or_close(self, event: Event) -> None:
        """Set whether the study takes answers (events `paused`, `closed` and `opened`)."""
        self.closed, self.paused = event.kind == "closed", event.kind == "paused"
        self.closed_because = event.body.get("reason", "") if self.closed else ""


# Events by which a rater shows to be there.
_ACTIONS = ("joined", "consented", "screened", "given", "returned", "said", "answered")
