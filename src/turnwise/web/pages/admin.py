"""What the person who runs a study can do: see how it stands, invite, close, let replies through, export.

Figures are of the log as it stands on disk, worked out beside the event loop, so that raters do not wait.
"""

from collections.abc import Iterator, Sequence
from hmac import compare_digest

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from turnwise.logs.native import dump
from turnwise.types import Dialogue
from turnwise.web.pages import templates as pages
from turnwise.web.pages.security import Limiter, form, proof, whole
from turnwise.web.study.book import Book
from turnwise.web.study.export import exported
from turnwise.web.study.ledger import Ledger
from turnwise.web.study.opening import reading
from turnwise.web.study.pilot import pilot
from turnwise.web.study.standing import standing

MOST_INVITED = 500  # raters at once
GUESSES = 0.5, 10  # wrong links of one address


class AdminPages:
    def __init__(self, book: Book, dialogues: Sequence[Dialogue], *, url: str | None = None) -> None:
        self._book = book
        self._url = url
        self._dialogues = dialogues
        self._guesses = Limiter(*GUESSES)

    async def page(self, request: Request) -> Response:
        token = self._token(request)
        ledger = await run_sync(self._snapshot)
        return pages.page(
            "admin",
            study=ledger.study,
            closed=ledger.closed,
            standing=await run_sync(standing, ledger),
            held=[(rater, slot) for rater, slot in ledger.slots if slot.held],
            base=self._url or str(request.base_url).rstrip("/"),
            token=token,
            proof=proof(ledger.head["secret"], token),
            every=request.query_params.get("every") == "10",
            tasks=len(ledger.pool.others) + len(ledger.pool.shared),
        )

    async def pilot(self, request: Request) -> Response:
        token = self._token(request)
        ledger = await run_sync(self._snapshot)
        return pages.page("pilot", study=ledger.study, token=token, questions=await run_sync(pilot, ledger))

    async def export(self, request: Request) -> Response:
        self._token(request)
        everything = request.query_params.get("everything") == "yes"
        ledger = await run_sync(self._snapshot)

        def lines() -> Iterator[bytes]:
            for dialogue in exported(ledger, self._dialogues, everything=everything):
                yield dump(dialogue) + b"\n"

        name = 'attachment; filename="ratings.jsonl"'
        return StreamingResponse(
            lines(), media_type="application/jsonl", headers={"content-disposition": name}
        )

    async def act(self, request: Request) -> Response:
        token = self._token(request)
        fields = await form(request, self._book.ledger.head["secret"], token)
        action = fields.get("action")
        if action in ("close", "open"):
            if self._book.ledger.closed != (action == "close"):
                self._book.note("closed" if action == "close" else "opened")
        elif action == "invite":
            self._invite(fields.get("count", ""))
        elif action in ("hold", "release"):
            self._moderate(action, fields.get("rater", ""), fields.get("slot", ""))
        elif action in ("doubt", "trust"):
            self._rely(fields.get("rater", ""), doubted=action == "doubt")
        else:
            raise HTTPException(400, "There is no such action.")
        await self._book.settled()
        return RedirectResponse(f"/admin/{token}", 303)

    def _invite(self, count: str) -> None:
        if not 1 <= whole(count) <= MOST_INVITED:
            raise HTTPException(422, f"Between 1 and {MOST_INVITED} raters can be invited at once.")
        invite(self._book, whole(count))

    def _moderate(self, action: str, name: str, number: str) -> None:
        rater = self._book.ledger.raters.get(name)
        place = whole(number)
        if rater is None or not 1 <= place <= len(rater.slots) or rater.slots[place - 1].answer is None:
            raise HTTPException(404)
        if rater.slots[place - 1].held != (action == "hold"):
            self._book.note("held" if action == "hold" else "released", name, slot=place)

    def _rely(self, name: str, *, doubted: bool) -> None:
        rater = self._book.ledger.raters.get(name)
        if rater is None:
            raise HTTPException(404)
        if rater.doubted != doubted:
            self._book.note("doubted" if doubted else "trusted", name)

    def _snapshot(self) -> Ledger:
        return reading(self._book.place, self._book.ledger.blank())

    def _token(self, request: Request) -> str:
        token: str = request.path_params["token"]
        if not compare_digest(token.encode(), self._book.ledger.head["admin"].encode()):
            self._guesses.check(request.client.host if request.client else "")
            raise HTTPException(404)
        return token


def invite(book: Book, count: int) -> None:
    """So many more raters, called `rater-1`, `rater-2`, ..."""
    number = 0
    for _ in range(count):
        while f"rater-{(number := number + 1)}" in book.ledger.raters:
            continue
        book.invite(f"rater-{number}")
