"""The pages that both apps have: the bare address, static files and HTTP errors."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from turnwise.web.pages import templates as pages


async def front_page(_: Request) -> Response:
    """The page of the bare address, which asks to open one's own link."""
    return pages.render("message", title="turnwise", message="Please open the link that you were given.")


async def static(request: Request) -> Response:
    """A style sheet, script or icon; the error 404 for any other name."""
    found = pages.static_file(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return found


async def http_error(_: Request, error: Exception) -> Response:
    """The page of an HTTP error, with its status and headers; 404 and 405 have a fixed text, others its detail."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {
        404: "There is nothing at this address. Please check that the link is complete.",
        405: "That cannot be done here.",
    }
    detail = error.detail if isinstance(error, HTTPException) else ""
    found = pages.render("message", status, title="Not possible", message=words.get(status, detail))
    found.headers.update((isinstance(error, HTTPException) and error.headers) or {})
    return found
