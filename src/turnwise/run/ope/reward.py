"""Ratings that are computed: a metric's number of each dialogue, and of what each agent would have said."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from turnwise.conformance.calls import fitted_on, number_of
from turnwise.errors import DataError, Refused, UsageError
from turnwise.logs.items.items import Selection, items
from turnwise.metrics import resolve
from turnwise.metrics.rows import rows_or_errors
from turnwise.protocols import Abstains
from turnwise.run.scoring.blocks import unmet_need
from turnwise.settings.option import as_text
from turnwise.types import Dialogue, Floats, Item, Metric, NeedsFitting

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope

log = logging.getLogger(__name__)
MOST = (
    400  # dialogues in which an agent's replies are scored: enough for a mean that is compared with 16 others
)


def computed(
    spec: "Ope", dialogues: Sequence[Dialogue], name: str, *, oriented: bool = False
) -> dict[str, float]:
    """Dialogue id -> the metric's score of it; dialogues that it cannot score are left out.

    With `oriented` it is negated where lower is better. Raises a `DataError` if it can score none.
    """
    selection = replace(spec.selection, items="all", where=(), limit=None)
    metric, found = _ready(spec, name, selection, dialogues)
    numbers = _by(metric, found, [item.dialogue for item in found])
    if not numbers:
        why = next(
            (metric.why_unscored(item) for item in found if isinstance(metric, Abstains)), metric.unscored
        )
        raise DataError(f"metric `{name}` has no number of any dialogue: {why}")
    sign = 1.0 if metric.higher_is_better or not oriented else -1.0
    return {key: sign * value for key, value in numbers.items()}


def scored(spec: "Ope", dialogues: Sequence[Dialogue], name: str, agents: Sequence[str]) -> dict[str, float]:
    """Agent -> the metric's score of what it would have said in others' dialogues, negated where lower is better.

    With alternatives, about `MOST` dialogues are scored and only the first sample of a point. Without any, each agent's
    own last replies are. Agents that the metric cannot score are left out.
    """
    judged_alternatives = any(turn.alternatives for dialogue in dialogues for turn in dialogue.turns)
    if judged_alternatives:
        selection = Selection(items="all", role=spec.selection.role, as_agents=tuple(agents))
        metric, found = _ready(spec, name, selection, dialogues[:: max(1, len(dialogues) // MOST)])
    else:  # each agent's replies are in records of its own
        metric, found = _ready(
            spec, name, replace(spec.selection, items="last", where=(), limit=None), dialogues
        )
    holder = {dialogue.id: dialogue.agent for dialogue in dialogues}
    first = [
        item
        for item in found
        if item.missing is None
        and not _later_sample(item)
        and not (judged_alternatives and holder[item.dialogue] == item.agent)
    ]
    numbers = _by(metric, first, [item.agent for item in first])
    sign = 1.0 if metric.higher_is_better else -1.0
    return {agent: sign * value for agent, value in numbers.items()}


def _later_sample(item: Item) -> bool:
    """Whether the item is a second or later sample of an agent at one point (its id ends with ~1, ~2, ...)."""
    return "~" in item.id and not item.id.endswith("~0")


def _ready(
    spec: "Ope", name: str, selection: Selection, dialogues: Sequence[Dialogue]
) -> tuple[Metric, list[Item]]:
    """The metric, fitted on the items if it has to be, and the items of the dialogues, unscorable ones included.

    Raises `UsageError` for a metric that cannot score single dialogues.
    """
    metric = resolve(name, model=as_text(spec.model), db=as_text(spec.db))
    found = list(items(dialogues, selection, whole="dialogue" in metric.needs))
    if isinstance(metric, NeedsFitting):
        metric = fitted_on(metric, (item for item in found if item.missing is None))
    if not isinstance(metric, Metric):
        raise UsageError(f"`{name}` cannot be used as a number of single dialogues")
    return metric, found


def _by(metric: Metric, found: Sequence[Item], keys: Sequence[str]) -> dict[str, float]:
    """Key -> the metric's score over the items with that key; `keys` has one key an item.

    Items that fail, have no score or lack what the metric needs are left out, and so are keys without a finite score.
    """
    has_all = [unmet_need(metric, item) is None for item in found]
    found, keys = list(compress(found, has_all)), list(compress(keys, has_all))
    rows, errors = rows_or_errors(metric, found)
    if errors:
        first = next(iter(errors.values()))
        name = metric.signature.name
        log.warning("%s failed on %d of %d items; first error: %s", name, len(errors), len(found), first)
    indices: dict[str, list[int]] = {}
    known = (key for index, key in enumerate(keys) if index not in errors)
    for index, (key, finite) in enumerate(zip(known, np.isfinite(_row_sums(rows)), strict=True)):
        if finite:
            indices.setdefault(key, []).append(index)
    numbers = {}
    for key, mine in indices.items():
        try:
            value = float(number_of(metric, rows[mine]))
        except Refused:
            continue
        if np.isfinite(value):
            numbers[key] = value
    return numbers


def _row_sums(rows: object) -> Floats:
    """(n,) the sum of each row, of a dense or a sparse matrix."""
    return np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()  # type: ignore[attr-defined]
