"""What stands between the network and the study: tokens, forms, limits and headers."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 256 * 1024  # bytes of a form
MOST_FIELDS = 200
FORM = "application/x-www-form-urlencoded"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # The address is the key, so it must not leave; `no-referrer` would make browsers hide a form's origin too.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "x-robots-tag": "noindex",
}


class Headers:
    """Puts `HEADERS` on every response, errors included."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class Limiter:
    """Lets each key do `burst` things at once and `rate` a second after that."""

    MOST = 50_000  # keys remembered

    def __init__(self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # key -> allowance, as of when

    def check(self, key: str) -> None:
        now = self._clock()
        allowance, then = self._left.pop(key, (self._burst, now))
        allowance = min(self._burst, allowance + (now - then) * self._rate)
        self._left[key] = (max(allowance - 1, 0.0), now)
        if len(self._left) > self.MOST:
            self._left.popitem(last=False)
        if allowance < 1:
            wait = str(max(1, round(1 / self._rate)))
            raise HTTPException(429, "Too many requests; please wait a moment.", {"retry-after": wait})


def proof(secret: str, token: str) -> str:
    """What a form carries to show that it comes from a page that was served to the token's holder."""
    return hmac.digest(bytes.fromhex(secret), f"form:{token}".encode(), "sha256").hex()


def whole(text: str) -> int:
    """A small whole number; 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


async def form(request: Request, secret: str, token: str) -> Mapping[str, str]:
    """The fields of a form that one of our own pages sent."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "This form was sent from another site.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(415, "A form is expected.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            raise HTTPException(413, "That is too long.")
    try:
        fields = parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise HTTPException(400, "The form cannot be read.") from None
    values = {name: value.replace("\0", "") for name, value in fields}
    if not hmac.compare_digest(values.get("proof", "").encode(), proof(secret, token).encode()):
        raise HTTPException(403, "This page is too old; please open your link again.")
    return values
