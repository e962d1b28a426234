"""The top of a report: one claim for each question, and what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.report.claims import TITLES, Claim, Question, Strength

# Of several claims on one question, the one that says most about it comes first.
_ORDER: dict[Question, tuple[str, ...]] = {
    "agents": ("rated-higher", "calibrated", "scores-higher", "metrics-disagree", "no-difference"),
    "changes": ("changed", "no-change"),
    "metrics": ("trust", "best-tied", "far-from-person", "agrees-best", "agrees-tied",
                "near-not-shown", "none-agrees", "ranks-agents", "learned-from-items"),
    "gaming": ("gameable", "hardened", "no-fraud-shown"),
    "unrated": ("unrated-ranked", "unrated-useless", "unrated-estimate", "refused", "critic-fooled", "critic-first"),
    "plan": ("planned",),
}  # fmt: skip
STRENGTHS: dict[Strength, str] = {
    "shown": "shown",
    "limited": "shown, with a reservation",
    "open": "not shown",
}
NEXT = "What should I do next?"


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the three to five boxes at the top: a question, a verdict, its number and evidence."""

    question: str
    verdict: str
    number: str
    evidence: str
    strength: Strength | None  # None for advice
    section: int  # number of the section that it leads to, from 1

    @property
    def badge(self) -> str:
        """The strength in words, so that it is not told by colour alone; empty for advice."""
        return STRENGTHS[self.strength] if self.strength else ""


def tiles(sections: Sequence[Sequence[Claim]]) -> list[Tile]:
    """A tile for each question that has a claim, and one with the first advice; `sections` are the claims of each."""
    placed = [(claim, at) for at, claims in enumerate(sections, start=1) for claim in claims]
    found: list[Tile] = []
    advice: list[tuple[str, int]] = []
    for question, title in TITLES.items():
        mine = [(claim, at) for claim, at in placed if claim.question == question]
        known = _ORDER[question]
        mine.sort(key=lambda pair: known.index(pair[0].kind) if pair[0].kind in known else len(known))
        if mine:
            claim, at = mine[0]
            found.append(Tile(title, claim.verdict, claim.number, claim.evidence, claim.strength, at))
            advice += [(claim.advice, at)] if claim.advice and question != "gaming" else []
    if advice:
        words, at = advice[0]
        found.append(Tile(NEXT, words, "", " ".join(text for text, _ in advice[1:2]), None, at))
    return found
