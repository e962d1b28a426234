"""A small causal transformer with task heads: the network of trained sellers and customers (ENIGMA, appendix C).

Text is read from left to right, and the next token predicted at every position. Heads read the state at marked
positions: some classify it, and `choice` scores candidates, each given as a vector of features, together with the
state. The loss of a text is that of its tokens plus the weighted losses of the heads (equation 13).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from turnwise.types import Floats

PAD = 0
CHOICE = "choice"  # the head that chooses among candidates


@dataclass(frozen=True, slots=True)
class Mark:
    """A position of a text at which a head is trained."""

    at: int  # the position whose state the heads read
    classes: Mapping[str, int]  # head -> the right class
    candidates: Floats | None = None  # (m, f) features of the candidates; None: no choice is made here
    choice: int = 0  # the right candidate


@dataclass(frozen=True, slots=True)
class Example:
    """One training text: tokens, which of them are predicted, and the marked positions."""

    tokens: Sequence[int]
    predicted: Sequence[bool]  # whether the token counts in the language loss
    marks: Sequence[Mark] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sizes of a network."""

    vocabulary: int
    width: int
    layers: int
    longest: int  # tokens of a text; the first ones of a longer text are cut
    heads: Mapping[str, int] = field(default_factory=dict)  # head -> number of its classes
    features: int = 0  # features of a candidate; 0: no choices


class Transformer(nn.Module):
    """The network: embeddings of tokens and positions, pre-norm layers, a language head and the two task heads."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        width = sizes.width
        self.tokens = nn.Embedding(sizes.vocabulary, width)
        self.positions = nn.Embedding(sizes.longest, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, max(1, width // 16), 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(sizes.layers)
        )
        # The output layer shares the token embedding: with its usual variance of 1 the first scores would be far off.
        nn.init.normal_(self.tokens.weight, std=0.1)
        nn.init.normal_(self.positions.weight, std=0.1)
        self.norm = nn.LayerNorm(width)
        self.heads = nn.ModuleDict({name: nn.Linear(width, n) for name, n in sizes.heads.items()})
        self.candidate = nn.Linear(sizes.features + width, width)
        self.choice = nn.Linear(width, 1)

    def states(self, tokens: Tensor) -> Tensor:
        """(B, T) tokens -> (B, T, width) states; each depends on the tokens up to its own."""
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.positions.weight[:length]
        mask = torch.triu(torch.full((length, length), float("-inf")), diagonal=1)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        state: Tensor = self.norm(x)
        return state

    def logits(self, states: Tensor) -> Tensor:
        """The scores of the next token; the output layer shares the weights of the embedding."""
        return states @ self.tokens.weight.T

    def choices(self, states: Tensor, candidates: Tensor) -> Tensor:
        """(..., width) states and (..., m, f) candidates -> (..., m) scores."""
        around = states.unsqueeze(-2).expand(*candidates.shape[:-1], states.shape[-1])
        hidden = torch.nn.functional.gelu(self.candidate(torch.cat([candidates, around], dim=-1)))
        scores: Tensor = self.choice(hidden).squeeze(-1)
        return scores

    def losses(self, examples: Sequence[Example], weights: Mapping[str, float] | None = None) -> Tensor:
        """(B,) the loss of each example: the mean over its predicted tokens plus the weighted mean losses of heads.

        `weights` are by head, and for `choice`; a head without a weight is not trained.
        """
        weights = weights or {}
        longest = self.sizes.longest
        cut = [max(0, len(one.tokens) - longest) for one in examples]
        rows = [torch.tensor(list(one.tokens[start:])) for one, start in zip(examples, cut, strict=True)]
        tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
        states = self.states(tokens)
        found = []
        for row, (one, start) in enumerate(zip(examples, cut, strict=True)):
            predicted = [at for at in range(1, len(one.tokens) - start) if one.predicted[at + start]]
            logits = self.logits(states[row, [at - 1 for at in predicted]])
            loss = (
                nn.functional.cross_entropy(logits, tokens[row, predicted]) if predicted else states.sum() * 0
            )
            inside = [mark for mark in one.marks if mark.at >= start]
            for name, weight in weights.items():
                loss = loss + weight * self._head_loss(name, inside, states[row], start)
            found.append(loss)
        return torch.stack(found)

    def mean_loss(self, examples: Sequence[Example], weights: Mapping[str, float] | None = None) -> float:
        """The mean of `losses` over all examples, without gradients."""
        with torch.no_grad():
            parts = [self.losses(examples[at : at + 32], weights) for at in range(0, len(examples), 32)]
        return float(torch.cat(parts).mean())

    def _head_loss(self, name: str, marks: Sequence[Mark], states: Tensor, start: int) -> Tensor:
        """The mean loss of one head over the marks that it is trained at; 0 without any."""
        total, count = states.sum() * 0, 0
        for mark in marks:
            state = states[mark.at - start]
            if name == CHOICE and mark.candidates is not None:
                scores = self.choices(state, torch.tensor(mark.candidates, dtype=torch.float32))
                right = mark.choice
            elif name in mark.classes:
                scores, right = self.heads[name](state), mark.classes[name]
            else:
                continue
            total, count = total + nn.functional.cross_entropy(scores[None], torch.tensor([right])), count + 1
        return total / max(count, 1)


def new_network(sizes: Sizes, seed: int) -> Transformer:
    """A network with random weights of this seed; the global generator is not changed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Transformer(sizes)


class Reader:
    """A trained network that answers: the next tokens, the action and the choice after some tokens."""

    def __init__(self, network: Transformer) -> None:
        self.network = network.eval()
        self._texts: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._classes: dict[tuple[str, tuple[int, ...]], int] = {}

    @classmethod
    def read(cls, tensors: dict[str, NDArray[Any]], config: dict[str, Any]) -> "Reader":
        """The network of a model folder, whose weights are in half precision."""
        network = Transformer(Sizes(**config["sizes"]))
        network.load_state_dict(
            {name: torch.tensor(np.asarray(one, np.float32)) for name, one in tensors.items()}
        )
        return cls(network)

    @torch.no_grad()
    def _last(self, tokens: Sequence[int]) -> Tensor:
        """(width,) the state after the tokens."""
        kept = list(tokens)[-self.network.sizes.longest :]
        return self.network.states(torch.tensor([kept]))[0, -1]

    @torch.no_grad()
    def class_of(self, head: str, tokens: Sequence[int]) -> int:
        """The most likely class of a head after these tokens."""
        key = (head, tuple(tokens))
        if key not in self._classes:
            self._classes[key] = int(self.network.heads[head](self._last(tokens)).argmax())
        return self._classes[key]

    @torch.no_grad()
    def choice(self, tokens: Sequence[int], candidates: Floats) -> int:
        """The index of the best candidate after these tokens."""
        features = torch.tensor(candidates, dtype=torch.float32)
        return int(self.network.choices(self._last(tokens), features).argmax())

    @torch.no_grad()
    def text(self, tokens: Sequence[int], end: int, most: int) -> tuple[int, ...]:
        """The most likely next tokens up to `end`, which is left out, and at most `most`."""
        key = tuple(tokens)
        if key not in self._texts:
            said = list(key)
            for _ in range(most):
                token = int(self.network.logits(self._last(said)).argmax())
                if token == end:
                    break
                said.append(token)
            self._texts[key] = tuple(said[len(key) :])
        return self._texts[key]

    @torch.no_grad()
    def log_likelihood(self, tokens: Sequence[int], start: int) -> float:
        """The log-probability of the tokens from position `start` on, given those before."""
        kept = list(tokens)[-self.network.sizes.longest :]
        start = max(1, start - (len(tokens) - len(kept)))
        states = self.network.states(torch.tensor([kept]))[0]
        scores = torch.log_softmax(self.network.logits(states[start - 1 : -1]), dim=-1)
        return float(scores.gather(1, torch.tensor(kept[start:])[:, None]).sum())


def half(network: Transformer) -> dict[str, NDArray[Any]]:
    """The weights in half precision, as a model folder holds them."""
    return {name: one.detach().numpy().astype(np.float16) for name, one in network.state_dict().items()}
