"""`turnwise calibrate`: mean ratings of agents from a metric's scores on everything and people's ratings on some."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnwise.errors import DataError, Refused, UsageError, setting
from turnwise.logs.items.items import ItemChoice, Selection, all_items
from turnwise.logs.scan import Census, scan
from turnwise.meta.calibrate import Units, calibrate, units_of, unscored_by_agent
from turnwise.meta.correlate import has_level
from turnwise.meta.table import ScoreTable
from turnwise.ratings.aggregate import aggregate
from turnwise.ratings.matrix import RatedLevel, dialogue_of, rating_matrix
from turnwise.records import LabelDraw, MeanRecord
from turnwise.report.documents import CalibrateDocument
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.collect import collect, listing
from turnwise.run.scoring.drawing import Draw, first_draw, next_draw, weight_of
from turnwise.run.scoring.raters import one_dimension, rated_levels
from turnwise.run.scoring.seen_items import in_training
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import finish
from turnwise.types import Dialogue, Rating

if TYPE_CHECKING:
    from turnwise.commands.calibrate import Calibrate


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Dialogues that were drawn to be rated next, and what of them is to be rated as before."""

    draw: Draw
    rating: str | None = None  # dimension; None where nothing is rated yet
    level: RatedLevel | None = None
    judged: ItemChoice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labels:
    """The ratings to calibrate to."""

    dimension: str
    level: RatedLevel
    means: Mapping[str, float]  # reply or dialogue -> mean rating
    weights: Mapping[str, float]  # dialogue -> inverse probability of being rated; empty for a random draw
    selection: Selection


@dataclass(frozen=True, slots=True)
class _Measured:
    """The units of one metric and group, and the metric's scores."""

    table: ScoreTable
    group: str
    units: Units


def run(spec: "Calibrate") -> CalibrateDocument:
    """Run `turnwise calibrate`."""
    census = scan(spec.paths, apart=spec.selection.apart)
    if spec.plan is not None and not census.dimensions:
        return finish(
            CalibrateDocument, spec, (), census.sha256, plan=_write(spec, _first_draw(spec, census))
        )
    labels = _labels(spec, census)
    records, measured, notes = _measured(spec, census, labels)
    plan = None
    if spec.plan is not None and measured:
        plan = _write(spec, next_draw(spec, _dialogues(census), measured[0].units))
    for each in measured:
        about = {
            "metric": each.table.name,
            "rating": labels.dimension,
            "group": each.group or None,
            "level": labels.level,
            "signature": str(each.table.metric.signature),
        }
        records += calibrate(
            each.units,
            about,
            drawn=spec.drawn,
            fit=spec.fit,
            unscored=unscored_by_agent(each.table),
            rng=generator(spec.seed, each.table.name, each.group, labels.dimension),
        )
    return finish(
        CalibrateDocument,
        spec,
        records,
        census.sha256,
        notes=tuple(notes),
        plan=plan,
        **census.automatic_section(),
    )


def choose(spec: "Calibrate") -> Choice:
    """Draw the dialogues to rate next, as `--plan` does, without estimating or writing anything.

    Raises `UsageError` where the data has ratings, and the metric or how they were drawn is not said; `Refused` if the
    metric has no scores to draw by.
    """
    census = scan(spec.paths, apart=spec.selection.apart)
    if not census.dimensions:
        return Choice(draw=_first_draw(spec, census))
    if not spec.metrics or spec.drawn == "unknown":
        raise UsageError(
            f"the data has ratings: name the metric by whose error more are drawn ({setting('--metric', 'NAME')}), and "
            f"say how the rated dialogues were drawn ({setting('--labels', 'random')} or weights:KEY)"
        )
    labels = _labels(spec, census)
    records, measured, _ = _measured(spec, census, labels)
    if not measured:
        raise Refused(
            f"{spec.metrics[0]}: {records[0].reason}" if records else f"{spec.metrics[0]} has no scores"
        )
    draw = next_draw(spec, _dialogues(census), measured[0].units)
    return Choice(
        draw=draw,
        rating=labels.dimension,
        level=labels.level,
        judged=labels.selection.items if labels.level == "turn" else None,
    )


def _first_draw(spec: "Calibrate", census: Census) -> Draw:
    """Draw from the selected dialogues of data without a rating."""
    dialogues = _dialogues(census)
    there = {item.dialogue for item in all_items(spec.paths, spec.selection, census)}
    return first_draw(spec, dialogues, there)


def _dialogues(census: Census) -> list[Dialogue]:
    """All dialogues of the data."""
    if not census.held:
        census.hold()
    return [one for dialogues in census.held for one in dialogues]


def _write(spec: "Calibrate", draw: Draw) -> LabelDraw:
    """Write the drawn dialogues and the others to the output folder; returns what results.json says about it."""
    if spec.folder is None:
        raise UsageError(
            f"{setting('--plan')} writes plan.jsonl and rest.jsonl: name a folder with {setting('-o')}"
        )
    draw.write(spec.folder)
    return draw.record()


def _labels(spec: "Calibrate", census: Census) -> _Labels:
    """The ratings of the data that the spec asks for."""
    dimension = one_dimension(census, spec.to, option="--to")
    level = _level(census, dimension, spec)
    census.hold()
    ratings = [one for one in census.ratings if one.dimension == dimension]
    mine = [one for one in ratings if (one.turn is None) == (level == "dialogue")]
    return _Labels(
        dimension=dimension,
        level=level,
        weights=_weights(spec, census, mine),
        means=aggregate(rating_matrix(mine, dimension, level=level, rescale=spec.rescale)).by_item(),
        selection=replace(
            spec.selection, items=spec.selection.items or _item_choice(census, mine, level, spec)
        ),
    )


def _measured(
    spec: "Calibrate", census: Census, labels: _Labels
) -> tuple[list[MeanRecord], list[_Measured], list[str]]:
    """A record for each metric that has no scores, the units of each metric and group with their scores, and notes."""
    metrics, absent = prepare(spec.changed(items=labels.selection.items), census)
    watch = Watch(spec.max_errors)
    with (
        BlockStore(spec.folder, reuse=spec.reuse) as store,
        spec.executor() as workers,
        listing(metrics, spec.files) as lines,
    ):
        tables, items = collect(
            spec, census, metrics, store, labels.selection, watch=watch, workers=workers, lines=lines
        )
    records = [metric.record(MeanRecord) for metric in (*absent, *watch.unavailable())]
    measured = []
    for table in tables.values():
        if not has_level(table, labels.level):
            records.append(_lacking(table, labels.level))
            continue
        whole = "dialogue" in table.metric.needs
        scored = [item for item in items.values() if (item.turn is None) == whole]
        for group in dict.fromkeys(item.group for item in scored):
            there = [item for item in scored if item.group == group]
            of_group = table.of_group(group)
            units = units_of(
                of_group, there, labels.means, turns=labels.level == "turn", weights=labels.weights
            )
            _check(units, labels.dimension)
            measured.append(_Measured(of_group, group, units))
    rated = [item for item in items.values() if item.id in labels.means or item.dialogue in labels.means]
    learned = [
        f"{name} learned from {share} rated items here: its scores fit these better than the others, so its intervals "
        "may be too short and its means off"
        for name, share in in_training(metrics, rated).items()
    ]
    return records, measured, [*watch.silence(), *learned]


def _level(census: Census, dimension: str, spec: "Calibrate") -> RatedLevel:
    """The level that is asked for, or the only one at which the dimension was rated."""
    known = rated_levels(census, dimension)
    if spec.level is not None:
        if spec.level not in known:
            raise UsageError(f"no {spec.level} is rated on `{dimension}`; rated at: {', '.join(known)}")
        return spec.level
    if len(known) > 1:
        raise UsageError(
            f"`{dimension}` was rated for turns and for whole dialogues; choose with {setting('--level')}"
        )
    return known[0]


def _item_choice(census: Census, ratings: list[Rating], level: RatedLevel, spec: "Calibrate") -> ItemChoice:
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


def _weights(spec: "Calibrate", census: Census, ratings: list[Rating]) -> Mapping[str, float]:
    """The weight of each dialogue with a rating, from the key that `--labels weights:KEY` names; empty without."""
    if spec.drawn != "weights":
        return {}
    rated = {dialogue_of(rating) for rating in ratings}
    found: dict[str, float] = {}
    for dialogue in (one for dialogues in census.held for one in dialogues if one.id in rated):
        found[dialogue.id] = weight_of(dialogue, spec.weights_key)
    return found


def _check(units: Units, dimension: str) -> None:
    """Raise `DataError` if every unit is rated, so that there is nothing to gain from scores, or none is."""
    labelled = int(units.labelled.sum())
    if labelled == len(units.names):
        raise DataError(
            f"every item is rated on `{dimension}`, and scores add nothing to that; add the logs that nobody rated"
        )
    if labelled == 0:
        raise DataError(f"no scored item is rated on `{dimension}`")


def _lacking(table: ScoreTable, level: RatedLevel) -> MeanRecord:
    """The record of a metric without a number at this level."""
    return MeanRecord(
        metric=table.name,
        estimate=None,
        status="skipped",
        reason=f"it has no number for a single {level}; its finest level is the {table.metric.level}",
        signature=str(table.metric.signature),
    )
