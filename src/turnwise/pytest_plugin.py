"""A pytest plugin: gates on conversations as tests. Inert unless a test asks for its fixture.

def test_the_bot_keeps_its_level(turnwise_gate):
    turnwise_gate("logs.jsonl", "bleu-4 >= 2", "distinct-2 >= 0.3")
"""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def turnwise_gate() -> Callable[..., None]:
    """A function (data, *gates, **selection) that fails the test unless every gate holds for every agent."""

    def check(data: str, *gates: str, seed: int = 0, **selection: Any) -> None:
        from turnwise.logs.items.items import Selection
        from turnwise.report.gate import Gate
        from turnwise.run.scoring.score import score
        from turnwise.run.spec import ScoreSpec

        wanted = [Gate.parse(text) for text in gates]
        metrics = tuple(dict.fromkeys(gate.name for gate in wanted))
        chosen = Selection(**selection)
        outcome = score(ScoreSpec(data=(str(data),), metrics=metrics, selection=chosen, seed=seed))
        verdicts = [verdict for gate in wanted for verdict in gate.judge(outcome.findings)]
        failed = [str(verdict) for verdict in verdicts if not verdict.passed]
        if failed:
            pytest.fail("\n".join(failed), pytrace=False)

    return check
