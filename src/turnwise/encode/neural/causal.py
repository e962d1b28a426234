"""Log-probabilities of texts given their contexts, from any causal language model.

log p(text | context) is the sum over the text's tokens; with the number of tokens, perplexity, likelihood and PMI are
one line each, and so is FED's follow-up likelihood (Mehri & Eskenazi 2020), log p(follow-up | context, reply).
Tokens are not merged across the boundary of context and text.

Speed: a context is computed once for all texts that follow it (its keys and values are kept), and so is the part of the
chat template before every dialogue; equal pairs are scored once; and states are multiplied by the vocabulary only where
a token of a text is predicted. Exactness: that product and the softmax are float32. A context is padded to a multiple
of 16 and a text to a multiple of 4, each by its own length, and a batch has one shape: on a CPU the result does not
depend on the other texts or on the batches, to the last bit (measured with SmolLM2). bfloat16 changes the mean
log-probability of a token by .02 against float32 on PersonaChat replies, correlation .9999; the signature names the
precision. With a sliding window, keys are dropped and padding would count, so there each pair is computed alone and in
one piece.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import AutoModelForCausalLM, DynamicCache

from turnwise.encode.batches import by_shape, distinct
from turnwise.encode.cache.disk import Cache
from turnwise.encode.encoder import TextInContext
from turnwise.encode.neural import loading
from turnwise.encode.neural.prompt import Form, Prompt
from turnwise.encode.neural.token_head import Head
from turnwise.encode.transformer.precision import Chosen, Precision, resolve
from turnwise.encode.truncation import report_truncation
from turnwise.errors import UsageError
from turnwise.types import Floats, Signature, Turn

_CONTEXT_GRID, _TEXT_GRID = 16, 4
_TEMPLATE = 64  # largest number of template tokens around a turn, and before all turns
_LONGEST = 4096  # largest number of tokens, if the model states more or nothing


class _Pair(NamedTuple):
    """Token ids: a context without its last token, that token (`start`), and the scored text that follows it."""

    context: tuple[int, ...]
    start: int
    text: tuple[int, ...]


@dataclass(frozen=True)
class CausalLM:
    """A causal language model that gives the log-probabilities of texts."""

    folder: Path
    label: str  # name@hash
    form: Form = "auto"
    max_length: int | None = None
    precision: Precision = "auto"
    device: str = field(default_factory=loading.default_device)
    budget: int = 4096  # tokens whose keys and values are in memory together: 94 MB for SmolLM2
    cache: Cache | None = None

    @cached_property
    def config(self) -> Any:
        """The transformers configuration of the folder, read when first needed."""
        return loading.read_config(self.folder)

    @cached_property
    def prompt(self) -> Prompt:
        """How a text and its context become tokens."""
        return Prompt.of(loading.read_tokenizer(self.folder), self.form)

    @cached_property
    def model(self) -> Any:
        """The model, loaded when first needed, as cached values need none; `UsageError` if it is no causal model."""
        if not loading.reads_forward(self.config):
            raise UsageError(f"{self.label} is no causal language model: its tokens see those after them")
        return loading.read_model(
            self.folder, AutoModelForCausalLM, device=self.device, precision=self._precision
        )

    @cached_property
    def head(self) -> Head:
        """The output layer in float32."""
        return Head.of(self.model)

    @property
    def signature(self) -> Signature:
        """The form of the prompt, the largest length and the precision; the version is 3 with a sliding window."""
        settings = (
            ("form", self.prompt.form),
            ("max", str(self._max_length)),
            ("precision", self._precision),
        )
        # Version 1 computed the opening each time, version 2 kept keys beyond a sliding window.
        return Signature(self.label, settings, version=2 if self._window is None else 3)

    def score(self, texts: Sequence[TextInContext], /) -> Floats:
        """(n, 2) the sum of the tokens' log-probabilities in nats (NaN without tokens), and the number of tokens."""
        tokens = self.log_probs(texts)
        rows = [(row.sum() if len(row) else np.nan, len(row)) for row in tokens]
        return np.array(rows, dtype=np.float64).reshape(len(tokens), 2)

    def log_probs(self, texts: Sequence[TextInContext], /) -> list[Floats]:
        """The natural log-probability of each token of each text, from the cache where possible.

        Tokens beyond the model's input are left out; the number of cut texts is reported.
        """
        report_truncation(self.label, self._max_length, self.cut(texts))
        if self.cache is None:
            return self._log_probs(texts)
        names = [
            (text, role, *(part for turn in context for part in (turn.role, turn.text)))
            for text, context, role in texts
        ]
        return self.cache.remember(
            str(self.signature),
            names,
            lambda indices: self._log_probs([texts[index] for index in indices]),
        )

    def _log_probs(self, texts: Sequence[TextInContext]) -> list[Floats]:
        """`log_probs`, computed; equal pairs once."""
        pairs, inverse = distinct([self._fit(*self.prompt.encode(one))[0] for one in texts])
        found: list[Floats] = [np.empty(0) for _ in pairs]
        with torch.inference_mode():
            apart = {index for index, pair in enumerate(pairs) if pair.text and self._exceeds_window(pair)}
            for index in apart:
                found[index] = self._in_one_piece(pairs[index])
            for group in self._groups(pairs, apart):
                for index, row in self._score_group(group, [pairs[index] for index in group]):
                    found[index] = row
        return [found[index] for index in inverse]

    def cut(self, texts: Sequence[TextInContext]) -> int:
        """Number of texts that do not fit together with their whole context."""
        long = [one for one in texts if _bytes(one) > self._max_length]
        return sum(self._fit(*self.prompt.encode(one))[1] for one in long)

    @property
    def _precision(self) -> Chosen:
        """The precision of the computation, with `auto` resolved."""
        return resolve(self.precision, self.folder, self.device)

    @property
    def _max_length(self) -> int:
        """The largest number of tokens of context and text: `max_length`, otherwise the model's, at most 4096."""
        return self.max_length or min(getattr(self.config, "max_position_embeddings", _LONGEST), _LONGEST)

    def _fit(self, context: tuple[int, ...], text: tuple[int, ...]) -> tuple[_Pair, bool]:
        """The pair cut to the largest length, and whether anything was cut.

        The end of a text that is too long by itself is cut, then the beginning of its context.
        """
        kept = text[: self._max_length - 1]
        room = self._max_length - len(kept)
        pair = _Pair(context[-room:-1], context[-1], kept)
        return pair, len(text) > len(kept) or len(context) > room

    @cached_property
    def _window(self) -> int | None:
        """Size of the sliding window; None if every layer attends to all tokens."""
        config = self.config.get_text_config()
        kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
        if all(kind == "full_attention" for kind in kinds) or not getattr(config, "use_sliding_window", True):
            return None
        sizes = (getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size"))
        return min((int(size) for size in sizes if size), default=None)

    def _exceeds_window(self, pair: _Pair) -> bool:
        """Whether the pair with padding is longer than the sliding window, if there is one."""
        padding = _CONTEXT_GRID + _TEXT_GRID
        return self._window is not None and len(pair.context) + len(pair.text) + padding > self._window

    def _in_one_piece(self, pair: _Pair) -> Floats:
        """The log-probabilities of the text's tokens from one pass over context and text."""
        inputs = torch.tensor([(*pair.context, pair.start, *pair.text[:-1])], device=self.device)
        states = self._body(input_ids=inputs, use_cache=False).last_hidden_state[0, len(pair.context) :]
        return self.head.log_probs(states, torch.tensor(pair.text, device=self.device))

    def _groups(self, pairs: Sequence[_Pair], apart: Container[int]) -> Iterator[list[int]]:
        """Groups of indices of pairs whose contexts have the same padded length, within the memory budget.

        Pairs without text and those of `apart` are in no group.
        """
        contexts, inverse = distinct([pair.context for pair in pairs])
        followers: list[list[int]] = [[] for _ in contexts]
        for index, position in enumerate(inverse):
            if pairs[index].text and index not in apart:
                followers[position].append(index)
        shapes = [
            (self._opens(context), _padded(self._beyond(context), _CONTEXT_GRID)) for context in contexts
        ]
        held = [len(self.opening) * opens + width for opens, width in shapes]
        for batch in by_shape(shapes, cost=[max(width, 1) for width in held], budget=self.budget):
            if group := [index for position in batch for index in followers[position]]:
                yield group

    def _score_group(self, indices: Sequence[int], pairs: Sequence[_Pair]) -> Iterator[tuple[int, Floats]]:
        """The index and the log-probabilities of each pair; contexts are computed once, texts by padded length."""
        contexts, rows = distinct([pair.context for pair in pairs])
        past = self._read(contexts)
        shapes = [_padded(len(pair.text), _TEXT_GRID) for pair in pairs]
        width = past.get_seq_length() if past is not None else 0
        for batch in by_shape(shapes, cost=[width + shape for shape in shapes], budget=self.budget):
            chosen = [pairs[index] for index in batch]
            states = self._continue(chosen, past, [rows[index] for index in batch])
            wanted = [(row, index) for row, pair in enumerate(chosen) for index in range(len(pair.text))]
            at, of = torch.tensor(wanted, device=self.device).T
            targets = [token for pair in chosen for token in pair.text]
            values = self.head.log_probs(states[at, of], torch.tensor(targets, device=self.device))
            ends = np.cumsum([len(pair.text) for pair in chosen])[:-1]
            yield from zip((indices[index] for index in batch), np.split(values, ends), strict=True)

    def _read(self, contexts: Sequence[tuple[int, ...]]) -> Any:
        """The keys and values of the contexts, all of one padded length; None if they are empty.

        Padding is at the end, so no context token attends to it.
        """
        width = _padded(self._beyond(contexts[0]), _CONTEXT_GRID)
        if not self._opens(contexts[0]):
            if not width:
                return None
            return self._body(input_ids=self._table(contexts, width), use_cache=True).past_key_values
        begun = _select(self._opening, torch.zeros(len(contexts), dtype=torch.long, device=self.device))
        if not width:
            return begun
        begin = len(self.opening)
        inputs = self._table([context[begin:] for context in contexts], width)
        positions = torch.arange(begin, begin + width, device=self.device).expand(len(contexts), -1)
        mask = torch.ones(len(contexts), begin + width, dtype=torch.long, device=self.device)
        return self._body(
            input_ids=inputs,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=begun,
            use_cache=True,
        ).past_key_values

    @cached_property
    def opening(self) -> tuple[int, ...]:
        """The tokens with which the chat template begins every dialogue, such as a default system prompt."""
        said = (TextInContext("a", (Turn("user", text),)) for text in ("yes", "no"))
        first, second = (self.prompt.encode(one)[0] for one in said)
        same = [a == b for a, b in zip(first, second, strict=False)]
        return first[: same.index(False)] if False in same else ()

    @cached_property
    def _opening(self) -> Any:
        """Keys and values of the opening: computed once and reused by every context that begins with it."""
        inputs = torch.tensor([self.opening], device=self.device)
        return self._body(input_ids=inputs, use_cache=True).past_key_values

    def _opens(self, context: tuple[int, ...]) -> bool:
        """Whether the context begins with the opening; false if there is none."""
        begin = len(self.opening)
        return begin > 0 and context[:begin] == self.opening

    def _beyond(self, context: tuple[int, ...]) -> int:
        """Number of context tokens after the opening."""
        return len(context) - len(self.opening) if self._opens(context) else len(context)

    def _continue(self, pairs: Sequence[_Pair], past: Any, rows: list[int]) -> torch.Tensor:
        """(b, t, d) states that predict the texts' tokens; `rows` are the contexts of the pairs in `past`."""
        # The last token is only predicted.
        inputs = self._table(
            [(pair.start, *pair.text[:-1]) for pair in pairs], _padded(len(pairs[0].text), _TEXT_GRID)
        )
        if past is None:
            states: torch.Tensor = self._body(input_ids=inputs, use_cache=False).last_hidden_state
            return states
        lengths = torch.tensor([len(pair.context) for pair in pairs], device=self.device).unsqueeze(1)
        width, steps = past.get_seq_length(), torch.arange(inputs.shape[1], device=self.device)
        read = torch.arange(width, device=self.device) < lengths
        continued: torch.Tensor = self._body(
            input_ids=inputs,
            attention_mask=torch.cat([read, torch.ones_like(inputs, dtype=torch.bool)], dim=1).long(),
            position_ids=lengths + steps,
            past_key_values=_select(past, torch.tensor(rows, device=self.device)),
            use_cache=True,
        ).last_hidden_state
        return continued

    @property
    def _body(self) -> Any:
        """The model without its output layer."""
        return self.model.base_model

    def _table(self, rows: Sequence[tuple[int, ...]], width: int) -> torch.Tensor:
        """(b, width) the rows of tokens, filled with 0 on the right."""
        return torch.tensor([(*row, *[0] * (width - len(row))) for row in rows], device=self.device)


def _bytes(one: TextInContext) -> int:
    """An upper bound of the number of tokens with the template, so that most texts need not be tokenised."""
    said = (one.text, *(turn.text for turn in one.context))
    return _TEMPLATE * (1 + len(said)) + sum(len(text.encode("utf-8", "surrogatepass")) for text in said)


def _padded(length: int, grid: int) -> int:
    """The length, rounded up to a multiple of `grid`."""
    return -(-length // grid) * grid


def _select(past: Any, rows: torch.Tensor) -> Any:
    """A copy of the keys and values for these rows: further computation would change the original."""
    chosen = DynamicCache()
    for index, layer in enumerate(past.layers):
        chosen.update(layer.keys[rows], layer.values[rows], index)
    return chosen
