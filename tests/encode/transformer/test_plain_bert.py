"""A plain BERT without transformers: the same numbers and tokens, and another folder is left to transformers."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_models import MARKS, WORDS, write_bert, write_masked

from turnwise.encode.graph.session import BertSession
from turnwise.encode.neural.bert import Bert
from turnwise.encode.transformer.bert_folder import plain_shape, read_bert_tokenizer, read_weights
from turnwise.encode.transformer.encoder import Transformer

torch = pytest.importorskip("torch")
TEXTS = [
    "",
    "I like the cat",
    "[SEP] dog [MASK] cat",
    "日本 é e\u0301 guitars",
    "you-love? it's",
    "a " * 60,
    "THE cat",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with word pieces and BERT's own normaliser, as MiniLM has them."""
    from transformers import BertTokenizer

    place = write_bert(tmp_path_factory.mktemp("models") / "pieces")
    pieces = [*MARKS, *WORDS, "##s", "e", "it", "'", "-", "?", "日", "本"]
    names = {word: number for number, word in enumerate(pieces)}
    vocabulary = {word: number for word, number in names.items() if number < 28}
    BertTokenizer(vocab=vocabulary).save_pretrained(place)
    return place


def without(encoder: Transformer) -> Transformer:
    """The encoder by transformers."""
    encoder.__dict__.update(_bert=None, _plain_tokenizer=None)
    return encoder


@pytest.mark.parametrize("settings", [{}, {"layer": 1}, {"layer": 2}, {"precision": "bf16"}])
def test_vectors_of_torch_are_those_of_transformers_bit_by_bit(
    folder: Path, settings: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.encode.transformer.plain_bert.runs_graphs", lambda: False)
    ours, theirs = Transformer(folder, "tiny", **settings), without(Transformer(folder, "tiny", **settings))
    assert isinstance(ours._bert, Bert)
    assert np.array_equal(ours.encode(TEXTS), theirs.encode(TEXTS))
    pairs = [(text, f"my {other} dog") for text, other in itertools.pairwise(TEXTS)]
    for part in ("all", "reply"):
        assert np.array_equal(ours.encode_joint(pairs, part), theirs.encode_joint(pairs, part))


@pytest.mark.parametrize(
    "settings", [{}, {"layer": 1}, {"layer": 2}, {"pooling": "max"}, {"normalise": True}]
)
def test_vectors_of_onnx_runtime_are_those_of_transformers(folder: Path, settings: dict) -> None:
    ours, theirs = Transformer(folder, "tiny", **settings), without(Transformer(folder, "tiny", **settings))
    assert isinstance(ours._bert, BertSession)
    np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)
    pairs = [(text, f"my {other} dog") for text, other in itertools.pairwise(TEXTS)]
    for part in ("all", "reply"):
        np.testing.assert_allclose(
            ours.encode_joint(pairs, part), theirs.encode_joint(pairs, part), atol=1e-5
        )
    for mine, other in zip(ours.tokens(TEXTS), theirs.tokens(TEXTS), strict=True):
        np.testing.assert_allclose(mine.vectors, other.vectors, atol=1e-5)


def test_both_libraries_share_a_signature_and_no_entries_of_the_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_graph = Transformer(folder, "tiny")
    space = by_graph._space(by_graph.signature)
    monkeypatch.setattr("turnwise.encode.transformer.precision.runs_graphs", lambda: False)
    by_torch = Transformer(folder, "tiny")
    assert by_torch.signature == by_graph.signature
    assert by_torch._space(by_torch.signature) != space


def test_tokens_are_those_of_transformers(folder: Path) -> None:
    ours, theirs = Transformer(folder, "tiny"), without(Transformer(folder, "tiny"))
    assert ours._plain_tokenizer is not None
    for texts in (TEXTS, [(text, "a cat") for text in TEXTS], [("a cat", text) for text in TEXTS]):
        for one, other in zip(ours._encodings(texts), theirs._encodings(texts), strict=True):
            assert (one.ids, one.type_ids) == (other.ids, other.type_ids)
            assert (one.special_tokens_mask, one.sequence_ids) == (
                other.special_tokens_mask,
                other.sequence_ids,
            )


def test_an_encoder_below_a_head_is_read_too(tmp_path: Path) -> None:
    place = write_masked(tmp_path / "masked")
    ours, theirs = Transformer(place, "tiny"), without(Transformer(place, "tiny"))
    assert ours._bert is not None
    np.testing.assert_allclose(ours.encode(TEXTS), theirs.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "value"), [("hidden_act", "relu"), ("model_type", "electra"), ("is_decoder", True)]
)
def test_another_model_is_left_to_transformers(tmp_path: Path, name: str, value: object) -> None:
    place = write_bert(tmp_path / "other")
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**config, name: value}))
    assert plain_shape(place) is None


def test_a_tokenizer_that_transformers_would_change_is_left_to_it(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert read_bert_tokenizer(tmp_path, 32) is not None
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**settings, "do_lower_case": False}))
    assert read_bert_tokenizer(tmp_path, 32) is None


def test_encoding_imports_neither_torch_nor_transformers(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 32}')
    code = (
        "import sys; from pathlib import Path; from turnwise.encode.transformer.encoder import Transformer\n"
        f"Transformer(Path({str(folder)!r}), 'tiny').encode(['I like the cat'])\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("network", [BertSession, Bert])
@pytest.mark.parametrize("picked", [[0, 8], [0, 6, 7, 8], list(range(9))])
def test_the_states_of_some_places_are_those_of_all(folder: Path, network: type, picked: list[int]) -> None:
    shape = plain_shape(folder)
    assert shape is not None
    bert = network(shape, read_weights(folder, shape))
    ids = np.arange(18).reshape(2, 9)
    kinds = np.repeat((np.arange(9) >= 4).astype(np.int64)[None], 2, axis=0)
    some = bert.states(ids, kinds, picked=np.array(picked))
    np.testing.assert_allclose(some, bert.states(ids, kinds)[:, picked], atol=1e-5)
