"""The web server: uvicorn with the app, without a server header and without an access log.

Requests are not logged because the address of a page has the token that gives access.
"""

import socket
from collections.abc import Mapping, Sequence

import uvicorn

from turnwise.errors import UsageError
from turnwise.types import Agent, Dialogue
from turnwise.web.pages.app import app
from turnwise.web.study.recorder import Recorder

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


def serve(
    recorder: Recorder,
    dialogues: Sequence[Dialogue],
    agents: Mapping[str, Agent],
    *,
    sock: socket.socket,
    url: str | None = None,
) -> None:
    """Serve until interrupted, then finish open requests for up to 10 seconds.

    With `url`, the public address, the server is behind a proxy and trusts its headers.
    """
    config = uvicorn.Config(
        app(recorder, dialogues, agents, url=url),
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
