"""The changes between two runs of an agent, drawn as the comparison of its new version with the old one."""

from collections.abc import Iterator, Sequence

from turnwise.records import ChangeRecord, DifferenceRecord, ItemDifference, Tested
from turnwise.report.documents import CompareDocument, DiffDocument
from turnwise.report.figure import Figure, with_estimate
from turnwise.report.figures.differences import of_pair
from turnwise.report.figures.transcripts import flips
from turnwise.report.runs import RunOf

NEW, OLD = "the new run", "the old run"


def changes(run: RunOf[DiffDocument]) -> Iterator[Figure]:
    """The change of each metric, one figure for each agent; none without an estimate."""
    records = run.document.results
    for agent in dict.fromkeys(record.agent for record in records):
        mine = with_estimate(map(_difference, (record for record in records if record.agent == agent)))
        if mine:
            yield of_pair(mine, str(mine[0].agent_a))


def changed_items(run: RunOf[DiffDocument]) -> Iterator[Figure]:
    """The items that changed most, one figure for each metric whose texts are known in both runs."""
    yield from flips(_compared(run, run.document.results))


def _compared(run: RunOf[DiffDocument], records: Sequence[ChangeRecord]) -> RunOf[CompareDocument]:
    """The run as a comparison of the new run (A) with the old one (B), with these changes."""
    mine = tuple(map(_difference, records))
    return RunOf(run.name, run.files, CompareDocument(results=mine, origin=run.document.origin))


def _difference(record: ChangeRecord) -> DifferenceRecord:
    """The record of a change as that of a difference; of its items those whose texts are known in both runs."""
    told = tuple(
        ItemDifference(
            id_a=one.id_new, id_b=one.id_old, a=one.new, b=one.old, difference=one.change, context=one.context,
            reply_a=one.reply_new, reply_b=one.reply_old,
        )
        for one in record.flips
        if one.reply_new is not None and one.reply_old is not None
    )  # fmt: skip
    return DifferenceRecord(
        **{name: getattr(record, name) for name in Tested.__struct_fields__},
        metric=record.metric,
        agent_a=f"{record.agent}, {NEW}",
        agent_b=f"{record.agent}, {OLD}",
        group=record.group,
        a=record.new,
        b=record.old,
        effect_size=record.effect_size,
        flips=told,
    )
