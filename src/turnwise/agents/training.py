"""How `turnwise train` makes agents: HRED, VHRED, a dual encoder and TF-IDF retrieval, from plain conversations."""

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from turnwise.networks.training.lesson import Lesson, Trained
from turnwise.types import Finding

if TYPE_CHECKING:
    from turnwise.networks.training.training import Settings

    Chosen = TypeVar("Chosen", bound=Settings)
_LATENT = 100  # dimensions of VHRED's variable, as in its paper


def hred(lesson: Lesson) -> Trained:
    return _dialogue_model(lesson, latent=0)


def vhred(lesson: Lesson) -> Trained:
    return _dialogue_model(lesson, latent=_LATENT)


def _dialogue_model(lesson: Lesson, *, latent: int) -> Trained:
    from turnwise.networks.hred import pretraining

    settings = _settings(lesson, pretraining.Settings(latent=latent, device=lesson.device))
    trained = pretraining.train(
        lesson.dialogues, settings=settings, rng=lesson.rng, say=lesson.say, work=lesson.work
    )
    return _told(lesson, trained, ("perplexity", "kl") if latent else ("perplexity",))


def dual(lesson: Lesson) -> Trained:
    from turnwise.networks import dual as matching

    settings = _settings(lesson, matching.Settings(device=lesson.device))
    trained = matching.train(
        lesson.dialogues, settings=settings, rng=lesson.rng, say=lesson.say, work=lesson.work
    )
    return _told(lesson, trained, ("recall",))


def characters(lesson: Lesson) -> Trained:
    """No agent: an encoder for ADEM, pretrained like one."""
    from turnwise.networks import characters as letters

    settings = _settings(lesson, letters.Settings(device=lesson.device))
    trained = letters.train(
        lesson.dialogues, settings=settings, rng=lesson.rng, say=lesson.say, work=lesson.work
    )
    return _told(lesson, trained, ("recall",))


def tfidf(lesson: Lesson) -> Trained:
    from turnwise.agents.tfidf import TfIdf

    lesson.check_settings(["window"])
    agent = TfIdf.fit(lesson.dialogues, window=lesson.setting("window", 2))
    tensors, config = agent.parts()
    return Trained(kind="tfidf", tensors=tensors, config=config, card={"replies": len(agent.said)})


def _settings(lesson: Lesson, default: "Chosen") -> "Chosen":
    """The settings of a lesson over their defaults; the device is the command's."""
    names = [field.name for field in fields(default) if field.name != "device"]
    lesson.check_settings(names)
    chosen = {name: lesson.setting(name, getattr(default, name)) for name in names}
    return type(default)(**chosen, device=lesson.device)


def _told(lesson: Lesson, trained: Trained, statistics: tuple[str, ...]) -> Trained:
    """With what was measured on held-out dialogues, for the command to print."""
    best = trained.card["held_out"]
    findings = tuple(
        Finding(
            what={"metric": lesson.metric, "statistic": name},
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
