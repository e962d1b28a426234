"""`turnwise calibrate`: mean ratings of agents from a metric's scores on everything and people's ratings on some."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from turnwise.errors import DataError, UsageError, counted
from turnwise.logs import native
from turnwise.logs.items.items import ItemChoice, Selection
from turnwise.logs.items.keys import lookup
from turnwise.logs.scan import Census, scan
from turnwise.meta.calibrate import Units, calibrate, expected_unit_errors, units_of, unscored_by_agent
from turnwise.meta.correlate import has_level
from turnwise.meta.table import ScoreTable
from turnwise.metrics import RATING
from turnwise.ratings.aggregate import aggregate
from turnwise.ratings.matrix import RatedLevel, dialogue_of, rating_matrix
from turnwise.run.scoring.collect import collect_in_store
from turnwise.run.scoring.raters import check_dimension, rated_levels
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import CalibrateSpec, Outcome, finish
from turnwise.stats.drawing import UNIFORM, inclusion_probabilities, systematic_draw
from turnwise.types import Dialogue, Finding, Floats, Rating

WEIGHT = "weight"  # key of `meta` for the weight of a dialogue


def run(spec: CalibrateSpec) -> Outcome:
    """Run `turnwise calibrate`."""
    census = scan(spec.data, apart=spec.selection.apart)
    if spec.plan is not None and not census.dimensions:
        return _first_draw(spec, census)
    dimension = _dimension(census, spec.to)
    level = _level(census, dimension, spec)
    census.hold()
    ratings = [one for one in census.ratings if one.dimension == dimension]
    mine = [one for one in ratings if (one.turn is None) == (level == "dialogue")]
    weights = _weights(spec, census, mine)
    means = aggregate(rating_matrix(mine, dimension, level=level, rescale=spec.rescale)).by_item()
    selection = replace(spec.selection, items=spec.selection.items or _item_choice(census, mine, level, spec))
    metrics, found = prepare(replace(spec, selection=selection), census)
    watch = Watch(spec.max_errors)
    tables, items = collect_in_store(spec, census, metrics, selection, watch)
    found += watch.findings()
    planned: dict[str, Any] = {}
    for table in tables.values():
        if not has_level(table, level):
            found.append(_lacking(table, level))
            continue
        whole = "dialogue" in table.metric.needs
        scored = [item for item in items.values() if (item.turn is None) == whole]
        for group in dict.fromkeys(item.group for item in scored):
            there = [item for item in scored if item.group == group]
            of_group = table.of_group(group)
            units = units_of(of_group, there, means, turns=level == "turn", weights=weights)
            _check(units, dimension)
            if spec.plan is not None and not planned:
                planned["plan"] = _next_draw(spec, census, units)
            what = {"metric": table.name, "rating": dimension, "group": group or None, "level": level}
            found += calibrate(
                units,
                what,
                drawn=spec.drawn,
                fit=spec.fit,
                signature=str(table.metric.signature),
                unscored=unscored_by_agent(of_group),
                rng=generator(spec.seed, table.name, group, dimension),
            )
    return finish(spec, tuple(found), census.sha256, **planned)


def _first_draw(spec: CalibrateSpec, census: Census) -> Outcome:
    """Draw dialogues at random from logs without a rating: nothing is known yet about the error of a metric."""
    census.hold()
    everyone = [one for dialogues in census.held for one in dialogues]
    chance = inclusion_probabilities(np.ones(len(everyone)), _count(spec, len(everyone)))
    record = _write_draw(spec, everyone, chance, chance, rated=set())
    return finish(spec, (), census.sha256, plan=record)


def _next_draw(spec: CalibrateSpec, census: Census, units: Units) -> dict[str, Any]:
    """Draw the dialogues to rate next by the expected error of the metric, and write them and the rest."""
    errors = expected_unit_errors(units, rng=generator(spec.seed, "plan"))
    everyone = [one for dialogues in census.held for one in dialogues]
    size = {one.id: 0.0 for one in everyone}
    n_units = Counter(units.agents)
    dialogue_of_unit = dict(zip(units.names, units.dialogues, strict=True))
    for name, agent, error in zip(units.names, units.agents, errors.tolist(), strict=True):
        size[dialogue_of_unit[name]] += error / n_units[agent]
    rated = {dialogue_of_unit[name] for name, one in zip(units.names, units.labelled, strict=True) if one}
    sizes = np.array([size[one.id] for one in everyone])
    there = np.array([size[one.id] > 0 for one in everyone])
    open_ = np.array([one.id not in rated for one in everyone]) & there
    count = _count(spec, int(open_.sum()))
    # Rated dialogues have the probability that they would have had, so that old and new labels can be weighed together.
    scale = inclusion_probabilities(sizes[open_], count)
    ratio = float(scale.sum() / np.maximum(sizes[open_].sum(), 1e-300))
    uniform = UNIFORM * count / int(open_.sum())
    chance = np.minimum(1.0, uniform + (1 - UNIFORM) * ratio * sizes)
    chance[open_] = scale
    before = _drawn_before(spec, everyone, len(rated) / max(1, int(there.sum())))
    total = before + (1 - before) * chance
    return _write_draw(spec, everyone, np.where(open_, chance, 0.0), total, rated=rated)


def _count(spec: CalibrateSpec, n: int) -> int:
    """The number of dialogues to draw; `UsageError` if there are fewer."""
    if spec.plan is None or spec.plan > n:
        raise UsageError(f"--plan {spec.plan}: only {counted(n, 'dialogue')} can still be rated")
    return spec.plan


def _drawn_before(spec: CalibrateSpec, dialogues: Sequence[Dialogue], share: float) -> Floats:
    """The probability with which each dialogue was drawn until now: the share that is rated, or the inverse weight."""
    if spec.drawn != "weights":
        return np.full(len(dialogues), share)
    return np.array([1 / _weight(one, spec.weights_key) for one in dialogues])


def _write_draw(
    spec: CalibrateSpec, dialogues: Sequence[Dialogue], chance: Floats, total: Floats, *, rated: set[str]
) -> dict[str, Any]:
    """Draw, write plan.jsonl (to be rated) and rest.jsonl, and return what results.json says about it.

    Every dialogue has its weight, the inverse of its probability of having been drawn by now, in `meta.weight`.
    """
    if spec.output is None:
        raise UsageError("--plan writes plan.jsonl and rest.jsonl: name a folder with -o")
    drawn = set(
        np.flatnonzero(chance > 0)[systematic_draw(chance[chance > 0], generator(spec.seed, "draw"))].tolist()
    )
    weighted = [
        replace(one, meta={**one.meta, WEIGHT: round(1 / probability, 6)})
        for one, probability in zip(dialogues, total.tolist(), strict=True)
    ]
    spec.output.mkdir(parents=True, exist_ok=True)
    native.write((one for at, one in enumerate(weighted) if at in drawn), str(spec.output / "plan.jsonl"))
    native.write((one for at, one in enumerate(weighted) if at not in drawn), str(spec.output / "rest.jsonl"))
    weights = [1 / float(total[at]) for at in drawn]
    return {
        "drawn": len(drawn), "rated_before": len(rated), "key": f"meta.{WEIGHT}",
        "smallest_weight": min(weights), "largest_weight": max(weights),
        "agents": dict(Counter(dialogues[at].agent for at in sorted(drawn))),
    }  # fmt: skip


def _dimension(census: Census, to: str | None) -> str:
    """The dimension that `--to` names, with or without `rating:`; by default `overall`, else the only one."""
    name = None if to is None else to.removeprefix(RATING)
    check_dimension(census, name)
    if name == "all":
        raise UsageError(f"--to names one dimension; there are {', '.join(census.dimensions)}")
    known = list(census.dimensions)
    if name is None and "overall" not in known and len(known) > 1:
        raise UsageError(
            f"several dimensions were rated: {', '.join(known)}; choose with --to {RATING}{known[0]}"
        )
    return name or ("overall" if "overall" in known else known[0])


def _level(census: Census, dimension: str, spec: CalibrateSpec) -> RatedLevel:
    """The level that is asked for, or the only one at which the dimension was rated."""
    known = rated_levels(census, dimension)
    if spec.level is not None:
        if spec.level not in known:
            raise UsageError(f"no {spec.level} is rated on `{dimension}`; rated at: {', '.join(known)}")
        return spec.level
    if len(known) > 1:
        raise UsageError(f"`{dimension}` was rated for turns and for whole dialogues; choose with --level")
    return known[0]


def _item_choice(census: Census, ratings: list[Rating], level: RatedLevel, spec: CalibrateSpec) -> ItemChoice:
    """Which replies are items: the last of each dialogue where only last replies are rated, else all."""
    if level == "dialogue":
        return "all"
    last = {
        f"{one.id}#{index}"
        for dialogues in census.held
        for one in dialogues
        if (index := _last_reply(one, spec.selection)) is not None
    }
    return "last" if all(rating.item in last for rating in ratings) else "all"


def _last_reply(dialogue: Dialogue, selection: Selection) -> int | None:
    """The index of the last message of the scored role; None if there is none."""
    indices = [index for index, turn in enumerate(dialogue.turns) if turn.role == selection.role]
    return indices[-1] if indices else None


def _weights(spec: CalibrateSpec, census: Census, ratings: list[Rating]) -> Mapping[str, float]:
    """The weight of each dialogue with a rating, from the key that `--labels weights:KEY` names; empty without."""
    if spec.drawn != "weights":
        return {}
    rated = {dialogue_of(rating) for rating in ratings}
    found: dict[str, float] = {}
    for dialogue in (one for dialogues in census.held for one in dialogues if one.id in rated):
        found[dialogue.id] = _weight(dialogue, spec.weights_key)
    return found


def _weight(dialogue: Dialogue, key: str) -> float:
    """The weight of a dialogue at this key; `DataError` if it is not a number from 1 on."""
    text = lookup(dialogue, key)
    try:
        value = float(text) if text is not None else float("nan")
    except ValueError:
        value = float("nan")
    if not (isfinite(value) and value >= 1):
        raise DataError(
            f"the `{key}` of dialogue {dialogue.id!r} is {text or 'absent'}; expected the inverse of the probability "
            "with which it was drawn to be rated, a number from 1 on"
        )
    return value


def _check(units: Units, dimension: str) -> None:
    """Raise `DataError` if every unit is rated, so that there is nothing to gain from scores, or none is."""
    labelled = int(units.labelled.sum())
    if labelled == len(units.names):
        raise DataError(
            f"every item is rated on `{dimension}`, and scores add nothing to that; add the logs that nobody rated"
        )
    if labelled == 0:
        raise DataError(f"no scored item is rated on `{dimension}`")


def _lacking(table: ScoreTable, level: RatedLevel) -> Finding:
    """The finding for a metric without a number at this level."""
    return Finding(
        what={"metric": table.name},
        estimate=None,
        status="skipped",
        reason=f"it has no number for a single {level}; its finest level is the {table.metric.level}",
        signature=str(table.metric.signature),
    )
