"""States by ONNX Runtime depend on their own text alone; those of whole numbers are near those of float32."""

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
from tiny_models import write_bert

from papers.flagship.ranges import ranges as measured
from turnwise.encode.graph.bert import Shape, inputs_of_linear, linear_layers
from turnwise.encode.graph.session import BertSession
from turnwise.encode.graph.whole_numbers import LARGEST, STEPS, Ranges, quantised
from turnwise.encode.transformer.bert_folder import plain_shape, read_weights

Loaded = tuple[Shape, dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    folder = write_bert(tmp_path_factory.mktemp("models") / "bert")
    shape = plain_shape(folder)
    assert shape is not None
    return shape, read_weights(folder, shape)


@pytest.fixture(scope="module")
def ranges(loaded: Loaded) -> Ranges:
    shape, weights = loaded
    some = [texts(shape, 1, length)[0][0].tolist() for length in range(3, 20)]
    return measured(shape, weights, [(ids, len(ids)) for ids in some])


def texts(shape: Shape, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    ids = np.random.default_rng(length).integers(shape.words, size=(count, length))
    return ids, np.zeros_like(ids)


@pytest.mark.parametrize("whole", [False, True])
def test_a_text_has_the_same_bits_in_any_batch_and_with_any_number_of_threads(
    loaded: Loaded, ranges: Ranges, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        bert = BertSession(*loaded, ranges if whole else None)
        for length in (3, 4, 7, 16, 19):
            ids, kinds = texts(loaded[0], 9, length)
            every = bert.states(ids, kinds)
            for start, size in ((0, 1), (4, 1), (2, 5)):
                some = slice(start, start + size)
                assert np.array_equal(bert.states(ids[some], kinds[some]), every[some])
            found.setdefault(length, []).append(every)
    assert all(np.array_equal(one, other) for one, other in found.values())


def test_whole_numbers_are_near_float32(loaded: Loaded, ranges: Ranges) -> None:
    ids, kinds = texts(loaded[0], 5, 12)
    exact, rounded = (BertSession(*loaded, one).states(ids, kinds) for one in (None, ranges))
    assert 0 < np.abs(exact - rounded).mean() < 0.1 * exact.std()


def test_weights_have_seven_bits_and_pairs_of_products_fit_in_sixteen(loaded: Loaded, ranges: Ranges) -> None:
    shape, weights = loaded
    rows = {
        name: one.T if one.ndim == 2 and "embeddings" not in name else one for name, one in weights.items()
    }
    found = quantised(rows, ranges, shape)
    for layer in linear_layers(shape.layers):
        codes, scales = found[f"{layer}.weight"], found[f"{layer}.scales"]
        assert codes.dtype == np.int8
        assert np.abs(codes).max() == LARGEST
        np.testing.assert_allclose(
            codes * scales, rows[f"{layer}.weight"], atol=float(scales.max()) / 2 * 1.001
        )
    assert 2 * STEPS * LARGEST < 2**15


def test_ranges_are_kept_in_tensors(ranges: Ranges) -> None:
    assert Ranges.load(ranges.tensors).bounds == ranges.bounds


def test_a_range_without_zero_is_widened_to_it(loaded: Loaded) -> None:
    shape, weights = loaded
    name = next(iter(inputs_of_linear(shape.layers)))
    bounds = dict.fromkeys(inputs_of_linear(shape.layers), (-1.0, 1.0)) | {name: (1.0, 3.0)}
    rows = {key: one.T if one.ndim == 2 and "embeddings" not in key else one for key, one in weights.items()}
    found = quantised(rows, Ranges(bounds), shape)
    assert found[f"{name}.zero"] == 0
    assert found[f"{name}.scale"] == np.float32(3 / STEPS)
