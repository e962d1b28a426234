"""The pages of a rater: see a task, answer it, correct an earlier answer, talk to an agent.

A page is computed from the ledger. Every action is a form that ends in a redirect, so reloading repeats no action.
"""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from turnwise.types import Agent
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
from turnwise.web.study.assignment import next_task, tasks_ahead
from turnwise.web.study.ledger import Rater, Slot
from turnwise.web.study.recorder import Recorder

RATER_LIMIT = 20, 60  # requests per second and burst of one rater: more than a person needs
WRONG_LINK_LIMIT = 0.5, 20  # wrong links per second and burst of one network address


class RaterPages:
    """The handlers of a rater's requests."""

    def __init__(self, recorder: Recorder, agents: Mapping[str, Agent]) -> None:
        self._recorder = recorder
        self._live_chat = LiveChat(recorder, agents)
        self._rater_limit, self._wrong_link_limit = RateLimiter(*RATER_LIMIT), RateLimiter(*WRONG_LINK_LIMIT)

    async def page(self, request: Request) -> Response:
        """The page of the current task; without one, that all is done, or the welcome before the first task.

        If the study is closed, the page says only that.
        """
        rater = self._rater(request)
        slot = rater.current
        if self._recorder.ledger.closed:
            return self._message(rater, "closed")
        if slot is None:
            return self._message(rater, "done" if rater.slots else "welcome")
        return self._task(rater, slot)

    async def earlier(self, request: Request) -> Response:
        """The task with the number in the address, for a correction."""
        rater = self._rater(request)
        return self._task(rater, self._slot(request, rater))

    async def begin(self, request: Request) -> Response:
        """Give the rater a task if none is unanswered and one is left, and redirect to the rater's page."""
        rater = self._rater(request)
        await self._form(request, rater)
        await self._give_task(rater)
        return self._redirect(rater)

    async def answer(self, request: Request) -> Response:
        """Record an answer or a correction, give the next task if there is one, and redirect to the rater's page.

        An invalid form shows the task again with status 422; an answer equal to the last one is not recorded. A live
        dialogue that has not ended is the error 409.
        """
        rater = self._rater(request)
        slot = self._slot(request, rater)
        fields = await self._form(request, rater)
        study = self._recorder.ledger.study
        if study.mode == "chat" and not slot.ended:
            raise HTTPException(409, "The dialogue is not over yet.")
        try:
            body = parse_answer(study, slot, fields)
        except InvalidAnswer as error:
            return self._task(rater, slot, status=422, problems=error.problems, form=fields)
        if not _is_same_answer(slot, body):
            self._recorder.record("answered", rater.name, slot=slot.number, **body)
        await self._give_task(rater)
        return self._redirect(rater)

    async def say(self, request: Request) -> Response:
        """Record a message to the agent, ask the agent for its reply, and redirect to the rater's page.

        A form that was sent twice does nothing; a message that is too long shows the task again with status 422. The
        error 409 if the dialogue has ended or the mode is not `chat`.
        """
        rater = self._rater(request)
        slot = self._slot(request, rater)
        fields = await self._form(request, rater)
        if self._recorder.ledger.study.mode != "chat" or slot.ended:
            raise HTTPException(409, "This dialogue is over.")
        try:
            text = clean_text(fields.get("template") or fields.get("text", ""))
        except InvalidAnswer as error:
            return self._task(rater, slot, status=422, problems=error.problems, form=fields)
        # `heard` is the number of messages on the page. If it is outdated, the form was sent twice: ignore it.
        if not slot.waiting and fields.get("heard") == str(len(slot.turns)):
            await self._live_chat.say(rater, slot, text)
        return self._redirect(rater)

    async def end(self, request: Request) -> Response:
        """End a live dialogue, if it has not ended, and redirect to the rater's page.

        The error 409 before the rater has said anything, or if the mode is not `chat`.
        """
        rater = self._rater(request)
        slot = self._slot(request, rater)
        await self._form(request, rater)
        if self._recorder.ledger.study.mode != "chat" or not any(turn.role == "user" for turn in slot.turns):
            raise HTTPException(409, "There is no dialogue to end yet.")
        if not slot.ended:
            self._recorder.record("ended", rater.name, slot=slot.number)
            await self._recorder.wait_until_stored()
        return self._redirect(rater)

    def _rater(self, request: Request) -> Rater:
        """The rater of the link; the error 404 for an unknown link, and 429 for too many requests."""
        token = request.path_params["token"]
        rater = self._recorder.ledger.by_token.get(token)
        if rater is None:
            self._wrong_link_limit.check(request.client.host if request.client else "")
            raise HTTPException(404)
        self._rater_limit.check(token)
        return rater

    def _slot(self, request: Request, rater: Rater) -> Slot:
        """The slot with the number in the address; the error 404 if the rater has none."""
        number = parse_number(request.path_params["number"])
        if not 1 <= number <= len(rater.slots):
            raise HTTPException(404)
        return rater.slots[number - 1]

    async def _form(self, request: Request, rater: Rater) -> Mapping[str, str]:
        """The checked fields of a form; the error 409 if the study is closed, 503 if answers cannot be stored."""
        fields = await read_form(request, self._recorder.ledger.study_event["secret"], rater.token)
        if self._recorder.ledger.closed:
            raise HTTPException(409, "This study is closed; nothing was changed.")
        if self._recorder.write_error is not None:
            raise HTTPException(503, "Answers cannot be stored at the moment.")
        return fields

    async def _give_task(self, rater: Rater) -> None:
        """Give the rater the next task if all are answered, and let the agent start if it has the first turn.

        Nothing is given if no task is left. Returns when all is stored.
        """
        ledger = self._recorder.ledger
        if rater.current is None:
            given = next_task(ledger, rater, now=self._recorder.clock())
            if given is not None:
                about = {"task": given.task.id, "purpose": given.purpose, "flipped": given.flipped}
                self._recorder.record("given", rater.name, **about)
        await self._recorder.wait_until_stored()
        slot = rater.current
        if slot and self._live_chat.agent_starts(slot):
            await self._live_chat.ask_agent(rater, slot)

    def _redirect(self, rater: Rater) -> Response:
        """A redirect (303) to the rater's page, which shows the current task."""
        return RedirectResponse(f"/r/{rater.token}", 303)

    def _message(self, rater: Rater, name: str) -> Response:
        """The page of the template `name` (`closed`, `done` or `welcome`), which shows no task."""
        return pages.render(name, **self._common(rater), ahead=tasks_ahead(self._recorder.ledger, rater))

    def _task(self, rater: Rater, slot: Slot, status: int = 200, **values: Any) -> Response:
        """The page of a task, filled with the rater's last answer; `values` replace values of the template."""
        ledger = self._recorder.ledger
        shown: dict[str, Any] = {
            "slot": slot,
            "replies": tuple(reversed(slot.task.replies)) if slot.flipped else slot.task.replies,
            "ahead": tasks_ahead(ledger, rater),
            "templates": filled_templates(ledger.study.chat, slot),
            "longest": MAX_CHARACTERS,
            "problems": {},
            "form": _form_values(ledger.study.mode, [q.name for q in ledger.study.questions], slot),
        }
        return pages.render(f"task_{ledger.study.mode}", status, **self._common(rater), **shown | values)

    def _common(self, rater: Rater) -> dict[str, Any]:
        """The template values of all pages of a rater."""
        ledger = self._recorder.ledger
        return {
            "rater": rater,
            "study": ledger.study,
            "csrf_token": csrf_token(ledger.study_event["secret"], rater.token),
        }


def _is_same_answer(slot: Slot, body: Mapping[str, Any]) -> bool:
    """Whether the rater's last answer to this task equals `body` (a form sent twice); False without an answer."""
    last = slot.answer
    return last is not None and (last.values, last.text, last.understood) == (
        body["values"],
        body.get("text", ""),
        body.get("understood", True),
    )


def _form_values(mode: str, names: list[str], slot: Slot) -> dict[str, str]:
    """The form fields with the rater's last answer to this task; empty without one.

    `q0`, `q1`, ... for the questions `names`, `text`, and `confused` if the rater did not understand the context.
    """
    last = slot.answer
    if last is None:
        return {}
    shown = {
        f"q{index}": preference_field(slot, last.values[name])
        if mode == "pairwise"
        else f"{last.values[name]:g}"
        for index, name in enumerate(names)
    }
    return shown | {"text": last.text} | ({} if last.understood else {"confused": "yes"})
