"""A judge from its settings, as `judge[rubric=grounded,model=NAME]` or environment variables give them."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from turnwise.encode import Cache
from turnwise.errors import UsageError, setting
from turnwise.llm.chat import Chat
from turnwise.llm.function import FunctionChat, is_function
from turnwise.llm.providers import served_model
from turnwise.metrics.judge.cost import Price
from turnwise.metrics.judge.local import LocalJudge
from turnwise.metrics.judge.metric import ADDRESS, MODEL, PRICE, DialogueJudge, Judge
from turnwise.metrics.judge.prompt import Form, Prompt
from turnwise.metrics.judge.rubric import Rubric, of_dimension, rubric
from turnwise.metrics.judge.server import JudgeServer, Spending
from turnwise.metrics.judge.transcript import Media, Sees

LOCAL = "local"  # as an address: a language model on this machine
SMALL = "smollm2"  # the local model that is used unless another is named
_TRIES = 2.5  # times the timeout that a question may take with all its tries
_LARGEST_WEIGHTED = 9  # a value of two digits may be two tokens


def judge(
    *,
    address: str | None = None,
    model: str | float | None = None,
    rubric: str | None = None,
    prompt: str | None = None,
    dimension: str = "overall",
    scale: str | None = None,
    system: bool | None = None,
    tools: bool | None = None,
    media: str | None = None,
    result: int = 4000,
    window: int = 100_000,
    form: str = "text",
    weighted: bool = False,
    concurrency: int = 8,
    timeout: float | None = None,
    samples: int = 1,
    temperature: float = 0.0,
    longest: int = 512,
    parameters: Mapping[str, Any] | str | None = None,
    price: str | float | None = None,
    max_cost: float | None = None,
    key: str = "",
    cache: bool = True,
) -> Judge:
    """Create a judge from its settings; nothing is sent until it scores. An address may be a `module:function`.

    Without an address, a model by its provider such as `openai/gpt-4o` means address, model and key's variable.
    `rubric` is the name of a rubric or a TOML file; else `dimension` names what is scored, and `prompt` is a file with
    its meaning. `system`, `tools` and `media` replace what the rubric says about what is seen; `result` and `window`
    are lengths in characters. `timeout` is in seconds, for one answer. `parameters` are further keys of a request, or a
    JSON file with them. `key` names the
    environment variable with the key. Address, model and price default to environment variables. A wrong setting is a
    `UsageError`.
    """
    address = address or os.environ.get(ADDRESS)
    if address and model is None and is_function(address):
        model = FunctionChat.of(address).label
    price = os.environ.get(PRICE) if price is None else price
    if not (_is_number(temperature) and 0 <= temperature < math.inf):
        raise UsageError(f"a judge takes a temperature of 0 or more, not `{temperature}`")
    counts = {
        "samples": samples, "longest": longest, "concurrency": concurrency, "result": result, "window": window,
        "timeout": 1 if timeout is None else timeout,
    }  # fmt: skip
    for name, count in counts.items():
        if not (_is_number(count) and count == int(count) >= 1):
            raise UsageError(f"a judge takes a whole number of `{name}`, 1 or more, not `{count}`")
    chosen = _rubric(rubric, dimension, prompt, scale)
    seen = _sees(chosen, system, tools, media, int(result), int(window))
    name = str(model or os.environ.get(MODEL) or (SMALL if address == LOCAL else ""))
    # At an address of one's own, such as OpenRouter's, `openai/gpt-4o` is the name of a model.
    if not address and (served := served_model(name)) is not None:
        address, name, key = served.address, served.model, key or served.key
    found = None if price in (None, "") else Price.parse(str(price))
    extra = _parameters_from_file(parameters) if isinstance(parameters, str) else parameters or {}
    if weighted and chosen.span[1] > _LARGEST_WEIGHTED:
        raise UsageError(
            f"`weighted` needs a scale that ends at {_LARGEST_WEIGHTED} or below, one token a value"
        )
    if weighted and chosen.scale is None:
        raise UsageError("`weighted` needs a rubric with a scale, and this one is a checklist")
    return (DialogueJudge if chosen.level == "dialogue" else Judge)(
        client=_client(
            address, name, key, int(concurrency), None if timeout is None else float(timeout),
            samples=int(samples), temperature=float(temperature), longest=int(longest), parameters=extra,
            weighted=bool(weighted), spending=None if address == LOCAL else _spending(found, max_cost),
        ),
        model=name,
        prompt=Prompt(chosen, seen, _one_of("form", form, Form)),
        samples=int(samples),
        temperature=float(temperature),
        longest=int(longest),
        parameters=extra,
        weighted=bool(weighted),
        price=found,
        cache=Cache() if cache else None,
    )  # fmt: skip


def _client(
    address: str | None, model: str, key: str, concurrency: int, timeout: float | None, **settings: Any
) -> JudgeServer | LocalJudge | None:
    """What asks the model: a server's address, a model on this machine, or nothing without an address."""
    if address == LOCAL:
        if settings["samples"] > 1:
            raise UsageError("a local judge computes probabilities: more than one sample would be equal")
        return LocalJudge(model)
    if not address:
        return None
    if is_function(address):
        return JudgeServer(FunctionChat.of(address), model, **settings)
    chat = Chat(address=address, concurrency=concurrency, key=key)
    if timeout is not None:
        chat = replace(chat, silence=timeout, deadline=_TRIES * timeout)
    return JudgeServer(chat, model, **settings)


def _spending(price: Price | None, cap: float | None) -> Spending | None:
    """The cap on spending; `UsageError` for a cap without a price."""
    if cap is None:
        return None
    if price is None:
        raise UsageError(
            f"{setting('--max-cost')} needs the price of a million tokens: judge[price=IN/OUT] or TURNWISE_JUDGE_PRICE"
        )
    return Spending(price, float(cap))


def _rubric(name: str | None, dimension: str, prompt: str | None, scale: str | None) -> Rubric:
    """The rubric that is named, or that of a dimension."""
    ends = None if scale is None else _parse_scale(str(scale))
    if name is not None:
        if prompt is not None or ends is not None:
            raise UsageError(
                "a rubric has its own question and scale: give either `rubric`, or `prompt` and `scale`"
            )
        return rubric(str(name))
    return of_dimension(str(dimension), None if prompt is None else _meaning(prompt), ends)


def _sees(
    chosen: Rubric, system: bool | None, tools: bool | None, media: str | None, result: int, window: int
) -> Sees:
    """What the judge sees: as the rubric says, unless a setting says otherwise."""
    return Sees(
        tools="tools" in chosen.sees if tools is None else bool(tools),
        system="system" in chosen.sees if system is None else bool(system),
        media=_one_of("media", media or ("send" if "media" in chosen.sees else "name"), Media),
        result=result,
        window=window,
    )


def _one_of(name: str, value: str, allowed: Any) -> Any:
    """The value if it is one of a `Literal`; else a `UsageError`."""
    if value not in allowed.__args__:
        raise UsageError(f"a judge's `{name}` is one of {', '.join(allowed.__args__)}, not `{value}`")
    return value


def _meaning(file: str) -> str:
    """The meaning of a dimension in a file; `UsageError` if it cannot be read or is empty."""
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the judge's prompt {file} cannot be read: {error}") from error
    if not text:
        raise UsageError(f"the judge's prompt {file} is empty")
    return text


def _parameters_from_file(path: str) -> Mapping[str, Any]:
    """The request parameters in a JSON file; `UsageError` if it cannot be read or is no object."""
    try:
        parameters = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"the judge's parameters {path} cannot be read: {error}") from error
    if not isinstance(parameters, dict):
        raise UsageError(f"the judge's parameters {path} are no JSON object")
    return parameters


def _is_number(value: object) -> bool:
    """Whether a setting is a finite number; on a command line it can be any text."""
    return isinstance(value, int | float) and math.isfinite(value)


def _parse_scale(text: str) -> tuple[int, int]:
    """Parse `LOW-HIGH`, two whole numbers up to 1000; anything else is a `UsageError`."""
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and int(low) < int(high) <= 1000):
        raise UsageError(f"the scale `{text}` is not LOW-HIGH, two whole numbers such as 1-5")
    return int(low), int(high)
