"""`turnwise diff`: what changed between two finished runs of the same agent.

The comparison itself is that of `compare`, of the new run minus the old one. Items are paired by their id: an agent
that is asked again holds the same dialogues, but its later replies have other contexts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from turnwise.errors import Refused, TurnwiseError, UsageError, setting
from turnwise.logs.items.items import Selection, all_items
from turnwise.logs.scan import scan_agents
from turnwise.meta.compare import UNPAIRED, compare, match_pairs, with_adjusted_p
from turnwise.meta.table import ScoreTable
from turnwise.records import DiffDocument
from turnwise.run.resume.finished_run import FinishedRun, ItemLine, read_run
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import finish
from turnwise.types import Finding, Item, Rows

if TYPE_CHECKING:
    from turnwise.commands.diff import Diff

IDENTICAL = "paired; every item that is in both runs has the same evidence in both"
INDEPENDENT = "independent samples, as fewer than half of the items are in both runs"
# Key of a comparison of A and B -> key of the change from old (B) to new (A).
RENAMED = {
    "a": "new",
    "b": "old",
    "higher_a": "rose",
    "higher_b": "fell",
}
COUNTS = (  # of scored items; `only_old` and `only_new` count all
    "unpaired_a", "unpaired_b", "merged_a", "merged_b", "scored_a", "scored_b", "unscored_a", "unscored_b",
)  # fmt: skip


class Text(NamedTuple):
    """The last turn of an item's context, and its reply."""

    context: str
    reply: str


def diff(spec: "Diff") -> DiffDocument:
    """Compare two folders that `score -o` or `compare -o` wrote, the old and the new one: a finding for each metric,
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
    findings, unread = _with_texts(changes, old, new)
    inputs = {path: sha256((Path(path) / "results.json").read_bytes()).hexdigest() for path in spec.paths}
    left_out = {
        "old": [name for name in old.parts if name not in new.parts],
        "new": [name for name in new.parts if name not in old.parts],
    }
    sections = {"metrics_in_one_run": left_out, "texts_missing": unread}
    return finish(DiffDocument, spec, _with_verdicts(findings), inputs, **sections)


def _with_verdicts(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings with adjusted p and `verdict`: `rose`, `fell`, `not shown` or `the same`; without an estimate the
    status.
    """

    def verdict(one: Finding) -> str:
        """The verdict on one finding with an adjusted p."""
        if one.estimate is None:
            return one.status
        return str(one.details["leads" if one.method == IDENTICAL else "verdict"])

    return tuple(
        replace(one, details={**one.details, "verdict": verdict(one)}) for one in with_adjusted_p(findings)
    )


def _changes(
    name: str,
    runs: tuple[FinishedRun, FinishedRun],
    agents: Sequence[tuple[str, str]],
    spec: "Diff",
) -> Iterator[Finding]:
    """Yield the change of one metric for each of the `agents`, by their names in the old and in the new run, and each
    group; a refused finding for each agent if the metric cannot be compared between the runs.
    """
    try:
        tables = _tables(name, runs, force=spec.force)
    except (Refused, UsageError) as error:  # UsageError: it was fitted on its data, or its rows are gone
        for _, agent in agents:
            what = {"metric": name, "agent": agent, "group": None, "level": "system"}
            yield Finding.refusal(what, error, runs[1].parts[name].signature)
        return
    for both in agents:
        old, new = (table.of_agent(agent) for table, agent in zip(tables, both, strict=True))
        for group in dict.fromkeys(new.groups + old.groups):
            before, after, key = paired(old.of_group(group), new.of_group(group))
            rng = generator(spec.seed, name, group, both[1])
            found = compare(
                after, before, agents=(both[1], both[0]), group=group or None, draws=spec.draws, rng=rng
            )
            if identical(before, after):
                found = replace(found, interval=(0.0, 0.0), p=1.0, method=IDENTICAL)
            lines = [run.lines_of(name, agent, group) for run, agent in zip(runs, both, strict=True)]
            yield _change(found, lines, agents=both, key=key)


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


def paired(old: ScoreTable, new: ScoreTable) -> tuple[ScoreTable, ScoreTable, str]:
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
    return replace(old, pairs=old.ids), replace(new, pairs=new.ids), "id"


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
    found: Finding, lines: Sequence[Sequence[ItemLine]], *, agents: tuple[str, str], key: str
) -> Finding:
    """The comparison of the new run (A) with the old one (B) as a change of one agent, whose names in the old and the
    new run are `agents`; `lines` are its items there, scored or not.
    """
    old, new = ([line.id if key == "id" else line.pair for line in side] for side in lines)
    details = {RENAMED.get(name, name): value for name, value in found.details.items() if name not in COUNTS}
    details |= {
        "agent_old": agents[0],
        "paired_by": key,
        "only_old": _absent(old, new),
        "only_new": _absent(new, old),
    }
    if found.estimate is not None:
        same = found.method == IDENTICAL
        details["leads"] = "the same" if same else "rose" if found.estimate > 0 else "fell"
    if "flips" in details:
        details["flips"] = [
            {"id_old": flip["id_b"], "id_new": flip["id_a"], "old": flip["b"], "new": flip["a"],
             "change": flip["difference"]}
            for flip in details["flips"]
        ]  # fmt: skip
    what = {
        "metric": found.what["metric"],
        "agent": agents[1],
        "group": found.what["group"],
        "level": "system",
    }
    return replace(found, what=what, details=details, method=found.method.replace(UNPAIRED, INDEPENDENT))


def _absent(some: Sequence[str], others: Sequence[str]) -> int:
    """How many of `some` are not among `others`."""
    there = set(others)
    return sum(one not in there for one in some)


def _with_texts(
    findings: Sequence[Finding], old: FinishedRun, new: FinishedRun
) -> tuple[list[Finding], dict[str, str]]:
    """The findings with the context and both replies of each item that changed most; and run -> why its texts are
    missing, empty if both were read.
    """
    flips = [flip for finding in findings for flip in finding.details.get("flips", ())]
    unread: dict[str, str] = {}
    found: dict[str, Mapping[str, Text]] = {}
    for side, run in (("old", old), ("new", new)):
        wanted = {flip[f"id_{side}"] for flip in flips}
        try:
            found[side] = texts(run.folder, wanted) if wanted else {}
        except TurnwiseError as error:
            found[side], unread[side] = {}, str(error)
    if not any(found.values()):
        return list(findings), unread

    def told(flip: Mapping[str, Any]) -> dict[str, Any]:
        """The flip with its texts; None for those that are not known."""
        before, after = found["old"].get(flip["id_old"]), found["new"].get(flip["id_new"])
        context = after or before
        replies = {"reply_old": before and before.reply, "reply_new": after and after.reply}
        return {**flip, "context": context and context.context, **replies}

    return [
        replace(one, details={**one.details, "flips": [told(flip) for flip in one.details["flips"]]})
        if one.details.get("flips")
        else one
        for one in findings
    ], unread


def texts(folder: Path, wanted: Iterable[str]) -> dict[str, Text]:
    """Id -> text of these items of a finished run, read again from the files that it scored.

    Raises `UsageError` if a file is not there or has changed since.
    """
    origin = msgspec.json.decode((folder / "results.json").read_bytes())["origin"]
    paths = [one["path"] for one in origin["inputs"]]
    for path in paths:
        if not Path(path).is_file():
            raise UsageError(f"{path} is not here")
    selection = msgspec.convert(origin["settings"]["selection"], Selection)
    census = scan_agents(paths, apart=selection.apart)
    for one in origin["inputs"]:
        if census.sha256[one["path"]] != one["sha256"]:
            raise UsageError(f"{one['path']} has changed since")
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
