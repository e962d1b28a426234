"""The states of a BERT encoder, such as MiniLM, computed with torch alone.

Importing the classes and the tokenizer of transformers takes 3 s of processor time, more than encoding a thousand short
texts. A folder whose configuration says plain BERT is read here; the operations and their order are those of
`transformers.BertModel`, so that the numbers are the same, bit by bit (tests/encode/neural/test_bert.py). For every
other folder the functions return None, and transformers is asked.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.encode.neural.loading import stated_config

if TYPE_CHECKING:
    import torch

_PLAIN = {  # setting of config.json -> the only value that is known here, which is also the default
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
}
_NORMALIZER = {  # setting of tokenizer.json -> that of tokenizer_config.json, which wins in transformers
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
}
_DEFAULTS = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True}


@dataclass(frozen=True, slots=True)
class Bert:
    """The weights of an encoder up to one of its layers."""

    weights: dict[str, "torch.Tensor"]
    layers: int
    heads: int
    epsilon: float

    def states(
        self, ids: "torch.Tensor", kinds: "torch.Tensor", *, last: int | None = None
    ) -> "torch.Tensor":
        """(b, t, d) states of the last layer for (b, t) tokens and their types; no text is padded.

        With `last`, only those of the first token and of so many last ones, (b, 1 + last, d): the last layer need not
        compute the others.
        """
        from torch.nn import functional

        of = self.weights
        found = functional.embedding(ids, of["embeddings.word_embeddings.weight"])
        found = found + functional.embedding(kinds, of["embeddings.token_type_embeddings.weight"])
        found = found + of["embeddings.position_embeddings.weight"][: ids.shape[1]]
        found = self._norm(found, "embeddings.LayerNorm")
        for layer in range(self.layers - 1):
            found = self._block(found, found, f"encoder.layer.{layer}.")
        wanted = found
        if last is not None and last + 1 < found.shape[1]:
            from torch import cat

            wanted = cat([found[:, :1], found[:, -last:]], dim=1)
        return self._block(wanted, found, f"encoder.layer.{self.layers - 1}.")

    def _block(self, states: "torch.Tensor", all_states: "torch.Tensor", at: str) -> "torch.Tensor":
        """One layer for some states, which attend to all: attention and two linear maps, each added to its input."""
        from torch.nn import functional

        batch, length, width = states.shape
        query, key, value = (
            self._linear(read, f"{at}attention.self.{name}")
            .view(batch, read.shape[1], self.heads, width // self.heads)
            .transpose(1, 2)
            for name, read in (("query", states), ("key", all_states), ("value", all_states))
        )
        seen = functional.scaled_dot_product_attention(query, key, value)
        seen = seen.transpose(1, 2).reshape(batch, length, width)
        states = self._norm(
            self._linear(seen, f"{at}attention.output.dense") + states, f"{at}attention.output.LayerNorm"
        )
        inner = functional.gelu(self._linear(states, f"{at}intermediate.dense"))
        return self._norm(self._linear(inner, f"{at}output.dense") + states, f"{at}output.LayerNorm")

    def _linear(self, states: "torch.Tensor", name: str) -> "torch.Tensor":
        from torch.nn import functional

        return functional.linear(states, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, states: "torch.Tensor", name: str) -> "torch.Tensor":
        from torch.nn import functional

        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, self.epsilon)


def read_bert(folder: Path, *, layer: int | None, device: str, precision: str) -> Bert | None:
    """The encoder of a folder up to `layer`, or all of it; None if the folder has anything else than a plain BERT."""
    config = stated_config(folder)
    path = folder / "model.safetensors"
    if not path.is_file() or any(config.get(name, value) != value for name, value in _PLAIN.items()):
        return None
    import torch
    from safetensors import safe_open

    layers = config.get("num_hidden_layers", 12) if layer is None else layer
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    weights: dict[str, torch.Tensor] = {}
    with safe_open(path, framework="pt") as file:
        there = set(file.keys())
        start = "bert." if any(name.startswith("bert.") for name in there) else ""
        for name in _names(layers):
            if start + name not in there:
                return None
            weights[name] = file.get_tensor(start + name).to(device=device, dtype=dtype)
    heads = config.get("num_attention_heads", 12)
    return Bert(weights, layers, heads, float(config.get("layer_norm_eps", 1e-12)))


def _names(layers: int) -> list[str]:
    """The names of all weights that are needed."""
    linear = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]
    parts = [*linear, "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"]
    whole = [
        "embeddings.LayerNorm",
        *(f"encoder.layer.{at}.{part}" for at in range(layers) for part in parts),
    ]
    tables = ("word", "token_type", "position")
    return [
        *(f"embeddings.{name}_embeddings.weight" for name in tables),
        *(f"{name}.{kind}" for name in whole for kind in ("weight", "bias")),
    ]


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
