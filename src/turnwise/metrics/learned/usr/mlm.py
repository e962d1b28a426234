"""USR's masked-language-model score (Mehri and Eskenazi 2020): mean log-probability of the reply's masked tokens.

Each token of the reply is masked in turn and predicted from the other tokens and the context. Values are 0 or below;
higher means more fluent and expected words. The paper fine-tunes RoBERTa-base on the evaluated corpus. Here any masked
LM can be used, from the hub or a folder, fine-tuned or not. The default is RoBERTa-base without fine-tuning; if it is
not on this machine, the metric is skipped with a message on how to get it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from turnwise.encode import Cache
from turnwise.encode.models.catalogue import label, locate
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature

if TYPE_CHECKING:
    from turnwise.encode.neural.masked import MaskedLM


@dataclass(frozen=True)
class UsrMlm(Ratio):
    """`usr-mlm`: mean log-probability of the reply's tokens, each masked in turn."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "no context, or the reply has no token"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Mean log-probability of the reply's tokens, each masked in turn, given the context and the others.",
        range="0 and below",
        limits="Prefers common words and repetitions: a copy of the context scored twice as high as people on "
        "DailyDialog (probing paper, Table 2). Supports the languages of its model.",
        citation="Mehri and Eskenazi 2020, USR: An Unsupervised and Reference Free Evaluation Metric for Dialog",
    )

    model: str = "FacebookAI/roberta-base"
    turns: int = 1  # turns of context; the paper uses one

    @property
    def signature(self) -> Signature:
        """The number of turns of context and the signature of the masked language model."""
        return Signature("usr-mlm", (("turns", str(self.turns)),), (_model(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): sum of log-probabilities and the number of the reply's tokens; NaN without a context or tokens."""
        pairs = [(" ".join(turn.text for turn in item.context[-self.turns :]), item.reply) for item in items]
        rows = _model(self.model).score(pairs)
        rows[[not any(turn.text for turn in item.context) for item in items], 0] = np.nan
        return rows


@cache
def _model(spec: str) -> "MaskedLM":
    """The masked language model of this name, loaded once."""
    folder = locate(spec)
    from turnwise.encode.neural.masked import MaskedLM

    return MaskedLM(folder, label(spec), cache=Cache())
