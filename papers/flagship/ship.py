"""`python -m papers.flagship.ship RESULTS TEXT`: the trained readers as folders of the package.

RESULTS has the files of clean.sh, or of gpu.sh for the free reader. The large reader is the mean of the three large
models, cut to rank 32 (`soup.npz`). The small reader is the mean of three students (`student-soup.npz`). The free
reader is the mean of three large models of rank 16 that were trained on freely licensed text alone (`free-soup.npz`).
Those whose file is there are written.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from torch import Tensor

from papers.flagship.train_student import base_student, published_name
from papers.flagship.weights import from_bytes
from papers.rated_dimensions import DIALOGUES
from turnwise.encode.models import folder
from turnwise.encode.models.catalogue import locate
from turnwise.encode.models.differences import pack
from turnwise.networks.replies.columns import COLUMNS, ENOUGH, INFORMED
from turnwise.types import Floats

MODELS = Path(__file__).parents[2] / "src" / "turnwise" / "data" / "models"
GROUP = 64  # weights of an adapter that share a scale
LANGUAGES = "English"


def read(path: Path) -> dict[str, Tensor]:
    with np.load(path) as packed:
        return from_bytes(dict(packed))


def large(path: Path, about: dict[str, object], name: str = "reader-large") -> None:
    trained = {part: one.numpy() for part, one in read(path).items()}
    adapters: dict[str, Floats] = {
        part: one.T if part.endswith(".up") else one
        for part, one in trained.items()
        if part.startswith("llama.")
    }
    heads = {part: one.astype(np.float16) for part, one in trained.items() if part not in adapters}
    rank = next(len(one) for part, one in trained.items() if part.endswith(".down"))
    save(name, {**pack(adapters, {}, group=GROUP), **heads},
         {"size": "large", "base": "smollm2", "rank": rank, "columns": [*COLUMNS, INFORMED], "enough": ENOUGH},
         about)  # fmt: skip


def small(results: Path, about: dict[str, object]) -> None:
    """Names of the body are those of transformers."""
    model = base_student(locate("minilm"))
    start = {name: one.detach().numpy().copy() for name, one in model.trainable().items()}
    found = {
        name: one.numpy() + (start[name] if name.startswith("bert.") else 0)
        for name, one in read(results / "student-soup.npz").items()
    }
    body = {published_name(name): one for name, one in found.items() if name.startswith("bert.")}
    base = {published_name(name): one for name, one in start.items() if name.startswith("bert.")}
    head = {
        f"head.{name}": one.astype(np.float16) for name, one in found.items() if not name.startswith("bert.")
    }
    with np.load(results / "student-soup-rated.npz") as kept:
        scales = {name: kept[name].astype(float).tolist() for name in ("mean", "spread")}
    config = {"size": "small", "base": "minilm", "columns": list(COLUMNS), **scales}
    save("reader-small", {**pack(body, base), **head}, config, about)


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
    given = parser.parse_args()
    text = json.loads((given.text / "corpus.json").read_text())

    def about(text: dict[str, dict[str, object]], command: str) -> dict[str, object]:
        left_out = (
            "dialogues that share a turn of six words with a rated item; such turns of the rated dialogues of "
            + ", ".join(DIALOGUES)
        )
        data = {"text": text, "left_out": left_out, "pairs": "SNLI, 100,000 pairs, CC BY-SA 4.0"}
        return {"data": data, "command": f"{command}, then python -m papers.flagship.ship"}

    both = about(text, "papers/flagship/clean.sh")
    if (given.results / "soup.npz").exists():
        large(given.results / "soup.npz", both)
    if (given.results / "student-soup.npz").exists():
        small(given.results, both)
    if (given.results / "free-soup.npz").exists():
        free = {name: one for name, one in text.items() if one["free"]}
        command = 'VARIANTS="free-0 free-1 free-2" RANK=16 papers/flagship/gpu.sh large soup'
        large(given.results / "free-soup.npz", about(free, command), "reader-large-free")


if __name__ == "__main__":
    main()
