"""States by ONNX Runtime depend on their own text alone; those of whole numbers are near those of float32."""

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
from tiny_models import write_bert

from papers.flagship.ranges import ranges as measured
from turnwise.encode.graph.bert import Shape, inputs_of_linear
from turnwise.encode.graph.session import BertSession, _threads, turned
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


def in_rows(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: turned(name, weight) for name, weight in weights.items()}


def test_weights_have_seven_bits_and_pairs_of_products_fit_in_sixteen(loaded: Loaded, ranges: Ranges) -> None:
    shape, weights = loaded
    rows = in_rows(weights)
    found = quantised(rows, ranges, shape)
    for read, layers in inputs_of_linear(shape.layers).items():
        for layer in layers:
            codes, scales = found[f"{layer}.weight"], found[f"{layer}.scales"]
            assert codes.dtype == np.int8
            assert np.abs(codes).max() == LARGEST
            # What the inputs are multiplied by, the weights are divided by.
            weight = codes * scales * found[f"{read}.smooth"][:, None]
            most = float(scales.max() * found[f"{read}.smooth"].max()) / 2
            np.testing.assert_allclose(weight, rows[f"{layer}.weight"], atol=most * 1.001)
    assert 2 * STEPS * LARGEST < 2**15


def test_ranges_are_kept_in_tensors(ranges: Ranges) -> None:
    kept = Ranges.load(ranges.tensors)
    assert all(np.array_equal(kept.bounds[name], one) for name, one in ranges.bounds.items())


def test_a_component_that_is_much_larger_does_not_take_the_steps_of_the_others(
    loaded: Loaded, ranges: Ranges
) -> None:
    shape, weights = loaded
    name = next(iter(ranges.bounds))
    wide = ranges.bounds[name].copy()
    wide[:, 0] *= 100
    found = [
        quantised(in_rows(weights), one, shape) for one in (ranges, Ranges({**ranges.bounds, name: wide}))
    ]
    ordinary, outlier = (one[f"{name}.scale"] / one[f"{name}.smooth"][1] for one in found)
    assert outlier < 10 * ordinary


def test_a_range_without_zero_is_widened_to_it(loaded: Loaded, ranges: Ranges) -> None:
    shape, weights = loaded
    name = next(iter(ranges.bounds))
    above = np.stack([np.ones(shape.width), np.full(shape.width, 3.0)])
    found = quantised(in_rows(weights), Ranges({**ranges.bounds, name: above}), shape)
    assert found[f"{name}.zero"] == 0
    largest = (3 * found[f"{name}.smooth"]).max()
    assert found[f"{name}.scale"] == pytest.approx(largest / STEPS, rel=1e-6)


@pytest.mark.parametrize(("stated", "threads"), [("2", 2), ("2,1", 2), ("", 0), ("many", 0)])
def test_the_number_of_threads_is_the_first_that_is_stated(stated: str, threads: int) -> None:
    assert _threads(stated) == threads
