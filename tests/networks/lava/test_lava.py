"""LAVA, PLAS and policy gradient on a made-up task in which those who copy people fail."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.small_tables import write_tables  # noqa: E402
from tests.small_task import ASKED, GOOD, LAVA, POINTER, STATE, small_task  # noqa: E402
from turnwise.agents import resolve  # noqa: E402
from turnwise.agents.calling import NoReply, ReplyRequest  # noqa: E402
from turnwise.commands.respond import Respond  # noqa: E402
from turnwise.encode.models import folder  # noqa: E402
from turnwise.errors import DataError, TooFewItems, UsageError  # noqa: E402
from turnwise.logs.items.items import Selection, items  # noqa: E402
from turnwise.logs.native import read, write  # noqa: E402
from turnwise.networks.lava import gradient  # noqa: E402
from turnwise.networks.lava import supervised as supervision  # noqa: E402
from turnwise.networks.lava.model import EvaluatedDialogues, Model, bounded  # noqa: E402
from turnwise.networks.lava.state_layout import StateLayout  # noqa: E402
from turnwise.networks.lava.words import Words  # noqa: E402
from turnwise.networks.training.task import TrainedModel, TrainingTask  # noqa: E402
from turnwise.run.dialogues.respond import respond  # noqa: E402
from turnwise.run.train import lava  # noqa: E402
from turnwise.run.train.policy_evaluation import PolicyEvaluator  # noqa: E402
from turnwise.types import Dialogue, Turn  # noqa: E402

PLAS = {
    "hidden": 24,
    "episodes": 1_920,
    "batch": 32,
    "every": 10,
    "lead": 20,
    "closeness": 0.05,
    "critic_rate": 0.01,
    "actor_rate": 0.005,
    "warm": 1,
}


def task(metric: str, dialogues: list[Dialogue], model: Path | None = None, **settings: Any) -> TrainingTask:
    return TrainingTask(
        metric=metric,
        dialogues=dialogues,
        items=list(items(dialogues, Selection(items="all"))),
        settings=settings,
        model=None if model is None else str(model),
    )


def save(trained: TrainedModel, path: Path) -> Path:
    folder.save(path, kind=trained.kind, tensors=trained.tensors, config=trained.config, card=trained.card)
    return path


def measured(trained: TrainedModel) -> dict[str | None, float | None]:
    return {finding.statistic: finding.estimate for finding in trained.findings}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tables(tmp_path_factory.mktemp("tables")))


@pytest.fixture(scope="module")
def supervised(tmp_path_factory: pytest.TempPathFactory, db: str) -> Path:
    trained = lava.lava(task("lava", small_task(), **LAVA, db=db))
    return save(trained, tmp_path_factory.mktemp("models") / "lava")


@pytest.fixture(scope="module")
def offline(supervised: Path, db: str) -> TrainedModel:
    return lava.offline(task("plas", small_task(), supervised, **PLAS, db=db))


def said(model: Path) -> list[str]:
    points = [
        ReplyRequest((Turn("user", text, state=STATE, extra={"db_pointer": bits}),), 0)
        for text, bits in zip(ASKED, POINTER, strict=True)
    ]
    return [getattr(answer, "content", str(answer)) for answer in resolve(str(model)).replies(points)]


def test_a_policy_that_copies_people_says_what_most_of_them_said(supervised: Path) -> None:
    assert said(supervised) == ["which part of town do you like ?", "have a nice day !"]


def test_plas_finds_the_replies_that_succeed(offline: TrainedModel, supervised: Path, tmp_path: Path) -> None:
    start = folder.load(supervised, "lava").card["held_out"]
    assert (start["match"], start["success"]) == (0.0, 0.0)
    assert measured(offline)["success"] == 100.0
    assert said(save(offline, tmp_path / "plas")) == list(GOOD)


def test_plas_finds_them_close_to_the_logged_actions_too(supervised: Path, db: str) -> None:
    trained = lava.offline(task("plas", small_task(), supervised, **PLAS, anchor="logged", db=db))
    assert measured(trained)["success"] == 100.0


def test_plas_moves_the_policy_and_holds_the_decoder_of_its_start_still(
    supervised: Path, db: str, offline: TrainedModel
) -> None:
    unwarmed = {**PLAS, "warm": 0, "episodes": 128, "lead": 0}
    trained = lava.offline(task("plas", small_task(), supervised, **unwarmed, db=db))
    before = folder.load(supervised, "lava").tensors
    for name, tensor in trained.tensors.items():
        if not name.startswith("state."):
            assert np.array_equal(tensor, before[name]), name
    assert not np.array_equal(offline.tensors["state.latent.weight"], before["state.latent.weight"])


def test_a_policy_of_plas_stays_within_sigma(supervised: Path, db: str) -> None:
    tight = {**PLAS, "sigma": 0.1, "warm": 0, "episodes": 64}
    trained = lava.offline(task("plas", small_task(), supervised, **tight, db=db))
    assert trained.config["bound"] == 0.1
    model = Model.of(folder.load(supervised, "lava"), device="cpu")
    data = model.corpus(small_task(20))
    point = bounded(model.network.state(data.user, data.state), 0.1).mean.detach()
    assert float(point.abs().max()) == pytest.approx(0.1, abs=1e-6)  # the policy itself goes far beyond


def test_policy_gradient_finds_the_replies_that_succeed(db: str) -> None:
    # A decoder that knows all replies, and a policy that has learned nothing: it draws them all.
    dialogues, settings = small_task(), supervision.Settings(**LAVA, device="cpu")
    words = Words.learn((turn.text for one in dialogues for turn in one.turns), fewest=1)
    model = Model.new(words, StateLayout.learn(dialogues), longest=settings.longest, **settings.sizes)
    data = model.corpus(dialogues)
    supervision.learn(model, data, data, task="vae", epochs=8, settings=settings, seed=0)
    ground = EvaluatedDialogues(data, PolicyEvaluator(dialogues, db=db).success)
    start = ground.mean(model)
    how = gradient.Settings(episodes=1_920, batch=16, every=10, rate=0.01, device="cpu")
    best, search = gradient.train(model, ground, ground, settings=how, seed=0)
    assert start < 0.5
    assert ground.mean(best) == 1.0
    assert max(point["success"] for point in search.curve) == 1.0


@pytest.mark.parametrize("objective", ["alternate", "kl"])
def test_every_objective_learns_to_speak(objective: str, db: str) -> None:
    short = {**LAVA, "epochs": 5, "objective": objective, "db": db}
    trained = lava.lava(task("lava", small_task(), **short))
    curve = [point["rg"] for point in trained.curve if point["loss"] > 0]
    assert curve[-1] < 0.5 * curve[0]
    assert trained.config["how"] == objective


def test_the_same_seed_gives_the_same_weights(supervised: Path, db: str) -> None:
    quick = {**LAVA, "epochs": 1}
    one, two = (lava.lava(task("lava", small_task(80), **quick, db=db)) for _ in range(2))
    for name, tensor in one.tensors.items():
        assert np.array_equal(tensor, two.tensors[name]), name


def test_an_interrupted_training_ends_in_the_same_weights(tmp_path: Path, db: str) -> None:
    def after(epochs: int, work: Path) -> TrainedModel:
        quick = {**LAVA, "epochs": epochs, "db": db, "objective": "alternate"}
        return lava.lava(replace(task("lava", small_task(80), **quick), work=work))

    whole = after(3, tmp_path / "whole")
    stopped: list[str] = []

    def stop_after_one(line: str) -> None:
        stopped.append(line)
        if "epoch 2/3" in line:
            raise KeyboardInterrupt

    quick = {**LAVA, "epochs": 3, "db": db, "objective": "alternate"}
    with pytest.raises(KeyboardInterrupt):
        lava.lava(replace(task("lava", small_task(80), **quick), work=tmp_path / "cut", say=stop_after_one))
    resumed = after(3, tmp_path / "cut")
    for name, tensor in whole.tensors.items():
        assert np.array_equal(tensor, resumed.tensors[name]), name


def test_respond_tells_a_policy_the_belief_state_of_the_turn_it_answers(
    supervised: Path, tmp_path: Path
) -> None:
    logs, answered = tmp_path / "logs.jsonl", tmp_path / "answered.jsonl"
    write(small_task(3), str(logs))
    done = respond(Respond(data=(str(logs),), agent=str(supervised), name="lava", output=str(answered)))
    assert (done.n_points, done.failures) == (6, ())
    replies = [
        turn.alternatives["lava"][0].content
        for dialogue in read(str(answered))
        for turn in dialogue.turns
        if turn.role == "assistant"
    ]
    assert replies == said(supervised) * 3


def test_what_an_agent_cannot_read_it_does_not_answer(supervised: Path) -> None:
    agent = resolve(str(supervised))
    bits = {"db_pointer": POINTER[0]}
    turns = {
        "no `state`": Turn("user", ASKED[0], extra=bits),
        "0 bits": Turn("user", ASKED[0], state=STATE),
        "spaceship": Turn("user", ASKED[0], state={"spaceship": {"speed": "9"}}, extra=bits),
        "only to a user's turn": Turn("assistant", "hello", state=STATE, extra=bits),
    }
    for (reason, _), answer in zip(
        turns.items(), agent.replies([ReplyRequest((turn,), 0) for turn in turns.values()]), strict=True
    ):
        assert isinstance(answer, NoReply)
        assert reason in str(answer)


def test_bad_data_and_settings_are_told(supervised: Path, db: str, tmp_path: Path) -> None:
    goalless = [replace(one, goal=None) for one in small_task(40)]
    with pytest.raises(DataError, match="no goal"):
        lava.offline(task("plas", goalless, supervised, db=db))
    with pytest.raises(UsageError, match="with --model"):
        lava.offline(task("plas", small_task(40), db=db))
    with pytest.raises(UsageError, match="objective"):
        lava.lava(task("lava", small_task(40), objective="magic"))
    with pytest.raises(UsageError, match="anchor `log`; the nearest are logged"):
        lava.offline(task("plas", small_task(40), supervised, db=db, anchor="log"))
    with pytest.raises(UsageError, match="reward=fun"):
        lava.offline(task("plas", small_task(40), supervised, db=db, reward="fun"))
    with pytest.raises(TooFewItems, match="10 dialogues"):
        lava.lava(task("lava", small_task(4)))
    stateless = [
        replace(one, turns=tuple(replace(turn, state=None) for turn in one.turns)) for one in small_task(40)
    ]
    with pytest.raises(DataError, match="state"):
        lava.lava(task("lava", stateless))
    failing = small_task(40, good=0.0)
    with pytest.raises(DataError, match="no logged dialogue succeeds"):
        lava.offline(task("plas", failing, supervised, db=db))


def test_without_tables_a_policy_is_trained_and_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURNWISE_DATA", raising=False)
    lines: list[str] = []
    trained = lava.lava(replace(task("lava", small_task(40), **{**LAVA, "epochs": 1}), say=lines.append))
    assert not trained.findings
    assert any("not measured" in line for line in lines)
