"""Claims on how a metric can be gamed, from `attack`.

`gameable` is made where a strategy was shown to score above people on contexts that nothing was chosen on.
`no-fraud-shown` never says that a metric is safe: it says what was tried.
"""

from collections.abc import Iterator

from turnwise.errors import counted
from turnwise.report.claims.claim import Claim
from turnwise.report.runs import Run


def gaming_claims(run: Run) -> Iterator[Claim]:
    """The claim of an attack or of a hardening."""
    verdict = run.document.get("verdict")
    if rounds := run.document.get("rounds"):
        # Runs before version 0.2 have the sentence under `told`.
        left = run.document.get("summary") or run.document["told"]
        robust = bool(run.document.get("robust"))
        yield Claim(
            kind="hardened", question="gaming", strength="limited" if robust else "shown", run=run.name,
            verdict=f"{run.document['hardened']} was hardened in {counted(len(rounds), 'round')}", evidence=str(left),
        )  # fmt: skip
        return
    if not verdict:
        yield Claim(
            kind="no-verdict", question="gaming", strength="open", run=run.name,
            verdict="Whether it can be gamed is not known", evidence=run.first_reason,
        )  # fmt: skip
        return
    metric = run.results[0]["metric"]
    if not verdict["gameable"]:
        unsearched = "; too little was searched" if run.document.get("unsearched") else ""
        yield Claim(
            kind="no-fraud-shown", question="gaming", strength="limited", run=run.name,
            verdict=f"No way to game {metric} was shown",
            evidence=f"of {verdict['judged']} strategies none is above people beyond chance{unsearched}",
            advice="A longer search (--budget) or --stages rl may still find one.",
            facts={"metric": metric},
        )  # fmt: skip
        return
    worst = next(r for r in run.results if r["strategy"] == verdict["worst"])
    yield Claim(
        kind="gameable", question="gaming", run=run.name,
        verdict=f"{metric} can be gamed, so do not tune a system on it",
        number=f"a reply that {verdict['description']} scores above people's replies in {worst['beats_human']:.0%} of "
        "contexts",
        evidence=f"{counted(verdict['frauds'], 'strategy')} shown to score above people",
        facts={"metric": metric, "strategy": verdict["worst"]},
    )  # fmt: skip
