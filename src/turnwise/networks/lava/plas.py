"""PLAS (Zhou et al. 2020) in LAVA's latent space, as Lubis et al. 2022, section 4.1.

The state encoder becomes a deterministic policy within [-sigma, sigma]. The action encoder maps a logged reply to a
point of the latent space and the decoder maps a point to a reply; both are frozen. Critic and actor are updated in turn
on episodes drawn from the logs, with soft updates of their target networks. The policy with the best success on
held-out dialogues is kept; the initial policy is a candidate.

Where the paper is silent or wrong: eq. 6 as printed would minimise Q, we maximise it. Eq. 7 adds a KL term that does
not depend on the critic's weights and so trains nothing: here it is subtracted in the target,
r + gamma (Q' - lambda KL), so actions far from the logged ones are worth less; the KL is per dimension and the target
is clipped to 0 to 1.

The defaults are not those of section 5.2, with which the policy gets worse on MultiWOZ (papers/lava.md has the options
and the curves). First, the KL between two narrow Gaussians is large, so the penalty with lambda .1 lowers the targets
to 0: with four of five seeds the critic's values are 0 everywhere. The default is no penalty. Second, the squared
distance to the logged action (eq. 6) pulls the policy towards the average of all replies to a state, because the state
does not determine the reply. The default `anchor` is therefore the policy's own action before training. It keeps the
actor where the decoder knows replies. Rates and closeness were chosen by success on validation dialogues.

Not stated: gamma (.9, which reproduces the published value of people), K (5), sigma (4; Zhou et al. 2), the optimiser
(Adam), the number of episodes in an update (32; theirs seems to be one), the rate of the soft update (.05; Zhou et al.
have .005, for many more updates). Ours: the critic is updated alone at first, because an actor that follows a random
critic loses its language.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from turnwise.encode.neural.loading import default_device
from turnwise.errors import UsageError, unknown
from turnwise.networks.lava import supervised
from turnwise.networks.lava.corpus import Corpus
from turnwise.networks.lava.critic import Batch, Critic, Shape
from turnwise.networks.lava.model import Curve, EvaluatedDialogues, Model, bounded
from turnwise.networks.lava.network import Gaussian, copied, copy_without_dropout, soft_update
from turnwise.networks.lava.search import Search
from turnwise.networks.training.loop import descend
from turnwise.types import Floats

ANCHORS = ("logged", "policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of PLAS; hidden 500 and dropout .3 are those of section 5.2."""

    hidden: int = 500
    critic_rate: float = 0.001
    actor_rate: float = 0.001
    dropout: float = 0.3
    passes: int = 5
    penalty: float = 0.0  # lambda
    closeness: float = 3.0  # weight of the squared distance to the anchor in the actor's loss
    anchor: str = "policy"  # the action of the policy before training; or `logged`: the logged action (eq. 6)
    sigma: float = 4.0
    gamma: float = 0.9
    follow: float = 0.05  # rate of the soft update of the target networks
    episodes: int = 64_000
    batch: int = 32
    lead: int = 300  # updates of the critic before the first update of the actor
    every: int = 50  # updates between measurements on the held-out dialogues
    warm: int = 2  # epochs of eq. 5 beforehand
    device: str = field(default_factory=default_device)

    def __post_init__(self) -> None:
        if min(self.hidden, self.passes, self.episodes, self.batch, self.every) < 1 or self.warm < 0:
            raise UsageError("hidden, passes, episodes, batch and every are 1 or more, and warm 0 or more")
        if self.episodes < self.batch:
            raise UsageError(f"{self.episodes} episodes are less than one update of {self.batch}")
        if self.anchor not in ANCHORS:
            raise unknown("anchor", self.anchor, ANCHORS)
        if not 0 <= self.gamma <= 1 or not self.sigma > 0 or not 0 <= self.dropout < 1:
            raise UsageError("gamma is 0 to 1, sigma above 0 and dropout from 0 to below 1")


def train(
    model: Model,
    train_data: Corpus,
    rewards: Floats,
    held_out: EvaluatedDialogues,
    *,
    settings: Settings,
    seed: int,
    stop: Callable[[], bool] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[Model, Search]:
    """Train a policy that starts as the model's; `rewards` (N,) are those at the ends of the logged dialogues.

    Returns the policy with the best held-out success, and the search with its curve.
    """
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        pair = _Pair(model, train_data, rewards, settings)
        search = Search(model.acting(model.network, settings.sigma), pair.actor, held_out, report)
        order = np.random.default_rng([seed, 0])

        def update(number: int) -> dict[str, float]:
            """One update on a batch of random dialogues; the first `lead` updates train the critic alone."""
            drawn = order.integers(len(rewards), size=settings.batch)
            dialogues = torch.as_tensor(drawn, device=train_data.user.device)
            return pair.update(dialogues, leading=number < settings.lead)

        updates = settings.episodes // settings.batch
        search.run(updates, update, every=settings.every, after=settings.lead, stop=stop)
    return search.best, search


def warm_up(
    model: Model,
    train_data: Corpus,
    held_out: Corpus,
    *,
    settings: Settings,
    seed: int,
    stop: Callable[[], bool] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Curve:
    """Eq. 5: train the action encoder and the decoder for `warm` epochs, without the state encoder, in place.

    The KL has the weight that the model was trained with: with another, the latent actions would move away from those
    of the state encoder. Returns the curve, which is empty if `warm` is 0.
    """
    if not settings.warm:
        return []
    how = supervised.Settings(device=settings.device, patience=settings.warm, beta=model.beta)
    return supervised.learn(
        model,
        train_data,
        held_out,
        task="vae",
        epochs=settings.warm,
        settings=how,
        seed=seed,
        stop=stop,
        report=report,
    )


class _Pair:
    """Actor and critic with their target networks."""

    def __init__(self, model: Model, train_data: Corpus, rewards: Floats, settings: Settings) -> None:
        self.settings, self.train_data = settings, train_data
        self.rewards = torch.as_tensor(rewards, dtype=torch.float32, device=train_data.user.device)
        self.behaviour = _points(model, train_data)
        shape = Shape(
            model.sizes, train_data.goal.shape[1], settings.hidden, settings.dropout, settings.passes
        )
        self.critic = Critic(shape).to(train_data.user.device)
        self.actor = copy_without_dropout(model.network.state)
        self.before = copied(self.actor).requires_grad_(False)  # the policy before training
        # The critic starts with the policy's word reader.
        self.critic.reader.load_state_dict(self.actor.reader.state_dict())
        self.target_critic, self.target_actor = copied(self.critic), copied(self.actor)
        self.critic_optimiser = torch.optim.Adam(self.critic.parameters(), lr=settings.critic_rate)
        self.actor_optimiser = torch.optim.Adam(self.actor.parameters(), lr=settings.actor_rate)

    def update(self, dialogues: Tensor, *, leading: bool) -> dict[str, float]:
        """One update of the critic and, unless `leading`, of the actor, on these dialogues.

        Returns losses and values.
        """
        batch = Batch.of(self.train_data, dialogues)
        reward = torch.zeros(len(batch.rows), device=dialogues.device)
        reward[batch.last] = self.rewards[dialogues]
        logged = Gaussian(self.behaviour.mean[batch.rows], self.behaviour.log_var[batch.rows])
        numbers = {"critic_loss": float(self._update_critic(batch, logged, reward))}
        soft_update(self.critic, self.target_critic, self.settings.follow)
        if not leading:
            numbers |= self._update_actor(batch, logged)
            soft_update(self.actor, self.target_actor, self.settings.follow)
        return numbers

    def _update_critic(self, batch: Batch, logged: Gaussian, reward: Tensor) -> Tensor:
        """One gradient step of the critic towards reward + gamma (next Q - penalty); returns its loss."""
        with torch.no_grad():
            chosen = bounded(self.target_actor(batch.user, batch.state), self.settings.sigma)
            known = self.target_critic.read(batch)
            _, before = self.target_critic.logged(known, logged.mean, batch.there)
            worth = self.target_critic.estimate(self.target_critic.instead(known, chosen.mean, before))
            worth = worth - self.settings.penalty * logged.divergence(chosen) / chosen.dimensions
            after = torch.cat([worth[1:], worth[:1]]).masked_fill(batch.last, 0.0)
            target = (reward + self.settings.gamma * after).clamp(0.0, 1.0)
        # A draw and not the mean: otherwise the critic is arbitrary in dimensions that carry no information.
        drawn = logged.draw(torch.randn_like(logged.mean))
        after_logged, _ = self.critic.logged(self.critic.read(batch), drawn, batch.there)
        loss = functional.mse_loss(self.critic.estimate(after_logged), target)
        descend(self.critic_optimiser, [loss], clip=1.0)
        return loss.detach()

    def _update_actor(self, batch: Batch, logged: Gaussian) -> dict[str, float]:
        """One gradient step of the actor: high Q, close to the anchor.

        Returns its loss, mean Q and squared distance.
        """
        chosen = bounded(self.actor(batch.user, batch.state), self.settings.sigma).mean
        with torch.no_grad():
            known = self.critic.read(batch)
            _, before = self.critic.logged(known, logged.mean, batch.there)
        value = self.critic.estimate(self.critic.instead(known, chosen, before)).mean()
        far = functional.mse_loss(chosen, self._anchor(batch, logged))
        loss = self.settings.closeness * far - value
        descend(self.actor_optimiser, [loss], clip=1.0)
        found = {"actor_loss": loss, "value": value, "mse": far}
        return {name: float(one.detach()) for name, one in found.items()}

    @torch.no_grad()
    def _anchor(self, batch: Batch, logged: Gaussian) -> Tensor:
        """(n, z) the points that the actor is kept close to."""
        if self.settings.anchor == "policy":
            return bounded(self.before(batch.user, batch.state), self.settings.sigma).mean
        return logged.mean.clamp(-self.settings.sigma, self.settings.sigma)


def _points(model: Model, corpus: Corpus, at_once: int = 4096) -> Gaussian:
    """The latent distributions (n, z) of the logged replies."""
    model.network.eval()
    with torch.no_grad():
        found = [
            model.network.action(corpus.reply[first : first + at_once])
            for first in range(0, len(corpus.reply), at_once)
        ]
    return Gaussian(torch.cat([one.mean for one in found]), torch.cat([one.log_var for one in found]))
