"""Any language model of transformers as an agent: a causal one (SmolLM2) or an encoder-decoder (BlenderBot).

Replies are made in batches, with keys and values kept. A causal model reads the conversation
through its chat template, else as one line a turn, and a line ends its reply; an encoder-decoder reads the turns as
lines. What does not fit is cut at its beginning. The batches of a list are the same whenever it is asked again, and
so are the replies; another list may move a logit in its last bit, and so, rarely, a word.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from turnwise.agents.answering import Answer, Asked, alone
from turnwise.agents.sampling import check, choose
from turnwise.encode import Utterance
from turnwise.encode.models.catalogue import label, locate
from turnwise.encode.neural import loading
from turnwise.encode.neural.prompt import Form, Prompt
from turnwise.errors import UsageError
from turnwise.types import Reply, Signature, Turn

Steps: TypeAlias = Generator[torch.Tensor, torch.Tensor, None]
_LONGEST = 4096  # tokens, of a model that states more or nothing


@dataclass(frozen=True)
class LanguageModelAgent:
    folder: Path
    label: str  # name@hash
    temperature: float = 0.7
    top_p: float = 0.95
    longest: int = 64  # tokens of a reply
    form: Form = "auto"
    at_once: int = 16  # replies in a batch
    precision: loading.Precision = "auto"
    device: str = field(default_factory=loading.default_device)

    def __post_init__(self) -> None:
        check(self.temperature, self.top_p)
        if min(self.longest, self.at_once) < 1 or self.longest >= self._room:
            raise UsageError(
                f"{self.label} makes replies of 1 to {self._room - 1} tokens, 1 or more at once; "
                f"not {self.longest} tokens, {self.at_once} at once"
            )

    @cached_property
    def config(self) -> Any:
        return loading.read_config(self.folder)

    @cached_property
    def tokenizer(self) -> Any:
        return loading.read_tokenizer(self.folder)

    @cached_property
    def prompt(self) -> Prompt:
        return Prompt.of(self.tokenizer, self.form)

    @cached_property
    def model(self) -> Any:
        kind = AutoModelForSeq2SeqLM if self._two_parts else AutoModelForCausalLM
        return loading.read_model(self.folder, kind, device=self.device, precision=self._precision)

    @property
    def signature(self) -> Signature:
        fields = {
            "temperature": str(self.temperature),
            "top_p": str(self.top_p),
            "longest": str(self.longest),
            "form": "lines" if self._two_parts else self.prompt.form,
            "precision": self._precision,
        }
        return Signature(self.label, tuple(fields.items()))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return alone(self, turns, rng)

    def replies(self, asked: Sequence[Asked], /) -> list[Answer]:
        found: list[Answer] = []
        for first in range(0, len(asked), self.at_once):
            found += map(Reply, self._batch(asked[first : first + self.at_once]))
        return found

    @property
    def _two_parts(self) -> bool:
        return bool(getattr(self.config, "is_encoder_decoder", False))

    @property
    def _precision(self) -> loading.Chosen:
        return loading.resolve(self.precision, self.config, self.device)

    @property
    def _room(self) -> int:
        return min(getattr(self.config, "max_position_embeddings", _LONGEST), _LONGEST)

    @cached_property
    def _ends(self) -> frozenset[int]:
        """Tokens that end a reply."""
        stated = [self.tokenizer.eos_token_id, getattr(self.config, "eos_token_id", None)]
        flat = [one for value in stated for one in (value if isinstance(value, list) else [value])]
        return frozenset(int(one) for one in flat if one is not None)

    def steps(self, table: torch.Tensor, there: torch.Tensor) -> Steps:
        """Yields the logits of the next word after what `padded` gave, and is sent the words (b, 1) chosen."""
        return _encoded(self.model, table, there) if self._two_parts else _causal(self.model, table, there)

    def read(self, turns: Sequence[Turn]) -> tuple[int, ...]:
        """The tokens of a conversation, as the model is shown it before it speaks."""
        if self._two_parts:
            text = "\n".join(turn.text for turn in turns)
            return tuple(self.tokenizer(text)["input_ids"])[-self._room :]
        return self.prompt.encode(Utterance("", tuple(turns)))[0][-(self._room - self.longest) :]

    @torch.inference_mode()
    def _batch(self, asked: Sequence[Asked]) -> list[str]:
        contexts = [self.read(one.turns) for one in asked]
        table, there = self.padded(contexts)
        chances = [one.rng for one in asked]
        made: list[list[int]] = [[] for _ in asked]
        over = [False] * len(asked)
        step = self.steps(table, there)
        logits = next(step)
        for _ in range(self.longest):
            uniform = torch.tensor([chance.random() for chance in chances], dtype=torch.float64)
            words = choose(logits.float(), uniform, temperature=self.temperature, top_p=self.top_p)
            for row, word in enumerate(words.tolist()):
                if not over[row]:
                    over[row] = word in self._ends
                    made[row] += [] if over[row] else [word]
                    over[row] = over[row] or self._line_ended(made[row])
            if all(over):
                break
            logits = step.send(words.unsqueeze(1))
        return [self._text(tokens) for tokens in made]

    def padded(self, rows: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
        """(b, t) tokens and which of them are there. A causal model goes on from the right end, so padding is on its
        left; an encoder's places are counted from the left, whatever is masked, so padding is on its right."""
        width = max(map(len, rows))
        fillings = [[0] * (width - len(row)) for row in rows]
        ones = [[1] * len(row) for row in rows]
        if self._two_parts:
            table = [[*row, *filling] for row, filling in zip(rows, fillings, strict=True)]
            there = [[*one, *filling] for one, filling in zip(ones, fillings, strict=True)]
        else:
            table = [[*filling, *row] for row, filling in zip(rows, fillings, strict=True)]
            there = [[*filling, *one] for one, filling in zip(ones, fillings, strict=True)]
        return torch.tensor(table, device=self.device), torch.tensor(there, device=self.device)

    def _line_ended(self, tokens: list[int]) -> bool:
        """A model without a template would go on and speak for the user."""
        if self._two_parts or self.prompt.form == "chat":
            return False
        said = self.tokenizer.decode(tokens)
        return "\n" in said.lstrip()

    def _text(self, tokens: list[int]) -> str:
        said = str(self.tokenizer.decode(tokens, skip_special_tokens=True)).strip()
        return said if self._two_parts or self.prompt.form == "chat" else said.split("\n")[0].strip()


def _causal(model: Any, table: torch.Tensor, there: torch.Tensor) -> Steps:
    words, past = table, None
    while True:
        places = (there.cumsum(dim=1) - 1).clamp(min=0)[:, -words.shape[1] :]
        out = model(
            input_ids=words, attention_mask=there, position_ids=places, past_key_values=past, use_cache=True,
            logits_to_keep=1,
        )  # fmt: skip
        past = out.past_key_values
        words = yield out.logits[:, -1]
        there = torch.cat([there, torch.ones_like(words)], dim=1)


def _encoded(model: Any, table: torch.Tensor, there: torch.Tensor) -> Steps:
    read = model.get_encoder()(input_ids=table, attention_mask=there)
    words = torch.full_like(table[:, :1], model.config.decoder_start_token_id or 0)
    past = None
    while True:
        out = model(
            encoder_outputs=read,
            attention_mask=there,
            decoder_input_ids=words,
            past_key_values=past,
            use_cache=True,
        )
        past = out.past_key_values
        words = yield out.logits[:, -1]


def language_model(spec: str, **settings: Any) -> LanguageModelAgent:
    """A model by name (`smollm2`), folder or hub id."""
    return LanguageModelAgent(Path(locate(spec)), label(spec), **settings)
