"""Self-play evaluation (SPE): generate dialogues of the target and rate them with a model of the raters.

ENIGMA's baseline (section 4; Ghandeharioun et al. 2019). In small talk the target talks to itself and a reward model,
trained on the other agents' rated dialogues, predicts the rating of each dialogue; in a task it talks to a trained
customer and the task's own score is the reward. Both are model-based: the estimate is only as good as the simulated
user. The paper fine-tunes RoBERTa with a sigmoid; here the reward model is a ridge regression on features of a whole
dialogue (mean vectors, lengths, repetition), with predictions clipped to the rating's scale.

The target's dialogues are in `played`, as separate `Episodes`; if they have rewards, these are used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused, TooFewItems
from turnwise.estimators.vectors import encoder, vectors
from turnwise.types import Card, Episodes, Estimate, Floats, Ints, Signature

FEWEST = 30  # smallest number of rated dialogues for a reward model


@dataclass(frozen=True)
class SelfPlay:
    """The estimator `spe`: the mean reward of self-play dialogues, by the task or by a reward model."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating, computed or predicted, of dialogues that the target held with a stand-in for people.",
        range="that of the rating",
        limits="Needs the target itself, to talk. As good as the stand-in for the user and the model of the rater; "
        "errors of both grow with the length of a dialogue.",
        citation="Ghandeharioun et al. 2019, Approximating Interactive Human Evaluation with Self-Play",
    )

    holds_data: ClassVar[bool] = True

    model: str = "minilm"  # encoder of texts
    components: int = 16  # principal components of the mean vectors of each speaker
    ridge: float = 3.0
    played: Mapping[str, Episodes] = field(default_factory=dict)  # agent -> its self-play dialogues

    @property
    def signature(self) -> Signature:
        """The settings of the reward model and the signature of its encoder; the self-play dialogues are not in it."""
        fields = {"components": str(self.components), "ridge": str(self.ridge)}
        return Signature("spe", tuple(fields.items()), (encoder(self.model).signature,))

    def with_dialogues(self, played: Mapping[str, Episodes]) -> "SelfPlay":
        """A copy with the self-play dialogues of each agent."""
        return replace(self, played=played)

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The mean reward of the target's self-play dialogues.

        If they do not all have a reward, the rewards of all are predicted by a model of the ratings of other agents'
        logged dialogues. Refused without self-play dialogues of the target; raises `TooFewItems` if the model has too
        few ratings.
        """
        held = self.played.get(target)
        if held is None or not len(held.dialogues):
            raise Refused(
                "no dialogue of `{agent}` with a stand-in for people; `turnwise respond --self-play` makes some",
                "no-self-play",
                agent=target,
            )
        if np.isfinite(held.reward).all():
            return Estimate(
                value=float(held.reward.mean()),
                contributions=held.reward,
                diagnostics=_lengths(episodes, held),
            )
        others = leave_out(episodes, {target})
        reward = Reward.learn(others, self.model, components=self.components, ridge=self.ridge)
        predicted = reward.predict(held)
        diagnostics = {**_lengths(episodes, held), "reward_r2": reward.r2, "distance": reward.distance(held)}
        return Estimate(
            value=float(predicted.mean()),
            contributions=predicted,
            level=float(np.nanmean(others.reward)),
            diagnostics=diagnostics,
        )


def _lengths(episodes: Episodes, held: Episodes) -> dict[str, float]:
    """Diagnostics: the number of self-play dialogues, and the mean turns of logged and of self-play dialogues."""
    turns = {"turns_logged": np.diff(episodes.first), "turns_played": np.diff(held.first)}
    return {
        "played": float(len(held.dialogues)),
        **{name: float(count.mean()) for name, count in turns.items()},
    }


@dataclass(frozen=True, slots=True)
class Reward:
    """A ridge regression from features of a dialogue to its rating."""

    model: str
    bases: tuple[
        tuple[Floats, Floats], ...
    ]  # for each speaker: mean (q,) and principal components (q, k) of its mean vectors
    centre: Floats  # (d,)
    size: Floats  # (d,)
    weights: Floats  # (d,)
    mean: float  # rating
    scale: tuple[float, float] | None
    r2: float  # R2 of ratings predicted with the dialogue left out

    @classmethod
    def learn(cls, episodes: Episodes, model: str, *, components: int, ridge: float) -> "Reward":
        """Fit to the rated dialogues; `components` is for each speaker.

        Raises `TooFewItems` with fewer than `FEWEST` of them.
        """
        rated = np.isfinite(episodes.reward)
        if rated.sum() < FEWEST:
            raise TooFewItems(
                "a reward model needs {needed} rated dialogues of other agents, and there are {n}",
                "too-few-rated-dialogues",
                needed=FEWEST,
                n=int(rated.sum()),
            )
        bases = tuple(_basis(side[rated], components) for side in _sides(episodes, model))
        features = _features(episodes, model, bases)[rated]
        y = episodes.reward[rated]
        centre, size = features.mean(axis=0), features.std(axis=0)
        size = np.where(size > 0, size, np.inf)  # constant features get weight 0
        x = (features - centre) / size
        solved = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T)  # (d, n)
        weights = solved @ (y - y.mean())
        leverage = np.einsum("nd,dn->n", x, solved) + 1 / len(y)
        missed = (y - y.mean() - x @ weights) / (1 - leverage)
        spread = float(np.sum((y - y.mean()) ** 2))
        r2 = 1 - float(missed @ missed) / spread if spread > 0 else np.nan
        return cls(model, bases, centre, size, weights, float(y.mean()), episodes.scale, r2)

    def predict(self, episodes: Episodes) -> Floats:
        """(N,) predicted ratings, clipped to the scale if there is one."""
        predicted: Floats = self.mean + self._standardised(episodes) @ self.weights
        return predicted if self.scale is None else np.clip(predicted, *self.scale)

    def distance(self, episodes: Episodes) -> float:
        """Root mean square distance of the dialogues from the training dialogues, in standard deviations."""
        return float(np.sqrt(np.mean(self._standardised(episodes) ** 2)))

    def _standardised(self, episodes: Episodes) -> Floats:
        """(N, d) features, centred and scaled as in the fit; constant features become 0."""
        x: Floats = (_features(episodes, self.model, self.bases) - self.centre) / self.size
        return x


def _basis(rows: Floats, components: int) -> tuple[Floats, Floats]:
    """(q,) the mean of the rows and (q, k) their first k <= `components` principal components, not scaled."""
    mean = rows.mean(axis=0)
    _, _, directions = np.linalg.svd(rows - mean, full_matrices=False)
    return mean, directions[:components].T


def _sides(episodes: Episodes, model: str) -> tuple[Floats, Floats]:
    """(N, q) the mean vector of the agent's turns, and (N, q) of the user's turns."""
    table = vectors(episodes.texts, model)
    said, first = episodes.logged.text[:, 0], episodes.first
    return _means(table, said, first), _means(table, episodes.user, first)


def _means(table: Floats, texts: Ints, first: Ints) -> Floats:
    """(N, q) mean vector of the texts of each dialogue; zeros for a dialogue without texts.

    -1 in `texts` is a missing turn.
    """
    there = (texts >= 0).astype(np.float64)
    sums = np.add.reduceat(table[np.maximum(texts, 0)] * there[:, None], first[:-1], axis=0)
    counts = np.add.reduceat(there, first[:-1])
    return sums / np.maximum(counts, 1.0)[:, None]


def _features(episodes: Episodes, model: str, bases: tuple[tuple[Floats, Floats], ...]) -> Floats:
    """(N, d) turns, words per turn of both speakers, share of repeated replies, and components of mean vectors."""
    first, said = episodes.first, episodes.logged.text[:, 0]
    turns = np.diff(first).astype(np.float64)
    words = np.array([len(text.split()) for text in episodes.texts] or [0], dtype=np.float64)
    columns = [turns]
    for texts in (said, episodes.user):
        there = texts >= 0
        spoken = np.where(there, words[np.maximum(texts, 0)], 0.0)
        columns.append(np.add.reduceat(spoken, first[:-1]) / turns)
    distinct = [len(set(said[start:end].tolist())) for start, end in pairwise(first.tolist())]
    columns.append(1 - np.array(distinct) / turns)
    sides = [
        (side - mean) @ basis for side, (mean, basis) in zip(_sides(episodes, model), bases, strict=True)
    ]
    return np.column_stack([*columns, *sides])
