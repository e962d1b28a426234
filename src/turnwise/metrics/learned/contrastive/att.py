"""ATT, an adversarially trained Turing test (Gao et al. 2021): the probability that a person gave this reply.

A discriminator is trained to separate people's replies from those of an opponent that is trained to fool it. A value
near 1 means that the reply looks like a person's, near 0 that it does not.

How we differ from the paper. Its opponent is a generator (DialoGPT). So that training is possible on a CPU, ours is a
policy over real turns: given a context, it chooses among candidates from the corpus, including the last turn, by a
bilinear score. It is trained to raise the discriminator's probability, as IRGAN's generator is (Wang et al. 2017); its
expected reward over the candidates is computed exactly. After every round the discriminator is trained from scratch
against all opponents so far.
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from turnwise.metrics.learned.contrastive.metric import Contrastive
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.types import Card, Ints

if TYPE_CHECKING:
    from turnwise.metrics.learned.contrastive.training import Examples, Network

PAIRS = 20_000  # largest number of pairs of context and reply
CANDIDATES = 32  # replies that the opponent chooses from
ROUNDS = 2  # opponents
# The opponent's training: rank of its bilinear score, steps, batch size, learning rate, weight of the entropy bonus.
RANK, STEPS, BATCH, RATE, ENTROPY = 32, 150, 128, 1e-2, 0.05
ATTACKS = ("a fixed reply (probing paper, Table 2: orders of magnitude above people)",)


@dataclass(frozen=True)
class Att(Contrastive):
    """`att`: the probability that a person gave the reply."""

    name: ClassVar[str] = "att"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Probability that a person gave the reply, by a discriminator trained against an opponent that learns "
        "to fool it.",
        range="0-1",
        limits="Its opponent chooses among real turns, so training has no ungrammatical replies. Fixed nonsense "
        "scored above people with the original. Supports the languages of its encoder.",
        citation="Gao et al. 2021, Adversarial Turing test (ATT); Wang et al. 2017, IRGAN",
    )


def train(task: TrainingTask) -> TrainedModel:
    """Train the discriminator on dialogues, or take that of the setting `start`; with `guard`, train a guard."""
    from turnwise.metrics.learned.guard.training import SETTINGS, train_with_guard

    task.check_settings(
        ("epochs", "batch", "piece", "rate", "patience", "hidden", "pairs", "rounds", *SETTINGS)
    )
    return train_with_guard(task, "att", lambda: _train_rounds(task))


def _train_rounds(task: TrainingTask) -> TrainedModel:
    """Train the discriminator, then alternately an opponent and a new discriminator, for `rounds` opponents."""
    from turnwise.metrics.learned.contrastive.corpus import Corpus
    from turnwise.metrics.learned.contrastive.training import Shape, train_head
    from turnwise.metrics.learned.trained import encoder_card
    from turnwise.metrics.learned.usr.retrieval import plan_of, ranking_finding
    from turnwise.metrics.models import text_encoder

    name, rng = task.model or "minilm", task.rng
    corpus = Corpus.of(task.dialogues, most=task.setting("pairs", PAIRS), rng=rng)
    examples = corpus.examples(text_encoder(name), corpus.negatives(("random",) * 4, rng))
    shape = Shape(hidden=task.setting("hidden", 64))
    curves: list[dict[str, float]] = []
    rounds = task.setting("rounds", ROUNDS)
    for number in range(rounds + 1):
        task.say(f"round {number}: {examples.negatives.shape[1]} kinds of wrong replies")
        discriminator, curve = train_head(
            examples,
            shape,
            plan=plan_of(task),
            rng=rng,
            device=task.device,
            work=task.work / str(number) if task.work else None,
            about=f"{task.fingerprint} {number}",
            say=task.say,
        )
        curves += [{"round": float(number), **point} for point in curve]
        if number < rounds:
            examples, success_rate = _with_opponent(examples, discriminator, rng, task.device)
            task.say(f"the opponent fools the discriminator in {success_rate:.0%} of contexts")
    finding = ranking_finding(task.metric, "last judge", curve, examples.dialogue)
    return TrainedModel(
        kind="att",
        tensors=discriminator.tensors("head"),
        config={"encoder": encoder_card(name), "heads": {"head": asdict(shape)}, "rounds": rounds},
        card={"held_out": {finding.statistic: finding.estimate}, "attacks": list(ATTACKS)},
        curve=curves,
        findings=[finding],
    )


def _with_opponent(
    examples: "Examples", discriminator: "Network", rng: np.random.Generator, device: str
) -> "tuple[Examples, float]":
    """Train an opponent; return the examples with its choices as one more column of negatives, and its success rate.

    The success rate is the share of contexts in which the discriminator's logit of the choice is above 0.
    """
    import torch

    from turnwise.metrics.learned.contrastive.training import Examples
    from turnwise.networks.training.loop import descend, run

    n, (rows, width) = len(examples.reply), examples.vectors.shape
    vectors = torch.tensor(examples.vectors, device=device)
    candidates: Ints = rng.integers(rows, size=(n, CANDIDATES))
    candidates[:, 0] = examples.context[:, 0]
    context = torch.tensor(examples.context[:, : discriminator.shape.turns], device=device)
    pool = torch.tensor(candidates, device=device)
    start = 1 / width**0.5
    projections = [
        torch.tensor(rng.normal(0, start, (RANK, width)), dtype=torch.float32, device=device)
        for _ in range(2)
    ]
    for projection in projections:
        projection.requires_grad_(True)
    optimiser = torch.optim.Adam(projections, lr=RATE)

    def policy(at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(b, c) log-probabilities of the candidates, and the discriminator's logits."""
        turns = context[at]
        exists = (turns >= 0).float()
        with torch.no_grad():
            context_vectors = discriminator.context(vectors[turns.clamp(min=0)] * exists[:, :, None], exists)
            candidate_vectors = vectors[pool[at]]
            logits = discriminator(context_vectors[:, None].expand_as(candidate_vectors), candidate_vectors)
        left, right = context_vectors @ projections[0].T, candidate_vectors @ projections[1].T
        scores = torch.einsum("bk,bck->bc", left, right) / RANK**0.5
        return torch.log_softmax(scores, dim=1), logits

    def update(_: int) -> None:
        """One step of the opponent on a random batch: it raises the discriminator's expected probability of its choice.

        An entropy bonus is added.
        """
        at = torch.tensor(rng.integers(n, size=BATCH), device=device)
        logs, logits = policy(at)
        probabilities = logs.exp()
        bonus = -ENTROPY * (probabilities * logs).sum(dim=1)
        reward = (probabilities * torch.sigmoid(logits)).sum(dim=1) + bonus
        descend(optimiser, [-reward.mean()], clip=None)

    run(update, updates=min(STEPS, 1 + n // 20))
    chosen, successes = np.zeros(n, dtype=np.int64), 0.0
    for begin in range(0, n, 1024):
        at = torch.arange(begin, min(begin + 1024, n), device=device)
        with torch.no_grad():
            logs, logits = policy(at)
        picks = (logs.cpu().numpy() + rng.gumbel(size=logs.shape)).argmax(axis=1)  # a draw from the policy
        chosen[at.cpu().numpy()] = candidates[at.cpu().numpy(), picks]
        successes += float((logits.cpu().numpy()[np.arange(len(picks)), picks] > 0).sum())
    negatives = np.concatenate([examples.negatives, chosen[:, None]], axis=1)
    return Examples(
        examples.vectors, examples.context, examples.reply, negatives, examples.dialogue
    ), successes / n
