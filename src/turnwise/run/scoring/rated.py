"""Ratings and preferences as what is compared: which the data has, and the metric of a rated dimension."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from turnwise.conformance.calls import fitted_on
from turnwise.errors import DataError, UsageError, nearest, setting
from turnwise.logs.items.items import Selection, all_items
from turnwise.logs.scan import Census
from turnwise.metrics import RATING
from turnwise.metrics.rating import parse, rating_metric
from turnwise.protocols import metric_extras
from turnwise.types import Metric, NeedsFitting

if TYPE_CHECKING:
    from turnwise.commands.attack import Attacking
    from turnwise.settings.groups import Evaluating


def rating_names(census: Census) -> tuple[str, ...]:
    """The metrics of all rated dimensions; a dimension that was rated at two levels has two."""
    return tuple(name for dimension in census.dimensions for name in names_of(census, dimension))


def names_of(census: Census, dimension: str) -> list[str]:
    """The metrics of one rated dimension, whose own name may have brackets too."""
    about = census.dimensions[dimension]
    levels = [level for level, count in (("turn", about.n_turn), ("dialogue", about.n_dialogue)) if count]
    plain = f"{RATING}{dimension}"
    return [plain] if len(levels) == 1 else [f"{plain}[level={level}]" for level in levels]


def prepared_rating(name: str, spec: "Evaluating | Attacking", census: Census) -> Metric:
    """The metric `rating:DIMENSION`, with the level, scale and direction that the data has.

    With raters=centred the effects of the raters are fitted on the selected items. Raises `DataError` without ratings,
    and `UsageError` for a dimension that was not rated and for settings that are missing or wrong.
    """
    known = census.dimensions
    if not known:
        raise DataError(
            f"`{name}` needs ratings, and the data has none; docs/format.md shows how they are written"
        )
    dimension, written = parse(name, known)
    if dimension not in known:
        raise UsageError(f"no rating has the dimension `{dimension}`; {nearest(dimension, tuple(known))}")
    about = known[dimension]
    levels = [level for level, count in (("turn", about.n_turn), ("dialogue", about.n_dialogue)) if count]
    if "level" not in written and len(levels) > 1:
        raise UsageError(
            f"`{dimension}` was rated for turns and for whole dialogues; choose {RATING}{dimension}[level=turn] "
            f"or {RATING}{dimension}[level=dialogue]"
        )
    level = written.get("level", levels[0])
    if level not in levels:
        raise UsageError(f"`{dimension}` was rated for each {levels[0]}, not for each {level}")
    selection = spec.selection
    if len(about.scales) > 1 and not written.get("rescale") and not (selection.by or selection.where):
        scales = ", ".join(
            sorted("none" if one is None else f"{one[0]:g}-{one[1]:g}" for one in about.scales)
        )
        raise UsageError(
            f"the ratings of `{dimension}` have different scales ({scales}); {RATING}{dimension}[rescale=true] maps "
            f"all to 0-1, and {setting('--by')} or {setting('--where')} keeps them apart"
        )
    lowered, raised = dimension in spec.lower_dimensions, dimension in spec.higher_dimensions
    if len(about.directions) > 1 and not (lowered or raised):
        raise DataError(f"on `{dimension}` some ratings say that higher is better, and others that lower is")
    settings: dict[str, Any] = {
        **written,
        "level": level,
        "scale": about.scale,
        "direction": "lower" if lowered else "higher" if raised else next(iter(about.directions)),
        "declared": about.declared or raised,
    }
    metric = rating_metric(dimension, **settings)
    if not isinstance(metric, NeedsFitting):
        return metric
    whole = level == "dialogue"
    chosen = rating_selection(selection, {name: metric}) if whole else selection
    return fitted_on(metric, all_items(spec.paths, chosen, census, whole=whole, silent=True))


def rating_selection(selection: Selection, metrics: Mapping[str, Metric | NeedsFitting]) -> Selection:
    """The selection of whole dialogues: all of them where the metrics are ratings and nothing else was asked for.

    Otherwise only dialogues with a rated turn would be taken in files that have ratings of turns too.
    """
    only_ratings = all(metric_extras(metric).reads_ratings for metric in metrics.values())
    return replace(selection, items="all") if selection.items is None and only_ratings else selection
