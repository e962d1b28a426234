"""People's preferences as training data: choices between two replies, or between two whole dialogues."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Choice(NamedTuple):
    """One person's choice between two."""

    first: str  # id of an item, or of a whole dialogue
    second: str
    outcome: float  # 1: the first was chosen, 0: the second, 0.5: neither
    rater: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """People's choices on one dimension."""

    dimension: str
    choices: tuple[Choice, ...]
    one_rater: float  # how often one rater chooses as the majority of the others; NaN where each pair has one

    @property
    def card(self) -> Mapping[str, Any]:
        """The dimension and the numbers of choices and raters, for the model's card; None for raters without names."""
        raters = {choice.rater for choice in self.choices}
        count = None if None in raters else len(raters)
        return {"dimension": self.dimension, "choices": len(self.choices), "raters": count}
