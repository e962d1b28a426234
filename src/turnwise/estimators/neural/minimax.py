"""Regularised DICE as a game between zeta and (nu, lambda): ENIGMA's equation 6 and Algorithm 2.

zeta(s, a) is the ratio of the visits of the target and of the logs to (s, a), nu a critic that detects violations of
the flow equations of zeta, lambda the multiplier of the constraint that zeta has mean 1. With steps 0 .. T_max - 1 of
padding.py,

    L = mean over dialogues of 1/T_max sum_t [ zeta_t (nu'_{t+1} - nu_t) + lambda (zeta_t - 1) - alpha zeta_t^2 ],

least in nu and lambda, greatest in zeta; nu' is nu at the target's reply, its mean over samples. A single gradient
serves both players, as in the paper: it is reversed where it enters zeta (Algorithm 1 omits that). zeta is a square.

Deviations. The gradient of a square vanishes at 0, so zeta starts at 1, where the released code starts near 0. The zeta
of pseudo states is a square too; in the released code it may be negative. The released sign of lambda is the opposite,
which has no other effect. `nu_penalty` adds its value times the mean of nu^2 over logged and target replies, which the
player nu pays: without it nu grows without bound where the target says what no logged agent says. No zeta but 0
satisfies the flow equations there, and zeta falls to 0 (papers/enigma-neural.md). With it the equations may be violated
a little, as in the closed form with its kappa (Yang et al. 2020 have it as the regulariser of the dual).
"""

from typing import Any, NamedTuple

import torch

from turnwise.estimators.neural.batches import Batch
from turnwise.estimators.neural.heads import Head
from turnwise.estimators.neural.padding import following, padded


class _Reverse(torch.autograd.Function):
    """The identity whose gradient has the opposite sign."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """A view of x."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        """The gradient with the opposite sign."""
        return -gradient


def reverse(x: torch.Tensor) -> torch.Tensor:
    """x, with its gradient reversed."""
    reversed_: torch.Tensor = _Reverse.apply(x)  # type: ignore[no-untyped-call]
    return reversed_


class Steps(NamedTuple):
    """Values at the steps of each dialogue."""

    zeta: torch.Tensor  # (B, S)
    nu: torch.Tensor  # (B, S)
    then: torch.Tensor  # (B, S) nu at the next step with the target's reply
    there: torch.Tensor  # (B, S) 1 where the step exists
    last: torch.Tensor  # (B,) zeta at the last turn of each dialogue


class Dice(torch.nn.Module):
    """zeta, nu and lambda as modules.

    `width` is that of a row, `hidden` that of the heads, `price` the initial lambda.
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        *,
        horizon: int | None,  # None: no padding
        alpha: float,
        price: float,
        nu_penalty: float = 0.0,
        by_step: bool = False,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.alpha, self.nu_penalty, self.horizon = alpha, nu_penalty, horizon
        self.zeta = Head(width, hidden, start=1.0, generator=generator)
        self.nu = Head(width, hidden, start=0.0, generator=generator)
        self.by_step = by_step
        # lambda; `by_step` has one for each step and one for the last turns
        self.price = torch.nn.Parameter(
            torch.cat([torch.full((horizon or 1,), price), torch.zeros(1)])
            if by_step
            else torch.tensor(price)
        )
        self.zeta_pseudo = torch.nn.Parameter(torch.ones(horizon or 0))
        self.nu_pseudo = torch.nn.Parameter(torch.zeros(horizon or 0))

    def steps(self, batch: Batch) -> Steps:
        """zeta, nu and the next nu of each dialogue at its steps.

        With a horizon T_max these are steps 0 to T_max - 1 of padding.py, otherwise the turns of the dialogue.
        """
        nu = self.nu(batch.rows)
        zeta = self.zeta(batch.rows[batch.logged]).square()
        last = zeta.gather(1, batch.last[:, None]).squeeze(1)
        now, then = nu[batch.logged], (nu[batch.target] * batch.weight).sum(dim=-1)
        if self.horizon is None:
            return Steps(zeta, now, following(then, batch.inside), batch.inside.float(), last)
        zeta = padded(zeta, batch.inside, self.zeta_pseudo.square())[:, :-1]
        now = padded(now, batch.inside, self.nu_pseudo)[:, :-1]
        then = padded(then, batch.inside, self.nu_pseudo)[:, 1:]
        return Steps(zeta, now, then, torch.ones_like(zeta), last)

    def loss(self, batch: Batch) -> torch.Tensor:
        """L with reversed gradient for zeta: descending it minimises over nu and lambda and maximises over zeta."""
        steps = self.steps(batch)
        return self.lagrangian(steps._replace(zeta=reverse(steps.zeta), last=reverse(steps.last)))

    def lagrangian(self, steps: Steps) -> torch.Tensor:
        """The mean of L over the existing steps, a scalar."""
        zeta, nu, then, there, last = steps
        price = self.price[:-1] if self.by_step else self.price
        terms = zeta * (then - nu) + price * (zeta - 1) - self.alpha * zeta.square()
        if self.by_step:
            terms = terms + self.price[-1] * (last.mean() - 1)
        if self.nu_penalty:
            terms = terms + self.nu_penalty * (nu.square() + then.square()) / 2
        return (terms * there).sum() / there.sum()
