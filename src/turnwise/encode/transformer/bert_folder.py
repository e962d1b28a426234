"""A folder with a plain BERT: its sizes, its weights and its tokenizer, read without torch and transformers.

Importing the classes and the tokenizer of transformers takes 3 s of processor time, more than encoding a thousand short
texts. For a folder whose configuration says anything else than plain BERT the functions return None, and transformers
is asked.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.graph.bert import EMBEDDINGS, NORM, WORD_VECTORS, Shape, linear_layers
from turnwise.errors import DataError, UsageError

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
_KINDS = {"F32": "<f4", "F16": "<f2"}  # numpy has no bfloat16


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
    there = _tensors(path)
    start = _prefix(there)
    types = {there[start + name].kind if start + name in there else "" for name in weight_names(shape.layers)}
    return shape if types <= set(_KINDS) else None


def read_weights(folder: Path, shape: Shape) -> "StoredWeights":
    """The weights of the encoder, under the names of transformers, in float32."""
    path = folder / _FILE
    return StoredWeights(path, _prefix(_tensors(path)), tuple(weight_names(shape.layers)))


@dataclass(frozen=True, slots=True)
class StoredWeights(Mapping[str, NDArray[np.float32]]):
    """Weights in a safetensors file; each is read when it is asked for, and is not kept.

    A session keeps them in another order, so that reading all at once would need their memory twice. The vectors of
    words, half of a small model, are mapped: a run reads those of its own words, and several networks share them.
    """

    path: Path
    start: str  # before the names in the file
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        stored = _tensors(self.path)[self.start + name]
        kind = np.dtype(_KINDS[stored.kind])
        if name == WORD_VECTORS and kind == np.float32:
            return np.memmap(self.path, kind, "r", stored.offset, stored.shape)
        values = np.fromfile(self.path, kind, int(np.prod(stored.shape)), offset=stored.offset)
        return values.reshape(stored.shape).astype(np.float32, copy=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


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


class _Stored(NamedTuple):
    """Where a tensor is in a file."""

    kind: str
    shape: tuple[int, ...]
    offset: int  # from the beginning of the file


def _tensors(path: Path) -> dict[str, _Stored]:
    """The tensors of a safetensors file: its length of eight bytes, a JSON object, then the numbers."""
    return _read_header(path, path.stat().st_mtime_ns)


@cache
def _read_header(path: Path, _changed: int) -> dict[str, _Stored]:
    """`_tensors` of a file that was last changed at that time; a `DataError` if it is damaged."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        begin, whole = 8 + size, path.stat().st_size
        try:
            header = json.loads(file.read(size)) if begin <= whole else {}
            found = {
                name: _Stored(one["dtype"], tuple(one["shape"]), begin + one["data_offsets"][0])
                for name, one in header.items()
                if name != "__metadata__"
            }
            ends = [begin + one["data_offsets"][1] for name, one in header.items() if name != "__metadata__"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: cannot be read: {error}") from error
    if not ends or max(ends) > whole:
        raise DataError(f"{path}: is damaged or not whole")
    return found


def _prefix(names: Iterable[str]) -> str:
    """What stands before the names of an encoder that is part of a larger model."""
    return "bert." if any(name.startswith("bert.") for name in names) else ""
