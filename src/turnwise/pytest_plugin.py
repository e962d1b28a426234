"""A pytest plugin: gates on dialogues, and scenarios as tests. It does nothing unless a test uses a fixture of it.

def test_the_agent_keeps_its_level(turnwise_gate):
    turnwise_gate("logs.jsonl", "bleu-4 >= 2", "distinct-2 >= 0.3")

@pytest.mark.turnwise_scenarios("scenarios.yaml")
def test_the_agent_succeeds(turnwise_scenario):
    turnwise_scenario.play(agents="bot:reply", repeats=4, passes=3)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pytest

if TYPE_CHECKING:
    from turnwise.scenarios.scenario import Scenario
    from turnwise.settings.data import Data
    from turnwise.types import Dialogue

MARK = "turnwise_scenarios"


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
        problem = ""
        try:
            found = score(data, metrics=metrics, figures=False, **settings)  # type: ignore[arg-type]
        except TurnwiseError as error:
            problem = f"turnwise: error: {error}"
        if problem:  # outside the handler, whose error pytest would print beside it
            pytest.fail(problem, pytrace=False)
        verdicts = [verdict for gate in wanted for verdict in gate.verdicts(found.findings)]
        failed = [str(verdict) for verdict in verdicts if not verdict.passed]
        if failed:
            pytest.fail("\n".join(failed), pytrace=False)

    return check


@dataclass(frozen=True)
class ScenarioCase:
    """One scenario of a test: what the fixture `turnwise_scenario` gives."""

    scenario: "Scenario"
    folder: Path  # where the log is written

    @property
    def id(self) -> str:
        """The name of the scenario."""
        return self.scenario.id

    def play(
        self, *, agents: str | Sequence[str], passes: int | None = None, **settings: Any
    ) -> list[dict[str, Any]]:
        """Play the scenario with the settings of `turnwise.play`, and return the dialogues of the log.

        The test fails unless at least `passes` dialogues of each agent succeed; None: all. A scenario in which nothing
        must hold passes if no agent has a fault. Dialogues without a score fail the test with the reason, too.
        """
        from turnwise import play
        from turnwise.logs.dialogue import as_record
        from turnwise.logs.native import read_all

        if self.scenario.success.judge and settings.get("judge") is None:
            pytest.fail(
                f"scenario {self.id} has a rubric: give `judge`, the agent that judges it", pytrace=False
            )
        output = self.folder / "runs.jsonl"
        played = play([self.scenario], agents=agents, output=output, **settings)
        dialogues = list(read_all([str(output)]))
        failed = []
        for one in played.document.ends:
            mine = [dialogue for dialogue in dialogues if dialogue.agent == one.agent]
            wanted = one.dialogues if passes is None else passes
            succeeded = sum(map(_succeeds, mine))
            if succeeded < wanted:
                why = "; ".join(dict.fromkeys(_why(dialogue) for dialogue in mine if not _succeeds(dialogue)))
                lost = one.dialogues - len(mine)
                apart = [f"{lost} could not be scored"] if lost else []
                reasons = "; ".join([*([why] if why else []), *apart])
                failed.append(
                    f"{one.agent}: {succeeded} of {one.dialogues} succeed, and {wanted} must: {reasons}"
                )
        if failed:
            pytest.fail(
                "\n".join([f"scenario {self.id}", *failed, f"the dialogues are in {output}"]), pytrace=False
            )
        return [as_record(dialogue) for dialogue in dialogues]


def _succeeds(dialogue: "Dialogue") -> bool:
    """Whether all holds that a scenario asks for; without a score, whether the agent had no fault."""
    for rating in dialogue.ratings:
        if rating.dimension == "success":
            return rating.value == 1
    return bool(dialogue.meta["end"] != "agent-fault")


def _why(dialogue: "Dialogue") -> str:
    """What did not hold at the end of a dialogue."""
    meta = dialogue.meta
    return ", ".join(meta.get("unmet", ())) or meta.get("why", "") or "the judge said no"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", f"{MARK}(*files): run the test once for each scenario of these files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each scenario that the mark names."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None or "turnwise_scenario" not in metafunc.fixturenames:
        return
    from turnwise.errors import TurnwiseError
    from turnwise.scenarios.reading import read

    folder = metafunc.definition.path.parent
    paths = [str(folder / path) if (folder / path).exists() else str(path) for path in mark.args]
    try:
        scenarios = read(paths)
    except TurnwiseError as error:
        raise pytest.UsageError(str(error)) from None
    metafunc.parametrize(
        "turnwise_scenario", scenarios, ids=[scenario.id for scenario in scenarios], indirect=True
    )


@pytest.fixture
def turnwise_scenario(request: pytest.FixtureRequest, tmp_path: Path) -> ScenarioCase:
    """The scenario of this test; the test has the mark `turnwise_scenarios`, which names the files."""
    if not hasattr(request, "param"):
        pytest.fail(f'mark the test with @pytest.mark.{MARK}("scenarios.yaml")', pytrace=False)
    return ScenarioCase(request.param, tmp_path)
