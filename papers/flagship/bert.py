"""A BERT encoder of torch alone: loads in a moment, where `transformers` takes seconds to import."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class BertShape:
    """The sizes of a BERT model, as in its config.json."""

    layers: int
    heads: int
    width: int
    inner: int
    epsilon: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "BertShape":
        """Read them from a parsed config.json."""
        names = (
            "num_hidden_layers",
            "num_attention_heads",
            "hidden_size",
            "intermediate_size",
            "layer_norm_eps",
        )
        return cls(*(config[name] for name in names))


class BertLayer(nn.Module):
    """Attention and a feed-forward network, each followed by a norm."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query, self.key, self.value, self.out = (nn.Linear(shape.width, shape.width) for _ in range(4))
        self.inner, self.outer = nn.Linear(shape.width, shape.inner), nn.Linear(shape.inner, shape.width)
        self.attended, self.final = (nn.LayerNorm(shape.width, eps=shape.epsilon) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part(x).view(batch, length, self.heads, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.attended(x + self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        out: Tensor = self.final(x + self.outer(functional.gelu(self.inner(x))))
        return out


PARTS = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "out": "attention.output.dense", "attended": "attention.output.LayerNorm", "inner": "intermediate.dense",
    "outer": "output.dense", "final": "output.LayerNorm",
}  # fmt: skip


class Bert(nn.Module):
    """Embeddings, which stay fixed, and layers. The weights have the names that transformers has."""

    def __init__(self, weights: Mapping[str, Tensor], shape: BertShape) -> None:
        super().__init__()
        self.shape = shape
        fixed = ("word_embeddings", "position_embeddings", "token_type_embeddings")
        self.word, self.position, self.kind = (
            nn.Parameter(weights[f"embeddings.{name}.weight"].float(), requires_grad=False) for name in fixed
        )
        self.norm = nn.LayerNorm(shape.width, eps=shape.epsilon)
        self.norm.load_state_dict(_part(weights, "embeddings.LayerNorm"))
        self.norm.requires_grad_(False)
        self.layers = nn.ModuleList(BertLayer(shape) for _ in range(shape.layers))
        for number, layer in enumerate(self.layers):
            for name, part in PARTS.items():
                getattr(layer, name).load_state_dict(_part(weights, f"encoder.layer.{number}.{part}"))

    def forward(self, tokens: Tensor, kinds: Tensor, there: Tensor) -> Tensor:
        """(b, l, d) the hidden states of tokens (b, l) with their token types; `there` is false for padding."""
        order = torch.arange(tokens.shape[1], device=tokens.device)
        embedded = (
            functional.embedding(tokens, self.word)
            + functional.embedding(kinds, self.kind)
            + functional.embedding(order, self.position)
        )
        x: Tensor = self.norm(embedded)
        mask = there[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return x


def _part(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The weight and bias of one part."""
    return {name: weights[f"{prefix}.{name}"].float() for name in ("weight", "bias")}
