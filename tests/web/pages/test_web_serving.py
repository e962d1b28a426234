"""The server against slow clients, and what it says about its address."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from tests.rating_server import PATIENCE
from turnwise.web.pages import serving

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-"


@contextmanager
def running(monkeypatch: pytest.MonkeyPatch, *, most: int = 4096) -> Iterator[int]:
    """The server with a small app, in a thread; its port."""
    started: list[uvicorn.Server] = []

    class Known(serving._Server):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            started.append(self)

        def install_signal_handlers(self) -> None:
            """Only the main thread may."""

    async def app(scope, receive, send):
        if scope["method"] == "POST":
            while (await receive()).get("more_body"):
                continue
        await PlainTextResponse("here")(scope, receive, send)

    monkeypatch.setattr(serving, "connection_limit", lambda: most)
    monkeypatch.setattr(serving, "_Server", Known)
    with serving.open_socket("127.0.0.1", 0) as sock:
        thread = threading.Thread(target=serving.serve, args=(app, sock), daemon=True)
        thread.start()
        yield sock.getsockname()[1]
        started[0].should_exit = True
        thread.join(PATIENCE)


def is_closed(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_half_a_head_and_half_a_body_are_closed_in_time(monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(serving, "BODY_SECONDS", 1.0)
    with running(monkeypatch) as port, ExitStack() as stack:
        silent, half, drip, body = (
            stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(4)
        )
        half.sendall(HALF)
        body.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab")
        for _ in range(4):  # a byte now and then does not give more time
            time.sleep(0.2)
            try:
                drip.sendall(b"G")
            except ConnectionError:
                break
        assert all(
            is_closed(connection, 9) for connection in (silent, half, drip)
        )  # before the usual 10 seconds
        assert is_closed(body, 20)  # before the usual 30
        monkeypatch.setattr(serving, "HEAD_SECONDS", PATIENCE)  # a busy machine may need longer for a head
        assert httpx2.get(f"http://127.0.0.1:{port}/", timeout=PATIENCE).text == "here"


def test_a_head_that_comes_in_two_pieces_leaves_time_for_the_body(monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 2.0)
    monkeypatch.setattr(serving, "BODY_SECONDS", 20.0)
    with running(monkeypatch) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n")
        time.sleep(0.2)
        connection.sendall(b"Content-Length: 4\r\n\r\nab")
        time.sleep(2.5)  # longer than a head may take
        connection.sendall(b"cd")
        connection.settimeout(PATIENCE)
        assert b"200 OK" in connection.recv(1000)


def test_an_open_connection_can_be_used_again(monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 3.0)  # enough on a busy machine
    with running(monkeypatch) as port, httpx2.Client(timeout=PATIENCE) as client:
        assert client.get(f"http://127.0.0.1:{port}/").text == "here"
        time.sleep(3.5)  # longer than a head may take, but no head has begun
        assert client.get(f"http://127.0.0.1:{port}/").text == "here"


def test_at_the_limit_the_connection_that_waits_longest_makes_room(monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", PATIENCE)
    with running(monkeypatch, most=20) as port, ExitStack() as stack:
        attack = []
        for _ in range(60):
            attack.append(stack.enter_context(socket.create_connection(("127.0.0.1", port))))
            attack[-1].sendall(HALF)
        began = time.monotonic()
        assert httpx2.get(f"http://127.0.0.1:{port}/", timeout=PATIENCE).text == "here"
        assert time.monotonic() - began < PATIENCE / 2  # before a half head is closed
        assert is_closed(attack[0], PATIENCE / 2)
        assert not is_closed(attack[-1], 0.1)


def test_at_the_limit_a_rater_who_thinks_keeps_the_connection(monkeypatch):
    with running(monkeypatch, most=20) as port, ExitStack() as stack:
        thinking = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        ask = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        thinking.settimeout(PATIENCE)
        answers = thinking.makefile("rb")
        thinking.sendall(ask)
        assert b"200 OK" in answers.readline()
        for _ in range(60):
            stack.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(HALF)
        time.sleep(0.3)
        thinking.sendall(ask)
        rest = b""
        while b"200 OK" not in rest:  # after the rest of the first answer
            rest += answers.read1()


def test_all_addresses_are_linked_by_that_of_the_network():
    host = serving.linked_host("0.0.0.0")
    assert host != "0.0.0.0"
    assert socket.inet_aton(host)
    assert serving.linked_host("::1") == "[::1]"
    assert serving.linked_host("rate.example.org") == "rate.example.org"
