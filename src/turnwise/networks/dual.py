"""The dual encoder (Lowe et al. 2015): the probability that a reply follows a context is sigmoid(c' M r).

c is the state of the hierarchical encoder after the context and r that of its lower RNN after the reply; the paper has
one flat LSTM for both. Each true pair is contrasted with `negatives` replies drawn at random from the training text,
whose total weight equals that of the true pair. `recall` is the share of pairs for which none of nine random replies
scores above the true one (R@1 in 10; a random reply may have the same words).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from turnwise.networks.hred.encoder import HierarchicalEncoder, Tokens
from turnwise.networks.training import on_dialogues
from turnwise.networks.training.checkpoint import Point
from turnwise.networks.training.loop import Say
from turnwise.networks.training.task import TrainedModel
from turnwise.types import Dialogue

_N_NEGATIVES = 9  # random replies in a measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(on_dialogues.Settings):
    """Sizes and training settings of the dual encoder."""

    negatives: int = 8  # replies drawn for each dialogue
    pool: int = 10_000  # largest number of replies that the trained agent chooses from


class DualEncoder(nn.Module):
    """The hierarchical encoder with the matrix M of the bilinear score."""

    def __init__(self, *, vocabulary: int, embedding: int, utterance: int, context: int) -> None:
        super().__init__()
        self.encoder = HierarchicalEncoder(
            vocabulary=vocabulary, embedding=embedding, utterance=utterance, context=context
        )
        self.match = nn.Linear(utterance, context, bias=False)

    def scores(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """(...) logits that the reply follows the context; contexts (..., c) and replies (..., h) broadcast."""
        scores: Tensor = (self.match(replies) * contexts).sum(dim=-1)
        return scores


def train(
    dialogues: Sequence[Dialogue],
    *,
    settings: Settings,
    rng: np.random.Generator,
    say: Say = lambda _: None,
    work: Path | None = None,
) -> TrainedModel:
    """Train the network, and store the replies that its agent chooses from: all, or `pool` drawn at random."""
    trained = on_dialogues.train(
        dialogues,
        lambda subwords, data: Matching(
            settings,
            DualEncoder(
                vocabulary=len(subwords),
                embedding=settings.embedding,
                utterance=settings.utterance,
                context=settings.context,
            ),
            data,
        ),
        settings=settings,
        rng=rng,
        say=say,
        work=work,
    )
    replies = sorted(
        {turn.text for dialogue in dialogues for turn in dialogue.turns[1:] if turn.text.strip()}
    )
    if len(replies) > settings.pool:
        replies = [replies[at] for at in sorted(rng.choice(len(replies), settings.pool, replace=False))]
    return replace(trained, config={**trained.config, "replies": replies})


class Matching:
    """The training objective: does a reply follow a context, against random replies of the training text."""

    kind = "dual"

    def __init__(self, settings: Settings, network: DualEncoder, data: Tokens) -> None:
        self.settings, self.network = settings, network
        self.replies = [turn for dialogue in data for turn in dialogue[1:]]

    def weight(self, _: int) -> float:
        """Always 1: nothing is annealed."""
        return 1.0

    def losses(self, batch: Tokens, _: int, generator: torch.Generator) -> Iterator[Tensor]:
        """The loss of each part of the batch, in nats per pair of the whole batch."""
        pairs = sum(len(dialogue) - 1 for dialogue in batch)
        for true, false in self._scores(batch, generator, self.settings.negatives):
            good = nn.functional.softplus(-true).sum()
            bad = nn.functional.softplus(false).mean(dim=1).sum()
            yield (good + bad) / (2 * pairs)

    def measure(self, held: Tokens, generator: torch.Generator) -> Point:
        """The loss per pair (`bound`), and the share of true replies that no random one of nine beats (`recall`)."""
        parts = list(self._scores(held, generator, _N_NEGATIVES))
        true, false = (torch.cat(scores) for scores in zip(*parts, strict=True))
        loss = (nn.functional.softplus(-true) + nn.functional.softplus(false).mean(dim=1)).mean() / 2
        return {"bound": float(loss), "recall": float((true >= false.max(dim=1).values).float().mean())}

    def _scores(
        self, dialogues: Tokens, generator: torch.Generator, n_negatives: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Logits of the true replies (n,) and of random ones (n, n_negatives), for each part of the batch.

        The random replies are drawn once for each dialogue, and shared by its turns.
        """
        drawn = torch.randint(len(self.replies), (len(dialogues), n_negatives), generator=generator).tolist()
        size, encoder = self.settings.at_once, self.network.encoder
        for first in range(0, len(dialogues), size):
            part = dialogues[first : first + size]
            counts = [len(dialogue) - 1 for dialogue in part]
            spoken, before = encoder.turns(part)
            wrong = [self.replies[index] for row in drawn[first : first + size] for index in row]
            others = encoder.utterances(wrong).reshape(len(part), n_negatives, -1)
            rows = torch.repeat_interleave(torch.tensor(counts, device=before.device))
            yield self.network.scores(before, spoken), self.network.scores(before.unsqueeze(1), others[rows])
