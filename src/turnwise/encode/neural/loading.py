"""Load a transformers model from a folder: offline, without progress output, with device and precision chosen.

torch and transformers are imported inside functions: loading them takes four seconds, and a run whose vectors are all
in the cache needs neither.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from turnwise.encode.transformer.bert_folder import stated_config
from turnwise.encode.transformer.precision import Chosen
from turnwise.errors import UsageError


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars or load reports; problems are raised as errors."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def default_device() -> str:
    """`cuda` if there is a GPU, otherwise `cpu`."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def computes_bf16(device: str) -> bool:
    """Whether the device computes in bfloat16 without emulation."""
    import torch

    if device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    processor = torch.cpu.get_capabilities()
    return device == "cpu" and bool(processor.get("avx512_bf16") or processor.get("amx_bf16"))


def read_config(folder: Path) -> Any:
    """The transformers configuration of a folder; a `UsageError` if it has none."""
    stated_config(folder)
    import transformers

    with quiet():
        return transformers.AutoConfig.from_pretrained(folder, local_files_only=True)


def read_tokenizer(folder: Path) -> Any:
    """The fast tokenizer of a folder."""
    import transformers

    with quiet():
        return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, use_fast=True)


def read_model(folder: Path, auto: Any, *, device: str, precision: Chosen) -> Any:
    """The model of a folder by the class `auto`, in evaluation mode; a `UsageError` if weights are missing."""
    import torch
    import transformers

    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    with quiet():
        model, found = auto.from_pretrained(
            folder, local_files_only=True, dtype=dtype, output_loading_info=True
        )
    # Missing weights were initialised at random. A missing pooler does not matter where only states are used.
    spare = "pooler." if auto is transformers.AutoModel else "-"
    if absent := sorted(key for key in found["missing_keys"] if not key.startswith(spare)):
        raise UsageError(
            f"{folder} is no whole {type(model).__name__}: it has no weights for {', '.join(absent[:3])}"
        )
    return model.eval().to(device)


def reads_forward(config: Any) -> bool:
    """Whether the model is a decoder, with causal attention."""
    from transformers.models.auto import modeling_auto as known

    kind = config.model_type
    return getattr(config, "is_decoder", False) or (
        kind in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        and kind not in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES
        and not getattr(config, "is_encoder_decoder", False)
    )


def longest(config: Any, tokenizer: Any, most: int) -> int:
    """The largest number of tokens of an input; `most` if the model states no limit or a higher one."""
    n_positions = getattr(config, "max_position_embeddings", None)
    if n_positions is None:
        return int(min(tokenizer.model_max_length, most))
    return int(min(n_positions - _first_position(config), tokenizer.model_max_length, most))


def _first_position(config: Any) -> int:
    """The number of the first position: 0, or for RoBERTa-like models the padding index plus 1."""
    import torch
    import transformers

    with torch.device("meta"), quiet():  # builds the model without allocating weights
        model = transformers.AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx) + 1
    return 0


class FromFolder:
    """Base class of models in a `folder`, which subclasses set: configuration and tokenizer, read when first needed."""

    folder: Path

    @cached_property
    def config(self) -> Any:
        """The transformers configuration, read when first needed."""
        return read_config(self.folder)

    @cached_property
    def tokenizer(self) -> Any:
        """The fast tokenizer, read when first needed."""
        return read_tokenizer(self.folder)
