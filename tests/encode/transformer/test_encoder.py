import json
import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from transformers import AutoModel, AutoTokenizer  # noqa: E402

from tests.tiny_models import write_masked, write_roberta  # noqa: E402
from turnwise.encode import load, load_pairs  # noqa: E402
from turnwise.encode.cache.disk import Cache  # noqa: E402
from turnwise.encode.transformer.encoder import Transformer  # noqa: E402
from turnwise.encode.truncation import collect_truncations  # noqa: E402
from turnwise.errors import UsageError  # noqa: E402
from turnwise.types import Item, Turn  # noqa: E402

TEXTS = ["I love the guitar", "you hear a song", "dog", "", "we play and they see the cat , not my piano !"]


@pytest.fixture
def encoder(bert: Path) -> Transformer:
    return Transformer(bert, "tinybert@00000000")


def states(folder: Path, *inputs: str, layer: int = -1) -> torch.Tensor:
    """(t, d) of one input, by transformers itself."""
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        out = model(**tokenizer(*inputs, return_tensors="pt"), output_hidden_states=True)
    return out.hidden_states[layer][0]


def test_the_mean_is_over_all_tokens_of_the_text_alone(encoder: Transformer, bert: Path) -> None:
    expected = np.stack([states(bert, text).mean(dim=0).numpy() for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [("cls", lambda h: h[0]), ("last", lambda h: h[-1]), ("max", lambda h: h.max(dim=0).values)],
)
def test_each_pooling_equals_the_one_done_by_hand(bert: Path, pooling: str, expected: object) -> None:
    vectors = load(str(bert), pooling=pooling).encode(TEXTS[:1])
    np.testing.assert_allclose(vectors[0], expected(states(bert, TEXTS[0])).numpy(), atol=1e-5)  # type: ignore[operator]


def test_a_layer_is_the_output_of_that_block(bert: Path, llama: Path) -> None:
    for folder in (bert, llama):
        first = Transformer(folder, "x", layer=1).encode(TEXTS[:1])
        np.testing.assert_allclose(first[0], states(folder, TEXTS[0], layer=1).mean(dim=0).numpy(), atol=1e-5)


def test_normalised_vectors_have_unit_length(bert: Path) -> None:
    vectors = load(str(bert), normalise=True).encode(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_tokens_are_those_of_the_model_with_its_marks_named(encoder: Transformer, bert: Path) -> None:
    (tokens,) = encoder.tokens(["i love the cat"])
    np.testing.assert_allclose(tokens.vectors, states(bert, "i love the cat").numpy(), atol=1e-5)
    assert tokens.special.tolist() == [True, False, False, False, False, True]
    assert len(tokens.ids) == 6


def test_a_pair_is_one_input_with_token_types(encoder: Transformer, bert: Path) -> None:
    query, reply = "do you like the piano ?", "i love my guitar"
    hidden = states(bert, query, reply)
    tokenizer = AutoTokenizer.from_pretrained(bert)
    types = tokenizer(query, reply)["token_type_ids"]
    in_reply = [place for place, kind in enumerate(types) if kind == 1][:-1]  # less the last [SEP]
    together = encoder.encode_joint([(query, reply)], "all")
    within = encoder.encode_joint([(query, reply)], "reply")
    np.testing.assert_allclose(together[0], hidden.mean(dim=0).numpy(), atol=1e-5)
    np.testing.assert_allclose(within[0], hidden[in_reply].mean(dim=0).numpy(), atol=1e-5)


def item(reply: str, *context: str) -> Item:
    turns = (*(Turn("user", text) for text in context), Turn("assistant", reply))
    return Item("d#1", "d", "a", turns, len(context), "d", "d")


def test_apart_is_the_query_beside_the_reply_and_reply_is_the_reply(bert: Path) -> None:
    encoder = load(str(bert))
    items = [item("i love my guitar", "hello", "what do you play ?")]
    apart = load_pairs(str(bert), pairing="apart").encode(items)
    alone = load_pairs(str(bert), pairing="reply").encode(items)
    np.testing.assert_array_equal(apart[0, :16], encoder.encode(["what do you play ?"])[0])
    np.testing.assert_array_equal(apart[0, 16:], encoder.encode(["i love my guitar"])[0])
    np.testing.assert_array_equal(alone[0], encoder.encode(["i love my guitar"])[0])


def test_a_query_of_two_turns_is_both_of_them(bert: Path) -> None:
    items = [item("i love my guitar", "hello", "what do you play ?")]
    two = load_pairs(str(bert), pairing="together", turns=2).encode(items)
    expected = load(str(bert)).encode_joint([("hello what do you play ?", "i love my guitar")], "all")  # type: ignore[attr-defined]
    np.testing.assert_array_equal(two, expected.astype(np.float64))


def test_a_pair_without_its_query_or_an_empty_reply_within_it_has_no_vector(bert: Path) -> None:
    pairs = load_pairs(str(bert), pairing="within").encode(
        [item("i play"), item("", "hello"), item("a", "b")]
    )
    assert np.isnan(pairs).all(axis=1).tolist() == [True, True, False]


def test_a_long_text_is_cut_counted_and_reported(bert: Path, caplog: pytest.LogCaptureFixture) -> None:
    encoder = Transformer(bert, "tinybert@00000000", max_length=8)
    long = "the cat " * 30
    assert encoder.cut([long, "the cat", long]) == 2
    vectors = encoder.encode([long, "the cat " * 3])
    assert "read only 8 tokens of 1 longer text" in caplog.text
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_a_cut_text_is_told_from_the_cache_too(bert: Path, tmp_path: Path) -> None:
    encoder = Transformer(bert, "t@0", max_length=8, cache=Cache(tmp_path / "v.sqlite", limit=10**8))
    long = ["the cat " * 30, "a dog " * 30, "i"]
    for _ in range(2):
        with collect_truncations() as cut:
            encoder.encode([*long, *long])
            encoder.tokens(long)
        assert cut == [2, 2]


def test_vectors_from_the_cache_are_the_same_bytes_and_need_no_model(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "v.sqlite", limit=10**8)
    plain, half = Transformer(bert, "t@0"), Transformer(bert, "t@0", kept="fp16")
    fresh = Transformer(bert, "t@0", cache=cache)
    fresh.encode(TEXTS[:2])  # a part is there already: the rest is made in other batches
    np.testing.assert_array_equal(fresh.encode(TEXTS), plain.encode(TEXTS))
    pairs = [("a", "b"), ("", "c")]
    np.testing.assert_array_equal(fresh.encode_joint(pairs, "all"), plain.encode_joint(pairs, "all"))
    kept = Transformer(bert, "t@0", cache=cache, kept="fp16")
    np.testing.assert_array_equal(kept.encode(TEXTS), half.encode(TEXTS))
    expected = [tokens.vectors for tokens in plain.tokens(TEXTS)]
    fresh.tokens(TEXTS)

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("loaded")

    monkeypatch.setattr("turnwise.encode.transformer.encoder.open_bert", refuse)
    again = Transformer(bert, "t@0", cache=cache)
    np.testing.assert_array_equal(again.encode(TEXTS), plain.encode(TEXTS))
    for tokens, vectors in zip(again.tokens(TEXTS), expected, strict=True):
        np.testing.assert_array_equal(tokens.vectors, vectors)


def test_signatures_tell_all_options_that_change_a_vector(bert: Path) -> None:
    options = [{}, {"pooling": "cls"}, {"layer": 1}, {"normalise": True}, {"max_length": 8}, {"kept": "fp16"}]
    options.append({"precision": "bf16"})
    signatures = {str(load(str(bert), **given).signature) for given in options}
    assert len(signatures) == len(options)
    assert str(load(str(bert), budget=7).signature) == str(load(str(bert)).signature)


def test_options_that_do_not_exist_are_a_users_error(bert: Path) -> None:
    with pytest.raises(UsageError, match="layers 1 to 2"):
        load(str(bert), layer=3)
    with pytest.raises(UsageError, match="pooling"):
        load(str(bert), pooling="median")
    with pytest.raises(UsageError, match="does not take"):
        load(str(bert), colour="red")
    with pytest.raises(UsageError, match="no precision `fp8`"):
        load(str(bert), precision="fp8").encode(["a"])
    with pytest.raises(UsageError, match="one text at a time"):
        load_pairs("hashing", pairing="together")
    with pytest.raises(UsageError, match="no pairing"):
        load_pairs("hashing", pairing="besides")


def of_sentence_transformers(folder: Path, *modules: str, **pooling: object) -> Path:
    """The folder as sentence-transformers would have written it, with these modules after the transformer."""
    names = ("Transformer", *modules)
    listed = [
        {"path": f"{at}_{name}" if at else "", "type": f"sentence_transformers.models.{name}"}
        for at, name in enumerate(names)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "pool:cls|norm:l2"),
        ({"pooling_mode": "lasttoken"}, "pool:last|norm:l2"),
        ({"pooling_mode": ["max"]}, "pool:max|norm:l2"),
        ({}, "pool:mean|norm:l2"),
    ],
)
def test_a_folder_of_sentence_transformers_is_used_as_it_says(
    bert: Path, tmp_path: Path, pooling: dict[str, object], expected: str
) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "st"))
    of_sentence_transformers(folder, "Pooling", "Normalize", **pooling)
    assert expected in str(load(str(folder)).signature)


@pytest.mark.parametrize(
    ("modules", "pooling", "named"),
    [
        (("Pooling", "Dense"), {"pooling_mode": "mean"}, "a module Dense"),
        (("Pooling",), {"pooling_mode_weightedmean_tokens": True}, "the pooling weightedmean_tokens"),
        (("Pooling",), {"pooling_mode": ["cls", "mean"]}, r"the pooling cls \+ mean"),
    ],
)
def test_what_a_folder_asks_for_and_is_not_done_here_is_refused_not_left_out(
    bert: Path, tmp_path: Path, modules: tuple[str, ...], pooling: dict[str, object], named: str
) -> None:
    folder = of_sentence_transformers(Path(shutil.copytree(bert, tmp_path / "st")), *modules, **pooling)
    with pytest.raises(UsageError, match=f"{named}, which is not done here: name a pooling"):
        load(str(folder)).encode(TEXTS)
    np.testing.assert_array_equal(
        load(str(folder), pooling="mean").encode(TEXTS), load(str(bert), pooling="mean").encode(TEXTS)
    )


def test_a_long_text_fits_into_a_model_that_counts_positions_from_2(tmp_path: Path) -> None:
    folder = write_roberta(tmp_path / "roberta", places=34)
    encoder = load(str(folder))
    assert "max:32" in str(encoder.signature)
    assert np.isfinite(encoder.encode(["the cat " * 40])).all()


def test_the_first_token_of_a_decoder_is_no_vector_of_a_text(llama: Path) -> None:
    with pytest.raises(UsageError, match="pooling=last"):
        load(str(llama), pooling="cls")
    assert np.isfinite(load(str(llama), pooling="last").encode(TEXTS[:1])).all()


def test_a_missing_pooler_is_no_loss_and_a_missing_layer_is_refused(bert: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    assert np.isfinite(load(str(write_masked(tmp_path / "masked"))).encode(TEXTS)).all()
    folder = Path(shutil.copytree(bert, tmp_path / "cut"))
    kept = {
        name: tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
        if "layer.1.output" not in name
    }
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UsageError, match=r"no whole BertModel: it has no weights for encoder.layer.1.output"):
        load(str(folder)).encode(TEXTS)


def test_no_texts_are_no_vectors(encoder: Transformer) -> None:
    assert encoder.encode([]).shape == (0, 16)
    assert encoder.tokens([]) == []
