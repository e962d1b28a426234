"""What a network reads in a reply, kept on disk; torch is loaded only for replies that are not in the cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.cache.disk import Cache
from turnwise.encode.models.catalogue import label, locate
from turnwise.encode.models.folder import Folder
from turnwise.errors import MissingExtra, UsageError
from turnwise.metrics.learned.trained import load_trained
from turnwise.types import Floats, Signature

if TYPE_CHECKING:
    from turnwise.networks.replies.readers import Reader

Text = tuple[str, tuple[str, ...]]  # normalised reply, and turns of the context, newest first
Array = NDArray[Any]
PART = {
    "small": 2048,
    "large": 256,
}  # replies that are read before they are stored: half a minute of work or less


@dataclass(frozen=True, slots=True, eq=False)
class ReplyReader:
    """A shipped reader of replies."""

    folder: Folder

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.folder.config["columns"])

    @property
    def signature(self) -> Signature:
        """The digest of its weights, and the model that they are a difference from."""
        base = label(self.folder.config["base"])
        return Signature(self.folder.kind, (("weights", self.folder.digest), ("base", base)))

    def table(self, texts: Sequence[Text]) -> Floats:
        """(n, k) the columns of each (normalised reply, turns of the context, newest first)."""
        space, cache, size = str(self.signature), Cache(), PART[self.folder.config["size"]]
        rows: list[Array] = []
        for start in range(0, len(texts), size):
            rows += cache.remember(space, *self._part(texts[start : start + size]))
        return np.array(rows, dtype=np.float64).reshape(len(texts), len(self.columns))

    def _part(
        self, texts: Sequence[Text]
    ) -> tuple[list[tuple[str, ...]], Callable[[list[int]], list[Array]]]:
        """The names of some texts in the cache, and how their rows are computed."""

        def read(chosen: list[int]) -> list[Array]:
            return list(_network(self.folder).read([texts[at] for at in chosen]).astype(np.float32))

        return [(reply, *context) for reply, context in texts], read


def readers_of(model: Folder) -> tuple[ReplyReader, ...]:
    """The readers that a model was trained with; none for a model of the first edition.

    Raises `UsageError` if one of this version of the package is another.
    """
    older = model.config.get("reader")  # models of one reader, before there were two
    stated = model.config.get("readers", [] if older is None else [older])
    readers = tuple(ReplyReader(load_trained(one["name"], "")) for one in stated)
    for one, reader in zip(stated, readers, strict=True):
        if str(reader.signature) != one["signature"]:
            raise UsageError(
                f"{model.path} was trained with {one['signature']}, and this version has {reader.signature}; "
                "train it anew"
            )
    return readers


@cache
def _network(folder: Folder) -> "Reader":
    """The network of a reader, loaded once."""
    base = locate(folder.config["base"])
    try:
        from turnwise.encode.neural.loading import default_device
        from turnwise.networks.replies.readers import load_reader
    except ImportError as error:
        raise MissingExtra(f"`{folder.kind}`", "neural") from error
    return load_reader(folder, base, default_device())
