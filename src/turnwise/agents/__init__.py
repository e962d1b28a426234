"""Agents by specification: an address, a function, a trained folder or a language model.

    https://HOST/v1      a model behind an OpenAI-compatible address; --set model=NAME names the model
    module:function      a function of the user
    DIR                  a folder that `turnwise train hred|vhred|dual|tfidf|lava|plas` wrote
    NAME, DIR, hub id    any language model of transformers: `smollm2`

An agent is called with the turns so far and a random generator, and returns a `Reply`. The module of an agent is
imported only when the agent is used.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.errors import UsageError

if TYPE_CHECKING:
    from turnwise.types import Agent

# Kind of a trained folder -> module and class of its agent.
KINDS = {
    "hred": "hred:Hred",
    "vhred": "hred:Hred",
    "dual": "dual:Dual",
    "tfidf": "tfidf:TfIdf",
    "lava": "lava:LatentPolicy",
    "plas": "lava:LatentPolicy",
    "lava-pg": "lava:LatentPolicy",
}
# Setting -> its type. Settings come from a command line and are checked here.
NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("temperature", "top_p", "timeout"), int | float),
    **dict.fromkeys(("longest", "at_once", "nearest", "concurrency", "tries"), int),
}


def resolve(spec: str, **settings: Any) -> Agent:
    """The agent with the specification `spec` and its settings."""
    if spec.startswith(("http://", "https://")):
        from turnwise.agents.endpoint import endpoint_agent

        return _build(endpoint_agent, spec, spec, settings)
    if Path(spec).is_dir():
        return _trained(spec, settings) or _language_model(spec, settings)
    if ":" in spec:
        from turnwise.agents.function import function_agent

        return _build(function_agent, spec, spec, settings)
    return _language_model(spec, settings)


def _trained(spec: str, settings: dict[str, Any]) -> Agent | None:
    """The agent of a folder that `turnwise train` wrote; None if the folder is of another origin."""
    from turnwise.encode.models import folder

    if not folder.is_trained(Path(spec)):
        return None
    kind = folder.read_config(Path(spec))["kind"]
    if kind not in KINDS:
        raise UsageError(
            f"{spec} holds a model of kind `{kind}`, which is not an agent; agents are: {', '.join(KINDS)}"
        )
    module, _, name = KINDS[kind].partition(":")
    reader = getattr(import_module(f"turnwise.agents.{module}"), name).read
    return _build(reader, spec, folder.load(spec, kind), settings)


def _language_model(spec: str, settings: dict[str, Any]) -> Agent:
    """A language model of transformers as an agent."""
    from turnwise.agents.language_model import LanguageModelAgent, language_model

    known = list(inspect.signature(LanguageModelAgent).parameters)[2:]  # those after folder and label
    _check(spec, settings, known)
    return language_model(spec, **settings)


def _build(maker: Any, spec: str, source: Any, settings: dict[str, Any]) -> Agent:
    """Call `maker(source, **settings)` after checking the settings against its parameters."""
    _check(spec, settings, list(inspect.signature(maker).parameters)[1:])
    agent: Agent = maker(source, **settings)
    return agent


def _check(spec: str, settings: dict[str, Any], known: list[str]) -> None:
    """Raise a usage error for an unknown setting or a setting of the wrong type."""
    for name, value in settings.items():
        if name not in known:
            raise UsageError(f"agent `{spec}` has no setting `{name}`; it has: {', '.join(known) or 'none'}")
        kind = NUMBERS.get(name)
        if kind is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            wanted = "a whole number" if kind is int else "a number"
            raise UsageError(f"agent `{spec}`: `{name}` is {wanted}, not {value!r}")
