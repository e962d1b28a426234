"""The signals of `turnwise`: what networks read, heads, neighbours, cosines and counts, as named columns of a table.

The sign of some signals depends on the kind of dialogue. After a single turn, many new content words suggest that the
reply misses the point; late in a dialogue, that it is not empty. So there are interaction columns: some signals times
the (log) number of turns and times the (log) length of the last turn.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import TextEncoder, Vectors
from turnwise.encode.models.folder import Folder
from turnwise.encode.truncation import add_truncations
from turnwise.errors import UsageError
from turnwise.metrics.learned.contrastive.head import Head, head_input, head_of
from turnwise.metrics.learned.encoded_items import EncodedItem, encode_items
from turnwise.metrics.learned.trained import shipped_model
from turnwise.metrics.learned.turnwise import exchange_index
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.reader import ReplyReader, Text, readers_of
from turnwise.metrics.learned.turnwise.text_features import text_features
from turnwise.networks.replies.pairs import WORDS
from turnwise.types import Floats, Item, digest

COSINES = ("cosine last", "cosine before", "cosine best", "cosine mean")
INTERACTING = (  # signals that have interaction columns
    "new content", "fluency 3", "odds 3", "variety", "self first", "length", "rarity", "letters", "repeated pairs",
    "copied", "echo of last", "cosine last", "cosine mean", "head one", "head several", "head written",
)  # fmt: skip
NATURAL = "natural"  # see `natural`
INFORMED = "informed"  # a column of the large reader, of networks/replies/columns.py, which needs torch
OF_NATURAL = ("log p(right)", "log p(copy)", "log p(salad)")  # its arguments
# The ridge regression shrinks the weights of these signals towards this value instead of 0, in standard deviations of
# the rating per standard deviation of the signal. The first two agree with ratings by themselves. The others are
# against frauds: few rated replies are copies, salads or fit anywhere, so ratings alone say little of them.
TRUSTED = ("log p(right)", "score", NATURAL, INFORMED)
PRIOR_WEIGHT = 0.1
PENALTY = 1000.0  # of the ridge regression
CUT = 3.0  # standard deviations at which signals are cut off
# Of the interacting columns: about their means over the rated corpora.
CENTRES = {"turns": 1.1, "length of last": 2.3}


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """What the signals are computed with: readers of replies, heads, an index of exchanges and a lexicon."""

    heads: Mapping[str, Head]
    exchanges: exchange_index.ExchangeIndex
    lexicon: Lexicon
    readers: tuple[ReplyReader, ...] = ()

    @classmethod
    def load(cls, model: Folder) -> "Signals":
        """The readers, the heads, the index and the lexicon of a model."""
        source = signals_folder(model)
        heads = {name: head_of(source, name) for name in source.config["heads"]}
        exchanges = exchange_index.ExchangeIndex.load(source.tensors)
        return cls(heads, exchanges, Lexicon.load(source.tensors), readers_of(model))

    def row(self, item: EncodedItem) -> dict[str, float]:
        """The value of every column but the readers': head logits, neighbours, cosines, text features, interactions."""
        row = self._logits(item)
        near_turn = self.exchanges.near_turn(item.context[0])
        neighbours = self.exchanges.signals(near_turn, item.reply).tolist()
        row |= zip(exchange_index.NAMES, neighbours, strict=True)
        row |= zip(COSINES, _cosines(item), strict=True)
        row |= text_features(item.reply_text, item.context_texts, self.lexicon)
        for by, centre in CENTRES.items():
            row |= {f"{name} x {by}": row[name] * (row[by] - centre) for name in INTERACTING if name in row}
        return row

    def _logits(self, item: EncodedItem) -> dict[str, float]:
        """The logits of the heads; heads that read the context in the same way share their input."""
        inputs: dict[object, Vectors] = {}
        logits = {}
        for name, head in self.heads.items():
            key = (head.turns, head.decay) if head.gates is None else name
            if key not in inputs:
                inputs[key] = head_input(head.context(item.context), item.reply)
            logits[f"head {name}"] = head.of_input(inputs[key])
        return logits

    def table(
        self, items: Sequence[Item], encoder: TextEncoder, columns: Sequence[str] | None = None
    ) -> Floats:
        """(n, k) the signals of the items, in the order of `columns` (None: all).

        NaN for an item that cannot be encoded.
        """
        names = list(columns) if columns is not None else self.columns
        table = np.full((len(items), len(names)), np.nan)
        encoded = {
            number: item for number, item in enumerate(encode_items(items, encoder)) if item is not None
        }
        read = self._read(list(encoded.values()), set(names))
        # Replies to the same turn together, whose neighbours are then kept.
        for number, item in sorted(encoded.items(), key=lambda one: (one[1].context_texts[0], one[0])):
            row = self.row(item) | read.get((item.reply_text, item.context_texts), {})
            table[number] = [row[name] for name in names]
        return table

    def _read(self, items: Sequence[EncodedItem], wanted: set[str]) -> dict[Text, dict[str, float]]:
        """The readers' columns of each reply in its context, as far as they are wanted.

        Replies of more words than are read are counted.
        """
        texts = list(dict.fromkeys((item.reply_text, item.context_texts) for item in items))
        found: dict[Text, dict[str, float]] = {text: {} for text in texts}
        chosen = [reader for reader in self.readers if not wanted.isdisjoint(self._names(reader))]
        if chosen:
            add_truncations(sum(len(reply.split()) > WORDS for reply in {reply for reply, _ in texts}))
        for reader in chosen:
            names = self._names(reader)
            for text, row in zip(texts, reader.table(texts).tolist(), strict=True):
                read = dict(zip(reader.columns, row, strict=True))
                row.append(float(natural(*(read[name] for name in OF_NATURAL))))
                found[text] |= zip(names, row, strict=True)
        return found

    def _names(self, reader: ReplyReader) -> list[str]:
        """The names of a reader's signals. Those of a second reader begin with its size."""
        prefix = "" if reader is self.readers[0] else f"{reader.folder.config['size']} "
        return [f"{prefix}{name}" for name in (*reader.columns, NATURAL)]

    @property
    def columns(self) -> list[str]:
        """The names of all columns: the readers', and those of the row of a made-up item."""
        width = len(self.exchanges.mean)
        item = EncodedItem(np.ones(width, np.float32), np.ones((1, width), np.float32), ("a",), "a")
        return [*(name for reader in self.readers for name in self._names(reader)), *self.row(item)]


def natural(right: Floats, copy: Floats, salad: Floats) -> Floats:
    """-log(1 + odds) of a copy or a word salad against the right reply: about 0 for a natural reply, else below 0.

    All arguments are log probabilities.
    """
    return -np.logaddexp(0.0, np.logaddexp(copy, salad) - right)


def prior(columns: Sequence[str]) -> Floats:
    """(k,) the weights that the ridge regression shrinks towards: `PRIOR_WEIGHT` for the trusted columns, else 0."""
    return np.array([PRIOR_WEIGHT if name in TRUSTED else 0.0 for name in columns])


def _cosines(item: EncodedItem) -> list[float]:
    """Cosines of the reply with the last turn, the turn before it, the most similar turn, and the mean over turns.

    With one turn of context, the second is that of the last turn.
    """
    lengths = np.sqrt(np.einsum("td,td->t", item.context, item.context) * (item.reply @ item.reply))
    cosines = np.einsum("td,d->t", item.context, item.reply) / np.maximum(lengths, 1e-9)
    before = cosines[1] if len(cosines) > 1 else cosines[0]
    return [float(cosines[0]), float(before), float(cosines.max()), float(cosines.mean())]


def signals_folder(model: Folder) -> Folder:
    """The folder with the heads, the index and the lexicon of a model: its own, or that of the shipped `turnwise`.

    Raises `UsageError` if those of this version are not the ones that the model was trained with.
    """
    if "heads" in model.config:
        return model
    source = shipped_model("turnwise")
    if (now := signals_digest(source)) != model.config["signals"]:
        raise UsageError(
            f"{model.path} was trained with the signals {model.config['signals']}, and this version has {now}; "
            "train it anew"
        )
    return source


def signals_digest(model: Folder) -> str:
    """A hash of the heads, the index and the lexicon of a folder."""
    parts = [f"{name} {digest(array)}" for name, array in sorted(signal_tensors(model).items())]
    return digest(json.dumps(model.config["heads"], sort_keys=True), *parts)


def signal_tensors(model: Folder) -> dict[str, NDArray[Any]]:
    """The tensors of a folder that the signals need, which calibration does not change."""
    if "heads" not in model.config:
        return {}
    prefixes = (*(f"{name}." for name in model.config["heads"]), "bank.", "words.")
    return {key: value for key, value in model.tensors.items() if key.startswith(prefixes)}
