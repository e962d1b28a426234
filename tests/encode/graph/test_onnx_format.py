"""What is written here is a network in the ONNX format, and says what a checker of that format wants to know."""

import numpy as np
import pytest

from turnwise.encode.graph.bert import Shape, Variant, write
from turnwise.encode.graph.onnx_format import Network, _varint

onnx = pytest.importorskip("onnx")
SHAPE = Shape(layers=2, heads=2, width=8, inner=16, words=30, kinds=2, positions=20, epsilon=1e-12)


@pytest.mark.parametrize(
    "variant", [Variant(picked=p, quantised=q) for p in (False, True) for q in (False, True)]
)
def test_a_network_of_standard_operators_is_accepted_by_the_checker(variant: Variant) -> None:
    network = write(SHAPE, variant)
    model = onnx.load_from_string(network.written())
    assert [one.name for one in model.graph.initializer] == list(network.weights)
    assert all(one.data_location == onnx.TensorProto.EXTERNAL for one in model.graph.initializer)
    names = {"words", "kinds", "places"} | ({"picked"} if variant.picked else set())
    assert {one.name for one in model.graph.input} == names
    # The checker knows the operators of the standard alone; weights outside of the file are not there for it.
    standard = onnx.ModelProto.FromString(network.written())
    for one in standard.graph.initializer:
        one.data_location = onnx.TensorProto.DEFAULT
        del one.external_data[:]
        size = int(np.prod(one.dims)) * (4 if one.data_type == onnx.TensorProto.FLOAT else 1)
        one.raw_data = bytes(size)
    onnx.checker.check_model(standard)


def test_a_weight_has_its_shape_and_type() -> None:
    model = onnx.load_from_string(write(SHAPE, Variant(quantised=True)).written())
    found = {one.name: (tuple(one.dims), one.data_type) for one in model.graph.initializer}
    assert found["embeddings.position_embeddings.weight"] == ((20, 8), onnx.TensorProto.FLOAT)
    assert found["encoder.layer.1.output.dense.weight"] == ((16, 8), onnx.TensorProto.INT8)
    assert found["encoder.layer.1.attention.self.zero"] == ((), onnx.TensorProto.UINT8)


def test_constants_and_settings_are_read_back_as_they_were_written() -> None:
    network = Network()
    read = network.input("x", "float32", ("n", 3))
    added = network.constant("one", np.array([1.5, -2.0, 0.0], np.float32))
    (total,) = network.node("Add", (read, added))
    (least,) = network.node("ReduceMin", (total,), axes=[-1], keepdims=0)
    network.output(least, "float32", ("n",))
    model = onnx.load_from_string(network.written())
    onnx.checker.check_model(model, full_check=True)
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).tolist() == [1.5, -2.0, 0.0]
    settings = {one.name: onnx.helper.get_attribute_value(one) for one in model.graph.node[1].attribute}
    assert settings == {"axes": [-1], "keepdims": 0}


@pytest.mark.parametrize(
    ("value", "expected"), [(0, b"\x00"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02")]
)
def test_whole_numbers_have_seven_bits_in_a_byte(value: int, expected: bytes) -> None:
    assert _varint(value) == expected
