"""The changes between two runs of an agent, drawn as the comparison of its new version with the old one."""

from collections.abc import Iterator
from typing import Any

from turnwise.report.figure import Figure, Record
from turnwise.report.figures.interval_lists import differences
from turnwise.report.figures.transcripts import flips
from turnwise.report.runs import Run

NEW, OLD = "the new run", "the old run"


def changes(run: Run) -> Iterator[Figure]:
    """The change of each metric, one figure for each agent; none without an estimate."""
    for agent in dict.fromkeys(record.get("agent") for record in run.results):
        mine = [_compared(record) for record in run.results if record.get("agent") == agent]
        yield from differences(Run(run.name, run.folder, {**run.document, "results": mine}))


def changed_items(run: Run) -> Iterator[Figure]:
    """The items that changed most, one figure for each metric whose texts are known in both runs."""
    mine = [_compared(record) for record in run.results]
    yield from flips(Run(run.name, run.folder, {**run.document, "results": mine}))


def _compared(record: Record) -> dict[str, Any]:
    """The record of a change as that of a comparison, in which A is the new run and B the old one."""
    told = [
        {"id_a": one["id_new"], "id_b": one["id_old"], "a": one["new"], "b": one["old"], "context": one["context"],
         "reply_a": one["reply_new"], "reply_b": one["reply_old"]}
        for one in record.get("flips") or ()
        if one.get("reply_new") is not None and one.get("reply_old") is not None
    ]  # fmt: skip
    agent = record.get("agent")
    names = {"agent_a": f"{agent}, {NEW}", "agent_b": f"{agent}, {OLD}"}
    return {**record, **names, "a": record.get("new"), "b": record.get("old"), "flips": told}
