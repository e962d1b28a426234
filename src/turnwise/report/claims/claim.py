"""A claim: a sentence that concludes from results, with its evidence and the facts by which it can be checked.

Every conclusion that a command or a report prints is a claim. A claim is made only under the conditions that its
module states. What it asserts is stated again as facts, so that claims can be compared with each other (`consistency`)
and with the truth: `benchmarks/claims.py` makes the claims on worlds with known truth and on corpora that are split in
two, and counts those that the truth, or the other half, contradicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from turnwise.records import LEVEL

__all__ = [
    "LEVEL",
    "QUESTIONS",
    "TITLES",
    "Badge",
    "Claim",
    "Direction",
    "Fact",
    "Question",
    "Relation",
    "listed",
    "ratings_for",
]

Question: TypeAlias = Literal[
    "agents", "calibrated", "changes", "metrics", "gaming", "unrated", "reliable", "plan"
]
QUESTIONS: tuple[Question, ...] = get_args(Question)
TITLES: dict[Question, str] = {
    "agents": "Do the agents differ?",
    "calibrated": "Do they differ with unrated dialogues counted?",
    "changes": "Did the agent change?",
    "metrics": "Can a metric be believed?",
    "gaming": "Can it be gamed?",
    "unrated": "Can an unrated agent be estimated?",
    "reliable": "Does it succeed every time?",
    "plan": "Can a study show a difference?",
}
# The answer of a claim to its question. Caution: yes, with a reservation that the claim names.
Badge: TypeAlias = Literal["yes", "no", "can't tell", "caution"]

# above: the subject has the higher quantity than the object, or the better one where an end is good.
# agrees: a metric agrees with the raters above chance. near: it comes near one rater.
# gamed: a strategy scores above people. changed: the new run has the higher quantity than the old one.
Relation: TypeAlias = Literal["above", "agrees", "near", "gamed", "changed"]
Direction: TypeAlias = Literal[1, 0, -1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What a claim asserts: the subject is, or is not, in a relation to the object by some quantity.

    The direction is 1 if the relation was shown, -1 if its opposite was shown, and 0 if neither was.
    """

    subject: str  # an agent or a metric
    relation: Relation
    object: str  # another agent or metric, or the raters
    quantity: str  # what was measured, such as `rating:overall`
    direction: Direction
    level: float = LEVEL  # of the error of all comparisons of the family together
    family: int | None = None  # comparisons that were adjusted together
    group: str | None = None
    basis: str = ""  # how it is known, such as `estimated`; empty for what was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One conclusion. `kind` says under which conditions it was made; `facts` what it asserts."""

    kind: str
    question: Question
    verdict: str  # a short main clause
    number: str = ""  # the estimate with its interval
    evidence: str = ""  # one clause on what it rests on, or what speaks against it
    advice: str = ""  # a sentence on what to do next and what it costs
    badge: Badge = "yes"
    facts: tuple[Fact, ...] = ()
    interval: tuple[float, float] | None = None  # of the quantity of an unrated agent
    subject: str = ""  # the agent or metric that the claim is about
    figure: str = ""  # kind of the figure of its section that shows the number
    run: str = ""  # folder of the run that it comes from
    data: str = ""  # digest of the items behind it
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
