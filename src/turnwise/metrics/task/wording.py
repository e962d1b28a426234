"""What a system's words are to the logged ones, when both are delexicalised: BLEU, entity F1, mismatch.

The logged words of people are surface text. Where their dialogue acts are known, the values of these are
replaced by placeholders first; systems write placeholders, of which each has its own spelling.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from turnwise.logs.items.points import REFERENCE_ACTS
from turnwise.metrics.reference.bleu import Bleu
from turnwise.metrics.rows import Mean, Sums, quotient
from turnwise.metrics.task import ontology as ontologies
from turnwise.metrics.task.conversation import acted, delexicalised
from turnwise.metrics.task.ontology import Ontology, OntologyReader
from turnwise.types import Card, Floats, Item, Level, Need, Signature, Turn


def _named(ontology: Ontology) -> tuple[str, str]:
    return "ontology", f"{ontology.name}@{ontology.fingerprint[:8]}"


def _entities(turn: Turn, ontology: Ontology) -> tuple[frozenset[str], frozenset[str]] | None:
    """The slots that a reply mentions, and those of its reference; None without a reference."""
    if not turn.references:
        return None
    wanted = {slot for _, slot in ontology.mentions(turn.references[0])}
    wanted |= {slot for _, slot in acted(turn.extra.get(REFERENCE_ACTS, ()), ontology)}
    own = {slot for _, slot in [*ontology.mentions(turn.text), *acted(turn.acts or (), ontology)]}
    return frozenset(own & ontology.known), frozenset(wanted & ontology.known)


@dataclass(frozen=True, slots=True)
class DelexicalisedBleu(OntologyReader, Sums):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="BLEU-4 of the reply against the logged one, both in lower case and with placeholders for "
        "values, all spelt alike.",
        range="0-100",
        limits="Against the success of the same systems with people or a simulator it ranks at about 0 "
        "(papers/offline-critic.md). The references are delexicalised by their acts, not by the scripts of "
        "each system, so published figures are met to a point or two.",
        citation="Papineni et al. 2002, BLEU; Nekvinda and Dusek 2021, Shades of BLEU, Flavours of Success",
    )

    ontology: str = "multiwoz"

    @property
    def signature(self) -> Signature:
        inner = Bleu(order=4).signature
        return Signature("bleu-delex", (_named(ontologies.load(self.ontology)),), parts=(inner,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        ontology = ontologies.load(self.ontology)
        return Bleu(order=4).rows(
            [replace(item, turns=(*item.turns[:-1], _plain(item, ontology))) for item in items]
        )

    def of_sums(self, sums: Floats, /) -> Floats:
        return Bleu(order=4).of_sums(sums)


def _plain(item: Item, ontology: Ontology) -> Turn:
    turn = item.turns[-1]
    acts = turn.extra.get(REFERENCE_ACTS, ())
    references = tuple(ontology.uniform(delexicalised(text, acts, ontology)) for text in turn.references)
    reply = ontology.uniform(delexicalised(turn.text, turn.acts or (), ontology))
    return Turn(turn.role, reply, references)


@dataclass(frozen=True, slots=True)
class EntityF1(OntologyReader, Sums):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "no reference"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="F1 of the kinds of entities (name, phone, price, ...) that the reply mentions against those "
        "of the logged reply, over all replies together.",
        range="0-100",
        limits="Kinds, not values: delexicalised replies have no values. A good reply that mentions other "
        "things than the logged one loses.",
        citation="Eric and Manning 2017, Key-Value Retrieval Networks for Task-Oriented Dialogue",
    )

    ontology: str = "multiwoz"

    @property
    def signature(self) -> Signature:
        return Signature("entity-f1", (_named(ontologies.load(self.ontology)),))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 4): entities in both, in the reply, in the reference, and 1 for the reply itself."""
        ontology = ontologies.load(self.ontology)
        rows = np.full((len(items), 4), np.nan)
        for row, item in zip(rows, items, strict=True):
            if (both := _entities(item.turns[-1], ontology)) is not None:
                own, wanted = both
                row[:] = len(own & wanted), len(own), len(wanted), 1
        return rows

    def of_sums(self, sums: Floats, /) -> Floats:
        """Two empty sets agree."""
        total = sums[..., 1] + sums[..., 2]
        score = np.where(total > 0, quotient(200 * sums[..., 0], total), 100.0)
        return np.where(sums[..., 3] > 0, score, np.nan)


@dataclass(frozen=True, slots=True)
class Mismatch(OntologyReader, Mean):
    """How often a reply answers a context that never happened.

    The user's logged turn answered the logged system; in a pseudo-dialogue it stands after another system's
    words. A reply answers such a context if the reply before it mentions other slots than the logged one did.
    """

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})
    higher_is_better: ClassVar[bool] = False
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "the dialogue has fewer than two system turns, or no reference for them"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of the replies, from the second on, that answer a context that never happened: the "
        "reply before them mentions other things than the logged one, to which the logged user reacted.",
        range="0-100; 0 is a system that mentions what the logged one did",
        limits="Compares which slots are mentioned, not what is said of them: a lower bound.",
        citation="Lubis et al. 2022, Dialogue Evaluation with Offline Reinforcement Learning (section 2)",
    )

    ontology: str = "multiwoz"

    @property
    def signature(self) -> Signature:
        return Signature("mismatch", (_named(ontologies.load(self.ontology)),))

    def value(self, item: Item, /) -> float:
        ontology = ontologies.load(self.ontology)
        replies = [turn for turn in item.turns if turn.role == "assistant"]
        pairs = [both for turn in replies[:-1] if (both := _entities(turn, ontology)) is not None]
        return 100 * float(np.mean([own != wanted for own, wanted in pairs])) if pairs else float("nan")
