"""`turnwise compare`: two agents in the same files, or two finished runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from turnwise.errors import Refused, UsageError, nearest, setting
from turnwise.logs.native import id_prefixes, own_id
from turnwise.logs.scan import Census, scan_agents
from turnwise.meta.compare import compare as compare_tables
from turnwise.meta.compare import has_unpaired, with_adjusted_p
from turnwise.meta.table import ScoreTable
from turnwise.metrics import is_preference, is_rating
from turnwise.metrics.rating import GOOD
from turnwise.records import CompareDocument, DifferenceRecord, ItemDifference, ToolRecord
from turnwise.run.cut_agents import cut_agents
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.resume.finished_run import no_blocks, read_run, write_parts
from turnwise.run.scoring.by_tool import tools_of
from turnwise.run.scoring.collect import collect, listing
from turnwise.run.scoring.judge_pairs import is_judge_pair, judge_costs, judge_pairs, judge_prompts
from turnwise.run.scoring.pair_keys import PairKey, better_pair_key
from turnwise.run.scoring.preferences import preference_names, preferences
from turnwise.run.scoring.rated import names_of, rating_names
from turnwise.run.scoring.score import unrated_note
from turnwise.run.scoring.seen_items import in_training, marked
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import finish
from turnwise.types import Item

if TYPE_CHECKING:
    from turnwise.commands.compare import Compare


def compare(spec: "Compare") -> CompareDocument:
    """Compare two agents of the same files: one record for each metric and group, with adjusted p-values.

    Without metrics the ratings and preferences of the data are compared. Preferences compare every two agents unless
    two are chosen. Raises `UsageError` if it is not clear which two agents are meant, or if nothing can be compared.
    """
    census = scan_agents(spec.paths, apart=spec.selection.apart)
    for name in spec.lower_dimensions:
        if name not in census.dimensions:
            known = f"; {nearest(name, tuple(census.dimensions))}" if census.dimensions else ""
            raise UsageError(f"{setting('--lower-is-better')}: no rating has the dimension `{name}`{known}")
    spec = spec if spec.metrics else spec.changed(metrics=_default_metrics(spec, census))
    others = [name for name in spec.metrics if not is_preference(name)]
    scored = spec.changed(metrics=tuple(name for name in others if not is_judge_pair(name)))
    chosen = [name for name in others if is_judge_pair(name)]
    if chosen and spec.independent:
        raise UsageError(
            f"{setting('--pair', 'none')}: {chosen[0]} compares two replies to one context, which are pairs"
        )
    if spec.dry_run or spec.show_prompt is not None:
        if not chosen:
            raise UsageError(
                f"{setting('--dry-run')} and {setting('--show-prompt')} of `compare` are for judge-pair; for a "
                "judge of replies use `score`"
            )
        unwritten, agents = spec.changed(output=None, files=None), _two_agents(spec, census)
        if spec.show_prompt is not None:
            asked = judge_prompts(chosen, spec, census, agents)
            return finish(CompareDocument, unwritten, (), census.sha256, prompts=asked)
        costs = judge_costs(chosen, spec, census, agents)
        return finish(CompareDocument, unwritten, (), census.sha256, forecast=costs)
    preferred = [name for name in spec.metrics if is_preference(name)]
    if preferred and spec.independent:
        raise UsageError(
            f"{setting('--pair', 'none')}: {preferred[0]} is a choice between two replies, which are pairs"
        )
    wins, fits = preferences(preferred, spec, census, _asked_agents(spec, census)) if preferred else ([], [])
    if chosen:
        wins = [*judge_pairs(chosen, spec, census, _two_agents(spec, census)), *wins]
    unrated: Counter[str] = Counter()
    records = [*(_by_metrics(scored, census, unrated) if scored.metrics else []), *wins]
    people: tuple[DifferenceRecord, ...] = ()
    if scored.metrics and not any(is_rating(name) for name in scored.metrics):
        people = _by_people(scored, census)
    return finish(
        CompareDocument,
        spec,
        with_adjusted_p(records),
        census.sha256,
        people=people,
        preferences=tuple(fits),
        notes=(*unrated_note(scored, unrated), *cut_agents(spec, census, _asked_agents(spec, census))),
        tools=_tools(scored, census),
        **census.unseen.section(),
        **census.automatic_section(),
    )


def _tools(spec: "Compare", census: Census) -> tuple[ToolRecord, ...]:
    """What the calls of the two agents were like, tool by tool, if one of the metrics is of tool calls."""
    found = tools_of(spec.metrics, spec.paths, spec.selection, census)
    return tuple(record for record in found if record.agent in _two_agents(spec, census)) if found else ()


def _by_metrics(spec: "Compare", census: Census, unrated: Counter[str]) -> list[DifferenceRecord]:
    """The difference between the two agents by each metric of the spec, which are scores of items.

    In `unrated` dialogues are counted that are left out because none of their replies is rated.
    """
    first, second = _two_agents(spec, census)
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    parts = no_blocks(metrics)
    with (
        BlockStore(spec.folder, reuse=spec.reuse) as store,
        spec.executor() as workers,
        listing(metrics, spec.files) as lines,
    ):
        tables, items = collect(
            spec,
            census,
            metrics,
            store,
            spec.selection,
            watch=watch,
            workers=workers,
            lines=lines,
            parts=parts,
        )
    unrated.update(watch.unrated)
    if spec.folder is not None:
        write_parts(spec.folder, parts)
    records = [one.record(DifferenceRecord) for one in (*absent, *watch.unavailable())]
    known = in_training(metrics, list(items.values()))

    @cache
    def better_key(group: str, scored: tuple[str, ...]) -> PairKey | None:
        """The key that pairs more of the scored items of a group; computed once for metrics that scored the same."""
        own = partial(_own_id, spec, census)
        return better_pair_key(items.values(), (first, second), group, own, scored=frozenset(scored))

    for table in tables.values():
        for group in dict.fromkeys(item.group for item in items.values()):
            mine = table.of_group(group)
            sides = mine.of_agent(first), mine.of_agent(second)
            rng = generator(spec.seed, table.name, group, first, second)
            record = compare_tables(
                *sides,
                agents=(first, second),
                group=group or None,
                draws=spec.draws,
                rng=rng,
                independent=spec.independent,
            )
            record = replace(record, flips=tuple(_with_texts(flip, items) for flip in record.flips))
            better = better_key(group, table.ids) if has_unpaired(record) else None
            records.append(marked(_with_pair_key(record, spec.selection.pair, better), known))
    return records


def _by_people(spec: "Compare", census: Census) -> tuple[DifferenceRecord, ...]:
    """The difference between the two agents by people's ratings, for the conclusions beside the metrics' differences.

    The dimension is `overall`, else the first whose name says that it is about the whole, such as `reward`, else the
    first. Empty without ratings, if they have several scales or directions, or if an agent held no dialogue of its own.
    """
    first, second = _two_agents(spec, census)
    known = census.dimensions
    if not known or not {first, second} <= set(census.agents):
        return ()
    dimension = min(known, key=lambda name: (name != "overall", name not in GOOD))
    if len(known[dimension].scales) > 1 or len(known[dimension].directions) > 1:
        return ()
    name = names_of(census, dimension)[0]
    own = spec.changed(
        metrics=(name,), agents=(first, second), as_agents=(), items=None, limit=None, output=None, files=None
    )
    return with_adjusted_p(_by_metrics(own, census, Counter()))


def _own_id(spec: "Compare", census: Census, dialogue: str) -> str:
    """The id that a dialogue has in its own file, from the id that it has among all files."""
    prefixes = (
        prefix for prefix in id_prefixes(spec.paths).values() if prefix and dialogue.startswith(prefix)
    )
    return own_id(dialogue, next(prefixes, ""), apart=census.apart)


def _with_pair_key(record: DifferenceRecord, key: str | None, better: PairKey | None) -> DifferenceRecord:
    """The record with the key of --pair, if items have no pair or share one; and with a key that pairs more items and
    its number of pairs, if there is one.
    """
    if has_unpaired(record) or record.merged_a is not None:
        record = replace(record, pair_key=key)
    if better is None:
        return record
    return replace(record, better_pair_key=better.key, better_pair_key_pairs=better.pairs)


def _default_metrics(spec: "Compare", census: Census) -> tuple[str, ...]:
    """The ratings and preferences of the data; `UsageError` if it has none.

    Ratings are left out where there are preferences, and more than two agents of which none was chosen: preferences
    compare all of them.
    """
    chosen = preference_names(census)
    if not chosen or spec.agents or len(census.agents) == 2:
        chosen = (*rating_names(census), *chosen)
    if chosen:
        return chosen
    raise UsageError(
        f"the data has no ratings and no preferences to compare; name the metrics with {setting('-m')}: "
        "`turnwise ls metrics` lists them"
    )


def _asked_agents(spec: "Compare", census: Census) -> Sequence[str]:
    """The agents that the spec names; () stands for all of the data."""
    return _two_agents(spec, census) if spec.agents else ()


def _two_agents(spec: "Compare", census: Census) -> tuple[str, str]:
    """The names of the agents to compare: those of the spec, or the only two of the data.

    Raises `UsageError` if these are not two, or not in the data.
    """
    asked: Sequence[str] = spec.agents
    known = list(census.alternatives if spec.selection.as_agents else census.agents)
    if not asked and len(known) == 2:
        asked = known
    if len(asked) != 2 and len(known) == 1:
        apart = spec.selection.apart and len(spec.paths) > 1
        more = f"; leave {setting('--by', 'file')} out to compare the files with each other" if apart else ""
        raise UsageError(
            f"the data has only {known[0]}; two agents are compared, in one file or a file each{more}"
        )
    if len(asked) != 2:
        raise UsageError(
            f"{setting('--agents', 'A,B')} names the two to compare; the data has {', '.join(known)}"
        )
    for name in asked:
        if name not in known:
            raise UsageError(f"the data has no agent `{name}`; it has {', '.join(known)}")
    return asked[0], asked[1]


def _with_texts(flip: ItemDifference, items: Mapping[str, Item]) -> ItemDifference:
    """The pair of items with the last turn of the context and both replies; `items` are by id."""
    a, b = items[flip.id_a], items[flip.id_b]
    return replace(flip, context=a.context[-1].text if a.context else "", reply_a=a.reply, reply_b=b.reply)


def compare_runs(spec: "Compare") -> CompareDocument:
    """Compare two folders that `score -o` wrote, on the metrics of the spec or all that both have. The first is A.

    Raises `Refused` if a metric has different signatures in the two, unless the spec has `force`, and `UsageError` for
    metrics or agents that a run does not have.
    """
    first, second = (read_run(Path(path)) for path in spec.paths)
    wanted = spec.metrics or tuple(name for name in first.parts if name in second.parts)
    if not wanted:
        raise UsageError(f"{first.folder} and {second.folder} have no metric in common")
    asked: Sequence[str] = spec.agents
    records = []
    pair_key = _pair_key(first.folder)
    for name in wanted:
        for run in (first, second):
            if name not in run.parts:
                raise UsageError(f"{run.folder} has no rows of `{name}`; it has {', '.join(run.parts)}")
        signatures = first.parts[name].signature, second.parts[name].signature
        if signatures[0] != signatures[1] and not spec.force:
            raise Refused(
                f"{name} was not measured alike in the two runs:\n  {signatures[0]}\n  {signatures[1]}\n"
                f"score both with the same settings, or compare anyway with {setting('--force')}"
            )
        a, agent_a = _one_agent(first.table(name), asked[:1], spec.paths[0])
        b, agent_b = _one_agent(second.table(name), asked[-1:], spec.paths[1])
        for group in dict.fromkeys(a.groups + b.groups) or ("",):
            rng = generator(spec.seed, name, group, agent_a, agent_b)
            sides, names = (a.of_group(group), b.of_group(group)), (agent_a, agent_b)
            record = compare_tables(
                *sides,
                agents=names,
                group=group or None,
                draws=spec.draws,
                rng=rng,
                independent=spec.independent,
            )
            records.append(_with_pair_key(record, pair_key, None))
    inputs = {path: sha256((Path(path) / "results.json").read_bytes()).hexdigest() for path in spec.paths}
    return finish(CompareDocument, spec, with_adjusted_p(records), inputs)


def _pair_key(folder: Path) -> str | None:
    """The key of --pair of a finished run; None if items are paired by context."""
    document = msgspec.json.decode((folder / "results.json").read_bytes(), type=dict[str, Any])
    selection = document.get("origin", {}).get("settings", {}).get("selection", {})
    return selection.get("pair") if isinstance(selection, dict) else None


def _one_agent(table: ScoreTable, asked: Sequence[str], folder: str) -> tuple[ScoreTable, str]:
    """The rows and the name of the chosen agent, or of the only agent of the run; `nobody` if the table is empty.

    Raises `UsageError` if there are several and none is chosen, or if the run lacks the chosen one.
    """
    known = tuple(dict.fromkeys(table.agents))
    if not asked and len(known) > 1:
        raise UsageError(
            f"{folder} has several agents ({', '.join(known)}); choose with {setting('--agents', 'A,B')}"
        )
    agent = asked[0] if asked else (known[0] if known else "nobody")
    if known and agent not in known:
        raise UsageError(f"{folder} has no agent `{agent}`; it has {', '.join(known)}")
    return table.of_agent(agent), agent
