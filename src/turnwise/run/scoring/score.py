"""`turnwise score`: one number for each metric, agent and group, with its interval."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from turnwise.logs.scan import scan
from turnwise.protocols import ReadsPlaceholders
from turnwise.report import results
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.resume.finished_run import MetricBlocks
from turnwise.run.scoring.collect import listing
from turnwise.run.scoring.shards import Watch, prepare, shards
from turnwise.run.scoring.tally import Tally, generator
from turnwise.run.spec import Outcome, ScoreSpec, finish
from turnwise.run.workers.execute import progress
from turnwise.types import Item, Metric


def score(spec: ScoreSpec) -> Outcome:
    """Run `turnwise score`: a finding for each metric, agent and group.

    After these comes one finding for each metric that was stopped or is not available.
    """
    census = scan(spec.data, apart=spec.selection.apart)
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    tallies: dict[tuple[str, str, str], Tally] = {}
    seen: dict[tuple[str, str], None] = {}  # (group, agent), in order of appearance
    cut: Counter[str] = Counter()  # metric -> truncated texts of all agents, equal texts counted once
    unresolved: dict[str, Counter[str]] = {}  # metric -> unknown placeholders of all agents
    parts = {
        name: MetricBlocks(str(metric.signature), "dialogue" in metric.needs, [])
        for name, metric in metrics.items()
    }
    with (
        BlockStore(spec.output, reuse=spec.reuse) as store,
        spec.executor() as workers,
        listing(metrics, spec.output) as lines,
        progress("scoring", census.n_dialogues, quiet=spec.quiet) as advance,
    ):
        for shard in shards(spec, census, metrics, store, spec.selection, watch, workers):
            by_agent = _by_group_and_agent(shard.items)
            seen.update(dict.fromkeys(by_agent))
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
            if lines is not None:
                lines.add(shard)
            advance(len({item.dialogue for item in shard.items}))
    if spec.output is not None:
        results.write(spec.output / "rows.json", parts)
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
    found = (*findings, *watch.findings(), *absent)
    return finish(spec, found, census.sha256, **census.unseen.section())


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
