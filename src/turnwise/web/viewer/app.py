"""The viewer's web application: its routes and its error pages. Every route only reads."""

from collections.abc import Awaitable, Callable

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from turnwise.errors import TurnwiseError
from turnwise.web.pages import templates
from turnwise.web.pages.basic import BasicPages, static
from turnwise.web.pages.security import WRONG_LINK_LIMIT, RateLimiter, SecurityHeaders, check_token
from turnwise.web.study.messages import texts
from turnwise.web.viewer.links import Links
from turnwise.web.viewer.pages import Pages
from turnwise.web.viewer.viewer import Viewer

ENGLISH = texts("en")


def app(viewer: Viewer, token: str) -> ASGIApp:
    """The web application; `token` is the secret part of its addresses."""
    pages, basic = Pages(viewer, Links(viewer.index, token)), BasicPages(ENGLISH)
    wrong_links = RateLimiter(*WRONG_LINK_LIMIT)

    def answer(make: Callable[[QueryParams], Response]) -> Callable[[Request], Awaitable[Response]]:
        """The handler of this page; a wrong token in the address is the error 404 (often: 429)."""

        async def handler(request: Request) -> Response:
            """The page, made in a thread, so that a search holds up no other request."""
            check_token(request, token, wrong_links)
            return await run_sync(make, request.query_params)

        return handler

    # The outermost layer, so that pages of server errors have the headers too.
    return SecurityHeaders(
        Starlette(
            routes=[
                Route("/", basic.front_page),
                Route("/static/{name}", static),
                Route("/view/{token}", answer(pages.entries)),
                Route("/view/{token}/dialogue", answer(pages.dialogue)),
                Route("/view/{token}/beside", answer(pages.beside)),
                Route("/view/{token}/attacks", answer(pages.attacks)),
            ],
            exception_handlers={
                HTTPException: basic.http_error,
                TurnwiseError: _data_error,
                Exception: _server_error,
            },
        )
    )


async def _data_error(_: Request, error: Exception) -> Response:
    """The page of an error of turnwise, such as a file that has changed: status 503."""
    return templates.render("message", 503, title="Not possible", message=str(error), t=ENGLISH)


async def _server_error(_: Request, __: Exception) -> Response:
    """The page of an unexpected error: status 500."""
    return templates.render(
        "message", 500, title="Not possible", message="Something went wrong on the server.", t=ENGLISH
    )
