"""The pages of a rater: see a task, answer it, correct an earlier answer, talk to an agent.

A page is computed from the ledger. Every action is a form that ends in a redirect, so reloading repeats no action. What
comes before the first task (consent, screening, practice) is in `pages/entering.py`.
"""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from turnwise.types import Agent
from turnwise.web.crowd.places import expire, final_code, finish, may_continue
from turnwise.web.crowd.training import is_right, needed, next_practice, round_result
from turnwise.web.pages import templates as pages
from turnwise.web.pages.answers import (
    MAX_CHARACTERS,
    InvalidAnswer,
    clean_text,
    parse_answer,
    preference_field,
)
from turnwise.web.pages.chat import LiveChat, filled_templates
from turnwise.web.pages.security import RateLimiter, csrf_token, parse_number, read_form
from turnwise.web.study.about import notes
from turnwise.web.study.assignment import next_task, tasks_ahead
from turnwise.web.study.ledger import Rater, Slot
from turnwise.web.study.messages import texts
from turnwise.web.study.recorder import Recorder
from turnwise.web.study.stopping import Stopping
from turnwise.web.study.tasks import uniform

RATER_LIMIT = 20, 60  # requests per second and burst of one rater: more than a person needs
WRONG_LINK_LIMIT = 0.5, 20  # wrong links per second and burst of one network address
_DAY = 24 * 60 * 60.0


class RaterPages:
    """The handlers of a rater's requests."""

    def __init__(self, recorder: Recorder, agents: Mapping[str, Agent]) -> None:
        self._recorder = recorder
        self._live_chat = LiveChat(recorder, agents)
        self._stopping = Stopping(recorder)
        study = recorder.ledger.study
        self._texts = texts(study.language)
        # The same on the page of every task that has no answer yet.
        self._blank_questions = pages.part("questions", study, {}, {}, self._texts)
        self._rater_limit, self._wrong_link_limit = RateLimiter(*RATER_LIMIT), RateLimiter(*WRONG_LINK_LIMIT)

    async def page(self, request: Request) -> Response:
        """What the rater has to do next: the current task, or what comes before, between and after tasks.

        If the study is closed or paused, the page says only that.
        """
        rater = self.rater(request)
        ledger, slot = self._recorder.ledger, rater.current
        if ledger.closed or ledger.paused:
            return self._message(rater, "closed" if ledger.closed else "paused")
        if (stage := self.stage(rater)) != "tasks":
            return self._message(rater, stage)
        if slot is not None:
            return self._task(rater, slot)
        if rater.completed_at is None and rater.slots and rater.slots[-1].purpose == "training":
            return self._feedback(rater, rater.slots[-1])
        return self._message(rater, "welcome" if self._may_begin(rater) else "done")

    async def earlier(self, request: Request) -> Response:
        """The task with the number in the address, for a correction; of practice, the feedback."""
        rater = self.rater(request)
        slot = self._slot(request, rater)
        if slot.purpose == "training" and slot.answers:
            return self._feedback(rater, slot)
        return self._task(rater, slot)

    async def begin(self, request: Request) -> Response:
        """Give the rater a task if none is unanswered and one is left, and redirect to the rater's page."""
        rater = self.rater(request)
        await self.form(request, rater)
        self._check_stage(rater)
        await self._give_task(rater)
        return self.redirect(rater)

    async def answer(self, request: Request) -> Response:
        """Record an answer or a correction, give the next task if there is one, and redirect to the rater's page.

        An invalid form shows the task again with status 422; an answer equal to the last one is not recorded. If the
        task was answered in another window since the page was made, nothing is recorded, and the page (409) says so. A
        live dialogue that has not ended is the error 409. Practice is answered once.
        """
        rater = self.rater(request)
        slot = self._slot(request, rater)
        fields = await self.form(request, rater)
        self._check_stage(rater)
        study = self._recorder.ledger.study
        if study.mode == "chat" and not slot.ended:
            raise HTTPException(409, "error.not_over")
        try:
            body = parse_answer(study, slot, fields)
        except InvalidAnswer as error:
            return self._task(rater, slot, status=422, problems=error.problems, form=fields)
        if slot.purpose == "training":
            await self._record_practice(rater, slot, body)
            return self.redirect(rater)
        if not _is_same_answer(slot, body):
            if fields.get("seen", str(len(slot.answers))) != str(len(slot.answers)):
                return self._task(rater, slot, status=409, notice=self._texts["question.elsewhere"])
            self._recorder.record("answered", rater.name, slot=slot.number, **body)
        await self._give_task(rater)
        await self._stopping.look()
        return self.redirect(rater)

    async def say(self, request: Request) -> Response:
        """Record a message to the agents, ask them for their replies, and redirect to the rater's page.

        A form that was sent twice does nothing. A message that is too long (422), or was written before something else
        was said in another window (409), is not recorded: the task is shown again with its text. The error 409 if the
        dialogue has ended or the mode is not `chat`. With the field `live` the response is JSON and comes at once.
        """
        rater = self.rater(request)
        slot = self._slot(request, rater)
        fields = await self.form(request, rater)
        self._check_stage(rater)
        live = fields.get("live") == "1"
        if self._recorder.ledger.study.mode != "chat" or slot.ended:
            raise HTTPException(409, "error.dialogue_over")
        try:
            text = clean_text(fields.get("template") or fields.get("text", ""), self._texts)
        except InvalidAnswer as error:
            return self._not_said(rater, slot, 422, error.problems["text"], fields, live=live)
        # `heard` is the number of messages on the page. If it is outdated, the form was sent twice, or another window
        # said something.
        if slot.waiting or fields.get("heard") != str(len(slot.message_times)):
            if text and text != _last_said(slot):
                return self._not_said(rater, slot, 409, self._texts["chat.elsewhere"], fields, live=live)
        elif self._live_chat.hear(rater, slot, text):
            if live:
                self._live_chat.ask_in_background(rater, slot)
                await self._recorder.wait_until_stored()
            else:
                await self._live_chat.ask_agents(rater, slot)
        return JSONResponse({}, 202) if live else self.redirect(rater)

    async def live(self, request: Request) -> Response:
        """What the agents say while they say it, as server-sent events."""
        rater = self.rater(request)
        slot = self._slot(request, rater)
        return StreamingResponse(self._live_chat.follow(slot), media_type="text/event-stream")

    async def end(self, request: Request) -> Response:
        """End a live dialogue, if it has not ended, and redirect to the rater's page.

        The error 409 before the rater has said as much as the study asks for, or if the mode is not `chat`.
        """
        rater = self.rater(request)
        slot = self._slot(request, rater)
        await self.form(request, rater)
        self._check_stage(rater)
        if self._recorder.ledger.study.mode != "chat" or not self._may_end(slot):
            raise HTTPException(409, "error.no_dialogue")
        if not slot.ended:
            self._recorder.record("ended", rater.name, slot=slot.number)
            await self._recorder.wait_until_stored()
        return self.redirect(rater)

    def rater(self, request: Request) -> Rater:
        """The rater of the link; 404 for an unknown link, 410 for an expired one, 429 for too many requests."""
        token = request.path_params["token"]
        rater = self._recorder.ledger.by_token.get(token)
        if rater is None:
            self._wrong_link_limit.check(request.client.host if request.client else "")
            raise HTTPException(404)
        self._rater_limit.check(token)
        days = self._recorder.ledger.study.link_days
        if days is not None and self._recorder.clock() - rater.link_at > days * _DAY:
            raise HTTPException(410, "error.link_expired")
        return rater

    def stage(self, rater: Rater) -> str:
        """What the rater has to do: consent, screening or tasks; or why not: left, time_over."""
        study = self._recorder.ledger.study
        if rater.left:
            return "left"
        if not may_continue(self._recorder.ledger, rater):
            return "time_over"
        if study.consent and not rater.consented:
            return "consent"
        return "screening" if study.screening and not rater.screened else "tasks"

    def _may_begin(self, rater: Rater) -> bool:
        """Whether the rater has not begun, and there is something to do.

        A person of a crowd may begin even if every task is taken: they have finished then, and get their code.
        """
        if rater.slots or rater.completed_at is not None:
            return False
        ledger = self._recorder.ledger
        has_task = next_practice(ledger, rater) is not None or tasks_ahead(ledger, rater) > 0
        return has_task or rater.joined is not None

    def _check_stage(self, rater: Rater) -> None:
        """Raise the error 409 if the rater may not work on tasks; a person who came back gets the place again."""
        if self.stage(rater) != "tasks":
            raise HTTPException(409, "error.not_your_turn")
        if rater.place_lost:
            self._recorder.record("returned", rater.name)

    def _slot(self, request: Request, rater: Rater) -> Slot:
        """The slot with the number in the address; the error 404 if the rater has none."""
        number = parse_number(request.path_params["number"])
        if not 1 <= number <= len(rater.slots):
            raise HTTPException(404)
        return rater.slots[number - 1]

    async def form(self, request: Request, rater: Rater) -> Mapping[str, str]:
        """The checked fields of a form; 409 if the study is closed or paused, 503 if answers cannot be stored."""
        fields = await read_form(request, self._recorder.ledger.study_event["secret"], rater.token)
        if self._recorder.ledger.closed or self._recorder.ledger.paused:
            raise HTTPException(409, "error.closed" if self._recorder.ledger.closed else "error.paused")
        if self._recorder.write_error is not None:
            raise HTTPException(503, "error.cannot_store")
        return fields

    async def _give_task(self, rater: Rater) -> None:
        """Give the rater the next task if all are answered, and let the agents start if they have the first turn.

        If no task is left, a person of a crowd has finished. Returns when all is stored.
        """
        ledger = self._recorder.ledger
        if rater.current is None:
            practice = next_practice(ledger, rater)
            if practice is not None:
                flipped = ledger.study.compares and uniform(ledger.study.seed, rater.name, practice.id) < 0.5
                self._recorder.record(
                    "given", rater.name, task=practice.id, purpose="training", flipped=flipped
                )
            elif not self._give_next(rater):
                expire(self._recorder)  # what others have left undone may be given now
                if not self._give_next(rater):
                    finish(self._recorder, rater)
        await self._recorder.wait_until_stored()
        slot = rater.current
        if slot and self._live_chat.agents_start(slot):
            await self._live_chat.ask_agents(rater, slot)

    def _give_next(self, rater: Rater) -> bool:
        """Give the rater the next task, and return whether there was one."""
        given = next_task(self._recorder.ledger, rater)
        if given is not None:
            about = {"task": given.task.id, "purpose": given.purpose, "flipped": given.flipped}
            self._recorder.record("given", rater.name, **about)
        return given is not None

    async def _record_practice(self, rater: Rater, slot: Slot, body: Mapping[str, Any]) -> None:
        """Record the answer to a practice task, unless it has one, and the result after the last of a round."""
        if not slot.answers:
            self._recorder.record("answered", rater.name, slot=slot.number, **body)
            if (result := round_result(self._recorder.ledger, rater)) is not None:
                self._recorder.record("trained", rater.name, **result)
        await self._recorder.wait_until_stored()

    def _may_end(self, slot: Slot) -> bool:
        """Whether the rater has said something, and there are as many messages as the study asks for."""
        spoke = any(turn.role == "user" for turn in slot.turns)
        return spoke and slot.n_messages >= self._recorder.ledger.study.chat.least_turns

    def redirect(self, rater: Rater) -> Response:
        """A redirect (303) to the rater's page, which shows the current task."""
        return RedirectResponse(f"/r/{rater.token}", 303)

    def _message(self, rater: Rater, name: str) -> Response:
        """The page of the template `name`, which shows no task."""
        ledger = self._recorder.ledger
        code = final_code(ledger, rater)
        crowd = ledger.study.crowd
        return pages.render(
            name,
            **self.common(rater),
            ahead=tasks_ahead(ledger, rater),
            code=code,
            link=crowd.link(code) if crowd is not None else "",
            result=self._practice_result(rater),
            problems={},
            form={},
        )

    def _not_said(
        self, rater: Rater, slot: Slot, status: int, problem: str, fields: Mapping[str, str], *, live: bool
    ) -> Response:
        """The response to a message that was not recorded: what is wrong, and the page with its text."""
        if live:
            return JSONResponse({"problem": problem}, status)
        return self._task(rater, slot, status=status, problems={"text": problem}, form=fields)

    def _feedback(self, rater: Rater, slot: Slot) -> Response:
        """The page with a practice task, the rater's answer, the right one and why; after a round with its result."""
        training = self._recorder.ledger.study.training
        if training is None:
            raise HTTPException(404)
        total = len(self._recorder.ledger.training)
        round_over = slot.number % total == 0
        values: dict[str, Any] = {
            "right": is_right(training, slot),
            "result": self._practice_result(rater) if round_over else "",
            "feedback": slot.task.feedback,
        }
        return pages.render("feedback", **self.common(rater), **self._shown(rater, slot), **values)

    def _practice_result(self, rater: Rater) -> str:
        """The sentence about the last round of practice; "" before the first."""
        training = self._recorder.ledger.study.training
        if training is None or not rater.rounds:
            return ""
        right, total = rater.rounds[-1]
        key = "passed" if rater.trained else "failed" if rater.left else "again"
        return self._texts.fill(
            f"crowd.practice_{key}", right=right, total=total, needed=needed(training, total)
        )

    def _task(self, rater: Rater, slot: Slot, status: int = 200, **values: Any) -> Response:
        """The page of a task, filled with the rater's last answer; `values` replace values of the template."""
        study = self._recorder.ledger.study
        shown = {
            "notice": self._texts["question.already"] if slot.answers else "",
            **self._shown(rater, slot),
        }
        return pages.render(f"task_{study.mode}", status, **self.common(rater), **shown | values)

    def _shown(self, rater: Rater, slot: Slot) -> dict[str, Any]:
        """The template values of a page with a task."""
        ledger, study = self._recorder.ledger, self._recorder.ledger.study
        order = (1, 0) if slot.flipped else (0, 1)
        previous = rater.slots[slot.number - 2] if slot.number > 1 else None
        return {
            "slot": slot,
            "number": slot.number - rater.n_training,  # practice comes first
            "practice": (slot.number - 1) % len(ledger.training) + 1 if slot.purpose == "training" else 0,
            "n_practice": len(ledger.training),
            "previous": previous if previous is not None and previous.purpose != "training" else None,
            "replies": [slot.task.replies[at] for at in order]
            if len(slot.task.replies) == 2
            else slot.task.replies,
            "columns": [slot.dialogues[at] for at in order] if len(slot.dialogues) == 2 else slot.dialogues,
            "order": order if len(slot.dialogues) == 2 else (0,),
            "notes": notes(slot.task.about, study.shown, self._texts, own=study.mode == "chat"),
            "ahead": tasks_ahead(ledger, rater),
            "templates": filled_templates(study.chat, slot),
            "may_end": self._may_end(slot),
            "longest": MAX_CHARACTERS,
            "problems": {},
            "form": _form_values([q.name for q in study.questions], slot, compares=study.compares),
        }

    def common(self, rater: Rater) -> dict[str, Any]:
        """The template values of all pages of a rater."""
        ledger = self._recorder.ledger
        return {
            "rater": rater,
            "study": ledger.study,
            "t": self._texts,
            "blank_questions": self._blank_questions,
            "csrf_token": csrf_token(ledger.study_event["secret"], rater.token),
        }


def _last_said(slot: Slot) -> str:
    """The last message of the rater; "" before the first."""
    said = [turn.text for turns in slot.dialogues for turn in turns[-2:] if turn.role == "user"]
    return said[-1] if said else ""


def _is_same_answer(slot: Slot, body: Mapping[str, Any]) -> bool:
    """Whether the rater's last answer to this task equals `body` (a form sent twice); False without an answer."""
    last = slot.answers[-1] if slot.answers else None
    return last is not None and (last.values, last.text, last.understood) == (
        body["values"],
        body.get("text", ""),
        body.get("understood", True),
    )


def _form_values(names: list[str], slot: Slot, *, compares: bool) -> dict[str, str]:
    """The form fields with the rater's last answer to this task; empty without one.

    `q0`, `q1`, ... for the questions `names`, `text`, and `confused` if the rater did not understand the context.
    """
    last = slot.answers[-1] if slot.answers else None
    if last is None:
        return {}
    shown = {
        f"q{index}": preference_field(slot, last.values[name]) if compares else f"{last.values[name]:g}"
        for index, name in enumerate(names)
    }
    return shown | {"text": last.text} | ({} if last.understood else {"confused": "yes"})
