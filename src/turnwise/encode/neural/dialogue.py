"""Vectors of every (state, action) of a dialogue in one pass of a transformer encoder (layout: dialogue_layout.py).

The vector of (s, a) is the mean over the tokens of a, as sentence encoders are used, or the state of its last token, as
in ENIGMA's released code. RoBERTa-like models number positions after their padding index and have only one token type:
all tokens then have that type (the released code adds a second, initially equal one, which is the same for a frozen
encoder).

An input is padded to a multiple of 32 by its own length alone, so a vector does not depend on the other inputs of its
batch. Dialogues with very many alternatives are encoded in several passes of about `longest` tokens.
"""

import inspect
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from transformers import AutoModel

from turnwise.encode.batches import by_shape
from turnwise.encode.cache.disk import Cache
from turnwise.encode.encoder import Vectors
from turnwise.encode.neural import loading
from turnwise.encode.neural.dialogue_layout import Exchange, ExchangeTokens, Marks, Script, lay_out
from turnwise.errors import UsageError
from turnwise.types import Ints, Signature, digest

log = logging.getLogger(__name__)
Exchanges = Sequence[Exchange]
ReplyPooling = Literal["mean", "last"]
_RELATIVE = ("relative_attention_num_buckets", "relative_attention")  # in the config of MPNet and of DeBERTa
_STEP = 32  # inputs are padded to multiples of this


@dataclass(frozen=True)
class DialogueEncoder(loading.FromFolder):
    """The vectors of all replies of a dialogue in its logged contexts, from a BERT-like encoder."""

    folder: Path
    label: str  # name@hash
    pooling: ReplyPooling = "mean"
    random: int | None = None  # seed of random weights instead of the trained ones (an ablation)
    device: str = field(default_factory=loading.default_device)
    budget: int = (
        1024  # tokens in a batch: on a CPU 400 was fastest per token, and 4096 took a quarter more time
    )
    longest: int = 1024  # tokens in a pass, unless the logged dialogue alone has more
    cache: Cache | None = None

    @cached_property
    def model(self) -> Any:
        """The model without gradients, loaded when first needed."""
        model = self.fresh_model()
        return model.requires_grad_(False)

    def fresh_model(self) -> Any:
        """A new copy of the model with trained or random weights, in evaluation mode, for training."""
        if self.random is None:
            model = loading.read_model(self.folder, AutoModel, device=self.device, precision="fp32")
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.random)
                model = AutoModel.from_config(self.config)  # type: ignore[no-untyped-call]
                model = model.eval().to(self.device)
        if "position_ids" not in inspect.signature(model.forward).parameters:
            raise UsageError(f"{type(model).__name__} takes no positions, which ENIGMA's input needs")
        return model

    def _check_positions(self) -> None:
        """Raise a `UsageError` for a model that also reads distances of places in its input (MPNet, DeBERTa).

        Alternatives stand after the dialogue there, so that their distances from it would be wrong.
        """
        if any(getattr(self.config, name, False) for name in _RELATIVE):
            raise UsageError(
                f"{self.label} attends by the distance of places in its input, which is not that of the positions in "
                "ENIGMA's input; take a BERT- or RoBERTa-like encoder such as minilm"
            )

    @property
    def dimension(self) -> int:
        """The length of a reply's vector."""
        return int(self.config.hidden_size)

    @property
    def signature(self) -> Signature:
        """The layout, the pooling and, for random weights, their seed."""
        weights = () if self.random is None else (("weights", f"random{self.random}"),)
        return Signature(self.label, (("script", "a2"), ("pool", self.pooling), *weights))

    @cached_property
    def limit(self) -> int:
        """The largest number of positions of an input of the model."""
        return int(self.config.max_position_embeddings) - self._offset

    def scripts(self, dialogues: Sequence[Exchanges]) -> list[Script]:
        """The layout of each dialogue with all its alternatives in one script, however long."""
        tokens = self._tokens(dialogues)
        return [
            lay_out(
                [_exchange_tokens(exchange, tokens) for exchange in dialogue], self._marks, limit=self.limit
            )
            for dialogue in dialogues
        ]

    def cut(self, dialogues: Sequence[Exchanges]) -> int:
        """Number of dialogues of which tokens must be cut to fit into the model's input."""
        return sum(script.cut > 0 for script in self.scripts(dialogues))

    def encode(self, dialogues: Sequence[Exchanges], /) -> list[Vectors]:
        """For each dialogue (replies, d): at each point the logged reply, then the others."""
        counts = [sum(1 + len(exchange.others) for exchange in dialogue) for dialogue in dialogues]
        owner = np.repeat(np.arange(len(dialogues)), counts)

        def make(wanted: list[int]) -> list[Vectors]:
            """The vectors of the replies with these indices, counted over all dialogues."""
            # A dialogue is always encoded as a whole: further replies cost little in the same pass.
            needed = np.unique(owner[wanted])
            made = self._made([dialogues[index] for index in needed])
            positions = np.flatnonzero(np.isin(owner, needed))
            found = dict(zip(positions.tolist(), (row for rows in made for row in rows), strict=True))
            return [found[position] for position in wanted]

        names = [name for dialogue in dialogues for name in _names(dialogue)]
        if self.cache is None:
            vectors = make(list(range(len(names))))
        else:
            vectors = self.cache.remember(str(self.signature), names, make)
        stacked = np.array(vectors, dtype=np.float32).reshape(len(names), self.dimension)
        return np.split(stacked, np.cumsum(counts)[:-1])

    def forward(self, model: Any, scripts: Sequence[Script]) -> torch.Tensor:
        """(replies, d) of several scripts through `model`, with gradients if it has them.

        A `UsageError` if the model reads relative positions.
        """
        self._check_positions()
        width = -(-max(len(script.ids) for script in scripts) // _STEP) * _STEP
        shape = (len(scripts), width)
        ids, position, kind = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        seen = np.zeros((*shape, width), dtype=np.bool_)
        seen[:, np.arange(width), np.arange(width)] = (
            True  # padding attends to itself: an empty attention row would give NaN
        )
        for row, script in enumerate(scripts):
            length = len(script.ids)
            ids[row, :length], kind[row, :length] = script.ids, script.kind
            position[row, :length] = script.position
            seen[row, :length, :length] = script.visible()
        ids_, position_, kind_ = (
            torch.from_numpy(array).to(self.device) for array in (ids, position + self._offset, kind)
        )
        mask = torch.zeros((len(scripts), 1, width, width), device=self.device)
        mask.masked_fill_(~torch.from_numpy(seen).to(self.device)[:, None], torch.finfo(mask.dtype).min)
        types = {"token_type_ids": kind_} if self._typed else {}
        states = model(input_ids=ids_, attention_mask=mask, position_ids=position_, **types).last_hidden_state
        return self._pool(states, scripts)

    def _pool(self, states: torch.Tensor, scripts: Sequence[Script]) -> torch.Tensor:
        """(replies, d) the mean over the tokens of each reply, or the state of its last token."""
        spans = np.array(
            [(row, *span) for row, script in enumerate(scripts) for span in script.replies], dtype=np.int64
        )
        row, start, stop = torch.from_numpy(spans.T).to(states.device)
        if self.pooling == "last":
            return states[row, stop - 1]
        index = torch.arange(states.shape[1], device=states.device)
        chosen = (index >= start[:, None]) & (index < stop[:, None])
        weight = (chosen / (stop - start)[:, None]).to(states.dtype)
        counts = [len(script.replies) for script in scripts]
        return torch.cat([w @ state for w, state in zip(torch.split(weight, counts), states, strict=True)])

    def _made(self, dialogues: Sequence[Exchanges]) -> list[Vectors]:
        """The vectors of each dialogue, computed; a dialogue with many alternatives in several passes."""
        tokens = self._tokens(dialogues)
        said = [[_exchange_tokens(exchange, tokens) for exchange in dialogue] for dialogue in dialogues]
        passes = [(index, *part) for index, one in enumerate(said) for part in _passes(one, self.longest)]
        scripts = [lay_out(part, self._marks, limit=self.limit) for _, part, _ in passes]
        cut = {index for (index, _, _), script in zip(passes, scripts, strict=True) if script.cut}
        if cut:
            log.warning("%s cut turns of %d of %d dialogues", self.label, len(cut), len(dialogues))
        made = [np.empty((sum(1 + len(e.others) for e in one), self.dimension), np.float32) for one in said]
        widths = [-(-len(script.ids) // _STEP) * _STEP for script in scripts]
        with torch.inference_mode():
            for batch in by_shape(widths, cost=widths, budget=self.budget):
                group = [scripts[number] for number in batch]
                vectors = self.forward(self.model, group).float().cpu()
                split = torch.split(vectors, [len(script.replies) for script in group])
                for number, rows in zip(batch, split, strict=True):
                    index, _, positions = passes[number]
                    made[index][positions] = rows.numpy()
        return made

    def _tokens(self, dialogues: Sequence[Exchanges]) -> dict[str, list[int]]:
        """Text -> its token ids, for all texts of the dialogues."""
        texts = list(
            dict.fromkeys(
                text
                for dialogue in dialogues
                for exchange in dialogue
                for text in (exchange.user, exchange.reply, *exchange.others)
                if text is not None
            )
        )
        encoded = self.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        return dict(zip(texts, encoded, strict=True))

    @cached_property
    def _marks(self) -> Marks:
        """The special tokens of the model; a `UsageError` if it has none to begin and separate turns."""
        tokenizer = self.tokenizer
        if tokenizer.cls_token_id is None or tokenizer.sep_token_id is None:
            raise UsageError(
                f"{self.label} has no marks to begin and to separate turns; take a BERT-like encoder"
            )
        doubled = tokenizer.num_special_tokens_to_add(pair=True) > 3
        return Marks(int(tokenizer.cls_token_id), int(tokenizer.sep_token_id), doubled)

    @cached_property
    def _offset(self) -> int:
        """The number of the first position: 0, or for RoBERTa-like models the padding index plus 1."""
        embeddings = getattr(self.model, "embeddings", None)
        padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
        return 0 if padding is None else int(padding) + 1

    @cached_property
    def _typed(self) -> bool:
        """Whether the model has two or more token types."""
        taken = inspect.signature(self.model.forward).parameters
        return "token_type_ids" in taken and getattr(self.config, "type_vocab_size", 0) > 1


def _exchange_tokens(exchange: Exchange, tokens: Mapping[str, Sequence[int]]) -> ExchangeTokens:
    """The token ids of one exchange."""
    user = None if exchange.user is None else tokens[exchange.user]
    return ExchangeTokens(user, tokens[exchange.reply], [tokens[text] for text in exchange.others])


def _passes(
    dialogue: Sequence[ExchangeTokens], longest: int
) -> Iterator[tuple[list[ExchangeTokens], list[int]]]:
    """The dialogue with parts of its alternatives, each pass of about `longest` tokens, and the rows of its replies.

    There is one pass if all alternatives fit. Rows count the replies of the whole dialogue; the logged ones are in
    every pass.
    """
    own = sum(len(exchange.user or ()) + len(exchange.reply) + 4 for exchange in dialogue)
    spent, row = own, 0
    part = [exchange._replace(others=[]) for exchange in dialogue]
    rows: list[list[int]] = [[] for _ in dialogue]
    first = np.cumsum([0, *(1 + len(exchange.others) for exchange in dialogue)])
    for point, exchange in enumerate(dialogue):
        for row, tokens in enumerate(exchange.others, start=first[point] + 1):
            if spent > own and spent + len(tokens) + 2 > longest:
                yield part, _positions(first, rows)
                part, rows = [other._replace(others=[]) for other in dialogue], [[] for _ in dialogue]
                spent = own
            part[point] = part[point]._replace(others=[*part[point].others, tokens])
            rows[point].append(row)
            spent += len(tokens) + 2
    yield part, _positions(first, rows)


def _positions(first: Ints, others: Sequence[list[int]]) -> list[int]:
    """The rows of one pass in order: at each point the logged reply (`first`), then its alternatives in this pass."""
    return [
        index for start, rows in zip(first[:-1].tolist(), others, strict=True) for index in (start, *rows)
    ]


def _names(dialogue: Exchanges) -> Iterator[tuple[str, ...]]:
    """The cache key of each reply's vector: digest of the whole logged dialogue, the point and the reply.

    The dialogue is included because its length may cut turns.
    """
    logged = digest(
        *(
            text
            for exchange in dialogue
            for text in ("\0" if exchange.user is None else exchange.user, exchange.reply)
        )
    )
    for point, exchange in enumerate(dialogue):
        for text in (exchange.reply, *exchange.others):
            yield logged, str(point), text
