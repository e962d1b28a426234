"""Writes a network as bytes in the ONNX format, without its weights.

ONNX Runtime reads a network as a message of Protocol Buffers. The package `onnx`, which writes such messages, is larger
than all that is written here, and would be needed wherever a network runs, because the number of layers is only known
then. Only the fields that our networks need are written; `onnx.checker` accepts the result
(tests/encode/graph/test_onnx_format.py). A weight is declared with its shape and type, and ONNX Runtime gets its
numbers when a session is made.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Type = Literal["float32", "int64", "uint8", "int8"]
Size = int | str  # a fixed size, or the name of one that is known only when the network runs
_TYPES: dict[str, int] = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}  # onnx.TensorProto.DataType
_FORMAT = 8  # onnx.IR_VERSION of ONNX 1.12, which every version of ONNX Runtime that is supported reads
_OPERATORS = {"": 17, "com.microsoft": 1}  # versions of the sets of operators
# Numbers of the fields of messages, as in onnx.proto.
_MODEL = {"ir_version": 1, "producer": 2, "graph": 7, "operators": 8}
_GRAPH = {"node": 1, "name": 2, "weight": 5, "input": 11, "output": 12}
_NODE = {"input": 1, "output": 2, "kind": 4, "attribute": 5, "set": 7}
_ATTRIBUTE = {"name": 1, "float": 2, "int": 3, "ints": 8, "type": 20}
_WEIGHT = {"size": 1, "type": 2, "name": 8, "raw": 9, "external": 13, "location": 14}
_FLOAT, _INT, _INTS = 1, 2, 7  # onnx.AttributeProto.AttributeType
_EXTERNAL = 1  # onnx.TensorProto.DataLocation

Attribute = int | float | Sequence[int]


@dataclass(slots=True)
class Network:
    """A network that is being written: nodes in the order in which they are computed."""

    nodes: list[bytes] = field(default_factory=list)
    declared: list[bytes] = field(default_factory=list)  # weights and constants
    weights: dict[str, None] = field(default_factory=dict)  # names of the weights, in order
    inputs: list[bytes] = field(default_factory=list)
    outputs: list[bytes] = field(default_factory=list)
    named: int = 0  # results of nodes that have names so far

    def input(self, name: str, kind: Type, shape: Sequence[Size]) -> str:
        """Declare an input."""
        self.inputs.append(_value(name, kind, shape))
        return name

    def output(self, name: str, kind: Type, shape: Sequence[Size]) -> None:
        """Declare the result of a node as an output."""
        self.outputs.append(_value(name, kind, shape))

    def weight(self, name: str, kind: Type, shape: Sequence[int]) -> str:
        """Declare a weight, whose numbers a session gets by its name; a second time it is the same weight."""
        if name in self.weights:
            return name
        place = _text(1, "location") + _text(2, "weights")
        self._declare(
            name, kind, shape, _part(_WEIGHT["external"], place) + _int(_WEIGHT["location"], _EXTERNAL)
        )
        self.weights[name] = None
        return name

    def constant(self, name: str, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
        """A small array that is part of the network."""
        kind: Type = array.dtype.name  # type: ignore[assignment]
        self._declare(name, kind, array.shape, _part(_WEIGHT["raw"], array.tobytes()))
        return name

    def node(
        self,
        kind: str,
        inputs: Iterable[str],
        *,
        outputs: int = 1,
        own: bool = False,
        **attributes: Attribute,
    ) -> list[str]:
        """Add a node and return the names of its outputs; `own` is for operators that only ONNX Runtime has."""
        made = [f"{kind}_{self.named + at}" for at in range(outputs)]
        self.named += outputs
        message = b"".join(_text(_NODE["input"], name) for name in inputs)
        message += b"".join(_text(_NODE["output"], name) for name in made) + _text(_NODE["kind"], kind)
        message += b"".join(_part(_NODE["attribute"], _attribute(*pair)) for pair in attributes.items())
        self.nodes.append(message + (_text(_NODE["set"], "com.microsoft") if own else b""))
        return made

    def written(self) -> bytes:
        """The whole network."""
        graph = b"".join(_part(_GRAPH["node"], node) for node in self.nodes) + _text(
            _GRAPH["name"], "turnwise"
        )
        graph += b"".join(_part(_GRAPH["weight"], weight) for weight in self.declared)
        graph += b"".join(_part(_GRAPH["input"], value) for value in self.inputs)
        graph += b"".join(_part(_GRAPH["output"], value) for value in self.outputs)
        operators = b"".join(
            _part(_MODEL["operators"], _text(1, name) + _int(2, version))
            for name, version in _OPERATORS.items()
        )
        about = _int(_MODEL["ir_version"], _FORMAT) + _text(_MODEL["producer"], "turnwise")
        return about + _part(_MODEL["graph"], graph) + operators

    def _declare(self, name: str, kind: Type, shape: Sequence[int], numbers: bytes) -> None:
        """Add a weight or a constant."""
        sizes = b"".join(_int(_WEIGHT["size"], size) for size in shape)
        about = _int(_WEIGHT["type"], _TYPES[kind]) + _text(_WEIGHT["name"], name)
        self.declared.append(sizes + about + numbers)


def _value(name: str, kind: Type, shape: Sequence[Size]) -> bytes:
    """An input or an output with its type and shape."""
    sizes = b"".join(_part(1, _text(2, size) if isinstance(size, str) else _int(1, size)) for size in shape)
    tensor = _int(1, _TYPES[kind]) + _part(2, sizes)
    return _text(1, name) + _part(2, _part(1, tensor))


def _attribute(name: str, value: Attribute) -> bytes:
    """A setting of a node."""
    start = _text(_ATTRIBUTE["name"], name)
    if isinstance(value, float):
        number = np.array(value, "<f4").tobytes()
        return start + _key(_ATTRIBUTE["float"], 5) + number + _int(_ATTRIBUTE["type"], _FLOAT)
    if isinstance(value, int):
        return start + _int(_ATTRIBUTE["int"], value) + _int(_ATTRIBUTE["type"], _INT)
    return start + b"".join(_int(_ATTRIBUTE["ints"], one) for one in value) + _int(_ATTRIBUTE["type"], _INTS)


def _int(number: int, value: int) -> bytes:
    """A field with a whole number; negative ones are written in 64 bits."""
    return _key(number, 0) + _varint(value % 2**64)


def _text(number: int, text: str) -> bytes:
    """A field with a text."""
    return _part(number, text.encode())


def _part(number: int, message: bytes) -> bytes:
    """A field with bytes or with another message."""
    return _key(number, 2) + _varint(len(message)) + message


def _key(number: int, wire: int) -> bytes:
    """The number of a field, and how its value is written."""
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    """A whole number, 7 bits in each byte, the lowest first."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
