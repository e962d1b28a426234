"""The combined score of MultiWOZ: BLEU + (inform + success) / 2 (Mehri et al. 2019). Higher is better, up to 200."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from turnwise.metrics.rows import Sums, quotient
from turnwise.metrics.task.inform import Success
from turnwise.metrics.task.offers import Evaluator
from turnwise.metrics.task.ontology import OntologyReader
from turnwise.metrics.task.wording import DelexicalisedBleu
from turnwise.types import Card, Floats, Item, Level, Need, Signature


@dataclass(frozen=True, slots=True)
class Combined(OntologyReader, Sums):
    """`combined`: `bleu-delex` plus half of inform and half of success."""

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = Success.needs
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 200.0)
    unscored: ClassVar[str] = "the goal asks for nothing, or no reply of the dialogue has a reference"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="BLEU of the replies with placeholders (`bleu-delex`) plus half of inform and half of success.",
        range="0-200",
        limits="Adds similarity to the logged wording and success against the goal, neither of which ranks systems as "
        "users' own success does (papers/offline-critic.md): look at the three parts. BLEU is over all replies of "
        "the dialogues.",
        citation="Mehri et al. 2019, Structured Fusion Networks for Dialog; Nekvinda and Dusek 2021, Shades of "
        "BLEU, Flavours of Success: The Case of MultiWOZ",
    )

    evaluator: Evaluator = "leaderboard"
    ontology: str = "multiwoz"
    db: str | None = None

    def __post_init__(self) -> None:
        Success(self.evaluator, self.ontology, self.db)  # validates the settings

    @property
    def _bleu(self) -> DelexicalisedBleu:
        """The metric `bleu-delex` with the same ontology."""
        return DelexicalisedBleu(self.ontology)

    @property
    def _success(self) -> Success:
        """The metric `success` with the same settings, which also gives inform."""
        return Success(self.evaluator, self.ontology, self.db)

    @property
    def signature(self) -> Signature:
        """The signatures of `bleu-delex` and `success` as parts; raises `NoTables` without venue tables."""
        return Signature("combined", parts=(self._bleu.signature, self._success.signature))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, k + 3): BLEU's k counts, summed over the dialogue, then inform, success, and 1 for the dialogue.

        NaN without a goal, or if no reply has a reference with a word.
        """
        rows = np.full((len(items), self._bleu.rows([]).shape[1] + 3), np.nan)
        for row, item in zip(rows, items, strict=True):
            replies = [turn for turn in item.turns if turn.role == "assistant" and turn.references]
            counts = self._bleu.rows([replace(item, turns=(turn,)) for turn in replies])
            counts = counts[~np.isnan(counts).any(axis=1)]
            if item.goal and len(counts):
                result = self._success.evaluate(item)
                row[:] = *counts.sum(axis=0), result.inform, result.success, 1
        return rows

    def of_sums(self, sums: Floats, /) -> Floats:
        """BLEU of all replies plus half of inform and half of success in percent: 0 to 200; NaN without a dialogue."""
        inform_plus_success = quotient(sums[..., -3] + sums[..., -2], sums[..., -1])
        return self._bleu.of_sums(sums[..., :-3]) + 50 * inform_plus_success
