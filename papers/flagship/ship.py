"""`python -m papers.flagship.ship RESULTS TEXT [--seed 1]`: the trained readers as folders of the package.

RESULTS has the files of gpu.sh. The large reader is the mean of the three large models; the adapters of the mean have
rank 96, and the best approximation of rank 32 is stored. The small reader is the student of one seed: the one that
agrees best on the five groups for choosing (papers/flagship/trials.jsonl).
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from papers.flagship.bert import PARTS
from papers.flagship.train_student import base_student
from papers.flagship.weights import from_bytes
from turnwise.encode.models import folder
from turnwise.encode.models.catalogue import locate
from turnwise.encode.neural.differences import pack
from turnwise.networks.replies.columns import COLUMNS
from turnwise.types import Floats

MODELS = Path(__file__).parents[2] / "src" / "turnwise" / "data" / "models"
RANK, GROUP = 32, 64  # of the stored adapters, and weights that share a scale
SEEDS = range(3)
LANGUAGES = "English"


def read(path: Path) -> dict[str, Tensor]:
    with np.load(path) as packed:
        return from_bytes(dict(packed))


def low_rank(parts: list[dict[str, Tensor]], name: str) -> tuple[Floats, Floats]:
    """The best product (up, down) of rank `RANK` for the mean of the models' products; up is transposed."""
    down = torch.cat([part[f"{name}.down"] for part in parts])  # (3r, inputs)
    up = torch.cat([part[f"{name}.up"] for part in parts], 1) / len(parts)  # (outputs, 3r)
    (left, up_core), (right, down_core) = torch.linalg.qr(up), torch.linalg.qr(down.T)
    u, s, v = torch.linalg.svd(up_core @ down_core.T)
    root = s[:RANK].sqrt()
    return ((left @ u[:, :RANK]) * root).T.numpy(), (root[:, None] * (right @ v[:RANK].T).T).numpy()


def large(results: Path, about: dict[str, object]) -> None:
    parts = [read(results / f"large-{seed}.npz") for seed in SEEDS]
    names = sorted(name.removesuffix(".down") for name in parts[0] if name.endswith(".down"))
    adapters: dict[str, Floats] = {}
    for name in names:
        adapters[f"{name}.up"], adapters[f"{name}.down"] = low_rank(parts, name)
    heads = {
        name: torch.stack([part[name] for part in parts]).mean(0).numpy().astype(np.float16)
        for name in parts[0]
        if not name.startswith("llama.")
    }
    save("reader-large", {**pack(adapters, {}, group=GROUP), **heads},
         {"size": "large", "base": "smollm2", "rank": RANK, "columns": list(COLUMNS)}, about)  # fmt: skip


def small(results: Path, seed: int, about: dict[str, object]) -> None:
    """Names of the body are those of transformers."""
    model = base_student(locate("minilm"))
    start = {name: one.detach().numpy().copy() for name, one in model.trainable().items()}
    found = {
        name: one.numpy() + (start[name] if name.startswith("bert.") else 0)
        for name, one in read(results / f"student-{seed}.npz").items()
    }
    body = {_published(name): one for name, one in found.items() if name.startswith("bert.")}
    base = {_published(name): one for name, one in start.items() if name.startswith("bert.")}
    head = {
        f"head.{name}": one.astype(np.float16) for name, one in found.items() if not name.startswith("bert.")
    }
    with np.load(results / f"student-{seed}-rated.npz") as kept:
        scales = {name: kept[name].astype(float).tolist() for name in ("mean", "spread")}
    config = {"size": "small", "base": "minilm", "columns": list(COLUMNS), "seed": seed, **scales}
    save("reader-small", {**pack(body, base), **head}, config, about)


def _published(name: str) -> str:
    """The name that transformers has for a weight of the body, `bert.layers.0.query.weight`."""
    _, _, layer, part, kind = name.split(".")
    return f"encoder.layer.{layer}.{PARTS[part]}.{kind}"


def save(
    name: str, tensors: dict[str, np.ndarray], config: dict[str, object], about: dict[str, object]
) -> None:
    card = {"languages": LANGUAGES, "licence": "Apache-2.0; the text it was trained on: data", **about}
    made = folder.save(MODELS / name, kind=name, tensors=tensors, config=config, card=card)
    print(f"{name}: {sum(one.nbytes for one in made.tensors.values()) / 1e6:.1f} MB, {made.digest}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("text", type=Path, help="the folder of papers.flagship.prepare")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    text = json.loads((given.text / "corpus.json").read_text())
    about: dict[str, object] = {
        "data": {"text": text, "left_out": "dialogues that share a turn of six words with a rated item",
                 "pairs": "SNLI, 100,000 pairs, CC BY-SA 4.0"},
        "command": "papers/flagship/gpu.sh large label students, then python -m papers.flagship.ship RESULTS TEXT",
    }  # fmt: skip
    large(given.results, about)
    small(given.results, given.seed, about)


if __name__ == "__main__":
    main()
