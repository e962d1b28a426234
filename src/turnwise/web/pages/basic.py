"""The pages that both apps have: the bare address, static files and HTTP errors."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from turnwise.web.pages import templates as pages
from turnwise.web.study.messages import Texts


class BasicPages:
    """The handlers of the bare address and of HTTP errors, in one language."""

    def __init__(self, t: Texts) -> None:
        self._texts = t

    async def front_page(self, _: Request) -> Response:
        """The page of the bare address, which asks to open one's own link."""
        return pages.render("message", title="turnwise", message=self._texts["page.front"], t=self._texts)

    async def http_error(self, _: Request, error: Exception) -> Response:
        """The page of an HTTP error, with its status and headers.

        404 and 405 have a fixed text; of others the detail is the key of a text, or the text itself.
        """
        t = self._texts
        status = error.status_code if isinstance(error, HTTPException) else 500
        fixed = {404: "error.not_found", 405: "error.not_allowed"}
        detail = error.detail if isinstance(error, HTTPException) else "error.server"
        words = t.get(fixed.get(status, detail))
        found = pages.render("message", status, title=t["error.not_possible"], message=words, t=t)
        found.headers.update((isinstance(error, HTTPException) and error.headers) or {})
        return found


async def static(request: Request) -> Response:
    """A style sheet, script or icon; the error 404 for any other name."""
    found = pages.static_file(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return found
