"""The two readers of replies, with their shipped weights: columns of numbers about a reply in its context.

The large reader is SmolLM2 with adapters of rank 32 (16 if trained on free text): the mean of three trainings, cut to
this rank, which agrees better with people than any of the three. It reads a reply twice, with its context and without.
The small reader is MiniLM with other weights, which imitates the large one. Both are stored as 4-bit differences from
the model of the catalogue that they start from.
Inputs are normalised texts. The numbers are those of float32 on every machine: with bfloat16 a score would differ
between processors by more than a thousandth of a standard deviation.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn import functional

from turnwise.encode.batches import by_shape
from turnwise.encode.models.folder import Folder
from turnwise.encode.neural.bert import read_bert
from turnwise.encode.neural.differences import unpack
from turnwise.errors import DataError
from turnwise.networks.replies.columns import Group, batches, columns
from turnwise.networks.replies.llama import Llama, Shape
from turnwise.networks.replies.pairs import WORDS, Tokens, pair_tokens
from turnwise.networks.replies.reply_model import ReplyModel
from turnwise.types import Floats

BUDGET = 2048  # tokens of a batch
GRID = 16  # multiple to which the length of a reply is rounded up
REPLIES = 12  # replies to the same context that share one sequence: attention grows with its square
Text = tuple[str, tuple[str, ...]]  # normalised reply, and turns of the context, newest first


class Reader(Protocol):
    """Reads replies in their contexts."""

    def read(self, texts: Sequence[Text], /) -> Floats:
        """(n, k) the columns of each reply."""
        ...


def load_reader(stored: Folder, base: Path, device: str) -> Reader:
    """The reader of a folder that was trained from the model in the folder `base`."""
    if stored.config["size"] == "small":
        return SmallReader(stored, base, device)
    return LargeReader(stored, base, device)


class _Words:
    """A tokenizer without special tokens, and without a limit of its own."""

    def __init__(self, base: Path, prefix: str) -> None:
        self.tokenizer: Any = Tokenizer.from_file(str(base / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.prefix = prefix  # a byte-level tokenizer treats a word after a space as another one

    def tokens(self, texts: Sequence[str]) -> dict[str, Tokens]:
        """Text -> tokens, for every different text."""
        different = list(dict.fromkeys(texts))
        cut = [self.prefix + " ".join(text.split()[:WORDS]) for text in different]
        coded = self.tokenizer.encode_batch(cut, add_special_tokens=False)
        return {text: np.array(one.ids, np.int64) for text, one in zip(different, coded, strict=True)}


class SmallReader:
    """A cross-encoder of MiniLM's size."""

    def __init__(self, stored: Folder, base: Path, device: str) -> None:
        self.device = device
        bert = read_bert(base, layer=None, device="cpu", precision="fp32")
        if bert is None:
            raise DataError(f"{base}: is no plain BERT, which the small reader starts from")
        start = {name: one.numpy() for name, one in bert.weights.items()}
        made = {name: torch.from_numpy(one) for name, one in unpack(stored.tensors, start).items()}
        self.head = {name: one.to(device) for name, one in made.items() if name.startswith("head.")}
        bert.weights.update({name: one for name, one in made.items() if name not in self.head})
        self.bert = bert
        for name, one in bert.weights.items():
            bert.weights[name] = one.to(device)
        self.mean, self.spread = (
            np.array(stored.config[name], dtype=np.float32) for name in ("mean", "spread")
        )
        self.words = _Words(base, "")

    @torch.inference_mode()
    def read(self, texts: Sequence[Text], /) -> Floats:
        """(n, k) the columns of each reply."""
        tokens = self.words.tokens([text for reply, context in texts for text in (reply, *context)])
        pairs = [
            pair_tokens([tokens[turn] for turn in reversed(context)], tokens[reply])
            for reply, context in texts
        ]
        found = np.zeros((len(texts), len(self.mean)), np.float32)
        lengths = [len(ids) for ids, _ in pairs]
        shapes = [(len(ids), min(len(ids) - 1, _padded(len(ids) - start))) for ids, start in pairs]
        for batch in by_shape(shapes, cost=lengths, budget=BUDGET):
            ids = torch.from_numpy(np.stack([pairs[at][0] for at in batch])).to(self.device)
            starts = torch.tensor([pairs[at][1] for at in batch], device=self.device)
            kinds = (torch.arange(ids.shape[1], device=self.device) >= starts[:, None]).long()
            last = shapes[batch[0]][1]
            hidden = self.bert.states(ids, kinds, last=last)  # of the first token and of all of the reply
            inside = torch.cat([kinds[:, :1], kinds[:, -last:]], 1)[..., None].to(hidden.dtype)
            pooled = torch.cat([hidden[:, 0], (hidden * inside).sum(1) / inside.sum(1)], -1)
            inner = functional.gelu(self._linear(pooled, "inner"))
            found[batch] = self._linear(inner, "outer").cpu().numpy()
        return (found * self.spread + self.mean).astype(np.float64)

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(x, self.head[f"head.{name}.weight"], self.head[f"head.{name}.bias"])


def _padded(length: int) -> int:
    """The length of a reply rounded up, so that replies of similar lengths are read together."""
    return -(-length // GRID) * GRID


class LargeReader:
    """SmolLM2 with adapters that are merged into its weights."""

    def __init__(self, stored: Folder, base: Path, device: str) -> None:
        self.device, self.enough = device, stored.config["enough"]
        shape = Shape.of(json.loads((base / "config.json").read_text()))
        self.model = ReplyModel(
            Llama(load_file(base / "model.safetensors"), shape, rank=stored.config["rank"])
        )
        trained = unpack(stored.tensors, {})
        with torch.no_grad():
            for name, one in self.model.trainable().items():
                weights = torch.from_numpy(trained[name])
                one.copy_(weights.T if name.endswith(".up") else weights)
        self.model.float()
        self.model.llama.merge()
        self.model.eval().to(device)
        self.words = _Words(base, " ")

    def read(self, texts: Sequence[Text], /) -> Floats:
        """(n, k) the columns of each reply; replies to the same context are read together."""
        tokens = self.words.tokens([text for reply, context in texts for text in (reply, *context)])
        together: dict[tuple[str, ...], list[list[int]]] = {}
        for at, (_, context) in enumerate(texts):
            parts = together.setdefault(context, [[]])
            if len(parts[-1]) == REPLIES:
                parts.append([])
            parts[-1].append(at)
        members = [part for parts in together.values() for part in parts]
        groups: list[Group] = [
            (
                [tokens[turn] for turn in reversed(texts[part[0]][1])],
                [tokens[texts[at][0]] for at in part],
            )
            for part in members
        ]
        rows: dict[int, Floats] = {}
        for batch in batches(groups, BUDGET):
            some = [groups[at] for at in batch]
            found = columns(self.model, some, device=self.device, enough=self.enough)
            order = [at for number in batch for at in members[number]]
            rows.update(zip(order, found.astype(np.float64), strict=True))
        return np.stack([rows[at] for at in range(len(texts))])
