"""MAUDE (Sinha et al. 2020): the probability that a reply is the logged one and not a wrong one.

It is trained by noise-contrastive estimation: the logged reply against semantic negatives (turns from elsewhere) and
syntactic negatives (the reply with its words shuffled, dropped or repeated). A recurrent unit encodes the context. A
value near 1 means that the reply fits the context and is well-formed.

How we differ from the paper. Instead of a fine-tuned DistilBERT with a projection we use a frozen sentence encoder
(MiniLM) and its full vectors; the recurrent unit is a GRU of the encoder's width; there are no back-translated or
generated negatives. A sentence vector depends only weakly on word order, so syntactic negatives are detected less well
than in the paper.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from turnwise.metrics.learned.contrastive.metric import Contrastive
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.types import Card

PAIRS = 6_000  # largest number of pairs; few, because the corrupted reply of each pair must be encoded too
SEMANTIC = 3  # semantic negatives of a pair: random turns of the corpus
SHARE = 0.4  # probability that a word is dropped or repeated in a syntactic negative
ATTACKS = ("a question on work or hobbies that fits most contexts (probing paper, Table 1)",)


@dataclass(frozen=True)
class Maude(Contrastive):
    """`maude`: the probability that the reply is the logged one."""

    name: ClassVar[str] = "maude"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Probability that the reply is the logged one and not a turn from elsewhere or a corrupted reply.",
        range="0-1",
        limits="One fixed question scored .98 where people score .8 (probing paper, Table 2). As in the paper, copies "
        "of the context are not among its negatives: a copy of the last turn scored above people in 85 % of contexts. "
        "English only, as its encoder.",
        citation="Sinha et al. 2020, Learning an Unreferenced Metric for Online Dialogue Evaluation",
    )


def train(task: TrainingTask) -> TrainedModel:
    """Train the head on dialogues, or take that of the setting `start`; with the setting `guard`, train a guard."""
    from turnwise.metrics.learned.guard.training import SETTINGS, train_with_guard

    task.check_settings(("epochs", "batch", "piece", "rate", "patience", "hidden", "pairs", *SETTINGS))
    return train_with_guard(task, "maude", lambda: _train_head(task))


def _train_head(task: TrainingTask) -> TrainedModel:
    """Train the head on the task's dialogues, with semantic and syntactic negatives."""
    from turnwise.metrics.learned.contrastive.corpus import Corpus
    from turnwise.metrics.learned.contrastive.training import Examples, Shape, train_head
    from turnwise.metrics.learned.encoded_items import turn_vectors
    from turnwise.metrics.learned.trained import encoder_card
    from turnwise.metrics.learned.usr.retrieval import plan_of, ranking_finding
    from turnwise.metrics.models import text_encoder

    name, rng = task.model or "minilm", task.rng
    corpus = Corpus.of(task.dialogues, most=task.setting("pairs", PAIRS), rng=rng)
    replies = corpus.reply
    kinds = rng.integers(len(CORRUPTIONS), size=len(replies))
    corrupted = [
        CORRUPTIONS[kind](corpus.texts[row].split(), rng) for kind, row in zip(kinds, replies, strict=True)
    ]
    task.say(f"{len(replies)} pairs, each with a corrupted reply")
    used = np.unique(np.concatenate([replies, corpus.context[corpus.context >= 0]]))
    semantic = used[rng.integers(len(used), size=(len(replies), SEMANTIC))]
    index = np.full(len(corpus.texts), -1, dtype=np.int64)
    index[used] = np.arange(len(used))
    real_vectors, corrupted_vectors = turn_vectors(
        [[corpus.texts[row] for row in used], corrupted], text_encoder(name)
    )
    syntactic = np.arange(len(replies)) + len(used)
    context = np.where(corpus.context >= 0, index[corpus.context], -1)
    examples = Examples(
        np.nan_to_num(np.concatenate([real_vectors, corrupted_vectors])),
        context,
        index[replies],
        np.concatenate([index[semantic], np.stack([syntactic] * SEMANTIC, axis=1)], axis=1),
        corpus.pairs[:, 0],
    )
    shape = Shape(turns=4, hidden=task.setting("hidden", 64), recurrent=True)
    network, curve = train_head(
        examples,
        shape,
        plan=plan_of(task),
        rng=rng,
        device=task.device,
        work=task.work,
        about=task.fingerprint,
        say=task.say,
    )
    finding = ranking_finding(task.metric, "in context", curve, examples.dialogue)
    return TrainedModel(
        kind="maude",
        tensors=network.tensors("head"),
        config={"encoder": encoder_card(name), "heads": {"head": asdict(shape)}},
        card={"held_out": {finding.statistic: finding.estimate}, "attacks": list(ATTACKS)},
        curve=curve,
        findings=[finding],
    )


def _shuffled(words: list[str], rng: np.random.Generator) -> str:
    """The words in random order."""
    return " ".join(words[at] for at in rng.permutation(len(words)))


def _dropped(words: list[str], rng: np.random.Generator) -> str:
    """The words, each left out with probability `SHARE`; at least the first word if all would be."""
    kept = [word for word in words if rng.random() >= SHARE]
    return " ".join(kept or words[:1])


def _repeated(words: list[str], rng: np.random.Generator) -> str:
    """The words, each doubled with probability `SHARE`."""
    return " ".join(part for word in words for part in ([word, word] if rng.random() < SHARE else [word]))


CORRUPTIONS: tuple[Callable[[list[str], np.random.Generator], str], ...] = (_shuffled, _dropped, _repeated)
