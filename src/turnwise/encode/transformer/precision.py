"""In which numbers a model is computed, and by which library.

Precision "auto" is that of the stored weights if the processor computes in it, otherwise float32. On a CPU with
AVX512-BF16 or AMX, bfloat16 doubles the speed of a matrix product (95 -> 200 GFLOP/s a core, measured), and halves
what must be read from memory; elsewhere it is emulated. A plain BERT is computed by ONNX Runtime in float32 (the same
numbers to 1e-6, in about half of torch's time), and in whole numbers (`int8`) where the package has ranges for it.

A GPU is used if torch finds one. torch takes seconds to load, so it is asked only where the machine seems to have one.
"""

import os
import shutil
from pathlib import Path
from typing import Literal, get_args

from turnwise.encode.transformer.bert_folder import stated_config
from turnwise.errors import UsageError
from turnwise.extras import has_module

Precision = Literal["auto", "fp32", "bf16", "int8"]
Chosen = Literal["fp32", "bf16", "int8"]


def resolve(precision: Precision, folder: Path, device: str | None) -> Chosen:
    """The precision that "auto" stands for, with the weights of the folder on this device; another one is returned as
    it is.

    A device of None is the default one. An unknown precision is a `UsageError`.
    """
    if precision not in get_args(Precision):
        raise UsageError(f"there is no precision `{precision}`; there are {', '.join(get_args(Precision))}")
    if precision != "auto":
        return precision
    config = stated_config(folder)
    half = config.get("dtype", config.get("torch_dtype")) in ("bfloat16", "float16")
    if not half or not has_module("torch"):
        return "fp32"
    from turnwise.encode.neural.loading import computes_bf16

    return "bf16" if computes_bf16(device or default_device()) else "fp32"


def default_device() -> str:
    """`cuda` if torch is installed and there is a GPU, otherwise `cpu`."""
    if not has_module("torch") or not _may_have_gpu():
        return "cpu"
    from turnwise.encode.neural import loading

    return loading.default_device()


def runs_graphs() -> bool:
    """Whether ONNX Runtime is installed."""
    return has_module("onnxruntime")


def cache_space(signature: object, precision: Chosen, device: str) -> str:
    """The space of the cache for a plain BERT: what torch and ONNX Runtime compute differs in the last digits."""
    by_graph = precision == "fp32" and device == "cpu" and runs_graphs()
    return f"{signature}|by:onnx" if by_graph else str(signature)


def _may_have_gpu() -> bool:
    """Whether this machine seems to have a GPU that torch could use; torch is not asked."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return False
    return any(map(os.path.exists, ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))) or bool(
        shutil.which("nvidia-smi")
    )
