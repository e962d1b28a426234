"""Our vectors against sentence-transformers', our readers against the packages the weights came from."""

from pathlib import Path

import numpy as np
import pytest
from tiny_models import write_bert

from turnwise.encode import load
from turnwise.encode.models import catalogue as weights

TEXTS = [
    "Hello! How are you today?",
    "I love playing the guitar, and my dog sings along.",
    "",
    "ok",
    "A much longer reply, " * 80,
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
]


def fetched(name: str) -> Path:
    folder = weights.folder_of(name)
    if not (folder / weights.MANIFEST).is_file():
        pytest.skip(f"not fetched: turnwise fetch {name}")
    return folder


def test_minilm_vectors_equal_sentence_transformers() -> None:
    folder = fetched("minilm")
    peer = pytest.importorskip("sentence_transformers").SentenceTransformer(str(folder), device="cpu")
    ours = load("minilm", device="cpu").encode(TEXTS)
    np.testing.assert_allclose(ours, peer.encode(TEXTS, show_progress_bar=False), atol=1e-5)


@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
def test_a_model_that_sentence_transformers_wrote_is_used_as_it_says(tmp_path: Path, mode: str) -> None:
    peers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer import modules

    body = modules.Transformer(str(write_bert(tmp_path / "bert")), max_seq_length=16)
    pooling = modules.Pooling(body.get_embedding_dimension(), pooling_mode=mode)
    peer = peers.SentenceTransformer(modules=[body, pooling, modules.Normalize()], device="cpu")
    peer.save(str(tmp_path / "st"))
    texts = ["i love the guitar", "you", "the cat and the dog " * 9]
    ours = load(str(tmp_path / "st"), device="cpu")
    np.testing.assert_allclose(ours.encode(texts), peer.encode(texts, show_progress_bar=False), atol=1e-5)
