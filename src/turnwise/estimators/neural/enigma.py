"""ENIGMA (Jiang et al. 2021): the mean rating of an agent by stationary distribution ratios (DICE).

Algorithm 2: dialogues are padded to T_max (padding.py), zeta is found by regularised DICE (minimax.py) on vectors of
all (s, a) of a dialogue (encode/neural/dialogue_layout.py), and the value is sum(zeta r) / sum(zeta) over the last
turns (post-normalisation). Equation 7, summed over all turns, would give the value over T_max. If the training
succeeded the mean zeta of last turns is near 1; far from it the game has collapsed. Post-normalisation hides this, so
the estimate is refused unless `allow_collapse` is set.

What the paper leaves open is in settings.py. Differences: frozen vectors are standardised, and `quick` takes their
principal components; a target with several sampled replies is averaged over them. `reward` is the score of the target's
own decision on the logged dialogue if it is known, as in the released data. The paper's ablations are options:
`normalised=false`, `weights=random`, `padding=false`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from turnwise.errors import Refused
from turnwise.estimators.neural.cards import CARDS
from turnwise.estimators.neural.minimax import Dice
from turnwise.estimators.neural.neural import Contributions, LearnerInputs, Neural, ess, parts
from turnwise.estimators.neural.padding import horizon
from turnwise.types import Card, Floats, Ints

ZETA_RANGE = (0.5, 2.0)  # range of the mean final zeta; .29 was observed in a collapsed training


@dataclass(frozen=True, kw_only=True)
class Enigma(Neural):
    """The estimator `enigma`; None in the last five settings is the preset's value."""

    name: ClassVar[str] = "enigma"
    card: ClassVar[Card] = CARDS["enigma"]

    t_max: int | None = None  # None: the length of the longest dialogue plus 1
    padding: bool = True
    normalised: bool = True  # post-normalisation
    alpha: float | None = None
    nu_rate: float | None = None
    lambda_rate: float | None = None
    price: float | None = None
    nu_penalty: float | None = None
    by_step: bool | None = None
    allow_collapse: bool = False  # give an estimate even if the training collapsed, for ablations

    def learner(self, setup: LearnerInputs) -> "_Game":
        """The untrained players zeta, nu and lambda on these inputs."""
        return _Game(self, setup)


class _Game:
    """The learner of `enigma`: zeta against nu and lambda."""

    def __init__(self, asked: Enigma, setup: LearnerInputs) -> None:
        self.asked, self.setup, self.batches = asked, setup, setup.batches
        self.size = setup.batches.size
        steps = horizon(setup.data.lengths, asked.t_max) if asked.padding else None
        self.dice = Dice(
            setup.batches.source.width,
            setup.hidden,
            horizon=steps,
            alpha=setup.settings.alpha,
            price=setup.settings.price,
            nu_penalty=setup.settings.nu_penalty,
            # Without padding zeta weighs dialogues by their length, and its mean at last turns is not 1.
            by_step=setup.settings.by_step and asked.padding,
            generator=setup.generator,
        ).to(setup.device)

    def groups(self) -> list[tuple[float, list[torch.nn.Parameter]]]:
        """Parameters with the factors of their learning rates: zeta and encoder 1, then nu, then lambda."""
        dice, settings = self.dice, self.setup.settings
        encoder = self.batches.source.parameters()
        return [
            (1.0, [*dice.zeta.parameters(), dice.zeta_pseudo, *encoder]),
            (settings.nu_rate, [*dice.nu.parameters(), dice.nu_pseudo]),
            (settings.lambda_rate, [dice.price]),
        ]

    def state(self) -> list[torch.Tensor]:
        """What a checkpoint holds beside the parameters: nothing."""
        return []

    def loss(self, dialogues: Ints) -> torch.Tensor:
        """The loss of these dialogues, by index."""
        return self.dice.loss(self.batches[dialogues])

    def reading(self) -> Mapping[str, float]:
        """The objective, the estimate and the mean zeta of last turns, over all dialogues."""
        objective, zeta = self._objective_and_zeta()
        value = float(self._weights(zeta) @ self.setup.data.reward / self.size)
        return {"objective": objective, "estimate": value, "mean_zeta": float(zeta.mean())}

    def contributions(self) -> Contributions:
        """Contributions and diagnostics after the training.

        Raises `Refused` if the mean zeta of last turns is out of `ZETA_RANGE`, unless `allow_collapse` is set.
        """
        objective, zeta = self._objective_and_zeta()
        reward, mean = self.setup.data.reward, float(zeta.mean())
        collapsed = not ZETA_RANGE[0] <= mean <= ZETA_RANGE[1]
        if collapsed and not self.asked.allow_collapse:
            raise Refused(
                "enigma: the training collapsed: the mean zeta of last turns is {zeta:.2f} and not between {low:g} and "
                "{high:g}, where 1 is right. This happens where the target says what no logged agent says; log agents "
                "that talk like it, rate some of its dialogues, take {--estimator:robust}, or train with a larger "
                "nu_penalty (now {nu_penalty:g}) or more epochs (now {epochs})",
                "collapsed",
                zeta=float(mean),
                low=ZETA_RANGE[0],
                high=ZETA_RANGE[1],
                nu_penalty=self.setup.settings.nu_penalty,
                epochs=self.setup.settings.epochs,
            )
        weights = self._weights(zeta)
        value = float(weights @ reward / self.size)
        # With weights of mean 1 this is the influence of each dialogue on a ratio; its mean is the ratio.
        contributions = value + weights * (reward - value) if self.asked.normalised else weights * reward
        rating = self.setup.data.rating
        return Contributions(
            contributions,
            {
                # zeta does not depend on rewards: the estimate from the logged ratings needs no further training.
                "by_logged_ratings": float(np.nansum(weights * rating) / weights[np.isfinite(rating)].sum()),
                "mean_zeta": mean,
                "collapsed": float(collapsed),
                "ess": ess(zeta),
                "lambda": float(self.dice.price.detach().mean()),
                "objective": objective,
            },
        )

    def _weights(self, zeta: Floats) -> Floats:
        """(N,) zeta, divided by its mean if `normalised`."""
        return zeta / max(float(zeta.mean()), 1e-12) if self.asked.normalised else zeta

    def _objective_and_zeta(self) -> tuple[float, Floats]:
        """The objective, and zeta at the last turn of each dialogue."""
        total, found = 0.0, []
        with torch.no_grad():
            for dialogues in parts(self.size, 4096 if not self.asked.tuned else 64):
                batch = self.batches[dialogues]
                steps = self.dice.steps(batch)
                total += float(self.dice.lagrangian(steps)) * len(dialogues)
                row = batch.logged.gather(1, batch.last[:, None]).squeeze(1)
                found.append(self.dice.zeta(batch.rows[row]).square().double().cpu().numpy())
        return total / self.size, np.concatenate(found)
