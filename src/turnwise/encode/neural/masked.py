"""Pseudo-log-likelihood of a text after another, from any masked language model (Salazar et al. 2020).

Each token of the text is masked in turn, and log p(token | all the others, the context) is summed. The beginning of the
context is cut if both do not fit. A batch has inputs of one length, so a number does not depend on its batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForMaskedLM, BertConfig, BertForMaskedLM

from turnwise.encode.batches import by_shape
from turnwise.encode.cache.disk import Cache
from turnwise.encode.models.differences import unpack
from turnwise.encode.models.folder import Folder
from turnwise.encode.neural import loading
from turnwise.errors import DataError, UsageError
from turnwise.types import Floats, Signature

_LONGEST = 512  # largest number of tokens, if the model states no limit
_BUDGET = 1024  # tokens in a batch; some models compute logits of the whole vocabulary for each
_HEADS = ("cls", "lm_head")  # names of the head in BERT and RoBERTa


class _Input(NamedTuple):
    """The tokens of context and text with their types."""

    ids: list[int]
    types: list[int]
    positions: list[int]  # positions of the text's tokens


@dataclass(frozen=True)
class MaskedLM:
    """A masked language model that scores a text after another."""

    folder: Path
    label: str  # name@hash
    device: str = field(default_factory=loading.default_device)
    cache: Cache | None = None
    difference: Folder | None = None  # the model is the body in `folder` changed by this, with a head

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, read when first needed; `UsageError` if it lacks a mask, a start or a separator token."""
        tokenizer = loading.read_tokenizer(self.folder)
        if None in (tokenizer.mask_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id):
            raise UsageError(
                f"{self.label} is no masked language model: its tokenizer has no mask, start or separator"
            )
        return tokenizer

    @cached_property
    def model(self) -> Any:
        """The model with its head, loaded when first needed; `UsageError` if the folder lacks some of its weights."""
        if self.difference is not None:
            made = _changed(self.folder, self.difference).eval()
            return made.to(self.device, torch.bfloat16 if self._bf16 else torch.float32)
        with loading.quiet():
            model, found = AutoModelForMaskedLM.from_pretrained(
                self.folder, local_files_only=True, dtype=torch.float32, output_loading_info=True
            )
        if absent := sorted(found["missing_keys"]):
            raise UsageError(f"{self.label} is no masked language model: it has no weights for {absent[0]}")
        return model.eval().to(self.device)

    @property
    def signature(self) -> Signature:
        """That each token is masked in turn, the largest length, and the precision where it is not float32."""
        precision = (("precision", "bf16"),) if self._bf16 else ()
        return Signature(self.label, (("mask", "each"), ("max", str(self._longest)), *precision))

    @property
    def _bf16(self) -> bool:
        """Whether bfloat16 is used: for 4-bit differences, which it does not make less exact, where it is faster."""
        return self.difference is not None and loading.computes_bf16(self.device)

    @cached_property
    def _longest(self) -> int:
        """The largest number of tokens of an input, at most 512."""
        config = loading.read_config(self.folder)
        # RoBERTa numbers its positions from 2.
        room = int(getattr(config, "max_position_embeddings", _LONGEST)) - 2
        return min(room, int(min(self.tokenizer.model_max_length, _LONGEST)))

    def score(self, pairs: Sequence[tuple[str, str]], /) -> Floats:
        """(n, 2) for each (context, text): sum of the tokens' log-probabilities (NaN without tokens), their number.

        Each token is masked alone, so the sum is a pseudo-log-likelihood in nats.
        """
        rows = (
            self._score(pairs)
            if self.cache is None
            else self.cache.remember(
                str(self.signature), list(pairs), lambda chosen: self._score([pairs[at] for at in chosen])
            )
        )
        return np.array(rows, dtype=np.float64).reshape(len(pairs), 2)

    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[Floats]:
        """`score`, computed: one row (2,) for each pair."""
        inputs = [self._input(*pair) for pair in pairs]
        tasks = [(at, position) for at, one in enumerate(inputs) for position in one.positions]
        lengths = [len(inputs[at].ids) for at, _ in tasks]
        found = np.zeros(len(tasks))
        for batch in by_shape(lengths, cost=lengths, budget=_BUDGET):
            found[batch] = self._log_probs(
                [inputs[tasks[index][0]] for index in batch], [tasks[i][1] for i in batch]
            )
        rows = [np.array([0.0 if one.positions else np.nan, len(one.positions)]) for one in inputs]
        for (at, _), value in zip(tasks, found, strict=True):
            rows[at][0] += value
        return rows

    def _log_probs(self, inputs: Sequence[_Input], positions: Sequence[int]) -> Floats:
        """(b,) the log-probability of the token at one position of each input, which is masked.

        All inputs have one length.
        """
        ids = torch.tensor([one.ids for one in inputs], device=self.device)
        rows = torch.arange(len(inputs), device=self.device)
        at = torch.tensor(positions, device=self.device)
        targets = ids[rows, at].clone()
        ids[rows, at] = self.tokenizer.mask_token_id
        given = {"input_ids": ids}
        if "token_type_ids" in self.tokenizer.model_input_names:
            given["token_type_ids"] = torch.tensor([one.types for one in inputs], device=self.device)
        with torch.inference_mode():
            logits = self._logits(given, rows, at).float()
        picked: Floats = torch.log_softmax(logits, dim=-1)[rows, targets].double().cpu().numpy()
        return picked

    def _logits(self, given: dict[str, torch.Tensor], rows: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """(b, vocabulary) the logits at one position of each input.

        The output layer costs as much as a small body, so it is applied to these positions alone where the head is a
        module of its own, as BERT's and RoBERTa's is.
        """
        head = next((part for name in _HEADS if (part := getattr(self.model, name, None)) is not None), None)
        if head is None:
            whole: torch.Tensor = self.model(**given).logits[rows, at]
            return whole
        logits: torch.Tensor = head(self.model.base_model(**given)[0][rows, at])
        return logits

    def _input(self, context: str, text: str) -> _Input:
        """[CLS] context [SEP] text [SEP], with the model's own number of separators between the two.

        If both do not fit, the end of the text is cut, then the beginning of the context.
        """
        tokenizer = self.tokenizer
        marks = tokenizer.num_special_tokens_to_add(pair=True)
        room = self._longest - marks
        said = tokenizer(text, add_special_tokens=False)["input_ids"][:room]
        before = tokenizer(context, add_special_tokens=False)["input_ids"]
        before = before[max(0, len(before) + len(said) - room) :]
        first = [tokenizer.cls_token_id, *before, *[tokenizer.sep_token_id] * (marks - 2)]
        ids = [*first, *said, tokenizer.sep_token_id]
        types = [0] * len(first) + [1] * (len(said) + 1)
        return _Input(ids, types, list(range(len(first), len(first) + len(said))))


def _changed(folder: Path, difference: Folder) -> Any:
    """BERT with a head for masked words: the body in a folder, changed by a stored difference.

    The output layer is the body's word embeddings. A `DataError` if the difference is from another body.
    """
    base = {f"bert.{name}": array for name, array in load_file(folder / "model.safetensors").items()}
    words = "bert.embeddings.word_embeddings.weight"
    weights = {words: base[words], **unpack(difference.tensors, base)}
    with loading.quiet():
        config = BertConfig.from_pretrained(folder, local_files_only=True)
        model = BertForMaskedLM(config)  # type: ignore[no-untyped-call]
    state = {name: torch.as_tensor(array) for name, array in weights.items()}
    try:
        absent, unknown = model.load_state_dict(state, strict=False)
    except RuntimeError as error:  # weights of other shapes
        raise DataError(
            f"{difference.path} does not fit the model in {folder}: {str(error).splitlines()[-1].strip()}"
        ) from error
    tied = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias", "bert.embeddings.position_ids"}
    if wrong := sorted({*absent, *unknown} - tied):
        raise DataError(f"{difference.path} does not fit the model in {folder}: {wrong[0]}")
    model.tie_weights()
    return model
