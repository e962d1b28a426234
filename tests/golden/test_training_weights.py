"""Each kind of trainer ends in the weights (or values) that were recorded before the training loops became one.

`training_weights.json` holds for each kind a digest of all final numbers and a few sums of them. The sums must agree to
1e-3 everywhere; the digest must agree where torch, numpy, the processor's instruction set and the number of threads
are those of the recording. `OMP_NUM_THREADS=1 python -m tests.golden.test_training_weights` records again.
"""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests import tiny_models, tiny_trained  # noqa: E402
from tests.estimators.neural.test_neural_estimators import tabular, two_ways  # noqa: E402
from tests.small_tables import write_tables  # noqa: E402
from tests.small_talk import TINY, small_talk  # noqa: E402
from tests.small_task import LAVA, small_task  # noqa: E402
from turnwise.encode.episodes import encode, whole  # noqa: E402
from turnwise.encode.models import folder  # noqa: E402
from turnwise.estimators.critic.controls import LOGGED, with_controls  # noqa: E402
from turnwise.estimators.neural.critic import PaperCritic  # noqa: E402
from turnwise.estimators.neural.enigma import Enigma  # noqa: E402
from turnwise.estimators.neural.fqe import NeuralFqe, NeuralLstdq  # noqa: E402
from turnwise.logs.items.items import Selection, items  # noqa: E402
from turnwise.metrics.learned.contrastive import att, maude  # noqa: E402
from turnwise.metrics.learned.guard import training as guard  # noqa: E402
from turnwise.metrics.learned.usr import retrieval  # noqa: E402
from turnwise.networks import characters, dual  # noqa: E402
from turnwise.networks.hred import pretraining  # noqa: E402
from turnwise.networks.training.task import TrainedModel, TrainingTask  # noqa: E402
from turnwise.run.train import lava  # noqa: E402
from turnwise.types import Dialogue, Reply, Turn, digest  # noqa: E402

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).with_name("training_weights.json")
Numbers = Mapping[str, Any]


def environment() -> str:
    threads = (
        f"{torch.get_num_threads()} threads"  # sums are rounded differently when they are divided among more
    )
    versions = f"torch {torch.__version__}, numpy {np.__version__}"
    return f"{versions}, {torch.backends.cpu.get_cpu_capability()}, {threads}"


def _dialogue_model(module: Any, **settings: Any) -> Numbers:
    unknown = {"decoder"} if module is dual else set()
    sizes = {name: value for name, value in TINY.items() if name not in unknown}
    if module is characters:
        sizes = {name: TINY[name] for name in ("embedding", "batch", "held_out", "device", "learning_rate")}
    chosen = module.Settings(**{**sizes, "updates": 14, "every": 4, "patience": 2, **settings})
    return _all(module.train(small_talk(), settings=chosen, rng=np.random.default_rng(3)))


def _all(trained: TrainedModel) -> Numbers:
    keys = sorted(trained.curve[-1]) if trained.curve else []
    curve = {
        f"curve.{key}": np.array([point[key] for point in trained.curve if key in point]) for key in keys
    }
    return {**trained.tensors, **curve}


@cache
def _tables() -> str:
    return str(write_tables(Path(tempfile.mkdtemp())))


def _policy(
    train: Callable[[TrainingTask], TrainedModel], name: str, model: Path | None = None, **settings: Any
) -> TrainedModel:
    dialogues = small_task(80)
    return train(
        TrainingTask(
            metric=name,
            dialogues=dialogues,
            items=list(items(dialogues, Selection(items="all"))),
            settings={**settings, "db": _tables()},
            model=None if model is None else str(model),
        )
    )


@cache
def _supervised(objective: str = "joint") -> TrainedModel:
    return _policy(lava.lava, "lava", **{**LAVA, "objective": objective, "dropout": 0.1, "epochs": 3})


@cache
def _saved() -> Path:
    path, made = Path(tempfile.mkdtemp()) / "lava", _supervised()
    folder.save(path, kind=made.kind, tensors=made.tensors, config=made.config, card=made.card)
    return path


def _plas() -> Numbers:
    chosen = {"hidden": 12, "episodes": 320, "batch": 16, "every": 5, "lead": 6, "warm": 1}
    return _all(_policy(lava.offline, "plas", _saved(), **chosen))


def _gradient() -> Numbers:
    chosen = {"episodes": 240, "batch": 8, "samples": 2, "every": 4, "rate": 0.01}
    return _all(_policy(lava.by_gradient, "lava-pg", _saved(), **chosen))


def _guard() -> Numbers:
    """A guard of the retrieval metric against replies that copy the last turn."""
    task = tiny_trained.task("usr-ret", dialogues=[_defrauded(one) for one in tiny_trained.dialogues(80)])
    plain = retrieval.train(task)
    made = guard.train_with_guard(
        replace(task, settings={"epochs": 1, "guard": "fraud"}), "usr-ret", lambda: plain
    )
    return {name: tensor for name, tensor in made.tensors.items() if name.startswith("guard.")}


def _defrauded(one: Dialogue) -> Dialogue:
    turns = list(one.turns)
    for at in (1, 3):
        fraud = Reply(f"you said {turns[at - 1].text}")
        turns[at] = replace(turns[at], alternatives={"fraud": (fraud,)})
    return replace(one, turns=tuple(turns))


def _estimator(estimator: Any, **settings: Any) -> Numbers:
    setup = tabular(two_ways(2, 3), "target", batch=1, epochs=25, **settings)
    learner = estimator.learner(setup)
    curves = _trained_estimator(learner, setup)
    found = learner.contributions()
    return {"contributions": found.values, **{f"curve.{name}": curves[name] for name in curves}}


def _trained_estimator(learner: Any, setup: Any) -> dict[str, Any]:
    from turnwise.estimators.neural.training import train

    return train(learner, setup.settings, seed=5, readings=7)


def _tuned() -> Numbers:
    """The encoder is trained too."""
    path = Path(tempfile.mkdtemp())
    bert = str(tiny_models.write_bert(path, max_length=128))
    found = Enigma(model=bert, tuned=True, epochs=4, rate=0.01, device="cpu").estimate(
        two_ways(1, 3), "target", rng=np.random.default_rng(0)
    )
    return {"contributions": found.contributions, **{f"curve.{name}": v for name, v in found.curves.items()}}


def _paper_critic() -> Numbers:
    rng = np.random.default_rng(0)
    dialogues = with_controls([_talk(place, rng) for place in range(60)], np.random.default_rng(1))
    episodes = encode(
        whole(dialogues, {one.id: 100.0 for one in dialogues}), rating="return", delexicalised=False
    )
    critic = PaperCritic(reward="one", drawn=320, batch=16, hidden=8, words=8, passes=2)
    found = critic.evaluation(episodes, seed=2).value(episodes.alternatives[LOGGED])
    return {"q": found.q}


def _talk(place: int, rng: np.random.Generator) -> Dialogue:
    turns: list[Turn] = []
    for _ in range(int(rng.integers(1, 5))):
        turns += [Turn("user", "i want a hotel"), Turn("assistant", "the slotname is free . shall i book ?")]
    turns += [Turn("user", "that is all , thanks"), Turn("assistant", "you are welcome . goodbye .")]
    return Dialogue(f"d{place}", "human", tuple(turns))


TRAINERS: dict[str, Callable[[], Numbers]] = {
    "hred": lambda: _dialogue_model(pretraining),
    "vhred": lambda: _dialogue_model(pretraining, latent=4, anneal=5),
    "dual": lambda: _dialogue_model(dual, negatives=3),
    "characters": lambda: _dialogue_model(characters, utterance=12, context=12, max_tokens=40),
    "lava": lambda: _all(_supervised()),
    "lava-alternate": lambda: _all(_supervised("alternate")),
    "lava-kl": lambda: _all(_supervised("kl")),
    "plas": _plas,
    "lava-pg": _gradient,
    "usr-ret": lambda: _all(retrieval.train(tiny_trained.task("usr-ret", settings={"epochs": 3}))),
    "maude": lambda: _all(maude.train(tiny_trained.task("maude", settings={"epochs": 2}))),
    "att": lambda: _all(att.train(tiny_trained.task("att"))),
    "guard": _guard,
    "enigma": lambda: _estimator(Enigma()),
    "enigma-sgd": lambda: _estimator(Enigma(preset="script"), optimiser="sgd", schedule="inverse-sqrt"),
    "enigma-tuned": _tuned,
    "fqe-neural": lambda: _estimator(NeuralFqe(renewal=7)),
    "lstdq-neural": lambda: _estimator(NeuralLstdq(nu_rate=2)),
    "critic-paper": _paper_critic,
}


def summary(numbers: Numbers) -> dict[str, Any]:
    names = sorted(numbers)
    arrays: Sequence[Any] = [np.asarray(numbers[name]) for name in names]
    flat = np.concatenate([np.nan_to_num(array.astype(np.float64)).ravel() for array in arrays])
    sums = [float(flat.sum()), float(np.abs(flat).sum()), float((flat * np.cos(np.arange(flat.size))).sum())]
    return {"digest": digest(*names, *(array.tobytes() for array in arrays)), "n": flat.size, "sums": sums}


@pytest.mark.parametrize("kind", TRAINERS)
def test_a_trainer_ends_in_the_recorded_weights(kind: str) -> None:
    recorded = json.loads(RECORDED.read_text())
    found, expected = summary(TRAINERS[kind]()), recorded["trainers"][kind]
    assert found["n"] == expected["n"]
    scale = expected["sums"][1]
    assert found["sums"] == pytest.approx(expected["sums"], abs=1e-3 * scale)
    if environment() == recorded["environment"]:
        assert found["digest"] == expected["digest"]


if __name__ == "__main__":
    made = {kind: summary(train()) for kind, train in TRAINERS.items()}
    RECORDED.write_text(json.dumps({"environment": environment(), "trainers": made}, indent=1) + "\n")
