"""All sentences that conclude from results: `claims` makes those of the given runs, each from its own run.

Only what is known of a metric (its agreement, its attacks) is carried from one run to another, and only if both runs
have the same inputs. Numbers of different runs are never ranked against each other. `contradictions` finds claims that
cannot both be believed.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import msgspec

from turnwise.logs.items.selection import recorded_selection
from turnwise.report.agreement import ranked
from turnwise.report.claims.claim import QUESTIONS, TITLES, Badge, Claim, Fact, Question
from turnwise.report.claims.consistency import Contradiction, contradictions, reconciled
from turnwise.report.claims.knowledge import digests
from turnwise.report.runs import Run

__all__ = [
    "QUESTIONS",
    "TITLES",
    "Badge",
    "Claim",
    "Contradiction",
    "Fact",
    "Question",
    "claims",
    "claims_of",
    "contradictions",
    "ranked",
    "reconciled",
]


def claims(runs: Sequence[Run]) -> list[Claim]:
    """The claims of all runs in order, none of which contradicts another."""
    return reconciled([claim for run in runs for claim in claims_of(run, runs)])


def claims_of(run: Run, among: Sequence[Run] = ()) -> list[Claim]:
    """The claims of one run; the runs `among` tell what is known of its metrics."""
    data = _data(run)
    return [replace(claim, run=run.name, data=data) for claim in run.document.claims(run, among)]


def _data(run: Run) -> str:
    """A digest of the items behind a run: its inputs, and what it selects of them."""
    origin = run.document.origin
    chosen = recorded_selection(origin).filters
    return sha256(msgspec.json.encode([sorted(digests(run)), chosen], order="sorted")).hexdigest()
