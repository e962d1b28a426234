"""LAVA's supervised training: response generation (RG) and the responses' autoencoder (VAE), in three ways.

`joint` is eq. 4 of Lubis et al. 2022, both losses in every update; `alternate` is LAVA_mt as it was first published
(Lubis et al. 2020), 10 updates of RG to one of the VAE; `kl` is LAVA_kl: a VAE is trained first and frozen, and the
policy is regularised towards its posterior. `vae` alone is eq. 5, the warm-up before PLAS.

Expectations are estimated from one draw. The loss in nats is divided by the mean length of a reply, as in LaRL, and KL
terms have the weight .01 (LaRL's and LAVA's value; the paper does not state its own). LaRL's released code takes the
mean of the KL over the latent dimensions, so the weight belongs to nats per dimension. With the sum over 200
dimensions the term is 200 times too strong: on MultiWOZ the KL of a reply was then 7 to 8 nats, less than the entropy
of the replies, and 2 % of the replies were distinct. `learn` warns of that.
The original alternates epochs; we alternate updates, so that a short training has both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from turnwise.encode.neural.loading import default_device
from turnwise.errors import UsageError, unknown
from turnwise.networks.lava.corpus import Corpus
from turnwise.networks.lava.model import BETA, Curve, Model
from turnwise.networks.lava.network import Gaussian, Lava
from turnwise.networks.subwords import PAD
from turnwise.networks.training.loop import Plan, fit

Objective: TypeAlias = Literal["joint", "alternate", "kl"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
Task: TypeAlias = Literal["joint", "alternate", "rg", "rg-kl", "vae"]
_CYCLE = 11  # updates of a cycle; the last is the VAE's


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Sizes and training settings of LAVA. Section 5.2: latent 200, rate 5e-4. Other sizes and KL weights are LaRL's.

    Dropout and batch are ours.
    """

    objective: str = "joint"
    embedding: int = 100
    hidden: int = 300
    latent: int = 200
    dropout: float = 0.3
    fewest: int = 5  # smallest number of occurrences of a word of the vocabulary
    longest: int = 36  # largest number of words of a turn; 99 % are shorter
    alpha: float = 0.01  # weight of the KL of the state's distribution, in nats per latent dimension
    beta: float = BETA  # weight of the KL of the action's distribution, likewise
    rate: float = 5e-4
    batch: int = 128
    epochs: int = 30  # at most
    patience: int = 3  # epochs without improvement before stopping
    first: int = 5  # epochs of the VAE before LAVA_kl
    held_out: float = 0.05  # share of the dialogues, if the data has no split `val`
    device: str = field(default_factory=default_device)

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise unknown("objective", self.objective, OBJECTIVES)
        if min(self.embedding, self.hidden, self.latent, self.fewest, self.longest - 1) < 1:
            raise UsageError("embedding, hidden, latent and fewest are 1 or more, and longest 2 or more")
        if not 0 <= self.dropout < 1 or not 0 < self.held_out < 1:
            raise UsageError("dropout is at least 0, held_out above 0, and both below 1")

    @property
    def sizes(self) -> dict[str, int | float]:
        """The sizes that `Model.new` takes: embedding, hidden, latent and dropout."""
        return {name: getattr(self, name) for name in ("embedding", "hidden", "latent", "dropout")}

    def plan(self, epochs: int, seed: int) -> Plan:
        """The plan of `fit` for this number of epochs."""
        return Plan(
            epochs=epochs, batch=self.batch, rate=self.rate, clip=5.0, patience=self.patience, seed=seed
        )


def train(
    model: Model,
    train_data: Corpus,
    held_out: Corpus,
    *,
    settings: Settings,
    seed: int,
    work: Path | None = None,
    about: str = "",
    stop: Callable[[], bool] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Curve:
    """Train the model in place by the objective of the settings; the weights of the best epoch are kept.

    The objective `kl` has two stages: the VAE for `first` epochs, then the policy. Returns the curves, concatenated.
    """
    if settings.objective != "kl":
        task: Task = "joint" if settings.objective == "joint" else "alternate"
        stages = [(task, settings.epochs)]
    else:
        stages = [("vae", settings.first), ("rg-kl", settings.epochs)]
    curve: Curve = []
    for task, epochs in stages:
        curve += learn(
            model, train_data, held_out, task=task, epochs=epochs, settings=settings, seed=seed,
            work=None if work is None else work / task, about=about, stop=stop, report=report,
        )  # fmt: skip
    return curve


def learn(
    model: Model,
    train_data: Corpus,
    held_out: Corpus,
    *,
    task: Task,
    epochs: int,
    settings: Settings,
    seed: int,
    work: Path | None = None,
    about: str = "",
    stop: Callable[[], bool] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Curve:
    """One stage: train the parts that the task does not freeze, in place, and return the curve.

    `held_out` decides the best epoch and when to stop; `work` and `about` are as in `fit`. `report` gets a warning if
    the latent variable cannot tell the replies apart at the end (`_collapse`).
    """
    network, teacher = model.network, _Teacher(model.network, train_data, settings, task)
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(not name.startswith(_FROZEN.get(task, "-")))
    records = fit(
        teacher,
        teacher.losses,
        len(train_data.user),
        plan=settings.plan(epochs, seed),
        validate=lambda: teacher.bound(held_out),
        measures=lambda: teacher.seen,
        work=work,
        about=f"{task} {about}",
        stop=stop,
        say=lambda line: report(f"{task}: {line}"),
    )
    network.requires_grad_(True)
    if task != "rg-kl" and (collapse := _collapse(teacher.seen, train_data)):
        report(f"warning: {task}: {collapse}")
    return [dict(record) for record in records]


def _collapse(seen: Mapping[str, float], train_data: Corpus) -> str | None:
    """What to say if the latent actions carry less information than the replies have; otherwise None.

    The mean KL of the latent actions from the prior is an upper bound of their mutual information with the replies.
    None also if nothing was measured.
    """
    if "kl_action" not in seen:
        return None
    counts = torch.unique(train_data.reply, dim=0, return_counts=True)[1]
    shares = counts / counts.sum()
    entropy = -float((shares * shares.log()).sum())
    if seen["kl_action"] >= entropy:
        return None
    return (
        f"the latent variable has collapsed: a latent action tells at most {seen['kl_action']:.1f} nats of its reply "
        f"(KL), and the replies have an entropy of {entropy:.1f} nats; lower alpha and beta, or train for longer"
    )


_FROZEN = {"vae": "state.", "rg-kl": "action."}  # parts that a task does not train


class _Teacher(torch.nn.Module):
    """The network with the losses and the validation of one task."""

    def __init__(self, network: Lava, train_data: Corpus, settings: Settings, task: Task) -> None:
        super().__init__()
        self.network, self.train_data, self.settings, self.task = network, train_data, settings, task
        self.words = float((train_data.reply != PAD).sum(dim=1).float().mean())
        self.dimensions = network.action.latent.out_features // 2  # dimensions of the latent space
        self.seen: dict[str, float] = {}
        # A buffer, so that the checkpoint holds the position in the cycle.
        self.updates: Tensor
        self.register_buffer("updates", torch.zeros((), dtype=torch.long))

    def losses(self, indices: Sequence[int]) -> Tensor:
        """(b,) nats per word plus weighted divergences of the examples at `indices`; counts the update.

        With `alternate`, every eleventh update is the VAE's.
        """
        rows = torch.as_tensor(indices, device=self.train_data.user.device)
        data, task = self.train_data, self.task
        if task == "alternate":
            task = "vae" if int(self.updates) % _CYCLE == _CYCLE - 1 else "rg"
        self.updates += 1
        return self._loss(data.user[rows], data.state[rows], data.reply[rows], task)

    def _loss(self, user: Tensor, state: Tensor, reply: Tensor, task: Task) -> Tensor:
        """(b,) the loss of each example for one task, at drawn points."""
        alpha, beta = self.settings.alpha, self.settings.beta
        # The weights belong to nats per latent dimension, as in LaRL: the sum over 200 dimensions makes z collapse.
        chosen: list[Gaussian] = []
        penalty = torch.zeros((), device=user.device)
        if task != "vae":
            policy = self.network.state(user, state)
            chosen.append(policy)
            if task == "rg-kl":
                with torch.no_grad():
                    posterior = self.network.action.eval()(reply)
                penalty = penalty + alpha * policy.divergence(posterior) / policy.dimensions
            else:
                penalty = penalty + alpha * policy.divergence() / policy.dimensions
        if task in ("vae", "joint"):
            posterior = self.network.action(reply)
            chosen.append(posterior)
            penalty = penalty + beta * posterior.divergence() / posterior.dimensions
        # One pass of the decoder for both expectations.
        points = torch.cat([one.draw(torch.randn_like(one.mean)) for one in chosen])
        nats = self.network.decoder.loss(points, reply.repeat(len(chosen), 1))
        return nats.view(len(chosen), -1).sum(dim=0) / self.words + penalty

    def bound(self, held_out: Corpus) -> float:
        """The validation loss: at the means, without draws. Its parts are stored in `seen`."""
        found = self.seen = self.measures(held_out)
        alpha, beta = (weight / self.dimensions for weight in (self.settings.alpha, self.settings.beta))
        if self.task == "vae":
            return found["vae"] + beta * found["kl_action"]
        total = found["rg"] + alpha * found["kl_state"]
        return total + found["vae"] if self.task == "joint" else total

    @torch.no_grad()
    def measures(self, held_out: Corpus, at_once: int = 2048) -> dict[str, float]:
        """Nats per word of both tasks at the means, and the mean divergence of both distributions from the prior.

        A divergence is in nats, summed over the latent dimensions.
        """
        sums = torch.zeros(5, device=held_out.user.device)
        self.network.eval()
        for first in range(0, len(held_out.user), at_once):
            part = slice(first, first + at_once)
            reply = held_out.reply[part]
            policy = self.network.state(held_out.user[part], held_out.state[part])
            posterior = self.network.action(reply)
            decode = self.network.decoder.loss
            sums += torch.stack(
                [
                    decode(policy.mean, reply).sum(),
                    decode(posterior.mean, reply).sum(),
                    policy.divergence().sum(),
                    posterior.divergence().sum(),
                    (reply != PAD).sum().float(),
                ]
            )
        rg, vae, kl_state, kl_action, words = sums.tolist()
        n = len(held_out.user)
        return {"rg": rg / words, "vae": vae / words, "kl_state": kl_state / n, "kl_action": kl_action / n}
