"""The rated replies for papers/adem.md: six groups with references and three without.

The other parts of `fbd` are copies of `grade` and `usr_persona` and are left out. Ratings are standardised within each
group. Contexts that share a turn, within a group or across groups, count as one context, which is never split between
training and test.
"""

import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from turnwise.logs.native import read_all
from turnwise.metrics import resolve
from turnwise.metrics.learned.adem.bilinear_fit import Examples, Search, learn
from turnwise.metrics.learned.adem.training import standardised
from turnwise.metrics.learned.adem.triples import Triples, context_encoder
from turnwise.metrics.learned.held_out import context_groups, folds
from turnwise.types import Floats, Ints, Item

# name -> file, meta key and value, dimension
GROUPS = {
    "usr_persona": ("usr_persona.jsonl", None, "overall"),
    "grade convai2": ("grade.jsonl.gz", ("corpus", "convai2"), "coherence"),
    "grade dailydialog": ("grade.jsonl.gz", ("corpus", "dailydialog"), "coherence"),
    "grade empathetic": ("grade.jsonl.gz", ("corpus", "empatheticdialogues"), "coherence"),
    "fbd dailyz": ("fbd.jsonl.gz", ("corpus", "dailyz"), "overall"),
    "fbd personaz": ("fbd.jsonl.gz", ("corpus", "personaz"), "overall"),
    "fed_turn": ("fed_turn.jsonl.gz", None, "overall"),
    "engage": ("engage.jsonl", None, "engaging"),
    "holistic": ("holistic.jsonl", ("part", "context"), "coherence"),
}
REFERENCED = tuple(GROUPS)[:6]
MANY = ("usr_persona", "grade convai2", "fbd dailyz", "fbd personaz")  # four systems or more
OVERLAP = "bleu-1 bleu-2 bleu-3 bleu-4 rouge-1 rouge-2 rouge-l rouge-l-b1.2 meteor chrf".split()
FOLDS = 5
SCALE = (-3.0, 3.0)  # of standardised ratings
BRIEF = Search(components=(20, 50), gamma=(0.0, 0.002), rate=(0.01,), batch=(64,))
# The most frequent result of the search.
PLAIN = Search(components=(50,), gamma=(0.002,), rate=(0.01,), batch=(64,))


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Rated replies of all groups."""

    items: list[Item]
    raw: Floats  # mean ratings on the group's own scale
    ratings: Floats  # standardised within the group
    groups: np.ndarray
    contexts: Ints

    def where(self, keep: np.ndarray) -> "Pool":
        rows = np.flatnonzero(keep)
        return Pool([self.items[row] for row in rows], self.raw[rows], self.ratings[rows], self.groups[rows],
                    self.contexts[rows])  # fmt: skip

    @property
    def agents(self) -> np.ndarray:
        return np.array([f"{item.group}/{item.agent}" for item in self.items])


@cache
def pool(data: Path, *, referenced: bool = True) -> Pool:
    """All rated replies with a context; with `referenced`, only those that have a reference."""
    items: list[Item] = []
    raw: list[float] = []
    for name, (file, wanted, dimension) in GROUPS.items():
        for dialogue in read_all([str(data / file)]):
            if wanted and dialogue.meta.get(wanted[0]) != wanted[1]:
                continue
            values = [rating.value for rating in dialogue.ratings if rating.dimension == dimension]
            at = len(dialogue.turns) - 1
            context = "\n".join(turn.text for turn in dialogue.turns[:-1])
            item = Item(f"{name} {dialogue.id}", dialogue.id, dialogue.agent, dialogue.turns, at,
                        cluster=f"{name} {context}", pair=context, group=name)  # fmt: skip
            if values and at > 0 and (item.references or not referenced):
                items.append(item)
                raw.append(float(np.mean(values)))
    groups = np.array([item.group for item in items])
    people = np.array(raw)
    return Pool(items, people, standardised(people, list(groups)), groups, context_groups(items))


def examples(pool: Pool, encoder: str) -> Examples:
    found = Triples.of(pool.items, context_encoder(encoder))
    return Examples(found, pool.ratings, pool.contexts)


def fold_of(pool: Pool) -> Ints:
    return folds(pool.contexts, FOLDS, np.random.default_rng(0))


def crossed(
    given: Examples, fold: Ints, sides: tuple[str, ...], search: Search, keep=None, seed: int = 0
) -> Floats:
    """(m,) predictions for each fold by a head trained on the other folds; only rows in `keep` are trained on."""
    scores = np.full(len(fold), np.nan)
    usable = given.triples.complete(sides) if keep is None else given.triples.complete(sides) & keep
    for number in range(FOLDS):
        learned = learn(given.take(np.flatnonzero((fold != number) & usable)), sides=sides, scale=SCALE,
                        search=search, seed=seed)  # fmt: skip
        test = given.triples.take(np.flatnonzero(fold == number))
        scores[fold == number] = learned.head(test.sides, test.reply)
        print(f"fold {number + 1}: {learned.chosen}", file=sys.stderr, flush=True)
    return scores


def predicted(data: Path, encoder: str) -> tuple[Pool, Floats]:
    """All replies with a reference, and the cross-validated predictions of `adem` with the settings `PLAIN`."""
    people = pool(data)
    return people, crossed(examples(people, encoder), fold_of(people), ("context", "reference"), PLAIN)


def overlap(pool: Pool, name: str) -> Floats:
    """The score of each reply by a word-overlap metric."""
    metric = resolve(name)
    return np.asarray(metric.of_sums(metric.rows(pool.items)))


def marked(items: list[Item], rng: np.random.Generator) -> list[Item]:
    """The items with a random speaker token before every reply and reference, an artefact of Liu et al. 2016."""
    names = ("<first_speaker>", "<second_speaker>")
    return [
        replace(item, turns=(*item.turns[:-1], replace(
            item.turns[-1],
            content=f"{names[int(rng.integers(2))]} {item.reply}",
            references=tuple(f"{names[int(rng.integers(2))]} {text}" for text in item.references),
        )))
        for item in items
    ]  # fmt: skip


def write_untrained(source: Path, target: Path) -> None:
    """Save the encoder of a trained folder with random weights, as a baseline for pretraining."""
    import torch

    from turnwise.encode.models import folder
    from turnwise.networks.hred.encoder import HierarchicalEncoder

    stored = folder.load(source, folder.read_config(source)["kind"])
    settings = stored.config["settings"]
    sizes = {name: settings[name] for name in ("embedding", "utterance", "context")}
    vocabulary = len(stored.tensors["encoder.embedding.weight"])
    torch.manual_seed(0)
    random_weights = HierarchicalEncoder(vocabulary=vocabulary, **sizes).state_dict()
    tensors = {f"encoder.{name}": part.numpy() for name, part in random_weights.items()}
    folder.save(target, kind=stored.kind, tensors=tensors, config=stored.config, card={})
