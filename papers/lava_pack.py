"""Take trained policies from one machine to another: half precision, and what policies share only once.

    python papers/lava_pack.py pack MODELS TO      # a file for each seed, of the stages joint, plas and gradient
    python papers/lava_pack.py unpack FROM MODELS

Policy gradient changes the state encoder alone, and PLAS the state encoder of a model whose decoder the warm-up
changed. The action encoder is that of `joint`, but for seed 0, whose PLAS model has its own.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from turnwise.encode.models import folder

OWN = {"joint": ("state", "action", "decoder"), "plas": ("state", "decoder"), "gradient": ("state",)}


def pack(models: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for joint in sorted(models.glob("joint-*")):
        seed = joint.name.rpartition("-")[2]
        tensors: dict[str, Any] = {}
        configs = {}
        for stage, parts in OWN.items():
            if not (models / f"{stage}-{seed}").is_dir():
                continue
            stored = folder.load(models / f"{stage}-{seed}", "lava")
            configs[stage] = json.dumps(dict(stored.config))
            kept = (*parts, "action") if seed == "0" else parts
            tensors |= {
                f"{stage}/{name}": array.astype(np.float16)
                for name, array in stored.tensors.items()
                if name.startswith(kept)
            }
        save_file(tensors, to / f"models-{seed}.safetensors", metadata=configs)


def unpack(files: Path, models: Path) -> None:
    from safetensors import safe_open

    for file in sorted(files.glob("models-*.safetensors")):
        seed = file.stem.rpartition("-")[2]
        tensors = load_file(file)
        with safe_open(str(file), "numpy") as opened:
            configs = opened.metadata()
        whole: dict[str, Any] = {}  # the tensors of `joint`, with those of its own
        joint: dict[str, Any] = {}
        for stage in (stage for stage in OWN if stage in configs):
            own = {
                name.partition("/")[2]: array.astype(np.float32)
                for name, array in tensors.items()
                if name.startswith(f"{stage}/")
            }
            whole = own if stage == "joint" else {**joint, **own}
            joint = whole if stage == "joint" else joint
            target = models / f"{stage}-{seed}"
            folder.save(target, kind="lava", tensors=whole, config=json.loads(configs[stage]), card={})


if __name__ == "__main__":
    {"pack": pack, "unpack": unpack}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
