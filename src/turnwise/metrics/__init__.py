"""The table of metrics by name.

Entries are `"module:attribute"` strings that are imported when their metric is used, so that listing names is fast.
Other packages add metrics through the entry point group `turnwise.metrics`; these are checked when they are resolved.
`rating:DIMENSION` stands for people's ratings. Any other name with a colon in it is the user's own `module:function` or
an http address, and is not looked up.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from turnwise import registry
from turnwise.errors import MissingExtra, PluginError, UsageError, unknown
from turnwise.plugin_code import described
from turnwise.registry import Offer

if TYPE_CHECKING:  # `types` imports numpy, which is slow and not needed to list names
    from turnwise.types import Card, Direction, Kind, Level, Metric, Need, NeedsFitting


RATING = "rating:"  # before a dimension: the ratings that people gave
JUDGE_PAIR = "judge-pair"  # the choices of a judge between two agents
PREFERENCE = "preference:"  # before a dimension: the choices that people made


def is_rating(name: str) -> bool:
    """Whether the name of a metric stands for people's ratings."""
    return name.startswith(RATING)


def is_preference(name: str) -> bool:
    """Whether the name of a metric stands for people's preferences."""
    return name.startswith(PREFERENCE)


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a metric is found: its target, the settings that its name fixes, and the package that offers it."""

    target: str  # module:attribute, a class or a function that makes the metric
    options: Mapping[str, Any] = field(default_factory=dict)
    owner: str = "turnwise"
    extra: str | None = None  # the extra that it needs whatever its settings are


def _own(module: str, /, extra: str | None = None, **options: Any) -> Entry:
    """The entry of one of our metrics.

    `module` is the target below `turnwise.metrics`, `options` are fixed settings.
    """
    return Entry(f"turnwise.metrics.{module}", options, extra=extra)


def _learned(module: str, extra: str = "models") -> Entry:
    """The entry of a metric below `turnwise.metrics.learned` that has a trained model."""
    return _own(f"learned.{module}", extra=extra)


_OWN: dict[str, Entry] = {
    **{f"bleu-{n}": _own("reference.bleu:Bleu", order=n) for n in (1, 2, 3, 4)},
    "bleu-paper": _own("reference.bleu_paper:BleuPaper", extra="nltk"),
    "chrf": _own("reference.chrf:Chrf"),
    "chrf++": _own("reference.chrf:Chrf", word_order=2),
    "ter": _own("reference.ter:Ter"),
    **{f"rouge-{n}": _own("reference.rouge:RougeN", order=n) for n in (1, 2)},
    "rouge-l": _own("reference.rouge:RougeL"),
    "rouge-lsum": _own("reference.rouge_lsum:RougeLsum"),
    "rouge-l-b1.2": _own("reference.rouge:RougeLCaption"),
    "meteor": _own("reference.meteor:Meteor"),
    "average": _own("reference.embedding:Average"),
    "greedy": _own("reference.embedding:Greedy"),
    "extrema": _own("reference.embedding:Extrema"),
    "extrema-max": _own("reference.embedding:ExtremaMax"),
    "bertscore": _own("reference.bertscore:bertscore"),
    **{f"bertscore-{part}": _own("reference.bertscore:bertscore", part=part) for part in ("p", "r")},
    "fbd": _own("distribution.fbd:Fbd"),
    "fbd-paper": _own("distribution.fbd:FbdPaper"),
    "prd": _own("distribution.prd:Prd"),
    "prd-paper": _own("distribution.prd:PrdPaper"),
    "mauve": _own("distribution.mauve:Mauve"),
    "mmd": _own("distribution.mmd:Mmd"),
    "regression": _learned("regression:Regression", "neural"),
    "reactions": _learned("reactions:Reactions"),
    "turnwise": _learned("turnwise.metric:Turnwise"),
    "turnwise-large": _learned("turnwise.metric:TurnwiseLarge", "neural"),
    "usr-ret": _learned("usr.retrieval:UsrRet"),
    "usr-mlm": _learned("usr.mlm:UsrMlm", "neural"),
    "usr-full": _learned("usr.full:UsrFull", "neural"),
    "maude": _learned("contrastive.maude:Maude"),
    "att": _learned("contrastive.att:Att"),
    "guarded": _learned("guard.metric:guarded"),
    "adem": _learned("adem.metric:Adem", "neural"),
    "adem-c": _learned("adem.metric:AdemC", "neural"),
    "adem-r": _learned("adem.metric:AdemR", "neural"),
    "adem-start": _own("learned.adem.metric:AdemStart"),
    **{f"distinct-{n}": _own("features.variety:Distinct", order=n) for n in (1, 2)},
    **{f"entropy-{n}": _own("features.variety:Entropy", order=n) for n in (1, 2)},
    "conditional-entropy-2": _own("features.variety:ConditionalEntropy"),
    "msttr-50": _own("features.msttr:Msttr", segment=50),
    "length": _own("features.surface:Length"),
    "question-rate": _own("features.surface:QuestionRate"),
    **{f"repeat-external-{n}": _own("features.repetition:External", order=n) for n in (1, 2)},
    **{f"repeat-internal-{n}": _own("features.repetition:Internal", order=n) for n in (1, 2)},
    **{f"repeat-partner-{n}": _own("features.repetition:Partner", order=n) for n in (1, 2)},
    "specificity": _own("features.specificity:Nidf"),
    "relatedness": _own("features.relatedness:Relatedness"),
    "ppl": _own("unreferenced.likelihood:Perplexity"),
    "loglik": _own("unreferenced.likelihood:LogLikelihood"),
    "pmi": _own("unreferenced.likelihood:Pmi"),
    "pmi-total": _own("unreferenced.likelihood:PmiTotal"),
    "fed": _own("unreferenced.likelihood:Fed"),
    "judge": _own("judge.settings:judge"),
    "panel": _own("judge.panel:panel"),
    "tool-invalid": _own("tools.validity:tool_invalid", extra="tools"),
    "tool-errors": _own("tools.failures:ToolErrors"),
    "tool-retries": _own("tools.failures:ToolRetries"),
    "tool-repeats": _own("tools.failures:ToolRepeats"),
    "tool-unmentioned": _own("tools.arguments:ToolUnmentioned"),
    "tool-contradictions": _own("tools.contradictions:ToolContradictions"),
    "steps": _own("tools.effort:Steps"),
    "logged-cost": _own("tools.effort:logged_cost"),
    "latency-p50": _own("tools.latency:latency_p50"),
    "latency-p95": _own("tools.latency:latency_p95"),
    "inform": _own("task.inform:Inform"),
    "success": _own("task.inform:Success"),
    "booking": _own("task.inform:Booking"),
    "combined": _own("task.combined:Combined"),
    "bleu-delex": _own("task.wording:DelexicalisedBleu"),
    "entity-f1": _own("task.wording:EntityF1"),
    "mismatch": _own("task.wording:Mismatch"),
    "joint-goal-accuracy": _own("task.states:JointGoalAccuracy"),
    "slot-f1": _own("task.states:SlotF1"),
}


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What `turnwise ls metrics` shows for one name."""

    name: str
    kind: Kind
    level: Level
    needs: frozenset[Need]
    higher_is_better: bool
    card: Card
    fitted: bool  # must be fitted on data before it can score

    @property
    def better(self) -> Direction | None:
        """Whether higher or lower scores are better; None for features, such as length, where neither is."""
        from turnwise.metrics.rows import better_direction

        return better_direction(self)


def names() -> tuple[str, ...]:
    """All names, those of other packages last. A listed plugin may still fail its check when it is resolved."""
    return tuple(_table())


def broken() -> tuple[PluginError, ...]:
    """The errors of the plugins that cannot be used because their names are taken or malformed."""
    return tuple(_plugins().problems.values())


def resolve(
    name: str,
    *,
    model: str | None = None,
    db: str | None = None,
    cache: bool | None = None,
    max_cost: float | None = None,
    **options: Any,
) -> Metric | NeedsFitting:
    """The metric of this name, which may carry settings: `bertscore[layer=4,idf=true]`.

    `options` are further settings. `model`, `db` (venue tables), `cache` (whether a judge's stored verdicts may be
    used) and `max_cost` (the most that a judge may spend) are defaults for settings of these names, and are ignored by
    metrics without them. A `module:function` or an
    http address gives the user's own metric; it has no settings, and the arguments are ignored. Raises `UsageError` for
    an unknown name or setting, and `PluginError` for a plugin that is no metric.
    """
    if is_rating(name):
        from turnwise.metrics.rating import parse, rating_metric

        dimension, written = parse(name)
        return rating_metric(dimension, **{**written, **options})
    if is_preference(name):
        raise UsageError(
            f"`{name}` is a choice between two replies, not a score of one; `turnwise compare` takes it"
        )
    plain, written = settings(name)
    if plain == JUDGE_PAIR:
        raise UsageError(
            f"`{plain}` is a judge's choice between two replies, not a score of one; `turnwise compare` takes it"
        )
    if ":" in plain and not written:
        from turnwise.metrics.custom import own_metric

        return own_metric(plain)
    entry = _entry(plain)
    maker, own = _maker(plain), entry.options
    chosen = {**own, **written, **options}
    signature = inspect.signature(maker)
    defaults = {"model": model, "db": db, "cache": cache, "max_cost": max_cost}
    for setting, default in defaults.items():
        if default is not None and setting in signature.parameters:
            chosen.setdefault(setting, default)
    if entry.owner != "turnwise":
        registry.check_required(_offer(plain, entry), maker, chosen)
    try:
        signature.bind(**chosen)
    except TypeError as error:
        known = ", ".join(key for key in signature.parameters if key not in own) or "none"
        raise UsageError(f"metric `{name}`: {error}; its settings are: {known}") from None
    registry.check(written, maker, f"metric `{name}`")
    if entry.owner == "turnwise":
        try:
            return maker(**chosen)
        except MissingExtra as error:
            if entry.extra is None:
                raise
            raise MissingExtra(
                f"`{plain}`", entry.extra
            ) from error  # a part of it may need less than the whole
    offer = _offer(plain, entry)
    made: Metric | NeedsFitting = offer.make(maker, chosen)
    _check_plugin_metric(offer, made)
    return made


def extra_of(name: str) -> str | None:
    """The extra that a metric of ours needs with its default settings, among them its model; None if it needs none.

    None also for a metric of another package.
    """
    from turnwise.encode.models import catalogue

    entry = _entry(name)
    if entry.extra is not None or entry.owner != "turnwise":
        return entry.extra
    model = parameters(name).get("model")
    return catalogue.extra_of(model) if isinstance(model, str) else None


def settings(name: str) -> tuple[str, dict[str, Any]]:
    """Split `name[key=value,...]` into the name and its parsed settings; without brackets there are none."""
    return registry.settings(name, "bertscore[layer=4,idf=true]")


def parameters(name: str) -> dict[str, Any]:
    """The settings of a metric with their defaults; a setting that the name fixes has the fixed value.

    A setting without a default has `inspect.Parameter.empty`.
    """
    own = _entry(name).options
    taken = inspect.signature(_maker(name)).parameters
    return {key: own.get(key, parameter.default) for key, parameter in taken.items()}


def describe(name: str) -> MetricInfo:
    """The attributes of a metric, read from its class where it has one, else from the metric that its function makes.

    A plugin whose class computes one of them is made without settings. Raises `PluginError` for a wrong plugin.
    """
    if ":" in name or (entry := _entry(name)).owner == "turnwise":
        maker = None if ":" in name else _maker(name)
        return _info(name, maker if isinstance(maker, type) else resolve(name))
    offer, maker = _offer(name, entry), _maker(name)
    try:
        from turnwise.conformance.plugins import is_computed

        read = ("card", "level", "needs", "higher_is_better")
        facts = maker if isinstance(maker, type) and not is_computed(maker, read) else resolve(name)
        _check_plugin_metric(offer, facts)
        return _info(name, facts)
    except PluginError:
        raise
    except Exception as error:  # foreign code may raise anything
        raise offer.error(f"cannot be listed: {described(error, offer.target)}") from error


def _info(name: str, facts: Any) -> MetricInfo:
    """The attributes of a metric, or of its class."""
    return MetricInfo(
        name=name,
        kind=facts.card.kind,
        level=facts.level,
        needs=facts.needs,
        higher_is_better=facts.higher_is_better,
        card=facts.card,
        fitted=inspect.getattr_static(facts, "fit", None) is not None,
    )


def _maker(name: str) -> Callable[..., Metric | NeedsFitting]:
    """The imported class or function that makes the metric; raises `PluginError` if it cannot be imported or called."""
    offer = _offer(name, _entry(name))
    maker: Callable[..., Metric | NeedsFitting] = offer.load()
    if not callable(maker):
        raise offer.error(f"{offer.target} is no class and no function; expected one that makes the metric")
    return maker


def _check_plugin_metric(offer: Offer, metric: object) -> None:
    """Raise the offer's `PluginError` if the object, or the class, is no metric."""
    from turnwise.conformance.plugins import metric_problem

    try:
        problem = metric_problem(metric)
    except PluginError as error:  # an attribute raised
        raise offer.error(error) from error
    if problem is not None:
        raise offer.error(problem)


def _offer(name: str, entry: Entry) -> Offer:
    """The entry as an `Offer`, which imports the target and names it in errors."""
    return Offer("metric", name, entry.target, entry.owner)


def _entry(name: str) -> Entry:
    """The entry of this name; raises `PluginError` for an unusable plugin and `UsageError` for an unknown name."""
    if name in (table := _table()):
        return table[name]
    _plugins().find(name)
    if name in ("preference", "preferences", "win-rate", "win_rate"):
        raise UsageError(
            f"there is no metric `{name}`; people's choices are `preference:DIMENSION`, such as preference:overall, "
            "which `turnwise compare` and `turnwise power` take"
        )
    raise unknown("metric", name, names())


def _table() -> dict[str, Entry]:
    """All entries by name, our own first, then the usable plugins."""
    others = _plugins().usable
    return _OWN | {name: Entry(offer.target, owner=offer.owner) for name, offer in others.items()}


@cache
def _plugins() -> registry.Offers:
    """The metrics that other packages offer, looked up once per process."""
    return registry.offered("metrics", _OWN)
