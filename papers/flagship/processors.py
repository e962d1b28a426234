"""`python -m papers.flagship.processors DATA [COUNT]`: how far another processor can move the columns of whole numbers.

Products of whole numbers are exact everywhere. What is between them (norms, attention, GELU) is float32, whose last
digits depend on the processor; a number that lies between two steps can then be rounded to the other one. The same
network is computed here by numpy with these parts in float64, which stands for any other order of additions, and
compared with ONNX Runtime on COUNT rated replies (100) of `grade`. Prints the mean and the largest difference of a
column in standard deviations. The second line is for weights of 8 bits on a processor that adds pairs of products in 16
bits, where sums are cut off.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from papers.rated_corpora import rated
from turnwise.encode.graph import whole_numbers
from turnwise.encode.graph.bert import WORD_VECTORS, Shape
from turnwise.encode.graph.session import BertSession, turned
from turnwise.encode.graph.whole_numbers import Ranges, quantised
from turnwise.encode.models.catalogue import locate
from turnwise.encode.models.folder import load, shipped
from turnwise.metrics.learned.encoded_items import reply_and_context
from turnwise.networks.replies.small_reader import SmallReader

Array = NDArray[Any]


class ByNumpy:
    """A quantised BERT with all that is not a whole number in float64."""

    def __init__(self, shape: Shape, weights: dict[str, Array], *, narrow: bool) -> None:
        self.shape, self.of, self.narrow = shape, weights, narrow

    def states(self, ids: Array, kinds: Array, *, picked: Array) -> Array:
        of = self.of
        states = of["embeddings.word_embeddings.weight"][ids].astype(np.float64)
        states += of["embeddings.token_type_embeddings.weight"][kinds]
        states += of["embeddings.position_embeddings.weight"][: ids.shape[1]]
        states = self.norm(states, "embeddings.LayerNorm")
        for layer in range(self.shape.layers):
            wanted = states[:, picked] if layer == self.shape.layers - 1 else states
            states = self.layer(wanted, states, f"encoder.layer.{layer}")
        return states.astype(np.float32)

    def layer(self, wanted: Array, states: Array, at: str) -> Array:
        seen = self.attention(wanted, states, f"{at}.attention.self")
        name = f"{at}.attention.output"
        wanted = self.norm(wanted + self.linear(seen, f"{name}.dense", f"{name}.dense"), f"{name}.LayerNorm")
        inner = self.linear(wanted, f"{at}.intermediate.dense", f"{at}.intermediate.dense")
        inner = 0.5 * inner * (1 + erf(inner / np.sqrt(2)))
        out = self.linear(inner, f"{at}.output.dense", f"{at}.output.dense")
        return self.norm(wanted + out, f"{at}.output.LayerNorm")

    def attention(self, wanted: Array, states: Array, at: str) -> Array:
        heads = self.shape.heads
        query, key, value = (
            self.linear(read, f"{at}.{name}", at).reshape(*read.shape[:2], heads, -1).transpose(0, 2, 1, 3)
            for name, read in (("query", wanted), ("key", states), ("value", states))
        )
        scores = query @ key.swapaxes(2, 3) / np.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = shares / shares.sum(axis=-1, keepdims=True) @ value
        return np.asarray(seen.transpose(0, 2, 1, 3).reshape(wanted.shape))

    def linear(self, x: Array, name: str, read: str) -> Array:
        of = self.of
        scale, zero = float(of[f"{read}.scale"]), int(of[f"{read}.zero"])
        smooth = x.astype(np.float32) * of[f"{read}.smooth"]
        codes = np.clip(np.rint(smooth / np.float32(scale)) + zero, 0, 255)
        weight = of[f"{name}.weight"].astype(np.float64)
        if self.narrow:
            product = np.zeros((*x.shape[:2], weight.shape[1]))
            for first in range(0, len(weight), 2):
                pair = codes[..., first : first + 2] @ weight[first : first + 2]
                product += np.clip(pair, -(2**15), 2**15 - 1)
        else:
            product = codes @ weight
        whole = product - zero * weight.sum(axis=0)
        return np.asarray(whole * (scale * of[f"{name}.scales"].astype(np.float64)) + of[f"{name}.bias"])

    def norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.shape.epsilon)
        return np.asarray(centred / spread * self.of[f"{name}.weight"] + self.of[f"{name}.bias"])


def main() -> None:
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    items = next(group.items for group in rated(Path(sys.argv[1])) if group.name == "grade convai2")
    texts = [text for item in items if (text := reply_and_context(item))][:count]
    stored = load(shipped("reader-small") or "", "reader-small")
    ranges = Ranges.load(load(shipped("reader-small-int8") or "", "reader-small-int8").tensors)
    reader = SmallReader(stored, locate("minilm"), "int8")
    session = reader.bert
    if not isinstance(session, BertSession):
        raise SystemExit("needs ONNX Runtime")
    float32 = SmallReader(stored, locate("minilm"), "fp32").bert
    if not isinstance(float32, BertSession):
        raise SystemExit("needs ONNX Runtime")
    rows = {**float32.weights, WORD_VECTORS: float32.words}
    for bits, narrow in ((7, False), (8, True)):
        whole_numbers.LARGEST = 2 ** (bits - 1) - 1
        reader.bert = BertSession(
            session.shape, {name: turned(name, one) for name, one in rows.items()}, ranges
        )
        here = reader.read(texts)
        reader.bert = ByNumpy(session.shape, quantised(rows, ranges, session.shape), narrow=narrow)
        gap = np.abs(reader.read(texts) - here) / reader.spread
        print(f"weights of {bits} bits: mean {gap.mean():.5f}, largest {gap.max():.4f}, {len(texts)} replies")


if __name__ == "__main__":
    main()
