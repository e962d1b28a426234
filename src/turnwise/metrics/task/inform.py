"""Inform, Success and Booking of MultiWOZ (Budzianowski et al. 2018), from goals, states and venue tables.

A dialogue counts for inform if the system offered a venue that meets the goal in every domain of the goal. It counts
for success if the system also gave every requested slot. 100 is best. The scored replies replace the logged system
turns, but the user turns are still the logged ones, which answered other replies: `mismatch` measures how often, and
`docs/task.md` discusses the consequences. `combined` adds BLEU.

Two definitions are built in (see `turnwise.metrics.task.offers`): the leaderboard's is the default, and
`inform[evaluator=multiwoz2018]` is that of the older script, as an expectation over its random draws. Published figures
of the two differ by several points, so the signature names the definition.

`success[domain=hotel]` is the rate of one domain: over the dialogues whose goal has it, and of that part of the goal.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from turnwise.errors import unknown
from turnwise.metrics.rows import Mean
from turnwise.metrics.task import ontology as ontologies
from turnwise.metrics.task import venues as tables
from turnwise.metrics.task.goal import DomainGoal, domain_goals
from turnwise.metrics.task.offers import EVALUATORS, Evaluator, offer_met_goal, provided_slots
from turnwise.metrics.task.ontology import Ontology, OntologyReader
from turnwise.metrics.task.system_turns import system_turns
from turnwise.metrics.task.venues import Venues
from turnwise.types import Card, Item, Level, Need, Signature

_CITATION = (
    "Budzianowski et al. 2018, MultiWOZ; Nekvinda and Dusek 2021, Shades of BLEU, Flavours of Success: "
    "The Case of MultiWOZ"
)
_LIMITS = (
    "The user turns are logged ones that answered other replies, so a system can succeed without making sense to a "
    "user. Over four published systems it ranks them in the opposite order of users' own success "
    "(papers/offline-critic.md)."
)


@dataclass(frozen=True, slots=True)
class GoalResult:
    """How far one dialogue met its goal."""

    inform: float  # 0 or 1; with the 2018 evaluator a probability
    success: float
    booking: float | None  # share of the wanted bookings whose reference number was given; None without any


@dataclass(frozen=True, slots=True)
class _GoalMetric(OntologyReader, Mean):
    """A metric of a whole dialogue against its goal."""

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue", "goal", "state"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "the goal asks for nothing that this metric looks at"
    name: ClassVar[str]

    evaluator: Evaluator = "leaderboard"
    ontology: str = "multiwoz"
    db: str | None = None
    domain: str | None = None  # only this part of the goals; None: all of them

    def __post_init__(self) -> None:
        if self.evaluator not in EVALUATORS:
            raise unknown("evaluator", self.evaluator, EVALUATORS)
        if self.domain is not None and self.domain not in (known := ontologies.load(self.ontology).domains):
            raise unknown("domain", self.domain, tuple(known))

    @property
    def _tables(self) -> tuple[Ontology, Venues]:
        """The ontology and the venue tables, each loaded once per process; raises `NoTables` without tables."""
        ontology = ontologies.load(self.ontology)
        return ontology, tables.load(self.db or ontologies.own_tables(self.ontology), ontology)

    @property
    def signature(self) -> Signature:
        """The evaluator, the ontology and a digest of the venue tables; raises `NoTables` if these are not found."""
        ontology, venues = self._tables
        settings = {
            "eval": self.evaluator,
            "ontology": f"{ontology.name}@{ontology.fingerprint[:8]}",
            "db": venues.fingerprint[:8],
            **({} if self.domain is None else {"domain": self.domain}),
        }
        return Signature(self.name, tuple(settings.items()))

    def evaluate(self, item: Item, /) -> GoalResult:
        """Inform, success and booking of one dialogue; with an empty goal inform and success are 1."""
        return self._evaluate(item, self._goals(item))

    def _goals(self, item: Item) -> dict[str, DomainGoal]:
        """The goal of the dialogue by domain, or the part of one domain."""
        goals = domain_goals(item.goal or {}, self._tables[0], where=f"the goal of {item.dialogue}")
        return {name: goal for name, goal in goals.items() if self.domain in (None, name)}

    def _evaluate(self, item: Item, goals: dict[str, DomainGoal]) -> GoalResult:
        """How far the dialogue met these parts of its goal."""
        ontology, venues = self._tables
        turns = system_turns(item, ontology, predicted_states=self.evaluator != "multiwoz2018")
        inform = prod(
            offer_met_goal(goal, domain, turns, venues, ontology, self.evaluator)
            for domain, goal in goals.items()
        )
        provided = {domain: provided_slots(goal, domain, turns, ontology) for domain, goal in goals.items()}
        all_provided = all(provided[domain] == goal.requests for domain, goal in goals.items())
        return GoalResult(
            inform=inform,
            success=inform if all_provided else 0.0,
            booking=_booking_share(goals, provided, ontology),
        )

    def value(self, item: Item, /) -> float:
        """The score of one dialogue, 0 to 100; NaN without a goal (of the domain) or without anything to score."""
        goals = self._goals(item)
        return self.of(self._evaluate(item, goals)) if goals else float("nan")

    @abstractmethod
    def of(self, result: GoalResult) -> float:
        """This metric's score, 0 to 100; NaN where the goal has nothing to score."""


def _booking_share(
    goals: dict[str, DomainGoal], provided: dict[str, frozenset[str]], ontology: Ontology
) -> float | None:
    """Share of the wanted bookings whose reference number was given; None if none is wanted."""
    domains = [domain for domain, goal in goals.items() if goal.wants_booking]
    return sum(ontology.booking in provided[domain] for domain in domains) / len(domains) if domains else None


@dataclass(frozen=True, slots=True)
class Inform(_GoalMetric):
    """`inform`: percentage of dialogues with an offer that meets the goal in every domain."""

    name: ClassVar[str] = "inform"
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of dialogues in which the system offered, in every domain of the goal, a venue that meets it.",
        range="0-100",
        limits=_LIMITS,
        citation=_CITATION,
    )

    def of(self, result: GoalResult) -> float:
        """Inform in percent."""
        return 100 * result.inform


@dataclass(frozen=True, slots=True)
class Success(_GoalMetric):
    """`success`: percentage of dialogues that count for inform and give every requested slot."""

    name: ClassVar[str] = "success"
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of dialogues that count for inform and in which the system gave every requested slot.",
        range="0-100; never above inform",
        limits=_LIMITS,
        citation=_CITATION,
    )

    def of(self, result: GoalResult) -> float:
        """Success in percent."""
        return 100 * result.success


@dataclass(frozen=True, slots=True)
class Booking(_GoalMetric):
    """`booking`: percentage of a goal's bookings whose reference number was given."""

    name: ClassVar[str] = "booking"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of the bookings in the goal whose reference number the system gave after the booking was made.",
        range="0-100",
        limits=_LIMITS + " Whether a booking was made is taken from the log, not from the scored system.",
        citation=_CITATION,
    )

    def of(self, result: GoalResult) -> float:
        """Share of the wanted bookings in percent; NaN if none is wanted."""
        return float("nan") if result.booking is None else 100 * result.booking
