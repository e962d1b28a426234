"""The web server: uvicorn with an app, without a server header and without an access log.

Requests are not logged because the address of a page has the token that gives access. Connections that do not send a
whole request in time are closed, and when there are as many as the process can hold, the oldest that has not sent one
yet makes room for a new one: thousands of half-sent requests (slowloris) do not keep raters out.
"""

import asyncio
import errno
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from turnwise.errors import UsageError

BACKLOG = 1024  # most connections that wait to be accepted
ACCEPTED = (
    64  # most connections that are accepted at once; a few turns pass before the oldest make room for them
)
HEAD_SECONDS = (
    10.0  # time for the first line and the headers of a request, from the connection or the first byte
)
BODY_SECONDS = 30.0  # time for the body of a request
MAX_CONNECTIONS = 4096  # most connections at once, where the system allows as many open files
SPARE_FILES = (
    100 + 4 * ACCEPTED
)  # open files that are no connections, or connections that are not counted yet
_NOWHERE = "192.0.2.1"  # an address of documentation (RFC 5737); nothing is sent to it


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
    app: ASGIApp,
    sock: socket.socket,
    *,
    behind_proxy: bool = False,
    meanwhile: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Serve an app until interrupted, then finish open requests for up to 10 seconds.

    With `behind_proxy` the headers of a proxy are trusted. `meanwhile` runs on the same event loop and is cancelled at
    the end.
    """
    waiting = Waiting(connection_limit())

    class Protocol(GuardedProtocol):
        """The protocol with the list of this server's connections."""

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, waiting=waiting, **named)

    config = uvicorn.Config(
        app,
        http=Protocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=behind_proxy,
        timeout_graceful_shutdown=10,
        timeout_keep_alive=60,
        lifespan="off",  # it prints a traceback if the server is interrupted while it starts
        backlog=ACCEPTED,
    )
    _Server(config, meanwhile).run(sockets=[sock])


class _Server(uvicorn.Server):
    """uvicorn's server with a long queue of waiting connections, of which few are accepted at once.

    asyncio uses one number for both. Accepting a thousand at once would use up the open files before any is closed.
    """

    def __init__(
        self, config: uvicorn.Config, meanwhile: Callable[[], Coroutine[Any, Any, None]] | None
    ) -> None:
        super().__init__(config)
        self._meanwhile = meanwhile
        self._task: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, make the queue longer, and begin what runs meanwhile."""
        await super().startup(sockets)
        for sock in sockets or []:
            sock.listen(BACKLOG)
        if self._meanwhile is not None:
            self._task = asyncio.create_task(self._meanwhile())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish open requests, and end what runs meanwhile."""
        await super().shutdown(sockets)
        if self._task is not None:
            self._task.cancel()


def connection_limit() -> int:
    """How many connections the process may hold; the soft limit of open files is raised to the hard one."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return (
        MAX_CONNECTIONS
        if soft == resource.RLIM_INFINITY
        else max(10, min(MAX_CONNECTIONS, soft - SPARE_FILES))
    )


class Waiting:
    """The connections on which no request is being answered, each kind with the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most  # connections at once
        self._new: OrderedDict[GuardedProtocol, None] = OrderedDict()  # have not sent a whole request yet
        self._idle: OrderedDict[GuardedProtocol, None] = OrderedDict()  # between two requests

    def add_new(self, one: "GuardedProtocol", count: int) -> None:
        """Add a new connection; if there are `count` and that is too many, one that waits is closed.

        It is the oldest that has not sent a request yet. Raters who think between two requests come last.
        """
        if count > self._most and (kind := self._new or self._idle):
            kind.popitem(last=False)[0].transport.abort()
        self._new[one] = None

    def add_idle(self, one: "GuardedProtocol") -> None:
        """Add a connection whose request was answered."""
        self._idle[one] = None

    def remove(self, one: "GuardedProtocol") -> None:
        """Remove a connection that has sent a request, or is closed."""
        self._new.pop(one, None)
        self._idle.pop(one, None)


class GuardedProtocol(H11Protocol):
    """uvicorn's HTTP protocol with limits on the time of a request's head and body, and on connections."""

    def __init__(self, *given: Any, waiting: Waiting, **named: Any) -> None:
        super().__init__(*given, **named)
        self._waiting = waiting
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; at the limit another connection that waits is closed."""
        super().connection_made(transport)
        self._wait(HEAD_SECONDS)
        self._waiting.add_new(self, len(self.connections))

    def data_received(self, data: bytes) -> None:
        """Handle bytes; the time limit depends on which part of a request they end in."""
        before = self.conn.their_state
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.IDLE:  # the head is not complete; more bytes of it do not give more time
            if self._timer is None:
                self._wait(HEAD_SECONDS)
            return
        self._waiting.remove(self)
        if state is not h11.SEND_BODY:
            self._stop_waiting()
        elif before is not h11.SEND_BODY:
            self._wait(BODY_SECONDS)

    def on_response_complete(self) -> None:
        """Keep the connection for the next request; uvicorn's own limit of idle connections holds until its head."""
        super().on_response_complete()
        self._stop_waiting()
        if not self.transport.is_closing():
            self._waiting.add_idle(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._waiting.remove(self)
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self, seconds: float) -> None:
        """Close the connection if the awaited part of a request does not come in time."""
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        """Cancel the time limit."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def linked_host(host: str) -> str:
    """The host as a link has it: for "all addresses" that of this machine in its network, IPv6 in brackets."""
    if host in ("0.0.0.0", "::"):
        host = network_address(socket.AF_INET6 if host == "::" else socket.AF_INET)
    return f"[{host}]" if ":" in host else host


def network_address(family: socket.AddressFamily) -> str:
    """The address of this machine in its network, or the loopback address if it is in none. Nothing is sent."""
    nowhere, loopback = (_NOWHERE, "127.0.0.1") if family is socket.AF_INET else ("2001:db8::1", "::1")
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((nowhere, 9))
        except OSError as error:
            if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL):
                return loopback
            raise
        return str(probe.getsockname()[0])
