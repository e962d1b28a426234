"""MAUDE: a reply is good if it cannot be told from what was said (Sinha et al. 2020).

Noise-contrastive: the given reply against semantic negatives (turns from elsewhere) and syntactic ones (its own words
shuffled, a part of them dropped, a part of them repeated). A recurrent unit reads the context, oldest turn first.

We differ from the paper: its DistilBERT is a frozen sentence encoder here (MiniLM) whose vectors are used whole and not
projected, the unit is a GRU of the encoder's width, and there are no back-translated or generated negatives. A sentence
vector hears word order only faintly, so the syntactic half of the training is learned less well than in the paper.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from turnwise.metrics.learned.contrastive.metric import Contrastive
from turnwise.networks.training.task import Trained, TrainingTask
from turnwise.types import Card

PAIRS = 6_000  # at most: each needs a corrupted text of its own to be encoded
SEMANTIC = ("random", "random", "same")
SHARE = 0.4  # of words dropped or repeated
ATTACKS = ("a question on work or hobbies that fits most contexts (probing paper, Table 1)",)


@dataclass(frozen=True)
class Maude(Contrastive):
    name: ClassVar[str] = "maude"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Probability that the reply is what was said, against turns from elsewhere and its own words garbled.",
        range="0-1",
        limits="One fixed question reached .98 where people have .8 (probing paper, Table 2). Trained without a parrot "
        "among its negatives, as in the paper: a copy beat people in 85 % of contexts. English, as its encoder.",
        citation="Sinha et al. 2020, Learning an Unreferenced Metric for Online Dialogue Evaluation",
    )


def train(task: TrainingTask) -> Trained:
    from turnwise.metrics.learned.guard.training import SETTINGS, taught

    task.check_settings(("epochs", "batch", "piece", "rate", "patience", "hidden", "pairs", *SETTINGS))
    return taught(task, "maude", lambda: _trained(task))


def _trained(task: TrainingTask) -> Trained:
    from turnwise.metrics.learned.contrastive.corpus import Corpus
    from turnwise.metrics.learned.contrastive.training import Examples, Shape, contrast
    from turnwise.metrics.learned.trained import encoder_card
    from turnwise.metrics.learned.usr.retrieval import plan_of, ranked
    from turnwise.metrics.learned.views import turn_vectors
    from turnwise.metrics.models import text_encoder

    name, rng = task.model or "minilm", task.rng
    corpus = Corpus.of(task.dialogues, most=task.setting("pairs", PAIRS), rng=rng)
    replies = corpus.reply
    kinds = rng.integers(len(GARBLED), size=len(replies))
    garbled = [
        GARBLED[kind](corpus.texts[row].split(), rng) for kind, row in zip(kinds, replies, strict=True)
    ]
    task.say(f"{len(replies)} pairs, each with a garbled reply")
    used = np.unique(np.concatenate([replies, corpus.context[corpus.context >= 0]]))
    semantic = used[rng.integers(len(used), size=(len(replies), len(SEMANTIC)))]
    places = np.full(len(corpus.texts), -1, dtype=np.int64)
    places[used] = np.arange(len(used))
    told, wrong = turn_vectors([[corpus.texts[row] for row in used], garbled], text_encoder(name))
    syntactic = np.arange(len(replies)) + len(used)
    context = np.where(corpus.context >= 0, places[corpus.context], -1)
    examples = Examples(
        np.nan_to_num(np.concatenate([told, wrong])),
        context,
        places[replies],
        np.concatenate([places[semantic], np.stack([syntactic] * len(SEMANTIC), axis=1)], axis=1),
        corpus.pairs[:, 0],
    )
    shape = Shape(turns=4, hidden=task.setting("hidden", 64), recurrent=True)
    network, curve = contrast(
        examples,
        shape,
        plan=plan_of(task),
        rng=rng,
        device=task.device,
        work=task.work,
        about=task.fingerprint,
        say=task.say,
    )
    finding = ranked(task.metric, "in context", curve, examples.dialogue)
    return Trained(
        kind="maude",
        tensors=network.tensors("head"),
        config={"encoder": encoder_card(name), "heads": {"head": asdict(shape)}},
        card={"held_out": {finding.what["statistic"]: finding.estimate}, "attacks": list(ATTACKS)},
        curve=curve,
        findings=[finding],
    )


def _shuffled(words: list[str], rng: np.random.Generator) -> str:
    return " ".join(words[at] for at in rng.permutation(len(words)))


def _dropped(words: list[str], rng: np.random.Generator) -> str:
    kept = [word for word in words if rng.random() >= SHARE]
    return " ".join(kept or words[:1])


def _repeated(words: list[str], rng: np.random.Generator) -> str:
    return " ".join(part for word in words for part in ([word, word] if rng.random() < SHARE else [word]))


GARBLED: tuple[Callable[[list[str], np.random.Generator], str], ...] = (_shuffled, _dropped, _repeated)
