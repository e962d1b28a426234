"""`turnwise diff`: what changed between two finished runs of the same agent.

The comparison itself is that of `compare`, of the new run minus the old one. Items are paired by their id: an agent
that is asked again holds the same dialogues, but its later replies have other contexts.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from turnwise.errors import Refused, TurnwiseError, UsageError, setting
from turnwise.logs.items.items import all_items
from turnwise.logs.items.selection import recorded_selection
from turnwise.logs.scan import scan_agents
from turnwise.meta.compare import UNPAIRED, compare, match_pairs
from turnwise.meta.table import ScoreTable
from turnwise.meta.verdicts import with_verdicts
from turnwise.records import ChangeRecord, DifferenceRecord, ItemChange, Record, Tested
from turnwise.report.documents import DiffDocument
from turnwise.run.resume.finished_run import FinishedRun, ItemLine, origin_of, read_run
from turnwise.run.spec import finish
from turnwise.types import Item, Rows

if TYPE_CHECKING:
    from turnwise.commands.diff import Diff

PairedBy: TypeAlias = Literal["id", "context"]

IDENTICAL = "paired; every item that is in both runs has the same evidence in both"
INDEPENDENT = "independent samples, as fewer than half of the items are in both runs"
SAME = "the same"  # what is said of a change where `IDENTICAL`
# Fields of a comparison of A and B that a change has too, which call A the new run. Counts of unpaired and unscored
# items are not among them: `only_old` and `only_new` count all.
KEPT = (
    *(name for name in Record.__struct_fields__ if name in DifferenceRecord.__struct_fields__),
    *(name for name in Tested.__struct_fields__ if name not in Record.__struct_fields__),
    "metric", "group", "level", "sampling", "effect_size", "superiority", "minimum_detectable_difference",
    "thinned_a", "thinned_b",
)  # fmt: skip


class Text(NamedTuple):
    """The last turn of an item's context, and its reply."""

    context: str
    reply: str


def diff(spec: "Diff") -> DiffDocument:
    """Compare two folders that `score -o` or `compare -o` wrote, the old and the new one: a record for each metric,
    agent and group. The estimate is new minus old.

    A metric that has different signatures in the two is refused with the reason, unless the command has
    `force`. Raises `UsageError` if the runs have no metric or no agent in common, or lack one that the spec names.
    """
    old, new = runs = read_run(Path(spec.paths[0])), read_run(Path(spec.paths[1]))
    names = spec.metrics or tuple(name for name in new.parts if name in old.parts)
    if not names:
        raise UsageError(f"{old.folder} and {new.folder} have no metric in common")
    for name in names:
        for run in runs:
            if name not in run.parts:
                raise UsageError(f"{run.folder} has no rows of `{name}`; it has {', '.join(run.parts)}")
    agents = _agents(runs, spec)
    changes = [change for name in names for change in _changes(name, runs, agents, spec)]
    records, unread = _with_texts(changes, old, new)
    inputs = {path: sha256((Path(path) / "results.json").read_bytes()).hexdigest() for path in spec.paths}
    left_out = {
        "old": tuple(name for name in old.parts if name not in new.parts),
        "new": tuple(name for name in new.parts if name not in old.parts),
    }
    return finish(
        DiffDocument,
        spec,
        _with_verdicts(records, spec.margins),
        inputs,
        metrics_in_one_run=left_out,
        texts_missing=unread,
    )


def _with_verdicts(records: Sequence[ChangeRecord], margins: Mapping[str, float]) -> tuple[ChangeRecord, ...]:
    """The records with adjusted p and `verdict`: `rose`, `fell`, `not shown` or `the same`, or what is said of a
    margin; without an estimate the status.
    """
    return tuple(
        replace(record, verdict=SAME) if record.leads == SAME else record
        for record in with_verdicts(records, margins)
    )


def _changes(
    name: str,
    runs: tuple[FinishedRun, FinishedRun],
    agents: Sequence[tuple[str, str]],
    spec: "Diff",
) -> Iterator[ChangeRecord]:
    """Yield the change of one metric for each of the `agents`, by their names in the old and in the new run, and each
    group; a refusal for each agent if the metric cannot be compared between the runs.
    """
    try:
        tables = _tables(name, runs, force=spec.force)
    except (Refused, UsageError) as error:  # UsageError: it was fitted on its data, or its rows are gone
        for _, agent in agents:
            signature = runs[1].parts[name].signature
            yield ChangeRecord.refusal(error, signature=signature, metric=name, agent=agent, level="system")
        return
    for both in agents:
        old, new = (table.of_agent(agent) for table, agent in zip(tables, both, strict=True))
        for group in dict.fromkeys(new.groups + old.groups):
            before, after, key = paired(old.of_group(group), new.of_group(group))
            found = compare(
                after,
                before,
                agents=(both[1], both[0]),
                group=group or None,
                better=spec.direction_of(name),
                anytime=spec.anytime,
            )
            lines = [run.lines_of(name, agent, group) for run, agent in zip(runs, both, strict=True)]
            yield _change(found, lines, agents=both, key=key, same=identical(before, after))


def _tables(
    name: str, runs: tuple[FinishedRun, FinishedRun], *, force: bool
) -> tuple[ScoreTable, ScoreTable]:
    """The scores of a metric in both runs; raises `Refused` if its signatures differ, unless `force`, and `UsageError`
    if its rows cannot be used.
    """
    old, new = (run.parts[name].signature for run in runs)
    if old != new and not force:
        raise Refused(
            f"not measured alike: {old} in the old run, {new} in the new one; score both with the same settings, or "
            f"compare anyway with {setting('--force')}"
        )
    return runs[0].table(name), runs[1].table(name)


def _agents(runs: tuple[FinishedRun, FinishedRun], spec: "Diff") -> list[tuple[str, str]]:
    """The name in the old run and the name in the new run of each agent that is compared.

    These are the agents of the spec, or those that both runs have. Two runs of one agent each need not agree on its
    name. Raises `UsageError` if a run lacks an agent, or if there is none.
    """
    known = [list(dict.fromkeys(line.agent for line in run.lines)) for run in runs]
    for agent in spec.agents:
        for path, names in zip(spec.paths, known, strict=True):
            if agent not in names:
                raise UsageError(f"{path} has no agent `{agent}`; it has {', '.join(names)}")
    common = list(spec.agents) or [agent for agent in known[1] if agent in known[0]]
    if not common and [len(names) for names in known] == [1, 1]:
        return [(known[0][0], known[1][0])]
    if not common:
        there = "; ".join(
            f"{path} has {', '.join(names)}" for path, names in zip(spec.paths, known, strict=True)
        )
        raise UsageError(f"the two runs have no agent in common: {there}")
    return [(agent, agent) for agent in common]


def paired(old: ScoreTable, new: ScoreTable) -> tuple[ScoreTable, ScoreTable, PairedBy]:
    """The old and the new table with equal `pairs` for the items to compare, and what pairs them: `id` or `context`.

    Contexts are used where they pair more items, and where they say that the ids of the two runs are of different
    dialogues, as when records without ids were numbered in another order.
    """
    contexts = dict(zip(old.ids, old.pairs, strict=True))
    there = set(old.pairs)
    shared = [
        (contexts[name], pair) for name, pair in zip(new.ids, new.pairs, strict=True) if name in contexts
    ]
    same = sum(before == after for before, after in shared)
    elsewhere = sum(before != after and after in there for before, after in shared)
    in_context = sum(pair in there for pair in new.pairs)
    if elsewhere > same or in_context > len(shared):
        return old, new, "context"
    return dataclasses.replace(old, pairs=old.ids), dataclasses.replace(new, pairs=new.ids), "id"


def identical(old: ScoreTable, new: ScoreTable) -> bool:
    """Whether the items that are in both tables are scored on the same evidence, and most items are in both.

    Such a run has not changed: a test finds no variation to build an interval from, and a gate must not fail for that.
    """
    found = match_pairs(new, old)
    if found is None or len(found.a) != len(found.b):
        return False
    orders = np.argsort(found.pairs_a, kind="stable"), np.argsort(found.pairs_b, kind="stable")
    weights = found.a.weights[orders[0]], found.b.weights[orders[1]]
    return _equal(found.a.rows[orders[0]], found.b.rows[orders[1]]) and np.array_equal(*weights)


def _equal(a: Rows, b: Rows) -> bool:
    """Whether two matrices of rows, sparse or not, are equal."""
    if a.shape != b.shape:
        return False
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    # Subtracting them would allocate a vector as long as a row, and rows of hashed n-grams have 2**61 columns.
    for one in (a := a.copy(), b := b.copy()):
        one.sum_duplicates()
        one.eliminate_zeros()
    return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("indptr", "indices", "data"))


def _change(
    found: DifferenceRecord,
    lines: Sequence[Sequence[ItemLine]],
    *,
    agents: tuple[str, str],
    key: PairedBy,
    same: bool,
) -> ChangeRecord:
    """The comparison of the new run (A) with the old one (B) as a change of one agent, whose names in the old and the
    new run are `agents`; `lines` are its items there, scored or not. `same` says that the scored items are `IDENTICAL`.
    """
    old, new = ([line.id if key == "id" else line.pair for line in side] for side in lines)
    change = ChangeRecord(
        **{name: getattr(found, name) for name in KEPT},
        agent=agents[1],
        agent_old=agents[0],
        old=found.b,
        new=found.a,
        rose=found.higher_a,
        fell=found.higher_b,
        flips=tuple(
            ItemChange(id_old=one.id_b, id_new=one.id_a, old=one.b, new=one.a, change=one.difference)
            for one in found.flips
        ),
        paired_by=key,
        only_old=_absent(old, new),
        only_new=_absent(new, old),
        left_out_old=found.unpaired_b or 0,
        left_out_new=found.unpaired_a or 0,
    )
    if found.sampling == "unpaired":
        change = replace(change, method=INDEPENDENT + change.method.removeprefix(UNPAIRED))
    if found.estimate is not None:
        change = replace(change, leads=SAME if same else "rose" if found.estimate > 0 else "fell")
    if same:
        change = replace(change, interval=(0.0, 0.0), p=1.0, unvarying=False, method=IDENTICAL)
    return change


def _absent(some: Sequence[str], others: Sequence[str]) -> int:
    """How many of `some` are not among `others`."""
    there = set(others)
    return sum(one not in there for one in some)


def _with_texts(
    records: Sequence[ChangeRecord], old: FinishedRun, new: FinishedRun
) -> tuple[list[ChangeRecord], dict[str, str]]:
    """The records with the context and both replies of each item that changed most; and run -> why its texts are
    missing, empty if both were read.
    """
    flips = [flip for record in records for flip in record.flips]
    unread: dict[str, str] = {}
    found: dict[str, Mapping[str, Text]] = {}
    sides = ("old", old, {flip.id_old for flip in flips}), ("new", new, {flip.id_new for flip in flips})
    for side, run, wanted in sides:
        try:
            found[side] = texts(run.folder, wanted) if wanted else {}
        except TurnwiseError as error:
            found[side], unread[side] = {}, str(error)
    if not any(found.values()):
        return list(records), unread

    def told(flip: ItemChange) -> ItemChange:
        """The flip with its texts; None for those that are not known."""
        before, after = found["old"].get(flip.id_old), found["new"].get(flip.id_new)
        context = after or before
        return replace(
            flip,
            context=context and context.context,
            reply_old=before and before.reply,
            reply_new=after and after.reply,
        )

    return [replace(record, flips=tuple(map(told, record.flips))) for record in records], unread


def texts(folder: Path, wanted: Iterable[str]) -> dict[str, Text]:
    """Id -> text of these items of a finished run, read again from the files that it scored.

    Raises `UsageError` if a file is not there or has changed since.
    """
    origin = origin_of(folder)
    if origin is None:
        raise UsageError(f"{folder}/results.json does not name the files that were scored")
    paths = [one.path for one in origin.inputs]
    for path in paths:
        if not Path(path).is_file():
            raise UsageError(f"{path} is not here")
    selection = recorded_selection(origin)
    census = scan_agents(paths, apart=selection.apart)
    for one in origin.inputs:
        if census.sha256[one.path] != one.sha256:
            raise UsageError(f"{one.path} has changed since")
    ids = set(wanted)
    found: dict[str, Text] = {}
    for whole in (False, True):
        if left := ids - set(found):
            items = all_items(paths, selection, census, whole=whole, silent=True)
            found |= {item.id: _text(item) for item in items if item.id in left}
    return found


def _text(item: Item) -> Text:
    """The last turn before the reply, "" if there is none, and the reply."""
    return Text(item.context[-1].text if item.context else "", item.reply)
