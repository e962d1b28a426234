"""USR's retrieval score (Mehri and Eskenazi 2020): the probability that the reply is the next turn of this dialogue.

A value near 1 means that the reply fits the context, near 0 that it does not.

How we differ from the paper. It fine-tunes RoBERTa to separate the next turn from a random one. Here the encoder is
frozen and a head of 100,000 weights is trained on its turn vectors. This takes a minute on a CPU and correlates with
ratings as well as a fine-tuned MiniLM (`papers/learned.md`). Two heads are trained, on one turn of context as in the
paper and on several: appendix A.4 of the probing paper found correlations of .40 and .56 on its own data. Negatives are
random turns, turns of the same dialogue, and the last turn; with random turns only, as in the paper, a copy of the
context scores higher than people. If frauds are known (`turnwise attack --harden`), a guard is trained beside the heads
(see `guard`).
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import TextEncoder
from turnwise.errors import UsageError, setting
from turnwise.metrics.learned.contrastive.metric import Contrastive
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.records import StatisticRecord
from turnwise.types import Card, Ints

if TYPE_CHECKING:
    from turnwise.networks.training.loop import Plan

CONTEXTS = {"one": 1, "several": 3}  # name of a head -> turns of context
KINDS = (*["random"] * 8, *["same"] * 3, "parrot")  # negatives of an example, from which each step draws
PAIRS = 60_000  # largest number of pairs; more did not change the agreement with ratings


@dataclass(frozen=True)
class UsrRet(Contrastive):
    """`usr-ret`: the probability that the reply is the next turn of the dialogue."""

    name: ClassVar[str] = "usr-ret"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Probability that the reply is the next turn of this dialogue, by a head on frozen turn vectors.",
        range="0-1",
        limits="Depends more on the topic than on the meaning: a question made of the last turn's words scores high. "
        "Copies of the last turn are among the training negatives. Supports the languages of its encoder: MiniLM's is "
        "English.",
        citation="Mehri and Eskenazi 2020, USR: An Unsupervised and Reference Free Evaluation Metric for Dialog",
    )

    context: str = "several"  # turns of context that are used: one | several

    def __post_init__(self) -> None:
        if self.context not in CONTEXTS:
            raise UsageError(f"usr-ret reads `one` turn of context or `several`, not `{self.context}`")

    @property
    def head_name(self) -> str:
        """The setting `context`, `one` or `several`, which is also the head's name."""
        return self.context

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings in the signature: the digest of the trained model, and `context`."""
        return (*super().settings, ("context", self.context))


def train(task: TrainingTask) -> TrainedModel:
    """Train both heads on dialogues, or take those of the setting `start`; with the setting `guard`, train a guard."""
    from turnwise.metrics.learned.guard.training import SETTINGS, train_with_guard

    task.check_settings(
        ("epochs", "batch", "piece", "rate", "patience", "hidden", "pairs", "negatives", "wrong", *SETTINGS)
    )
    return train_with_guard(task, "usr-ret", lambda: _train_model(task))


def _train_model(task: TrainingTask) -> TrainedModel:
    """Train both heads on the task's dialogues."""
    from turnwise.metrics.learned.trained import encoder_card
    from turnwise.metrics.models import text_encoder

    name = task.model or "minilm"
    tensors, config, curves, findings = _train_heads(task, text_encoder(name))
    return TrainedModel(
        kind="usr-ret",
        tensors=tensors,
        config={**config, "encoder": encoder_card(name)},
        card={
            "raters": None,
            "held_out": {finding.statistic: finding.estimate for finding in findings},
            "attacks": [
                "a question made of the last turn's words",
                "a reply that is right for most contexts",
            ],
            "languages": "those of the encoder",
        },
        curve=curves,
        findings=findings,
    )


def _train_heads(
    task: TrainingTask, encoder: TextEncoder
) -> tuple[dict[str, NDArray[Any]], dict[str, Any], list[dict[str, float]], list[StatisticRecord]]:
    """Train both heads.

    Returns their tensors, the config without the encoder, the curves, and a finding for each head.
    """
    from turnwise.metrics.learned.contrastive.corpus import Corpus
    from turnwise.metrics.learned.contrastive.training import Shape, train_head
    from turnwise.metrics.learned.contrastive.wrong_replies import with_wrong_replies

    rng = task.rng
    corpus = Corpus.of(task.dialogues, most=task.setting("pairs", PAIRS), rng=rng)
    kinds = task.setting("negatives", "+".join(KINDS)).split("+")
    if odd := [kind for kind in kinds if kind not in KINDS]:
        raise UsageError(
            f"{setting('--set', 'negatives=KINDS')}: there is no `{odd[0]}`; there are random, same and "
            "parrot, joined by +"
        )
    negatives = corpus.negatives(kinds, rng)
    if wrong := task.setting("wrong", ""):
        corpus, negatives = with_wrong_replies(corpus, task.dialogues, wrong, negatives, rng)
    examples = corpus.examples(encoder, negatives)
    tensors: dict[str, NDArray[Any]] = {}
    heads: dict[str, Any] = {}
    curves: list[dict[str, float]] = []
    findings: list[StatisticRecord] = []
    for which, turns in CONTEXTS.items():
        shape = Shape(turns=turns, hidden=task.setting("hidden", 64))
        task.say(f"{which} of context: {len(corpus.pairs)} pairs")
        network, curve = train_head(
            examples,
            shape,
            plan=plan_of(task),
            rng=rng,
            device=task.device,
            work=task.work / which if task.work else None,
            about=f"{task.fingerprint} {which}",
            say=task.say,
        )
        tensors |= network.tensors(which)
        heads[which] = asdict(shape)
        curves += [{"turns": turns, **point} for point in curve]
        findings.append(ranking_finding(task.metric, which, curve, examples.dialogue))
    config = {"heads": heads, "negatives": [*kinds, *([wrong] if wrong else [])]}
    return tensors, config, curves, findings


def plan_of(task: TrainingTask) -> "Plan":
    """The training plan of a contrastive head, from the task's settings or their defaults."""
    from turnwise.networks.training.loop import Plan

    return Plan(
        epochs=task.setting("epochs", 6),
        batch=task.setting("batch", 256),
        piece=task.settings.get("piece"),
        rate=task.setting("rate", 1e-3),
        decay=1e-2,
        clip=None,
        patience=task.setting("patience", 2),
        seed=task.seed,
    )


def ranking_finding(
    metric: str, which: str, curve: list[dict[str, float]], dialogues: Ints
) -> StatisticRecord:
    """The ranking accuracy of the best epoch on held-out dialogues: the share of negatives below the logged reply.

    `dialogues` has the dialogue of each example, and the finding counts all of them, not only the held-out ones.
    """
    best = min(curve, key=lambda point: point["validation"])
    return StatisticRecord(
        metric=metric,
        statistic=f"above a negative, {which}",
        estimate=best["above"],
        n_items=len(dialogues),
        n_clusters=len(np.unique(dialogues)),
        method="dialogues held out",
    )
