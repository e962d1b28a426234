"""A regression checkpoint that reads reference and reply as one input and gives a number: BLEURT and its kind.

Any sequence classifier of transformers with one output will do (Sellam et al. 2020's own weights are on the hub as
such conversions). There is no default: such weights are in no package registry, so the model must be named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from turnwise.encode.models.catalogue import label, locate
from turnwise.encode.truncation import tell
from turnwise.errors import UsageError
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature

if TYPE_CHECKING:
    import torch

BATCH = 32
LONGEST = 512  # tokens, of a model that states no limit or a higher one


@dataclass(frozen=True)
class Regression(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no reference"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="What a trained regression model makes of reply and reference together; the best over references.",
        range="the model's own; higher is better",
        limits="As good as what it was trained on, which for BLEURT is machine translation. It can be gamed.",
        citation="Sellam et al. 2020, BLEURT: Learning Robust Metrics for Text Generation",
    )

    model: str = ""

    def __post_init__(self) -> None:
        if not self.model:
            raise UsageError("`regression` needs a checkpoint: --model DIR, or regression[model=DIR]")

    @property
    def signature(self) -> Signature:
        return Signature("regression", (("model", label(self.model)), ("refs", "max")))

    def rows(self, items: Sequence[Item], /) -> Floats:
        pairs = [(text, item.reply) for item in items for text in item.references]
        found = iter(_scores(self.model, pairs))
        rows = np.ones((len(items), 2))
        for row, item in zip(rows, items, strict=True):
            row[0] = max((next(found) for _ in item.references), default=np.nan)
        return rows


def _scores(spec: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """One number a pair; each pair is padded by its own length, so a batch is of one shape."""
    import torch

    from turnwise.encode.batches import by_shape
    from turnwise.encode.neural import loading

    tokenizer, model = _loaded(spec)
    if not pairs:
        return []
    longest = loading.longest(model.config, tokenizer, LONGEST)
    first, second = (list(side) for side in zip(*pairs, strict=True))
    encoded = tokenizer(first, second, truncation=True, max_length=longest).encodings
    tell(label(spec), longest, sum(bool(encoding.overflowing) for encoding in encoded))
    lengths = [len(encoding.ids) for encoding in encoded]
    scores = np.full(len(pairs), np.nan)
    for batch in by_shape(lengths, cost=[1] * len(lengths), budget=BATCH):
        inputs = {"input_ids": _table([encoded[at].ids for at in batch], model)}
        if "token_type_ids" in tokenizer.model_input_names:
            inputs["token_type_ids"] = _table([encoded[at].type_ids for at in batch], model)
        with torch.inference_mode():
            scores[batch] = model(**inputs).logits[:, 0].float().cpu().numpy()
    return scores.tolist()


def _table(rows: list[list[int]], model: Any) -> "torch.Tensor":
    import torch

    return torch.tensor(rows, device=model.device)


@cache
def _loaded(spec: str) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification

    from turnwise.encode.neural import loading

    folder = locate(spec)
    model = loading.read_model(
        folder, AutoModelForSequenceClassification, device=loading.default_device(), precision="fp32"
    )
    if model.config.num_labels != 1:
        raise UsageError(f"{spec} has {model.config.num_labels} outputs, and a regression has one")
    return loading.read_tokenizer(folder), model
