"""The server: uvicorn around the app, telling nothing about itself and logging no addresses, which are keys."""

import socket
from collections.abc import Mapping, Sequence

import uvicorn

from turnwise.errors import UsageError
from turnwise.types import Agent, Dialogue
from turnwise.web.pages.app import app
from turnwise.web.study.book import Book

BACKLOG = 1024  # connections that wait to be accepted


def listening(host: str, port: int) -> socket.socket:
    """A socket that connections can queue at; with port 0 a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends small packets at once instead of waiting 40 ms for company.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(BACKLOG)  # from now on a link works, if only once the app has started
    except (OSError, OverflowError) as error:
        found.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error}; --port names another") from None
    return found


def serve(
    book: Book,
    dialogues: Sequence[Dialogue],
    agents: Mapping[str, Agent],
    *,
    sock: socket.socket,
    url: str | None = None,
) -> None:
    """Serves until interrupted, then lets open requests end; with a `url` of its own, a proxy stands before it."""
    config = uvicorn.Config(
        app(book, dialogues, agents, url=url),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=url is not None,
        timeout_graceful_shutdown=10,
        timeout_keep_alive=60,
        lifespan="off",
        backlog=BACKLOG,
    )
    uvicorn.Server(config).run(sockets=[sock])
