"""The web server: uvicorn with an app, without a server header and without an access log.

Requests are not logged because the address of a page has the token that gives access.
"""

import socket

import uvicorn
from starlette.types import ASGIApp

from turnwise.errors import UsageError

BACKLOG = 1024  # most connections that wait to be accepted


def open_socket(host: str, port: int) -> socket.socket:
    """A listening TCP socket; port 0 takes a free port. Raises `UsageError` if the address cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With an explicit protocol asyncio sets TCP_NODELAY; otherwise small packets wait up to 40 ms.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(BACKLOG)  # requests before the app has started wait in the queue
    except (OSError, OverflowError) as error:
        found.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error}; give another --port") from None
    return found


def serve(app: ASGIApp, sock: socket.socket, *, behind_proxy: bool = False) -> None:
    """Serve an app until interrupted, then finish open requests for up to 10 seconds.

    With `behind_proxy` the headers of a proxy are trusted.
    """
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=behind_proxy,
        timeout_graceful_shutdown=10,
        timeout_keep_alive=60,
        lifespan="off",
        backlog=BACKLOG,
    )
    uvicorn.Server(config).run(sockets=[sock])


def linked_host(host: str) -> str:
    """The host as a link from this machine has it: the loopback address for "all addresses", IPv6 in brackets."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{shown}]" if ":" in shown else shown
