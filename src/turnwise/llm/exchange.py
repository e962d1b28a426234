"""One HTTP request on a connection of its own, with limits on time and size. Redirects are not followed."""

import socket
from collections.abc import Mapping
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Timer
from time import monotonic
from typing import NamedTuple
from urllib.parse import SplitResult


class Response(NamedTuple):
    """A response of a server: the status, the headers and the body."""

    status: int
    head: Message
    data: bytes


def exchange(
    url: SplitResult,
    body: bytes,
    headers: Mapping[str, str],
    *,
    until: float,
    method: str = "POST",
    connect: float = 10.0,
    silence: float = 120.0,
    largest: int = 2**22,
) -> Response:
    """Send one request, and read the response until the time `until` of `monotonic`.

    `connect` and `silence` are seconds, `largest` the most bytes of a body. Raises `OSError` or `HTTPException` for
    timeouts, and for bodies that are too large or incomplete.
    """
    connection = (HTTPSConnection if url.scheme == "https" else HTTPConnection)(
        url.hostname or "", url.port, timeout=max(0.001, min(connect, until - monotonic()))
    )
    watchdog: Timer | None = None
    try:
        connection.connect()
        connection.sock.settimeout(silence)
        # A server that sends a byte now and then never causes a socket timeout: the deadline closes the socket.
        watchdog = Timer(until - monotonic(), _hang_up, (connection.sock,))
        watchdog.daemon = True
        watchdog.start()
        connection.request(method, f"{url.path}?{url.query}".rstrip("?"), body, dict(headers))
        response = connection.getresponse()
        with response:
            data = response.read(largest + 1)
            if monotonic() >= until:
                raise TimeoutError
            if len(data) > largest:
                raise HTTPException(f"an answer of more than {largest} bytes")
            if response.length:
                raise HTTPException("the connection closed in the middle of an answer")
            return Response(response.status, response.headers, data)
    finally:
        if watchdog is not None:
            watchdog.cancel()
        connection.close()


def clean(text: str) -> str:
    """The text on one line, without unprintable characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _hang_up(connected: socket.socket) -> None:
    """Shut the socket down from another thread; nothing if it is closed already."""
    try:
        # Not the socket's own method: that of a TLS socket also removes state that another thread is using.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
    except OSError:  # it is closed already
        return
