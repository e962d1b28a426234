"""`guarded[metric=NAME]`: any metric of single replies with a guard against replies that were made to please a metric.

The guard of a hardened retrieval metric (see `guard`) gives each reply a factor: 1 for all but about one in a hundred
real replies, and less the more a reply is like a fraud. Where the metric has a lowest score, or the setting `floor`
names one, the factor lowers the score towards it. Elsewhere, and with `abstain=true`, a reply with a factor below one
half has no score, and the report counts it.

The wrapped metric is not changed and need not be trained: it may be a plugin, a function of the user's or a judge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from turnwise.conformance.calls import number_of, rows_of
from turnwise.encode.models.folder import Folder, is_trained, load, read_config, shipped
from turnwise.errors import UsageError
from turnwise.metrics import resolve, settings
from turnwise.metrics.learned.adem.metric import Adem
from turnwise.metrics.learned.encoded_items import encode_items
from turnwise.metrics.learned.guard.guard import Guard, guard_of, remainder_vectors
from turnwise.metrics.learned.trained import NotTrained, encoder_of, load_trained
from turnwise.metrics.learned.turnwise.metric import Turnwise
from turnwise.metrics.rows import Ratio
from turnwise.protocols import Abstains, KnowsTraining, metric_extras
from turnwise.types import Card, Floats, Item, Level, Metric, Need, NeedsFitting, Signature

KIND, HEAD = "usr-ret", "several"  # the model whose guard is used, and its head
# Floors of learned metrics whose scores have no lowest value: below those of nearly all rated replies.
FLOORS = {"turnwise": -2.0, "turnwise-large": -2.0, "usr-full": -2.0, "usr-mlm": -10.0, "loglik": -10.0}
ABSTAIN_BELOW = 0.5  # factor below which a reply has no score where scores cannot be lowered


@dataclass(frozen=True)
class Guarded(Ratio):
    """`guarded`: a metric whose scores are lowered, or withheld, for replies that look like frauds."""

    level: ClassVar[Level] = "turn"
    unscored: ClassVar[str] = (
        "the metric gave no score, or the guard takes the reply for one made to please a metric"
    )
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="The score of another metric, lowered or withheld for replies that look made to please a metric.",
        range="that of the metric",
        limits="Knows copies, fixed words around words of the context, and mixtures of both; not fluent replies that "
        "fit. It passes half of the frauds that were found against an earlier guard. Cost in agreement with people: at "
        "most .026 in a corpus (papers/probing.md). English only, as its encoder.",
        citation="after Deriu et al. 2022, Probing the Robustness of Trained Metrics for Conversational Dialogue"
        " Systems",
    )

    inner: Metric
    name: str  # the name of the inner metric, with its settings
    trained: str  # a folder with a hardened usr-ret; "": the one that ships with the package
    floor: float | None  # the score towards which scores are lowered; None: the guard abstains

    def why_unscored(self, item: Item, /) -> str:
        """The metric's own reason if it gave no score, else the guard's."""
        if not np.isnan(number_of(self.inner, rows_of(self.inner, [item]))):
            return "the guard takes the reply for one made to please a metric"
        return self.inner.why_unscored(item) if isinstance(self.inner, Abstains) else self.inner.unscored

    def in_training(self, items: Sequence[Item], /) -> int:
        """How many of the items the metric learned from."""
        return self.inner.in_training(items) if isinstance(self.inner, KnowsTraining) else 0

    @property
    def needs(self) -> frozenset[Need]:
        """What the metric needs, and a context."""
        return self.inner.needs | {"context"}

    @property
    def higher_is_better(self) -> bool:
        """As for the metric."""
        return self.inner.higher_is_better

    @property
    def span(self) -> tuple[float, float]:  # type: ignore[override]  # it depends on the metric
        """The range of the metric."""
        return metric_extras(self.inner).span

    @property
    def half_width(self) -> float | None:
        """That of the metric, if frauds are unscored; a score that was lowered is no prediction, and has none."""
        return metric_extras(self.inner).half_width if self.floor is None else None

    @property
    def verdicts(self) -> tuple[float, ...]:
        """The best marks of the metric, for attacks."""
        return metric_extras(self.inner).verdicts

    @property
    def folder(self) -> Folder:
        """The hardened retrieval metric; raises `NotTrained` if none ships with the package."""
        return _model(self.trained)

    @property
    def guard(self) -> Guard:
        """The guard of the model; raises `UsageError` if the model has none."""
        found = guard_of(self.folder, HEAD)
        if found is None:
            raise UsageError(f"{self.folder.path} has no guard; `turnwise attack {KIND} --harden` trains one")
        return found

    @property
    def signature(self) -> Signature:
        """The floor, the guard's model, and the signatures of the metric and of the encoder."""
        about = (
            ("guard", self.folder.digest),
            ("floor", "abstains" if self.floor is None else f"{self.floor:g}"),
        )
        return Signature("guarded", about, (self.inner.signature, encoder_of(self.folder).signature))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the guarded score and 1; NaN where the metric gave no score or the guard abstains."""
        rows = np.ones((len(items), 2))
        if not items:
            return rows
        inner = rows_of(self.inner, items)
        scores = np.array([number_of(self.inner, inner[at : at + 1]) for at in range(len(items))])
        factors = self.factors(items)
        if self.floor is None:
            rows[:, 0] = np.where(factors >= ABSTAIN_BELOW, scores, np.nan)
        else:
            better = scores > self.floor if self.higher_is_better else scores < self.floor
            rows[:, 0] = np.where(better, self.floor + (scores - self.floor) * factors, scores)
        rows[np.isnan(factors), 0] = np.nan
        return rows

    def factors(self, items: Sequence[Item]) -> Floats:
        """The guard's factor for each item; NaN for an item that cannot be encoded, such as one without words."""
        encoder, guard = encoder_of(self.folder), self.guard
        encoded = encode_items(items, encoder)
        known = [item for item in encoded if item is not None]
        found = iter(guard.factors(known, remainder_vectors(known, encoder)))
        return np.array([np.nan if item is None else next(found) for item in encoded])


def guarded(
    metric: str = "turnwise", trained: str = "", floor: float | None = None, abstain: bool = False
) -> Guarded:
    """The metric of this name with the guard of the model in the folder `trained`, by default the shipped one.

    `floor` is the score towards which frauds are lowered, by default the worst end of the metric's range or what
    `FLOORS` has. Raises `UsageError` for a metric that does not score single replies or has to be fitted.
    """
    if settings(metric)[0] == "guarded":
        raise UsageError(f"`{metric}` has a guard already")
    inner = resolve(metric)
    if isinstance(inner, NeedsFitting) or inner.level != "turn" or "dialogue" in inner.needs:
        raise UsageError(f"`{metric}` does not score single replies, and a guard is for these")
    if abstain and floor is not None:
        raise UsageError("a guard that abstains has no floor; give `abstain` or `floor`")
    if floor is None and not abstain:
        floor = _lowest(inner, *settings(metric))
    return Guarded(inner, metric, trained, floor)


def _lowest(inner: Metric, name: str, options: Mapping[str, object]) -> float | None:
    """The worst score of a metric, as far as there is one: for a model of a user's own ratings, the lowest rating."""
    worst = metric_extras(inner).span[0 if inner.higher_is_better else 1]
    if np.isfinite(worst):
        return worst
    if isinstance(inner, Adem) or (isinstance(inner, Turnwise) and options.get("trained")):
        raters = inner.folder.card.get("raters") or {}
        return float(raters["scale"][0]) if raters.get("scale") else None
    return FLOORS.get(name)


def _model(trained: str) -> Folder:
    """The hardened retrieval metric in this folder, or the shipped one."""
    if trained:
        folder = Path(trained)
        if is_trained(folder) and (kind := read_config(folder)["kind"]) != KIND:
            raise UsageError(
                f"{trained} is a model of `{kind}`, and no guard; a metric of your own with the shipped guard is "
                f"guarded[metric={kind}[trained={trained}]]"
            )
        return load_trained(KIND, trained)
    path = shipped("guard")
    if path is None:
        raise NotTrained(
            f"no guard is shipped: `turnwise attack {KIND} --harden -o out` trains one, then "
            "guarded[metric=NAME,trained=out/model-1]"
        )
    return load(path, KIND)
