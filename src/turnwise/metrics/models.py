"""The models behind metrics: a metric holds a model's name and settings, and the process holds the model.

So a metric travels to another process as a few words, and several metrics share one copy of the weights.
"""

from functools import cache
from typing import Any

from turnwise.encode import Cache, JointEncoder, LanguageModel, TextEncoder, TokenEncoder, load, load_lm
from turnwise.errors import UsageError


@cache
def text_encoder(spec: str, **options: Any) -> TextEncoder:
    return load(spec, cache=Cache(), **options)


def token_encoder(spec: str, **options: Any) -> TokenEncoder:
    encoder = text_encoder(spec, **options)
    if not isinstance(encoder, TokenEncoder):
        raise UsageError(f"`{spec}` has no vectors of single tokens; choose another --model")
    return encoder


def joint_encoder(spec: str, **options: Any) -> JointEncoder:
    encoder = text_encoder(spec, **options)
    if not isinstance(encoder, JointEncoder):
        raise UsageError(f"`{spec}` cannot read two texts as one input; choose another --model")
    return encoder


@cache
def language_model(spec: str, **options: Any) -> LanguageModel:
    return load_lm(spec, cache=Cache(), **options)
