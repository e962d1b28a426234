"""`turnwise score`: one number for each metric, agent and group, with its interval."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from turnwise.conformance.calls import called
from turnwise.errors import UsageError, counted, setting
from turnwise.logs.dialogue import UNNAMED
from turnwise.logs.items.items import all_items
from turnwise.logs.scan import Census, scan
from turnwise.metrics import is_rating
from turnwise.protocols import Priced, ReadsPlaceholders, Summarises
from turnwise.records import ScoreRecord
from turnwise.report.documents import ScoreDocument
from turnwise.run.cut_agents import cut_agents
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.resume.finished_run import no_blocks, write_parts
from turnwise.run.scoring.by_tool import tools_of
from turnwise.run.scoring.collect import listing
from turnwise.run.scoring.costs import forecast, forecasts, prompts
from turnwise.run.scoring.judge_cards import reminders
from turnwise.run.scoring.said import with_said
from turnwise.run.scoring.seen_items import SeenItems, marked
from turnwise.run.scoring.shards import SHARD, Watch, prepare, shards
from turnwise.run.scoring.tally import Tally, generator
from turnwise.run.scoring.trials import Trials
from turnwise.run.spec import finish
from turnwise.run.workers.execute import progress
from turnwise.types import Item, Metric

if TYPE_CHECKING:
    from turnwise.commands.compare import Compare
    from turnwise.commands.score import Score

SHOWN = 5  # files or agents that a note names


def score(spec: "Score") -> ScoreDocument:
    """Run `turnwise score`: a record for each metric, agent and group.

    After these comes one for each metric that was stopped or is not available.
    """
    census = scan(spec.paths, apart=spec.selection.apart)
    metrics, absent = prepare(spec, census)
    if spec.dry_run or spec.show_prompt is not None:
        return _dry_run(spec, census, metrics)
    watch = Watch(spec.max_errors, failures=Counter())
    tallies: dict[tuple[str, str, str], Tally] = {}
    seen: dict[tuple[str, str], None] = {}  # (group, agent), in order of appearance
    cut: Counter[str] = Counter()  # metric -> truncated texts of all agents, equal texts counted once
    # Metric -> unknown placeholders of all agents.
    unresolved: dict[str, Counter[str]] = {name: Counter() for name in metrics}
    said: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}  # explanations of (metric, group, agent)
    explained: Counter[tuple[str, str, str]] = Counter()  # number of items with an explanation
    parts = no_blocks(metrics)
    trained = SeenItems(metrics, lengths=False)
    trials = Trials()
    with (
        BlockStore(spec.folder, reuse=spec.reuse) as store,
        spec.executor() as workers,
        listing(metrics, spec.files) as lines,
        progress("scoring", census.n_dialogues, quiet=spec.quiet) as advance,
    ):
        for shard in shards(spec, census, metrics, store, spec.selection, watch, workers):
            by_agent = _by_group_and_agent(shard.items)
            seen.update(dict.fromkeys(by_agent))
            trained.add(shard.items)
            trials.add(shard.items)
            for name, block in shard.blocks.items():
                if lines is not None:  # without -o no run is resumed or compared
                    parts[name].blocks.append(shard.keys[name])
                cut[name] += block.cut
                unresolved[name].update(_unresolved(metrics[name], shard.items))
                for key, positions in by_agent.items():
                    tally = tallies.setdefault(
                        (name, *key), Tally(metrics[name], seed=spec.seed, draws=spec.draws)
                    )
                    tally.add(shard.items, block, positions)
                    mine = [block.explained[at] for at in positions if at in block.explained]
                    explained[name, *key] += len(mine)
                    if isinstance(metrics[name], Summarises):
                        said.setdefault((name, *key), []).extend(mine)
            if lines is not None:
                lines.add(shard)
            advance(len({item.dialogue for item in shard.items}))
    if spec.folder is not None:
        write_parts(spec.folder, parts)
    records: list[ScoreRecord] = []
    for name, metric in metrics.items():
        for group, agent in seen if name not in watch.stopped else ():
            of_agent = (name, group, agent)
            record = structs.replace(
                tallies[of_agent].record(
                    name,
                    agent=agent,
                    group=group or None,
                    draws=spec.draws,
                    rng=generator(spec.seed, *of_agent),
                ),
                cut=cut[name],
                unresolved=dict(unresolved[name].most_common()),
                explained=explained[of_agent],
            )
            if isinstance(metric, Summarises) and said.get(of_agent):
                record = with_said(record, metric, "summary", called(metric, "summary", said[of_agent]))
            records.append(marked(record, trained.in_training))
    records += [one.record(ScoreRecord) for one in (*watch.unavailable(), *absent)]
    notes = [
        *_unnamed(spec, census),
        *unrated_note(spec, watch.unrated),
        *watch.silence(),
        *watch.broken(),
        *cut_agents(spec, census),
        *(trials.notes() if spec.selection.cluster is None else ()),
        *reminders(metrics),
    ]
    return finish(
        ScoreDocument,
        spec,
        records,
        census.sha256,
        notes=tuple(notes),
        tools=tools_of(metrics, spec.paths, spec.selection, census),
        **census.unused_section(),
        **(census.automatic_section() if any(map(is_rating, spec.metrics)) else {}),
    )


def _dry_run(spec: "Score", census: Census, metrics: Mapping[str, Metric]) -> ScoreDocument:
    """What judges would be sent and what it would cost; nothing is sent, scored or written."""
    unwritten = spec.changed(output=None, files=None)
    if spec.show_prompt is not None:
        asked = prompts(spec, census, metrics)
        return finish(ScoreDocument, unwritten, (), census.sha256, prompts=asked)
    costs: dict[str, Any] = {}
    with BlockStore(spec.folder, reuse=spec.reuse) as store:
        for whole in (False, True):
            mine = {name: one for name, one in metrics.items() if ("dialogue" in one.needs) is whole}
            if any(isinstance(one, Priced) for one in mine.values()):
                stream = all_items(spec.paths, spec.selection, census, whole=whole, failures=Counter())
                costs |= forecast(mine, store, stream, shard=SHARD)
    if not costs:
        raise UsageError(f"no metric costs anything; {setting('--dry-run')} is for judges")
    return finish(ScoreDocument, unwritten, (), census.sha256, forecast=forecasts(costs))


def _unnamed(spec: "Score", census: Census) -> Iterator[str]:
    """A note that several files name no agent, so that their replies have one number; none with `--by file`."""
    paths = [source.path for source in census.files if source.n_unnamed]
    if len(paths) < 2 or spec.selection.apart or spec.selection.as_agents:
        return
    shown = ", ".join([*(path for path in paths[:SHOWN]), *(["..."] if paths[SHOWN:] else [])])
    yield (
        f"{counted(len(paths), 'file')} name no agent, so their replies are scored together as `{UNNAMED}`: {shown}; "
        f"{setting('--by', 'file')} scores each file by itself, and {setting('--agent', 'NAME')} names the agent"
    )


def unrated_note(spec: "Score | Compare", unrated: Mapping[str, int]) -> Iterator[str]:
    """A note on dialogues that were not scored because none of their replies is rated; none with `--items`, and where
    ratings are all that is scored.
    """
    if unrated and spec.selection.items is None and not all(map(is_rating, spec.metrics)):
        agents = [f"{agent} {count}" for agent, count in Counter(unrated).most_common(SHOWN)]
        shown = ", ".join([*agents, *(["..."] if len(unrated) > SHOWN else [])])
        yield (
            f"{counted(sum(unrated.values()), 'dialogue')} without a rated reply not scored, because other replies of "
            f"the file are rated ({shown}); --items all scores every reply"
        )


def _unresolved(metric: Metric, items: Sequence[Item]) -> Iterator[str]:
    """Placeholders in the items that the metric does not know, repeats included.

    None for metrics that read no placeholders.
    """
    return metric.unknown_placeholders(items) if isinstance(metric, ReadsPlaceholders) else iter(())


def _by_group_and_agent(items: Sequence[Item]) -> dict[tuple[str, str], list[int]]:
    """The positions of the items of each (group, agent)."""
    by_agent: dict[tuple[str, str], list[int]] = {}
    for position, item in enumerate(items):
        by_agent.setdefault((item.group, item.agent), []).append(position)
    return by_agent
