"""A character-level text encoder: a bidirectional GRU, as in tweet2vec (Dhingra et al. 2016).

tweet2vec learns to predict a post's hashtags, and dialogues have none: here the vector of a turn learns to identify the
next turn among the other turns of the batch (a softmax over dot products, in both directions). Characters are subwords
without merges: a vocabulary too small for merges keeps only the alphabet. A vector is the sum of projections of the
last states of both directions, as in the paper's eq. 3.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from turnwise.encode.encoder import Vectors
from turnwise.encode.models import folder
from turnwise.encode.neural.loading import default_device
from turnwise.networks.hred.encoder import Tokens, fill, padded
from turnwise.networks.subwords import PAD, Subwords
from turnwise.networks.training import on_dialogues
from turnwise.networks.training.checkpoint import Point
from turnwise.networks.training.loop import Say
from turnwise.networks.training.task import TrainedModel
from turnwise.types import Dialogue, Signature

KIND = "characters"
_DECAY = 0.5  # weight of a turn relative to the next newer one, in the vector of a context


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(on_dialogues.Settings):
    """Sizes and training settings of the character encoder."""

    vocabulary: int = 8  # no merges
    embedding: int = 64
    utterance: int = 300  # hidden units of each direction of the GRU
    context: int = 300  # the vector
    max_tokens: int = 140  # characters: the old limit of a post


class CharacterEncoder(nn.Module):
    """A bidirectional GRU that reads a text character by character and gives one vector for it."""

    def __init__(self, *, vocabulary: int, embedding: int, utterance: int, context: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=PAD)
        self.unit = nn.GRU(embedding, utterance, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * utterance, context)

    def forward(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """(n, c) the vectors of the texts."""
        inputs = self.embedding(padded(tokens, self.embedding.weight.device))
        lengths = torch.tensor([len(row) for row in tokens])
        packed = nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        _, ends = self.unit(packed)
        vectors: Tensor = self.out(torch.cat([ends[0], ends[1]], dim=1))
        return vectors


class Network(nn.Module):
    """The character encoder as the network that is trained and stored."""

    def __init__(self, settings: Settings, vocabulary: int) -> None:
        super().__init__()
        sizes = {name: getattr(settings, name) for name in ("embedding", "utterance", "context")}
        self.encoder = CharacterEncoder(vocabulary=vocabulary, **sizes)


class NextTurnObjective:
    """The training objective: which turn of the batch follows this one, by a softmax over dot products."""

    kind = KIND

    def __init__(self, settings: Settings, network: Network) -> None:
        self.settings, self.network = settings, network

    def weight(self, _: int) -> float:
        """Always 1: nothing is annealed."""
        return 1.0

    def losses(self, batch: Tokens, _: int, generator: torch.Generator) -> Iterator[Tensor]:
        """One loss for the whole batch: every turn is a negative for the others, so a batch cannot be divided."""
        yield self._loss(batch, generator)[0]

    def measure(self, held: Tokens, generator: torch.Generator) -> Point:
        """Means over batches: the loss (`bound`), and the share of true next turns that rank first (`recall`)."""
        size = self.settings.batch
        parts = [self._loss(held[at : at + size], generator) for at in range(0, len(held), size)]
        loss, found = (float(np.mean([float(part[index]) for part in parts])) for index in (0, 1))
        return {"bound": loss, "recall": found}

    def _loss(self, dialogues: Tokens, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Loss on one random pair of adjacent turns of each dialogue, and the share of true turns that rank first."""
        indices = [int(torch.randint(len(turns) - 1, (1,), generator=generator)) for turns in dialogues]
        before = self.network.encoder([turns[at] for turns, at in zip(dialogues, indices, strict=True)])
        after = self.network.encoder([turns[at + 1] for turns, at in zip(dialogues, indices, strict=True)])
        scores = before @ after.T / before.shape[1] ** 0.5
        own = torch.arange(len(scores), device=scores.device)
        loss = (nn.functional.cross_entropy(scores, own) + nn.functional.cross_entropy(scores.T, own)) / 2
        return loss, (scores.argmax(dim=1) == own).float().mean()


def train(
    dialogues: Sequence[Dialogue],
    *,
    settings: Settings,
    rng: np.random.Generator,
    say: Say = lambda _: None,
    work: Path | None = None,
) -> TrainedModel:
    """Train the encoder on dialogues of 2 turns or more and return its best weights.

    Resumes from `work` if it is given.
    """
    return on_dialogues.train(
        dialogues,
        lambda subwords, _: NextTurnObjective(settings, Network(settings, len(subwords))),
        settings=settings,
        rng=rng,
        say=say,
        work=work,
    )


@dataclass(frozen=True, eq=False)
class Characters:
    """A trained encoder of texts and of contexts."""

    network: CharacterEncoder
    subwords: Subwords
    label: str
    max_tokens: int
    at_once: int = 256

    @classmethod
    def of(cls, stored: folder.Folder, *, device: str | None = None) -> "Characters":
        """The encoder of a stored folder; `device` None is the default device."""
        settings, subwords = stored.config["settings"], Subwords.read(stored.config["subwords"])
        sizes = {name: settings[name] for name in ("embedding", "utterance", "context")}
        network = CharacterEncoder(vocabulary=len(subwords), **sizes)
        prefix = "encoder."
        fill(network, {name.removeprefix(prefix): part for name, part in stored.tensors.items()})
        network = network.eval().to(device or default_device())
        return cls(network, subwords, f"{stored.kind}@{stored.digest[:8]}", settings["max_tokens"])

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.network.out.out_features

    @property
    def signature(self) -> Signature:
        """The label `KIND@DIGEST` and the largest number of characters."""
        return Signature(self.label, (("tokens", str(self.max_tokens)),))

    def encode(self, contexts: Sequence[str | Sequence[str]], /) -> Vectors:
        """(n, c) the vector of each text, or of turns, oldest first; NaN for no turns.

        Turns are a mean in which each older turn weighs half as much.
        """
        turns = [[context] if isinstance(context, str) else list(context) for context in contexts]
        texts = sorted({text for context in turns for text in context})
        spoken = dict(zip(texts, self._spoken(texts), strict=True)) if texts else {}
        vectors = np.full((len(turns), self.dimension), np.nan, dtype=np.float32)
        for row, context in zip(vectors, turns, strict=True):
            if context:
                weights = _DECAY ** np.arange(len(context), dtype=np.float32)[::-1]
                row[:] = (weights / weights.sum()) @ np.stack([spoken[text] for text in context])
        return vectors

    @torch.inference_mode()
    def _spoken(self, texts: Sequence[str]) -> Vectors:
        """(n, c) the vector of each text, cut at `max_tokens` characters, the end mark included."""
        tokens = self.subwords.encode(texts, longest=self.max_tokens)
        found = np.empty((len(tokens), self.dimension), dtype=np.float32)
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        for first in range(0, len(order), self.at_once):
            rows = order[first : first + self.at_once]
            found[rows] = self.network([tokens[row] for row in rows]).float().cpu().numpy()
        return found
