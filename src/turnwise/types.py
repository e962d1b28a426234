"""The data types and protocols that all packages share: dialogues, items, rows, metrics, estimators, findings.

Optional attributes of plugins are declared in `turnwise.protocols`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, make_dataclass
from functools import cache
from hashlib import blake2b
from inspect import get_annotations, getattr_static
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
    runtime_checkable,
)

import msgspec

if TYPE_CHECKING:
    from abc import ABCMeta as ProtocolMeta

    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Rows: TypeAlias = Floats | csr_array[np.float64]  # (n, k) evidence, one row an item
else:
    ProtocolMeta = type(Protocol)

    def __getattr__(name: str) -> Any:
        if name not in ("Floats", "Ints", "Rows", "NDArray", "np"):
            raise AttributeError(f"module `turnwise.types` has no `{name}`", name=name)
        # Here, because numpy takes longer to load than the help of a command.
        import numpy as np
        from numpy.typing import NDArray

        floats, ints = NDArray[np.float64], NDArray[np.int64]
        globals().update(
            np=np, NDArray=NDArray, Floats=floats, Ints=ints, Rows="Floats | csr_array[np.float64]"
        )
        return globals()[name]


Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)
Winner = Literal["this", "other", "tie", "both_bad"]  # seen from the dialogue that holds the preference
Position = Literal["first", "second"]  # where the dialogue that holds a preference was shown
Direction = Literal["higher", "lower"]  # which end of a rating scale is the good one
Level = Literal["turn", "dialogue", "system"]
MetaLevel = Literal["turn", "dialogue", "system", "pair"]  # what agreement is measured on; pair: preferences
Need = Literal["context", "references", "dialogue", "goal", "state"]
Kind = Literal[
    "reference", "distribution", "learned", "unreferenced", "feature", "task", "rating", "estimator"
]
Status = Literal["ok", "error", "skipped", "refused"]
OTHER_TURN = "other_turn"  # key of a preference: index of the reply in the other dialogue, if not `turn`
TASK = "task"  # key of a record: the name of the task that the agent was given
TRIAL = "trial"  # key of a record: which of the agent's trials of the task it is
FAILURE = "failure"  # key of a record: what broke down outside the agent, such as `rate limit`
SITTING = "sitting"  # key of a rating: on which of several occasions the rater gave it
AUTOMATIC = (
    "automatic"  # key of a rating or preference: true if a language model or a program gave it, not a person
)
MEAN_RATER = "mean"  # the name of the rater where a corpus published only the mean rating
DimensionScores: TypeAlias = Mapping[str, float]  # dimension -> value
LARGEST = 1e50  # largest size of a rating, an outcome or a metric's number: its sixth power is still a float


class Record(msgspec.Struct, frozen=True, gc=False):
    """Base of the types that corpora hold by the million: a struct is built 14 times as fast as a dataclass.

    `dataclasses.replace`, `fields` and `asdict` work on it as on a frozen dataclass. The garbage collector does not
    look for cycles through records (`gc=False`), which makes corpora in memory cheaper: a record must not hold itself.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = {}

    def __init_subclass__(cls) -> None:
        """Give the subclass the fields of a dataclass, which `dataclasses.replace` and `fields` look for."""
        names = [*cls.__dataclass_fields__, *get_annotations(cls)]
        plain = make_dataclass(cls.__name__, names, init=False, repr=False, eq=False)
        cls.__dataclass_fields__ = vars(plain)["__dataclass_fields__"]


class Reply(Record, frozen=True):
    """What an agent says, or would have said, at one point."""

    content: str
    outcome: DimensionScores | None = (
        None  # scores of the decision it commits to; such a reply ends the dialogue
    )
    relabelled: DimensionScores | None = (
        None  # scores of the decision it would take if the dialogue ended here
    )


class Turn(Record, frozen=True):
    """One message of a dialogue, with what other agents would have said in its place."""

    role: Role
    content: str | None  # None only beside tool calls
    references: tuple[str, ...] = ()
    alternatives: Mapping[str, tuple[Reply, ...]] = {}
    outcome: DimensionScores | None = None
    state: Mapping[str, Any] | None = None
    acts: tuple[Any, ...] | None = None
    extra: Mapping[str, Any] = {}  # unknown keys, passed through
    parts: tuple[Mapping[str, Any], ...] = ()  # content in parts, as OpenAI has it; `content` is their text

    @property
    def text(self) -> str:
        """The content; empty if it is None."""
        return self.content or ""

    @property
    def tool_calls(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls of this message in OpenAI's form, an older `function_call` last; without those that
        are no objects.
        """
        calls = self.extra.get("tool_calls")
        found = [*calls] if isinstance(calls, list | tuple) else []
        found.append(self.extra.get("function_call"))
        return tuple(call for call in found if isinstance(call, Mapping))


class Rating(Record, frozen=True):
    """One rating of one item by one person."""

    item: str  # id of the rated `Item`
    dimension: str
    value: float
    rater: str | None = None  # None where it was not published
    turn: int | None = None  # None: the whole dialogue was rated
    scale: tuple[float, float] | None = None
    direction: Direction = "higher"
    extra: Mapping[str, Any] = {}
    declared: bool = False  # whether the log itself says "higher", which is also the default


class Preference(Record, frozen=True):
    """One person's choice between this dialogue and another one, or between their replies to one context."""

    other: str  # id of the other dialogue
    winner: Winner
    dimension: str = "overall"
    rater: str | None = None  # None where it was not published
    turn: int | None = None  # index of the compared reply; None: the whole dialogues were compared
    shown: Position | None = None  # None where it was not recorded
    extra: Mapping[str, Any] = {}


class Dialogue(Record, frozen=True):
    """One dialogue of an agent, with its ratings and preferences."""

    id: str
    agent: str
    turns: tuple[Turn, ...]
    ratings: tuple[Rating, ...] = ()
    goal: Mapping[str, Any] | None = None
    meta: Mapping[str, Any] = {}
    extra: Mapping[str, Any] = {}
    preferences: tuple[Preference, ...] = ()

    @property
    def task(self) -> str:
        """The task that the agent was given, if the record says of which trial it is; else empty."""
        return label(self.extra.get(TASK)) if self.trial else ""

    @property
    def trial(self) -> str:
        """Which of the agent's trials of the task it is; empty where that is not said."""
        return label(self.extra.get(TRIAL))

    @property
    def failure(self) -> str:
        """What broke down outside the agent, so that the dialogue does not show what the agent can do; else empty."""
        return label(self.extra.get(FAILURE))


def system_prompt(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The messages of role `system` at the beginning, which are configuration of the agent."""
    return turns[: next((place for place, turn in enumerate(turns) if turn.role != "system"), len(turns))]


def without_prompt(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The turns after the system prompt."""
    return turns[len(system_prompt(turns)) :]


def label(value: object) -> str:
    """A name: a text as it is, a whole number as text, and anything else as an empty text."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


class Item(Record, frozen=True):
    """One unit that is scored: a reply in its context, or a whole dialogue."""

    id: str
    dialogue: str
    agent: str
    turns: tuple[Turn, ...]  # the context and, last, the scored reply; or the whole dialogue
    turn: int | None  # index of the reply in its dialogue; None for a whole dialogue
    cluster: str  # items of one cluster are resampled and split together
    pair: str  # items of different agents with the same pair reply to the same context
    group: str = ""  # the value of --by
    weight: float = 1.0  # 1/K for one of K sampled replies
    role: Role = "assistant"  # whose turns are scored
    goal: Mapping[str, Any] | None = None
    meta: Mapping[str, Any] = {}
    missing: str | None = None  # why there is nothing to score here
    ratings: tuple[
        Rating, ...
    ] = ()  # people's, of this reply or of this whole dialogue; for `rating:DIMENSION`
    task: str = ""  # of a dialogue that is a trial of a task; with the group, as pair and cluster have it
    trial: str = ""
    failure: str = ""  # what broke down outside the agent

    @property
    def context(self) -> tuple[Turn, ...]:
        """The turns before the scored reply; of a whole dialogue all turns."""
        return self.turns if self.turn is None else self.turns[:-1]

    @property
    def reply(self) -> str:
        """The text of the last turn: the scored reply, or the last message of a whole dialogue."""
        return self.turns[-1].text

    @property
    def references(self) -> tuple[str, ...]:
        """The references of the last turn."""
        return self.turns[-1].references

    @property
    def replies(self) -> tuple[str, ...]:
        """Every text of the scored role in `turns`, the scored reply included."""
        return tuple(turn.text for turn in self.turns if turn.role == self.role)


def item_id(dialogue: str, turn: int | None) -> str:
    """`DIALOGUE#TURN` for a reply; the dialogue's id for a whole dialogue (turn None)."""
    return dialogue if turn is None else f"{dialogue}#{turn}"


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that must be equal for two numbers to be comparable."""

    name: str
    fields: tuple[tuple[str, str], ...] = ()
    parts: tuple[Signature, ...] = ()  # signatures of the encoders and models inside
    version: int = 1  # increased when the same settings give another number

    def __str__(self) -> str:
        settings = [f"{key}:{value}" for key, value in self.fields]
        parts = [f"[{part}]" for part in self.parts]
        return "|".join([self.name, *settings, *parts, f"v:{self.version}"])


@dataclass(frozen=True, slots=True)
class Card:
    """What a user must know to read a metric's or an estimator's number."""

    kind: (
        Kind  # of a `feature`, such as length, neither direction is better, whatever `higher_is_better` says
    )
    meaning: str
    range: str
    limits: str
    citation: str


class PluginProtocol(ProtocolMeta):
    """Metaclass of the protocols of plugins: `isinstance` looks members up without running any code of the plugin.

    Python 3.12 does so for every protocol. Python 3.11 reads each member, so a property that raises would end the
    run; whether it does depends on the order of a set.
    """

    def __instancecheck__(self, instance: object) -> bool:
        """Whether the object's class derives from the protocol, or the object has all members of the protocol.

        A method that is None counts as absent, and so does a member that only `__getattr__` supplies.
        """
        if Protocol not in self.__bases__:  # an ordinary class that derives from a protocol
            return super().__instancecheck__(instance)
        return self in type(instance).__mro__ or all(
            _has_member(instance, name, is_method=is_method) for name, is_method in _protocol_members(self)
        )


@cache
def _protocol_members(protocol: type) -> tuple[tuple[str, bool], ...]:
    """The name of each member of a protocol, and whether it is a method."""
    declared = [base for base in protocol.__mro__ if Protocol in base.__bases__]
    names = {name for base in declared for name in (*vars(base), *get_annotations(base))}
    return tuple(
        (name, callable(getattr_static(protocol, name, None)))
        for name in sorted(names)
        if not name.startswith("_")
    )


def _has_member(instance: object, name: str, *, is_method: bool) -> bool:
    """Whether an object has an attribute of this name, without reading it."""
    missing = object()
    found = getattr_static(instance, name, missing)
    return found is not missing and not (is_method and found is None)


@runtime_checkable
class Metric(Protocol, metaclass=PluginProtocol):
    """Items become rows of evidence; any subset of rows reduces to one number.

    A row with a NaN in it is an item that could not be scored: it is counted and left out, never zero.
    """

    level: ClassVar[Level]  # the finest level at which the number means something
    needs: ClassVar[frozenset[Need]]
    higher_is_better: ClassVar[bool]
    card: ClassVar[Card]
    unscored: ClassVar[str]  # why a row may be NaN, in words for the user

    @property
    def signature(self) -> Signature:
        """What must be equal for two numbers of this metric to be comparable."""
        ...

    def rows(self, items: Sequence[Item], /) -> Rows:
        """(n, k) evidence of n items, one row an item; a row with NaN is an item that cannot be scored."""
        ...

    def reduce(self, rows: Rows, /) -> float:
        """The number of these rows, NaN if none is scored; rows with NaN are left out."""
        ...


@runtime_checkable
class Summed(Metric, Protocol):
    """A metric whose number is a function of the sum of its rows: resampling then needs only sums."""

    def of_sums(self, sums: Floats, /) -> Floats:
        """(..., k) sums of rows -> (...) numbers."""
        ...


class Addable(Protocol):
    """Mergeable summary of discarded rows; summaries can be added in any order."""

    def __add__(self, other: Self, /) -> Self: ...


Moments = TypeVar("Moments", bound=Addable)


@runtime_checkable
class HasMoments(Metric, Protocol[Moments]):
    """A metric whose number is a function of moments that add up: any number of rows in the memory of one block."""

    def moments(self, rows: Rows, /) -> Moments:
        """A summary of these rows, which can be added to those of other rows."""
        ...

    def of_moments(self, moments: Moments, /) -> float:
        """The number of all rows behind the moments; raises `Refused` where they cannot support one."""
        ...


@runtime_checkable
class ChecksSample(Protocol, metaclass=PluginProtocol):
    """A metric that has a minimum sample size and reports diagnostics."""

    def check(self, rows: Rows, /) -> None:
        """Raises `Refused` where these rows cannot support a number. Not called for resamples."""
        ...

    def details(self, rows: Rows, /) -> Mapping[str, float]:
        """Further numbers about these rows by name, written beside the estimate."""
        ...


@runtime_checkable
class NeedsFitting(Protocol, metaclass=PluginProtocol):
    """A metric that must be fitted on data first, for example on the references of a distance between distributions."""

    needs: ClassVar[frozenset[Need]]

    def fit(self, items: Iterable[Item], /) -> Metric:
        """The metric, fitted on these items and ready to score."""
        ...


class Agent(Protocol):
    """Produces replies. It takes chance only from the generator it is given, so replies are reproducible."""

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        """The reply to these turns; equal generators give equal replies."""
        ...


@dataclass(frozen=True, slots=True)
class RepliesAtPoints:
    """The replies of one agent at each of n logged points, up to K samples a point: their texts, whether they
    end the dialogue, and the scores of their decisions.
    """

    text: Ints  # (n, K) indices into `Episodes.texts`; -1 where there is no such sample
    end: NDArray[np.bool_]  # (n, K) whether the reply ends the dialogue
    outcome: Floats  # (n, K) the score of the decision that the reply commits to; NaN where it takes none
    relabelled: Floats  # (n, K) the score of the decision it would take if the dialogue ended here, or NaN


@dataclass(frozen=True, slots=True, eq=False)
class Episodes:
    """Logged dialogues as arrays: points are the logged replies, dialogue after dialogue, turn after turn."""

    rating: str  # the dimension that is estimated
    scale: tuple[float, float] | None  # where the ratings name one
    agents: tuple[str, ...]  # all agents that held a dialogue
    dialogues: tuple[str, ...]  # N ids
    agent: Ints  # (N,) indices into `agents`
    reward: Floats  # (N,) the rating of the logged dialogue; NaN where nobody gave one
    cluster: Ints  # (N,) dialogues with the same number are resampled together
    first: Ints  # (N + 1,) the points of dialogue i are first[i] to first[i + 1]
    texts: tuple[str, ...]  # every distinct text, once
    user: Ints  # (n,) the user turn before a point, an index into `texts`; -1 where it has none
    logged: RepliesAtPoints  # K = 1
    alternatives: Mapping[str, RepliesAtPoints]  # agent -> what it would have said at these points
    log_probs: Mapping[str, Floats] = field(
        default_factory=dict
    )  # agent -> (n,) of the logged reply, said by it


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The estimate of one target by one estimator, before calibration."""

    value: float
    contributions: Floats  # (dialogues seen,) whose mean is `value`; used by resampling and diagnostics
    # Mean of the logged ratings, where a higher level of all of them would raise `value` by as much; else 0.
    level: float = 0.0
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Floats] = field(default_factory=dict)  # objective and estimate against iteration


@runtime_checkable
class Estimator(Protocol, metaclass=PluginProtocol):
    """Estimates the mean rating of an agent from dialogues that others held.

    `target` names who is asked about. The dialogues that it held itself are not to be looked at: `estimate`
    is always given episodes from which they have been taken.
    """

    card: ClassVar[Card]

    @property
    def signature(self) -> Signature:
        """What must be equal for two estimates to be comparable."""
        ...

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The estimate of the target's mean rating; raises `Refused` if the episodes cannot support one."""
        ...


def digest(*parts: bytes | str | Floats) -> str:
    """Sixteen hex digits of a hash (64 bits) over the parts in order, each with its length; a text counts as UTF-8."""
    hasher = blake2b(digest_size=8)
    for part in parts:
        data = part.encode() if isinstance(part, str) else bytes(part)
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.hexdigest()
