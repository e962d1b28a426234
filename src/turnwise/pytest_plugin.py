"""A pytest plugin: gates on dialogues as tests. It does nothing unless a test uses its fixture.

def test_the_agent_keeps_its_level(turnwise_gate):
    turnwise_gate("logs.jsonl", "bleu-4 >= 2", "distinct-2 >= 0.3")
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import pytest

if TYPE_CHECKING:
    from turnwise.settings.data import Data


class GateCheck(Protocol):
    """What the fixture gives: it fails the test unless every gate holds for every agent."""

    def __call__(
        self,
        data: "Data",
        *gates: str,
        seed: int = 0,
        draws: int = 1000,
        as_agents: str | Sequence[str] = (),
        items: Literal["rated", "last", "all"] | None = None,
        role: Literal["assistant", "user"] = "assistant",
        where: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
        by: str | None = None,
        pair: str | None = None,
        cluster: str | None = None,
        limit: int | None = None,
        model: str | None = None,
    ) -> None: ...


@pytest.fixture
def turnwise_gate() -> GateCheck:
    """A function (data, *gates, ...) with the selection of `turnwise.score`; the gates name the metrics.

    It fails the test with a line for each gate that does not hold.
    """

    def check(data: "Data", *gates: str, **settings: object) -> None:
        """Score the data with the gates' metrics, and fail the test if a gate does not hold, or with the one line of an
        error.
        """
        from turnwise import TurnwiseError, score
        from turnwise.report.gate import Gate

        wanted = [Gate.parse(text) for text in gates]
        metrics = tuple(dict.fromkeys(gate.name for gate in wanted))
        try:
            found = score(data, metrics=metrics, figures=False, **settings)  # type: ignore[arg-type]
        except TurnwiseError as error:
            pytest.fail(f"turnwise: error: {error}", pytrace=False)
        verdicts = [verdict for gate in wanted for verdict in gate.verdicts(found.findings)]
        failed = [str(verdict) for verdict in verdicts if not verdict.passed]
        if failed:
            pytest.fail("\n".join(failed), pytrace=False)

    return check
