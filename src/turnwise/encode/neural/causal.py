"""Log-probabilities of what is said, given what was said before, from any causal language model.

log p(text | context) is the sum over the text's tokens; with the token count beside it, perplexity, likelihood and
PMI are one line each, and so is FED's follow-up likelihood (Mehri & Eskenazi 2020), log p(follow-up | context, reply).
A chat model reads the context through its chat template, up to the place where the speaker's words begin; a plain one
reads the turns as lines. Where a text and its context meet, tokens are not merged.

How it is fast: a context is read once for all the texts that follow it (its keys and values are kept), equal pairs
are scored once, and the vocabulary is only multiplied out where a text's token is predicted, in float32.
How it is exact: a context is padded to a multiple of 16 and a text to a multiple of 4, each by its own length, and a
batch holds one shape: who else is scored, and in what batches, does not change a bit of the answer on a CPU. That
matters in bfloat16, where a different order of additions moves a token's log-probability by hundredths.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from transformers import AutoModelForCausalLM, DynamicCache

from turnwise.encode.batches import by_shape, distinct
from turnwise.encode.neural import loading
from turnwise.encode.neural.prompt import Prompt
from turnwise.encode.utterance import Utterance
from turnwise.types import Floats, Signature

log = logging.getLogger(__name__)
_CONTEXT_GRID, _TEXT_GRID = 16, 4
_HEAD_ROWS = 64  # predictions multiplied out at once: 64 x 49,152 float32 are 13 MB
_LONGEST = 4096


class _Pair(NamedTuple):
    """Token ids: what is read, and what is scored."""

    context: tuple[int, ...]
    text: tuple[int, ...]


@dataclass(frozen=True)
class CausalLM:
    folder: Path
    label: str  # name@hash
    form: Literal["auto", "chat", "plain"] = "auto"
    max_length: int | None = None
    precision: loading.Precision = "auto"
    device: str = field(default_factory=loading.default_device)
    budget: int = 2048  # tokens in a batch

    @cached_property
    def config(self) -> Any:
        return loading.read_config(self.folder)

    @cached_property
    def prompt(self) -> Prompt:
        return Prompt.of(loading.read_tokenizer(self.folder), self.form)

    @cached_property
    def model(self) -> Any:
        return loading.read_model(
            self.folder, AutoModelForCausalLM, device=self.device, precision=self._precision
        )

    @property
    def signature(self) -> Signature:
        return Signature(
            self.label,
            (("form", self.prompt.form), ("max", str(self._max_length)), ("precision", self._precision)),
        )

    def score(self, utterances: Sequence[Utterance]) -> Floats:
        """(n, 2): the sum of the log-probabilities and the number of tokens; the sum of no tokens is NaN."""
        tokens = self.log_probs(utterances)
        return np.array(
            [(row.sum() if len(row) else np.nan, len(row)) for row in tokens], dtype=np.float64
        ).reshape(len(tokens), 2)

    def log_probs(self, utterances: Sequence[Utterance]) -> list[Floats]:
        """The log-probability of each token of each utterance."""
        encoded = [self._fit(_Pair(*self.prompt.encode(utterance))) for utterance in utterances]
        cut = sum(was_cut for _, was_cut in encoded)
        if cut:
            log.warning("%s: %d of %d contexts or texts were cut to %d tokens", self.label, cut, len(encoded), self._max_length)
        pairs, inverse = distinct([pair for pair, _ in encoded])
        found: list[Floats] = [np.empty(0)] * len(pairs)
        for indices in self._by_context(pairs):
            for index, row in self._score_group([(index, pairs[index]) for index in indices]):
                found[index] = row
        return [found[index] for index in inverse]

    def cut(self, utterances: Sequence[Utterance]) -> int:
        """How many utterances do not fit with their whole context."""
        return sum(self._fit(_Pair(*self.prompt.encode(utterance)))[1] for utterance in utterances)

    @property
    def _precision(self) -> str:
        return loading.resolve(self.precision, self.config, self.device)

    @property
    def _max_length(self) -> int:
        return self.max_length or min(getattr(self.config, "max_position_embeddings", _LONGEST), _LONGEST)

    def _fit(self, pair: _Pair) -> tuple[_Pair, bool]:
        """The end of the text is cut first if it alone is too long, then the beginning of the context."""
        text = pair.text[: self._max_length - 1]
        room = self._max_length - len(text)
        return _Pair(pair.context[-room:], text), len(pair.text) > len(text) or len(pair.context) > room

    def _by_context(self, pairs: Sequence[_Pair]) -> Iterator[list[int]]:
        """Groups of pairs whose contexts have one padded length and are few enough to keep in memory."""
        contexts, inverse = distinct([pair.context for pair in pairs])
        members: list[list[int]] = [[] for _ in contexts]
        for index, place in enumerate(inverse):
            if pairs[index].text:
                members[place].append(index)
        widths = [_up(len(context), _CONTEXT_GRID) for context in contexts]
        for batch in by_shape(widths, cost=widths, budget=self.budget):
            yield [index for place in batch for index in members[place]]

    def _score_group(self, group: list[tuple[int, _Pair]]) -> Iterator[tuple[int, Floats]]:
        """Reads the contexts of a group, then scores its texts, a batch for each padded length."""
        contexts, rows = distinct([pair.context for _, pair in group])
        if not contexts:
            return
        width = _up(max(map(len, contexts)), _CONTEXT_GRID)
        with torch.inference_mode():
            read = self.model.model_body(self._padded(contexts, width)) if False else self._read(contexts, width)
            last, past = read
            shapes = [_up(len(pair.text), _TEXT_GRID) for _, pair in group]
            costs = [width + shape for shape in shapes]  # the keys of its context are copied for each text
            for batch in by_shape(shapes, cost=costs, budget=2 * self.budget):
                picked = [group[place] for place in batch]
                chosen = torch.tensor([rows[place] for place in batch], device=self.device)
                states = self._continue(picked, chosen, past, width=width, shape=shapes[batch[0]])
                # The token before the text predicts its first one.
                states = torch.cat([last[chosen].unsqueeze(1), states[:, :-1]], dim=1)
                yield from zip(
                    (index for index, _ in picked), self._predict(states, [pair.text for _, pair in picked]), strict=True
                )
