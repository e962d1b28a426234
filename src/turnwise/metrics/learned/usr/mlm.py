"""USR's masked-language-model score (Mehri and Eskenazi 2020): mean log-probability of the reply's masked tokens.

Each token of the reply is masked in turn and predicted from the other tokens and the context. Values are 0 or below;
higher means more fluent and expected words. The paper fine-tunes RoBERTa-base on the evaluated corpus. The default here
is MiniLM after further training as a masked language model on dialogues (papers/masked_lm.py), which ships with the
package as the difference from MiniLM. Any other masked language model can be used, from the hub or a folder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from turnwise.encode import Cache
from turnwise.encode.models.catalogue import label, locate
from turnwise.metrics.learned.trained import load_trained
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

    model: str = ""  # a folder or hub id of a masked language model; "": the one that ships with the package
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
    """The masked language model of this name, loaded once; "" is MiniLM with the shipped difference."""
    difference = None if spec else load_trained("usr-mlm", "")
    name = str(difference.config["base"]) if difference else spec
    folder = locate(name)
    from turnwise.encode.neural.masked import MaskedLM

    if difference is None:
        return MaskedLM(folder, label(spec), cache=Cache())
    return MaskedLM(folder, f"{label(name)}+{difference.digest[:8]}", cache=Cache(), difference=difference)
