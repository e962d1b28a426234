"""Whatever answers, by what the user wrote: an address, a function, a trained folder, a language model.

    https://HOST/v1      a model behind an OpenAI-compatible address; --set model=NAME says which
    module:function      your own
    DIR                  what `turnwise train hred|vhred|dual|tfidf|lava|plas` wrote
    NAME, DIR, hub id    any language model of transformers: `smollm2`

An agent is called with the turns so far and a generator, and returns a `Reply`. What stands behind a name is imported
when it is asked for.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.errors import UsageError

if TYPE_CHECKING:
    from turnwise.types import Agent

# The kind of a trained folder -> what reads it.
KINDS = {
    "hred": "hred:Hred",
    "vhred": "hred:Hred",
    "dual": "dual:Dual",
    "tfidf": "tfidf:TfIdf",
    "lava": "lava:LatentPolicy",
    "plas": "lava:LatentPolicy",
    "lava-pg": "lava:LatentPolicy",
}
# Settings come from a command line, where anything may stand.
NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("temperature", "top_p", "timeout"), int | float),
    **dict.fromkeys(("longest", "at_once", "nearest", "concurrency", "tries"), int),
}


def resolve(spec: str, **settings: Any) -> Agent:
    """The agent that a user means by `spec`; settings are those of what stands behind it."""
    if spec.startswith(("http://", "https://")):
        from turnwise.agents.address import address

        return _made(address, spec, spec, settings)
    if Path(spec).is_dir():
        return _trained(spec, settings) or _language_model(spec, settings)
    if ":" in spec:
        from turnwise.agents.own import own

        return _made(own, spec, spec, settings)
    return _language_model(spec, settings)


def _trained(spec: str, settings: dict[str, Any]) -> Agent | None:
    """The agent in a folder that was trained here; None where it is another's."""
    from turnwise.encode.models import folder

    if not folder.is_trained(Path(spec)):
        return None
    kind = folder.read_config(Path(spec))["kind"]
    if kind not in KINDS:
        raise UsageError(f"{spec} holds a model of kind `{kind}`, which does not talk; {', '.join(KINDS)} do")
    module, _, name = KINDS[kind].partition(":")
    reader = getattr(import_module(f"turnwise.agents.{module}"), name).read
    return _made(reader, spec, folder.load(spec, kind), settings)


def _language_model(spec: str, settings: dict[str, Any]) -> Agent:
    from turnwise.agents.language_model import LanguageModelAgent, language_model

    known = list(inspect.signature(LanguageModelAgent).parameters)[2:]  # those after folder and label
    _check(spec, settings, known)
    return language_model(spec, **settings)


def _made(maker: Any, spec: str, source: Any, settings: dict[str, Any]) -> Agent:
    _check(spec, settings, list(inspect.signature(maker).parameters)[1:])
    agent: Agent = maker(source, **settings)
    return agent


def _check(spec: str, settings: dict[str, Any], known: list[str]) -> None:
    for name, value in settings.items():
        if name not in known:
            raise UsageError(f"agent `{spec}` has no setting `{name}`; it has: {', '.join(known) or 'none'}")
        kind = NUMBERS.get(name)
        if kind is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            wanted = "a whole number" if kind is int else "a number"
            raise UsageError(f"agent `{spec}`: `{name}` is {wanted}, not {value!r}")
