"""What a rater can do: see their task, answer it, correct an earlier answer, talk to an agent.

A page is a function of the ledger; every action is a form that ends in a redirect, so reloading does nothing twice.
"""

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from turnwise.types import Agent
from turnwise.web.pages import templates as pages
from turnwise.web.pages.answers import LONGEST, NotAnswered, answered, chosen, said
from turnwise.web.pages.chat import Talking, templates
from turnwise.web.pages.security import Limiter, form, proof, whole
from turnwise.web.study.assignment import ahead, following
from turnwise.web.study.book import Book
from turnwise.web.study.ledger import Rater, Slot

PACE = 20, 60  # requests a second of one rater, and at once: far above people, far below a flood
GUESSES = 0.5, 20  # wrong links of one address


class RaterPages:
    def __init__(self, book: Book, agents: Mapping[str, Agent]) -> None:
        self._book = book
        self._talking = Talking(book, agents)
        self._pace, self._guesses = Limiter(*PACE), Limiter(*GUESSES)

    async def page(self, request: Request) -> Response:
        rater = self._rater(request)
        slot = rater.current
        if self._book.ledger.closed:
            return self._message(rater, "closed")
        if slot is None:
            return self._message(rater, "done" if rater.slots else "welcome")
        return self._task(rater, slot)

    async def earlier(self, request: Request) -> Response:
        rater = self._rater(request)
        return self._task(rater, self._slot(request, rater))

    async def begin(self, request: Request) -> Response:
        rater = self._rater(request)
        await self._form(request, rater)
        await self._give(rater)
        return self._back(rater)

    async def answer(self, request: Request) -> Response:
        rater = self._rater(request)
        slot = self._slot(request, rater)
        fields = await self._form(request, rater)
        study = self._book.ledger.study
        if study.mode == "chat" and not slot.ended:
            raise HTTPException(409, "The conversation is not over yet.")
        try:
            body = answered(study, slot, fields)
        except NotAnswered as error:
            return self._task(rater, slot, status=422, problems=error.problems, form=fields)
        if not _same(slot, body):
            self._book.note("answered", rater.name, slot=slot.number, **body)
        await self._give(rater)
        return self._back(rater)

    async def say(self, request: Request) -> Response:
        rater = self._rater(request)
        slot = self._slot(request, rater)
        fields = await self._form(request, rater)
        if self._book.ledger.study.mode != "chat" or slot.ended:
            raise HTTPException(409, "This conversation is over.")
        try:
            text = said(fields.get("template") or fields.get("text", ""))
        except NotAnswered as error:
            return self._task(rater, slot, status=422, problems=error.problems, form=fields)
        # The number of messages that the page showed: a form that is sent twice is heard once.
        if not slot.waiting and fields.get("heard") == str(len(slot.turns)):
            await self._talking.say(rater, slot, text)
        return self._back(rater)

    async def end(self, request: Request) -> Response:
        rater = self._rater(request)
        slot = self._slot(request, rater)
        await self._form(request, rater)
        if self._book.ledger.study.mode != "chat" or not any(turn.role == "user" for turn in slot.turns):
            raise HTTPException(409, "There is no conversation to end yet.")
        if not slot.ended:
            self._book.note("ended", rater.name, slot=slot.number)
            await self._book.settled()
        return self._back(rater)

    def _rater(self, request: Request) -> Rater:
        token = request.path_params["token"]
        rater = self._book.ledger.by_token.get(token)
        if rater is None:
            self._guesses.check(request.client.host if request.client else "")
            raise HTTPException(404)
        self._pace.check(token)
        return rater

    def _slot(self, request: Request, rater: Rater) -> Slot:
        number = whole(request.path_params["number"])
        if not 1 <= number <= len(rater.slots):
            raise HTTPException(404)
        return rater.slots[number - 1]

    async def _form(self, request: Request, rater: Rater) -> Mapping[str, str]:
        fields = await form(request, self._book.ledger.head["secret"], rater.token)
        if self._book.ledger.closed:
            raise HTTPException(409, "This study is closed; nothing was changed.")
        if self._book.broken is not None:
            raise HTTPException(503, "Answers cannot be stored at the moment.")
        return fields

    async def _give(self, rater: Rater) -> None:
        """Lays the next task before the rater, if they have none."""
        ledger = self._book.ledger
        if rater.current is None:
            given = following(ledger, rater, now=self._book.clock())
            if given is not None:
                about = {"task": given.task.id, "purpose": given.purpose, "flipped": given.flipped}
                self._book.note("given", rater.name, **about)
        await self._book.settled()
        slot = rater.current
        if slot and self._talking.opens(slot):
            await self._talking.hear(rater, slot)

    def _back(self, rater: Rater) -> Response:
        return RedirectResponse(f"/r/{rater.token}", 303)

    def _message(self, rater: Rater, name: str) -> Response:
        return pages.page(name, **self._common(rater), ahead=ahead(self._book.ledger, rater))

    def _task(self, rater: Rater, slot: Slot, status: int = 200, **values: Any) -> Response:
        ledger = self._book.ledger
        shown: dict[str, Any] = {
            "slot": slot,
            "replies": tuple(reversed(slot.task.replies)) if slot.flipped else slot.task.replies,
            "ahead": ahead(ledger, rater),
            "templates": templates(ledger.study.chat, slot),
            "longest": LONGEST,
            "problems": {},
            "form": _filled(ledger.study.mode, [q.name for q in ledger.study.questions], slot),
        }
        return pages.page(f"task_{ledger.study.mode}", status, **self._common(rater), **shown | values)

    def _common(self, rater: Rater) -> dict[str, Any]:
        ledger = self._book.ledger
        return {"rater": rater, "study": ledger.study, "proof": proof(ledger.head["secret"], rater.token)}


def _same(slot: Slot, body: Mapping[str, Any]) -> bool:
    """Whether this says what the rater said already: a form sent twice."""
    last = slot.answer
    return last is not None and (last.values, last.text, last.understood) == (
        body["values"],
        body.get("text", ""),
        body.get("understood", True),
    )


def _filled(mode: str, names: list[str], slot: Slot) -> dict[str, str]:
    """The fields of the form as they were last answered."""
    last = slot.answer
    if last is None:
        return {}
    shown = {
        f"q{place}": chosen(slot, last.values[name]) if mode == "pairwise" else f"{last.values[name]:g}"
        for place, name in enumerate(names)
    }
    return shown | {"text": last.text} | ({} if last.understood else {"confused": "yes"})
