"""`turnwise compare`: agents in the same files, or two finished runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from turnwise.errors import Refused, UsageError, nearest, setting
from turnwise.logs.items.selection import recorded_selection
from turnwise.logs.native import id_prefixes, own_id, read_each
from turnwise.logs.scan import Census, scan_agents
from turnwise.meta.compare import compare as compare_tables
from turnwise.meta.compare import has_unpaired, mean_of
from turnwise.meta.leaderboard import leaderboard
from turnwise.meta.table import ScoreTable
from turnwise.meta.verdicts import with_verdicts
from turnwise.metrics import is_preference, is_rating
from turnwise.metrics.rating import GOOD
from turnwise.records import DifferenceRecord, ItemDifference, PreferenceFit, RankedAgent, ToolRecord
from turnwise.report.documents import CompareDocument
from turnwise.run.cut_agents import cut_agents
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.resume.finished_run import no_blocks, origin_of, read_run, write_parts
from turnwise.run.scoring.by_tool import tools_of
from turnwise.run.scoring.collect import collect, listing
from turnwise.run.scoring.judge_pairs import is_judge_pair, judge_costs, judge_pairs, judge_prompts
from turnwise.run.scoring.pair_keys import PairKey, better_pair_key
from turnwise.run.scoring.preferences import preference_names, preferences
from turnwise.run.scoring.rated import names_of, rating_names
from turnwise.run.scoring.score import unrated_note
from turnwise.run.scoring.seen_items import in_training, marked
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.scoring.trials import Trials
from turnwise.run.spec import finish
from turnwise.types import TASK, Item, system_prompt

if TYPE_CHECKING:
    from turnwise.commands.compare import Compare


@dataclass(frozen=True, slots=True)
class Compared:
    """What the metrics of a run say: of every two agents, and of each one by itself."""

    records: tuple[DifferenceRecord, ...] = ()
    means: tuple[RankedAgent, ...] = ()


def compare(spec: "Compare") -> CompareDocument:
    """Compare the agents of the same files: one record for each metric, group and two agents, with verdicts.

    Without metrics the ratings and preferences of the data are compared. Raises `UsageError` if it is not clear which
    agents are meant, or if nothing can be compared.
    """
    census = scan_agents(spec.paths, apart=spec.selection.apart)
    spec = spec if spec.metrics else spec.changed(metrics=_default_metrics(spec, census))
    _check_directions(spec, census)
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
    wins: list[DifferenceRecord] = []
    fits: list[PreferenceFit] = []
    if preferred:
        asked_agents = _asked_agents(spec, census)
        wins, fits = preferences(preferred, spec, census, asked_agents, anytime=spec.anytime)
    if chosen:
        wins = [*judge_pairs(chosen, spec, census, _two_agents(spec, census)), *wins]
    trials = Trials()
    watch = Watch(spec.max_errors, failures=Counter())
    compared = _by_metrics(scored, census, trials, watch) if scored.metrics else Compared()
    people = Compared()
    if scored.metrics and not any(is_rating(name) for name in scored.metrics):
        people = _by_people(scored, census)
    records = with_verdicts([*compared.records, *wins], spec.margins)
    rated = with_verdicts(people.records, spec.margins)
    return finish(
        CompareDocument,
        spec,
        records,
        census.sha256,
        leaderboard=leaderboard((*people.means, *compared.means), (*rated, *records), fits),
        people=rated,
        preferences=tuple(fits),
        notes=(
            *unrated_note(scored, watch.unrated),
            *watch.broken(),
            *cut_agents(spec, census, _asked_agents(spec, census)),
            *_trial_notes(spec, trials),
        ),
        tools=_tools(scored, census),
        **census.unused_section(),
        **census.automatic_section(),
    )


def _check_directions(spec: "Compare", census: Census) -> None:
    """Raise `UsageError` for a dimension or metric that has an end that is good, or a margin, and is not compared."""
    known = (*census.dimensions, *spec.metrics)
    for flag, names in (
        ("--lower-is-better", spec.lower_dimensions),
        ("--higher-is-better", spec.higher_dimensions),
        ("--margin", [name for name in spec.margins if name]),
    ):
        for name in names:
            if name not in known:
                raise UsageError(
                    f"{setting(flag)}: no rating has the dimension `{name}`, and it is no metric that was asked for; "
                    f"{nearest(name, known)}"
                )


def _trial_notes(spec: "Compare", trials: Trials) -> list[str]:
    """Notes on repeated tasks, unless keys were named for what is resampled."""
    return [] if spec.selection.cluster is not None else trials.notes()


def _tools(spec: "Compare", census: Census) -> tuple[ToolRecord, ...]:
    """What the calls of the agents were like, tool by tool, if one of the metrics is of tool calls."""
    found = tools_of(spec.metrics, spec.paths, spec.selection, census)
    return tuple(record for record in found if record.agent in _agents(spec, census)) if found else ()


def _by_metrics(spec: "Compare", census: Census, trials: Trials, watch: Watch) -> Compared:
    """The difference between every two agents by each metric of the spec, which are scores of items. Their trials are
    added to `trials`, and `watch` counts what is left out.
    """
    agents = _agents(spec, census)
    metrics, absent = prepare(spec, census)
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
    if spec.folder is not None:
        write_parts(spec.folder, parts)
    records = [one.record(DifferenceRecord) for one in (*absent, *watch.unavailable())]
    means: list[RankedAgent] = []
    known = in_training(metrics, list(items.values()))
    compared = [item for item in items.values() if item.agent in agents]
    trials.add(compared)
    # Agents that speak at the logged points have the same contexts, item by item.
    named = spec.pair is not None or bool(spec.selection.as_agents)

    @cache
    def better_key(two: tuple[str, str], group: str, scored: tuple[str, ...]) -> PairKey | None:
        """The key that pairs more of the scored items of a group; computed once for metrics that scored the same."""
        own = partial(_own_id, spec, census)
        return better_pair_key(items.values(), two, group, own, scored=frozenset(scored))

    samplings: set[tuple[bool, str | None]] = set()  # whether tasks were the pairs, and what came of it
    for table in tables.values():
        for group in dict.fromkeys(item.group for item in items.values()):
            mine = table.of_group(group)
            sides = {agent: mine.of_agent(agent) for agent in agents}
            how: dict[str, Any] = {
                "group": group or None, "better": spec.direction_of(table.name), "anytime": spec.anytime
            }  # fmt: skip
            if len(agents) > 2:
                fewest = min((len(side) for side in sides.values() if len(side)), default=0)
                means += [mean_of(side, agent, fewest=fewest, **how) for agent, side in sides.items()]
            for two in combinations(agents, 2):
                tables_of_two, by_task = _by_task(sides[two[0]], sides[two[1]], named=named)
                record = compare_tables(*tables_of_two, agents=two, independent=spec.independent, **how)
                kept = record.flips if len(agents) == 2 else ()
                record = replace(record, flips=tuple(_with_texts(flip, items) for flip in kept))
                better = better_key(two, group, table.ids) if has_unpaired(record) and not by_task else None
                key = TASK if by_task else spec.selection.pair
                records.append(marked(_with_pair_key(record, key, better), known))
                samplings.add((by_task, record.sampling))
    trials.paired = samplings - {(True, None)} == {(True, "paired")}
    return Compared(tuple(records), tuple(means))


def _by_task(a: ScoreTable, b: ScoreTable, *, named: bool) -> tuple[tuple[ScoreTable, ScoreTable], bool]:
    """The rows of two agents, paired by task if all of them have one and nothing else is `named` for it; and whether
    they are.
    """
    if named or not (a.has_tasks and b.has_tasks):
        return (a, b), False
    return (a.paired_by_task(), b.paired_by_task()), True


def _by_people(spec: "Compare", census: Census) -> Compared:
    """The differences between the agents by people's ratings, for the conclusions beside the metrics' differences.

    The dimension is the first whose name says that it is about the whole, such as `overall` or `reward`, else the only
    one. Empty without ratings or with several dimensions of which none is about the whole, if they have several scales
    or directions, or if an agent held no dialogue of its own.
    """
    agents = _agents(spec, census)
    known = census.dimensions
    if not known or not set(agents) <= set(census.agents):
        return Compared()
    about_whole = [name for name in known if name.startswith("overall")] or [
        name for name in known if name in GOOD
    ]
    if not about_whole and len(known) > 1:
        return Compared()
    dimension = (about_whole or list(known))[0]
    if len(known[dimension].scales) > 1 or len(known[dimension].directions) > 1:
        return Compared()
    name = names_of(census, dimension)[0]
    own = spec.changed(
        metrics=(name,), agents=agents, as_agents=(), items=None, limit=None, output=None, files=None
    )
    return _by_metrics(own, census, Trials(), Watch(spec.max_errors, failures=Counter()))


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
    """The ratings and preferences of the data; `UsageError` if it has none."""
    chosen = (*rating_names(census), *preference_names(census))
    if chosen:
        return chosen
    raise UsageError(
        f"the data has no ratings and no preferences to compare; name the metrics with {setting('-m')}: "
        "`turnwise ls metrics` lists them"
    )


def _asked_agents(spec: "Compare", census: Census) -> Sequence[str]:
    """The agents that the spec names; () stands for all of the data."""
    return _agents(spec, census) if spec.agents else ()


def _agents(spec: "Compare", census: Census) -> tuple[str, ...]:
    """The names of the agents to compare: those of the spec, or all of the data.

    Raises `UsageError` if these are fewer than two, or not in the data.
    """
    known = tuple(census.alternatives if spec.selection.as_agents else census.agents)
    if spec.selection.as_agents and not spec.agents:
        known = tuple(name for name in known if name in spec.selection.as_agents) or known
    asked = tuple(dict.fromkeys(spec.agents)) or known
    for name in asked:
        if name not in known:
            raise UsageError(f"the data has no agent `{name}`; it has {', '.join(known)}")
    if len(known) == 1:
        apart = spec.selection.apart and len(spec.paths) > 1
        more = f"; leave {setting('--by', 'file')} out to compare the files with each other" if apart else ""
        more += _prompts(spec, census)
        raise UsageError(
            f"the data has only {known[0]}; agents are compared, in one file or a file each{more}"
        )
    if len(asked) < 2:
        raise UsageError(
            f"{setting('--agents', 'A,B')} names those to compare, two or more; the data has {', '.join(known)}"
        )
    return asked


def _prompts(spec: "Compare", census: Census) -> str:
    """That the dialogues have several system prompts, which can be compared, as a clause; empty if they have not."""
    dialogues = chain.from_iterable(census.held or read_each(spec.paths, apart=census.apart))
    prompts = {"\n".join(turn.text for turn in system_prompt(one.turns)) for one in dialogues}
    if len(prompts) < 2:
        return ""
    return f"; {setting('--agent-key', 'system')} compares its {len(prompts)} system prompts"


def _two_agents(spec: "Compare", census: Census) -> tuple[str, str]:
    """The two agents whose replies a judge is shown; raises `UsageError` if there are more."""
    first, second, *more = _agents(spec, census)
    if more:
        raise UsageError(
            f"judge-pair compares two agents; name them with {setting('--agents', 'A,B')}: the data has "
            f"{', '.join((first, second, *more))}"
        )
    return first, second


def _with_texts(flip: ItemDifference, items: Mapping[str, Item]) -> ItemDifference:
    """The pair of items with the last turn of the context, which is that of the agent whose name is first, and both
    replies; `items` are by id.
    """
    a, b = items[flip.id_a], items[flip.id_b]
    context = min(a, b, key=lambda item: item.agent).context
    return replace(flip, context=context[-1].text if context else "", reply_a=a.reply, reply_b=b.reply)


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
    if len(asked) > 2:
        raise UsageError(
            f"{setting('--agents', ','.join(asked))}: of two finished runs one agent each is compared, so two at most "
            "are named; more are compared in one file"
        )
    records = []
    pair_key = _pair_key(first.folder)
    for name in wanted:
        for run in (first, second):
            if name not in run.parts:
                raise UsageError(f"{run.folder} has no rows of `{name}`; it has {', '.join(run.parts)}")
        signatures = first.parts[name].signature, second.parts[name].signature
        if signatures[0] != signatures[1] and not spec.force:
            raise Refused(
                "{metric} was not measured alike in the two runs:\n  {first}\n  {second}\n"
                "score both with the same settings, or compare anyway with {--force}",
                "other-signature",
                metric=name,
                first=signatures[0],
                second=signatures[1],
            )
        a, agent_a = _one_agent(first.table(name), asked[:1], spec.paths[0])
        b, agent_b = _one_agent(second.table(name), asked[-1:], spec.paths[1])
        names = _told_apart((agent_a, agent_b), (first.folder, second.folder))
        for group in dict.fromkeys(a.groups + b.groups) or ("",):
            sides, by_task = _by_task(a.of_group(group), b.of_group(group), named=pair_key is not None)
            record = compare_tables(
                *sides,
                agents=names,
                group=group or None,
                independent=spec.independent,
                better=spec.direction_of(name),
                anytime=spec.anytime,
            )
            records.append(_with_pair_key(record, TASK if by_task else pair_key, None))
    inputs = {path: sha256((Path(path) / "results.json").read_bytes()).hexdigest() for path in spec.paths}
    return finish(CompareDocument, spec, with_verdicts(records, spec.margins), inputs)


def _told_apart(agents: tuple[str, str], folders: tuple[Path, Path]) -> tuple[str, str]:
    """The names of the agents of two runs; two versions of one agent are named with their folders."""
    if agents[0] != agents[1]:
        return agents
    first, second = (folder.resolve().name for folder in folders)
    if first == second:
        first, second = map(str, folders)
    return f"{agents[0]} in {first}", f"{agents[1]} in {second}"


def _pair_key(folder: Path) -> str | None:
    """The key of --pair of a finished run; None if items are paired by context."""
    return recorded_selection(origin_of(folder)).pair


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
