"""BERTScore (Zhang et al. 2020): how well each token finds its like in the other text, in context.

Recall: the reference's tokens, each with its best cosine among the reply's; precision: the reply's tokens among the
reference's; F1 of the two. With several references the best counts. As in the released code the marks of beginning
and end can be found but are not looked for, and `idf` weighs tokens by how few of the references hold them, after
`fit`. Where the package compares pairs in batches, its padding counts as a cosine of 0 and wins over negative ones:
its numbers then depend on the batch (by up to .01 with MiniLM); ours are those of a pair alone. `baseline` (the number
that unrelated texts get with this model) rescales to (x - b) / (1 - b), so that 0 is chance; the published baselines
are for the published models.

The default model is MiniLM at its last layer, because it can be had everywhere: figures of the paper are for
roberta-large at layer 17, which is `bertscore[model=FacebookAI/roberta-large,layer=17]` once that model is fetched.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any, ClassVar, Literal

import numpy as np

from turnwise.encode import TokenEncoder, Tokens, Vectors
from turnwise.metrics import models
from turnwise.metrics.reference.embedding import unit
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Metric, Need, Signature, digest

Part = Literal["p", "r", "f"]
_COLUMN: dict[Part, int] = {"p": 0, "r": 1, "f": 2}


@dataclass(frozen=True)
class BertScore(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no reference, or an empty reply"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="Mean best cosine between the tokens of reply and reference in context: precision (p), recall (r), F1.",
        range="-1 to 1; unrelated texts are above 0 unless rescaled by a baseline",
        limits="Close to the reference is not the same as good: a fine reply in another direction scores low, and "
        "negation costs little. Numbers of different models or layers cannot be compared.",
        citation="Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT",
    )

    part: Part = "f"
    model: str = "minilm"
    layer: int | None = None
    baseline: float = 0.0
    precision: str = "auto"  # bf16 is faster where the processor computes in it, and moves scores by .0005
    weights: "Weights | None" = None  # None: all tokens alike

    @property
    def signature(self) -> Signature:
        name = "bertscore" if self.part == "f" else f"bertscore-{self.part}"
        settings = (("idf", self.weights.data if self.weights else "no"), ("base", f"{self.baseline:g}"))
        return Signature(name, (*settings, ("refs", "max")), (self._encoder.token_signature,))

    @property
    def _encoder(self) -> TokenEncoder:
        options: dict[str, Any] = {} if self.layer is None else {"layer": self.layer}
        if self.precision != "auto":
            options["precision"] = self.precision
        return models.token_encoder(self.model, **options)

    def rows(self, items: Sequence[Item], /) -> Floats:
        texts = list(dict.fromkeys(text for item in items for text in (item.reply, *item.references)))
        told = {
            text: _Side.of(tokens, self.weights)
            for text, tokens in zip(texts, self._encoder.tokens(texts), strict=True)
        }
        rows = np.ones((len(items), 2))
        for row, item in zip(rows, items, strict=True):
            reply = told[item.reply]
            found = [match(reply, told[text]) for text in item.references if told[text].total > 0]
            best = max((scores[_COLUMN[self.part]] for scores in found), default=np.nan)
            row[0] = (best - self.baseline) / (1 - self.baseline) if reply.total > 0 else np.nan
        return rows


@dataclass(frozen=True)
class Weights:
    """Inverse document frequencies of tokens."""

    idf: dict[int, float]
    unseen: float
    data: str  # digest of the counts

    def of(self, ids: Sequence[int]) -> Floats:
        return np.array([self.idf.get(token, self.unseen) for token in ids])


@dataclass(frozen=True)
class BertScoreIdf(BertScore):
    """`bertscore[idf=true]` before it has seen the references whose tokens it counts."""

    def fit(self, items: Iterable[Item], /) -> Metric:
        texts = sorted({text for item in items for text in item.references})
        counts: Counter[int] = Counter()
        for tokens in self._encoder.tokens(texts):
            counts.update(set(tokens.ids.tolist()))
        # As released: log((n + 1) / (count + 1)), and log(n + 1) for a token that no reference holds.
        idf = {token: log((len(texts) + 1) / (count + 1)) for token, count in counts.items()}
        data = digest(*(f"{token} {count}" for token, count in sorted(counts.items())))
        fitted = BertScore(self.part, self.model, self.layer, self.baseline, self.precision)
        return replace(fitted, weights=Weights(idf, log(len(texts) + 1), data))


def bertscore(
    *,
    part: Part = "f",
    model: str = "minilm",
    layer: int | None = None,
    idf: bool = False,
    baseline: float = 0.0,
    precision: str = "auto",
) -> BertScore:
    """What the names `bertscore`, `bertscore-p` and `bertscore-r` make."""
    return (BertScoreIdf if idf else BertScore)(part, model, layer, baseline, precision)


@dataclass(frozen=True, slots=True)
class _Side:
    """A text's tokens: directions, and how much each counts."""

    directions: Vectors  # (t, d)
    weights: Floats  # (t,) 0 for the marks
    total: float

    @classmethod
    def of(cls, tokens: Tokens, weights: Weights | None) -> "_Side":
        each = np.ones(len(tokens.ids)) if weights is None else weights.of(tokens.ids.tolist())
        each = np.where(tokens.special, 0.0, each)
        return cls(unit(tokens.vectors).astype(np.float32), each, float(each.sum()))


def match(reply: _Side, reference: _Side) -> tuple[float, float, float]:
    """Precision, recall and F1 of one pair."""
    cosines = reply.directions @ reference.directions.T
    precision = float(cosines.max(axis=1) @ reply.weights) / reply.total if reply.total > 0 else np.nan
    recall = float(cosines.max(axis=0) @ reference.weights) / reference.total
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0
