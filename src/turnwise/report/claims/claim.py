"""A claim: a sentence that concludes from results, with its evidence and the facts by which it can be checked.

Every conclusion that a command or a report prints is a claim. A claim is made only under the conditions that its
module states. `benchmarks/claims.py` makes the claims on worlds with known truth and on corpora that are split in two,
and counts those that the truth, or the other half, contradicts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

Question: TypeAlias = Literal["agents", "changes", "metrics", "gaming", "unrated", "plan"]
QUESTIONS: tuple[Question, ...] = get_args(Question)
Strength: TypeAlias = Literal["shown", "limited", "open"]  # shown; shown with a reservation; not shown

LEVEL = 0.05  # significance level of everything that is called shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One conclusion. `kind` says under which conditions it was made; `facts` what it asserts, for a check."""

    kind: str
    question: Question
    verdict: str  # a short main clause
    number: str = ""  # the estimate with its interval
    evidence: str = ""  # one clause on what it rests on, or what speaks against it
    advice: str = ""  # a sentence on what to do next and what it costs
    strength: Strength = "shown"
    facts: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""  # folder of the run that it comes from
    items: tuple[str, ...] = ()  # ids of items that it rests on

    def __str__(self) -> str:
        """The claim as text: verdict, number and evidence in one sentence, then the advice."""
        parts = [part for part in (self.number, self.evidence) if part]
        sentence = f"{self.verdict}: {'; '.join(parts)}." if parts else f"{self.verdict}."
        return f"{sentence} {self.advice}".strip()


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names as `a`, `a and b`, `a, b and c`; of more than `most` the first ones and the number of the others."""
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def ratings_for(difference: float, interval: tuple[float, float], n: int) -> int | None:
    """The number of ratings that would show this difference with power .8, if `n` gave this interval; None for 0.

    The standard error shrinks with the square root of the number. A difference of 2.8 standard errors is shown with
    power .8 at the level of 5 %.
    """
    error = (interval[1] - interval[0]) / 2 / 1.96
    return None if difference == 0 else round(n * (2.8 * error / abs(difference)) ** 2)
