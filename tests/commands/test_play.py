"""What `play` prints of its result."""

from turnwise.commands.play import Played
from turnwise.records import Origin, PlayEnds, PlayRecord, RunSettings
from turnwise.report.documents import PlayDocument


def played(**ends: object) -> Played:
    origin = Origin(turnwise="0", commit=None, python="3", packages={}, inputs=(), settings=RunSettings())
    record = PlayRecord(
        agent="bot", dimension="success", estimate=0.5, interval=(0.2, 0.8), n_items=8, n_clusters=4
    )
    told = PlayEnds(agent="bot", dialogues=10, calls=40, **ends)  # type: ignore[arg-type]
    document = PlayDocument(results=(record,), ends=(told,), origin=origin)
    return Played(document=document, path="runs.jsonl", judged=False, compared=False)


def test_ends_are_a_table_of_those_that_occurred():
    assert played(ends={"goal": 6, "limit": 2, "simulator-fault": 2}).ends().splitlines()[::2] == [
        "agent  dialogues  goal  limit  simulator fault",
        "bot           10     6      2                2",
    ]


def test_what_is_not_scored_and_what_was_tried_again_is_said_with_its_kinds():
    notes = played(
        ends={"goal": 6, "simulator-fault": 3, "infrastructure-fault": 1},
        simulator_faults={"echo": 1, "leak": 2}, discarded={"echo": 4},
    ).notes()  # fmt: skip
    assert notes == [
        "warning: bot: not scored: 3 dialogues that a fault of the simulated user ended (echo 1, leak 2)",
        "note: bot: tried again, unseen by the agent: 4 messages of the simulated user with a fault (echo 4)",
        "warning: bot: not scored: 1 dialogue lost to the infrastructure",
        "note: how real the simulated users are is not known: --real LOGS compares them with people",
    ]


def test_a_result_iterates_and_prints_as_every_other():
    result = played(ends={"goal": 10})
    assert [one["estimate"] for one in result] == [0.5]
    assert "success" in str(result)
    assert result.exit_code == 0
    assert result.realism() == ""
