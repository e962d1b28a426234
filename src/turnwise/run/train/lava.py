"""The trainers of LAVA, PLAS and policy gradient: the policies of `networks/lava`, evaluated by the task metrics.

Rewards and the choice of the best policy use corpus success (`evaluator`: multiwoz2018, the paper's), which needs
goals, states and venue tables. A corpus with named splits (`meta.split`) is trained on `train` and evaluated on
`val`; of any other corpus a part is held out. Splits of other names are never used for training.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from turnwise.encode.models import folder
from turnwise.errors import DataError, UsageError, setting
from turnwise.metrics.task.tables import NoTables
from turnwise.networks.lava import gradient, plas, supervised
from turnwise.networks.lava.corpus import usable
from turnwise.networks.lava.model import KINDS, Curve, EvaluatedDialogues, Model
from turnwise.networks.lava.state_layout import StateLayout
from turnwise.networks.lava.words import Words
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.records import StatisticRecord
from turnwise.run.train.policy_evaluation import EVALUATOR, PolicyEvaluator
from turnwise.types import Dialogue

Chosen = TypeVar("Chosen", supervised.Settings, plas.Settings, gradient.Settings)
_HELD_OUT = 0.05  # share of the dialogues, if no split is named


def lava(task: TrainingTask) -> TrainedModel:
    """Train a LAVA model by supervision; match and success are measured only with goals and venue tables."""
    settings = _settings(task, supervised.Settings(device=task.device), ("evaluator", "ontology", "db"))
    training, held_out = _split(task, settings.held_out)
    words = Words.learn((turn.text for one in training for turn in one.turns), fewest=settings.fewest)
    layout = StateLayout.learn(training)
    seed = int(task.rng.integers(2**31))
    model = Model.new(
        words, layout, longest=settings.longest, seed=seed, beta=settings.beta, **settings.sizes
    )
    model.network.to(task.device)
    curve = supervised.train(
        model, model.corpus(training), model.corpus(held_out), settings=settings, seed=seed, work=task.work,
        about=task.fingerprint, report=task.say,
    )  # fmt: skip
    evaluator = _evaluator(task, held_out) if all(one.goal for one in held_out) else None
    if evaluator is None:
        task.say("warning: the held-out dialogues have no goals, so match and success are not measured")
    try:
        return _trained(task, model, held_out, evaluator, curve, len(training), settings.objective)
    except NoTables as error:
        task.say(f"warning: match and success are not measured: {error}")
        return _trained(task, model, held_out, None, curve, len(training), settings.objective)


def offline(task: TrainingTask) -> TrainedModel:
    """Train a policy by PLAS, from the model of --model, on the logged success or (reward=one) on constant rewards.

    Raises `UsageError` for another reward, and `DataError` if no logged dialogue succeeds.
    """
    settings = _settings(task, plas.Settings(device=task.device), ("evaluator", "ontology", "db", "reward"))
    model, (training, held_out), evaluator = _start(task)
    reward = task.setting("reward", "success")
    if reward not in ("success", "one"):
        raise UsageError(
            f"{setting('--set', f'reward={reward}')}: expected success, or one (every logged dialogue counts as won)"
        )
    rewards = _evaluator(task, training).logged() if reward == "success" else np.ones(len(training))
    if not rewards.any():
        raise DataError("no logged dialogue succeeds: there is nothing to learn from")
    seed = int(task.rng.integers(2**31))
    data, test = model.corpus(training), model.corpus(held_out)
    curve = plas.warm_up(model, data, test, settings=settings, seed=seed, report=task.say)
    found, search = plas.train(
        model,
        data,
        rewards,
        EvaluatedDialogues(test, evaluator.success),
        settings=settings,
        seed=seed,
        report=task.say,
    )
    return _trained(task, found, held_out, evaluator, [*curve, *search.curve], len(training), "plas")


def by_gradient(task: TrainingTask) -> TrainedModel:
    """Train a policy by policy gradient on corpus success."""
    settings = _settings(task, gradient.Settings(device=task.device), ("evaluator", "ontology", "db"))
    model, (training, held_out), evaluator = _start(task)
    train_data = EvaluatedDialogues(model.corpus(training), _evaluator(task, training).success)
    seed = int(task.rng.integers(2**31))
    found, search = gradient.train(
        model,
        train_data,
        EvaluatedDialogues(model.corpus(held_out), evaluator.success),
        settings=settings,
        seed=seed,
        report=task.say,
    )
    return _trained(task, found, held_out, evaluator, search.curve, len(training), "lava-pg")


def _start(task: TrainingTask) -> tuple[Model, tuple[list[Dialogue], list[Dialogue]], PolicyEvaluator]:
    """The initial model (--model), the training and held-out dialogues, and the evaluator of the latter.

    Raises `UsageError` without such a model, and `DataError` if a dialogue has no goal.
    """
    if task.model is None:
        raise UsageError(
            f"`train {task.metric}` goes on from a model: give the folder of `train lava` with {setting('--model')}"
        )
    kind = str(folder.read_config(Path(task.model))["kind"])
    if kind not in KINDS:
        raise UsageError(f"{task.model} holds a model of kind `{kind}`; expected one of {', '.join(KINDS)}")
    model = Model.of(folder.load(task.model, kind), device=task.device)
    split = _split(task, _HELD_OUT)
    for dialogues in split:
        if lost := sum(not one.goal for one in dialogues):
            raise DataError(
                f"{lost} of {len(dialogues)} dialogues have no goal, and success is decided by goals"
            )
    return model, split, _evaluator(task, split[1])


def _evaluator(task: TrainingTask, dialogues: Sequence[Dialogue]) -> PolicyEvaluator:
    """The evaluator of policies in these dialogues, with the task's settings `evaluator`, `ontology` and `db`."""
    return PolicyEvaluator(
        dialogues,
        evaluator=task.setting("evaluator", EVALUATOR),
        ontology=task.setting("ontology", "multiwoz"),
        db=task.setting("db", "") or None,
    )


def _split(task: TrainingTask, held_out: float) -> tuple[list[Dialogue], list[Dialogue]]:
    """Training and held-out dialogues: the named splits `train` and `val` if both exist, otherwise a random share."""
    kept = {item.dialogue for item in task.items}
    dialogues = usable([one for one in task.dialogues if one.id in kept])
    named = {one.meta.get("split") for one in dialogues}
    if {"train", "val"} <= named:
        return (
            [one for one in dialogues if one.meta.get("split") == "train"],
            [one for one in dialogues if one.meta.get("split") == "val"],
        )
    order = task.rng.permutation(len(dialogues))
    count = max(1, round(held_out * len(dialogues)))
    return [dialogues[at] for at in sorted(order[count:])], [dialogues[at] for at in sorted(order[:count])]


def _settings(task: TrainingTask, default: Chosen, also: Sequence[str]) -> Chosen:
    """`default` with the values of --set; the device is the command's.

    A setting that is neither a field nor in `also` is a `UsageError`.
    """
    names: list[str] = [field.name for field in fields(default) if field.name != "device"]
    task.check_settings([*names, *also])
    chosen = {name: task.setting(name, getattr(default, name)) for name in names}
    return replace(default, **chosen)


def _trained(
    task: TrainingTask,
    model: Model,
    held_out: Sequence[Dialogue],
    evaluator: PolicyEvaluator | None,
    curve: Curve,
    n_training: int,
    how: str,
) -> TrainedModel:
    """The model with its scores on the held-out dialogues as findings; no scores without an evaluator.

    `n_training` is the number of training dialogues, `how` the objective that is named in the config.
    """
    data = model.corpus(held_out)
    found: dict[str, Any] = {}
    if evaluator is not None:
        found = evaluator.scores(model.speak(data.user, data.state))
    findings = tuple(
        StatisticRecord(
            metric=task.metric,
            statistic=name,
            estimate=value,
            n_items=len(held_out),
            n_clusters=len(held_out),
            method=f"held-out dialogues, evaluator {task.setting('evaluator', EVALUATOR)}",
        )
        for name, value in found.items()
    )
    card = {
        "held_out": {**found, "dialogues": len(held_out)},
        "trained_on": n_training,
        "languages": "those of the training text",
    }
    config = {**model.config, "how": how, "settings": dict(task.settings)}
    return TrainedModel(
        kind=task.metric, tensors=model.tensors(), config=config, card=card, curve=curve, findings=findings
    )
