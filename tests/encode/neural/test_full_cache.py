"""Vectors that are in the cache are read without torch and transformers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.tiny_models import write_bert
from turnwise.encode import Cache, load

TEXTS = ["i like the guitar", "you hate the piano", "i hear a song and " * 20]  # the last is cut
CODE = """
import sys
from pathlib import Path
import numpy as np
from turnwise.encode import Cache, load
encoder = load(sys.argv[1], max_length=32, cache=Cache(Path(sys.argv[2])))
np.save(sys.argv[3], encoder.encode(sys.argv[4:]))
assert str(encoder.signature) and encoder.dimension == 16
heavy = {"torch", "transformers"} & set(sys.modules)
assert not heavy, heavy
"""


def test_a_full_cache_needs_no_torch(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "bert")
    computed = load(str(folder), max_length=32, cache=Cache(tmp_path / "vectors.sqlite")).encode(TEXTS)
    arguments = [str(folder), str(tmp_path / "vectors.sqlite"), str(tmp_path / "read.npy"), *TEXTS]
    subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert np.array_equal(np.load(tmp_path / "read.npy"), computed)


def test_texts_are_counted_as_cut_by_the_tokenizer_that_the_model_uses(tmp_path: Path) -> None:
    encoder = load(str(write_bert(tmp_path / "bert", max_length=32)))
    texts = ["song " * count for count in range(20, 45)]
    encoded = encoder.tokenizer(texts, truncation=True, max_length=32).encodings  # type: ignore[attr-defined]
    assert encoder.cut(texts) == sum(bool(one.overflowing) for one in encoded) == 14  # type: ignore[attr-defined]
