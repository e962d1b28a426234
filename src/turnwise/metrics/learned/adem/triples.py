"""What ADEM reads: the vectors of a context, a reference and a reply, by any encoder.

The hierarchical encoder (VHRED, HRED, dual) has a vector for a whole context, and for a reply as a context of one
turn. Every other encoder reads single texts, which are made `plain` first, and a context is the mean of its turns,
each older one weighing half as much as the next newer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import Cache, TextEncoder, Vectors
from turnwise.encode.models.folder import Folder, is_trained, load, read_config
from turnwise.encode.text.normalise import plain
from turnwise.errors import UsageError
from turnwise.metrics import models
from turnwise.metrics.learned.contrastive.head import mean_context
from turnwise.metrics.learned.views import TURNS, turn_vectors
from turnwise.types import Floats, Item, Signature

if TYPE_CHECKING:
    from turnwise.networks.characters import Characters
    from turnwise.networks.hred.encoder import Hierarchical

DECAY = 0.5
PREFIX = "encoder."  # of an encoder's tensors inside a model's folder


class Reader(Protocol):
    @property
    def signature(self) -> Signature: ...

    def contexts(self, told: Sequence[Sequence[str]], /) -> Vectors:
        """(n, d): a vector for each list of turns, oldest first; NaN where it has none."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    encoder: TextEncoder

    @property
    def signature(self) -> Signature:
        return self.encoder.signature

    def contexts(self, told: Sequence[Sequence[str]], /) -> Vectors:
        known = [[words for text in turns if (words := plain(text))][-TURNS:] for turns in told]
        groups = turn_vectors(known, self.encoder)
        found = np.full((len(told), self.encoder.dimension), np.nan, dtype=np.float32)
        for row, group in zip(found, groups, strict=True):
            if len(group):
                row[:] = mean_context(group[::-1], DECAY)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Deep:
    encoder: "Hierarchical | Characters"

    @property
    def signature(self) -> Signature:
        return self.encoder.signature

    def contexts(self, told: Sequence[Sequence[str]], /) -> Vectors:
        spoken = [tuple(text for text in turns if text.strip()) for turns in told]
        if not spoken:
            return np.zeros((0, self.encoder.dimension), dtype=np.float32)

        def make(places: list[int]) -> Sequence[Vectors]:
            return list(self.encoder.encode([spoken[place] for place in places]))

        return np.stack(Cache().remember(str(self.signature), spoken, make))


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    sides: Mapping[str, Floats]  # context and reference: (n, d), NaN where there is none
    reply: Floats  # (n, d)

    @classmethod
    def of(cls, items: Sequence[Item], reader: Reader) -> "Triples":
        references = [[text for text in item.references if text.strip()] for item in items]
        told = [[turn.text for turn in item.context] for item in items]
        told += [[item.reply] for item in items]
        told += [[text] for texts in references for text in texts]
        vectors = reader.contexts(told).astype(np.float64)
        n = len(items)
        kept = np.full((n, vectors.shape[1]), np.nan)
        start = 2 * n
        for row, texts in zip(kept, references, strict=True):
            several = vectors[start : start + len(texts)]
            start += len(texts)
            if (there := np.isfinite(several).all(axis=1)).any():
                row[:] = several[there].mean(axis=0)
        return cls({"context": vectors[:n], "reference": kept}, vectors[n : 2 * n])

    def there(self, sides: Sequence[str]) -> NDArray[np.bool_]:
        """(n,) which have the reply and these sides."""
        parts = [self.reply, *(self.sides[side] for side in sides)]
        return np.asarray(np.all([np.isfinite(part).all(axis=1) for part in parts], axis=0))

    def take(self, rows: NDArray[Any]) -> "Triples":
        return Triples({side: vectors[rows] for side, vectors in self.sides.items()}, self.reply[rows])


@cache
def reader_named(spec: str) -> Reader:
    """By the name of an encoder, or the folder of one that `turnwise train` wrote."""
    path = Path(spec)
    if not (path.is_dir() and is_trained(path)):
        return Flat(models.text_encoder(spec))
    return _trained(load(path, read_config(path)["kind"]))


def _trained(stored: Folder) -> Reader:
    from turnwise.networks import characters
    from turnwise.networks.hred import encoder as hierarchical

    if stored.kind == characters.KIND:
        return Deep(characters.Characters.of(stored))
    if stored.kind in hierarchical.KINDS:
        return Deep(hierarchical.Hierarchical.of(stored))
    kinds = ", ".join((*hierarchical.KINDS, characters.KIND))
    raise UsageError(f"{stored.path} holds a model of kind `{stored.kind}`, and an encoder is one of {kinds}")


def packed(spec: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a model's folder keeps of its encoder: a name; of a trained one all of it, so that it can be moved."""
    about: dict[str, Any] = {"name": spec, "signature": str(reader_named(spec).signature)}
    path = Path(spec)
    if not (path.is_dir() and is_trained(path)):
        return about, {}
    stored = load(path, read_config(path)["kind"])
    config = {key: value for key, value in stored.config.items() if key != "replies"}  # those are an agent's
    about |= {"name": path.name, "kind": stored.kind, "config": config, "digest": stored.digest}
    return about, {name: part for name, part in stored.tensors.items() if name.startswith(PREFIX)}


@cache
def reader_of(model: Folder) -> Reader:
    """The encoder that the model was trained on. Vectors of any other would be noise to it."""
    about = model.config["encoder"]
    if "kind" in about:
        kept = {name: part for name, part in model.tensors.items() if name.startswith(PREFIX)}
        return _trained(
            replace(model, kind=about["kind"], config=about["config"], digest=about["digest"], tensors=kept)
        )
    found = reader_named(about["name"])
    if (now := str(found.signature)) != about["signature"]:
        raise UsageError(
            f"{model.path} was trained on vectors of {about['signature']}, and `{about['name']}` is {now} here; "
            "train it anew"
        )
    return found
