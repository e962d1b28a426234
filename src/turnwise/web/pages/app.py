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
from turnwise.web.pages.basic import front_page, http_error, static
from turnwise.web.pages.rating import RaterPages
from turnwise.web.pages.security import SecurityHeaders
from turnwise.web.study.recorder import Recorder


def app(
    recorder: Recorder,
    dialogues: Sequence[Dialogue] = (),
    agents: Mapping[str, Agent] | None = None,
    *,
    url: str | None = None,
) -> ASGIApp:
    """The web application of one study; `url` is its public address, if that differs from the one in requests."""
    rating, admin = RaterPages(recorder, agents or {}), AdminPages(recorder, dialogues, url=url)
    # The outermost layer, so that pages of server errors have the headers too.
    return SecurityHeaders(
        Starlette(
            routes=[
                Route("/", front_page),
                Route("/static/{name}", static),
                Route("/r/{token}", rating.page),
                Route("/r/{token}", rating.begin, methods=["POST"]),
                Route("/r/{token}/{number}", rating.earlier),
                Route("/r/{token}/{number}", rating.answer, methods=["POST"]),
                Route("/r/{token}/{number}/say", rating.say, methods=["POST"]),
                Route("/r/{token}/{number}/end", rating.end, methods=["POST"]),
                Route("/admin/{token}", admin.page),
                Route("/admin/{token}", admin.act, methods=["POST"]),
                Route("/admin/{token}/pilot", admin.pilot),
                Route("/admin/{token}/export.jsonl", admin.export),
            ],
            exception_handlers={
                HTTPException: http_error,
                TurnwiseError: _storage_error,
                Exception: _server_error,
            },
        )
    )


async def _storage_error(_: Request, __: Exception) -> Response:
    """The page of an error of turnwise, such as one of the store: status 503."""
    words = (
        "Answers cannot be stored or read at the moment, and what you sent just now was not saved."
        " Please tell the people who run this study, and try again later."
    )
    return pages.render("message", 503, title="Not stored", message=words)


async def _server_error(_: Request, __: Exception) -> Response:
    """The page of an unexpected error: status 500."""
    words = "Something went wrong on the server. Your earlier answers are safe; please try again."
    return pages.render("message", 500, title="Not possible", message=words)
