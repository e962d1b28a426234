"""Client of a chat model behind an OpenAI-compatible address: concurrent requests with limits on time, tries and size.

A question is the body of a chat-completions request; the result has its answer or error at the same index. Each
question uses its own connection. A temporary failure (no connection, timeout, HTTP 408, 425, 429 and 5xx, a response
that is broken or no chat completion) is tried again after a wait that doubles, is jittered, and is at least what the
server's headers ask for (see `backoff`); no other question is sent to a server that asks to wait. A permanent failure
(a wrong key, an unknown model, a redirect) ends the whole list at once, and so do `patience` consecutive questions
without an answer. A server that only streams is asked for a stream.

The key is read from TURNWISE_API_KEY, otherwise from OPENAI_API_KEY, when a question is sent; it is stored in no field,
file or message. The latter was not set for turnwise, so it is sent over https only. A variable that is named is also
looked for in `.env` (`dotenv`). Proxies are not used, and redirects are not followed.
"""

import json
import os
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, responses
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Protocol, TypeAlias
from urllib.parse import SplitResult, urlsplit

import numpy as np

from turnwise.errors import Unmeasured, UsageError
from turnwise.llm.backoff import wait_asked
from turnwise.llm.dotenv import FILE, named_key
from turnwise.llm.exchange import Response, clean, exchange
from turnwise.llm.gate import Gate
from turnwise.llm.response import (
    MODERATED,
    STREAM_ONLY,
    TOO_LONG,
    Completion,
    NoCompletion,
    read_completion,
    read_pieces,
)

Question: TypeAlias = Mapping[str, Any]  # the body of a request
_PASSING = frozenset({408, 425, 429})  # temporary HTTP statuses, and every 5xx
_FINAL = frozenset({401, 403, 404, 405})  # permanent HTTP statuses, and every 3xx


class ChatError(Unmeasured):
    """The server rejects this question; base of the two other errors."""


class Unanswered(ChatError):
    """The server does not answer at present, or the question was not sent because others failed."""


class Denied(ChatError):
    """The server rejects every question of this kind, so no other one is sent."""


class TooLong(ChatError):
    """The question is longer than the model's context."""


class _StreamOnly(Exception):
    """The server answers only with a stream of events."""


class _FailedTry(Exception):
    """A request failed in a way that may pass: it can be tried again after `wait` seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Meter(Protocol):
    """Counts what answers cost, and stops a batch that would cost too much."""

    def check(self) -> None:
        """Raise `Denied` if no further question may be sent."""
        ...

    def add(self, body: bytes, answer: Completion) -> None:
        """Count an answer."""
        ...


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
    key: str = ""  # name of the environment variable with the key; "": TURNWISE_API_KEY, then OPENAI_API_KEY
    gate: Gate | None = field(default=None, compare=False, repr=False)  # shared by several lists of questions

    def __post_init__(self) -> None:
        _target(self.address)
        if min(self.concurrency, self.tries, self.patience) < 1:
            raise UsageError("a chat needs a concurrency, a number of tries and a patience of 1 or more")

    def ask(
        self, questions: Sequence[Question], *, rng: np.random.Generator, meter: Meter | None = None
    ) -> list[Completion | ChatError]:
        """For each question in order, its answer or the error; errors are returned, not raised.

        Questions that were not sent because the batch was stopped get `Unanswered`. `rng` is used only to jitter the
        waits. `meter` is asked before each question and told each answer. Only an invalid key in the environment
        (`UsageError`) and a defect raise.
        """
        headers = _headers(self.address, self.key)
        batch = _Batch(self, [json.dumps(question).encode() for question in questions], headers, meter)
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
        headers = _headers(self.address, self.key)
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
                kind = str(response.headers.get("Content-Type", ""))
                if "event-stream" in kind:
                    yield from read_pieces(_bounded(response, place, self.largest))
                else:
                    yield read_completion(response.read(self.largest), kind).text
        except NoCompletion as error:
            raise ChatError(f"{place}: {clean(str(error))}") from error
        except (OSError, HTTPException) as error:
            raise Unanswered(f"{place}: {clean(str(error)) or type(error).__name__}") from error
        finally:
            connection.close()

    def _answer(
        self, body: bytes, headers: Mapping[str, str], *, rng: np.random.Generator, gate: Gate, stop: Event
    ) -> Completion:
        """Ask one question, with as many tries as are needed and allowed; raises a `ChatError` in the end.

        `gate` holds all questions back while the server asks to wait, and `stop` ends all waiting.
        """
        start = monotonic()
        until, attempt = start + self.deadline, 1
        while True:
            gate.wait(until, stop)
            try:
                answer = self._try(body, headers, until)
            except _StreamOnly:
                body = json.dumps({**json.loads(body), "stream": True}).encode()
                continue
            except _FailedTry as failure:
                wait = max(failure.wait, self.backoff * 2 ** (attempt - 1)) * rng.uniform(1.0, 1.25)
                if failure.wait and monotonic() + wait <= until:  # a longer wait ends this question at once
                    gate.close(wait)
                if attempt == self.tries or monotonic() + wait > until or stop.wait(wait):
                    asked = f", and it asks to wait {failure.wait:.0f} s" if failure.wait else ""
                    raise Unanswered(f"{failure} (tries: {attempt}{asked})") from failure
            else:
                return answer._replace(seconds=monotonic() - start)
            attempt += 1

    def _try(self, body: bytes, headers: Mapping[str, str], until: float) -> Completion:
        """One try at a question.

        Raises `_FailedTry` for a temporary failure, `Denied` for a permanent one, `ChatError` for one of this question,
        and `_StreamOnly` if the server wants to stream. `until` is the time of `monotonic` by which it must end.
        """
        place = _target(self.address).netloc
        try:
            reply = exchange(
                _target(self.address), body, headers, until=until, connect=self.connect, silence=self.silence,
                largest=self.largest,
            )  # fmt: skip
        except ssl.SSLCertVerificationError as error:
            raise Denied(f"{place}: its certificate is not to be trusted: {error.verify_message}") from error
        except (OSError, HTTPException) as error:
            if monotonic() >= until:
                raise _FailedTry(f"{place} did not finish within {self.deadline:g} s") from error
            if isinstance(error, TimeoutError):
                raise _FailedTry(
                    f"{place} was silent for {self.silence:g} s, or took no connection"
                ) from error
            raise _FailedTry(f"{place}: {clean(str(error)) or type(error).__name__}") from error
        if reply.status == 200:
            try:
                return read_completion(reply.data, str(reply.head.get("Content-Type", "")))
            except NoCompletion as error:
                raise _FailedTry(f"{place}: the answer is no chat completion: {error}") from error
        return _rejected(reply, place, headers, streams=b'"stream": true' in body)


def _bounded(response: HTTPResponse, place: str, largest: int) -> Iterator[bytes]:
    """The lines of a response as they arrive; raises `ChatError` beyond `largest` bytes."""
    size = 0
    while line := response.readline(largest):
        size += len(line)
        if size > largest:
            raise ChatError(f"{place}: an answer of more than {largest} bytes")
        yield line


class _Batch:
    """The shared state of the threads of one `ask`."""

    def __init__(
        self, chat: Chat, bodies: list[bytes], headers: Mapping[str, str], meter: Meter | None
    ) -> None:
        self.chat, self.bodies, self.headers, self.meter = chat, bodies, headers, meter
        self.answers: list[Completion | ChatError | None] = [None] * len(bodies)
        self.indices = iter(range(len(bodies)))
        self.lock, self.gate, self.stop = Lock(), chat.gate or Gate(), Event()
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
            if self.meter is not None:
                self.meter.check()
            answer = self.chat._answer(
                self.bodies[index], self.headers, rng=rng, gate=self.gate, stop=self.stop
            )
        except ChatError as error:
            answer = error
        with self.lock:
            if self.meter is not None and isinstance(answer, Completion):
                self.meter.add(self.bodies[index], answer)
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


def _headers(address: str, variable: str = "") -> dict[str, str]:
    """The HTTP headers with the key, if there is one: TURNWISE_API_KEY, or else for https only OPENAI_API_KEY.

    `variable` names another variable, of the environment or else of `.env`, that has the key. A key with characters
    that no header may have raises `UsageError`.
    """
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Accept-Encoding": "identity",
    }
    key = named_key(variable) if variable else os.environ.get("TURNWISE_API_KEY", "").strip()
    if variable and not key:
        raise UsageError(f"neither the environment nor {FILE} in this folder has a key {variable}")
    if not variable and not key and _target(address).scheme == "https":
        key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):  # http.client would refuse it, and print it
        raise UsageError(
            f"the key in {variable or 'TURNWISE_API_KEY or OPENAI_API_KEY'} has characters that no key has"
        )
    return {**headers, "Authorization": f"Bearer {key}"} if key else headers


def _rejected(reply: Response, place: str, headers: Mapping[str, str], *, streams: bool) -> Completion:
    """A refused completion if the server moderated the question; else raises why it gave no completion."""
    complaint = _complaint(reply.data, headers)
    status = responses.get(reply.status, "")
    reason = f"{place}: HTTP {reply.status} {status}".rstrip() + complaint
    if reply.status in _PASSING or reply.status >= 500:
        raise _FailedTry(reason, wait_asked(reply.head))
    if 400 <= reply.status < 500 and reply.status not in (401, 404, 405):
        if TOO_LONG.search(complaint) or reply.status == 413:
            raise TooLong(f"the question is too long for the model: {reason}")
        if STREAM_ONLY.search(complaint) and not streams:
            raise _StreamOnly
        if reply.status == 400 and MODERATED.search(complaint):
            return Completion("", refused=True)
    if reply.status in _FINAL or reply.status < 400:
        raise Denied(reason)
    raise ChatError(reason)


def _complaint(data: bytes, headers: Mapping[str, str]) -> str:
    """ ": " and the server's error message (200 characters), without the key that some servers repeat.

    It is "" if the response is empty.
    """
    key = headers.get("Authorization", "").removeprefix("Bearer ")
    text = data[:10_000].decode("utf-8", "replace")
    text = clean(text.replace(key, "***") if key else text)
    return f": {text[:200]}" if text else ""
