"""The optional parts of a plugin: attributes with a default value, and methods that add an ability.

`turnwise.types` declares what every metric, estimator and agent must have. This module declares what they may have in
addition. There are two forms:

- An attribute with a default. `MetricExtras`, `EstimatorExtras`, `AgentExtras`, `TrainerExtras` and
  `WorldExtras` list them. Nothing in
  turnwise reads such an attribute from a plugin directly: `metric_extras(metric).span` reads it and supplies the
  default where the plugin does not have it.
- A method. Each has a `runtime_checkable` protocol (`Priced`, `Curved`, ...), and `isinstance(metric, Priced)` asks
  whether the plugin has it. `PluginProtocol` makes `isinstance` safe for attributes that raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from inspect import getattr_static
from math import inf
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, cast, runtime_checkable

from turnwise.errors import PluginError, TurnwiseError
from turnwise.plugin_code import described, plugin_code
from turnwise.registry import module_of, named_parts
from turnwise.types import (
    Episodes,
    Estimate,
    Estimator,
    Item,
    Metric,
    PluginProtocol,
    Reply,
    Signature,
    Turn,
)

if TYPE_CHECKING:  # these modules stand above this one
    import numpy as np

    from turnwise.estimators.critic.evaluation import Evaluation
    from turnwise.estimators.critic.features import Facts
    from turnwise.estimators.linear.problem import Problem
    from turnwise.stats.crossed import StandardErrors
    from turnwise.types import Ints, Rows


class MetricExtras(Protocol):
    """Optional attributes of a metric, each with the value that is assumed where it is absent."""

    span: tuple[float, float] = (-inf, inf)
    """The least and the greatest number that the metric can give. Intervals are clipped to it."""

    bounds: tuple[float, float] | None = None
    """The two values of an item, for a metric that is a share of yes-or-no answers. Shares near either end get a
    Wilson interval, because the bootstrap has no variation there."""

    half_width: float | None = None
    """Half the width of the prediction interval of one item's score; it is written beside the score in items.jsonl."""

    sampled: bool = False
    """Whether the number of a large corpus may be computed from a seeded sample of its rows."""

    verdicts: tuple[float, ...] = (5,)
    """The best marks a judge can give. `turnwise attack` writes them into replies ("Rating: 5")."""

    reads_ratings: bool = False
    """Whether the metric reads `Item.ratings`. Its stored rows are then valid for the same ratings only."""

    reducer: Metric | None = None
    """For a metric that must be fitted: a metric that reduces its stored rows without a fit. `compare` of two
    finished runs needs it."""

    summary_error: float = 0.0
    """How far `of_moments` may lie from `reduce` on the same rows."""


class EstimatorExtras(Protocol):
    """Optional attributes of an estimator, each with the value that is assumed where it is absent."""

    nested: bool = True
    """Whether known agents are estimated anew for each target without the target's dialogues. False where one
    estimate takes minutes: each agent is then estimated once."""

    model: str | None = None
    """Name of the encoder of texts. `ope` computes the vectors once for all estimators that name the same encoder."""

    holds_data: bool = False
    """Whether fields of the estimator hold numbers from outside the logs. A resumed run then compares these fields
    too, since the signature does not show them. The estimator must be a dataclass."""


class AgentExtras(Protocol):
    """Optional attributes of an agent, each with the value that is assumed where it is absent."""

    signature: Signature | None = None
    """What must be equal for replies to be equal; a resumed `respond` compares it. Default: the `repr` of the agent."""

    concurrent: bool = False
    """Whether several threads may call the agent at once. The rating app otherwise calls it one at a time."""


@runtime_checkable
class Streaming(Protocol, metaclass=PluginProtocol):
    """An agent that can give its reply piece by piece; the rating app shows the pieces as they come."""

    def stream(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Iterator[str | Reply]:
        """The pieces of the reply in order. A `Reply` is the last one and replaces them, for one with an outcome."""
        ...


Learns = Literal["ratings", "dialogues", "preferences"]


class TrainerExtras(Protocol):
    """Optional attributes of a trainer, each with the value that is assumed where it is absent."""

    learns: Learns = "dialogues"
    """What the training data must contain. With `ratings`, `train` fills `TrainingTask.ratings` and passes on rated
    items only; with `preferences` it fills `TrainingTask.preferences`."""

    takes_guard: bool = False
    """Whether the trainer has two settings, so that `turnwise attack --harden` can use it: `guard`, the agent whose
    alternatives are frauds, and `start`, the folder of the model that gets the guard ("" for none). The metric of the
    same name must take such a folder as its setting `trained`."""


class WorldExtras(Protocol):
    """Optional attributes of a world's module, each with the value that is assumed where it is absent."""

    make_world: Callable[..., Any] | None = None
    """A function that makes the world from `db`, `goals`, `delexicalised` and `simulator`, for a world with these
    options of `turnwise simulate`. `simulate` uses the world it returns in place of `WORLD`, and passes it to `family`
    as the keyword `world`."""

    with_user: Callable[..., Any] | None = None
    """A function that makes the world in which another user talks, for a world whose user can be a trained model
    (`turnwise simulate --user FOLDER`). `simulate` passes it the user that it read from the folder."""


def metric_extras(metric: object) -> MetricExtras:
    """The optional attributes of a metric, with defaults for those it does not have."""
    return cast("MetricExtras", _WithDefaults(metric, MetricExtras))


def estimator_extras(estimator: object) -> EstimatorExtras:
    """The optional attributes of an estimator, with defaults for those it does not have."""
    return cast("EstimatorExtras", _WithDefaults(estimator, EstimatorExtras))


def agent_extras(agent: object) -> AgentExtras:
    """The optional attributes of an agent, with defaults for those it does not have."""
    return cast("AgentExtras", _WithDefaults(agent, AgentExtras))


def trainer_extras(trainer: object) -> TrainerExtras:
    """The optional attributes of a trainer, with defaults for those it does not have."""
    return cast("TrainerExtras", _WithDefaults(trainer, TrainerExtras))


def world_extras(module: object) -> WorldExtras:
    """The optional attributes of a world's module, with defaults for those it does not have."""
    return cast("WorldExtras", _WithDefaults(module, WorldExtras))


@runtime_checkable
class Priced(Protocol, metaclass=PluginProtocol):
    """A metric whose calls cost money or requests."""

    def cost(self, items: Sequence[Item], /) -> Any:
        """What scoring these items will cost; costs can be added, and `str` of one is shown to the user."""
        ...


@runtime_checkable
class Abstains(Protocol, metaclass=PluginProtocol):
    """A metric that leaves items unscored for several reasons, which are counted apart."""

    def why_unscored(self, item: Item, /) -> str:
        """The reason for an item whose row has a NaN. Without this method it is `unscored`, the same for all items."""
        ...


@runtime_checkable
class Explains(Protocol, metaclass=PluginProtocol):
    """A metric that can say more about an item's score than the number: a reason, or what it found where."""

    def explanations(self, items: Sequence[Item], /) -> Sequence[Mapping[str, Any] | None]:
        """What is behind the score of each item, as an object that JSON can hold; None where nothing is.

        Called after `rows` for the same items, also for items without a score. It is written to items.jsonl under
        `explanations`; the texts `reason` and `why`, and an `interval` of the score, are shown beside it.
        """
        ...


@runtime_checkable
class Summarises(Explains, Protocol):
    """A metric that has something to say about all explanations of an agent: what a judge cost, or how judges agree."""

    def summary(self, explanations: Sequence[Mapping[str, Any]], /) -> Mapping[str, Any]:
        """Further keys of the agent's result in results.json."""
        ...


@runtime_checkable
class Asks(Protocol, metaclass=PluginProtocol):
    """A metric that sends questions to a language model, which can be read before they are sent."""

    def questions(self, item: Item, /) -> Sequence[Any]:
        """What is sent for an item: questions with their `messages` and a `digest` of them."""
        ...


@runtime_checkable
class Curved(Protocol, metaclass=PluginProtocol):
    """A metric with a curve behind its number, such as precision against recall. It must be `ChecksSample` too."""

    def curve(self, rows: Rows, /) -> Any:
        """A named tuple of arrays of one length; it is thinned and written to results.json."""
        ...


@runtime_checkable
class SamplesRaters(Protocol, metaclass=PluginProtocol):
    """A metric of ratings whose intervals and tests cover the sampling of raters too, besides that of clusters."""

    def rater_interval(self, rows: Rows, codes: Ints, /) -> tuple[tuple[float, float] | None, str]:
        """The interval of the rows' number, and its method; `codes` has the cluster of each row."""
        ...

    def rater_difference(
        self, a: Rows, codes_a: Ints, b: Rows, codes_b: Ints, /
    ) -> tuple[tuple[float, float] | None, float, str]:
        """The interval of the number of `a` minus that of `b`, p against 0, and the method."""
        ...


@runtime_checkable
class HasRaterErrors(SamplesRaters, Protocol):
    """A metric whose difference between agents has a standard error and degrees of freedom of Student's t.

    Without it they are taken from the 95 % interval, with as many degrees of freedom as there are clusters, less 1.
    """

    def rater_errors(self, a: Rows, codes_a: Ints, b: Rows, codes_b: Ints, /) -> tuple[StandardErrors, str]:
        """The standard error of the number of `a` minus that of `b`, and the method."""
        ...


@runtime_checkable
class KnowsTraining(Protocol, metaclass=PluginProtocol):
    """A metric that knows which items it was trained on."""

    def in_training(self, items: Sequence[Item], /) -> int:
        """How many of these items it was trained on; `meta` reports the number beside the agreement."""
        ...


@runtime_checkable
class ReadsPlaceholders(Protocol, metaclass=PluginProtocol):
    """A metric that reads placeholders such as [hotel_name] in replies, and passes over those it does not know."""

    def unknown_placeholders(self, items: Sequence[Item], /) -> Iterator[str]:
        """Each placeholder that it does not know, as often as it occurs."""
        ...


@runtime_checkable
class TakesMetrics(Protocol, metaclass=PluginProtocol):
    """An estimator that predicts from metrics' numbers of each agent's replies."""

    @property
    def metrics(self) -> Sequence[str]:
        """Names of the metrics."""
        ...

    def with_scores(self, numbers: Mapping[str, Mapping[str, float]], /) -> Estimator:
        """The estimator with its numbers: metric -> agent -> number."""
        ...


@runtime_checkable
class TakesSelfPlay(Protocol, metaclass=PluginProtocol):
    """An estimator that needs dialogues which each agent held with a simulated user."""

    @property
    def played(self) -> Mapping[str, Episodes]:
        """The dialogues that it was given, agent -> its episodes; empty before."""
        ...

    def with_dialogues(self, played: Mapping[str, Episodes], /) -> Estimator:
        """The estimator with these dialogues: agent -> its episodes."""
        ...


CriticReward = Literal["auto", "success", "one", "progress", "rating"]
"""What the reward of a critic is taken from; `auto` is the rating if there is one, otherwise success."""

TextForm = Literal["auto", "one", "logged"]
"""The form in which a critic reads the texts of task logs."""


@runtime_checkable
class TaskCritic(Protocol, metaclass=PluginProtocol):
    """An estimator of the discounted return of a task: what `turnwise ope` asks of a critic beyond an estimate."""

    @property
    def signature(self) -> Signature:
        """Everything that must be equal for two values to be comparable."""
        ...

    @property
    def reward(self) -> CriticReward:
        """What the reward is taken from; `auto` is not resolved here."""
        ...

    @property
    def discount(self) -> float:
        """The discount factor gamma."""
        ...

    @property
    def text_form(self) -> TextForm:
        """`one` or `logged`: the form in which texts are read."""
        ...

    @property
    def trained_controls(self) -> list[str]:
        """Names (without prefix) of the controls whose value is 0 by training."""
        ...

    def with_facts(self, facts: Mapping[str, Facts], /) -> Self:
        """A copy with the task facts of the dialogues, by dialogue id."""
        ...

    def with_reward(self, reward: CriticReward, /) -> Self:
        """A copy with another reward."""
        ...

    def evaluation(self, episodes: Episodes, /, *, seed: int = 0) -> Evaluation:
        """What is fitted once on these dialogues, and then values any system on them."""
        ...

    def estimate(self, episodes: Episodes, target: str, /, *, rng: Any) -> Estimate:
        """The value of the target on the dialogues that it did not hold."""
        ...


@runtime_checkable
class SumEstimator(Protocol, metaclass=PluginProtocol):
    """An estimator that needs only sums over the logs, for `turnwise ope --stream`."""

    @property
    def model(self) -> str:
        """Name of the encoder of texts."""
        ...

    def value(self, problem: Problem) -> float:
        """The target's value from sums alone; arrays of single dialogues in `problem` are empty or means."""
        ...


@runtime_checkable
class EstimatesMany(Protocol, metaclass=PluginProtocol):
    """An estimator for which many targets at once cost less than one after the other."""

    def estimates(self, episodes: Episodes, targets: Sequence[str], /, *, rng: Any) -> list[Estimate]:
        """The estimate of each target, from the dialogues that it did not hold."""
        ...


def read_attribute(plugin: object, name: str, default: Any) -> Any:
    """An attribute of a plugin, or `default` if it has none; raises `PluginError` if the attribute itself raises.

    Errors of turnwise and running out of memory pass through, and so does every exception of turnwise's own classes.
    """
    try:
        with plugin_code():
            try:
                return getattr(plugin, name)
            except AttributeError:
                if isinstance(getattr_static(plugin, name, None), property | cached_property):
                    raise  # it is there, and its code is wrong
                return default
    except (TurnwiseError, MemoryError):
        raise
    except Exception as error:
        kind = plugin if isinstance(plugin, type) else type(plugin)
        if kind.__module__.partition(".")[0] == "turnwise":
            raise  # a mistake of ours: its traceback is wanted
        about, path = named_parts(plugin)
        raised = f"{path}.{name} raised {described(error, module_of(plugin))}"
        raise PluginError(raised, about=about) from error


class _WithDefaults:
    """Reads an attribute of a plugin, else the default that a protocol declares.

    Attributes are read when they are used, because some are computed (a model is loaded for `half_width`).
    """

    __slots__ = ("_declared", "_plugin")

    def __init__(self, plugin: object, declared: type) -> None:
        self._plugin, self._declared = plugin, declared

    def __getattr__(self, name: str) -> Any:
        """The plugin's attribute, else the protocol's default; a name that neither has raises `AttributeError`.

        Raises `PluginError` if a plugin's own attribute raises.
        """
        return read_attribute(self._plugin, name, getattr(self._declared, name))
