"""Many policies in one batch: SmolLM2 with low-rank adapters (Hu et al. 2022) of its own for each policy.

The fixed weights are shared. Row by row the batch belongs to the policies in order, so that the adapters are two
batched products for each matrix, and nine policies cost little more kernels than one. A reply's context is read once
for all of its sampled replies: when sampling, its keys and values are repeated, and when training, the replies follow
their context in one sequence in which they do not see each other (networks/replies/llama.py). On a GPU the step that
samples one token is a CUDA graph, because otherwise starting its two thousand kernels takes longer than they run.

Weights and activations are bfloat16 on a GPU; adapters, log-probabilities, losses and the optimiser are float32. The
optimiser is Adam with a norm of the gradient and a check for numbers that are not finite for each policy by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from turnwise.networks.replies.llama import CONTEXT, PADDING, Shape, attention_mask

END = 2  # the token that ends a turn
PARTS = {  # part -> matrices that it joins
    "qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "out": ("self_attn.o_proj",),
    "gate_up": ("mlp.gate_proj", "mlp.up_proj"),
    "down": ("mlp.down_proj",),
}
BETAS, EPSILON = (0.9, 0.99), 1e-8
Adapters = Sequence[Mapping[str, tuple[Tensor, Tensor]]]  # layer -> part -> (p, inputs, r), (p, r, outputs)
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]  # layer, queries, keys, values -> (rows, l, d)


class Contexts(NamedTuple):
    """Contexts as tokens, filled on the left."""

    tokens: Tensor  # (..., c)
    there: Tensor  # (..., c) False for filling


class Evaluation(NamedTuple):
    """The policies' view of given replies, in float32, with a gradient."""

    log_prob: Tensor  # (p, g, k, t)
    entropy: Tensor  # (p, g, k, t)


@dataclass
class Sampling:
    """The tensors of a batch that is sampled token by token; they keep their places in memory for the CUDA graph."""

    keys: list[Tensor]  # by layer (rows, key heads, l, width)
    values: list[Tensor]
    there: Tensor  # (rows, l) tokens that may be attended to
    token: Tensor  # (rows, 1) the last token
    position: Tensor  # (rows, 1) its position
    column: Tensor  # (1,) its column
    done: Tensor  # (rows,) the reply has ended
    out: Tensor  # (rows, t) the replies
    noise: Tensor  # () 1: sample, 0: take the most probable token
    graph: "torch.cuda.CUDAGraph | None" = None


class Policies:
    """Several policies that start as the same language model. `seeds` has one number for each."""

    def __init__(
        self, weights: Mapping[str, Tensor], shape: Shape, seeds: Sequence[int], *, rank: int, context: int,
        longest: int, per_policy: int, device: str, dtype: torch.dtype = torch.bfloat16, graph: bool = True,
    ) -> None:  # fmt: skip
        """`context` and `longest` are the lengths of contexts and replies; `per_policy` replies are sampled at once.

        Without `graph` no CUDA graph is used on a GPU either.
        """
        self.graph = graph and device.startswith("cuda")
        self.shape, self.rank, self.context, self.longest = shape, rank, context, longest
        self.per_policy, self.device, self.dtype = per_policy, device, dtype

        def fixed(name: str) -> Tensor:
            return weights[f"{name}.weight"].to(device, dtype)

        self.embeddings, self.norm = fixed("model.embed_tokens"), fixed("model.norm")
        self.layers = [
            {part: torch.cat([fixed(f"model.layers.{number}.{one}") for one in joined])
             for part, joined in PARTS.items()}
            | {one: fixed(f"model.layers.{number}.{one}") for one in ("input_layernorm", "post_attention_layernorm")}
            for number in range(shape.layers)
        ]  # fmt: skip
        self.width = self.embeddings.shape[1] // shape.heads
        self._sizes = [layer[part].shape for layer in self.layers for part in PARTS]
        self.use(torch.stack([self._start(seed) for seed in seeds]))

    def _start(self, seed: int) -> Tensor:
        """(n,) the adapters of a policy at the start, whose products are zero."""
        generator = torch.Generator().manual_seed(seed)
        pieces = []
        for outputs, inputs in self._sizes:
            pieces += [
                torch.randn(inputs * self.rank, generator=generator) / inputs**0.5,
                torch.zeros(self.rank * outputs),
            ]
        return torch.cat(pieces).to(self.device)  # fmt: skip

    def use(
        self, flat: Tensor, first: Tensor | None = None, second: Tensor | None = None, steps: int = 0
    ) -> None:
        """Take these adapters (p, n), and the state of the optimiser."""
        self.flat = flat.clone()
        self.first = torch.zeros_like(flat) if first is None else first.clone()
        self.second = torch.zeros_like(flat) if second is None else second.clone()
        self.steps = steps
        self.count = len(flat)
        self._parameters: list[dict[str, tuple[Tensor, Tensor]]] = []
        self._leaves: list[Tensor] = []
        self._places: list[Tensor] = []  # of the parameters in `flat`
        at = 0
        for number in range(self.shape.layers):
            self._parameters.append({})
            for part in PARTS:
                outputs, inputs = self.layers[number][part].shape
                for sizes in ((inputs, self.rank), (self.rank, outputs)):
                    end = at + sizes[0] * sizes[1]
                    self._places.append(self.flat[:, at:end].view(self.count, *sizes))
                    self._leaves.append(self._places[-1].contiguous().requires_grad_())
                    at = end
                self._parameters[-1][part] = (self._leaves[-2], self._leaves[-1])
        self._sampling: Sampling | None = None

    # -- the network -----------------------------------------------------------------------------------------------

    def _adapters(self) -> Adapters:
        """The adapters in the precision of the products."""
        return [
            {part: (down.to(self.dtype), up.to(self.dtype)) for part, (down, up) in layer.items()}
            for layer in self._parameters
        ]

    def _map(self, x: Tensor, number: int, part: str, adapters: Adapters) -> Tensor:
        down, up = adapters[number][part]
        y = functional.linear(x, self.layers[number][part])
        rows = x.reshape(self.count, -1, x.shape[-1])
        return y + torch.bmm(torch.bmm(rows, down), up).view_as(y)

    def _read(self, tokens: Tensor, positions: Tensor, adapters: Adapters, attend: Attend) -> Tensor:
        """(rows, l, d) the hidden states of tokens (rows, l)."""
        shape, rows, length = self.shape, *tokens.shape
        x = functional.embedding(tokens, self.embeddings)
        rates = shape.theta ** (-torch.arange(0, self.width, 2, device=x.device).float() / self.width)
        angles = positions[..., None].float() * rates
        cosine, sine = (part[:, None].to(x.dtype) for part in (angles.cos(), angles.sin()))
        heads = (shape.heads, shape.key_heads, shape.key_heads)
        for number, layer in enumerate(self.layers):
            normed = functional.rms_norm(x, x.shape[-1:], layer["input_layernorm"], shape.epsilon)
            joined = self._map(normed, number, "qkv", adapters).split([one * self.width for one in heads], -1)
            q, k, v = (
                one.view(rows, length, count, self.width).transpose(1, 2)
                for one, count in zip(joined, heads, strict=True)
            )
            attended = attend(number, _turned(q, cosine, sine), _turned(k, cosine, sine), v)
            x = x + self._map(attended, number, "out", adapters)
            normed = functional.rms_norm(x, x.shape[-1:], layer["post_attention_layernorm"], shape.epsilon)
            gate, up = self._map(normed, number, "gate_up", adapters).chunk(2, -1)
            x = x + self._map(functional.silu(gate) * up, number, "down", adapters)
        return functional.rms_norm(x, x.shape[-1:], self.norm, shape.epsilon)

    def _attend_all(self, mask: Tensor) -> Attend:
        """Attention within a sequence; `mask` (rows, 1, l, l) is true where a token may attend."""
        repeats = self.shape.heads // self.shape.key_heads

        def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return mixed.transpose(1, 2).flatten(2)

        return attend

    # -- sampling --------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def sample(self, contexts: Contexts, *, greedy: bool = False) -> Tensor:
        """(p, g, k, t) replies to contexts (p, g, c), with k replies for each; END fills the rest of a reply."""
        policies, given, width = contexts.tokens.shape
        copies = self.per_policy // given
        if policies != self.count or given * copies != self.per_policy or width != self.context:
            raise ValueError(f"{policies} x {given} contexts of {width} tokens do not fit")
        adapters = self._adapters()
        state = self._buffers()
        tokens, there = contexts.tokens.flatten(0, 1), contexts.there.flatten(0, 1)
        positions = (there.cumsum(1) - 1).clamp(min=0)
        mask = attention_mask(torch.where(there, CONTEXT, PADDING))
        inside = self._attend_all(mask)

        def attend(number: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            state.keys[number][:, :, : self.context] = k.repeat_interleave(copies, 0)
            state.values[number][:, :, : self.context] = v.repeat_interleave(copies, 0)
            return inside(number, q, k, v)

        hidden = self._read(tokens, positions, adapters, attend)[:, -1:].repeat_interleave(copies, 0)
        state.there.zero_()
        state.there[:, : self.context] = there.repeat_interleave(copies, 0)
        state.position.copy_(positions[:, -1:].repeat_interleave(copies, 0) + 1)
        state.column.fill_(self.context)
        state.done.zero_()
        state.noise.fill_(0.0 if greedy else 1.0)
        self._choose(hidden, state, torch.zeros_like(state.column))
        self._load(adapters)
        for _ in range(1, self.longest):
            self._advance(state)
        return state.out.view(self.count, given, copies, self.longest).clone()

    def _buffers(self) -> Sampling:
        """The tensors for sampling, made once for a number of policies."""
        if self._sampling is None:
            rows, length = self.count * self.per_policy, self.context + self.longest
            size = (rows, self.shape.key_heads, length, self.width)
            cache = [
                [torch.zeros(size, dtype=self.dtype, device=self.device) for _ in self.layers]
                for _ in range(2)
            ]

            def zeros(*sizes: int, dtype: torch.dtype = torch.long) -> Tensor:
                return torch.zeros(sizes, dtype=dtype, device=self.device)

            self._sampling = Sampling(
                cache[0], cache[1], zeros(rows, length, dtype=torch.bool), zeros(rows, 1), zeros(rows, 1), zeros(1),
                zeros(rows, dtype=torch.bool), zeros(rows, self.longest), zeros(dtype=torch.float32),
            )  # fmt: skip
            self._loaded = [
                {part: tuple(torch.zeros_like(one, dtype=self.dtype, requires_grad=False) for one in pair)
                 for part, pair in layer.items()}
                for layer in self._parameters
            ]  # fmt: skip
        return self._sampling

    def _load(self, adapters: Adapters) -> None:
        """Copy the adapters to the place where the CUDA graph reads them."""
        for layer, source in zip(self._loaded, adapters, strict=True):
            for part, pair in layer.items():
                for target, one in zip(pair, source[part], strict=True):
                    target.copy_(one)

    def _advance(self, state: Sampling) -> None:
        """Sample one more token of every reply, on a GPU by the CUDA graph, which is made at the first call."""
        if not self.graph:
            self._step(state)
            return
        if state.graph is None:
            kept = [
                one.clone()
                for one in (state.there, state.token, state.position, state.column, state.done, state.out)
            ]
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(2):
                    self._step(state)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._step(state)
            for one, value in zip(
                (state.there, state.token, state.position, state.column, state.done, state.out),
                kept,
                strict=True,
            ):
                one.copy_(value)
            state.graph = graph
        state.graph.replay()

    @torch.no_grad()
    def _step(self, state: Sampling) -> None:
        state.there.index_fill_(1, state.column, True)
        mask = state.there[:, None, None, :]

        def attend(number: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            keys, values = state.keys[number], state.values[number]
            keys.index_copy_(2, state.column, k)
            values.index_copy_(2, state.column, v)
            # The heads that share a key head are like queries at different places, so that no key is repeated.
            q = q.view(q.shape[0], self.shape.key_heads, -1, self.width)
            mixed = functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
            return mixed.reshape(mixed.shape[0], 1, -1)

        hidden = self._read(state.token, state.position, self._loaded, attend)  # type: ignore[arg-type]
        state.column.add_(1)
        state.position.add_(1)
        self._choose(hidden, state, state.column - self.context)

    def _choose(self, hidden: Tensor, state: Sampling, at: Tensor) -> None:
        """Choose the next token from states (rows, 1, d), and write it at this place of the replies."""
        logits = functional.linear(hidden[:, 0], self.embeddings).float()
        uniform = torch.rand_like(logits).clamp(1e-20, 1 - 1e-7)
        token = (logits - state.noise * torch.log(-torch.log(uniform))).argmax(-1)
        token = torch.where(state.done, END, token)
        state.done |= token == END
        state.token.copy_(token[:, None])
        state.out.index_copy_(1, at, token[:, None])

    # -- training --------------------------------------------------------------------------------------------------

    def evaluate(self, contexts: Contexts, replies: Tensor, real: Tensor) -> Evaluation:
        """The log-probabilities of replies (p, g, k, t) in their contexts (p, g, c), and entropies at their tokens.

        `real` is true for a reply's tokens, its END included; values at other places mean nothing.
        """
        policies, given, copies, longest = replies.shape
        rows = policies * given
        there = contexts.there.flatten(0, 1)
        numbers = torch.arange(1, copies + 1, device=self.device)[None, :, None]
        after = torch.where(real.flatten(0, 1), numbers, PADDING).flatten(1)
        segments = torch.cat([torch.where(there, CONTEXT, PADDING), after], 1)
        before = there.sum(1, keepdim=True)
        positions = torch.cat(
            [
                (there.cumsum(1) - 1).clamp(min=0),
                before + torch.arange(longest, device=self.device).repeat(copies),
            ],
            1,
        )
        tokens = torch.cat([contexts.tokens.flatten(0, 1), replies.view(rows, -1)], 1)
        hidden = self._read(tokens, positions, self._adapters(), self._attend_all(attention_mask(segments)))
        last = hidden[:, None, self.context - 1 : self.context].expand(-1, copies, -1, -1)
        states = torch.cat([last, hidden[:, self.context :].view(rows, copies, longest, -1)[:, :, :-1]], 2)
        states = states.view(policies, -1, states.shape[-1])
        targets = replies.reshape(policies, -1)
        # Policy by policy and computed again for the gradient: the logits of a whole batch are gigabytes.
        found = [
            checkpoint(self._token_logs, *pair, use_reentrant=False, preserve_rng_state=False)
            for pair in zip(states, targets, strict=True)
        ]
        log_prob, entropy = (torch.stack(part).view(replies.shape) for part in zip(*found, strict=True))
        return Evaluation(log_prob, entropy)

    def _token_logs(self, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """(n,) log-probabilities of the tokens, and entropies of their distributions."""
        logs = torch.log_softmax(functional.linear(states, self.embeddings).float(), -1)
        return logs.gather(1, targets[:, None])[:, 0], -(logs.exp() * logs).sum(-1)

    def forget_gradients(self) -> None:
        """Drop the gradients so far."""
        for leaf in self._leaves:
            leaf.grad = None

    @torch.no_grad()
    def descend(self, rates: Tensor, *, clip: float) -> Tensor:
        """One step of Adam on the gradients so far; (p,) whether each policy's gradient was finite.

        A policy whose gradient is not finite stays as it was.
        """
        gradient = torch.cat([_gradient(one).flatten(1) for one in self._leaves], 1)
        norms = gradient.norm(dim=1)
        finite = norms.isfinite()
        scale = torch.where(finite, (clip / norms.clamp(min=1e-12)).clamp(max=1.0), 0.0)
        gradient = torch.where(finite[:, None], gradient, 0.0) * scale[:, None]
        self.steps += 1
        self.first.lerp_(gradient, 1 - BETAS[0])
        self.second.lerp_(gradient**2, 1 - BETAS[1])
        mean = self.first / (1 - BETAS[0] ** self.steps)
        spread = (self.second / (1 - BETAS[1] ** self.steps)).sqrt() + EPSILON
        self.flat.sub_((rates * finite)[:, None] * mean / spread)
        for leaf, place in zip(self._leaves, self._places, strict=True):
            leaf.copy_(place)
            leaf.grad = None
        return finite


def _gradient(leaf: Tensor) -> Tensor:
    """The gradient of a parameter; zero if it has none."""
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def real_tokens(replies: Tensor) -> Tensor:
    """True for the tokens of replies (..., t) up to the first END, which is included."""
    ended = (replies == END).cumsum(-1)
    return (ended == 0) | ((ended == 1) & (replies == END))


def _turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions: each pair of components (i, i + half) is turned by the angle of its position."""
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)
