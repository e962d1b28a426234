"""The weights of papers/masked_lm.py: MiniLM's to carry to a GPU, and the trained ones that come back."""

import json
import lzma
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

BASE = "minilm.npz.xz"
WORDS = "embeddings.word_embeddings.weight"
PART = 15 * 2**20  # bytes of a file of weights
LICENCES = {  # of the permissive corpora
    "chitchat_byu": "MIT",
    "personachat": "MIT (as carried by Xpersona)",
    "dailydialogpp": "MIT; most utterances of its contexts are also in DailyDialog (CC BY-NC-SA 4.0)",
    "more/dailydialogpp_positives": "MIT; most utterances of its contexts are also in DailyDialog (CC BY-NC-SA 4.0)",
    "more/synthetic_personachat": "CC BY 4.0",
    "more/topical_chat": "CDLA-Sharing",
    "more/self_dialogue": "BSD-3-Clause",
}


def round_weights(source: Path, target: Path) -> None:
    """Write MiniLM's weights, each row rounded to 7 bits with a scale (word embeddings: 6), without its pooler."""
    from safetensors.numpy import load_file

    stored = {}
    for name, array in load_file(source / "model.safetensors").items():
        if name.startswith("pooler") or name.endswith("position_ids"):
            continue
        if array.ndim == 1:
            stored[name] = array
            continue
        levels = 31 if name == WORDS else 63
        scale = np.maximum(np.abs(array).max(axis=1, keepdims=True) / levels, 1e-12)
        stored[name] = np.round(array / scale).astype(np.int8)
        stored[f"{name}.scale"] = scale.astype(np.float32)
    stored["config"] = np.frombuffer((source / "config.json").read_bytes(), dtype=np.uint8)
    stored["tokenizer"] = np.frombuffer((source / "tokenizer.json").read_bytes(), dtype=np.uint8)
    buffer = BytesIO()
    np.savez(buffer, **stored)  # type: ignore[arg-type]
    target.write_bytes(lzma.compress(buffer.getvalue(), preset=6))


def read_base(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any], str]:
    """The rounded weights by their names in BERT's body, its configuration, and the tokenizer as JSON."""
    stored = np.load(BytesIO(lzma.decompress((folder / BASE).read_bytes())))
    names = [name for name in stored.files if not name.endswith(".scale")]
    config, tokenizer = (stored[name].tobytes().decode() for name in ("config", "tokenizer"))
    weights = {
        name: stored[name].astype(np.float32) * stored[f"{name}.scale"]
        if f"{name}.scale" in stored.files
        else stored[name]
        for name in names
        if name not in ("config", "tokenizer")
    }
    return weights, json.loads(config), tokenizer


def export(model: Any, output: Path, card: dict[str, Any]) -> None:
    """Write all weights but the word embeddings in half precision, in files of 15 MiB at most, and `card.json`."""
    import torch

    output.mkdir(parents=True, exist_ok=True)
    tied = {"cls.predictions.decoder.weight", f"bert.{WORDS}", "cls.predictions.decoder.bias"}
    buffer = BytesIO()
    state = {
        name: tensor.detach().to("cpu", torch.float16).numpy()
        for name, tensor in model.state_dict().items()
        if name not in tied and tensor.is_floating_point()
    }
    # Versions of transformers differ in which of two names of the output layer's bias is the stored one.
    bias = model.cls.predictions.decoder.bias
    state["cls.predictions.bias"] = bias.detach().to("cpu", torch.float16).numpy()
    np.savez(buffer, **state)  # type: ignore[arg-type]
    data = buffer.getvalue()
    for number, first in enumerate(range(0, len(data), PART)):
        (output / f"weights-{number}.bin").write_bytes(data[first : first + PART])
    (output / "card.json").write_text(json.dumps({**card, "bytes": len(data)}, indent=1))
    print(f"{output}: {len(data)} bytes", flush=True)


def read_trained(folder: Path) -> dict[str, np.ndarray]:
    """The weights that `export` wrote, by their names in transformers' BertForMaskedLM."""
    parts = sorted(folder.glob("weights-*.bin"))
    data = b"".join(part.read_bytes() for part in parts)
    stored = np.load(BytesIO(data))
    return {name: stored[name].astype(np.float32) for name in stored.files}


def join(trained: Path, minilm: Path, target: Path) -> None:
    """Write the trained model with MiniLM's word embeddings as a folder of transformers."""
    from safetensors.numpy import load_file, save_file

    words = load_file(minilm / "model.safetensors")[WORDS]
    target.mkdir(parents=True, exist_ok=True)
    save_file(
        {**read_trained(trained), f"bert.{WORDS}": words}, target / "model.safetensors", {"format": "pt"}
    )
    config = json.loads((minilm / "config.json").read_text())
    config |= {"architectures": ["BertForMaskedLM"], "tie_word_embeddings": True}
    (target / "config.json").write_text(json.dumps(config, indent=1))
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        shutil.copy(minilm / name, target / name)


def ship(trained: Path, minilm: Path, target: Path) -> None:
    """Write the difference from MiniLM in 4 bits, as the package ships it."""
    from safetensors.numpy import load_file

    from turnwise.encode.models import folder
    from turnwise.encode.models.differences import pack

    base = {f"bert.{name}": array for name, array in load_file(minilm / "model.safetensors").items()}
    about = json.loads((trained / "card.json").read_text())
    licences = {name: LICENCES[name] for name in about["held_out"]}
    fields = ("dialogues", "replies", "tokens", "updates", "seconds", "device")
    card = {
        "data": {"text": licences, "left_out": "dialogues that share a turn with a rated item",
                 **{field: about[field] for field in fields}},
        "held_out": {"perplexity": about["curve"][-1]["perplexity"], "before": about["curve"][0]["perplexity"]},
        "languages": "English (MiniLM's)", "licence": "Apache-2.0",
        "attacks": ["copies of the context, and repetitions: papers/probing.md"],
        "command": "python papers/masked_lm.py train CARRIED -o OUT --work WORK --seconds 240, then ship",
    }  # fmt: skip
    tensors = pack(read_trained(trained), base)
    folder.save(target, kind="usr-mlm", tensors=tensors, config={"base": "minilm"}, card=card)
    print(f"{target}: {sum(array.nbytes for array in tensors.values())} bytes")
