"""Security of the web server: CSRF tokens, form parsing, rate limits and response headers."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_FORM_BYTES = 256 * 1024  # most bytes of a form
MAX_FIELDS = 200  # most fields of a form
WRONG_LINK_LIMIT = 0.5, 10  # wrong links per second and burst of one network address
FORM = "application/x-www-form-urlencoded"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # The address has the token, so other sites must not get it. `no-referrer` would also hide the origin of forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "x-robots-tag": "noindex",
}


class SecurityHeaders:
    """An ASGI layer that adds `HEADERS` to every HTTP response, including errors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            """Send the message; a response start gets the headers."""
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class RateLimiter:
    """Limits the actions of each key to a burst of `burst` and then `rate` per second (token bucket)."""

    MAX_KEYS = 50_000  # most keys that are remembered

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._allowances: OrderedDict[str, tuple[float, float]] = (
            OrderedDict()
        )  # key -> allowance and its time

    def check(self, key: str) -> None:
        """Count one action of `key`; raise the error 429 if it exceeds the limit.

        Of more than 50,000 keys those used longest ago are forgotten.
        """
        now = self._clock()
        allowance, then = self._allowances.pop(key, (self._burst, now))
        allowance = min(self._burst, allowance + (now - then) * self._rate)
        self._allowances[key] = (max(allowance - 1, 0.0), now)
        if len(self._allowances) > self.MAX_KEYS:
            self._allowances.popitem(last=False)
        if allowance < 1:
            wait = str(max(1, round(1 / self._rate)))
            raise HTTPException(429, "error.too_many", {"retry-after": wait})


def check_token(request: Request, expected: str, wrong_links: RateLimiter) -> str:
    """The token of the address if it is the expected one; else the error 404, or 429 after many wrong ones."""
    token: str = request.path_params["token"]
    if not hmac.compare_digest(token.encode(), expected.encode()):
        wrong_links.check(request.client.host if request.client else "")
        raise HTTPException(404)
    return token


@lru_cache(maxsize=4096)
def csrf_token(secret: str, token: str) -> str:
    """The CSRF token of a form: an HMAC of `token`, which only pages served to the holder of `token` have."""
    return hmac.digest(bytes.fromhex(secret), f"form:{token}".encode(), "sha256").hex()


def parse_number(text: str) -> int:
    """The number that a text of one to nine ASCII digits spells; 0 for any other text, also for a negative number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


async def read_form(request: Request, secret: str, token: str) -> Mapping[str, str]:
    """The fields of a form that was sent from a page of this server.

    HTTP errors: 403 for another site or a wrong CSRF token, 415 for no form, 413 if too large, 400 if unreadable.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "error.other_site")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(415, "error.no_form")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise HTTPException(413, "error.too_large")
    try:
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise HTTPException(400, "error.unreadable") from None
    values = {name: value.replace("\0", "") for name, value in fields}
    if not hmac.compare_digest(values.get("proof", "").encode(), csrf_token(secret, token).encode()):
        raise HTTPException(403, "error.too_old")
    return values
