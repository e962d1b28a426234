"""The number of dialogues that a design needs, or the difference that it can show, and its power curve."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.errors import counted, setting
from turnwise.metrics import is_rating
from turnwise.run.power.design import Design, t_test, wanted_difference
from turnwise.stats.power import (
    MOST_CLUSTERS,
    WinRateTest,
    variance_range,
)
from turnwise.types import Finding

if TYPE_CHECKING:
    from turnwise.commands.power import Power

CURVE = 40  # points of a power curve


def finding_of(spec: "Power", name: str, design: Design, *, items: int, ratings: int) -> Finding:
    """The number of dialogues needed, or with `--have` the smallest difference that can be shown."""
    test = t_test(spec, design, items=items, ratings=ratings)
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
        **({"scores_in_training": design.in_training} if design.in_training else {}),
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
        needed = test.clusters_needed(wanted_difference(spec), power=spec.power)
        ends = [
            test.with_variance(one).clusters_needed(wanted_difference(spec), power=spec.power)
            for one in around or ()
        ]
        estimate, dialogues = None if needed is None else float(needed), needed
        details |= {"difference": wanted_difference(spec)}
    of_people = is_rating(name) or design.name == "preferences" or design.spread.ratings > 0
    details |= {
        "dialogues": dialogues,
        **_amounts(spec, design, dialogues, items, ratings, of_people=of_people),
    }
    if estimate is None:
        reason = (
            "one dialogue of each agent cannot be tested"
            if spec.have == 1
            else "the test of so few dialogues rejects as often without any difference"
            if spec.have is not None
            else f"{counted(design.people, 'rater')} differ too much from each other; more raters are needed "
            f"({setting('--people')})"
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
        return (
            f"{ratings} preferences of one context need as many raters, and there are {design.people} "
            f"({setting('--people')})"
        )
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


def _named_scores(spec: "Power", design: Design) -> str | None:
    """The metric whose scores are used beside ratings; `given` for a given agreement, None without."""
    return None if design.agreement is None else (spec.beside or "given")


def _amounts(
    spec: "Power", design: Design, dialogues: int | None, items: int, ratings: int, *, of_people: bool
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


def curve_of(
    spec: "Power", name: str, design: Design, finding: Finding, *, items: int, ratings: int
) -> dict[str, Any]:
    """Power against the number of dialogues, up to twice what is needed or what there is."""
    test = t_test(spec, design, items=items, ratings=ratings)
    difference, dialogues = finding.details["difference"], finding.details["dialogues"]
    about = {"metric": name, "design": design.name, "scores": _named_scores(spec, design), "turns": items,
             "raters": ratings, "difference": difference}  # fmt: skip
    if difference is None or dialogues is None:
        return {**about, "dialogues": [], "power": []}
    places = np.unique(np.linspace(2, max(4, 2 * dialogues), CURVE).round().astype(int)).tolist()
    return {**about, "dialogues": places, "power": [test.power(difference, n) for n in places]}
