"""Metrics that compare delexicalised replies with the logged ones: BLEU, entity F1 and mismatch.

Logged replies by people contain values. If their dialogue acts are known, the values in the acts are first replaced by
placeholders. The replies of systems already have placeholders, whose spelling differs between systems and is unified.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from turnwise.logs.items.points import REFERENCE_ACTS
from turnwise.metrics.reference.bleu import Bleu
from turnwise.metrics.rows import Mean, Sums, quotient
from turnwise.metrics.task import ontology as ontologies
from turnwise.metrics.task.ontology import Ontology, OntologyReader
from turnwise.metrics.task.system_turns import delexicalised, mentions_in_acts
from turnwise.types import Card, Floats, Item, Level, Need, Signature, Turn


def _setting(ontology: Ontology) -> tuple[str, str]:
    """The ontology as a setting of a signature: its name and the first 8 digits of its digest."""
    return "ontology", f"{ontology.name}@{ontology.fingerprint[:8]}"


def _entities(turn: Turn, ontology: Ontology) -> tuple[frozenset[str], frozenset[str]] | None:
    """The known slots that a reply mentions, and those of its first reference, by placeholders and dialogue acts.

    None without a reference.
    """
    if not turn.references:
        return None
    expected = {slot for _, slot in ontology.mentions(turn.references[0])}
    expected |= {slot for _, slot in mentions_in_acts(turn.extra.get(REFERENCE_ACTS, ()), ontology)}
    mentioned = {slot for _, slot in ontology.mentions(turn.text)}
    mentioned |= {slot for _, slot in mentions_in_acts(turn.acts or (), ontology)}
    return frozenset(mentioned & ontology.known), frozenset(expected & ontology.known)


@dataclass(frozen=True, slots=True)
class DelexicalisedBleu(OntologyReader, Sums):
    """`bleu-delex`: BLEU-4 of delexicalised replies and references."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"references"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "no reference has a word in it"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="BLEU-4 of the reply against the logged one, both in lower case, with values replaced by placeholders "
        "of the same spelling.",
        range="0-100",
        limits="Its rank correlation with the success of the same systems with people or a simulator is about 0 "
        "(papers/offline-critic.md). The references are delexicalised by their acts, not by the scripts of "
        "each system, so published figures are reproduced to a point or two.",
        citation="Papineni et al. 2002, BLEU; Nekvinda and Dusek 2021, Shades of BLEU, Flavours of Success",
    )

    ontology: str = "multiwoz"

    @property
    def signature(self) -> Signature:
        """The ontology and the signature of `bleu-4`."""
        inner = Bleu(order=4).signature
        return Signature("bleu-delex", (_setting(ontologies.load(self.ontology)),), parts=(inner,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """The counts of `bleu-4` on the delexicalised texts; NaN if no reference has a word."""
        ontology = ontologies.load(self.ontology)
        return Bleu(order=4).rows(
            [replace(item, turns=(*item.turns[:-1], _delexicalised_turn(item, ontology))) for item in items]
        )

    def of_sums(self, sums: Floats, /) -> Floats:
        """BLEU-4, 0 to 100, from sums of its counts; NaN where the references have no tokens."""
        return Bleu(order=4).of_sums(sums)


def _delexicalised_turn(item: Item, ontology: Ontology) -> Turn:
    """The scored turn in lower case, with unified placeholders in the reply and its references."""
    turn = item.turns[-1]
    acts = turn.extra.get(REFERENCE_ACTS, ())
    references = tuple(
        ontology.unify_placeholders(delexicalised(text, acts, ontology)) for text in turn.references
    )
    reply = ontology.unify_placeholders(delexicalised(turn.text, turn.acts or (), ontology))
    return Turn(turn.role, reply, references)


@dataclass(frozen=True, slots=True)
class EntityF1(OntologyReader, Sums):
    """`entity-f1`: F1 of the kinds of entities, over all replies together."""

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
        limits="Compares kinds of entities, not values, because delexicalised replies have no values. A good reply "
        "that mentions other kinds than the logged one scores low.",
        citation="Eric and Manning 2017, Key-Value Retrieval Networks for Task-Oriented Dialogue",
    )

    ontology: str = "multiwoz"

    @property
    def signature(self) -> Signature:
        """The ontology: its name and the first 8 digits of its digest."""
        return Signature("entity-f1", (_setting(ontologies.load(self.ontology)),))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 4): entities in both, in the reply, in the reference, and 1 for the reply itself.

        NaN without a reference.
        """
        ontology = ontologies.load(self.ontology)
        rows = np.full((len(items), 4), np.nan)
        for row, item in zip(rows, items, strict=True):
            if (entities := _entities(item.turns[-1], ontology)) is not None:
                mentioned, expected = entities
                row[:] = len(mentioned & expected), len(mentioned), len(expected), 1
        return rows

    def of_sums(self, sums: Floats, /) -> Floats:
        """F1 in percent; 100 if neither the replies nor the references mention an entity, NaN without a reply."""
        total = sums[..., 1] + sums[..., 2]
        score = np.where(total > 0, quotient(200 * sums[..., 0], total), 100.0)
        return np.where(sums[..., 3] > 0, score, np.nan)


@dataclass(frozen=True, slots=True)
class Mismatch(OntologyReader, Mean):
    """How often a scored reply follows a context that could not have happened.

    The user's logged turn answered the logged system turn, but in the scored dialogue it follows another system's
    reply. The context of a reply is inconsistent if the reply before it mentions other slots than the logged one.
    """

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})
    higher_is_better: ClassVar[bool] = False
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = "the dialogue has fewer than two system turns, or no reference for them"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Share of the replies, from the second on, whose context is inconsistent: the reply before them "
        "mentions other slots than the logged one, to which the logged user turn is an answer.",
        range="0-100; 0 is a system that always mentions the same slots as the logged one",
        limits="Compares which slots are mentioned, not what is said about them, so it is a lower bound.",
        citation="Lubis et al. 2022, Dialogue Evaluation with Offline Reinforcement Learning (section 2)",
    )

    ontology: str = "multiwoz"

    @property
    def signature(self) -> Signature:
        """The ontology: its name and the first 8 digits of its digest."""
        return Signature("mismatch", (_setting(ontologies.load(self.ontology)),))

    def value(self, item: Item, /) -> float:
        """Percentage of the system turns that mention other slots than their first reference; NaN if no turn counts.

        The last system turn and turns without a reference do not count.
        """
        ontology = ontologies.load(self.ontology)
        replies = [turn for turn in item.turns if turn.role == "assistant"]
        pairs = [entities for turn in replies[:-1] if (entities := _entities(turn, ontology)) is not None]
        different = [mentioned != expected for mentioned, expected in pairs]
        return 100 * float(np.mean(different)) if different else float("nan")
