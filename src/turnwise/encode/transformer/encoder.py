"""Vectors of texts, tokens and pairs from any encoder that transformers can load.

A plain BERT, such as MiniLM, needs neither transformers nor torch: ONNX Runtime computes it on a processor. For any
other model, on a GPU and in bfloat16, torch is needed.

A folder that sentence-transformers wrote defines its pooling (sentence_transformers.py); that is the default and gives
the same vectors. For any other the default is the mean over all tokens of the last layer. `layer` counts blocks from 1;
the blocks above it are not computed. The end of a text that is too long is cut, and the number of such texts is
reported (truncation.py); `cut` counts them. With `kept="fp16"` vectors are rounded to half precision, from the cache or
not: half the disk space, and each number is exact to one part in 2,048; the signature includes it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.batches import by_shape, distinct
from turnwise.encode.cache.disk import Cache
from turnwise.encode.encoder import Tokens, Vectors
from turnwise.encode.graph.bert import Shape
from turnwise.encode.transformer.bert_folder import (
    plain_shape,
    read_bert_tokenizer,
    read_weights,
    stated_config,
    stated_limit,
)
from turnwise.encode.transformer.plain_bert import PlainBert, ShippedRanges, open_bert, shipped_ranges
from turnwise.encode.transformer.pooling import POOLINGS, Pooling, pool, unit
from turnwise.encode.transformer.precision import Chosen, Precision, cache_space, default_device, resolve
from turnwise.encode.transformer.sentence_transformers import (
    stated_length,
    stated_pooling,
    states_unit_length,
)
from turnwise.encode.truncation import report_truncation
from turnwise.errors import UsageError
from turnwise.types import Signature

Text = str | tuple[str, str]  # a text, or a query and its reply in one input
_MARKS = 8  # largest number of special tokens added to a text
_LONGEST = 4096  # largest number of tokens, if the model states none


@dataclass(frozen=True)
class Transformer:
    """An encoder of texts, tokens and pairs by any transformers model. None in a setting is the model's own."""

    folder: Path
    label: str  # name@hash
    layer: int | None = None  # None: the model's output
    pooling: Pooling | None = None  # None: the model's own
    normalise: bool | None = None
    max_length: int | None = None
    precision: Precision = "auto"
    device: str | None = None  # None: a GPU if there is one
    budget: int = 2048  # tokens in a batch: 512 to 4096 took the same time on a CPU
    kept: Literal["fp32", "fp16"] = "fp32"
    cache: Cache | None = None

    def __post_init__(self) -> None:
        if self.pooling is not None and self.pooling not in POOLINGS:
            raise UsageError(f"there is no pooling `{self.pooling}`; there are {', '.join(POOLINGS)}")
        if self.pooling == "cls" and self._plain is None and self._reads_forward:
            raise UsageError(
                f"{self.label} reads from left to right, and its first token sees nothing of a text: pooling=last"
            )
        if self.layer is not None and not 1 <= self.layer <= self._layers:
            raise UsageError(f"{self.label} has layers 1 to {self._layers}, not {self.layer}")
        if self.precision == "int8" and (self.layer is not None or self._ranges is None):
            raise UsageError(f"{self.label} has no ranges for whole numbers: precision=fp32")

    @cached_property
    def config(self) -> Any:
        """The transformers configuration, read when first needed."""
        from turnwise.encode.neural import loading

        return loading.read_config(self.folder)

    @cached_property
    def tokenizer(self) -> Any:
        """The fast tokenizer of transformers, read when first needed."""
        from turnwise.encode.neural import loading

        return loading.read_tokenizer(self.folder)

    @cached_property
    def model(self) -> Any:
        """The model up to `layer`, loaded when first needed, as cached vectors need none."""
        from turnwise.encode.neural.any_encoder import AnyEncoder

        return AnyEncoder(
            self.folder, layer=self.layer, layers=self._layers, device=self._device, precision=self._precision
        )

    @property
    def _layers(self) -> int:
        """The number of the model's layers."""
        stated = stated_config(self.folder).get("num_hidden_layers")
        return int(stated or self.config.num_hidden_layers)  # the latter knows other names of it

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        stated = stated_config(self.folder).get("hidden_size")
        return int(stated or self.config.hidden_size)  # the latter knows other names of it

    @property
    def signature(self) -> Signature:
        """The pooling, whether vectors have unit length, and what concerns token vectors (layer, length, precision)."""
        unit = (("norm", "l2"),) if self._unit else ()
        return Signature(self.label, (("pool", self._pooling), *unit, *self._fields))

    @property
    def token_signature(self) -> Signature:
        """Layer, largest length and precision, without pooling."""
        return Signature(self.label, self._fields)

    def joint_signature(self, part: str, /) -> Signature:
        """The signature of pairs, pooled over `part`: the settings of `signature`, and the part."""
        return Signature(self.label, (("pair", part), *self.signature.fields))

    def encode(self, texts: Sequence[str], /) -> Vectors:
        """(n, d) the pooled vector of each text."""
        return self._remembered(self.signature, texts, "all")

    def encode_joint(self, pairs: Sequence[tuple[str, str]], part: str, /) -> Vectors:
        """(n, d) of each (query, reply), pooled over `part`: "all" of the input, or the "reply" only."""
        return self._remembered(self.joint_signature(part), pairs, part)

    def tokens(self, texts: Sequence[str], /) -> list[Tokens]:
        """The token vectors of each text, special tokens included."""
        report_truncation(self.label, self._max_length, self.cut(list(dict.fromkeys(texts))))

        def make(indices: list[int]) -> list[NDArray[np.floating[Any]]]:
            """The token vectors of the texts at these indices, computed."""
            return self._token_vectors([texts[index] for index in indices])

        if self.cache is None:
            found = make(list(range(len(texts))))
        else:
            names = [("tokens", text) for text in texts]
            found = self.cache.remember(self._space(self.token_signature), names, make)
        return [
            Tokens(
                vectors.astype(np.float32, copy=False),
                np.array(encoding.ids, dtype=np.int64),
                np.array(encoding.special_tokens_mask, dtype=np.bool_),
            )
            for vectors, encoding in zip(found, self._encodings(texts), strict=True)
        ]

    def cut(self, texts: Sequence[Text]) -> int:
        """Number of texts that are longer than the model's input."""
        # A token has at least one byte, so most texts need not be tokenised.
        long = [text for text in dict.fromkeys(texts) if _bytes(text) > self._max_length - _MARKS]
        if not long:
            return 0
        found = self._counter.encode_batch(long)
        over = {text for text, encoding in zip(long, found, strict=True) if encoding.overflowing}
        return sum(text in over for text in texts)

    @cached_property
    def _counter(self) -> Any:
        """The tokenizer as stored, cut at the largest length: it counts tokens without transformers."""
        from tokenizers import Tokenizer

        path = self.folder / "tokenizer.json"
        tokenizer = Tokenizer.from_file(str(path)) if path.is_file() else self.tokenizer.backend_tokenizer
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._max_length)
        return tokenizer

    @cached_property
    def _plain_tokenizer(self) -> Any:
        """The tokenizer without transformers, where the folder allows it."""
        return read_bert_tokenizer(self.folder, self._max_length)

    @cached_property
    def _plain(self) -> Shape | None:
        """The sizes of a plain BERT; None for any other model."""
        return plain_shape(self.folder, layer=self.layer)

    @cached_property
    def _bert(self) -> PlainBert | None:
        """The model without transformers, where the folder allows it."""
        if self._plain is None:
            return None
        weights = read_weights(self.folder, self._plain)
        stored = self._ranges if self._precision == "int8" else None
        ranges = None if stored is None else stored.ranges
        return open_bert(self._plain, weights, device=self._device, precision=self._precision, ranges=ranges)

    @cached_property
    def _ranges(self) -> ShippedRanges | None:
        """What a computation in whole numbers needs; None where the package has none for this model."""
        stored = shipped_ranges(self.label.partition("@")[0])
        return stored if stored is not None and stored.of == self.label else None

    @property
    def _reads_forward(self) -> bool:
        """Whether the model is a decoder."""
        from turnwise.encode.neural import loading

        return loading.reads_forward(self.config)

    @cached_property
    def _device(self) -> str:
        """The device, with None resolved."""
        return self.device or default_device()

    @cached_property
    def _precision(self) -> Chosen:
        """The precision of the computation, with `auto` resolved."""
        return resolve(self.precision, self.folder, self.device)

    @property
    def _fields(self) -> tuple[tuple[str, str], ...]:
        """The parts of the signature that concern token vectors."""
        layer = () if self.layer is None else (("layer", str(self.layer)),)
        chosen: str = self._precision
        if self._precision == "int8" and self._ranges is not None:
            chosen = f"int8@{self._ranges.digest}"
        precision = () if chosen == "fp32" else (("precision", chosen),)
        kept = () if self.kept == "fp32" else (("kept", self.kept),)
        return (*layer, ("max", str(self._max_length)), *precision, *kept)

    @cached_property
    def _pooling(self) -> Pooling:
        """`pooling`, otherwise that of the folder."""
        return self.pooling or stated_pooling(self.folder)

    @cached_property
    def _unit(self) -> bool:
        """Whether vectors are normalised to unit length."""
        return states_unit_length(self.folder) if self.normalise is None else self.normalise

    @cached_property
    def _max_length(self) -> int:
        """The largest number of tokens of an input: `max_length`, that of the folder, or that of the model."""
        stated = self.max_length or stated_length(self.folder) or stated_limit(self.folder, _LONGEST)
        if stated is None:
            from turnwise.encode.neural import loading

            stated = loading.longest(self.config, self.tokenizer, _LONGEST)
        return stated

    def _remembered(self, signature: Signature, texts: Sequence[Text], part: str) -> Vectors:
        """(n, d) pooled vectors from the cache where possible; reports the number of cut texts."""
        report_truncation(self.label, self._max_length, self.cut(list(dict.fromkeys(texts))))
        if self.cache is None:
            return self._pooled(texts, part).astype(np.float32, copy=False)
        names = [(text,) if isinstance(text, str) else text for text in texts]
        rows = self.cache.remember(
            self._space(signature),
            names,
            lambda indices: list(self._pooled([texts[index] for index in indices], part)),
        )
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)

    def _space(self, signature: Signature) -> str:
        """The space of the cache."""
        return (
            str(signature) if self._plain is None else cache_space(signature, self._precision, self._device)
        )

    def _pooled(self, texts: Sequence[Text], part: str) -> NDArray[np.floating[Any]]:
        """(n, d) in the precision of the cache, computed; equal texts once."""
        different, inverse = distinct(texts)
        vectors = np.empty((len(different), self.dimension), dtype=np.float32)
        for batch, hidden, encodings in self._states(different):
            chosen = np.array([_chosen(encoding, part) for encoding in encodings])
            pooled = pool(hidden, chosen, self._pooling)
            vectors[batch] = unit(pooled) if self._unit else pooled
        return vectors[inverse].astype(self._kept_type, copy=False)

    def _token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.floating[Any]]]:
        """(t, d) the token vectors of each text in the precision of the cache, computed; equal texts once."""
        different, inverse = distinct(texts)
        found: dict[int, NDArray[np.floating[Any]]] = {}
        for batch, hidden, _ in self._states(different):
            found.update(zip(batch, hidden.astype(self._kept_type, copy=False), strict=True))
        return [found[index] for index in inverse]

    @property
    def _kept_type(self) -> type[np.floating[Any]]:
        """The number type in which vectors are cached."""
        return np.float32 if self.kept == "fp32" else np.float16

    def _states(self, texts: Sequence[Text]) -> Iterator[tuple[list[int], Vectors, list[Any]]]:
        """Batches of texts of one length: indices, states (b, t, d) and encodings."""
        encodings = self._encodings(texts)
        lengths = [len(encoding.ids) for encoding in encodings]
        for batch in by_shape(lengths, cost=lengths, budget=self.budget):
            group = [encodings[index] for index in batch]
            yield batch, self._forward(group), group

    def _encodings(self, texts: Sequence[Text]) -> list[Any]:
        """The tokens of each text or pair, cut at the largest length; all are texts or all are pairs."""
        if not texts:
            return []
        if self._plain_tokenizer is not None:
            return list(self._plain_tokenizer.encode_batch(list(texts)))
        first = [text if isinstance(text, str) else text[0] for text in texts]
        second = None if isinstance(texts[0], str) else [text[1] for text in texts]
        encoded = self.tokenizer(first, second, truncation=True, max_length=self._max_length)
        return list(encoded.encodings)

    def _forward(self, encodings: list[Any]) -> Vectors:
        """(b, t, d) states of the chosen layer for inputs of one length."""
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        kinds = np.array([encoding.type_ids for encoding in encodings], dtype=np.int64)
        if self._bert is not None:
            return self._bert.states(ids, kinds)
        has_kinds = "token_type_ids" in self.tokenizer.model_input_names
        return np.asarray(self.model.states(ids, kinds if has_kinds else None))


def _bytes(text: Text) -> int:
    """The number of bytes of a text or pair in UTF-8."""
    parts = [text] if isinstance(text, str) else text
    return sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)


def _chosen(encoding: Any, part: str) -> list[bool]:
    """Which tokens of an input are pooled: all, or with `part` "reply" those of the second text."""
    if part == "reply":
        return [sequence == 1 for sequence in encoding.sequence_ids]
    return [True] * len(encoding.ids)
