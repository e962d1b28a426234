"""HRED, VHRED and the dual encoder as agents, from folders that training wrote."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.small_talk import PAIRS, TINY, small_talk  # noqa: E402
from turnwise.agents import resolve  # noqa: E402
from turnwise.agents import training as trainers  # noqa: E402
from turnwise.agents.calling import ReplyRequest  # noqa: E402
from turnwise.encode.models import folder  # noqa: E402
from turnwise.errors import UsageError  # noqa: E402
from turnwise.networks.training.task import TrainingTask  # noqa: E402
from turnwise.types import Turn  # noqa: E402


def written(path, kind: str, **settings):
    sizes = {
        name: value
        for name, value in TINY.items()
        if name != "device" and (kind != "dual" or name != "decoder")
    }
    task = TrainingTask(
        metric=kind,
        dialogues=small_talk(),
        items=(),
        settings={**sizes, "every": 30, "patience": 9, **settings},
    )
    made = getattr(trainers, kind)(task)
    folder.save(path, kind=made.kind, tensors=made.tensors, config=made.config, card=made.card)
    return made


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    written(home / "hred", "hred", updates=120)
    written(home / "vhred", "vhred", updates=30, latent=4, anneal=20)
    written(home / "dual", "dual", updates=90, negatives=4)
    return home


def asked(seed: int = 0) -> list[ReplyRequest]:
    return [
        ReplyRequest((Turn("user", question),), seed + index) for index, (question, _) in enumerate(PAIRS)
    ]


def said(agent, points) -> list[str]:
    return [answer.content for answer in agent.replies(points)]


@pytest.mark.parametrize("kind", ["hred", "dual"])
def test_a_trained_model_gives_a_reply_from_its_training_data(folders, kind):
    settings = {"temperature": 0.0} if kind == "hred" else {}
    replies = said(resolve(str(folders / kind), **settings), asked())
    plain = [reply.replace(" ", "") for reply in replies]
    right = [answer.replace(" ", "") == reply for (_, answer), reply in zip(PAIRS, plain, strict=True)]
    assert sum(right) >= 4


@pytest.mark.parametrize("kind", ["hred", "vhred", "dual"])
def test_a_reply_depends_only_on_its_own_seed(folders, kind):
    settings = {"nearest": 3} if kind == "dual" else {"temperature": 2.0}
    agent = resolve(str(folders / kind), **settings)
    together = said(agent, asked(3))
    assert together == [text for point in asked(3) for text in said(agent, [point])]
    assert together != said(agent, asked(50))
    assert all(together)


def test_vhred_replies_vary_at_temperature_zero(folders):
    agent = resolve(str(folders / "vhred"), temperature=0.0)
    point = (Turn("user", "hello there"),)
    first, again = (agent(point, np.random.default_rng(0)).content for _ in range(2))
    assert first == again
    known = np.random.default_rng(0).standard_normal((200, agent.encoder.dimension)).astype(np.float32)
    prior = agent.network.prior(torch.as_tensor(known))
    assert prior.deviation.min() > 0
    assert len({agent(point, np.random.default_rng(seed)).content for seed in range(60)}) > 1


@pytest.mark.parametrize("kind", ["hred", "vhred", "dual"])
def test_an_empty_context_gets_a_reply(folders, kind):
    assert said(resolve(str(folders / kind)), [ReplyRequest((), 0)])[0]


def test_the_folder_of_a_trained_metric_is_not_an_agent(folders, tmp_path):
    read = folder.load(folders / "hred", "hred")
    folder.save(tmp_path / "m", kind="maude", tensors=read.tensors, config={}, card={})
    with pytest.raises(UsageError, match="kind `maude`, which is not an agent"):
        resolve(str(tmp_path / "m"))


def test_an_unknown_training_setting_is_an_error():
    task = TrainingTask(metric="hred", dialogues=small_talk(), items=(), settings={"layers": 2})
    with pytest.raises(UsageError, match="no setting `layers`"):
        trainers.hred(task)
