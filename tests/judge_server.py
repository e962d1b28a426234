"""Local HTTP servers with the chat-completions interface, which answer correctly or fail in a chosen way.

`serving(behave)` starts one; `behave` is called with each request and must answer it. The server records all requests
and the largest number of simultaneous ones.
"""

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

CRITERION = re.compile(r"(CRITERION \d+) [0-9a-f]+: X")
FORM = re.compile(r"(?:VERDICT|CRITERION \d+) ([0-9a-f]+): X")


@dataclass
class Exchange:
    """One request, with methods to answer it."""

    number: int  # from 0
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    socket: socket.socket
    closing: Event  # set when the server stops; a behaviour that hangs must wait for it
    ended: Callable[[], None]  # marks the request as no longer running

    def send(self, status: int, data: bytes | str, **headers: str) -> None:
        data = data.encode() if isinstance(data, str) else data
        lines = {"Content-Type": "application/json", "Content-Length": str(len(data)), "Connection": "close"}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.raw(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + data)

    def raw(self, data: bytes) -> None:
        self.ended()  # before the client receives the answer and sends its next request
        self.socket.sendall(data)

    def say(self, text: str | None, **more: Any) -> None:
        """Answer with a chat completion of this text."""
        finish = more.pop("finish_reason", "stop")
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, **more},
            "finish_reason": finish,
        }
        self.send(200, json.dumps({"object": "chat.completion", "choices": [choice]}))

    @property
    def code(self) -> str:
        """The code that the verdict must contain."""
        return FORM.findall(self.body["messages"][-1]["content"])[-1]

    def quoted(self) -> list[dict[str, str]]:
        """The messages that are quoted in the question; the scored replies come last."""
        lines = self.body["messages"][1]["content"].splitlines()
        return [json.loads(line) for line in lines if line.startswith('{"role"')]


@dataclass
class Server:
    address: str
    requests: list[Exchange] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    most_at_once: int = 0


@contextmanager
def serving(behave: Callable[[Exchange], None]) -> Iterator[Server]:
    lock, closing = Lock(), Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.close_connection = True
            data = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                number = len(server.requests)
                exchange = Exchange(
                    number=number,
                    path=self.path,
                    headers=dict(self.headers),
                    body=json.loads(data),
                    socket=self.connection,
                    closing=closing,
                    ended=lambda: server.running.discard(number),
                )
                server.requests.append(exchange)
                server.running.add(number)
                server.most_at_once = max(server.most_at_once, len(server.running))
            try:
                behave(exchange)
            except ConnectionError:  # the client closed the connection
                pass
            finally:
                exchange.ended()

        def log_message(self, *_: Any) -> None: ...

    class Listener(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_: Any) -> None: ...

    with Listener(("127.0.0.1", 0), Handler) as listener:
        server = Server(f"http://127.0.0.1:{listener.server_port}/v1")
        thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            closing.set()
            listener.shutdown()
            thread.join()


def by_length(exchange: Exchange) -> None:
    """A judge that scores by length: a point for every four words, at most five; of two it takes the longer.

    It answers yes to each criterion.
    """
    asked = exchange.body["messages"][1]["content"]
    lengths = [0, 0, *(len(message["content"].split()) for message in exchange.quoted())]
    value = str(min(5, 1 + lengths[-1] // 4))
    if asked.startswith("Compare two"):
        value = "A" if lengths[-2] > lengths[-1] else "B" if lengths[-2] < lengths[-1] else "TIE"
    criteria = "".join(f"{label} {exchange.code}: yes\n" for label in CRITERION.findall(asked))
    verdict = f"VERDICT {exchange.code}: {value}" if f"VERDICT {exchange.code}: X" in asked else ""
    exchange.say(f"It has {lengths[-1]} words, where 7 would do.\n\n{criteria}{verdict}")
