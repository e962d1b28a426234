"""Loading of the models that metrics use, once per process.

A metric stores only a model's name and settings. So it is small when it is sent to a worker, and several metrics
share one copy of the weights.
"""

from functools import cache
from typing import Any

from turnwise.encode import Cache, LanguageModel, TextEncoder, TokenEncoder, load, load_lm
from turnwise.errors import UsageError, setting


@cache
def text_encoder(spec: str, **options: Any) -> TextEncoder:
    """The encoder of this name, which gives one vector for each text; loaded once for the same name and options."""
    return load(spec, cache=Cache(), **options)


def token_encoder(spec: str, **options: Any) -> TokenEncoder:
    """The encoder of this name, which gives one vector for each token; `UsageError` if it has no token vectors."""
    encoder = text_encoder(spec, **options)
    if not isinstance(encoder, TokenEncoder):
        raise UsageError(f"`{spec}` has no token vectors; choose another {setting('--model')}")
    return encoder


@cache
def language_model(spec: str, **options: Any) -> LanguageModel:
    """The language model of this name; loaded once for the same name and options."""
    return load_lm(spec, cache=Cache(), **options)
