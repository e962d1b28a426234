"""`python -m papers.flagship.ranges DATA`: the ranges with which the small reader and MiniLM compute in whole numbers.

The smallest and the largest of each component of the inputs of linear layers, over 1,200 replies in their contexts of
each of ten corpora, none of which is rated. A tenth of the replies are their own words in disorder, and a tenth copies
of the last turn, because the metric reads such frauds too. Nothing is clipped: outliers matter. Writes the folders
`reader-small-int8` and `minilm-int8` of the package. Needs `turnwise fetch minilm`; takes four minutes of a core.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.flagship.prepare import dialogues
from papers.flagship.ship import MODELS
from turnwise.encode.batches import by_shape
from turnwise.encode.graph.bert import WORD_VECTORS, Shape, Variant, Writer
from turnwise.encode.graph.session import session, turned
from turnwise.encode.graph.whole_numbers import Ranges
from turnwise.encode.models import folder
from turnwise.encode.models.catalogue import label, locate
from turnwise.encode.models.differences import unpack
from turnwise.encode.text.normalise import plain
from turnwise.encode.transformer.bert_folder import plain_shape, read_bert_tokenizer, read_weights
from turnwise.metrics.learned.encoded_items import TURNS
from turnwise.networks.replies.pairs import pair_tokens
from turnwise.networks.replies.words import Words
from turnwise.types import Dialogue

CORPORA = ("personachat", "dailydialog", "empathetic_contexts", "chitchat_byu", "more/topical_chat", "more/cmu_dog",
           "more/commonsense_dialogues", "more/mutual", "more/self_dialogue", "multiwoz_valtest")  # fmt: skip
COUNT = 1200  # replies of each corpus
LONGEST = 256  # tokens of a text of MiniLM
BUDGET = 2048  # tokens of a batch
Array = NDArray[Any]
Inputs = tuple[list[int], int]  # tokens, and where those of the second kind begin


class Watching(Writer):
    """Writes a network that also gives the smallest and the largest of each component of linear layers' inputs."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, Variant())
        self.bounds: dict[str, tuple[str, str]] = {}

    def rounded(self, states: str, name: str) -> str:
        if name not in self.bounds:
            low, high = (
                self.net.node(kind, (states,), axes=[0, 1], keepdims=0)[0]
                for kind in ("ReduceMin", "ReduceMax")
            )
            self.bounds[name] = (low, high)
            for one in (low, high):
                self.net.output(one, "float32", ("k",))
        return states


def examples(data: Path) -> Iterator[tuple[list[str], str]]:
    """Contexts, oldest turn first, with replies."""
    rng = np.random.default_rng(0)
    for name in CORPORA:
        yield from islice(_of_corpus(dialogues(data, name), rng), COUNT)


def _of_corpus(found: Iterator[Dialogue], rng: np.random.Generator) -> Iterator[tuple[list[str], str]]:
    """One reply of each dialogue."""
    for dialogue in found:
        said = [text for text in (plain(turn.text) for turn in dialogue.turns) if text]
        if len(said) < 2:
            continue
        at = int(rng.integers(1, len(said)))
        context, reply = said[max(0, at - int(rng.integers(1, TURNS + 1))) : at], said[at]
        chance = rng.random()
        if chance < 0.1:
            reply = " ".join(rng.permutation(reply.split()))
        elif chance < 0.2:
            reply = context[-1]
        yield context, reply


def ranges(shape: Shape, weights: Mapping[str, Array], inputs: Sequence[Inputs]) -> Ranges:
    """The ranges over these inputs."""
    writer = Watching(shape)
    network = writer.written()
    running, _values = session(network, {name: turned(name, one) for name, one in weights.items()})
    wanted = [name for pair in writer.bounds.values() for name in pair]
    found: list[Array] = []
    lengths = [len(ids) for ids, _ in inputs]
    for batch in by_shape(lengths, cost=lengths, budget=BUDGET):
        ids = np.array([inputs[at][0] for at in batch], np.int64)
        kinds = (np.arange(ids.shape[1]) >= np.array([[inputs[at][1]] for at in batch])).astype(np.int64)
        given = {"words": weights[WORD_VECTORS][ids], "kinds": kinds, "places": np.arange(ids.shape[1])}
        now = running.run(wanted, given)
        pairs = [np.stack(pair) for pair in zip(now[::2], now[1::2], strict=True)]
        found = pairs if not found else [_wider(*pair) for pair in zip(found, pairs, strict=True)]
    return Ranges(dict(zip(writer.bounds, found, strict=True)))


def _wider(one: Array, other: Array) -> Array:
    """(2, k) the smaller and the larger of two pairs."""
    return np.stack([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])


def save(name: str, found: Ranges, of: str, count: int) -> None:
    """Write a folder of ranges."""
    about = {
        "data": {"text": {"corpora": list(CORPORA), "texts": count}},
        "languages": "English",
        "licence": "Apache-2.0",
        "command": "python -m papers.flagship.ranges",
    }
    made = folder.save(MODELS / name, kind=name, tensors=found.tensors, config={"of": of}, card=about)
    print(f"{name}: {count} texts, {made.digest}")


def main() -> None:
    data, base = Path(sys.argv[1]), locate("minilm")
    shape = plain_shape(base)
    tokenizer = read_bert_tokenizer(base, LONGEST)
    if shape is None or tokenizer is None:
        raise SystemExit(f"{base} is no plain BERT")
    weights = read_weights(base, shape)
    pairs = list(examples(data))
    words = Words(base, "")
    tokens = words.tokens([text for context, reply in pairs for text in (*context, reply)])
    stored = folder.load(MODELS / "reader-small", "reader-small")
    trained = {**weights, **unpack(stored.tensors, weights)}
    read = [
        (ids.tolist(), start)
        for context, reply in pairs
        for ids, start in [pair_tokens([tokens[turn] for turn in context], tokens[reply])]
    ]
    bert = {name: one for name, one in trained.items() if not name.startswith("head.")}
    save("reader-small-int8", ranges(shape, bert, read), stored.digest, len(read))
    texts = list(dict.fromkeys(text for context, reply in pairs for text in (context[-1], reply)))
    coded = [(one.ids, len(one.ids)) for one in tokenizer.encode_batch(texts)]
    save("minilm-int8", ranges(shape, weights, coded), label("minilm"), len(texts))


if __name__ == "__main__":
    main()
