"""Models by provider and name, `openai/gpt-4o` or `ollama/llama3.2`: the address, the model and the key's variable.

Every provider here answers chat completions in OpenAI's form. The addresses are those that the providers document;
where a variable for the address is set, it counts instead.
"""

import os
from typing import NamedTuple


class Provider(NamedTuple):
    """Where a provider's models answer."""

    address: str
    key: str = ""  # the environment variable that has the key; "": it needs none
    address_variable: str = ""  # an environment variable that may have another address


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "cerebras": Provider("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "ollama": Provider("http://localhost:11434/v1", address_variable="OLLAMA_HOST"),
    "lmstudio": Provider("http://localhost:1234/v1"),
    "vllm": Provider("http://localhost:8000/v1"),
    "llamacpp": Provider("http://localhost:8080/v1"),
}


class ServedModel(NamedTuple):
    """A model behind an address."""

    address: str
    model: str
    key: str  # the environment variable that has the key; "": the usual ones


def served_model(spec: str) -> ServedModel | None:
    """The model that `PROVIDER/NAME` means; None if it does not begin with a provider."""
    name, slash, model = spec.partition("/")
    provider = PROVIDERS.get(name)
    if provider is None or not (slash and model):
        return None
    address = os.environ.get(provider.address_variable, "").strip() if provider.address_variable else ""
    return ServedModel(_completed(address) or provider.address, model, provider.key)


def _completed(address: str) -> str:
    """An address with its scheme and its path, where a variable has the host alone, as that of ollama may."""
    if not address:
        return ""
    with_scheme = address if "://" in address else f"http://{address}"
    scheme, _, rest = with_scheme.partition("://")
    return with_scheme if "/" in rest.rstrip("/") else f"{scheme}://{rest.rstrip('/')}/v1"
