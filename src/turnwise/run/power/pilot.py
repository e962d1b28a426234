"""The designs of a pilot: its rated and scored items and its preferences, and how far these vary."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.errors import DataError, Refused, UsageError, setting
from turnwise.logs.items.items import all_items
from turnwise.logs.scan import Census
from turnwise.meta.preferences import ComparedPair
from turnwise.meta.table import ScoreTable, unit_scores
from turnwise.metrics import RATING, is_preference, is_rating
from turnwise.ratings.matrix import RatedLevel, rating_matrix
from turnwise.records import PlanRecord
from turnwise.run.power.design import Design, wanted_difference
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.collect import collect
from turnwise.run.scoring.pair_keys import PairKey, better_pair_key
from turnwise.run.scoring.preferences import compared_pairs
from turnwise.run.scoring.preferences import parse as parse_preference
from turnwise.run.scoring.raters import check_dimension, rated_levels
from turnwise.run.scoring.seen_items import in_training
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.stats.clusters import codes, connected_components
from turnwise.stats.power import (
    Spread,
    components,
    pooled,
    rater_variance,
    scale_step,
    win_rate_spread,
)
from turnwise.types import Floats, Item

if TYPE_CHECKING:
    from turnwise.commands.power import PlanStudy


@dataclass(frozen=True, slots=True)
class Unit:
    """One item of a pilot with its measurements: its ratings, or one score."""

    item: Item
    values: tuple[float, ...]


def preference_design(spec: "PlanStudy", census: Census, name: str) -> tuple[Design, bool]:
    """The design of preferences with the ties of the pilot, its shares of variance between contexts and between raters,
    and as many raters as it has.

    Also returned: whether some pair has several choices. Without these the choices of one pair cannot be told apart
    from the contexts, and all variance is between contexts. Raises `Refused` without two contexts for some two agents.
    """
    wanted = parse_preference(name, tuple(census.preferences))
    groups, _ = compared_pairs(spec, census, wanted.dimension)
    chosen = [pair for pairs in groups.values() for pair in pairs if pair.agents[0] != pair.agents[1]]
    if spec.agents:
        chosen = [pair for pair in chosen if set(pair.agents) <= set(spec.agents)]
    spreads: list[tuple[Spread, int]] = []
    used, several = [], False
    for two in dict.fromkeys(frozenset(pair.agents) for pair in chosen):
        mine = [pair.ordered(min(two)) for pair in chosen if frozenset(pair.agents) == two]
        clusters, n_clusters = codes([pair.clusters[0] for pair in mine])
        if n_clusters < 2:
            continue
        items, n_items = codes(["\0".join(pair.items) for pair in mine])
        values = np.array([(1 + pair.outcome) / 2 for pair in mine])
        spread = components(values, items, clusters)
        if named := _raters(mine):
            leaning = min(spread.ratings, rater_variance(values, clusters, codes(named)[0]))
            spread = replace(spread, ratings=spread.ratings - leaning, raters=leaning)
        spreads.append((spread, n_clusters))
        used += mine
        several |= n_items < len(mine)
    if not spreads:
        raise Refused(
            "the pilot has no two agents that were compared in two contexts, and one shows no spread",
            "one-context",
        )
    freedom = sum(n - 1 for _, n in spreads)
    spread = pooled([one for one, _ in spreads], [n - 1 for _, n in spreads])
    total = spread.of_cluster()
    if not total > 0:
        raise Refused(
            "all choices between two agents are the same, which shows no spread; give {--win-rate}",
            "equal-choices",
        )
    icc = (spread.clusters + spread.items) / total
    ties = float(np.mean([pair.outcome == 0 for pair in used]))
    rate = 0.5 if spec.have is not None else 0.5 + abs(wanted_difference(spec))
    try:
        win_rate_spread(rate, ties=ties)
    except ValueError as error:
        raise Refused(
            "{--difference} is from a win rate of one half, and {limit}", "large-difference", limit=str(error)
        ) from None
    named = _raters(used)
    design = Design(
        name="preferences", spread=win_rate_spread(0.5, ties=ties, icc=icc, rater_icc=spread.raters / total),
        paired=True, freedom=freedom, n_items=len(used), n_clusters=sum(n for _, n in spreads),
        several_ratings=several, ties=ties, people=spec.people or (len(set(named)) if named else None),
    )  # fmt: skip
    return design, several


def _raters(pairs: Sequence[ComparedPair]) -> list[str] | None:
    """The raters of preferences, if all are named and there are several, as `compare` asks for; else None."""
    names = [pair.rater for pair in pairs if pair.rater is not None]
    return names if len(names) == len(pairs) and len(set(names)) > 1 else None


def pilots(spec: "PlanStudy", census: Census) -> Iterator[tuple[str, list[Unit] | PlanRecord]]:
    """The measured items of each metric of the pilot; a record for a metric that could not be had."""
    people = [name for name in spec.metrics if is_rating(name)]
    for name in people:
        yield name, _rated_units(spec, census, name.removeprefix(RATING))
    others = tuple(name for name in spec.metrics if name not in people and not is_preference(name))
    if others:
        yield from _scored_units(spec.changed(metrics=others), census)


def _rated_units(spec: "PlanStudy", census: Census, dimension: str) -> list[Unit]:
    """The rated items of a dimension, with all their ratings."""
    check_dimension(census, dimension)
    known = rated_levels(census, dimension)
    level: RatedLevel = spec.level or known[0]
    if level not in known:
        raise UsageError(f"no {level} is rated on `{dimension}`; rated at: {', '.join(known)}")
    mine = [
        one
        for one in census.ratings
        if one.dimension == dimension and (one.turn is None) == (level == "dialogue")
    ]
    matrix = rating_matrix(mine, dimension, level=level)
    values = {
        name: tuple(value for value in column.tolist() if not isnan(value))
        for name, column in zip(matrix.items, matrix.values.T, strict=True)
    }
    judged = spec.selection.items or ("rated" if level == "turn" else "all")
    stream = all_items(
        spec.paths, replace(spec.selection, items=judged), census, whole=level == "dialogue", silent=True
    )
    return [Unit(item, values[item.id]) for item in stream if item.id in values]


def _scored_units(spec: "PlanStudy", census: Census) -> Iterator[tuple[str, list[Unit] | PlanRecord]]:
    """The scored items of each metric: whole dialogues for a metric that scores these."""
    tables, items, absent = _score_tables(spec, census)
    for record in absent:
        yield record.metric, record
    for name, table in tables.items():
        yield name, _units_of(table, items)


def _score_tables(
    spec: "PlanStudy", census: Census
) -> tuple[dict[str, ScoreTable], dict[str, Item], list[PlanRecord]]:
    """The table of each metric, the items by id, and a record for each metric without a table."""
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    with BlockStore(spec.folder, reuse=spec.reuse) as store, spec.executor() as workers:
        tables, items = collect(spec, census, metrics, store, spec.selection, watch=watch, workers=workers)
    return tables, items, [metric.record(PlanRecord) for metric in (*absent, *watch.unavailable())]


def _units_of(table: ScoreTable, items: Mapping[str, Item]) -> list[Unit] | PlanRecord:
    """The scored items of a metric; a record for a metric that has no number for a single dialogue."""
    rows = table.named_by("dialogues") if table.metric.level == "dialogue" else table
    unit_codes, n_units = codes(rows.ids)
    scores = unit_scores(table.metric, rows.rows, unit_codes, n_units)
    if table.metric.level == "system":
        reason = "it has no number for a single dialogue, so its spread is unknown"
        return PlanRecord(metric=table.name, estimate=None, status="skipped", reason=reason)
    first = {name: at for at, name in reversed(list(enumerate(rows.ids)))}
    return [
        Unit(items[table.ids[first[unit]]], (value,))
        for unit, value in zip(dict.fromkeys(rows.ids), scores.tolist(), strict=True)
        if not isnan(value)
    ]


@dataclass(frozen=True, slots=True)
class ScoresBeside:
    """The scores of the metric that is to be used beside ratings."""

    scores: Mapping[str, float]  # by item and dialogue
    in_training: str | None  # items that the metric was trained on, such as "3 of 60"


def scores_beside(spec: "PlanStudy", census: Census) -> ScoresBeside | None:
    """The scores of the metric that is to be used beside ratings; None without one."""
    if spec.beside is None:
        return None
    tables, items, absent = _score_tables(spec.changed(metrics=(spec.beside,)), census)
    units = absent[0] if absent else _units_of(tables[spec.beside], items)
    if isinstance(units, PlanRecord):
        raise UsageError(f"{setting('--with', spec.beside)}: {units.reason}")
    grouped: dict[str, list[float]] = {}
    for unit in units:
        for name in dict.fromkeys((unit.item.id, unit.item.dialogue)):
            grouped.setdefault(name, []).extend(unit.values)
    trained = in_training({spec.beside: tables[spec.beside].metric}, [unit.item for unit in units])
    means = {name: float(np.mean(values)) for name, values in grouped.items()}
    return ScoresBeside(means, trained.get(spec.beside))


def usual_turns(units: Sequence[Unit]) -> int:
    """The mean number of items in a cluster of one agent, rounded; 1 without items."""
    return max(1, round(len(units) / max(1, len({(unit.item.agent, unit.item.cluster) for unit in units}))))


def pilot_designs(
    name: str, units: Sequence[Unit], spec: "PlanStudy", beside: ScoresBeside | None
) -> list[Design]:
    """The unpaired design of a metric, and the paired one where agents of the pilot share contexts."""
    agents = list(dict.fromkeys(unit.item.agent for unit in units))
    if not agents:
        raise Refused("no item of the pilot has a number, so its spread is unknown", "no-numbers")
    for agent in spec.agents:
        if agent not in agents:
            raise DataError(f"the pilot has no measured item of agent `{agent}`; it has {', '.join(agents)}")
    chosen = list(spec.agents) or agents
    of_agent = {agent: [unit for unit in units if unit.item.agent == agent] for agent in chosen}
    apart = [mine for mine in of_agent.values() if len({unit.item.cluster for unit in mine}) > 1]
    if not apart:
        raise Refused("no agent of the pilot has two dialogues, and one shows no spread", "one-dialogue-each")
    spreads = [_components(mine) for mine in apart]
    rated = any(len(unit.values) > 1 for mine in apart for unit in mine)
    is_metric = not is_rating(name)
    step = scale_step(np.array([value for mine in apart for unit in mine for value in unit.values]))
    found = [
        Design(
            name="unpaired",
            several_items=any(len(mine) > n for mine, (_, n) in zip(apart, spreads, strict=True)),
            several_ratings=rated or is_metric,
            step=step,
            spread=pooled([spread for spread, _ in spreads], [n - 1 for _, n in spreads]),
            paired=False,
            freedom=sum(n - 1 for _, n in spreads),
            n_items=sum(map(len, apart)),
            n_clusters=sum(n for _, n in spreads),
        )
    ]
    paired = [
        one for a, b in combinations(chosen, 2) if (one := _pairs(of_agent[a], of_agent[b])) is not None
    ]
    if paired:
        clusters = [one.n_clusters - 1 for one in paired]
        found.append(
            Design(
                name="paired",
                spread=pooled([one.spread for one in paired], clusters),
                paired=True,
                several_items=any(one.n_items > one.n_clusters for one in paired),
                several_ratings=rated or is_metric,
                step=step,
                freedom=max(
                    clusters
                ),  # pairs of agents share dialogues, so their variances are not independent
                n_items=sum(one.n_items for one in paired),
                n_clusters=sum(one.n_clusters for one in paired),
            )
        )
    better = _better_pair_of(units, chosen) if spec.selection.pair is None else None
    # The note is on the paired design, and without one on the other.
    found[-1] = replace(found[-1], better_pair=better)
    if spec.paired is not None:
        found = [one for one in found if one.paired == spec.paired]
    if not found:
        words = "no two agents of the pilot share contexts, so pairs show no spread"
        if better is None:
            raise Refused(f"{words} ({{--pair:KEY}})", "no-common-contexts")
        key = better[0]
        raise Refused(
            f"{words}; {{--pair:{{key}}}} makes {{pairs:#pair}}", "better-key", key=key.key, pairs=key.pairs
        )
    if beside is None:
        return found
    agreement = _agreement([unit for mine in apart for unit in mine], beside.scores)
    usual = usual_turns(units), max(1, round(float(np.mean([len(unit.values) for unit in units]))))
    with_scores = [
        replace(one, agreement=agreement, pilot=usual, in_training=beside.in_training) for one in found
    ]
    return [*found, *with_scores]


def _better_pair_of(units: Sequence[Unit], agents: Sequence[str]) -> tuple[PairKey, int] | None:
    """The key of `meta` that pairs more items of two agents than their contexts do, and the pairs by context.

    Of the first two agents for which there is such a key; None if there is none.
    """
    items = [unit.item for unit in units]
    for two in combinations(agents, 2):
        if key := better_pair_key(items, two, ""):
            a, b = ({item.pair for item in items if item.agent == agent} for agent in two)
            return key, len(a & b)
    return None


def _components(units: Sequence[Unit]) -> tuple[Spread, int]:
    """The variance components of one agent's items, and the number of its clusters."""
    values, item_codes, cluster_codes = _columns(units)
    return components(values, item_codes, cluster_codes), len(np.unique(cluster_codes))


def _columns(units: Sequence[Unit]) -> tuple[Floats, Any, Any]:
    """Values with the codes of their items and clusters."""
    clusters, _ = codes([unit.item.cluster for unit in units])
    counts = [len(unit.values) for unit in units]
    values = np.array([value for unit in units for value in unit.values])
    return values, np.repeat(np.arange(len(units)), counts), np.repeat(clusters, counts)


def _pairs(a: Sequence[Unit], b: Sequence[Unit]) -> Design | None:
    """The spread of the differences of two agents in the contexts that both have; None with fewer than 2 clusters."""
    other = {unit.item.pair: unit for unit in b}
    both = [(unit, other[unit.item.pair]) for unit in {one.item.pair: one for one in a}.values()
            if unit.item.pair in other]  # fmt: skip
    clusters, n_clusters = connected_components([(x.item.cluster, y.item.cluster) for x, y in both])
    if n_clusters < 2:
        return None
    differences = np.array([np.mean(x.values) - np.mean(y.values) for x, y in both])
    spread = components(differences, np.arange(len(both)), clusters)
    noise_a, noise_b = (_components(side)[0].ratings for side in (a, b))
    part = float(np.mean([noise_a / len(x.values) + noise_b / len(y.values) for x, y in both]))
    if spread.items:
        spread = replace(spread, items=max(0.0, spread.items - part), ratings=noise_a + noise_b)
    else:
        spread = replace(spread, clusters=max(0.0, spread.clusters - part), ratings=noise_a + noise_b)
    return Design(name="paired", spread=spread, paired=True, n_items=len(both), n_clusters=n_clusters)


def _agreement(units: Sequence[Unit], scores: Mapping[str, float]) -> float:
    """The correlation of scores and ratings over the means of each agent's clusters, within agents."""
    known = [unit for unit in units if unit.item.id in scores]
    cells, n_cells = codes([f"{unit.item.agent}\0{unit.item.cluster}" for unit in known])
    if n_cells < 4:
        raise Refused(
            "fewer than four rated dialogues of the pilot have a score of {--with}", "few-scored-dialogues"
        )
    counts = np.bincount(cells)
    x = np.bincount(cells, weights=[scores[unit.item.id] for unit in known]) / counts
    y = np.bincount(cells, weights=[float(np.mean(unit.values)) for unit in known]) / counts
    agent_of, n_agents = codes([known[at].item.agent for at in np.unique(cells, return_index=True)[1]])
    centred = [v - (np.bincount(agent_of, weights=v) / np.bincount(agent_of, minlength=n_agents))[agent_of]
               for v in (x, y)]  # fmt: skip
    size = float(np.sqrt(np.sum(centred[0] ** 2) * np.sum(centred[1] ** 2)))
    return float(np.sum(centred[0] * centred[1])) / size if size > 0 else 0.0
