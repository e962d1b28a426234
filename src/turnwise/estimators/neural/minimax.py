"""Regularised DICE as a game between zeta and (nu, lambda): ENIGMA's equation 6 and Algorithm 2.

zeta(s, a) is how much more often the target comes to (s, a) than the logs do, nu a critic that finds where the flow of
zeta does not add up, lambda the price of a mean of zeta other than 1. With steps 0 .. T_max - 1 of padding.py,

    L = mean over dialogues of 1/T_max sum_t [ zeta_t (nu'_{t+1} - nu_t) + lambda (zeta_t - 1) - alpha zeta_t^2 ],

least in nu and lambda, greatest in zeta; nu' is nu at the target's reply, its mean over samples. A single gradient
serves both sides, as in the paper: it is reversed where it enters zeta (Algorithm 1 forgets that). zeta is a square.

Deviations. A square has no slope at 0, so zeta begins at 1, where the released code begins near 0. Pseudo states have
squares too; the released code lets their zeta go negative. The released sign of lambda is the opposite, which changes
nothing else. Neither gives an estimate of the value.
"""

from typing import Any, NamedTuple

import torch

from turnwise.estimators.neural.batches import Batch
from turnwise.estimators.neural.heads import Head
from turnwise.estimators.neural.padding import following, padded


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return -gradient


def reverse(x: torch.Tensor) -> torch.Tensor:
    """x, whose gradient is turned around."""
    turned: torch.Tensor = _Reverse.apply(x)  # type: ignore[no-untyped-call]
    return turned


class Steps(NamedTuple):
    """Values along the chain of each dialogue."""

    zeta: torch.Tensor  # (B, S)
    nu: torch.Tensor  # (B, S)
    then: torch.Tensor  # (B, S) nu where the target goes on
    there: torch.Tensor  # (B, S) 1 where the step exists


class Dice(torch.nn.Module):
    def __init__(
        self,
        width: int,
        hidden: int,
        *,
        horizon: int | None,  # None: no padding
        alpha: float,
        price: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.alpha, self.horizon = alpha, horizon
        self.zeta = Head(width, hidden, start=1.0, generator=generator)
        self.nu = Head(width, hidden, start=0.0, generator=generator)
        self.price = torch.nn.Parameter(torch.tensor(price))  # lambda
        self.zeta_pseudo = torch.nn.Parameter(torch.ones(horizon or 0))
        self.nu_pseudo = torch.nn.Parameter(torch.zeros(horizon or 0))

    def steps(self, batch: Batch) -> Steps:
        nu = self.nu(batch.rows)
        zeta = self.zeta(batch.rows[batch.logged]).square()
        now, then = nu[batch.logged], (nu[batch.target] * batch.weight).sum(dim=-1)
        if self.horizon is None:
            return Steps(zeta, now, following(then, batch.inside), batch.inside.float())
        zeta = padded(zeta, batch.inside, self.zeta_pseudo.square())[:, :-1]
        now = padded(now, batch.inside, self.nu_pseudo)[:, :-1]
        then = padded(then, batch.inside, self.nu_pseudo)[:, 1:]
        return Steps(zeta, now, then, torch.ones_like(zeta))

    def loss(self, batch: Batch) -> torch.Tensor:
        """L, whose descent is the descent of nu and lambda and the ascent of zeta."""
        zeta, nu, then, there = self.steps(batch)
        return self.lagrangian(reverse(zeta), nu, then, there)

    def lagrangian(
        self, zeta: torch.Tensor, nu: torch.Tensor, then: torch.Tensor, there: torch.Tensor
    ) -> torch.Tensor:
        terms = zeta * (then - nu) + self.price * (zeta - 1) - self.alpha * zeta.square()
        return (terms * there).sum() / there.sum()
