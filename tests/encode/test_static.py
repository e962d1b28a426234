import json
from pathlib import Path

import numpy as np
import pytest

from turnwise.encode import load
from turnwise.encode.hashing import Hashing
from turnwise.encode.static import SubwordVectors, WordVectors
from turnwise.encode.text.tokenise import lower_words, words, words_and_marks
from turnwise.errors import DataError, UsageError

TABLE = {"US": [1.0, 0.0], "us": [0.0, 1.0], "can't": [0.5, 0.5], "café": [2.0, 2.0]}


def write_word2vec(path: Path, *, newlines: bool) -> Path:
    end = b"\n" if newlines else b""
    rows = [word.encode() + b" " + np.array(row, dtype="<f4").tobytes() + end for word, row in TABLE.items()]
    path.write_bytes(f"{len(TABLE)} 2\n".encode() + b"".join(rows))
    return path


@pytest.mark.parametrize("newlines", [True, False])
def test_word2vec_files_are_read_with_and_without_newlines(tmp_path: Path, newlines: bool) -> None:
    write_word2vec(tmp_path / "v.bin", newlines=newlines)
    encoder = load(str(tmp_path))
    assert isinstance(encoder, WordVectors)
    np.testing.assert_allclose(encoder.encode(["US, us! CAN'T.", "café"]), [[0.5, 0.5], [2, 2]])


def test_words_without_vectors_are_left_out_and_none_but_such_are_undefined(tmp_path: Path) -> None:
    encoder = WordVectors.read(write_word2vec(tmp_path / "v.bin", newlines=False), label="w@0")
    vectors = encoder.encode(["us zebra", "zebra", ""])
    np.testing.assert_array_equal(vectors[0], [0, 1])
    assert np.isnan(vectors[1:]).all()
    (tokens,) = encoder.tokens(["us zebra US"])
    assert tokens.ids.tolist() == [1, 0]
    np.testing.assert_array_equal(tokens.vectors, [[0, 1], [1, 0]])


def test_a_file_that_is_cut_short_or_something_else_is_named(tmp_path: Path) -> None:
    path = write_word2vec(tmp_path / "v.bin", newlines=False)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DataError, match="ends after 3 of 4 words"):
        WordVectors.read(path, label="w@0")
    path.write_bytes(b"hello")
    with pytest.raises(DataError, match="not in word2vec"):
        WordVectors.read(path, label="w@0")


def test_subword_vectors_are_rows_of_the_table(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    safetensors = pytest.importorskip("safetensors.numpy")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    table = np.array([[1, 0], [0, 1], [4, 4]], dtype=np.float16)
    safetensors.save_file({"embedding.weight": table}, tmp_path / "v.safetensors")
    encoder = load(str(tmp_path))
    assert isinstance(encoder, SubwordVectors)
    vectors = encoder.encode(["a b", "b", ""])
    np.testing.assert_array_equal(vectors[:2], [[0.5, 0.5], [0, 1]])
    assert np.isnan(vectors[2]).all()
    assert encoder.tokens(["b a"])[0].ids.tolist() == [1, 0]


def test_a_folder_without_a_model_is_a_users_error(tmp_path: Path) -> None:
    (tmp_path / "notes.bin").write_bytes(b"1 1\na " + bytes(4))
    (tmp_path / "other.bin").write_bytes(b"1 1\na " + bytes(4))
    with pytest.raises(UsageError, match="holds no encoder"):
        load(str(tmp_path))


def test_hashing_is_the_same_in_every_process_and_release() -> None:
    vector = Hashing(dimension=8).encode(["I can't swim."])[0]
    np.testing.assert_allclose(
        vector, json.loads((Path(__file__).parent / "hashing.json").read_text()), atol=1e-6
    )


def test_hashing_puts_near_duplicates_near_and_strangers_apart() -> None:
    same, near, far = (
        Hashing(dimension=1024).encode([text])[0]
        for text in (
            "I like playing the guitar",
            "I liked to play the guitar!",
            "Tax rates rose by 3 percent",
        )
    )
    assert same @ near > 0.4 > 0.1 > abs(same @ far)
    assert same @ same == pytest.approx(1, abs=1e-6)


def test_hashing_of_nothing_is_undefined_and_its_tokens_are_none() -> None:
    assert np.isnan(Hashing().encode(["", "  "])).all()
    assert Hashing().tokens([""])[0].vectors.shape == (0, 256)
    assert Hashing().encode([]).shape == (0, 256)


def test_tokenisers_do_what_their_sentence_says() -> None:
    text = "I can't—won't!  Élan, e\N{COMBINING ACUTE ACCENT}"
    assert words(text) == ["I", "can't", "won't", "Élan", "é"]
    assert lower_words(text) == ["i", "can't", "won't", "élan", "é"]
    assert words_and_marks(text) == ["i", "can't", "—", "won't", "!", "élan", ",", "é"]
