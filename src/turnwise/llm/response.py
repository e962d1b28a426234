"""What a server's response says: a completion, at once or as a stream of events, or why there is none.

Some servers answer with a stream of events (`text/event-stream`) whatever was asked for. A refusal and an answer that
was moderated are completions without a verdict, whether the server says so with a status of 200 or 400.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

MODERATED = re.compile(
    r"content[_ ]?(?:filter|policy|management)|moderation|responsible ?ai|safety", re.IGNORECASE
)
TOO_LONG = re.compile(
    r"context[_ ]?(?:length|window|size)|maximum (?:context|prompt|input)|prompt is too long|too many (?:input )?tokens"
    r"|input (?:token count|length)? ?(?:exceeds|is too long)"
    r"|exceeds? the (?:maximum number of tokens|(?:model'?s )?(?:available )?context)",
    re.IGNORECASE,
)
STREAM_ONLY = re.compile(
    r"stream\W+(?:must|needs?|has to|should|is required|only)|only.{0,30}stream|stream=true", re.IGNORECASE
)
_REFUSED = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "recitation"})


class TokenChoice(NamedTuple):
    """One generated token: its text, and the log-probability of each of the most probable tokens at its place."""

    text: str
    alternatives: dict[str, float]


class Completion(NamedTuple):
    """The text with which a model answered a question ("" if it refused without one)."""

    text: str
    refused: bool = False
    cut: bool = False  # whether the answer was cut at the largest number of tokens
    tokens_in: int | None = None  # None where the server does not count
    tokens_out: int | None = None
    seconds: float = 0.0  # from the first try to the answer
    tokens: tuple[TokenChoice, ...] = ()  # with log-probabilities, if they were asked for and given
    tool_calls: tuple[Mapping[str, Any], ...] = ()  # in OpenAI's form


class NoCompletion(Exception):
    """The response is no chat completion."""


class _Alternative(msgspec.Struct):
    """One of the most probable tokens at a place."""

    token: str
    logprob: float


class _Token(_Alternative):
    """A generated token."""

    top_logprobs: list[_Alternative] = []


class _LogProbs(msgspec.Struct):
    """The log-probabilities of a choice."""

    content: list[_Token] | None = None


class _Function(msgspec.Struct):
    """The function of a tool call, or what an event of a stream adds to it."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None  # some servers send the object itself


class _ToolCall(msgspec.Struct):
    """A tool call, or a part of one in an event of a stream."""

    id: str | None = None
    index: int | None = None
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct):
    """The message of a choice, or what an event of a stream adds to it."""

    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    """One choice of a completion, or an event's part of it."""

    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None
    logprobs: _LogProbs | None = None


class _Usage(msgspec.Struct):
    """Tokens that the server counted."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Response(msgspec.Struct):
    """The part of a server's response that is read."""

    choices: list[_Choice]
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(_Response).decode
_encode = msgspec.json.Encoder().encode


def read_completion(data: bytes, content_type: str) -> Completion:
    """The first choice of a response, which may be a stream of events; raises `NoCompletion` if there is none."""
    try:
        if "event-stream" in content_type or data.lstrip()[:5] == b"data:":
            return _joined([_decode(event) for event in _events(data.splitlines())])
        response = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoCompletion(str(error)) from error
    if not response.choices:
        raise NoCompletion("it has no choice")
    choice = response.choices[0]
    if choice.message is None:
        raise NoCompletion("its choice has no message")
    completion = _completion(
        choice.message.content, choice.message.refusal, choice.finish_reason, choice.logprobs, response.usage
    )
    calls = enumerate(choice.message.tool_calls or ())
    return completion._replace(
        tool_calls=_calls([msgspec.structs.replace(call, index=at) for at, call in calls])
    )


def read_pieces(lines: Iterable[bytes]) -> Iterator[str]:
    """The texts of a stream of events as its lines arrive; raises `NoCompletion`, also after some texts."""
    for event in _events(lines):
        try:
            choices = _decode(event).choices
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise NoCompletion(str(error)) from error
        delta = choices[0].delta if choices else None
        if delta and (text := delta.content or delta.refusal):
            yield text


def _events(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The JSON of each event of a stream; raises `NoCompletion` if the stream does not come to its end."""
    for line in lines:
        if not line.startswith(b"data:"):
            continue
        event = line.removeprefix(b"data:").strip()
        if event == b"[DONE]":
            return
        yield event
    raise NoCompletion("the stream ended before its end mark")


def _joined(events: Sequence[_Response]) -> Completion:
    """The completion that the events of a stream make together."""
    parts = [event.choices[0] for event in events if event.choices]
    if not parts:
        raise NoCompletion("the stream has no choice")
    deltas = [part.delta or part.message or _Message() for part in parts]
    tokens = [token for part in parts if part.logprobs for token in part.logprobs.content or ()]
    completion = _completion(
        "".join(delta.content or "" for delta in deltas),
        "".join(delta.refusal or "" for delta in deltas),
        next((part.finish_reason for part in reversed(parts) if part.finish_reason), None),
        _LogProbs(tokens),
        next((event.usage for event in reversed(events) if event.usage), None),
    )
    return completion._replace(
        tool_calls=_calls([call for delta in deltas for call in delta.tool_calls or ()])
    )


def _calls(parts: Sequence[_ToolCall]) -> tuple[Mapping[str, Any], ...]:
    """The tool calls of these parts; the parts of one call have its index, or no index beside a new id."""
    calls: dict[int, dict[str, Any]] = {}
    last = -1
    for part in parts:
        at = part.index if part.index is not None else last + (part.id is not None or last < 0)
        last = at
        call = calls.setdefault(at, {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or part.id or ""
        call["name"] += part.function.name or ""
        arguments = part.function.arguments
        call["arguments"] += arguments if isinstance(arguments, str) else _encode(arguments or {}).decode()
    return tuple(
        {
            "id": call["id"] or f"call_{at}",
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"] or "{}"},
        }
        for at, call in sorted(calls.items())
    )


def _completion(
    text: str | None,
    refusal: str | None,
    finish: str | None,
    logprobs: _LogProbs | None,
    usage: _Usage | None,
) -> Completion:
    """The completion of these parts of a response."""
    tokens = (logprobs.content if logprobs else None) or []
    counts = usage or _Usage()
    return Completion(
        text or "",
        refused=bool(refusal) or (finish or "").lower() in _REFUSED,
        cut=finish in ("length", "max_tokens"),
        tokens_in=counts.prompt_tokens,
        tokens_out=counts.completion_tokens,
        tokens=tuple(
            TokenChoice(one.token, {top.token: top.logprob for top in [*one.top_logprobs, one]})
            for one in tokens
        ),
    )
