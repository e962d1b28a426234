"""A folder with a plain BERT: its sizes, its weights and its tokenizer, read without torch and transformers.

Importing the classes and the tokenizer of transformers takes 3 s of processor time, more than encoding a thousand short
texts. For a folder whose configuration says anything else than plain BERT the functions return None, and transformers
is asked.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.graph.bert import EMBEDDINGS, NORM, Shape, linear_layers
from turnwise.errors import UsageError

Weights = Mapping[str, NDArray[Any]]
_PLAIN = {  # setting of config.json -> the only value that is known here, which is also the default
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
}
_SIZES = {  # field of `Shape` -> setting of config.json and its default in transformers
    "layers": ("num_hidden_layers", 12),
    "heads": ("num_attention_heads", 12),
    "width": ("hidden_size", 768),
    "inner": ("intermediate_size", 3072),
    "words": ("vocab_size", 30522),
    "kinds": ("type_vocab_size", 2),
    "positions": ("max_position_embeddings", 512),
    "epsilon": ("layer_norm_eps", 1e-12),
}
_NORMALIZER = {  # setting of tokenizer.json -> that of tokenizer_config.json, which wins in transformers
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
}
_DEFAULTS = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True}
_FILE = "model.safetensors"
WORD_VECTORS = "embeddings.word_embeddings.weight"


def stated_config(folder: Path) -> dict[str, Any]:
    """The content of a folder's config.json; a `UsageError` if it has none."""
    if not (folder / "config.json").is_file():
        raise UsageError(f"{folder} is no transformers model: it has no config.json")
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return config


def plain_shape(folder: Path, *, layer: int | None = None) -> Shape | None:
    """The sizes of the encoder in a folder up to `layer`; None if it is no plain BERT, or lacks weights of one."""
    config = stated_config(folder)
    path = folder / _FILE
    if not path.is_file() or any(config.get(name, value) != value for name, value in _PLAIN.items()):
        return None
    sizes = {name: config.get(key, default) for name, (key, default) in _SIZES.items()}
    if layer is not None:
        sizes["layers"] = layer
    shape = Shape(**sizes)
    there = _tensor_types(path)
    start = _prefix(there)
    types = {there.get(start + name) for name in weight_names(shape.layers)}
    return shape if types <= {"F32", "F16"} else None  # numpy has no bfloat16


def read_weights(folder: Path, shape: Shape) -> dict[str, NDArray[Any]]:
    """The weights of the encoder, under the names of transformers, in float32.

    The vectors of words, half of a small model, are read once: several networks that begin with them share them.
    """
    from safetensors import safe_open

    path = folder / _FILE
    start = _prefix(_tensor_types(path))
    shared = _word_vectors(path, path.stat().st_mtime_ns, start + WORD_VECTORS)
    with safe_open(path, framework="numpy") as file:
        return {
            name: shared
            if name == WORD_VECTORS
            else np.asarray(file.get_tensor(start + name), dtype=np.float32)
            for name in weight_names(shape.layers)
        }


@cache
def _word_vectors(path: Path, _changed: int, name: str) -> NDArray[np.float32]:
    """The vectors of words in a file, which was last changed at that time."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return np.asarray(file.get_tensor(name), dtype=np.float32)


def weight_names(layers: int) -> list[str]:
    """The names of all weights that are needed."""
    norms = [
        NORM,
        *(
            f"encoder.layer.{at}.{part}.LayerNorm"
            for at in range(layers)
            for part in ("attention.output", "output")
        ),
    ]
    return [
        *(f"embeddings.{name}_embeddings.weight" for name in EMBEDDINGS),
        *(f"{name}.{kind}" for name in (*norms, *linear_layers(layers)) for kind in ("weight", "bias")),
    ]


def stated_limit(folder: Path, most: int) -> int | None:
    """The largest number of tokens of an input of a plain BERT, at most `most`; None where a file does not say it."""
    settings = folder / "tokenizer_config.json"
    config = stated_config(folder)
    if config.get("model_type") != "bert" or not settings.is_file():
        return None
    stated = json.loads(settings.read_text()).get("model_max_length")
    limits = [most, config.get("max_position_embeddings", 512), *([] if stated is None else [stated])]
    return int(min(limits))


def read_bert_tokenizer(folder: Path, most: int) -> Any:
    """The tokenizer of a plain BERT, which cuts inputs at `most` tokens; None where transformers would change what the
    file says, and for any other model.
    """
    path, settings = folder / "tokenizer.json", folder / "tokenizer_config.json"
    if stated_config(folder).get("model_type") != "bert" or not path.is_file() or not settings.is_file():
        return None
    stored, stated = json.loads(path.read_text()), json.loads(settings.read_text())
    normalizer = stored.get("normalizer") or {}
    if (
        stated.get("tokenizer_class") not in ("BertTokenizer", "BertTokenizerFast")
        or normalizer.get("type") != "BertNormalizer"
        or any(
            normalizer.get(name) != stated.get(other, _DEFAULTS[other]) for name, other in _NORMALIZER.items()
        )
    ):
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    return tokenizer


def _tensor_types(path: Path) -> dict[str, str]:
    """The name of each tensor in a file, and the type of its numbers."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return {name: str(file.get_slice(name).get_dtype()) for name in file.keys()}  # noqa: SIM118 - is no mapping


def _prefix(names: Iterable[str]) -> str:
    """What stands before the names of an encoder that is part of a larger model."""
    return "bert." if any(name.startswith("bert.") for name in names) else ""
