"""`turnwise power`: how many dialogues, turns and raters show a difference, from a pilot or from given spreads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, sqrt
from typing import Any

import numpy as np

from turnwise.errors import DataError, Refused, UsageError, counted
from turnwise.logs.items.items import all_items
from turnwise.logs.scan import Census, scan
from turnwise.meta.preferences import ComparedPair
from turnwise.meta.table import unit_scores
from turnwise.metrics import PREFERENCE, RATING, is_preference, is_rating
from turnwise.ratings.matrix import RatedLevel, rating_matrix
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.collect import collect
from turnwise.run.scoring.pair_keys import PairKey, better_pair_key
from turnwise.run.scoring.preferences import compared_pairs
from turnwise.run.scoring.preferences import parse as parse_preference
from turnwise.run.scoring.raters import check_dimension, one_dimension, rated_levels
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.spec import Outcome, PowerSpec, finish
from turnwise.stats.clusters import codes, connected_components
from turnwise.stats.power import (
    MOST_CLUSTERS,
    Scored,
    Spread,
    TTest,
    WinRateTest,
    components,
    pooled,
    rater_variance,
    scale_step,
    variance_range,
    win_rate_spread,
)
from turnwise.types import Finding, Floats, Item

RATERS = (1, 2, 3, 5)
MOST_EXPLAINED = 0.999  # share of the variance that scores explain
CURVE = 40  # points of a power curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How two agents are compared, and the spread of what is compared."""

    name: str  # paired, unpaired or preferences
    spread: Spread
    paired: bool
    agreement: float | None = None  # of a metric's scores with the ratings, over the clusters of the pilot
    pilot: tuple[int, int] = (1, 1)  # items in a cluster and ratings of an item behind this agreement
    freedom: int | None = None  # of the pilot behind the spread; None for a given spread
    n_items: int = 0
    n_clusters: int = 0
    several_items: bool = True  # whether some cluster has several items, so that their spread is known
    several_ratings: bool = True  # whether some item has several ratings; True for a metric
    better_pair: tuple[PairKey, int] | None = (
        None  # the key that would pair more items of the pilot, and pairs now
    )
    step: float = 0.0  # of the scale of one measurement; 0 if it has none
    ties: float = 0.0  # share of preferences that are ties
    people: int | None = None  # different raters of preferences; None: each preference has another one

    @property
    def agents(self) -> int:
        """How many agents' dialogues are counted: a preference is about both at once."""
        return 1 if self.name == "preferences" else 2


@dataclass(frozen=True, slots=True)
class _Unit:
    """One item of a pilot with its measurements: its ratings, or one score."""

    item: Item
    values: tuple[float, ...]


def run(spec: PowerSpec) -> Outcome:
    """Run `turnwise power`."""
    found: list[Finding] = []
    curves: list[dict[str, Any]] = []
    sha256: Mapping[str, str] = {}
    if spec.data:
        census = scan(spec.data, apart=spec.selection.apart)
        census.hold()
        sha256 = census.sha256
        spec = spec if spec.metrics else replace(spec, metrics=(_default_metric(census),))
        if spec.people is not None and not any(map(is_preference, spec.metrics)):
            raise UsageError(f"--people is about preferences: name them with -m {PREFERENCE}DIMENSION")
        for name in filter(is_preference, spec.metrics):
            try:
                design, several = _preference_design(spec, census, name)
            except Refused as error:
                found.append(Finding.refusal({"metric": name}, error))
                continue
            _add(spec, name, [design], (1,), spec.raters or (RATERS if several else (1,)), found, curves)
        for name, result in _pilots(spec, census):
            if isinstance(result, Finding):
                found.append(result)
                continue
            turns = spec.turns or tuple(dict.fromkeys((1, _usual_turns(result))))
            raters = spec.raters or (RATERS if any(len(unit.values) > 1 for unit in result) else (1,))
            try:
                beside = _scores(spec, census) if is_rating(name) else None
                designs = _pilot_designs(name, result, spec, beside)
            except Refused as error:
                found.append(Finding.refusal({"metric": name}, error))
                continue
            _add(spec, name, designs, turns, raters, found, curves)
    else:
        name = "win rate" if spec.win_rate is not None else "given spread"
        raters = spec.raters or (RATERS if spec.rater_sd or spec.win_rate is not None else (1,))
        _add(spec, name, list(_given_designs(spec)), spec.turns or (1,), raters, found, curves)
    return finish(spec, tuple(found), sha256, curves=curves)


def _default_metric(census: Census) -> str:
    """The rating of the pilot's only dimension or of `overall`; without ratings, the preference."""
    known = list(census.preferences)
    if census.dimensions or not known:
        return f"{RATING}{one_dimension(census, None, option='-m')}"
    if "overall" not in known and len(known) > 1:
        raise UsageError(f"preferences have several dimensions: choose with -m {PREFERENCE}{known[0]}")
    return f"{PREFERENCE}{'overall' if 'overall' in known else known[0]}"


def _add(
    spec: PowerSpec,
    name: str,
    designs: Sequence[Design],
    turns: Sequence[int],
    raters: Sequence[int],
    found: list[Finding],
    curves: list[dict[str, Any]],
) -> None:
    """Add a finding and a curve for each design, number of turns and number of raters."""
    for design in designs:
        for items in turns if design.name != "preferences" else (1,):
            for ratings in raters:
                found.append(_finding(spec, name, design, items=items, ratings=ratings))
                curves.append(_curve(spec, name, design, found[-1], items=items, ratings=ratings))


def _test(spec: PowerSpec, design: Design, *, items: int, ratings: int) -> TTest:
    """The test of a design with this many items in a dialogue and ratings of each.

    Scores explain a share of the true values' variance, which the agreement in the pilot gives, and none of the raters'
    noise. More ratings of an item therefore raise the agreement.
    """
    variance = design.spread.of_cluster(items=items, ratings=ratings)
    if design.name == "preferences" and variance > 0:
        one = design.spread.of_cluster()
        return WinRateTest(
            variance=variance, paired=True, alpha=spec.alpha, single=one / variance,
            raters=design.spread.raters / variance, ties=design.ties, ratings=ratings, people=design.people,
        )  # fmt: skip
    scored = None
    if design.agreement is not None and variance > 0:
        true = replace(design.spread, ratings=0.0)
        pilot = design.spread.of_cluster(items=design.pilot[0], ratings=design.pilot[1])
        of_true = true.of_cluster(items=design.pilot[0])
        share = min(1.0, design.agreement**2 * pilot / of_true) if of_true > 0 else 0.0
        explained = min(MOST_EXPLAINED, share * true.of_cluster(items=items) / variance)
        scored = Scored(agreement=sqrt(explained), clusters=spec.scored)
    step = 0.0 if scored else design.step / (items * ratings)  # `calibrate` makes no permutation test
    return TTest(variance=variance, paired=design.paired, alpha=spec.alpha, scored=scored, step=step)


def _finding(spec: PowerSpec, name: str, design: Design, *, items: int, ratings: int) -> Finding:
    """The number of dialogues needed, or with `--have` the smallest difference that can be shown."""
    test = _test(spec, design, items=items, ratings=ratings)
    around = variance_range(test.variance, design.freedom) if design.freedom else None
    what = {"metric": name, "design": design.name, "scores": _named_scores(spec, design)}
    details: dict[str, Any] = {
        "turns": items,
        "raters": ratings,
        "people": design.people,
        **({"people_of_pilot": True} if design.people and not spec.people else {}),
        "target_power": spec.power,
        "alpha": spec.alpha,
        **_better_pair(design),
    }
    if reason := _unplannable(design, items=items, ratings=ratings):
        return Finding(what=what, estimate=None, status="refused", reason=reason,
                       details={**details, "difference": None, "dialogues": None})  # fmt: skip
    if spec.have is not None:
        estimate = test.smallest_difference(spec.have, power=spec.power)
        ends = [
            test.with_variance(one).smallest_difference(spec.have, power=spec.power) for one in around or ()
        ]
        dialogues: int | None = spec.have
        details |= {"difference": estimate}
    else:
        needed = test.clusters_needed(_difference(spec), power=spec.power)
        ends = [
            test.with_variance(one).clusters_needed(_difference(spec), power=spec.power)
            for one in around or ()
        ]
        estimate, dialogues = None if needed is None else float(needed), needed
        details |= {"difference": _difference(spec)}
    of_people = is_rating(name) or design.name == "preferences" or design.spread.ratings > 0
    details |= {
        "dialogues": dialogues,
        **_amounts(spec, design, dialogues, items, ratings, of_people=of_people),
    }
    if estimate is None:
        reason = (
            "one dialogue of each agent cannot be tested"
            if spec.have is not None
            else f"{counted(design.people, 'rater')} differ too much from each other; more raters are needed (--people)"
            if design.people is not None
            else f"it would take more than {MOST_CLUSTERS:,} dialogues of each agent"
        )
        return Finding(what=what, estimate=None, status="refused", reason=reason, details=details)
    known = [float(one) for one in ends if one is not None]
    if len(set(known)) < 2:  # a single preference has the variance of its win rate, whatever the pilot
        known = []
    sources = {
        "clusters": design.spread.clusters,
        "items": design.spread.items,
        "ratings": design.spread.ratings,
        "raters": design.spread.raters,
    }
    return Finding(
        what=what,
        estimate=estimate,
        interval=(min(known), max(known)) if len(known) == 2 else None,
        n_items=design.n_items,
        n_clusters=design.n_clusters,
        method=(
            "two-sided test by contexts and raters"
            if isinstance(test, WinRateTest)
            else "two-sided t-test on means of dialogues"
        )
        + ("; interval from the uncertainty of the pilot's variance" if known else ""),
        details={**details, "between": _between(known), "variances": sources, "agreement": design.agreement},
    )


def _unplannable(design: Design, *, items: int, ratings: int) -> str | None:
    """Why this design cannot be planned with this many items and ratings; None if it can."""
    if not design.spread.of_cluster() > 0:
        return "it does not vary, so nothing can be planned"
    if items > 1 and not design.several_items:
        which = "pairs of the pilot are" if design.paired else "pilot has"
        return f"the {which} one item of each dialogue, which does not show what more turns would add"
    if ratings > 1 and not design.several_ratings:
        return "the pilot has one rating of each item, which does not show what more raters would add"
    if design.people is not None and ratings > design.people:
        return f"{ratings} preferences of one context need as many raters, and there are {design.people} (--people)"
    return None


def _better_pair(design: Design) -> dict[str, Any]:
    """The key that would pair more items of the pilot, and its number of pairs; empty if there is none."""
    if design.better_pair is None:
        return {}
    better, pairs = design.better_pair
    return {"better_pair_key": better.key, "better_pair_key_pairs": better.pairs, "pairs": pairs}


def _between(ends: Sequence[float]) -> str | None:
    """What the pilot leaves open, in words for the table; None for a given spread."""
    if len(ends) != 2:
        return None
    low, high = sorted(ends)
    return (
        f"{low:.0f} to {high:.0f}" if low.is_integer() and high.is_integer() else f"{low:.3f} to {high:.3f}"
    )


def _named_scores(spec: PowerSpec, design: Design) -> str | None:
    """The metric whose scores are used beside ratings; `given` for a given agreement, None without."""
    return None if design.agreement is None else (spec.beside or "given")


def _difference(spec: PowerSpec) -> float:
    """The difference that is to be shown; of a win rate from one half."""
    if spec.win_rate is not None:
        return spec.win_rate - 0.5
    if spec.difference is None:
        raise UsageError("say which difference is to be shown (--difference D), or what there is (--have N)")
    return spec.difference


def _amounts(
    spec: PowerSpec, design: Design, dialogues: int | None, items: int, ratings: int, *, of_people: bool
) -> dict[str, Any]:
    """The total numbers of ratings and judge calls of both agents, and the cost where prices are given.

    `of_people` says that people give what is compared, and not a metric.
    """
    if dialogues is None:
        return {"ratings": None, "cost": None}
    people = of_people or design.agreement is not None
    n_ratings = dialogues * design.agents * items * ratings if people else 0
    calls = 0
    if design.agreement is not None:
        calls = max(dialogues, spec.scored or dialogues) * design.agents * items
    elif not people:
        calls = dialogues * design.agents * items
    prices = (spec.cost_dialogue, spec.cost_rating, spec.cost_judge)
    cost = (
        None
        if all(price is None for price in prices)
        else dialogues * design.agents * (spec.cost_dialogue or 0)
        + n_ratings * (spec.cost_rating or 0)
        + calls * (spec.cost_judge or 0)
    )
    return {"ratings": n_ratings or None, "judge_calls": calls or None, "cost": cost}


def _curve(
    spec: PowerSpec, name: str, design: Design, finding: Finding, *, items: int, ratings: int
) -> dict[str, Any]:
    """Power against the number of dialogues, up to twice what is needed or what there is."""
    test = _test(spec, design, items=items, ratings=ratings)
    difference, dialogues = finding.details["difference"], finding.details["dialogues"]
    about = {"metric": name, "design": design.name, "scores": _named_scores(spec, design), "turns": items,
             "raters": ratings, "difference": difference}  # fmt: skip
    if difference is None or dialogues is None:
        return {**about, "dialogues": [], "power": []}
    places = np.unique(np.linspace(2, max(4, 2 * dialogues), CURVE).round().astype(int)).tolist()
    return {**about, "dialogues": places, "power": [test.power(difference, n) for n in places]}


def _given_designs(spec: PowerSpec) -> Iterator[Design]:
    """The designs of a given spread or win rate."""
    if spec.win_rate is not None:
        try:
            win_rate_spread(spec.win_rate, ties=spec.ties)
            spread = win_rate_spread(0.5, ties=spec.ties, icc=spec.icc, rater_icc=spec.rater_icc)
        except ValueError as error:
            raise UsageError(f"--win-rate, --ties, --icc, --rater-icc: {error}") from None
        yield Design(name="preferences", spread=spread, paired=True, ties=spec.ties, people=spec.people)
        return
    if spec.sd is None:
        raise UsageError(
            "give a pilot file with -m, or the spread: --sd with --icc and --rater-sd, or --win-rate"
        )
    true, noise = spec.sd**2, (spec.rater_sd or 0.0) ** 2
    alone = Spread(clusters=spec.icc * true, items=(1 - spec.icc) * true, ratings=noise)
    for agreement in dict.fromkeys((None, spec.agreement)):
        if spec.paired is not True:
            yield Design(name="unpaired", spread=alone, paired=False, agreement=agreement)
        if spec.paired is not False and spec.correlation is not None:
            apart = 2 * (1 - spec.correlation)
            both = Spread(clusters=apart * alone.clusters, items=apart * alone.items, ratings=2 * noise)
            yield Design(name="paired", spread=both, paired=True, agreement=agreement)
    if spec.paired and spec.correlation is None:
        raise UsageError("a paired design needs --correlation, that of two agents' scores in one context")


def _preference_design(spec: PowerSpec, census: Census, name: str) -> tuple[Design, bool]:
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
            "the pilot has no two agents that were compared in two contexts, and one shows no spread"
        )
    freedom = sum(n - 1 for _, n in spreads)
    spread = pooled([one for one, _ in spreads], [n - 1 for _, n in spreads])
    total = spread.of_cluster()
    if not total > 0:
        raise Refused("all choices between two agents are the same, which shows no spread; give --win-rate")
    icc = (spread.clusters + spread.items) / total
    ties = float(np.mean([pair.outcome == 0 for pair in used]))
    rate = 0.5 if spec.have is not None else 0.5 + abs(_difference(spec))
    try:
        win_rate_spread(rate, ties=ties)
    except ValueError as error:
        raise Refused(f"--difference is from a win rate of one half, and {error}") from None
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


def _pilots(spec: PowerSpec, census: Census) -> Iterator[tuple[str, list[_Unit] | Finding]]:
    """The measured items of each metric of the pilot; a finding for a metric that could not be had."""
    people = [name for name in spec.metrics if is_rating(name)]
    for name in people:
        yield name, _rated_units(spec, census, name.removeprefix(RATING))
    others = tuple(name for name in spec.metrics if name not in people and not is_preference(name))
    if others:
        yield from _scored_units(replace(spec, metrics=others), census)


def _rated_units(spec: PowerSpec, census: Census, dimension: str) -> list[_Unit]:
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
    judged = spec.selection.judged or ("rated" if level == "turn" else "all")
    stream = all_items(spec.data, replace(spec.selection, judged=judged), census, whole=level == "dialogue")
    return [_Unit(item, values[item.id]) for item in stream if item.id in values]


def _scored_units(spec: PowerSpec, census: Census) -> Iterator[tuple[str, list[_Unit] | Finding]]:
    """The scored items of each metric: whole dialogues for a metric that scores these."""
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    with BlockStore(spec.output, reuse=spec.reuse) as store, spec.executor() as workers:
        tables, items = collect(spec, census, metrics, store, spec.selection, watch=watch, workers=workers)
    for finding in [*absent, *watch.findings()]:
        yield str(finding.what["metric"]), finding
    for name, table in tables.items():
        whole = table.metric.level == "dialogue"
        rows = table.named_by("dialogues") if whole else table
        unit_codes, n_units = codes(rows.ids)
        scores = unit_scores(table.metric, rows.rows, unit_codes, n_units)
        if table.metric.level == "system":
            reason = "it has no number for a single dialogue, so its spread is unknown"
            yield name, Finding(what={"metric": name}, estimate=None, status="skipped", reason=reason)
            continue
        first = {name: at for at, name in reversed(list(enumerate(rows.ids)))}
        units = [
            _Unit(items[table.ids[first[unit]]], (value,))
            for unit, value in zip(dict.fromkeys(rows.ids), scores.tolist(), strict=True)
            if not isnan(value)
        ]
        yield name, units


def _scores(spec: PowerSpec, census: Census) -> dict[str, float] | None:
    """The scores of the metric that is to be used beside ratings, by item and dialogue; None without one."""
    if spec.beside is None:
        return None
    ((_, units),) = _scored_units(replace(spec, metrics=(spec.beside,)), census)
    if isinstance(units, Finding):
        raise UsageError(f"--with {spec.beside}: {units.reason}")
    grouped: dict[str, list[float]] = {}
    for unit in units:
        for name in dict.fromkeys((unit.item.id, unit.item.dialogue)):
            grouped.setdefault(name, []).extend(unit.values)
    return {name: float(np.mean(values)) for name, values in grouped.items()}


def _usual_turns(units: Sequence[_Unit]) -> int:
    """The mean number of items in a cluster of one agent, rounded."""
    return max(1, round(len(units) / len({(unit.item.agent, unit.item.cluster) for unit in units})))


def _pilot_designs(
    name: str, units: Sequence[_Unit], spec: PowerSpec, scores: Mapping[str, float] | None
) -> list[Design]:
    """The unpaired design of a metric, and the paired one where agents of the pilot share contexts."""
    agents = list(dict.fromkeys(unit.item.agent for unit in units))
    for agent in spec.agents:
        if agent not in agents:
            raise DataError(f"the pilot has no measured item of agent `{agent}`; it has {', '.join(agents)}")
    chosen = list(spec.agents) or agents
    of_agent = {agent: [unit for unit in units if unit.item.agent == agent] for agent in chosen}
    apart = [mine for mine in of_agent.values() if len({unit.item.cluster for unit in mine}) > 1]
    if not apart:
        raise Refused("no agent of the pilot has two dialogues, and one shows no spread")
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
        key = better[0] if better else None
        more = f"; --pair {key.key} makes {counted(key.pairs, 'pair')}" if key else " (--pair KEY)"
        raise Refused(f"no two agents of the pilot share contexts, so pairs show no spread{more}")
    if scores is None:
        return found
    agreement = _agreement([unit for mine in apart for unit in mine], scores)
    usual = _usual_turns(units), max(1, round(float(np.mean([len(unit.values) for unit in units]))))
    return [*found, *(replace(one, agreement=agreement, pilot=usual) for one in found)]


def _better_pair_of(units: Sequence[_Unit], agents: Sequence[str]) -> tuple[PairKey, int] | None:
    """The key of `meta` that pairs more items of two agents than their contexts do, and the pairs by context.

    Of the first two agents for which there is such a key; None if there is none.
    """
    items = [unit.item for unit in units]
    for two in combinations(agents, 2):
        if key := better_pair_key(items, two, ""):
            a, b = ({item.pair for item in items if item.agent == agent} for agent in two)
            return key, len(a & b)
    return None


def _components(units: Sequence[_Unit]) -> tuple[Spread, int]:
    """The variance components of one agent's items, and the number of its clusters."""
    values, item_codes, cluster_codes = _columns(units)
    return components(values, item_codes, cluster_codes), len(np.unique(cluster_codes))


def _columns(units: Sequence[_Unit]) -> tuple[Floats, Any, Any]:
    """Values with the codes of their items and clusters."""
    clusters, _ = codes([unit.item.cluster for unit in units])
    counts = [len(unit.values) for unit in units]
    values = np.array([value for unit in units for value in unit.values])
    return values, np.repeat(np.arange(len(units)), counts), np.repeat(clusters, counts)


def _pairs(a: Sequence[_Unit], b: Sequence[_Unit]) -> Design | None:
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


def _agreement(units: Sequence[_Unit], scores: Mapping[str, float]) -> float:
    """The correlation of scores and ratings over the means of each agent's clusters, within agents."""
    known = [unit for unit in units if unit.item.id in scores]
    cells, n_cells = codes([f"{unit.item.agent}\0{unit.item.cluster}" for unit in known])
    if n_cells < 4:
        raise Refused("fewer than four rated dialogues of the pilot have a score of --with")
    counts = np.bincount(cells)
    x = np.bincount(cells, weights=[scores[unit.item.id] for unit in known]) / counts
    y = np.bincount(cells, weights=[float(np.mean(unit.values)) for unit in known]) / counts
    agent_of, n_agents = codes([known[at].item.agent for at in np.unique(cells, return_index=True)[1]])
    centred = [v - (np.bincount(agent_of, weights=v) / np.bincount(agent_of, minlength=n_agents))[agent_of]
               for v in (x, y)]  # fmt: skip
    size = float(np.sqrt(np.sum(centred[0] ** 2) * np.sum(centred[1] ** 2)))
    return float(np.sum(centred[0] * centred[1])) / size if size > 0 else 0.0
