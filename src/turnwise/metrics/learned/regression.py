"""A regression model that takes reference and reply as one input and predicts a score, such as BLEURT.

Any sequence classifier of the transformers library with one output can be used; converted weights of Sellam et al. 2020
are on the Hugging Face hub. There is no default model, because no package registry has such weights. The range and the
meaning of the score are those of the model; higher is better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from turnwise.encode.models.catalogue import label, locate
from turnwise.encode.truncation import report_truncation
from turnwise.errors import UsageError, setting
from turnwise.extras import require
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature

if TYPE_CHECKING:
    import torch

BATCH = 32  # pairs in a batch
LONGEST = 512  # largest number of tokens of an input, for a model that states no limit or a higher one


@dataclass(frozen=True)
class Regression(Ratio):
    """`regression`: the score of a trained sequence classifier with one output."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no reference"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Score that a trained regression model predicts from reply and reference; the best over references.",
        range="that of the model; higher is better",
        limits="As good as its training data, which for BLEURT is machine translation. It can be attacked.",
        citation="Sellam et al. 2020, BLEURT: Learning Robust Metrics for Text Generation",
    )

    model: str = ""

    def __post_init__(self) -> None:
        require("neural", "`regression`")
        if not self.model:
            raise UsageError(
                f"`regression` needs a checkpoint: {setting('--model', 'DIR')}, or regression[model=DIR]"
            )

    @property
    def signature(self) -> Signature:
        """The label of the checkpoint, and that the best reference counts."""
        return Signature("regression", (("model", label(self.model)), ("refs", "max")))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the best score over the references and 1; NaN without a reference."""
        pairs = [(text, item.reply) for item in items for text in item.references]
        scores = iter(_scores(self.model, pairs))
        rows = np.ones((len(items), 2))
        for row, item in zip(rows, items, strict=True):
            row[0] = max((next(scores) for _ in item.references), default=np.nan)
        return rows


def _scores(spec: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The model's score of each (reference, reply) pair, in order; inputs above the model's length are truncated.

    A batch contains only pairs of equal length, so nothing is padded.
    """
    import torch

    from turnwise.encode.batches import by_shape
    from turnwise.encode.neural import loading

    tokenizer, model = _loaded(spec)
    if not pairs:
        return []
    longest = loading.longest(model.config, tokenizer, LONGEST)
    first, second = (list(texts) for texts in zip(*pairs, strict=True))
    encoded = tokenizer(first, second, truncation=True, max_length=longest).encodings
    report_truncation(label(spec), longest, sum(bool(encoding.overflowing) for encoding in encoded))
    lengths = [len(encoding.ids) for encoding in encoded]
    scores = np.full(len(pairs), np.nan)
    for batch in by_shape(lengths, cost=[1] * len(lengths), budget=BATCH):
        inputs = {"input_ids": _tensor([encoded[index].ids for index in batch], model)}
        if "token_type_ids" in tokenizer.model_input_names:
            inputs["token_type_ids"] = _tensor([encoded[index].type_ids for index in batch], model)
        with torch.inference_mode():
            scores[batch] = model(**inputs).logits[:, 0].float().cpu().numpy()
    return scores.tolist()


def _tensor(rows: list[list[int]], model: Any) -> "torch.Tensor":
    """Rows of token ids of equal length as a tensor on the model's device."""
    import torch

    return torch.tensor(rows, device=model.device)


@cache
def _loaded(spec: str) -> tuple[Any, Any]:
    """The tokenizer and the model of a checkpoint, loaded once; `UsageError` if it has not exactly one output."""
    from transformers import AutoModelForSequenceClassification

    from turnwise.encode.neural import loading

    folder = locate(spec)
    model = loading.read_model(
        folder, AutoModelForSequenceClassification, device=loading.default_device(), precision="fp32"
    )
    if model.config.num_labels != 1:
        raise UsageError(f"{spec} has {model.config.num_labels} outputs, and a regression has one")
    return loading.read_tokenizer(folder), model
