"""BERTScore (Zhang et al. 2020): cosine similarity of contextual token vectors of a reply and a reference.

Recall averages, over the reference's tokens, the best cosine with a token of the reply. Precision averages over the
reply's tokens. The score is their F1; 1 is the same text, and unrelated texts still score well above 0. With several
references the best one counts. `baseline` (the score of unrelated texts with this model) rescales a score x to
(x - b) / (1 - b), so that 0 is chance; the published baselines are for the published models. `idf` weighs tokens by
their inverse document frequency in the references, after `fit`. As in the released code, the special tokens at the
beginning and end can be matched but do not count themselves.

We differ from the released code in one way. It compares pairs in batches, where padding counts as a cosine of 0 and
replaces negative ones, so its scores depend on the batch (by up to .01 with MiniLM). Our scores are those of a batch
of one pair.

The default model is MiniLM at its last layer, because it is available everywhere. The paper's figures are for
roberta-large at layer 17: `bertscore[model=FacebookAI/roberta-large,layer=17]`, once that model is fetched.
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
_COLUMN: dict[Part, int] = {"p": 0, "r": 1, "f": 2}  # index in the result of `match`


@dataclass(frozen=True)
class BertScore(Ratio):
    """`bertscore`: F1, precision or recall (by `part`) of the best cosines between tokens."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no reference, or an empty reply"
    card: ClassVar[Card] = Card(
        kind="reference",
        meaning="Mean best cosine between the tokens of reply and reference in context: precision (p), recall (r), F1.",
        range="-1 to 1; unrelated texts are above 0 unless rescaled by a baseline",
        limits="Similar to the reference is not the same as good: a good reply with another content scores low, and "
        "negation changes the score little. Scores of different models or layers cannot be compared.",
        citation="Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT",
    )

    part: Part = "f"
    model: str = "minilm"
    layer: int | None = None
    baseline: float = 0.0
    precision: str = "auto"  # bf16 is faster where the processor supports it, and changes scores by .0005
    weights: "Weights | None" = None  # None: all tokens have the same weight

    @property
    def signature(self) -> Signature:
        """The digest of the idf counts (or `no`), the baseline, the choice of reference, and the token encoder."""
        name = "bertscore" if self.part == "f" else f"bertscore-{self.part}"
        settings = (("idf", self.weights.data if self.weights else "no"), ("base", f"{self.baseline:g}"))
        return Signature(name, (*settings, ("refs", "max")), (self._encoder.token_signature,))

    @property
    def _encoder(self) -> TokenEncoder:
        """The token encoder at the chosen layer and precision, loaded once per process."""
        options: dict[str, Any] = {} if self.layer is None else {"layer": self.layer}
        if self.precision != "auto":
            options["precision"] = self.precision
        return models.token_encoder(self.model, **options)

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the best score over the references, rescaled by the baseline, and 1.

        NaN if the reply or every reference has no token that counts.
        """
        texts = list(dict.fromkeys(text for item in items for text in (item.reply, *item.references)))
        encoded = {
            text: _WeightedTokens.of(tokens, self.weights)
            for text, tokens in zip(texts, self._encoder.tokens(texts), strict=True)
        }
        rows = np.ones((len(items), 2))
        for row, item in zip(rows, items, strict=True):
            reply = encoded[item.reply]
            matches = [match(reply, encoded[text]) for text in item.references if encoded[text].total > 0]
            best = max((scores[_COLUMN[self.part]] for scores in matches), default=np.nan)
            row[0] = (best - self.baseline) / (1 - self.baseline) if reply.total > 0 else np.nan
        return rows


@dataclass(frozen=True)
class Weights:
    """Inverse document frequencies of tokens."""

    idf: dict[int, float]
    unseen: float
    data: str  # digest of the counts

    def of(self, ids: Sequence[int]) -> Floats:
        """(t,) the weight of each token."""
        return np.array([self.idf.get(token, self.unseen) for token in ids])


@dataclass(frozen=True)
class BertScoreIdf(BertScore):
    """`bertscore[idf=true]` before `fit` has counted the tokens of the references."""

    def fit(self, items: Iterable[Item], /) -> Metric:
        """The metric with inverse document frequencies from the items' different references."""
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
    """Create the metric `bertscore`, `bertscore-p` or `bertscore-r` (by `part`); with `idf` it must be fitted first."""
    return (BertScoreIdf if idf else BertScore)(part, model, layer, baseline, precision)


@dataclass(frozen=True, slots=True)
class _WeightedTokens:
    """The unit vectors of a text's tokens, and the weight of each token."""

    directions: Vectors  # (t, d)
    weights: Floats  # (t,) 0 for special tokens
    total: float

    @classmethod
    def of(cls, tokens: Tokens, weights: Weights | None) -> "_WeightedTokens":
        """Scale the token vectors to unit length; all tokens weigh 1 without `weights`, and special tokens 0."""
        each = np.ones(len(tokens.ids)) if weights is None else weights.of(tokens.ids.tolist())
        each = np.where(tokens.special, 0.0, each)
        return cls(unit(tokens.vectors).astype(np.float32), each, float(each.sum()))


def match(reply: _WeightedTokens, reference: _WeightedTokens) -> tuple[float, float, float]:
    """Precision, recall and F1 of one pair; precision and F1 are NaN for a reply whose tokens all have weight 0.

    The reference must have a token with a positive weight.
    """
    cosines = reply.directions @ reference.directions.T
    precision = float(cosines.max(axis=1) @ reply.weights) / reply.total if reply.total > 0 else np.nan
    recall = float(cosines.max(axis=0) @ reference.weights) / reference.total
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0
