"""`turnwise power`: how many dialogues, turns and raters show a difference, from a pilot or from given spreads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from turnwise.errors import Refused, UsageError, setting
from turnwise.logs.scan import Census, scan
from turnwise.metrics import PREFERENCE, RATING, is_preference, is_rating
from turnwise.records import PlanRecord, PowerCurve
from turnwise.report.documents import PowerDocument
from turnwise.run.power.curve import curve_of, plan_of
from turnwise.run.power.design import Design, given_designs
from turnwise.run.power.pilot import pilot_designs, pilots, preference_design, scores_beside, usual_turns
from turnwise.run.scoring.raters import one_dimension
from turnwise.run.spec import finish

if TYPE_CHECKING:
    from turnwise.commands.power import PlanStudy

RATERS = (1, 2, 3, 5)  # numbers of raters that are planned for, unless the spec names others


def run(spec: "PlanStudy") -> PowerDocument:
    """Run `turnwise power`."""
    plans: list[PlanRecord] = []
    curves: list[PowerCurve] = []
    sha256: Mapping[str, str] = {}
    if spec.paths:
        census = scan(spec.paths, apart=spec.selection.apart)
        census.hold()
        sha256 = census.sha256
        spec = spec if spec.metrics else spec.changed(metrics=(_default_metric(census),))
        if spec.people is not None and not any(map(is_preference, spec.metrics)):
            raise UsageError(
                f"{setting('--people')} is about preferences: name them with "
                f"{setting('-m', f'{PREFERENCE}DIMENSION')}"
            )
        for name in filter(is_preference, spec.metrics):
            try:
                design, several = preference_design(spec, census, name)
            except Refused as error:
                plans.append(PlanRecord.refusal(error, metric=name))
                continue
            _add(spec, name, [design], (1,), spec.raters or (RATERS if several else (1,)), plans, curves)
        for name, units in pilots(spec, census):
            if isinstance(units, PlanRecord):
                plans.append(units)
                continue
            turns = spec.turns or tuple(dict.fromkeys((1, usual_turns(units))))
            raters = spec.raters or (RATERS if any(len(unit.values) > 1 for unit in units) else (1,))
            try:
                beside = scores_beside(spec, census) if is_rating(name) else None
                designs = pilot_designs(name, units, spec, beside)
            except Refused as error:
                plans.append(PlanRecord.refusal(error, metric=name))
                continue
            _add(spec, name, designs, turns, raters, plans, curves)
    else:
        name = "win rate" if spec.win_rate is not None else "given spread"
        raters = spec.raters or (RATERS if spec.rater_sd or spec.win_rate is not None else (1,))
        _add(spec, name, list(given_designs(spec)), spec.turns or (1,), raters, plans, curves)
    return finish(PowerDocument, spec, plans, sha256, curves=tuple(curves))


def _default_metric(census: Census) -> str:
    """The rating of the pilot's only dimension or of `overall`; without ratings, the preference."""
    known = list(census.preferences)
    if census.dimensions or not known:
        return f"{RATING}{one_dimension(census, None, option='-m')}"
    if "overall" not in known and len(known) > 1:
        raise UsageError(
            f"preferences have several dimensions: choose with {setting('-m', f'{PREFERENCE}{known[0]}')}"
        )
    return f"{PREFERENCE}{'overall' if 'overall' in known else known[0]}"


def _add(
    spec: "PlanStudy",
    name: str,
    designs: Sequence[Design],
    turns: Sequence[int],
    raters: Sequence[int],
    plans: list[PlanRecord],
    curves: list[PowerCurve],
) -> None:
    """Add a plan and a curve for each design, number of turns and number of raters."""
    for design in designs:
        for items in turns if design.name != "preferences" else (1,):
            for ratings in raters:
                plans.append(plan_of(spec, name, design, items=items, ratings=ratings))
                curves.append(curve_of(spec, design, plans[-1], items=items, ratings=ratings))
