"""The input of ADEM: the vectors of a context, a reference and a reply, by any encoder.

The hierarchical encoders (VHRED, HRED, dual) encode a whole context; a reply is a context of one turn. All other
encoders encode single texts, which are normalised first. The vector of a context is then the weighted mean of its
turns, in which each older turn has half the weight of the next newer one.
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
from turnwise.metrics.learned.encoded_items import TURNS, turn_vectors
from turnwise.types import Floats, Item, Signature

if TYPE_CHECKING:
    from turnwise.networks.characters import Characters
    from turnwise.networks.hred.encoder import Hierarchical

DECAY = 0.5  # weight of a turn relative to the next newer one
PREFIX = "encoder."  # prefix of the names of an encoder's tensors in a model's folder


class ContextEncoder(Protocol):
    """An encoder of lists of turns, with a signature."""

    @property
    def signature(self) -> Signature:
        """What must be equal for two vectors to be comparable."""
        ...

    def contexts(self, contexts: Sequence[Sequence[str]], /) -> Vectors:
        """(n, d) a vector for each list of turns, oldest first; NaN for a list without a known word."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class MeanOfTurns:
    """Encodes a context as the weighted mean of its turns' vectors."""

    encoder: TextEncoder

    @property
    def signature(self) -> Signature:
        """The signature of the encoder of single texts."""
        return self.encoder.signature

    def contexts(self, contexts: Sequence[Sequence[str]], /) -> Vectors:
        """(n, d) the weighted mean of the last 6 turns with words, newest weighted most; NaN without such a turn."""
        turns = [[text for turn in context if (text := plain(turn))][-TURNS:] for context in contexts]
        groups = turn_vectors(turns, self.encoder)
        vectors = np.full((len(contexts), self.encoder.dimension), np.nan, dtype=np.float32)
        for vector, group in zip(vectors, groups, strict=True):
            if len(group):
                vector[:] = mean_context(group[::-1], DECAY)
        return vectors


@dataclass(frozen=True, slots=True, eq=False)
class WholeContext:
    """Encodes a context with a trained encoder of whole contexts; vectors are cached."""

    encoder: "Hierarchical | Characters"

    @property
    def signature(self) -> Signature:
        """The signature of the trained encoder."""
        return self.encoder.signature

    def contexts(self, contexts: Sequence[Sequence[str]], /) -> Vectors:
        """(n, d) the encoder's vector of each list of turns, without blank turns; (0, d) for no lists."""
        turns = [tuple(turn for turn in context if turn.strip()) for context in contexts]
        if not turns:
            return np.zeros((0, self.encoder.dimension), dtype=np.float32)

        def make(missing: list[int]) -> Sequence[Vectors]:
            """The vectors of the contexts at these indices, which the cache does not have."""
            return list(self.encoder.encode([turns[index] for index in missing]))

        return np.stack(Cache().remember(str(self.signature), turns, make))


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """The vectors of n contexts, references and replies."""

    sides: Mapping[str, Floats]  # context and reference: (n, d), NaN for a missing one
    reply: Floats  # (n, d)

    @classmethod
    def of(cls, items: Sequence[Item], encoder: ContextEncoder) -> "Triples":
        """Encode the items; the vector of several references is their mean. NaN where there is no known word."""
        references = [[text for text in item.references if text.strip()] for item in items]
        contexts = [[turn.text for turn in item.context] for item in items]
        contexts += [[item.reply] for item in items]
        contexts += [[text] for texts in references for text in texts]
        vectors = encoder.contexts(contexts).astype(np.float64)
        n = len(items)
        of_references = np.full((n, vectors.shape[1]), np.nan)
        start = 2 * n
        for row, texts in zip(of_references, references, strict=True):
            several = vectors[start : start + len(texts)]
            start += len(texts)
            if (known := np.isfinite(several).all(axis=1)).any():
                row[:] = several[known].mean(axis=0)
        return cls({"context": vectors[:n], "reference": of_references}, vectors[n : 2 * n])

    def complete(self, sides: Sequence[str]) -> NDArray[np.bool_]:
        """(n,) mask of the items that have vectors of the reply and of these sides."""
        parts = [self.reply, *(self.sides[side] for side in sides)]
        return np.asarray(np.all([np.isfinite(part).all(axis=1) for part in parts], axis=0))

    def take(self, rows: NDArray[Any]) -> "Triples":
        """The triples at these indices."""
        return Triples({side: vectors[rows] for side, vectors in self.sides.items()}, self.reply[rows])


@cache
def context_encoder(spec: str) -> ContextEncoder:
    """The encoder of this name, or from a folder that `turnwise train` wrote; loaded once."""
    path = Path(spec)
    if not (path.is_dir() and is_trained(path)):
        return MeanOfTurns(models.text_encoder(spec))
    return _encoder_in_folder(load(path, read_config(path)["kind"]))


def _encoder_in_folder(stored: Folder) -> ContextEncoder:
    """The encoder in a loaded folder; `UsageError` if the folder has another kind of model."""
    from turnwise.networks import characters
    from turnwise.networks.hred import encoder as hierarchical

    if stored.kind == characters.KIND:
        return WholeContext(characters.Characters.of(stored))
    if stored.kind in hierarchical.KINDS:
        return WholeContext(hierarchical.Hierarchical.of(stored))
    kinds = ", ".join((*hierarchical.KINDS, characters.KIND))
    raise UsageError(f"{stored.path} holds a model of kind `{stored.kind}`, and an encoder is one of {kinds}")


def stored_encoder(spec: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The entry `encoder` of a model's config, and the encoder's tensors.

    Of a trained encoder the model's folder has a full copy, so that it can be moved; of others only the name.
    """
    about: dict[str, Any] = {"name": spec, "signature": str(context_encoder(spec).signature)}
    path = Path(spec)
    if not (path.is_dir() and is_trained(path)):
        return about, {}
    stored = load(path, read_config(path)["kind"])
    config = {key: value for key, value in stored.config.items() if key != "replies"}  # those are an agent's
    about |= {"name": path.name, "kind": stored.kind, "config": config, "digest": stored.digest}
    return about, {name: part for name, part in stored.tensors.items() if name.startswith(PREFIX)}


@cache
def trained_context_encoder(model: Folder) -> ContextEncoder:
    """The encoder that the model was trained with; raises `UsageError` if the one installed here is another."""
    about = model.config["encoder"]
    if "kind" in about:
        kept = {name: part for name, part in model.tensors.items() if name.startswith(PREFIX)}
        return _encoder_in_folder(
            replace(model, kind=about["kind"], config=about["config"], digest=about["digest"], tensors=kept)
        )
    found = context_encoder(about["name"])
    if (now := str(found.signature)) != about["signature"]:
        raise UsageError(
            f"{model.path} was trained on vectors of {about['signature']}, and `{about['name']}` is {now} here; "
            "train it anew"
        )
    return found
