"""How `turnwise train` makes agents: HRED, VHRED, a dual encoder and TF-IDF retrieval, from plain conversations."""

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from turnwise.networks.training.task import Trained, TrainingTask
from turnwise.types import Finding

if TYPE_CHECKING:
    from turnwise.networks.training.training import Settings

    Chosen = TypeVar("Chosen", bound=Settings)
_LATENT = 100  # dimensions of VHRED's variable, as in its paper


def hred(task: TrainingTask) -> Trained:
    return _dialogue_model(task, latent=0)


def vhred(task: TrainingTask) -> Trained:
    return _dialogue_model(task, latent=_LATENT)


def _dialogue_model(task: TrainingTask, *, latent: int) -> Trained:
    from turnwise.networks.hred import pretraining

    settings = _settings(task, pretraining.Settings(latent=latent, device=task.device))
    trained = pretraining.train(task.dialogues, settings=settings, rng=task.rng, say=task.say, work=task.work)
    return _told(task, trained, ("perplexity", "kl") if latent else ("perplexity",))


def dual(task: TrainingTask) -> Trained:
    from turnwise.networks import dual as matching

    settings = _settings(task, matching.Settings(device=task.device))
    trained = matching.train(task.dialogues, settings=settings, rng=task.rng, say=task.say, work=task.work)
    return _told(task, trained, ("recall",))


def characters(task: TrainingTask) -> Trained:
    """No agent: an encoder for ADEM, pretrained like one."""
    from turnwise.networks import characters as letters

    settings = _settings(task, letters.Settings(device=task.device))
    trained = letters.train(task.dialogues, settings=settings, rng=task.rng, say=task.say, work=task.work)
    return _told(task, trained, ("recall",))


def tfidf(task: TrainingTask) -> Trained:
    from turnwise.agents.tfidf import TfIdf

    task.check_settings(["window"])
    agent = TfIdf.fit(task.dialogues, window=task.setting("window", 2))
    tensors, config = agent.parts()
    return Trained(kind="tfidf", tensors=tensors, config=config, card={"replies": len(agent.said)})


def _settings(task: TrainingTask, default: "Chosen") -> "Chosen":
    """The settings of a task over their defaults; the device is the command's."""
    names = [field.name for field in fields(default) if field.name != "device"]
    task.check_settings(names)
    chosen = {name: task.setting(name, getattr(default, name)) for name in names}
    return type(default)(**chosen, device=task.device)


def _told(task: TrainingTask, trained: Trained, statistics: tuple[str, ...]) -> Trained:
    """With what was measured on held-out dialogues, for the command to print."""
    best = trained.card["held_out"]
    findings = tuple(
        Finding(
            what={"metric": task.metric, "statistic": name},
            estimate=best[name],
            n_clusters=best["dialogues"],
            method="held-out dialogues",
        )
        for name in statistics
    )
    return Trained(
        kind=trained.kind,
        tensors=trained.tensors,
        config=trained.config,
        card=trained.card,
        curve=trained.curve,
        findings=findings,
    )
