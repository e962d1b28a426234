"""What `play` finds: how agents did with simulated users, how dialogues ended, and how real the users are."""

from typing import ClassVar

from msgspec import field

from turnwise.records.record import Interval, Number, Part, Record, no_counts, nothing


class PlayRecord(Record, frozen=True, kw_only=True):
    """How an agent did: the mean over its scenarios of one score; clusters are scenarios."""

    names: ClassVar[tuple[str, ...]] = ("agent", "dimension")

    agent: str
    dimension: str  # `success`, or a dimension of the world

    @property
    def gate_names(self) -> tuple[str, ...]:
        """The dimension."""
        return (self.dimension,)


class PlayEnds(Part, frozen=True, kw_only=True):
    """How the dialogues of an agent ended."""

    agent: str
    dialogues: int  # all that were held, scored or not
    ends: dict[str, int] = field(default_factory=no_counts)  # reason -> dialogues
    simulator_faults: dict[str, int] = field(default_factory=no_counts)  # kind -> dialogues that it ended
    discarded: dict[str, int] = field(
        default_factory=no_counts
    )  # kind -> messages of the user that were tried again
    calls: int  # of the agent, the user and the judge
    cost: Number = field(default_factory=nothing)
    unjudged: int = 0  # dialogues whose rubric nobody judged, or of which the judge said nothing


class RealismRecord(Record, frozen=True, kw_only=True):
    """How far the simulated users' messages are from real ones, by one measure.

    `floor` is the same measure between two halves of the real dialogues.
    """

    names: ClassVar[tuple[str, ...]] = ("kind", "measure")

    kind: str
    measure: str
    simulated: Number = field(
        default_factory=nothing
    )  # the measure's own number on each side, where it has one
    real: Number = field(default_factory=nothing)
    floor: Number = field(default_factory=nothing)
    floor_interval: Interval = field(default_factory=nothing)


class RankCheck(Part, frozen=True, kw_only=True):
    """Whether the simulation ranks agents as real ratings do, on agents that met both."""

    dimension: str  # of the real ratings
    against: str  # of the simulated scores
    agents: tuple[str, ...]
    kendall: Number
    agreeing_pairs: int
    pairs: int
