"""The web application: its routes and its error pages."""

from collections.abc import Mapping, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from turnwise.errors import TurnwiseError
from turnwise.types import Agent, Dialogue
from turnwise.web.pages import templates as pages
from turnwise.web.pages.admin import AdminPages
from turnwise.web.pages.basic import BasicPages, static
from turnwise.web.pages.entering import EntryPages
from turnwise.web.pages.rating import RaterPages
from turnwise.web.pages.security import SecurityHeaders
from turnwise.web.study.messages import texts
from turnwise.web.study.recorder import Recorder


def app(
    recorder: Recorder,
    dialogues: Sequence[Dialogue] = (),
    agents: Mapping[str, Agent] | None = None,
    *,
    url: str | None = None,
) -> ASGIApp:
    """The web application of one study; `url` is its public address, if that differs from the one in requests."""
    t = texts(recorder.ledger.study.language)
    rating, admin = RaterPages(recorder, agents or {}), AdminPages(recorder, dialogues, url=url)
    entering, basic = EntryPages(recorder, rating), BasicPages(t)

    async def storage_error(_: Request, __: Exception) -> Response:
        """The page of an error of turnwise, such as one of the store: status 503."""
        return pages.render("message", 503, title=t["error.not_stored"], message=t["error.cannot_store"], t=t)

    async def server_error(_: Request, __: Exception) -> Response:
        """The page of an unexpected error: status 500."""
        return pages.render("message", 500, title=t["error.not_possible"], message=t["error.server"], t=t)

    # The outermost layer, so that pages of server errors have the headers too.
    return SecurityHeaders(
        Starlette(
            routes=[  # tried in this order, so the most frequent requests come first
                Route("/r/{token}", rating.page),
                Route("/r/{token}", rating.begin, methods=["POST"]),
                Route("/r/{token}/consent", entering.consent, methods=["POST"]),
                Route("/r/{token}/screening", entering.screen, methods=["POST"]),
                Route("/r/{token}/{number}", rating.earlier),
                Route("/r/{token}/{number}", rating.answer, methods=["POST"]),
                Route("/r/{token}/{number}/say", rating.say, methods=["POST"]),
                Route("/r/{token}/{number}/live", rating.live),
                Route("/r/{token}/{number}/end", rating.end, methods=["POST"]),
                Route("/", basic.front_page),
                Route("/static/{name}", static),
                Route("/join", entering.look),
                Route("/join", entering.join, methods=["POST"]),
                Route("/admin/{token}", admin.page),
                Route("/admin/{token}", admin.act, methods=["POST"]),
                Route("/admin/{token}/pilot", admin.pilot),
                Route("/admin/{token}/payments.csv", admin.payments),
                Route("/admin/{token}/export.jsonl", admin.export),
            ],
            exception_handlers={
                HTTPException: basic.http_error,
                TurnwiseError: storage_error,
                Exception: server_error,
            },
        )
    )
