"""Trainers of agents for `turnwise train`: HRED, VHRED, a dual encoder and TF-IDF retrieval."""

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.records import StatisticRecord

if TYPE_CHECKING:
    from turnwise.networks.training.on_dialogues import Settings

    Chosen = TypeVar("Chosen", bound=Settings)
_LATENT = 100  # dimensions of VHRED's latent variable (Serban et al. 2017)


def hred(task: TrainingTask) -> TrainedModel:
    """Train HRED on the likelihood of dialogues."""
    return _dialogue_model(task, latent=0)


def vhred(task: TrainingTask) -> TrainedModel:
    """Train VHRED on the variational bound of the likelihood of dialogues."""
    return _dialogue_model(task, latent=_LATENT)


def _dialogue_model(task: TrainingTask, *, latent: int) -> TrainedModel:
    """Train HRED, or VHRED with a latent variable of `latent` dimensions."""
    from turnwise.networks.hred import pretraining

    settings = _settings(task, pretraining.Settings(latent=latent, device=task.device))
    trained = pretraining.train(task.dialogues, settings=settings, rng=task.rng, say=task.say, work=task.work)
    return _with_findings(task, trained, ("perplexity", "kl") if latent else ("perplexity",))


def dual(task: TrainingTask) -> TrainedModel:
    """Train a dual encoder to find the true reply to a context."""
    from turnwise.networks import dual as matching

    settings = _settings(task, matching.Settings(device=task.device))
    trained = matching.train(task.dialogues, settings=settings, rng=task.rng, say=task.say, work=task.work)
    return _with_findings(task, trained, ("recall",))


def characters(task: TrainingTask) -> TrainedModel:
    """Train the character-level encoder of ADEM, which is not an agent but pretrained like one."""
    from turnwise.networks import characters as letters

    settings = _settings(task, letters.Settings(device=task.device))
    trained = letters.train(task.dialogues, settings=settings, rng=task.rng, say=task.say, work=task.work)
    return _with_findings(task, trained, ("recall",))


def tfidf(task: TrainingTask) -> TrainedModel:
    """Fit TF-IDF retrieval; its only setting is `window`."""
    from turnwise.agents.tfidf import TfIdf

    task.check_settings(["window"])
    agent = TfIdf.fit(task.dialogues, window=task.setting("window", 2))
    tensors, config = agent.parts()
    return TrainedModel(
        kind="tfidf", tensors=tensors, config=config, card={"replies": len(agent.known_replies)}
    )


def _settings(task: TrainingTask, default: "Chosen") -> "Chosen":
    """The default settings, with those of the task and its device; raises `UsageError` for unknown ones."""
    names = [field.name for field in fields(default) if field.name != "device"]
    task.check_settings(names)
    chosen = {name: task.setting(name, getattr(default, name)) for name in names}
    return type(default)(**chosen, device=task.device)


def _with_findings(task: TrainingTask, trained: TrainedModel, statistics: tuple[str, ...]) -> TrainedModel:
    """The trained model with a finding for each of `statistics`: the card's values on held-out dialogues."""
    best = trained.card["held_out"]
    findings = tuple(
        StatisticRecord(
            metric=task.metric,
            statistic=name,
            estimate=best[name],
            n_items=best["dialogues"],
            n_clusters=best["dialogues"],
            method="held-out dialogues",
        )
        for name in statistics
    )
    return TrainedModel(
        kind=trained.kind,
        tensors=trained.tensors,
        config=trained.config,
        card=trained.card,
        curve=trained.curve,
        findings=findings,
    )
