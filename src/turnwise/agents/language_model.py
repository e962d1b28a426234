"""Any language model of transformers as an agent: a causal one (SmolLM2) or an encoder-decoder (BlenderBot).

Replies are generated in batches, with a key-value cache. A causal model gets the dialogue through its chat template or,
without one, as one line per turn, and a line break ends its reply. An encoder-decoder gets one line per turn. A context
that is too long loses its beginning. The same list of requests forms the same batches and gives the same replies;
in another list, rounding in another batch can rarely change a word.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from turnwise.agents.calling import ReplyOrFailure, ReplyRequest, single_reply
from turnwise.agents.sampling import check_sampling, sample_tokens
from turnwise.encode import TextInContext
from turnwise.encode.models.catalogue import label, locate
from turnwise.encode.neural import loading
from turnwise.encode.neural.prompt import Form, Prompt
from turnwise.encode.transformer.precision import Chosen, Precision, resolve
from turnwise.errors import UsageError
from turnwise.types import Reply, Signature, Turn

# Yields the logits (b, v) of the next token, and is sent the chosen tokens (b, 1).
Steps: TypeAlias = Generator[torch.Tensor, torch.Tensor, None]
_MAX_TOKENS = 4096  # most tokens of context and reply, also for a model that allows more or states no limit


@dataclass(frozen=True)
class LanguageModelAgent(loading.FromFolder):
    """A language model that samples replies."""

    folder: Path
    label: str  # name@hash
    temperature: float = 0.7
    top_p: float = 0.95
    longest: int = 64  # most tokens of a reply
    form: Form = "auto"
    at_once: int = 16  # batch size
    precision: Precision = "auto"
    device: str = field(default_factory=loading.default_device)

    def __post_init__(self) -> None:
        check_sampling(self.temperature, self.top_p)
        if min(self.longest, self.at_once) < 1 or self.longest >= self._max_tokens:
            raise UsageError(
                f"{self.label} needs `longest` from 1 to {self._max_tokens - 1} and `at_once` of 1 or more, "
                f"not {self.longest} and {self.at_once}"
            )

    @cached_property
    def prompt(self) -> Prompt:
        """How a dialogue is written for a causal model."""
        return Prompt.of(self.tokenizer, self.form)

    @cached_property
    def model(self) -> Any:
        """The network, loaded at the first use."""
        kind = AutoModelForSeq2SeqLM if self._is_encoder_decoder else AutoModelForCausalLM
        return loading.read_model(self.folder, kind, device=self.device, precision=self._precision)

    @property
    def signature(self) -> Signature:
        """The model's name and hash, the sampling settings, the form of the prompt and the number format."""
        fields = {
            "temperature": str(self.temperature),
            "top_p": str(self.top_p),
            "longest": str(self.longest),
            "form": "lines" if self._is_encoder_decoder else self.prompt.form,
            "precision": self._precision,
        }
        return Signature(self.label, tuple(fields.items()))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return single_reply(self, turns, rng)

    def replies(self, requests: Sequence[ReplyRequest], /) -> list[ReplyOrFailure]:
        """One sampled reply to each request, in batches of `at_once`."""
        found: list[ReplyOrFailure] = []
        for first in range(0, len(requests), self.at_once):
            found += map(Reply, self._batch(requests[first : first + self.at_once]))
        return found

    @property
    def _is_encoder_decoder(self) -> bool:
        """Whether the model is an encoder-decoder."""
        return bool(getattr(self.config, "is_encoder_decoder", False))

    @property
    def _precision(self) -> Chosen:
        """The number format of the weights."""
        return resolve(self.precision, self.folder, self.device)

    @property
    def _max_tokens(self) -> int:
        """The most tokens of context and reply together."""
        return min(getattr(self.config, "max_position_embeddings", _MAX_TOKENS), _MAX_TOKENS)

    @cached_property
    def _end_tokens(self) -> frozenset[int]:
        """The tokens that end a reply."""
        stated = [self.tokenizer.eos_token_id, getattr(self.config, "eos_token_id", None)]
        flat = [one for value in stated for one in (value if isinstance(value, list) else [value])]
        return frozenset(int(one) for one in flat if one is not None)

    def steps(self, table: torch.Tensor, mask: torch.Tensor) -> Steps:
        """Generate from a padded batch of contexts: yields logits of the next token, is sent the chosen tokens."""
        return (
            _encoder_decoder_steps(self.model, table, mask)
            if self._is_encoder_decoder
            else _causal_steps(self.model, table, mask)
        )

    def read(self, turns: Sequence[Turn]) -> tuple[int, ...]:
        """The tokens of a context, as the model gets them; a context that is too long loses its beginning."""
        if self._is_encoder_decoder:
            text = "\n".join(turn.text for turn in turns)
            return tuple(self.tokenizer(text)["input_ids"])[-self._max_tokens :]
        return self.prompt.encode(TextInContext("", tuple(turns)))[0][-(self._max_tokens - self.longest) :]

    @torch.inference_mode()
    def _batch(self, requests: Sequence[ReplyRequest]) -> list[str]:
        """The replies to one batch of requests; a reply ends at an end token or after `longest` tokens.

        Without a chat template a causal model's reply ends at a line break too.
        """
        contexts = [self.read(one.turns) for one in requests]
        table, mask = self.padded(contexts)
        generators = [one.rng for one in requests]
        generated: list[list[int]] = [[] for _ in requests]
        finished = [False] * len(requests)
        step = self.steps(table, mask)
        logits = next(step)
        for _ in range(self.longest):
            uniform = torch.tensor([rng.random() for rng in generators], dtype=torch.float64)
            words = sample_tokens(logits.float(), uniform, temperature=self.temperature, top_p=self.top_p)
            for row, word in enumerate(words.tolist()):
                if not finished[row]:
                    finished[row] = word in self._end_tokens
                    generated[row] += [] if finished[row] else [word]
                    finished[row] = finished[row] or self._ended_by_line_break(generated[row])
            if all(finished):
                break
            logits = step.send(words.unsqueeze(1))
        return [self._decoded(tokens) for tokens in generated]

    def padded(self, rows: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows as a (b, t) table of tokens, padded with 0, and its mask: 1 at tokens and 0 at padding.

        A causal model continues at the right end, so it is padded on the left. An encoder counts positions from the
        left, also of masked tokens, so it is padded on the right.
        """
        width = max(map(len, rows))
        fillings = [[0] * (width - len(row)) for row in rows]
        ones = [[1] * len(row) for row in rows]
        if self._is_encoder_decoder:
            table = [[*row, *filling] for row, filling in zip(rows, fillings, strict=True)]
            mask = [[*one, *filling] for one, filling in zip(ones, fillings, strict=True)]
        else:
            table = [[*filling, *row] for row, filling in zip(rows, fillings, strict=True)]
            mask = [[*filling, *one] for one, filling in zip(ones, fillings, strict=True)]
        return torch.tensor(table, device=self.device), torch.tensor(mask, device=self.device)

    def _ended_by_line_break(self, tokens: list[int]) -> bool:
        """Whether a line break ends the reply: without a chat template a model would continue with the user's turn."""
        if self._is_encoder_decoder or self.prompt.form == "chat":
            return False
        text = self.tokenizer.decode(tokens)
        return "\n" in text.lstrip()

    def _decoded(self, tokens: list[int]) -> str:
        """The reply that the generated tokens spell; without a chat template only its first line."""
        text = str(self.tokenizer.decode(tokens, skip_special_tokens=True)).strip()
        return text if self._is_encoder_decoder or self.prompt.form == "chat" else text.split("\n")[0].strip()


def _causal_steps(model: Any, table: torch.Tensor, mask: torch.Tensor) -> Steps:
    """Yield (b, v) logits of the next token and be sent the chosen (b, 1) tokens, without end; for a causal model.

    `table` (b, t) are the contexts, padded on the left, `mask` (b, t) is 1 at their tokens.
    """
    words, past = table, None
    while True:
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -words.shape[1] :]
        out = model(
            input_ids=words, attention_mask=mask, position_ids=positions, past_key_values=past, use_cache=True,
            logits_to_keep=1,
        )  # fmt: skip
        past = out.past_key_values
        words = yield out.logits[:, -1]
        mask = torch.cat([mask, torch.ones_like(words)], dim=1)


def _encoder_decoder_steps(model: Any, table: torch.Tensor, mask: torch.Tensor) -> Steps:
    """Yield (b, v) logits of the next token and be sent the chosen (b, 1) tokens, without end; for an encoder-decoder.

    `table` (b, t) are the contexts, padded on the right, `mask` (b, t) is 1 at their tokens.
    """
    read = model.get_encoder()(input_ids=table, attention_mask=mask)
    words = torch.full_like(table[:, :1], model.config.decoder_start_token_id or 0)
    past = None
    while True:
        out = model(
            encoder_outputs=read,
            attention_mask=mask,
            decoder_input_ids=words,
            past_key_values=past,
            use_cache=True,
        )
        past = out.past_key_values
        words = yield out.logits[:, -1]


def language_model(spec: str, **settings: Any) -> LanguageModelAgent:
    """The agent for a model given by name (`smollm2`), folder or hub id."""
    return LanguageModelAgent(Path(locate(spec)), label(spec), **settings)
