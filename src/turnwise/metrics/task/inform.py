"""Inform, Success and Booking of MultiWOZ (`combined` adds BLEU to the first two), from goals, states and venue tables.

A dialogue informs if in every domain of its goal the system offered what meets the goal, and succeeds if the
system also told everything that was asked for. The system's replies stand in the logged conversation, to
whose user they never spoke: `mismatch` says how often, and `docs/task.md` what follows from it.

Two definitions are built in, by name (`turnwise.metrics.task.offers`): the leaderboard's is the default, and
`inform[evaluator=multiwoz2018]` is the older script's, in expectation over its random draws. Published figures of the
two differ by several points, so the signature names it.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from turnwise.errors import unknown
from turnwise.metrics.rows import Mean
from turnwise.metrics.task import ontology as ontologies
from turnwise.metrics.task import venues as tables
from turnwise.metrics.task.conversation import moves
from turnwise.metrics.task.goal import Wish, wishes
from turnwise.metrics.task.offers import EVALUATORS, Evaluator, matched, told
from turnwise.metrics.task.ontology import Ontology, OntologyReader
from turnwise.metrics.task.venues import Venues
from turnwise.types import Card, Item, Level, Need, Signature

_CITED = (
    "Budzianowski et al. 2018, MultiWOZ; Nekvinda and Dusek 2021, Shades of BLEU, Flavours of Success: "
    "The Case of MultiWOZ"
)
_PSEUDO = (
    "The replies are judged in a conversation that they did not lead, so a system may succeed that no user "
    "could follow: over four published systems it ranks against people's own success (papers/offline-critic.md)."
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of one dialogue."""

    inform: float  # 0 or 1; with the 2018 evaluator a probability
    success: float
    asked: int  # requested slots
    told: int
    booking: float | None  # share of the wished bookings whose reference was told; None without any


class _Goal(OntologyReader, Mean):
    """Metrics of a whole dialogue against its goal."""

    __slots__ = ()

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue", "goal", "state"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "the goal asks for nothing that this metric looks at"
    name: ClassVar[str]

    evaluator: Evaluator
    ontology: str
    db: str | None

    def __post_init__(self) -> None:
        if self.evaluator not in EVALUATORS:
            raise unknown("evaluator", self.evaluator, EVALUATORS)

    @property
    def world(self) -> tuple[Ontology, Venues]:
        ontology = ontologies.load(self.ontology)
        return ontology, tables.load(self.db, ontology)

    @property
    def signature(self) -> Signature:
        ontology, venues = self.world
        settings = {
            "eval": self.evaluator,
            "ontology": f"{ontology.name}@{ontology.fingerprint[:8]}",
            "db": venues.fingerprint[:8],
        }
        return Signature(self.name, tuple(settings.items()))

    def judge(self, item: Item, /) -> Judgement:
        ontology, venues = self.world
        wished = wishes(item.goal or {}, ontology, where=f"the goal of {item.dialogue}")
        made = moves(item, ontology, own=self.evaluator != "multiwoz2018")
        met = {
            domain: matched(wish, domain, made, venues, ontology, self.evaluator)
            for domain, wish in wished.items()
        }
        heard = {domain: told(wish, domain, made, ontology) for domain, wish in wished.items()}
        all_told = all(heard[domain] == wish.requests for domain, wish in wished.items())
        inform = prod(met.values())
        return Judgement(
            inform=inform,
            success=inform if all_told else 0.0,
            asked=sum(len(wish.requests) for wish in wished.values()),
            told=sum(map(len, heard.values())),
            booking=_booked(wished, heard, ontology),
        )

    def value(self, item: Item, /) -> float:
        return self.of(self.judge(item)) if item.goal else float("nan")

    @abstractmethod
    def of(self, judgement: Judgement) -> float: ...


def _booked(wished: dict[str, Wish], heard: dict[str, frozenset[str]], ontology: Ontology) -> float | None:
    books = [domain for domain, wish in wished.items() if wish.books]
    return sum(ontology.booking in heard[domain] for domain in books) / len(books) if books else None


@dataclass(frozen=True, slots=True)
class Inform(_Goal):
    name: ClassVar[str] = "inform"
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of dialogues in which the system offered, in every domain of the goal, what meets it.",
        range="0-100",
        limits=_PSEUDO,
        citation=_CITED,
    )

    evaluator: Evaluator = "leaderboard"
    ontology: str = "multiwoz"
    db: str | None = None

    def of(self, judgement: Judgement) -> float:
        return 100 * judgement.inform


@dataclass(frozen=True, slots=True)
class Success(_Goal):
    name: ClassVar[str] = "success"
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of dialogues that inform and in which everything asked for was told.",
        range="0-100; never above inform",
        limits=_PSEUDO,
        citation=_CITED,
    )

    evaluator: Evaluator = "leaderboard"
    ontology: str = "multiwoz"
    db: str | None = None

    def of(self, judgement: Judgement) -> float:
        return 100 * judgement.success


@dataclass(frozen=True, slots=True)
class Booking(_Goal):
    name: ClassVar[str] = "booking"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of the bookings that the goal wishes whose reference number the system told after "
        "they had been made.",
        range="0-100",
        limits=_PSEUDO + " Whether a booking was made is taken from the log, not from the scored system.",
        citation=_CITED,
    )

    evaluator: Evaluator = "leaderboard"
    ontology: str = "multiwoz"
    db: str | None = None

    def of(self, judgement: Judgement) -> float:
        return float("nan") if judgement.booking is None else 100 * judgement.booking
