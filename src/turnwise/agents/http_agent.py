"""An agent behind any HTTP address, described by a small TOML file.

    url = "https://bot.example/chat/{{session}}"
    reply = "output.text"                       # where the reply is in the JSON of the response; "" for a plain text
    headers = { Authorization = "Bearer ${BOT_KEY}" }
    body = { message = "{{message}}", history = "{{messages}}" }

`{{message}}` is the user's last message, `{{messages}}` the list of all, `{{session}}` a text that differs in every
conversation, for addresses that keep the state, `{{seed}}` a number. `${NAME}` is an environment variable. `tool_calls`
may say where the tool calls are. A temporary failure (no connection, timeout, HTTP 408, 425, 429 and 5xx, a response
without the reply) is tried again.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.client import HTTPException, responses
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

import msgspec
import numpy as np

from turnwise.agents.calling import NoReply, ReplyOrFailure, ReplyRequest, single_reply
from turnwise.agents.conversing import AgentReply, Conversation
from turnwise.agents.function import to_message
from turnwise.errors import UsageError
from turnwise.llm.backoff import wait_asked
from turnwise.llm.exchange import clean, exchange
from turnwise.llm.gate import Gate
from turnwise.types import Reply, Signature, Turn, digest

_PASSING = frozenset({408, 425, 429})  # temporary HTTP statuses, and every 5xx
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_NAMES = ("message", "messages", "session", "seed")


class HttpTemplate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an address is asked, and where its reply is."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: Any = msgspec.field(default_factory=lambda: {"messages": "{{messages}}"})
    reply: str = "reply"
    tool_calls: str = ""


@dataclass(frozen=True)
class HttpAgent:
    """An agent behind an address that a template describes."""

    concurrent: ClassVar[bool] = True

    template: HttpTemplate
    timeout: float = 120.0
    tries: int = 4
    pause: float = 1.0  # seconds before the second try
    session: str = ""
    gate: Gate = field(default_factory=Gate, compare=False, repr=False)

    @property
    def signature(self) -> Signature:
        """The address and a digest of the template; keys are in neither."""
        made = digest(msgspec.json.encode(self.template, order="sorted"))
        return Signature("http", (("url", self.template.url), ("template", made)))

    @property
    def address(self) -> str:
        """The host and port that is asked."""
        return urlsplit(self.template.url).netloc

    def begin(self, conversation: Conversation, /) -> "HttpAgent":
        """The agent in this session."""
        return replace(self, session=conversation.session)

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return single_reply(self, turns, rng)

    def replies(self, requests: Sequence[ReplyRequest], /) -> list[ReplyOrFailure]:
        """The reply, or the reason why there is none, to each request in order."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: ReplyRequest) -> ReplyOrFailure:
        """The reply to one request, with as many tries as are allowed."""
        url, headers, body = self._filled(request)
        failure, stop = "", Event()
        for attempt in range(1, self.tries + 1):
            until = monotonic() + self.timeout
            self.gate.wait(float("inf"), stop)
            wait = 0.0
            try:
                response = exchange(
                    url, body, headers, until=until, method=self.template.method, silence=self.timeout
                )
            except (OSError, HTTPException) as error:
                failure = clean(str(error)) or type(error).__name__
                if isinstance(error, TimeoutError):
                    failure = f"did not reply within {self.timeout:g} s"
            else:
                status = response.status
                if status == 200:
                    try:
                        return self._reply(response.data)
                    except _NoReplyThere as error:
                        failure = str(error)
                else:
                    shown = clean(response.data[:1000].decode("utf-8", "replace"))[:200]
                    failure = f"HTTP {status} {responses.get(status, '')}".rstrip() + (
                        f": {shown}" if shown else ""
                    )
                    if status not in _PASSING and status < 500:
                        return NoReply(f"{self.address}: {failure}")
                    wait = wait_asked(response.head)
            if attempt < self.tries:
                if wait:  # the server asks all to wait
                    self.gate.close(wait)
                else:
                    stop.wait(self.pause * 2 ** (attempt - 1))
        return NoReply(f"{self.address}: {failure} (tries: {self.tries})", infrastructure=True)

    def _filled(self, request: ReplyRequest) -> tuple[Any, dict[str, str], bytes]:
        """The address, the headers and the body of a request."""
        turns = [turn for turn in request.turns if turn.role == "user"]
        values: dict[str, Any] = {
            "message": turns[-1].text if turns else "",
            "messages": [to_message(turn) for turn in request.turns],
            "session": self.session,
            "seed": request.seed % 2**31,
        }
        url = _text(_with_variables(self.template.url), values, lambda value: quote(str(value), safe=""))
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {
            name: _text(_with_variables(text), values) for name, text in self.template.headers.items()
        }
        body = json.dumps(_value(self.template.body, values)).encode()
        return urlsplit(url), headers, b"" if self.template.method == "GET" else body

    def _reply(self, data: bytes) -> AgentReply:
        """The reply in a response; raises `_NoReplyThere` if there is none."""
        text = data.decode("utf-8", "replace")
        if not self.template.reply:
            return AgentReply(text)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise _NoReplyThere(f"the response is no JSON: {clean(text)[:60]}") from None
        calls = _at(value, self.template.tool_calls) if self.template.tool_calls else None
        content = _at(value, self.template.reply)
        if not isinstance(content, str) and not calls:
            raise _NoReplyThere(f"the response has no text at `{self.template.reply}`: {clean(text)[:60]}")
        return AgentReply(content if isinstance(content, str) else "", tool_calls=tuple(calls or ()))


class _NoReplyThere(Exception):
    """The response has no reply where the template says."""


def http_agent(path: str, *, timeout: float = 120.0, tries: int = 4, rate: float | None = None) -> HttpAgent:
    """The agent that a TOML file describes; a mistake in the file raises `UsageError`. `rate` is requests a minute."""
    try:
        template = msgspec.convert(tomllib.loads(Path(path).read_text()), HttpTemplate)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path} describes no agent: {error}") from None
    if urlsplit(template.url).scheme not in ("http", "https"):
        raise UsageError(f"{path}: `url` is {template.url!r}; expected http(s)://HOST/PATH")
    for name in _NAME.findall(Path(path).read_text()):
        if name not in _NAMES:
            raise UsageError(f"{path}: there is no {{{{{name}}}}}; there are {', '.join(_NAMES)}")
    return HttpAgent(template, timeout, tries, gate=Gate(rate))


def _value(template: Any, values: Mapping[str, Any]) -> Any:
    """The body with its values; a text that is one name alone becomes the value itself."""
    if isinstance(template, Mapping):
        return {key: _value(part, values) for key, part in template.items()}
    if isinstance(template, list):
        return [_value(part, values) for part in template]
    if isinstance(template, str):
        whole = _NAME.fullmatch(template)
        # Variables first: what is said in the dialogue is no template.
        return values[whole[1]] if whole else _text(_with_variables(template), values)
    return template


def _text(template: str, values: Mapping[str, Any], write: Callable[[Any], str] = str) -> str:
    """A text with its values."""
    return _NAME.sub(lambda match: write(values[match[1]]), template)


def _with_variables(text: str) -> str:
    """A text with environment variables; raises `UsageError` for one that is not set."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise UsageError(f"the environment variable {match[1]} is not set")
        return found

    return _VARIABLE.sub(value, text)


def _at(value: Any, path: str) -> Any:
    """The value at a path such as `choices.0.text`; None if there is none."""
    for key in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
