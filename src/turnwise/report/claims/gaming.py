"""Claims on how a metric can be gamed, from `attack`.

`gameable` is made where a strategy was shown to score above people on contexts that nothing was chosen on.
`no-fraud-shown` never says that a metric is safe: it says what was tried.
"""

from collections.abc import Iterator

from turnwise.errors import counted
from turnwise.report.claims.claim import Claim, Direction, Fact
from turnwise.report.claims.knowledge import ways_to_game
from turnwise.report.documents import AttackDocument
from turnwise.report.runs import RunOf


def gaming_claims(run: RunOf[AttackDocument]) -> Iterator[Claim]:
    """The claim of an attack or of a hardening."""
    document, verdict = run.document, run.document.verdict
    if document.rounds:
        left = document.summary or document.told
        yield Claim(
            kind="hardened", question="gaming", badge="caution" if document.robust else "yes", run=run.name,
            figure="hardening",
            verdict=f"{document.hardened} was hardened in {counted(len(document.rounds), 'round')}", evidence=str(left),
        )  # fmt: skip
        return
    if not verdict:
        yield Claim(
            kind="no-verdict", question="gaming", badge="can't tell", run=run.name,
            verdict="Whether it can be gamed is not known", evidence=run.first_reason,
        )  # fmt: skip
        return
    metric = document.results[0].metric
    if not verdict.gameable:
        unsearched = "; too little was searched" if document.unsearched else ""
        ways = ways_to_game(metric)
        earlier = f"; on other contexts it is known to be gamed by {ways}" if ways else ""
        yield Claim(
            kind="no-fraud-shown", question="gaming", badge="can't tell", run=run.name, figure="strategies",
            subject=metric, verdict=f"No way to game {metric} was shown",
            evidence=f"of {verdict.judged} strategies none is above people beyond chance{unsearched}{earlier}",
            advice="A longer search (--budget) or --stages rl may still find one.",
            facts=(_fact(metric, 0),),
        )  # fmt: skip
        return
    worst = next(record for record in document.results if record.strategy == verdict.worst)
    yield Claim(
        kind="gameable", question="gaming", run=run.name, figure="strategies", subject=metric,
        verdict=f"{metric} can be gamed, so do not tune a system on it",
        number=f"a reply that {verdict.description} scores above people's replies in {worst.beats_human:.0%} of "
        "contexts",
        evidence=f"{counted(verdict.frauds, 'strategy')} shown to score above people",
        facts=(_fact(metric, 1),),
    )  # fmt: skip


def _fact(metric: str, direction: Direction) -> Fact:
    """Whether the metric was shown to be gamed."""
    return Fact(
        subject=metric, relation="gamed", object="some strategy", quantity=metric, direction=direction
    )
