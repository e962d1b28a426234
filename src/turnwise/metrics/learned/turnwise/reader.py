"""What a network reads in a reply, kept on disk; the network is loaded only for replies that are not in the cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.cache.disk import Cache
from turnwise.encode.models.catalogue import label, locate
from turnwise.encode.models.folder import Folder
from turnwise.encode.transformer.plain_bert import shipped_ranges
from turnwise.encode.transformer.precision import Chosen, cache_space, default_device, runs_graphs
from turnwise.errors import MissingExtra, UsageError
from turnwise.extras import require
from turnwise.metrics.learned.trained import load_trained
from turnwise.types import Floats, Signature

Text = tuple[str, tuple[str, ...]]  # normalised reply, and turns of the context, newest first
Array = NDArray[Any]
PART = {
    "small": 2048,
    "large": 256,
}  # replies that are read before they are stored: half a minute of work or less


class Network(Protocol):
    """Reads replies in their contexts."""

    def read(self, texts: Sequence[Text], /) -> Floats:
        """(n, k) the columns of each reply."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ReplyReader:
    """A shipped reader of replies, computed in float32 or in whole numbers."""

    folder: Folder
    precision: Chosen = "fp32"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.folder.config["columns"])

    @property
    def signature(self) -> Signature:
        """The digest of its weights, the model that they are a difference from, and the ranges of whole numbers."""
        base = label(self.folder.config["base"])
        fields = [("weights", self.folder.digest), ("base", base)]
        if self.precision == "int8":
            fields.append(("precision", f"int8@{self._ranges}"))
        return Signature(self.folder.kind, tuple(fields))

    def check(self) -> None:
        """Raise `MissingExtra` or `NotFetched` if replies cannot be read here."""
        if self.precision == "int8" and not runs_graphs():
            raise MissingExtra(f"`{self.folder.kind}` in whole numbers", "models")
        _needed(self.folder)

    @property
    def _ranges(self) -> str:
        """The digest of the ranges that ship; a `UsageError` if they were measured on other weights."""
        stored = shipped_ranges(self.folder.kind)
        if stored is None or stored.of != self.folder.digest:
            raise UsageError(f"{self.folder.path} has no ranges for whole numbers: precision=fp32")
        return stored.digest

    def table(self, texts: Sequence[Text]) -> Floats:
        """(n, k) the columns of each (normalised reply, turns of the context, newest first)."""
        cache, size = Cache(), PART[self.folder.config["size"]]
        space = str(self.signature)
        if self.folder.config["size"] == "small":
            space = cache_space(space, self.precision, default_device())
        rows: list[Array] = []
        for start in range(0, len(texts), size):
            rows += cache.remember(space, *self._part(texts[start : start + size]))
        return np.array(rows, dtype=np.float64).reshape(len(texts), len(self.columns))

    def _part(
        self, texts: Sequence[Text]
    ) -> tuple[list[tuple[str, ...]], Callable[[list[int]], list[Array]]]:
        """The names of some texts in the cache, and how their rows are computed."""

        def read(chosen: list[int]) -> list[Array]:
            return list(
                _network(self.folder, self.precision).read([texts[at] for at in chosen]).astype(np.float32)
            )

        return [(reply, *context) for reply, context in texts], read


def readers_of(model: Folder) -> tuple[ReplyReader, ...]:
    """The readers that a model was trained with; none for a model of the first edition.

    Raises `UsageError` if one of this version of the package is another.
    """
    older = model.config.get("reader")  # models of one reader, before there were two
    stated = model.config.get("readers", [] if older is None else [older])
    readers = tuple(
        ReplyReader(load_trained(one["name"], ""), one.get("precision", "fp32")) for one in stated
    )
    for one, reader in zip(stated, readers, strict=True):
        if str(reader.signature) != one["signature"]:
            raise UsageError(
                f"{model.path} was trained with {one['signature']}, and this version has {reader.signature}; "
                "train it anew"
            )
    return readers


def _needed(folder: Folder) -> Path:
    """The folder of the model that a reader is a difference from; raises if it or a package is missing."""
    require("models" if folder.config["size"] == "small" else "neural", f"`{folder.kind}`")
    return locate(folder.config["base"])


@cache
def _network(folder: Folder, precision: Chosen) -> Network:
    """The network of a reader, loaded once."""
    base = _needed(folder)
    if folder.config["size"] == "small":
        from turnwise.networks.replies.small_reader import SmallReader

        return SmallReader(folder, base, precision)
    from turnwise.encode.neural.loading import default_device
    from turnwise.networks.replies.large_reader import LargeReader

    return LargeReader(folder, base, default_device())
