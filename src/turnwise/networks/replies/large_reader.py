"""The large reader of replies: SmolLM2 with adapters of rank 32 (16 if trained on free text), computed by torch.

It is the mean of three trainings, cut to this rank, which agrees better with people than any of the three. It reads a
reply twice, with its context and without. It is stored as 4-bit differences from the model of the catalogue that it
starts from. Inputs are normalised texts. The numbers are those of float32 on every machine: with bfloat16 a score
would differ between processors by more than a thousandth of a standard deviation.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from turnwise.encode.models.differences import unpack
from turnwise.encode.models.folder import Folder
from turnwise.networks.replies.columns import Group, batches, columns
from turnwise.networks.replies.llama import Llama, Shape
from turnwise.networks.replies.reply_model import ReplyModel
from turnwise.networks.replies.words import Words
from turnwise.types import Floats

BUDGET = 2048  # tokens of a batch
REPLIES = 12  # replies to the same context that share one sequence: attention grows with its square
Text = tuple[str, tuple[str, ...]]  # normalised reply, and turns of the context, newest first


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
        self.words = Words(base, " ")

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
