"""Client of a chat model behind an OpenAI-compatible address: concurrent requests with limits on time, tries and size.

A question is the body of a chat-completions request; the result has its answer or error at the same index. Each
question uses its own connection. A temporary failure (no connection, timeout, HTTP 408, 425, 429 and 5xx, a response
that is broken or no chat completion) is tried again after a wait that doubles, is jittered, and is at least the
server's Retry-After. A permanent failure (a wrong key, an unknown model, a redirect) ends the whole list at once, and
so do `patience` consecutive questions without an answer.

The key is read from TURNWISE_API_KEY, otherwise from OPENAI_API_KEY, when a question is sent; it is stored in no field,
file or message. The latter was not set for turnwise, so it is sent over https only. Proxies are not used, and redirects
are not followed.
"""

import json
import os
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, responses
from threading import Event, Lock, Thread, Timer
from time import monotonic, time
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import SplitResult, urlsplit

import msgspec
import numpy as np

from turnwise.errors import Unmeasured, UsageError

Question: TypeAlias = Mapping[str, Any]  # the body of a request
_PASSING = frozenset({408, 425, 429})  # temporary HTTP statuses, and every 5xx
_FINAL = frozenset({401, 403, 404, 405})  # permanent HTTP statuses, and every 3xx


class ChatError(Unmeasured):
    """The server rejects this question; base of the two other errors."""


class Unanswered(ChatError):
    """The server does not answer at present, or the question was not sent because others failed."""


class Denied(ChatError):
    """The server rejects every question of this kind, so no other one is sent."""


class _FailedTry(Exception):
    """A request failed in a way that may pass: it can be tried again after `wait` seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Completion(NamedTuple):
    """The text with which a model answered a question ("" if it refused without one)."""

    text: str
    refused: bool = False
    cut: bool = False  # whether the answer was cut at the largest number of tokens


class _Message(msgspec.Struct):
    """The message of a choice."""

    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    """One choice of a completion."""

    message: _Message
    finish_reason: str | None = None


class _Response(msgspec.Struct):
    """The part of a server's response that is read."""

    choices: list[_Choice]


class _StreamedChoice(msgspec.Struct):
    """One choice of a chunk."""

    delta: _Message


class _Chunk(msgspec.Struct):
    """The part of a streamed chunk that is read; the last one may have no choice."""

    choices: list[_StreamedChoice] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A client for one address, with limits on time, tries and size."""

    address: str  # https://host/v1; a bare host means its /v1
    concurrency: int = 8  # concurrent requests of this process
    connect: float = 10.0  # seconds
    silence: float = 120.0  # seconds without a byte; an answer that is not streamed arrives all at once
    deadline: float = 300.0  # seconds for one question, with all tries and waits
    tries: int = 4
    backoff: float = 1.0  # seconds before the second try
    patience: int = 8  # consecutive questions without an answer before giving up
    largest: int = 2**22  # largest size of an answer in bytes

    def __post_init__(self) -> None:
        _target(self.address)
        if min(self.concurrency, self.tries, self.patience) < 1:
            raise UsageError("a chat needs a concurrency, a number of tries and a patience of 1 or more")

    def ask(self, questions: Sequence[Question], *, rng: np.random.Generator) -> list[Completion | ChatError]:
        """For each question in order, its answer or the error; errors are returned, not raised.

        Questions that were not sent because the batch was stopped get `Unanswered`. `rng` is used only to jitter the
        waits. Only an invalid key in the environment (`UsageError`) and a defect raise.
        """
        batch = _Batch(
            self, [json.dumps(question).encode() for question in questions], _headers(self.address)
        )
        threads = min(self.concurrency, len(questions))
        # Daemon threads: an interrupted program does not wait for a silent server.
        workers = [Thread(target=batch.work, args=(each,), daemon=True) for each in rng.spawn(threads)]
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        finally:
            batch.stop.set()
        return batch.collect()

    def stream(self, question: Question) -> Iterator[str]:
        """The pieces of one answer as the server sends them (`stream: true`), in one try.

        A server that does not stream gives one piece. Raises a `ChatError`, also after some pieces.
        """
        place, url = _target(self.address).netloc, _target(self.address)
        headers = _headers(self.address)
        connection = (HTTPSConnection if url.scheme == "https" else HTTPConnection)(
            url.hostname or "", url.port, timeout=self.connect
        )
        try:
            connection.connect()
            connection.sock.settimeout(self.silence)
            body = json.dumps({**question, "stream": True}).encode()
            connection.request("POST", f"{url.path}?{url.query}".rstrip("?"), body, dict(headers))
            with connection.getresponse() as response:
                if response.status != 200:
                    complaint = _complaint(response.read(10_000), headers)
                    raise ChatError(f"{place}: HTTP {response.status}{complaint}")
                if "text/event-stream" not in str(response.headers.get("Content-Type", "")):
                    try:
                        yield _read(response.read(self.largest), place).text
                    except _FailedTry as failure:
                        raise ChatError(str(failure)) from failure
                    return
                yield from _pieces(response, place, self.largest)
        except (OSError, HTTPException) as error:
            raise Unanswered(f"{place}: {_clean(str(error)) or type(error).__name__}") from error
        finally:
            connection.close()

    def _answer(
        self, body: bytes, headers: Mapping[str, str], *, rng: np.random.Generator, stop: Event
    ) -> Completion:
        """Ask one question, with as many tries as are needed and allowed; raises a `ChatError` in the end.

        `stop` ends the waiting between tries.
        """
        until, attempt = monotonic() + self.deadline, 1
        while True:
            try:
                return self._try(body, headers, until)
            except _FailedTry as failure:
                wait = max(failure.wait, self.backoff * 2 ** (attempt - 1)) * rng.uniform(1.0, 1.25)
                if attempt == self.tries or monotonic() + wait > until or stop.wait(wait):
                    asked = f", and it asks to wait {failure.wait:.0f} s" if failure.wait else ""
                    raise Unanswered(f"{failure} (tries: {attempt}{asked})") from failure
            attempt += 1

    def _try(self, body: bytes, headers: Mapping[str, str], until: float) -> Completion:
        """One try at a question.

        Raises `_FailedTry` for a temporary failure, `Denied` for a permanent one, `ChatError` for one of this question.
        `until` is the time of `monotonic` by which it must end.
        """
        place = _target(self.address).netloc
        try:
            status, head, data = self._exchange(body, headers, until)
        except ssl.SSLCertVerificationError as error:
            raise Denied(f"{place}: its certificate is not to be trusted: {error.verify_message}") from error
        except (OSError, HTTPException) as error:
            if monotonic() >= until:
                raise _FailedTry(f"{place} did not finish within {self.deadline:g} s") from error
            if isinstance(error, TimeoutError):
                raise _FailedTry(
                    f"{place} was silent for {self.silence:g} s, or took no connection"
                ) from error
            raise _FailedTry(f"{place}: {_clean(str(error)) or type(error).__name__}") from error
        if status == 200:
            return _read(data, place)
        reason = f"{place}: HTTP {status} {responses.get(status, '')}".rstrip() + _complaint(data, headers)
        if status in _PASSING or status >= 500:
            raise _FailedTry(reason, _retry_after(head))
        if status in _FINAL or status < 400:
            raise Denied(reason)
        raise ChatError(reason)

    def _exchange(self, body: bytes, headers: Mapping[str, str], until: float) -> tuple[int, Message, bytes]:
        """One POST on a new connection: the status, the headers and the body of the response.

        Raises `OSError` or `HTTPException` for timeouts, and for bodies that are too large or incomplete.
        """
        url = _target(self.address)
        connection = (HTTPSConnection if url.scheme == "https" else HTTPConnection)(
            url.hostname or "", url.port, timeout=max(0.001, min(self.connect, until - monotonic()))
        )
        watchdog: Timer | None = None
        try:
            connection.connect()
            connection.sock.settimeout(self.silence)
            # A server that sends a byte now and then never causes a socket timeout: the deadline closes the socket.
            watchdog = Timer(until - monotonic(), _hang_up, (connection.sock,))
            watchdog.daemon = True
            watchdog.start()
            connection.request("POST", f"{url.path}?{url.query}".rstrip("?"), body, dict(headers))
            response = connection.getresponse()
            with response:
                data = response.read(self.largest + 1)
                if monotonic() >= until:
                    raise TimeoutError
                if len(data) > self.largest:
                    raise HTTPException(f"an answer of more than {self.largest} bytes")
                if response.length:
                    raise HTTPException("the connection closed in the middle of an answer")
                return response.status, response.headers, data
        finally:
            if watchdog is not None:
                watchdog.cancel()
            connection.close()


def _pieces(response: HTTPResponse, place: str, largest: int) -> Iterator[str]:
    """The texts of a stream of chunks in server-sent events, until `[DONE]`; at most `largest` bytes.

    Raises `ChatError` for a chunk that is none, and for a stream that ends early.
    """
    size = 0
    while line := response.readline():
        size += len(line)
        if size > largest:
            raise ChatError(f"{place}: an answer of more than {largest} bytes")
        if not line.startswith(b"data:"):
            continue
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            return
        try:
            chunk = msgspec.json.decode(data, type=_Chunk)
        except msgspec.DecodeError as error:
            raise ChatError(f"{place}: a chunk that is none: {_clean(str(error))}") from error
        for choice in chunk.choices[:1]:
            if text := choice.delta.content or choice.delta.refusal:
                yield text
    raise ChatError(f"{place}: the connection closed in the middle of an answer")


class _Batch:
    """The shared state of the threads of one `ask`."""

    def __init__(self, chat: Chat, bodies: list[bytes], headers: Mapping[str, str]) -> None:
        self.chat, self.bodies, self.headers = chat, bodies, headers
        self.answers: list[Completion | ChatError | None] = [None] * len(bodies)
        self.indices = iter(range(len(bodies)))
        self.lock, self.stop = Lock(), Event()
        self.in_a_row = 0  # consecutive questions without an answer
        self.last: Completion | ChatError | None = None  # what stopped the batch
        self.broken: BaseException | None = None  # an unexpected exception in a thread

    def work(self, rng: np.random.Generator) -> None:
        """Ask questions until none is left or the batch is stopped; the loop of one thread."""
        try:
            while not self.stop.is_set():
                with self.lock:
                    index = next(self.indices, None)
                if index is None:
                    return
                self._settle(index, rng)
        except BaseException as error:
            self.broken = error
            self.stop.set()

    def _settle(self, index: int, rng: np.random.Generator) -> None:
        """Ask the question at `index` and store the result; stops the batch if it was denied or patience is over."""
        answer: Completion | ChatError
        try:
            answer = self.chat._answer(self.bodies[index], self.headers, rng=rng, stop=self.stop)
        except ChatError as error:
            answer = error
        with self.lock:
            self.answers[index] = answer
            self.in_a_row = self.in_a_row + 1 if isinstance(answer, Unanswered) else 0
            if isinstance(answer, Denied) or self.in_a_row >= self.chat.patience:
                self.last = self.last or answer
                self.stop.set()

    def collect(self) -> list[Completion | ChatError]:
        """The answers in order, `Unanswered` for questions not asked; raises an unexpected exception of a thread."""
        if self.broken is not None:
            raise self.broken
        return [
            answer or Unanswered(f"not asked, because another question failed: {self.last}")
            for answer in self.answers
        ]


def _target(address: str) -> SplitResult:
    """The URL of chat completions at this address; a `UsageError` if it is not valid or contains a password."""
    try:
        url = urlsplit(address)
        _ = url.port, (url.hostname or "").encode("idna")
    except ValueError as error:
        raise UsageError(f"the address {address!r} is not one: {error}") from error
    if url.username or url.password:
        raise UsageError("the address has a password in it: put the key into TURNWISE_API_KEY instead")
    if url.scheme not in ("http", "https") or not url.hostname or not address.isascii() or " " in address:
        raise UsageError(f"the address {address!r} is not one: expected http(s)://HOST[:PORT]/v1")
    path = url.path.rstrip("/") or "/v1"
    if not path.endswith("/chat/completions"):
        path += "/chat/completions"
    return url._replace(path=path, fragment="")


def _headers(address: str) -> dict[str, str]:
    """The HTTP headers with the key, if there is one: TURNWISE_API_KEY, or else for https only OPENAI_API_KEY.

    A key with characters that no header may have raises `UsageError`.
    """
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    key = os.environ.get("TURNWISE_API_KEY", "").strip()
    if not key and _target(address).scheme == "https":
        key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):  # http.client would refuse it, and print it
        raise UsageError("the key in TURNWISE_API_KEY or OPENAI_API_KEY has characters that no key has")
    return {**headers, "Authorization": f"Bearer {key}"} if key else headers


def _read(data: bytes, place: str) -> Completion:
    """The first choice of a response; raises `_FailedTry` if it is no chat completion."""
    try:
        response = msgspec.json.decode(data, type=_Response)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _FailedTry(f"{place}: the answer is no chat completion: {error}") from error
    if not response.choices:
        raise _FailedTry(f"{place}: the answer is no chat completion: it has no choice")
    choice = response.choices[0]
    refused = bool(choice.message.refusal) or choice.finish_reason == "content_filter"
    return Completion(choice.message.content or "", refused, choice.finish_reason == "length")


def _retry_after(head: Message) -> float:
    """Retry-After in seconds; 0 if it is absent or unreadable."""
    value = str(head.get("Retry-After", ""))
    try:
        seconds = float(value) if value[:1].isdigit() else parsedate_to_datetime(value).timestamp() - time()
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, seconds)


def _complaint(data: bytes, headers: Mapping[str, str]) -> str:
    """ ": " and the server's error message (200 characters), without the key that some servers repeat.

    It is "" if the response is empty.
    """
    key = headers.get("Authorization", "").removeprefix("Bearer ")
    text = data[:10_000].decode("utf-8", "replace")
    text = _clean(text.replace(key, "***") if key else text)
    return f": {text[:200]}" if text else ""


def _clean(text: str) -> str:
    """The text on one line, without unprintable characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _hang_up(connected: socket.socket) -> None:
    """Shut the socket down from another thread; nothing if it is closed already."""
    try:
        # Not the socket's own method: that of a TLS socket also removes state that another thread is using.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
    except OSError:  # it is closed already
        return
