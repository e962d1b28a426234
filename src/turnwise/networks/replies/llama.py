"""A Llama decoder that reads several replies to one context at once, with low-rank adapters (Hu et al. 2022).

The replies follow their context in one sequence. A reply's tokens attend to the context and to their own reply only,
and their positions continue from the end of the context, so every reply has the hidden states that it would have by
itself, and the context is computed once. `transformers` has no adapters of its own and reads such masks in different
ways in different versions, hence this module of torch alone. A Qwen2 is a Llama with biases of queries, keys and
values.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

LINEAR = (
    *(f"self_attn.{name}_proj" for name in "qkvo"),
    *(f"mlp.{name}_proj" for name in ("gate", "up", "down")),
)
CONTEXT, PADDING = 0, -1  # segments of a sequence that are no reply; replies are 1, 2, ...
# Tokens of SmolLM2: start of a text, end of a turn, and start of a reversed text.
START, END, REVERSED = 1, 2, 0


@dataclass(frozen=True)
class Shape:
    """The sizes of a Llama model, as in its config.json."""

    layers: int
    heads: int
    key_heads: int
    epsilon: float
    theta: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Shape":
        """Read them from a parsed config.json."""
        theta = (config.get("rope_parameters") or config).get("rope_theta", 10_000.0)
        return cls(
            config["num_hidden_layers"],
            config["num_attention_heads"],
            config["num_key_value_heads"],
            config["rms_norm_eps"],
            theta,
        )


class AdaptedLinear(nn.Module):
    """A fixed linear map plus a trainable product of two thin matrices, which starts at zero."""

    def __init__(self, weight: Tensor, bias: Tensor | None, rank: int) -> None:
        super().__init__()
        outputs, inputs = weight.shape
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
        self.down = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5) if rank else None
        self.up = nn.Parameter(torch.zeros(outputs, rank)) if rank else None

    def forward(self, x: Tensor) -> Tensor:
        y = functional.linear(x, self.weight, self.bias)
        if self.down is not None and self.up is not None:
            y = y + functional.linear(functional.linear(x, self.down.to(x.dtype)), self.up.to(x.dtype))
        return y

    def merge(self) -> None:
        """Add the product to the fixed map, and forget the two matrices."""
        if self.down is not None and self.up is not None:
            with torch.no_grad():
                self.weight.add_((self.up.float() @ self.down.float()).to(self.weight.dtype))
            self.down = self.up = None


class Layer(nn.Module):
    """One layer of the decoder: attention and a gated feed-forward network, each after a norm."""

    def __init__(self, weights: Mapping[str, Tensor], prefix: str, shape: Shape, rank: int) -> None:
        super().__init__()
        self.shape = shape
        (
            self.q_proj, self.k_proj, self.v_proj, self.o_proj, self.gate_proj, self.up_proj, self.down_proj,
        ) = (
            AdaptedLinear(weights[f"{prefix}.{name}.weight"], weights.get(f"{prefix}.{name}.bias"), rank)
            for name in LINEAR
        )  # fmt: skip
        self.norms = nn.ParameterList(
            nn.Parameter(weights[f"{prefix}.{name}.weight"], requires_grad=False)
            for name in ("input_layernorm", "post_attention_layernorm")
        )

    def forward(self, x: Tensor, turning: tuple[Tensor, Tensor], mask: Tensor, past: list[Tensor]) -> Tensor:
        """(b, l, d) the layer's output. `past` has keys and values of earlier tokens, or is empty; it is updated."""
        normed = functional.rms_norm(x, x.shape[-1:], self.norms[0], self.shape.epsilon)
        x = x + self.o_proj(self._attend(normed, turning, mask, past))
        normed = functional.rms_norm(x, x.shape[-1:], self.norms[1], self.shape.epsilon)
        out: Tensor = x + self.down_proj(functional.silu(self.gate_proj(normed)) * self.up_proj(normed))
        return out

    def _attend(self, x: Tensor, turning: tuple[Tensor, Tensor], mask: Tensor, past: list[Tensor]) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            projected(x).view(batch, length, heads, -1).transpose(1, 2)
            for projected, heads in (
                (self.q_proj, self.shape.heads),
                (self.k_proj, self.shape.key_heads),
                (self.v_proj, self.shape.key_heads),
            )
        )
        q, k = _turned(q, *turning), _turned(k, *turning)
        if past:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        past[:] = [k, v]
        repeats = self.shape.heads // self.shape.key_heads
        k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return attended.transpose(1, 2).reshape(batch, length, -1)


class Llama(nn.Module):
    """The decoder without its output layer, which is tied to the embeddings (`token_logits`)."""

    def __init__(self, weights: Mapping[str, Tensor], shape: Shape, *, rank: int = 0) -> None:
        super().__init__()
        self.shape = shape
        self.embeddings = nn.Parameter(weights["model.embed_tokens.weight"], requires_grad=False)
        self.norm = nn.Parameter(weights["model.norm.weight"], requires_grad=False)
        self.layers = nn.ModuleList(
            Layer(weights, f"model.layers.{number}", shape, rank) for number in range(shape.layers)
        )

    def forward(
        self, tokens: Tensor, positions: Tensor, mask: Tensor, past: Sequence[list[Tensor]] | None = None
    ) -> Tensor:
        """(b, l, d) hidden states. `mask` (b, 1, l, keys) is true where a token may attend."""
        x = functional.embedding(tokens, self.embeddings)
        width = x.shape[-1] // self.shape.heads
        rates = self.shape.theta ** (-torch.arange(0, width, 2, device=x.device).float() / width)
        angles = positions[..., None].float() * rates
        turning = (angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype))
        for number, layer in enumerate(self.layers):
            x = layer(x, turning, mask, past[number] if past is not None else [])
        return functional.rms_norm(x, x.shape[-1:], self.norm, self.shape.epsilon)

    def token_logits(self, hidden: Tensor) -> Tensor:
        """The logits of the next token."""
        return functional.linear(hidden, self.embeddings)

    def adapters(self) -> Iterable[tuple[str, nn.Parameter]]:
        """The trainable matrices, by name."""
        return [(name, one) for name, one in self.named_parameters() if name.endswith((".down", ".up"))]

    def merge(self) -> None:
        """Add all adapters to the fixed weights."""
        for module in self.modules():
            if isinstance(module, AdaptedLinear):
                module.merge()


def _turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions: each pair of components (i, i + half) is turned by the angle of its position."""
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


def attention_mask(segments: Tensor) -> Tensor:
    """(b, 1, l, l) which tokens a token attends to: earlier ones of the context and of its own reply.

    Padding attends to itself, because a row of the mask without a true entry would give NaN.
    """
    length = segments.shape[1]
    order = torch.arange(length, device=segments.device)
    earlier = order[:, None] >= order[None, :]
    from_, to = segments[:, :, None], segments[:, None, :]
    allowed = earlier & ((to == CONTEXT) | (to == from_)) & (to != PADDING)
    return (allowed | (order[:, None] == order[None, :]))[:, None]
