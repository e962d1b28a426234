"""The routes, and what they share: the book, the limits, and errors as pages."""

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
from turnwise.web.pages.rating import RaterPages
from turnwise.web.pages.security import Headers
from turnwise.web.study.book import Book


def app(
    book: Book,
    dialogues: Sequence[Dialogue] = (),
    agents: Mapping[str, Agent] | None = None,
    *,
    url: str | None = None,
) -> ASGIApp:
    """The rating app of one study; `url` is what people type for it, where that is not what requests say."""
    rating, admin = RaterPages(book, agents or {}), AdminPages(book, dialogues, url=url)
    # Around everything, so that the page of an error of ours has the headers too.
    return Headers(
        Starlette(
            routes=[
                Route("/", _front),
                Route("/static/{name}", _static),
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
            exception_handlers={HTTPException: _refused, TurnwiseError: _unstored, Exception: _failed},
        )
    )


async def _front(_: Request) -> Response:
    return pages.page("message", title="turnwise", message="Please open the link that you were given.")


async def _static(request: Request) -> Response:
    found = pages.static(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return found


async def _refused(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {
        404: "There is nothing at this address. Please check that the link is complete.",
        405: "That cannot be done here.",
    }
    detail = error.detail if isinstance(error, HTTPException) else ""
    found = pages.page("message", status, title="Not possible", message=words.get(status, detail))
    found.headers.update((isinstance(error, HTTPException) and error.headers) or {})
    return found


async def _unstored(_: Request, __: Exception) -> Response:
    words = (
        "Answers cannot be stored or read at the moment, and what you sent just now was not saved."
        " Please tell the people who run this study, and try again later."
    )
    return pages.page("message", 503, title="Not stored", message=words)


async def _failed(_: Request, __: Exception) -> Response:
    words = "Something went wrong on the server. Your earlier answers are safe; please try again."
    return pages.page("message", 500, title="Not possible", message=words)
