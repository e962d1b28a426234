"""The pages of the administrator: status, links, pausing and closing, approval of written replies, withdrawal, export.

The figures are computed from the log on disk in a thread, so that raters do not wait for them.
"""

from collections.abc import Iterator, Sequence

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from turnwise.logs.native import dump
from turnwise.types import Dialogue
from turnwise.web.crowd.payments import payments, standing
from turnwise.web.crowd.places import close_study, expire, places_left
from turnwise.web.crowd.privacy import withdraw, without_identities, without_times
from turnwise.web.pages import templates as pages
from turnwise.web.pages.security import (
    WRONG_LINK_LIMIT,
    RateLimiter,
    check_token,
    csrf_token,
    parse_number,
    read_form,
)
from turnwise.web.storage.events import Kind
from turnwise.web.study.export import export_dialogues
from turnwise.web.study.ledger import Ledger, Rater
from turnwise.web.study.messages import texts
from turnwise.web.study.open_study import read_ledger
from turnwise.web.study.pilot import analyse_questions
from turnwise.web.study.recorder import Recorder, new_token
from turnwise.web.study.stalls import clock_time, stalls, to_invite
from turnwise.web.study.status import study_status
from turnwise.web.study.stopping import widths

ENGLISH = texts("en")  # the administrator's pages are in English
_STATES: dict[str, Kind] = {"open": "opened", "pause": "paused", "close": "closed"}  # action -> its event
MAX_INVITED = 500  # most raters that can be invited in one request


class AdminPages:
    """The handlers of the administrator's requests; a wrong token in the address is the error 404 (often: 429)."""

    def __init__(self, recorder: Recorder, dialogues: Sequence[Dialogue], *, url: str | None = None) -> None:
        self._recorder = recorder
        self._url = url
        self._dialogues = dialogues
        self._wrong_link_limit = RateLimiter(*WRONG_LINK_LIMIT)

    async def page(self, request: Request) -> Response:
        """The HTML page with the status of the study."""
        token = self._token(request)
        if self._recorder.write_error is None:
            expire(self._recorder)
        ledger = await run_sync(self._snapshot)
        crowd = ledger.study.crowd
        return pages.render(
            "admin",
            study=ledger.study,
            t=ENGLISH,
            ledger=ledger,
            now=clock_time(self._recorder.clock()),
            stalls=stalls(self._recorder, ledger),
            invite=to_invite(ledger),
            places_left=places_left(ledger),
            standing=standing,
            widths=await run_sync(widths, ledger),
            study_status=await run_sync(study_status, ledger),
            join=crowd.join if crowd is not None else "",
            held=[(rater, slot) for rater, slot in ledger.slots if slot.held],
            base=self._url or str(request.base_url).rstrip("/"),
            token=token,
            csrf_token=csrf_token(ledger.study_event["secret"], token),
            tasks=len(ledger.open_tasks.others) + len(ledger.open_tasks.shared),
        )

    async def pilot(self, request: Request) -> Response:
        """The HTML page with the pilot analysis of the questions."""
        token = self._token(request)
        ledger = await run_sync(self._snapshot)
        return pages.render(
            "pilot",
            study=ledger.study,
            t=ENGLISH,
            token=token,
            questions=await run_sync(analyse_questions, ledger),
        )

    async def payments(self, request: Request) -> Response:
        """The list of people who joined, for their payment, as a CSV file."""
        self._token(request)
        table = payments(await run_sync(self._snapshot))
        name = 'attachment; filename="payments.csv"'
        return Response(table, media_type="text/csv; charset=utf-8", headers={"content-disposition": name})

    async def export(self, request: Request) -> Response:
        """The dialogues with their ratings as a JSON Lines file.

        With `everything=yes` without any omission; with `anonymous=yes` with pseudonyms and without times.
        """
        self._token(request)
        everything = request.query_params.get("everything") == "yes"
        anonymous = request.query_params.get("anonymous") == "yes"
        ledger = await run_sync(self._snapshot)
        if anonymous:
            ledger = without_identities(ledger)

        def lines() -> Iterator[bytes]:
            """The lines of the file."""
            for dialogue in export_dialogues(ledger, self._dialogues, everything=everything):
                yield dump(without_times(dialogue) if anonymous else dialogue) + b"\n"

        name = 'attachment; filename="ratings.jsonl"'
        return StreamingResponse(
            lines(), media_type="application/jsonl", headers={"content-disposition": name}
        )

    async def act(self, request: Request) -> Response:
        """Do the action of a form, and redirect to the status page.

        Actions are open, pause, close, invite, renew, revoke, withdraw, hold, release, doubt and trust. An action that
        would change nothing is not recorded; an unknown one is the error 400.
        """
        token = self._token(request)
        fields = await read_form(request, self._recorder.ledger.study_event["secret"], token)
        action = fields.get("action", "")
        if action in _STATES:
            if self._state() != action and action == "close":
                close_study(self._recorder)
            elif self._state() != action:
                self._recorder.record(_STATES[action])
        elif action == "invite":
            self._invite(fields.get("count", ""))
        elif action in ("hold", "release"):
            self._moderate(action, fields.get("rater", ""), fields.get("slot", ""))
        elif action in ("doubt", "trust", "renew", "revoke", "withdraw"):
            await self._change_rater(action, self._named(fields.get("rater", "")))
        else:
            raise HTTPException(400, "There is no such action.")
        await self._recorder.wait_until_stored()
        return RedirectResponse(f"/admin/{token}", 303)

    def _state(self) -> str:
        """The action that led to the present state of the study."""
        ledger = self._recorder.ledger
        return "close" if ledger.closed else "pause" if ledger.paused else "open"

    def _invite(self, count: str) -> None:
        """Invite as many raters as the text `count` says; the error 422 unless it is a number from 1 to 500."""
        if not 1 <= parse_number(count) <= MAX_INVITED:
            raise HTTPException(422, f"Between 1 and {MAX_INVITED} raters can be invited at once.")
        invite(self._recorder, parse_number(count))

    def _moderate(self, action: str, name: str, number: str) -> None:
        """Withhold (`hold`) or approve the written reply in slot `number` of rater `name`; 404 if there is none."""
        rater = self._recorder.ledger.raters.get(name)
        slot = parse_number(number)
        if rater is None or not 1 <= slot <= len(rater.slots) or rater.slots[slot - 1].answer is None:
            raise HTTPException(404)
        if rater.slots[slot - 1].held != (action == "hold"):
            self._recorder.record("held" if action == "hold" else "released", name, slot=slot)

    def _named(self, name: str) -> Rater:
        """The rater of this name; the error 404 for an unknown one."""
        rater = self._recorder.ledger.raters.get(name)
        if rater is None:
            raise HTTPException(404)
        return rater

    async def _change_rater(self, action: str, rater: Rater) -> None:
        """Distrust or trust a rater, renew or revoke the link, or let the rater withdraw."""
        if action in ("doubt", "trust"):
            if rater.doubted != (action == "doubt"):
                self._recorder.record("doubted" if action == "doubt" else "trusted", rater.name)
        elif action == "renew":
            self._recorder.record("renewed", rater.name, token=new_token())
        elif action == "revoke":
            if rater.token:
                self._recorder.record("revoked", rater.name)
        else:
            withdraw(self._recorder, rater)

    def _snapshot(self) -> Ledger:
        """A new ledger with the events that are stored on disk; it does not change with later events."""
        return read_ledger(self._recorder.store, self._recorder.ledger.empty_copy())

    def _token(self, request: Request) -> str:
        """The token of the address if it is the administrator's; else the error 404, or 429 after many."""
        return check_token(request, self._recorder.ledger.study_event["admin"], self._wrong_link_limit)


def invite(recorder: Recorder, count: int) -> None:
    """Invite `count` more raters under the first free names of `rater-1`, `rater-2`, ..."""
    number = 0
    for _ in range(count):
        while f"rater-{(number := number + 1)}" in recorder.ledger.raters:
            continue
        recorder.invite(f"rater-{number}")
