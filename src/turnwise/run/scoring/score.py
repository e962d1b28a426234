"""`turnwise score`: one number for each metric, agent and group, with its interval."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from turnwise.conformance.calls import called
from turnwise.errors import UsageError, counted, setting
from turnwise.logs.dialogue import UNNAMED
from turnwise.logs.items.items import all_items
from turnwise.logs.scan import Census, scan
from turnwise.metrics import is_rating
from turnwise.protocols import Priced, ReadsPlaceholders, Summarises
from turnwise.records import ScoreDocument
from turnwise.run.cut_agents import cut_agents
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.resume.finished_run import no_blocks, write_parts
from turnwise.run.scoring.collect import listing
from turnwise.run.scoring.costs import costs_record, forecast, prompts
from turnwise.run.scoring.judge_cards import reminders
from turnwise.run.scoring.seen_items import SeenItems, marked
from turnwise.run.scoring.shards import SHARD, Watch, prepare, shards
from turnwise.run.scoring.tally import Tally, generator
from turnwise.run.spec import finish
from turnwise.run.workers.execute import progress
from turnwise.types import Finding, Item, Metric

if TYPE_CHECKING:
    from turnwise.commands.score import Score

SHOWN = 5  # files or agents that a note names


def score(spec: "Score") -> ScoreDocument:
    """Run `turnwise score`: a finding for each metric, agent and group.

    After these comes one finding for each metric that was stopped or is not available.
    """
    census = scan(spec.paths, apart=spec.selection.apart)
    metrics, absent = prepare(spec, census)
    if spec.dry_run or spec.show_prompt is not None:
        return _dry_run(spec, census, metrics)
    watch = Watch(spec.max_errors)
    tallies: dict[tuple[str, str, str], Tally] = {}
    seen: dict[tuple[str, str], None] = {}  # (group, agent), in order of appearance
    cut: Counter[str] = Counter()  # metric -> truncated texts of all agents, equal texts counted once
    unresolved: dict[str, Counter[str]] = {}  # metric -> unknown placeholders of all agents
    said: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}  # explanations of (metric, group, agent)
    explained: Counter[tuple[str, str, str]] = Counter()  # number of items with an explanation
    parts = no_blocks(metrics)
    trained = SeenItems(metrics, lengths=False)
    with (
        BlockStore(spec.folder, reuse=spec.reuse) as store,
        spec.executor() as workers,
        listing(metrics, spec.folder) as lines,
        progress("scoring", census.n_dialogues, quiet=spec.quiet) as advance,
    ):
        for shard in shards(spec, census, metrics, store, spec.selection, watch, workers):
            by_agent = _by_group_and_agent(shard.items)
            seen.update(dict.fromkeys(by_agent))
            trained.add(shard.items)
            for name, block in shard.blocks.items():
                if lines is not None:  # without -o no run is resumed or compared
                    parts[name].blocks.append(shard.keys[name])
                cut[name] += block.cut
                unresolved.setdefault(name, Counter()).update(_unresolved(metrics[name], shard.items))
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
    findings = tuple(
        tallies[name, group, agent].finding(
            {"metric": name, "agent": agent, "group": group or None, "level": "system"},
            draws=spec.draws,
            rng=generator(spec.seed, name, group, agent),
        )
        for name in metrics
        if name not in watch.stopped
        for group, agent in seen
    )
    findings = tuple(
        replace(finding, details={**finding.details, **details})
        if (details := _input_details(cut[name], unresolved.get(name, Counter())))
        else finding
        for finding in findings
        for name in (str(finding.what["metric"]),)
    )
    findings = tuple(
        replace(finding, details={**finding.details, **_summary(metrics, said, explained, finding)})
        for finding in findings
    )
    findings = tuple(marked(finding, trained.in_training) for finding in findings)
    found = (*findings, *(one.finding() for one in (*watch.unavailable(), *absent)))
    notes = [
        *_unnamed(spec, census),
        *_unrated(spec, watch.unrated),
        *watch.silence(),
        *cut_agents(spec, census),
        *reminders(metrics),
    ]
    sections: dict[str, Any] = {"notes": notes} if notes else {}
    if any(map(is_rating, spec.metrics)):
        sections |= census.automatic_section()
    return finish(ScoreDocument, spec, found, census.sha256, **census.unseen.section(), **sections)


def _summary(
    metrics: Mapping[str, Metric],
    said: Mapping[tuple[str, str, str], Sequence[Mapping[str, Any]]],
    explained: Mapping[tuple[str, str, str], int],
    finding: Finding,
) -> dict[str, Any]:
    """How many items of the finding's agent and group have an explanation, and what the metric says about all of them;
    empty if there is none.
    """
    metric = metrics[str(finding.what["metric"])]
    key = (str(finding.what["metric"]), finding.what["group"] or "", str(finding.what["agent"]))
    count = {"explained": explained[key]} if explained[key] else {}
    if not isinstance(metric, Summarises) or not said.get(key):
        return count
    return {**count, **called(metric, "summary", said[key])}


def _dry_run(spec: "Score", census: Census, metrics: Mapping[str, Metric]) -> ScoreDocument:
    """What judges would be sent and what it would cost; nothing is sent, scored or written."""
    sections: dict[str, Any] = {}
    if spec.show_prompt is not None:
        sections["prompts"] = prompts(spec, census, metrics)
    else:
        costs: dict[str, Any] = {}
        with BlockStore(spec.folder, reuse=spec.reuse) as store:
            for whole in (False, True):
                mine = {name: one for name, one in metrics.items() if ("dialogue" in one.needs) is whole}
                if any(isinstance(one, Priced) for one in mine.values()):
                    stream = all_items(spec.paths, spec.selection, census, whole=whole)
                    costs |= forecast(mine, store, stream, shard=SHARD)
        if not costs:
            raise UsageError(f"no metric costs anything; {setting('--dry-run')} is for judges")
        sections["forecast"] = costs_record(costs)
    return finish(ScoreDocument, spec.changed(output=None), (), census.sha256, **sections)


def _unnamed(spec: "Score", census: Census) -> Iterator[str]:
    """A note that several files name no agent, so that their replies have one number; none with `--by file`."""
    paths = [source.path for source in census.files if source.n_unnamed]
    if len(paths) < 2 or spec.selection.apart or spec.selection.as_agents:
        return
    shown = ", ".join(
        [*(spec.names.get(path, path) for path in paths[:SHOWN]), *(["..."] if paths[SHOWN:] else [])]
    )
    yield (
        f"{counted(len(paths), 'file')} name no agent, so their replies are scored together as `{UNNAMED}`: {shown}; "
        "--by file scores each file by itself, and --agent NAME names the agent"
    )


def _unrated(spec: "Score", unrated: Mapping[str, int]) -> Iterator[str]:
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


def _input_details(cut: int, unresolved: Counter[str]) -> dict[str, Any]:
    """The counts of truncated texts and unknown placeholders, where there are some."""
    return ({"cut": cut} if cut else {}) | (
        {"unresolved": dict(unresolved.most_common())} if unresolved else {}
    )


def _by_group_and_agent(items: Sequence[Item]) -> dict[tuple[str, str], list[int]]:
    """The positions of the items of each (group, agent)."""
    by_agent: dict[tuple[str, str], list[int]] = {}
    for position, item in enumerate(items):
        by_agent.setdefault((item.group, item.agent), []).append(position)
    return by_agent
