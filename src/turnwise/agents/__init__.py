"""Agents by what the user wrote: an address, a function, a trained folder, a plugin or a language model.

    https://HOST/v1      a model behind an OpenAI-compatible address; --set model=NAME says which
    PROVIDER/MODEL       the same by the name of its provider: `openai/gpt-4o`, `ollama/llama3.2`
    FILE.toml            any other HTTP address, as the file describes it (`http_agent`)
    module:function      a function of the user
    DIR                  what `turnwise train hred|vhred|dual|tfidf|seller|lava|plas` wrote
    NAME                 an agent of another package: the entry point group `turnwise.agents`
    NAME, DIR, hub id    any language model of transformers: `smollm2`

An agent is called with the turns so far and a random generator, and returns a `Reply`. The module of an agent is
imported when the agent is used.
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise import registry
from turnwise.errors import PluginError, UsageError, setting

if TYPE_CHECKING:
    from turnwise.types import Agent

# Kind of a trained folder -> module and class of its agent.
KINDS = {
    "hred": "hred:Hred",
    "vhred": "hred:Hred",
    "dual": "dual:Dual",
    "tfidf": "tfidf:TfIdf",
    "seller": "seller:TrainedSeller",
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
    """The agent that a user means by `spec`, made with `settings`.

    Raises `PluginError` for a plugin that makes no agent, and `UsageError` for a setting that the agent does not have.
    """
    if spec.startswith(("http://", "https://")):
        from turnwise.agents.endpoint import endpoint_agent

        return _build(endpoint_agent, spec, spec, settings)
    if Path(spec).is_dir():
        return _trained(spec, settings) or _language_model(spec, settings)
    if spec.endswith(".toml"):
        from turnwise.agents.http_agent import http_agent

        return _build(http_agent, spec, spec, settings)
    if is_served(spec):
        from turnwise.agents.endpoint import provider_agent

        return _build(provider_agent, spec, spec, settings)
    if ":" in spec:
        from turnwise.agents.function import function_agent

        return _build(function_agent, spec, spec, settings)
    if (offer := _plugins().find(spec)) is not None:
        return _plugin(offer, settings)
    return _language_model(spec, settings)


def is_served(spec: str) -> bool:
    """Whether the agent is a model behind an OpenAI-compatible address, by address or by provider."""
    from turnwise.llm.providers import served_model

    return spec.startswith(("http://", "https://")) or served_model(spec) is not None


def names() -> tuple[str, ...]:
    """Names of the agents of other packages."""
    return tuple(_plugins().usable)


def describe(name: str) -> str:
    """The first line of an agent plugin's docstring, or without one the name of its package.

    Raises `PluginError` where it cannot be loaded, and `KeyError` for a name that is not among `names()`.
    """
    offer = _plugins().usable[name]
    return _summary(_maker(offer)) or f"of the package {offer.owner}"


def broken() -> tuple[PluginError, ...]:
    """One error for each plugin that is unusable because of its name; plugins are not imported for this."""
    return tuple(_plugins().problems.values())


def _plugin(offer: registry.Offer, settings: dict[str, Any]) -> Agent:
    """The agent that a plugin's class or function makes from the settings.

    Raises `PluginError` if it makes none, and `UsageError` for settings that it does not have.
    """
    maker = _maker(offer)
    parameters = inspect.signature(maker).parameters
    required = [
        name for name, one in parameters.items() if one.default is one.empty and one.kind < one.VAR_POSITIONAL
    ]
    if lacking := [name for name in required if name not in settings]:
        raise offer.error(
            f"{offer.target} has a parameter `{lacking[0]}` without a default; expected a class or a function that "
            f"makes the agent from settings ({setting('--set', 'KEY=VALUE')}), each with a default"
        )
    _check(offer.name, settings, list(parameters))
    registry.check(settings, maker, f"agent `{offer.name}`")
    agent: Agent = offer.make(maker, settings)
    if not callable(agent):
        raise offer.error(
            f"{offer.target} made a {type(agent).__name__}; expected something to call with turns and rng"
        )
    return agent


def _maker(offer: registry.Offer) -> Any:
    """The class or function of a plugin that makes the agent.

    Raises `PluginError` if it is not callable or not importable.
    """
    maker = offer.load()
    if not callable(maker):
        raise offer.error(f"{offer.target} is no class and no function; expected one that makes the agent")
    return maker


def _summary(maker: object) -> str:
    """The first line of a docstring; "" without one."""
    return (inspect.getdoc(maker) or "").partition("\n")[0]


@cache
def _plugins() -> registry.Offers:
    """The agents of other packages; names of language models are taken."""
    from turnwise.encode.models.catalogue import MODELS

    return registry.offered("agents", tuple(MODELS))


def _trained(spec: str, settings: dict[str, Any]) -> Agent | None:
    """The agent of a folder that `turnwise train` wrote; None if the folder is of another origin.

    Raises `UsageError` if the model in it is not an agent.
    """
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
    """A language model of transformers as an agent; raises `UsageError` for a setting that it does not have."""
    from turnwise.encode.models.catalogue import locate
    from turnwise.extras import require

    locate(spec)  # an unknown name is reported first
    require("neural", f"the language model `{spec}`")
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
