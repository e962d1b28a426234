"""The number of dialogues that a design needs, or the difference that it can show, and its power curve."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.errors import Refused
from turnwise.metrics import is_rating
from turnwise.records import Number, PlanRecord, PowerCurve, Variances, finite
from turnwise.run.power.design import Design, t_test, wanted_difference
from turnwise.stats.power import (
    MOST_CLUSTERS,
    WinRateTest,
    variance_range,
)

if TYPE_CHECKING:
    from turnwise.commands.power import PlanStudy

CURVE = 40  # points of a power curve


def plan_of(spec: "PlanStudy", name: str, design: Design, *, items: int, ratings: int) -> PlanRecord:
    """The number of dialogues needed, or with `--have` the smallest difference that can be shown."""
    better, pairs = (None, None) if design.better_pair is None else design.better_pair
    about: dict[str, Any] = {
        "metric": name,
        "design": design.name,
        "scores": _named_scores(spec, design),
        "turns": items,
        "raters": ratings,
        "people": design.people,
        "people_of_pilot": bool(design.people and not spec.people),
        "target_power": spec.power,
        "alpha": spec.alpha,
        "better_pair_key": better and better.key,
        "better_pair_key_pairs": better and better.pairs,
        "pairs": pairs,
        "scores_in_training": design.in_training,
    }
    test = t_test(spec, design, items=items, ratings=ratings)
    if error := _unplannable(design, items=items, ratings=ratings):
        return PlanRecord.refusal(error, **about)
    around = variance_range(test.variance, design.freedom) if design.freedom else ()
    tests = [test, *map(test.with_variance, around)]
    dialogues: int | None
    amounts: list[float | None]  # of the pilot's variance, and of the ends of its interval
    if spec.have is not None:
        amounts = [test.smallest_difference(spec.have, power=spec.power) for test in tests]
        difference, dialogues = amounts[0], spec.have
    else:
        difference = wanted_difference(spec)
        needed = [test.clusters_needed(difference, power=spec.power) for test in tests]
        dialogues, amounts = needed[0], [None if n is None else float(n) for n in needed]
    of_people = is_rating(name) or design.name == "preferences" or design.spread.ratings > 0
    about |= {
        "difference": difference,
        "dialogues": dialogues,
        **_amounts(spec, design, dialogues, items, ratings, of_people=of_people),
    }
    estimate, *ends = amounts
    if estimate is None:
        return PlanRecord.refusal(_impossible(spec, design), **about)
    known = [float(end) for end in ends if end is not None]
    if len(set(known)) < 2:  # a single preference has the variance of its win rate, whatever the pilot
        known = []
    kind = (
        "two-sided test by contexts and raters"
        if isinstance(test, WinRateTest)
        else "two-sided t-test on means of dialogues"
    )
    return PlanRecord(
        **about,
        estimate=estimate,
        interval=(min(known), max(known)) if len(known) == 2 else None,
        n_items=design.n_items,
        n_clusters=design.n_clusters,
        method=kind + ("; interval from the uncertainty of the pilot's variance" if known else ""),
        between=_between(known),
        variances=Variances(
            clusters=design.spread.clusters,
            items=design.spread.items,
            ratings=design.spread.ratings,
            raters=design.spread.raters,
        ),
        agreement=design.agreement,
    )


def _unplannable(design: Design, *, items: int, ratings: int) -> Refused | None:
    """Why this design cannot be planned with this many items and ratings; None if it can."""
    if not design.spread.of_cluster() > 0:
        return Refused("it does not vary, so nothing can be planned", "no-variation")
    if items > 1 and not design.several_items:
        which = "pairs of the pilot are" if design.paired else "pilot has"
        return Refused(
            f"the {which} one item of each dialogue, which does not show what more turns would add",
            "one-item-each",
        )
    if ratings > 1 and not design.several_ratings:
        return Refused(
            "the pilot has one rating of each item, which does not show what more raters would add",
            "one-rating-each",
        )
    if design.people is not None and ratings > design.people:
        return Refused(
            "{ratings} preferences of one context need as many raters, and there are {people} ({--people})",
            "too-few-raters",
            ratings=ratings,
            people=design.people,
        )
    return None


def _impossible(spec: "PlanStudy", design: Design) -> Refused:
    """Why no number of dialogues shows the difference, or these dialogues show none."""
    if spec.have == 1:
        return Refused("one dialogue of each agent cannot be tested", "one-dialogue")
    if spec.have is not None:
        return Refused(
            "the test of so few dialogues rejects as often without any difference", "too-few-dialogues"
        )
    if design.people is not None:
        return Refused(
            "{people:#rater} differ too much from each other; more raters are needed ({--people})",
            "raters-differ",
            people=design.people,
        )
    return Refused(
        "it would take more than {most:,} dialogues of each agent", "too-many-dialogues", most=MOST_CLUSTERS
    )


def _between(ends: Sequence[float]) -> str | None:
    """What the pilot leaves open, in words for the table; None for a given spread."""
    if len(ends) != 2:
        return None
    low, high = sorted(ends)
    return (
        f"{low:.0f} to {high:.0f}" if low.is_integer() and high.is_integer() else f"{low:.3f} to {high:.3f}"
    )


def _named_scores(spec: "PlanStudy", design: Design) -> str | None:
    """The metric whose scores are used beside ratings; `given` for a given agreement, None without."""
    return None if design.agreement is None else (spec.beside or "given")


def _amounts(
    spec: "PlanStudy", design: Design, dialogues: int | None, items: int, ratings: int, *, of_people: bool
) -> dict[str, Any]:
    """The total numbers of ratings and scored items of both agents, and the cost where prices are given.

    Where scores are used beside ratings and the spec does not say how many dialogues are scored, the number of scored
    items is not known. `judge_calls` is the earlier name of `scored_items`, which other programs may read. `of_people`
    says that people give what is compared, and not a metric.
    """
    if dialogues is None:
        return {"ratings": None, "cost": None}
    people = of_people or design.agreement is not None
    n_ratings = dialogues * design.agents * items * ratings if people else 0
    calls = 0
    if design.agreement is not None:
        calls = max(dialogues, spec.scored) * design.agents * items if spec.scored else 0
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
    scored = calls or None
    return {"ratings": n_ratings or None, "scored_items": scored, "judge_calls": scored, "cost": cost}


def curve_of(spec: "PlanStudy", design: Design, plan: PlanRecord, *, items: int, ratings: int) -> PowerCurve:
    """PlanStudy against the number of dialogues, up to twice what is needed or what there is."""
    test = t_test(spec, design, items=items, ratings=ratings)
    places: list[int] = []
    power: list[Number] = []
    if plan.difference is not None and plan.dialogues is not None:
        places = np.unique(np.linspace(2, max(4, 2 * plan.dialogues), CURVE).round().astype(int)).tolist()
        power = [finite(test.power(plan.difference, n)) for n in places]
    return PowerCurve(
        metric=plan.metric,
        design=design.name,
        scores=plan.scores,
        turns=items,
        raters=ratings,
        difference=plan.difference,
        dialogues=tuple(places),
        power=tuple(power),
    )
