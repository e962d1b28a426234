"""The decoder against transformers, replies that share a context, and adapters."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from turnwise.metrics.learned.turnwise.signals import TRUSTED
from turnwise.networks.replies.columns import COLUMNS, ENOUGH, INFORMED, batches, columns
from turnwise.networks.replies.llama import Llama, Shape
from turnwise.networks.replies.reply_model import ReplyModel, context_tokens, pack, reply_tokens

CONFIG = LlamaConfig(
    vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, tie_word_embeddings=True, rms_norm_eps=1e-5, max_position_embeddings=128,
)  # fmt: skip
TURNS = [np.array([5, 6, 7]), np.array([8, 9])]
REPLIES = [np.array([10, 11, 12, 13]), np.array([14]), np.array([11, 5])]


@pytest.fixture(scope="module")
def peer() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(CONFIG).eval()


def own(peer: LlamaForCausalLM, rank: int = 0) -> ReplyModel:
    weights = {name: one.clone() for name, one in peer.state_dict().items()}
    return ReplyModel(Llama(weights, Shape.of(CONFIG.to_dict()), rank=rank)).eval()


def test_packed_replies_have_the_likelihoods_that_transformers_gives_each_by_itself(peer):
    model = own(peer)
    context, replies = context_tokens(TURNS), [reply_tokens(reply) for reply in REPLIES]
    packed = pack([(context, replies), (context_tokens(()), replies[:1])])
    with torch.no_grad():
        found = model.log_likelihoods(model.hidden(packed), packed, packed.segments > 0)
        expected = []
        for before, reply in [*((context, reply) for reply in replies), (context_tokens(()), replies[0])]:
            both = torch.from_numpy(np.concatenate([before, reply]))[None]
            logits = peer(both).logits.log_softmax(-1)[0]
            expected += [logits[len(before) - 1 + at, token].item() for at, token in enumerate(reply)]
    assert found.numpy() == pytest.approx(expected, abs=1e-4)


def test_adapters_start_without_effect_and_merging_them_changes_nothing(peer):
    plain, adapted = own(peer), own(peer, rank=3)
    packed = pack([(context_tokens(TURNS), [reply_tokens(REPLIES[0])])])
    with torch.no_grad():
        assert torch.equal(plain.hidden(packed), adapted.hidden(packed))
        for name, one in adapted.llama.adapters():
            if name.endswith(".up"):
                one.normal_()
        before = adapted.hidden(packed)
        assert not torch.allclose(before, plain.hidden(packed), atol=1e-2)
        adapted.llama.merge()
        assert torch.allclose(adapted.hidden(packed), before, atol=1e-4)
    assert not list(adapted.llama.adapters())


def test_columns_do_not_depend_on_what_else_is_in_the_batch(peer):
    torch.manual_seed(1)
    model = own(peer)
    groups = [(TURNS, REPLIES), (TURNS[:1], REPLIES[:2])]
    together = columns(model, groups)
    alone = [columns(model, [(turns, [reply])]) for turns, replies in groups for reply in replies]
    assert together.shape == (5, len(COLUMNS) + 1)
    assert together == pytest.approx(np.concatenate(alone), abs=1e-4)


def test_what_a_context_adds_is_the_difference_of_two_likelihoods(peer):
    torch.manual_seed(1)
    model = own(peer)
    inside, outside = columns(model, [(TURNS, REPLIES)]), columns(model, [([], REPLIES)], enough=None)
    assert outside.shape[1] == len(COLUMNS)
    at = COLUMNS.index("likelihood sum")
    wanted = -np.logaddexp(0, ENOUGH - (inside[:, at] - outside[:, at]))
    assert inside[:, -1] == pytest.approx(wanted, abs=1e-4)
    assert INFORMED in TRUSTED


def test_batches_hold_every_group_once_and_stay_below_the_limit():
    rng = np.random.default_rng(0)
    groups = [([np.arange(int(n))], [np.arange(int(m))]) for n, m in rng.integers(1, 60, (40, 2))]
    found = list(batches(groups, 500))
    assert sorted(at for batch in found for at in batch) == list(range(40))
    for batch in found:
        longest = max(len(groups[at][0][0]) + len(groups[at][1][0]) for at in batch)
        assert len(batch) == 1 or len(batch) * (longest + 16) <= 500


def test_a_long_context_is_cut_on_the_left_and_a_joined_one_has_one_mark():
    tokens = context_tokens([np.full(200, 9), np.full(5, 8)])
    assert len(tokens) == 112
    assert tokens[0] == 1
    assert tokens[-6:].tolist() == [8, 8, 8, 8, 8, 2]
    assert (context_tokens(TURNS, joined=True) == 2).sum() == 1
    assert context_tokens((), reversed_=True).tolist() == [0]
