"""Text becomes tokens, vectors and log-probabilities. `load` finds an encoder, `load_lm` a language model, by name."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnwise.encode.cache.disk import Cache
from turnwise.encode.encoder import (
    JointEncoder,
    LanguageModel,
    PairEncoder,
    TextEncoder,
    TextInContext,
    TokenEncoder,
    Tokens,
    Vectors,
)
from turnwise.encode.models.catalogue import MODELS, label, locate
from turnwise.encode.models.folder import is_trained
from turnwise.errors import UsageError
from turnwise.extras import require

if TYPE_CHECKING:
    from turnwise.encode.neural.causal import CausalLM
    from turnwise.encode.pairs import Pairs

__all__ = [
    "Cache",
    "JointEncoder",
    "LanguageModel",
    "PairEncoder",
    "TextEncoder",
    "TextInContext",
    "TokenEncoder",
    "Tokens",
    "Vectors",
    "load",
    "load_lm",
    "load_pairs",
]


def load(spec: str, *, cache: Cache | None = None, **options: Any) -> TextEncoder:
    """An encoder by name (`hashing`, `minilm`, `word2vec`, `wordllama`), folder or hub id.

    A folder may also be a trained HRED, VHRED or dual encoder. Options are those of the encoder's class: `layer`,
    `pooling`, `normalise`, `max_length`, `precision`, `kept`, `device` of a Transformer, `dimension` of Hashing; others
    are a `UsageError`. What is quick to compute is not cached.
    """
    try:
        return _load(spec, cache, options)
    except TypeError as error:
        raise UsageError(f"the encoder `{spec}` does not take these options: {error}") from error


def _load(spec: str, cache: Cache | None, options: dict[str, Any]) -> TextEncoder:
    """`load` without the check of options, which raise `TypeError` here."""
    if spec == "hashing":
        from turnwise.encode.hashing import Hashing

        return Hashing(**options)
    folder = locate(spec)
    if is_trained(folder):
        # Imported by name, because `networks` is a layer above.
        trained: TextEncoder = import_module("turnwise.networks.hred.encoder").Hierarchical.load(
            folder, **options
        )
        return trained
    if (folder / "config.json").is_file():
        require("models", f"the encoder `{spec}`")
        from turnwise.encode.transformer.encoder import Transformer

        return Transformer(folder, label(spec), cache=cache, **options)
    from turnwise.encode.static import SubwordVectors, WordVectors

    if (folder / "tokenizer.json").is_file():
        return SubwordVectors.read(folder, label=label(spec), **options)
    tables = sorted(folder.glob("*.bin"))
    if len(tables) != 1:
        known = ", ".join(sorted(MODELS))
        raise UsageError(
            f"{folder} holds no encoder that is known here (a transformers model, or one like {known})"
        )
    return WordVectors.read(tables[0], label=label(spec), **options)


def load_pairs(
    spec: str, *, cache: Cache | None = None, pairing: str = "within", turns: int = 1, **options: Any
) -> "Pairs":
    """An encoder of replies in their context, which is the last `turns` turns; `pairs.py` has the four pairings."""
    from turnwise.encode.pairs import PAIRINGS, Pairs

    for known in PAIRINGS:
        if known == pairing:
            return Pairs(load(spec, cache=cache, **options), known, turns)
    raise UsageError(f"there is no pairing `{pairing}`; there are {', '.join(PAIRINGS)}")


def load_lm(spec: str, *, cache: Cache | None = None, **options: Any) -> "CausalLM":
    """A causal language model by name (`smollm2`), folder or hub id; a `UsageError` for unknown options."""
    folder = locate(spec)
    from turnwise.encode.neural.causal import CausalLM

    try:
        return CausalLM(folder, label(spec), cache=cache, **options)
    except TypeError as error:
        raise UsageError(f"the language model `{spec}` does not take these options: {error}") from error
