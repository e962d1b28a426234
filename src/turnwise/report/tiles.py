"""The top of a report: one claim for each question, and what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.report.claims import TITLES, Badge, Claim, Question

# Of several claims on one question, the one that says most about it comes first.
_ORDER: dict[Question, tuple[str, ...]] = {
    "agents": ("leaderboard", "rated-higher", "equivalent", "scores-higher", "passes-more",
               "metrics-disagree", "no-difference"),
    "calibrated": ("calibrated", "refused"),
    "changes": ("changed", "equivalent", "no-change", "same"),
    "metrics": ("trust", "best-tied", "far-from-person", "agrees-best", "agrees-tied",
                "near-not-shown", "none-agrees", "ranks-agents", "learned-from-items"),
    "gaming": ("gameable", "hardened", "no-fraud-shown"),
    "unrated": ("unrated-better", "unrated-ranked", "unrated-partly", "unrated-useless", "unrated-estimate",
                "refused", "critic-fooled", "critic-first"),
    "reliable": ("reliable",),
    "plan": ("planned",),
}  # fmt: skip
NEXT = "What should I do next?"


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the three to five boxes at the top: a question, its answer as a badge, a verdict, number and evidence."""

    question: str
    verdict: str
    number: str
    evidence: str
    badge: Badge | None  # None for advice
    section: int  # number of the section that it leads to, from 1


def tiles(sections: Sequence[Sequence[Claim]]) -> list[Tile]:
    """A tile for each question that has a claim, and one with the first advice; `sections` are the claims of each."""
    placed = [(claim, at) for at, claims in enumerate(sections, start=1) for claim in claims]
    chosen: list[Tile] = []
    advice: list[tuple[str, int]] = []
    for question, title in TITLES.items():
        mine = [(claim, at) for claim, at in placed if claim.question == question]
        known = _ORDER[question]
        mine.sort(key=lambda pair: known.index(pair[0].kind) if pair[0].kind in known else len(known))
        if mine:
            claim, at = mine[0]
            chosen.append(Tile(title, claim.verdict, claim.number, claim.evidence, claim.badge, at))
            advice += [(claim.advice, at)] if claim.advice and question != "gaming" else []
    if advice:
        words, at = advice[0]
        chosen.append(Tile(NEXT, words, "", " ".join(text for text, _ in advice[1:2]), None, at))
    return chosen
