"""Language models as agents: batches, seeds, and the generation of transformers as the expected result."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.tiny_models import write_bart, write_llama  # noqa: E402
from turnwise.agents import resolve  # noqa: E402
from turnwise.agents.calling import ReplyRequest  # noqa: E402
from turnwise.agents.sampling import sample_tokens  # noqa: E402
from turnwise.errors import UsageError  # noqa: E402
from turnwise.types import Turn  # noqa: E402

TALKS = [
    (Turn("user", "i like the piano"),),
    (
        Turn("user", "hear my song and play"),
        Turn("assistant", "not today"),
        Turn("user", "we see a cat or a dog"),
    ),
    (),
]


@pytest.fixture(scope="module")
def llama(tmp_path_factory) -> Path:
    return write_llama(tmp_path_factory.mktemp("models") / "llama", chat=True)


@pytest.fixture(scope="module")
def bart(tmp_path_factory) -> Path:
    return write_bart(tmp_path_factory.mktemp("models") / "bart", positions=64)


def asked(seed: int = 0) -> list[ReplyRequest]:
    return [ReplyRequest(turns, seed + index) for index, turns in enumerate(TALKS)]


def texts(agent, points) -> list[str]:
    return [answer.content for answer in agent.replies(points)]


@pytest.mark.parametrize("kind", ["llama", "bart"])
def test_temperature_zero_equals_the_greedy_generation_of_transformers(kind, request):
    folder = request.getfixturevalue(kind)
    agent = resolve(str(folder), temperature=0.0, longest=12)
    made = texts(agent, asked())
    for turns, ours in zip(TALKS, made, strict=True):
        ids = torch.tensor([agent.read(turns)])
        with torch.inference_mode():
            out = agent.model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False, num_beams=1
            )[0]
        new = out[1:] if kind == "bart" else out[ids.shape[1] :]
        assert ours == agent.tokenizer.decode(new, skip_special_tokens=True).strip()
    assert any(made)


@pytest.mark.parametrize("kind", ["llama", "bart"])
def test_a_reply_is_the_same_alone_and_in_a_batch(kind, request):
    folder = request.getfixturevalue(kind)
    together = texts(resolve(str(folder), longest=10), asked(5))
    single_reply = [
        text for point in asked(5) for text in texts(resolve(str(folder), longest=10, at_once=1), [point])
    ]
    assert together == single_reply


def test_the_same_seed_gives_the_same_reply_and_another_seed_another(llama):
    agent = resolve(str(llama), temperature=1.5, longest=10)
    assert texts(agent, asked(1)) == texts(agent, asked(1)) != texts(agent, asked(9))


def test_a_context_that_is_too_long_loses_its_beginning(llama):
    agent = resolve(str(llama), temperature=0.0, longest=8)
    long = [Turn("user", "the cat and the dog see a song " * 60)]
    assert len(agent.read(long)) == agent._max_tokens - 8
    assert isinstance(agent(long, np.random.default_rng(0)).content, str)


def test_invalid_settings_are_errors(llama):
    with pytest.raises(UsageError, match="no setting `heat`; it has: temperature"):
        resolve(str(llama), heat=1)
    with pytest.raises(UsageError, match="a temperature is 0 or more"):
        resolve(str(llama), temperature=-1.0)
    with pytest.raises(UsageError, match="`temperature` is a number, not 'hot'"):
        resolve(str(llama), temperature="hot")
    with pytest.raises(UsageError, match=r"`longest` is a whole number, not 2\.5"):
        resolve(str(llama), longest=2.5)
    with pytest.raises(UsageError, match="needs `longest` from 1 to 255"):
        resolve(str(llama), longest=4000)


def test_tokens_are_sampled_with_their_probabilities():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]])).expand(20_000, -1)
    uniform = torch.as_tensor(np.random.default_rng(0).random(20_000))
    words = sample_tokens(logits, uniform, temperature=1.0)
    assert torch.bincount(words) / 20_000 == pytest.approx([0.5, 0.3, 0.2], abs=0.02)
    kept = sample_tokens(logits, uniform, temperature=1.0, top_p=0.6)
    assert torch.bincount(kept, minlength=3) / 20_000 == pytest.approx([0.625, 0.375, 0], abs=0.02)
    assert (sample_tokens(logits, uniform, temperature=0.0) == 0).all()
