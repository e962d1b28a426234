"""Rated dialogues and rated dimensions: what the corpora rate beside the nine groups, under one set of names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from papers.rated_corpora import GROUPS, Rated
from turnwise.logs import native
from turnwise.logs.items.items import Selection, items
from turnwise.meta.gold import gold
from turnwise.metrics.learned.turnwise.metric import OVERALL
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights
from turnwise.types import Dialogue, Floats, Item, Rating

# Dimension -> group -> the corpus's own names; several are averaged. Groups of replies, then of whole dialogues.
DIMENSIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "engaging": {
        "usr_persona": ("engaging",), "fed_turn": ("engaging",), "engage": ("engaging",),
        "ji2022": ("interesting", "fun"),
    },
    "relevant": {
        "usr_persona": ("maintains_context",), "grade dailydialog": ("coherence",), "grade convai2": ("coherence",),
        "grade empathetic": ("coherence",), "fed_turn": ("relevant",), "holistic": ("coherence",),
        "fbd dailyz": ("relevance",), "fed_dialog": ("coherent",), "ieval": ("makes_sense",), "ji2022": ("topic",),
    },
    "fluent": {
        "usr_persona": ("natural",), "fed_turn": ("fluent",), "fbd dailyz": ("grammar",), "ji2022": ("fluent",),
    },
    "specific": {
        "usr_persona": ("uses_knowledge",), "fed_turn": ("specific",), "fbd dailyz": ("content",),
        "fed_dialog": ("informative",),
    },
    "consistent": {"fed_turn": ("correct",), "fed_dialog": ("consistent",), "ji2022": ("consistent",)},
    # The quality of the whole dialogue, which the mean score of its replies is to predict.
    "dialogue": {
        "fed_dialog": ("overall",), "convai2_2018": ("overall",), "ieval": ("overall_rank",),
        "ji2022": ("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic"),
    },
}  # fmt: skip
# Group of rated dialogues -> file, and agents that are left out: `qc` was made worse on purpose, to check raters.
DIALOGUES: dict[str, tuple[str, tuple[str, ...]]] = {
    "fed_dialog": ("fed_dialog.jsonl", ()),
    "ji2022": ("ji2022.jsonl.gz", ("qc",)),
    "convai2_2018": ("convai2_2018.jsonl.gz", ()),
    "ieval": ("ieval.jsonl.gz", ()),
}
MOST = 200  # dialogues of a corpus, drawn at random
REPLIES = (2, 30)  # fewest and most replies with a context in a dialogue
SOURCES = {  # group -> publication: groups of one are left out together
    **{name: file for name, (file, _, _) in GROUPS.items()},
    **{name: file for name, (file, _) in DIALOGUES.items()},
    "fed_turn": "fed",
    "fed_dialog": "fed",
}


@dataclass(frozen=True)
class RatedDialogues:
    """Dialogues whose whole was rated, with their replies."""

    name: str
    replies: list[list[Item]]  # of each dialogue, in order
    ratings: dict[str, Floats]  # the corpus's dimension -> (n,) mean ratings

    def values(self, dimensions: Sequence[str]) -> Floats:
        """(n,) the mean over these dimensions."""
        return np.mean([self.ratings[name] for name in dimensions], axis=0)


def rated_dialogues(data: Path) -> Iterator[RatedDialogues]:
    """At most `MOST` dialogues of each corpus, the same ones in every run."""
    for name, (file, without) in DIALOGUES.items():
        wanted = {own for groups in DIMENSIONS.values() for own in groups.get(name, ())}
        found: list[tuple[Dialogue, list[Item]]] = []
        for dialogue in native.read(str(data / file)):
            rated = {one.dimension for one in dialogue.ratings if one.turn is None}
            if (
                dialogue.agent in without
                or not wanted <= rated
                or not any(t.role == "assistant" for t in dialogue.turns)
            ):
                continue
            replies = [item for item in items([dialogue], Selection(items="all")) if item.context]
            if REPLIES[0] <= len(replies) <= REPLIES[1]:
                found.append((dialogue, replies))
        order = np.random.default_rng(0).permutation(len(found))[:MOST]
        chosen = [found[at] for at in np.sort(order)]
        ratings = {
            own: np.array([values[d.id] for d, _ in chosen])
            for own in sorted(wanted)
            for values in [_means([one for d, _ in chosen for one in d.ratings], own)]
        }
        yield RatedDialogues(name, [replies for _, replies in chosen], ratings)


def _means(ratings: Sequence[Rating], dimension: str) -> dict[str, float]:
    """The mean rating of each dialogue on one dimension."""
    own = [one for one in ratings if one.dimension == dimension and one.turn is None]
    return dict(gold(own, dimension, "dialogue").values)


@dataclass(frozen=True)
class Units:
    """The signals of what was rated, replies or whole dialogues, and its ratings by our names of the dimensions."""

    name: str
    tables: list[Floats]  # the signals (t, k) of each unit: one row for a reply, one a reply for a dialogue
    ratings: dict[str, Floats]  # dimension -> (n,)
    replies: list[list[Item]]

    @property
    def is_turns(self) -> bool:
        """Whether single replies were rated."""
        return self.name in GROUPS

    def rows(self, weights: RidgeWeights) -> Floats:
        """(n, k) the standardised signals of each unit, mean over its replies; NaN for a unit without any."""
        width = len(weights.weights)
        found = [weights.standardise(table[~np.isnan(table).any(axis=1)]) for table in self.tables]
        return np.stack([rows.mean(axis=0) if len(rows) else np.full(width, np.nan) for rows in found])


def rated_units(
    data: Path, groups: Sequence[Rated], table_of: Callable[[Sequence[Item]], Floats]
) -> dict[str, Units]:
    """The nine groups and the rated dialogues by name; `table_of` computes the signals of replies."""
    units = {}
    for group in groups:
        own = {name: of[group.name] for name, of in DIMENSIONS.items() if group.name in of}
        ratings = {OVERALL: np.array(group.values), **_turn_ratings(data, group, own)}
        table = table_of(group.items)
        units[group.name] = Units(
            group.name,
            [table[at : at + 1] for at in range(len(table))],
            ratings,
            [[item] for item in group.items],
        )
    for one in rated_dialogues(data):
        table = table_of([item for replies in one.replies for item in replies])
        ends = np.cumsum([len(replies) for replies in one.replies])[:-1]
        own = {name: of[one.name] for name, of in DIMENSIONS.items() if one.name in of}
        ratings = {name: one.values(names) for name, names in own.items()}
        units[one.name] = Units(one.name, np.split(table, ends), ratings, one.replies)
    return units


def _turn_ratings(data: Path, group: Rated, own: Mapping[str, Sequence[str]]) -> dict[str, Floats]:
    """Dimension -> (n,) the ratings of a group of replies; NaN where there is none."""
    wanted = {item.id for item in group.items}
    ratings = [
        r for d in native.read(str(data / GROUPS[group.name][0])) for r in d.ratings if r.item in wanted
    ]
    means = {
        name: gold([r for r in ratings if r.dimension == name], name, "turn").values
        for name in {name for names in own.values() for name in names}
    }
    return {
        dimension: np.mean(
            [[means[name].get(item.id, np.nan) for item in group.items] for name in names], axis=0
        )
        for dimension, names in own.items()
    }
