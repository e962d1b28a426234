"""The encoder against transformers, and the cross-encoder on it."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from transformers import BertConfig, BertModel

from papers.flagship.bert import Bert, BertShape
from papers.flagship.pair_model import PairModel, pad
from turnwise.networks.replies.pairs import BETWEEN, FIRST, pair_tokens

CONFIG = BertConfig(
    vocab_size=200, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    max_position_embeddings=160, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def peer() -> BertModel:
    torch.manual_seed(0)
    return BertModel(CONFIG, add_pooling_layer=False).eval()


def own(peer: BertModel) -> Bert:
    return Bert(peer.state_dict(), BertShape.of(CONFIG.to_dict())).eval()


def test_hidden_states_are_those_of_transformers(peer):
    pairs = [
        pair_tokens([np.arange(110, 120)], np.arange(120, 127)),
        pair_tokens([np.array([130])], np.array([131])),
    ]
    tokens, kinds, there = pad(pairs)
    with torch.no_grad():
        expected = peer(input_ids=tokens, token_type_ids=kinds, attention_mask=there.long()).last_hidden_state
        found = own(peer)(tokens, kinds, there)
    assert torch.allclose(found[there], expected[there], atol=1e-5)


def test_a_score_does_not_depend_on_padding(peer):
    model = PairModel(own(peer), 5).eval()
    pairs = [pair_tokens([np.arange(110, 110 + n)], np.arange(150, 150 + n)) for n in (2, 9, 25)]
    with torch.no_grad():
        together = model(*pad(pairs))
        alone = torch.cat([model(*pad([pair])) for pair in pairs])
    assert torch.allclose(together, alone, atol=1e-5)


def test_long_contexts_are_cut_on_the_left_and_long_replies_on_the_right():
    tokens, start = pair_tokens([np.full(300, 111), np.full(4, 112)], np.full(190, 113))
    assert tokens[0] == FIRST
    assert tokens[start - 1] == BETWEEN
    assert (tokens[1:start] == 112).sum() == 4
    assert start == 97
    assert (tokens == 113).sum() == 104


def test_embeddings_stay_fixed(peer):
    assert not any("word" in name or "position" in name for name in PairModel(own(peer), 5).trainable())
