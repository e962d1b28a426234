"""The network of a BERT encoder such as MiniLM in the ONNX format, made from its sizes.

The operations are those of `transformers.BertModel`. Nothing is padded: the inputs of a batch have one length. With
`picked`, the states of some places are asked for, and the last layer computes no others. A `quantised` network
multiplies whole numbers in its linear layers: inputs are rounded to 8 bits with a fixed scale, so that a number does
not depend on the other inputs of a batch.
"""

from dataclasses import dataclass

from turnwise.encode.graph.onnx_format import Network

WORD_VECTORS = "embeddings.word_embeddings.weight"
EMBEDDINGS = ("word", "token_type", "position")
NORM = "embeddings.LayerNorm"


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a BERT encoder."""

    layers: int
    heads: int
    width: int
    inner: int
    words: int
    kinds: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Variant:
    """What a network of these weights takes and gives."""

    picked: bool = False
    quantised: bool = False


def linear_layers(layers: int) -> list[str]:
    """The names of all linear layers, in the order of computation."""
    parts = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
             "intermediate.dense", "output.dense")  # fmt: skip
    return [f"encoder.layer.{layer}.{part}" for layer in range(layers) for part in parts]


def inputs_of_linear(layers: int) -> dict[str, tuple[str, ...]]:
    """Name of what is rounded -> the linear layers that read it. Queries, keys and values read the same states."""
    found = {}
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        found[f"{at}.attention.self"] = tuple(
            f"{at}.attention.self.{name}" for name in ("query", "key", "value")
        )
        for part in ("attention.output.dense", "intermediate.dense", "output.dense"):
            found[f"{at}.{part}"] = (f"{at}.{part}",)
    return found


def write(shape: Shape, variant: Variant) -> Network:
    """The network: `words` (b, t, d) and `kinds` (b, t) -> states (b, t, d), or (b, p, d) for `picked` (p,).

    The vectors of words are looked up outside of it, because ONNX Runtime would copy the whole table.
    """
    return Writer(shape, variant).written()


class Writer:
    """Writes the layers one after the other."""

    def __init__(self, shape: Shape, variant: Variant) -> None:
        self.shape, self.variant, self.net = shape, variant, Network()

    def written(self) -> Network:
        net, shape = self.net, self.shape
        words = net.input("words", "float32", ("b", "t", shape.width))
        kinds = net.input("kinds", "int64", ("b", "t"))
        places = net.input("places", "int64", ("t",))
        rows = [words]
        for name, size, read in (
            ("token_type", shape.kinds, kinds),
            ("position", shape.positions, places),
        ):
            table = net.weight(f"embeddings.{name}_embeddings.weight", "float32", (size, shape.width))
            rows += net.node("Gather", (table, read), axis=0)
        (both,) = net.node("Add", rows[:2])
        states = self.norm(both, rows[2], NORM)  # a row of places is added to every text
        for layer in range(shape.layers - 1):
            states = self.layer(states, states, layer)
        wanted = states
        if self.variant.picked:
            net.input("picked", "int64", ("p",))
            (wanted,) = net.node("Gather", (states, "picked"), axis=1)
        states = self.layer(wanted, states, shape.layers - 1)
        net.output(states, "float32", ("b", "p" if self.variant.picked else "t", shape.width))
        return net

    def norm_weights(self, name: str) -> list[str]:
        """The two weights of a norm."""
        return [
            self.net.weight(f"{name}.{part}", "float32", (self.shape.width,)) for part in ("weight", "bias")
        ]

    def norm(self, states: str, added: str, name: str) -> str:
        """The norm of a sum. ONNX Runtime has one operator for both, which takes ten times as long."""
        (both,) = self.net.node("Add", (states, added))
        inputs = (both, *self.norm_weights(name))
        return self.net.node("LayerNormalization", inputs, axis=-1, epsilon=self.shape.epsilon)[0]

    def layer(self, wanted: str, states: str, number: int) -> str:
        """One layer for some states, which attend to all."""
        at, net = f"encoder.layer.{number}", self.net
        attended = self.attention(wanted, states, f"{at}.attention.self")
        width, inner = self.shape.width, self.shape.inner
        out = self.rounded_linear(attended, f"{at}.attention.output.dense", width, width)
        wanted = self.norm(out, wanted, f"{at}.attention.output.LayerNorm")
        hidden = self.rounded_linear(wanted, f"{at}.intermediate.dense", width, inner)
        (hidden,) = net.node("Gelu", (hidden,), own=True)
        out = self.rounded_linear(hidden, f"{at}.output.dense", inner, width)
        return self.norm(out, wanted, f"{at}.output.LayerNorm")

    def attention(self, wanted: str, states: str, at: str) -> str:
        """(b, p, d) what the heads gather from all states."""
        net, width = self.net, self.shape.width
        every = self.rounded(states, at)
        some = every if wanted == states else self.rounded(wanted, at)
        query, key, value = (
            self.linear(read, f"{at}.{name}", width, width)
            for name, read in (("query", some), ("key", every), ("value", every))
        )
        return net.node("MultiHeadAttention", (query, key, value), own=True, num_heads=self.shape.heads)[0]

    def rounded(self, states: str, name: str) -> str:
        """The input of a linear layer; in whole numbers if the network is quantised."""
        if not self.variant.quantised:
            return states
        width = (
            self.shape.inner
            if name.endswith(".output.dense") and "attention" not in name
            else self.shape.width
        )
        smooth = self.net.weight(f"{name}.smooth", "float32", (width,))
        (states,) = self.net.node("Mul", (states, smooth))
        scale = self.net.weight(f"{name}.scale", "float32", ())
        zero = self.net.weight(f"{name}.zero", "uint8", ())
        return self.net.node("QuantizeLinear", (states, scale, zero))[0]

    def rounded_linear(self, states: str, name: str, inputs: int, outputs: int) -> str:
        """A linear map of states that no other map reads."""
        return self.linear(self.rounded(states, name), name, inputs, outputs)

    def linear(self, states: str, name: str, inputs: int, outputs: int) -> str:
        """A linear map with its bias."""
        net = self.net
        bias = net.weight(f"{name}.bias", "float32", (outputs,))
        if not self.variant.quantised:
            weight = net.weight(f"{name}.weight", "float32", (inputs, outputs))
            (product,) = net.node("MatMul", (states, weight))
            return net.node("Add", (product, bias))[0]
        read = name.rpartition(".")[0] if ".self." in name else name
        weight = net.weight(f"{name}.weight", "int8", (inputs, outputs))
        scales = net.weight(f"{name}.scales", "float32", (outputs,))
        parts = (states, weight, f"{read}.scale", scales, f"{read}.zero", "", bias)
        return net.node("MatMulIntegerToFloat", parts, own=True)[0]
