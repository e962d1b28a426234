"""What the neural estimators share: settings, vectors of (s, a), training, and the estimate with its curves."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol, get_args

import numpy as np
import torch

from turnwise.encode.encoder import Vectors
from turnwise.encode.episodes import leave_out
from turnwise.encode.neural.dialogue import DialogueEncoder, ReplyPooling
from turnwise.errors import UsageError
from turnwise.estimators.neural.batches import Batches, Frozen, Source, Tuned
from turnwise.estimators.neural.row_vectors import encoder, read
from turnwise.estimators.neural.settings import PRESETS, Optimiser, Schedule, Settings, chosen
from turnwise.estimators.neural.training import Learner, train
from turnwise.estimators.neural.training_data import Reward, TrainingData, gather
from turnwise.networks.training.checkpoint import Checkpoint
from turnwise.types import Card, Episodes, Estimate, Floats, Ints, Signature, digest

Weights = Literal["trained", "random"]
_WORDS: dict[str, tuple[str, ...]] = {
    "preset": tuple(PRESETS),
    "pooling": get_args(ReplyPooling),
    "weights": get_args(Weights),
    "reward": get_args(Reward),
    "optimiser": get_args(Optimiser),
    "schedule": get_args(Schedule),
}


class Contributions(NamedTuple):
    """The contributions of the dialogues to the value after a training, with diagnostics."""

    values: Floats  # (N,), whose mean is the value of the target
    diagnostics: Mapping[str, float]


class ValueLearner(Learner, Protocol):
    """A learner that also gives the contributions to the value after its training."""

    def contributions(self) -> Contributions:
        """The contributions and diagnostics, after the training."""
        ...


class LearnerInputs(NamedTuple):
    """What a learner is built from: data, batches, width of the heads, settings, a generator and a device."""

    data: TrainingData
    batches: Batches
    hidden: int  # width of the heads; 0: no hidden layer
    settings: Settings
    generator: torch.Generator
    device: str


@dataclass(frozen=True, kw_only=True)
class Neural(ABC):
    """A neural estimator: an encoder's vectors of (s, a), and heads that `learner` trains on them."""

    card: ClassVar[Card]
    name: ClassVar[str]
    nested: ClassVar[bool] = False  # too slow to estimate every other agent anew for each target

    model: str = "minilm"  # any BERT- or RoBERTa-like encoder
    preset: str = "quick"  # quick, script or paper
    tuned: bool = False  # whether the encoder is trained too: for a GPU
    pooling: ReplyPooling = "mean"
    weights: Weights = "trained"  # weights of the encoder: "random" is an ablation
    reward: Reward = "auto"
    hidden: int | None = None  # width of the heads; None: the encoder's; 0: no hidden layer
    checkpoints: str | None = None  # a folder of checkpoints, from which an interrupted training resumes
    device: str | None = None
    # None in the following: the preset's value.
    optimiser: Optimiser | None = None
    schedule: Schedule | None = None
    rate: float | None = None
    clip: float | None = None
    batch: int | None = None
    epochs: int | None = None
    components: int | None = None

    def __post_init__(self) -> None:
        for name, known in _WORDS.items():
            asked = getattr(self, name)
            if asked is not None and asked not in known:
                raise UsageError(f"{self.name}: {name} is one of {', '.join(known)}, not `{asked}`")

    @abstractmethod
    def learner(self, setup: LearnerInputs) -> ValueLearner:
        """The untrained learner of this estimator."""
        ...

    def settings(self) -> Settings:
        """The preset with the settings that are not None."""
        names = [field.name for field in fields(Settings)]
        changes = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return chosen(self.preset, **changes)

    @property
    def signature(self) -> Signature:
        """All settings that are not None, without `checkpoints` and `device`, and the signature of the encoder."""
        passed_over = {"model", "checkpoints", "device"}
        own = [
            (key, str(value))
            for key, value in vars(self).items()
            if value is not None and key not in passed_over
        ]
        return Signature(self.name, tuple(own), (self._reader().signature,))

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """Train on the dialogues that the target did not hold and return its estimate with the curves of the training.

        `rng` gives the seed. The level is 0 if the reward is the score of the target's own decisions.
        """
        others = leave_out(episodes, {target})
        data = gather(others, target, reward=self.reward)
        seed = int(rng.integers(2**62))
        reader, settings = self._reader(), self.settings()
        source, cut = self._source(reader, others, target, data, settings)
        setup = LearnerInputs(
            data,
            Batches(data, source, reader.device),
            reader.dimension if self.hidden is None else self.hidden,
            settings,
            torch.Generator().manual_seed(seed),
            reader.device,
        )
        learner = self.learner(setup)
        checkpoint = self._checkpoint(data, target, seed)
        readings = 20 if self.tuned else 40
        curves = train(learner, settings, seed=seed, readings=readings, checkpoint=checkpoint)
        contributions, diagnostics = learner.contributions()
        seen = {
            "dialogues": len(data.reward),
            "unrated": data.unrated,
            "cut": cut,
            "relabelled": data.relabelled,
        }
        return Estimate(
            value=float(contributions.mean()),
            contributions=contributions,
            level=0.0 if data.relabelled else float(np.mean(data.reward)),
            diagnostics={**diagnostics, **{key: float(value) for key, value in seen.items()}},
            curves=curves,
        )

    def _reader(self) -> DialogueEncoder:
        """The encoder of dialogues, with trained or random weights."""
        return encoder(
            self.model, self.pooling, random=0 if self.weights == "random" else None, device=self.device
        )

    def _source(
        self,
        reader: DialogueEncoder,
        episodes: Episodes,
        target: str,
        data: TrainingData,
        settings: Settings,
    ) -> tuple[Source, int]:
        """The source of vectors, and the number of dialogues that were too long for the encoder.

        It is the encoder itself if `tuned`, otherwise a table of its standardised vectors.
        """
        if self.tuned:
            scripts = reader.scripts(data.dialogues)
            return Tuned(reader, scripts), sum(script.cut > 0 for script in scripts)
        wide = gather(episodes, target, reward=self.reward, everyone=True)
        vectors, cut = read(reader, wide, data)
        ready = standardised(vectors, settings.components)
        return Frozen(torch.from_numpy(ready).to(reader.device)), cut

    def _checkpoint(self, data: TrainingData, target: str, seed: int) -> Checkpoint | None:
        """The checkpoint file of this training, named by a digest of settings, data and seed.

        There is none (None) without the setting `checkpoints`.
        """
        if self.checkpoints is None:
            return None
        said = (text for one in data.dialogues for e in one for text in (e.user or "", e.reply, *e.others))
        name = digest(str(self.signature), target, str(seed), data.reward, *said)
        return Checkpoint(Path(self.checkpoints) / f"{self.name}-{name}.safetensors", name, strict=True)


def standardised(vectors: Vectors, components: int) -> Vectors:
    """Standardise each dimension; then take principal components and scale them to a mean variance of 1.

    With `components` 0, or at least the number of dimensions, all dimensions are kept as standardised.
    """
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    spread = centred.std(axis=0)
    centred /= np.where(spread > 1e-6, spread, 1.0)
    if 0 < components < centred.shape[1]:
        variance, directions = np.linalg.eigh(centred.T @ centred / len(centred))
        centred = centred @ directions[:, ::-1][:, :components]
        centred /= np.sqrt(max(variance[::-1][:components].mean(), 1e-12))
    return np.asarray(centred, dtype=np.float32)


def ess(weights: Floats) -> float:
    """Effective sample size (Kish): (sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / max(float((weights**2).sum()), 1e-300))


def parts(size: int, most: int) -> Sequence[Ints]:
    """The indices 0 to size - 1, in consecutive parts of at most `most`."""
    return np.array_split(np.arange(size), -(-size // most))
