"""One pass over a dialogue gives what encoding each (state, action) alone gives."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch
from transformers import RobertaConfig, RobertaModel

from tests import tiny_models
from turnwise.encode.cache.disk import Cache
from turnwise.encode.neural.dialogue import DialogueEncoder
from turnwise.encode.neural.dialogue_layout import Exchange, ExchangeTokens, Marks, lay_out
from turnwise.errors import DataError, UsageError

TEXT = st.lists(st.sampled_from(tiny_models.WORDS), max_size=6).map(" ".join)
DIALOGUE = st.lists(
    st.builds(
        Exchange, user=st.one_of(st.none(), TEXT), reply=TEXT, others=st.lists(TEXT, max_size=3).map(tuple)
    ),
    min_size=1,
    max_size=4,
)


def write_roberta(folder: Path) -> Path:
    """Two layers, one token type, positions counted from 2, two separators between texts."""
    torch.manual_seed(0)
    tokenizer = tiny_models._tokenizer(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] [SEP] $B [SEP]")
    tokenizer.save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=130,
        type_vocab_size=1,
        pad_token_id=1,
        initializer_range=0.5,
    )
    RobertaModel(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {
        "bert": tiny_models.write_bert(tmp_path_factory.mktemp("bert"), max_length=128),
        "roberta": write_roberta(tmp_path_factory.mktemp("roberta")),
    }


@cache
def opened(folder: Path, name: str, pooling: str) -> DialogueEncoder:
    return DialogueEncoder(folder, name, pooling=pooling, device="cpu")


def alone(encoder: DialogueEncoder, dialogue: list[Exchange], point: int, reply: str) -> np.ndarray:
    """(s, a) by itself: no other reply, nothing later; turns in a row, each seeing itself and what is before it."""
    tokenizer = encoder.tokenizer
    doubled = tokenizer.num_special_tokens_to_add(pair=True) == 4
    turns = [(kind, text) for e in dialogue[:point] for kind, text in ((0, e.user), (1, e.reply))]
    turns += [(0, dialogue[point].user), (1, reply)]
    ids, types, ends = [tokenizer.cls_token_id], [0], []
    for number, (kind, text) in enumerate(turns):
        if text is None:
            if number == 0:
                ends.append(1)
            continue
        inner = tokenizer(text, add_special_tokens=False)["input_ids"]
        wrapped = [*([tokenizer.sep_token_id] if doubled and number else []), *inner, tokenizer.sep_token_id]
        ids += wrapped
        types += [kind] * len(wrapped)
        ends.append(len(ids))
    seen = torch.zeros(len(ids), len(ids))
    for start, end in zip([0, *ends], ends, strict=False):
        seen[start:end, :end] = 1
    mask = torch.where(seen > 0, 0.0, torch.finfo(torch.float32).min)[None, None]
    roberta = isinstance(encoder.model, RobertaModel)
    position = torch.arange(len(ids))[None] + (2 if roberta else 0)
    kinds = torch.tensor([types]) * (0 if roberta else 1)
    with torch.inference_mode():
        states = encoder.model(
            input_ids=torch.tensor([ids]), attention_mask=mask, position_ids=position, token_type_ids=kinds
        ).last_hidden_state[0]
    own = states[ends[-2] : ends[-1]]
    return (own.mean(dim=0) if encoder.pooling == "mean" else own[-1]).numpy()


@pytest.mark.parametrize("name", ["bert", "roberta"])
@pytest.mark.parametrize("pooling", ["mean", "last"])
@given(dialogue=DIALOGUE)
@settings(max_examples=20)
def test_one_pass_gives_what_each_reply_gives_alone(folders, name, pooling, dialogue) -> None:
    encoder = opened(folders[name], name, pooling)
    (vectors,) = encoder.encode([dialogue])
    expected = [
        alone(encoder, dialogue, point, reply)
        for point, exchange in enumerate(dialogue)
        for reply in (exchange.reply, *exchange.others)
    ]
    np.testing.assert_allclose(vectors, np.array(expected), atol=1e-5)


@given(dialogues=st.lists(DIALOGUE, min_size=2, max_size=4), longest=st.integers(8, 40))
@settings(max_examples=20)
def test_neither_neighbours_nor_several_passes_change_a_vector(folders, dialogues, longest) -> None:
    encoder = DialogueEncoder(folders["bert"], "bert", device="cpu")
    some = DialogueEncoder(folders["bert"], "bert", device="cpu", longest=longest, budget=64)
    for together, dialogue in zip(some.encode(dialogues), dialogues, strict=True):
        np.testing.assert_allclose(together, encoder.encode([dialogue])[0], atol=1e-5)


def test_vectors_from_the_cache_are_the_vectors(folders, tmp_path) -> None:
    dialogues = [
        [Exchange("i love my cat", "you see the dog", ("we play", "a song")), Exchange("and", "not")],
        [Exchange(None, "i hear the piano", ("they",))],
    ]
    plain = DialogueEncoder(folders["bert"], "bert", device="cpu").encode(dialogues)
    cached = DialogueEncoder(folders["bert"], "bert", device="cpu", cache=Cache(tmp_path / "v.sqlite"))
    fewer = [
        [exchange._replace(others=exchange.others[:1]) for exchange in dialogue] for dialogue in dialogues
    ]
    cached.encode(fewer)  # the first other replies only; the rest is made later
    for found, expected in zip(cached.encode(dialogues), plain, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_reply_sees_its_state_and_itself_alone() -> None:
    said = [ExchangeTokens([10], [11], [[12, 13]]), ExchangeTokens([14], [15], [])]
    script = lay_out(said, Marks(1, 2, False), limit=64)
    seen = script.visible()
    start, stop = script.replies[1]
    assert script.ids[start:stop].tolist() == [12, 13, 2]
    assert script.ids[seen[start]].tolist() == [1, 10, 2, 12, 13, 2]
    last = script.replies[2][0]
    assert script.ids[seen[last]].tolist() == [1, 10, 2, 11, 2, 14, 2, 15, 2]
    # Both replies to the first state stand at the same positions.
    assert script.position[start] == script.position[script.replies[0][0]] == 3


@given(
    lengths=st.lists(st.integers(0, 60), min_size=2, max_size=6),
    other=st.integers(0, 80),
    limit=st.integers(30, 64),
)
def test_a_long_dialogue_is_cut_to_fit_and_what_is_cut_is_counted(lengths, other, limit) -> None:
    said = [ExchangeTokens([5] * length, [6] * length, [[7] * other]) for length in lengths]
    script = lay_out(said, Marks(1, 2, False), limit=limit)
    assert script.position.max() < limit
    kept = int(np.isin(script.ids, [5, 6, 7]).sum())
    assert kept + script.cut == sum(2 * length + other for length in lengths)
    if 1 + sum(2 * length + 2 for length in lengths) <= limit:
        assert (script.ids == 5).sum() == sum(lengths)


def test_more_turns_than_positions_are_refused() -> None:
    with pytest.raises(DataError, match="40 turns"):
        lay_out([ExchangeTokens([5], [6], [])] * 20, Marks(1, 2, False), limit=64)


def test_cut_dialogues_are_counted(folders) -> None:
    encoder = DialogueEncoder(folders["bert"], "bert", device="cpu")
    long = [Exchange("cat " * 100, "dog " * 100)]
    assert encoder.cut([long, [Exchange("cat", "dog")]]) == 1


def test_a_random_encoder_differs_from_the_trained_one_and_follows_its_seed(folders) -> None:
    dialogue = [[Exchange("i love my cat", "you see the dog")]]
    trained, first, again, other = (
        DialogueEncoder(folders["bert"], "bert", device="cpu", random=seed).encode(dialogue)[0]
        for seed in (None, 1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
    assert np.abs(first - trained).max() > 1e-3


def test_a_model_without_marks_is_refused(tmp_path) -> None:
    folder = tiny_models.write_bert(tmp_path)
    tokenizer = tiny_models._tokenizer(single="$A", pair="$A $B")
    tokenizer.cls_token = None
    tokenizer.save_pretrained(folder)
    with pytest.raises(UsageError, match="marks"):
        DialogueEncoder(folder, "bert", device="cpu").encode([[Exchange("cat", "dog")]])


def test_a_model_that_reads_distances_in_its_input_is_refused(tmp_path) -> None:
    from transformers import MPNetConfig, MPNetModel

    tokenizer = tiny_models._tokenizer(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] [SEP] $B [SEP]")
    tokenizer.save_pretrained(tmp_path)
    config = MPNetConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )  # fmt: skip
    MPNetModel(config).save_pretrained(tmp_path)
    reader = DialogueEncoder(tmp_path, "tiny", device="cpu")
    with pytest.raises(UsageError, match="distance"):
        reader.encode([[Exchange("the", "cat", ("dog",))]])
