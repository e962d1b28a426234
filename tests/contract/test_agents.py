"""The contract of agents (`turnwise.testing.check_agent`) on every kind of agent."""

import pytest

pytest.importorskip("torch")

from tests.judge_server import serving
from tests.small_talk import PAIRS, TINY, small_talk
from tests.tiny_models import write_llama
from turnwise.agents import resolve
from turnwise.agents import training as trainers
from turnwise.agents.calling import CallLimits, ReplyRequest
from turnwise.encode.models import folder
from turnwise.networks.training.task import TrainingTask
from turnwise.testing import check_agent
from turnwise.testing.agents import CHECKS
from turnwise.types import Turn

KINDS = ("own", "address", "lm", "tfidf", "dual", "hred", "vhred")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    home = tmp_path_factory.mktemp("contract")
    write_llama(home / "lm", chat=True)
    sizes = {name: value for name, value in TINY.items() if name != "device"} | {"updates": 2, "every": 2}
    flat = {name: value for name, value in sizes.items() if name != "decoder"}
    asked = {"tfidf": {}, "dual": flat, "hred": sizes, "vhred": {**sizes, "latent": 3, "anneal": 2}}
    for kind, settings in asked.items():
        made = getattr(trainers, kind)(
            TrainingTask(metric=kind, dialogues=small_talk(), items=(), settings=settings)
        )
        folder.save(home / kind, kind=made.kind, tensors=made.tensors, config=made.config, card=made.card)
    return home


@pytest.fixture(params=KINDS)
def agent(request, models, tmp_path, monkeypatch):
    if request.param == "own":
        monkeypatch.chdir(tmp_path)
        (tmp_path / "contract_bot.py").write_text(
            "def reply(messages, rng):\n    return f'{len(messages)} {rng.integers(10**9)}'\n"
        )
        yield resolve("contract_bot:reply")
    elif request.param == "address":

        def behave(exchange):
            exchange.say(f"{exchange.body['messages'][-1:]} {exchange.body['seed']}")

        with serving(behave) as server:
            yield resolve(server.address, model="m")
    else:
        settings = {"nearest": 4} if request.param in ("tfidf", "dual") else {"temperature": 1.5}
        yield resolve(str(models / request.param), **settings)


def points(seed: int) -> list[ReplyRequest]:
    turns = [
        (Turn("user", question), Turn("assistant", answer), Turn("user", "go on"))
        for question, answer in PAIRS
    ]
    return [ReplyRequest(turn[: 1 + place % 3], seed + place) for place, turn in enumerate(turns)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_agent_keeps_the_contract(agent, check):
    check_agent(agent, [point.turns for point in points(0)], checks=(check,))


def test_replies_depend_on_their_seeds(agent):
    assert CallLimits().ask(agent, points(0)) != CallLimits().ask(agent, points(1000))


def test_the_signature_has_a_version(agent):
    assert "|v:1" in str(agent.signature)
