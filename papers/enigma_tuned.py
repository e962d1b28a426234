"""`python -m papers.enigma_tuned prepare|train|collect|show`: neural ENIGMA with its encoder tuned until it converges.

    prepare FOLDER MODEL              on a CPU: logs, tokens and weights for a GPU machine without a network
    train FOLDER WORK --until TIME    there: every job that has no result in WORK/results, from its checkpoint if any
    collect WORK FILE                 there: all results in one file
    show FILE                         the table of papers/enigma-neural.md, and papers/enigma-tuned-converged.json

MODEL is `minilm`, or the folder of all-mpnet-base-v2 (or of another BERT- or MPNet-like encoder). The logs are those of
papers/enigma_collapse.py: ten newly drawn sellers of a family, 30 dialogues each, reward relabelled, each left out.
Estimator, losses, batches and schedule are the package's (`enigma[tuned=true]`); only the encoder runs on tensors that
stay on the GPU, in bf16 where autocast allows it, because `transformers` and the building of masks on the CPU took most
of a step. The weights are rounded for the way (`rounded`) and trained in fp32; several workers share the jobs.
"""

import argparse
import io
import json
import lzma
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from papers.flagship.bert import Bert, BertShape
from turnwise.encode.neural.dialogue_layout import Script
from turnwise.estimators.neural.batches import Batches
from turnwise.estimators.neural.enigma import Enigma
from turnwise.estimators.neural.neural import LearnerInputs
from turnwise.estimators.neural.training import train
from turnwise.estimators.neural.training_data import TrainingData, gather
from turnwise.networks.training.checkpoint import Checkpoint, Curve, Progress
from turnwise.networks.training.loop import Hooks
from turnwise.types import Ints, digest

FAMILIES = ("behaviour", "wordings")
DRAW, AGENTS, DIALOGUES, SAMPLES, TRUTH = 1000, 10, 30, 2, 2000  # as in papers/enigma_collapse.py
FIRST = 6  # targets of each family that are run before the others
VARIANTS: dict[str, dict[str, Any]] = {
    "both cures": {"by_step": True, "nu_penalty": 0.1, "price": 2.0},
    "as published": {},
}
VARIANT_OF = {
    "both (the default)": "both cures",
    "as published": "as published",
}  # names in enigma-collapse.json
READINGS = 50
SAME = 1e-3  # difference of ESS and dialogues below which all weights are the same
# A training has converged if the means of the estimate and of the mean zeta over the last fifth of the readings differ
# from those over the fifth before by less than these. Single readings swing: a batch is 20 dialogues.
STILL, STILL_ESTIMATE, STILL_ZETA = READINGS // 5, 0.01, 0.05
LEAST = READINGS // 2  # readings before which no training counts as converged
LEVELS = 10  # of a rounded weight, in one standard deviation of its row
PART = 45 * 2**20  # bytes of one file of weights
BUCKETS, FARTHEST = 32, 128  # of MPNet's relative positions
# MPNet's names of the parts of a layer -> BERT's.
MPNET_PARTS = {
    "attention.attn.q": "attention.self.query", "attention.attn.k": "attention.self.key",
    "attention.attn.v": "attention.self.value", "attention.attn.o": "attention.output.dense",
    "attention.LayerNorm": "attention.output.LayerNorm",
}  # fmt: skip
EVERY = 60.0  # seconds between checkpoints
PAGE = Path(__file__).with_name("enigma-neural.md")
KEPT = Path(__file__).with_name("enigma-tuned-converged.json")
_TOKEN_FIELDS = ("ids", "position", "kind", "time", "part", "logged")
_DATA_FIELDS = ("first", "row", "logged", "target", "weight", "reward", "rating")


# -- on the CPU: logs, tokens, weights -----------------------------------------------------------------------------


def prepare(
    folder: Path, model: str, *, agents: int = AGENTS, dialogues: int = DIALOGUES, truth: int = TRUTH
) -> None:
    """Write tokens-MODEL.npz, the training data of every target as tokens, and the weights, to FOLDER."""
    from safetensors.torch import load_file

    import turnwise as tw
    from turnwise.encode.episodes import encode, leave_out, whole
    from turnwise.encode.models.catalogue import locate
    from turnwise.estimators.neural.row_vectors import encoder
    from turnwise.logs.native import read_all

    place = locate(model)
    config = json.loads((place / "config.json").read_text())
    arrays: dict[str, np.ndarray] = {}
    cases = []
    for family in FAMILIES:
        with TemporaryDirectory() as made_in:
            logs = str(Path(made_in) / "logs.jsonl")
            made = tw.simulate(
                "booking", output=logs, family=family, draw=DRAW, agents=agents, dialogues=dialogues,
                samples=SAMPLES, truth=truth,
            )  # fmt: skip
            held = list(read_all([logs]))
        rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in held}
        episodes = encode(whole(held, rewards), rating="reward", scale=(0, 1), delexicalised=False)
        for number, (target, means) in enumerate(made.truth["agents"].items()):
            data = gather(leave_out(episodes, {target}), target)
            scripts = encoder(model, "mean").scripts(data.dialogues)
            arrays |= {f"{family}/{target}/{name}": one for name, one in packed(data, scripts).items()}
            cases.append(
                {"family": family, "target": target, "number": number, "truth": means["reward"]["mean"]}
            )
    used = np.unique(np.concatenate([one for name, one in arrays.items() if name.endswith("/ids")]))
    for name in arrays:
        if name.endswith("/ids"):  # the rows of the embeddings that are carried
            arrays[name] = np.searchsorted(used, arrays[name]).astype(np.uint16)
    name = place.name.split("-")[0] if model != "minilm" else model
    arrays["about"] = np.array(json.dumps({"model": name, "cases": cases, "config": config}))
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / f"tokens-{name}.npz", **arrays)
    weights = named_as_bert(load_file(place / "model.safetensors"))
    weights["embeddings.word_embeddings.weight"] = weights["embeddings.word_embeddings.weight"][
        torch.from_numpy(used.astype(np.int64))
    ]
    write_weights(folder, name, weights)


def named_as_bert(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a BERT or an MPNet by BERT's names; MPNet's positions begin at 2 and it has no token types."""
    found = {}
    for name, tensor in weights.items():
        if name.startswith(("embeddings.", "encoder.")) and tensor.is_floating_point():
            for theirs, ours in MPNET_PARTS.items():
                name = name.replace(f".{theirs}.", f".{ours}.")
            found[name] = tensor
    if "encoder.relative_attention_bias.weight" in found:
        found["embeddings.position_embeddings.weight"] = found["embeddings.position_embeddings.weight"][2:]
        found["embeddings.token_type_embeddings.weight"] = torch.zeros(
            2, found["embeddings.word_embeddings.weight"].shape[1]
        )
    return found


def rounded(matrix: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, and the step of each row that they are multiples of: a tenth of the row's standard deviation.

    The step is larger where a number would not fit into a byte.
    """
    step = torch.maximum(matrix.std(1) / LEVELS, matrix.abs().amax(1) / 127).clamp(min=1e-12)
    return (matrix / step[:, None]).round().to(torch.int8).numpy(), step.numpy()


def write_weights(folder: Path, name: str, weights: Mapping[str, Tensor]) -> None:
    """Write the weights to weights-NAME.00, .01, ...: matrices rounded, the rest as it is, compressed."""
    arrays = {}
    for key, tensor in weights.items():
        if tensor.ndim == 2 and len(tensor) > 2:
            arrays[key], arrays[f"{key}/step"] = rounded(tensor.float())
        else:
            arrays[key] = tensor.float().numpy()
    memory = io.BytesIO()
    np.savez(memory, **arrays)
    content = lzma.compress(memory.getvalue(), preset=2)
    for number, start in enumerate(range(0, len(content), PART)):
        (folder / f"weights-{name}.{number:02d}").write_bytes(content[start : start + PART])


def read_weights(folders: list[Path], name: str) -> dict[str, Tensor]:
    """The weights of `write_weights`, whose files may lie in several folders."""
    files = sorted(
        (one for folder in folders for one in folder.glob(f"weights-{name}.??")), key=lambda p: p.name
    )
    arrays = np.load(io.BytesIO(lzma.decompress(b"".join(one.read_bytes() for one in files))))
    return {
        key: torch.from_numpy(arrays[key])
        if f"{key}/step" not in arrays
        else torch.from_numpy(arrays[key]).float() * torch.from_numpy(arrays[f"{key}/step"])[:, None]
        for key in arrays
        if not key.endswith("/step")
    }


def packed(data: TrainingData, scripts: list[Script]) -> dict[str, np.ndarray]:
    """The arrays of a target's training data and of the scripts of its dialogues, one after the other."""
    found = {f"data.{name}": np.asarray(getattr(data, name)) for name in _DATA_FIELDS}
    found |= {
        name: np.concatenate([getattr(script, name) for script in scripts]).astype(np.uint16)
        for name in _TOKEN_FIELDS
    }
    found["lengths"] = np.array([len(script.ids) for script in scripts])
    found["spans"] = np.array([span for script in scripts for span in script.replies])
    found["cut"] = np.array(sum(script.cut > 0 for script in scripts))
    found["relabelled"] = np.array(data.relabelled)
    return found


# -- on the GPU ----------------------------------------------------------------------------------------------------


class TunedBert(Bert):
    """A BERT or an MPNet all of whose weights are trained; positions and the attention mask are given."""

    def __init__(self, weights: Mapping[str, Tensor], shape: BertShape) -> None:
        super().__init__(weights, shape)
        self.requires_grad_(True)
        relative = weights.get("encoder.relative_attention_bias.weight")
        self.relative = None if relative is None else torch.nn.Parameter(relative.float())

    def hidden(self, tokens: Tensor, kinds: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """(b, l, d) hidden states; `mask` (b, 1, l, l) is true where a token may attend."""
        x: Tensor = self.norm(
            functional.embedding(tokens, self.word)
            + functional.embedding(kinds, self.kind)
            + functional.embedding(positions, self.position)
        )
        if self.relative is not None:
            bias = functional.embedding(bucket(positions[:, None, :] - positions[:, :, None]), self.relative)
            mask = bias.permute(0, 3, 1, 2).masked_fill(~mask, -1e9)
            if torch.is_autocast_enabled(x.device.type):
                mask = mask.to(torch.get_autocast_dtype(x.device.type))
        for layer in self.layers:
            x = layer(x, mask)
        return x


def bucket(distance: Tensor) -> Tensor:
    """MPNet's bucket of each distance of a key from its query: exact when near, by logarithm when far."""
    half, exact = BUCKETS // 2, BUCKETS // 4
    far = distance.abs()
    grown = (far.clamp(min=1).float() / exact).log() / np.log(FARTHEST / exact) * (half - exact)
    large = (exact + grown.long()).clamp(max=half - 1)
    return torch.where(far < exact, far, large) + (distance > 0) * half


class TokensOnDevice:
    """A source of rows (`turnwise.estimators.neural.batches.Source`): an encoder in training, and all tokens."""

    def __init__(self, found: Mapping[str, np.ndarray], model: TunedBert, device: str) -> None:
        self.model, self.width, self.device = model.to(device), model.shape.width, device
        self.lengths = found["lengths"]
        size = (len(self.lengths), -(-int(self.lengths.max()) // 8) * 8)
        inside = np.arange(size[1]) < self.lengths[:, None]
        self.tokens: dict[str, Tensor] = {}
        for name in _TOKEN_FIELDS:
            # Padding has a part of its own, and no token of another part sees it, as it is not logged.
            wide = np.full(size, 65535 if name == "part" else 0, np.int64)
            wide[inside] = found[name]
            self.tokens[name] = torch.from_numpy(wide).to(device)
        self.spans = torch.from_numpy(found["spans"]).to(device)
        self.counts = np.diff(found["data.row"])

    def rows(self, dialogues: Ints, rows: Ints) -> Tensor:
        """(m, width) the vectors of these rows, which are all rows of these dialogues in order."""
        width = -(-int(self.lengths[dialogues].max()) // 8) * 8  # fast attention wants multiples of 8
        chosen = torch.from_numpy(dialogues).to(self.device)
        ids, position, kind, at, part, logged = (self.tokens[name][chosen, :width] for name in _TOKEN_FIELDS)
        same = part[:, :, None] == part[:, None, :]
        before = logged.bool()[:, None, :] & (at[:, None, :] < at[:, :, None])
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            states = self.model.hidden(ids, kind, position, (same | before)[:, None])
        sums = functional.pad(states.float().cumsum(1), (0, 0, 1, 0))
        owner = torch.from_numpy(np.repeat(np.arange(len(dialogues)), self.counts[dialogues])).to(self.device)
        start, stop = self.spans[torch.from_numpy(rows).to(self.device)].T
        return (sums[owner, stop] - sums[owner, start]) / (stop - start)[:, None]

    def parameters(self) -> list[torch.nn.Parameter]:
        """The parameters of the encoder."""
        return list(self.model.parameters())


@dataclass(frozen=True)
class PacedCheckpoint(Checkpoint):
    """A checkpoint that is written at most once in `EVERY` seconds, and when the time is up."""

    until: float = 0.0
    written: list[float] = None  # type: ignore[assignment]  # the time of the last writing

    def write(self, progress: Progress, weights: Any, optimiser: Any = None) -> None:
        """Write if it is time to."""
        if time.time() - self.written[0] > EVERY or time.time() > self.until:
            Checkpoint.write(self, progress, weights, optimiser)
            self.written[0] = time.time()


def converged(curve: Curve) -> bool:
    """Whether estimate and mean zeta have stopped moving, on average over a fifth of the readings."""
    if len(curve) <= LEAST:
        return False
    drift = {
        name: abs(
            np.mean([point[name] for point in curve[-STILL:]])
            - np.mean([point[name] for point in curve[-2 * STILL : -STILL]])
        )
        for name in ("estimate", "mean_zeta")
    }
    return bool(drift["estimate"] < STILL_ESTIMATE and drift["mean_zeta"] < STILL_ZETA)


def trained(
    case: Mapping[str, Any], found: Mapping[str, np.ndarray], model: TunedBert, *, variant: str, epochs: int,
    until: float, work: Path, device: str,
) -> dict[str, Any]:  # fmt: skip
    """The record of one training, ended by convergence, by its number of epochs or by the time."""
    asked = Enigma(
        preset="paper", tuned=True, allow_collapse=True, epochs=epochs, **VARIANTS[variant], device=device
    )
    data = TrainingData(
        dialogues=[], relabelled=bool(found["relabelled"]), unrated=0,
        **{name: found[f"data.{name}"] for name in _DATA_FIELDS},
    )  # fmt: skip
    seed = int(np.random.default_rng(0).integers(2**62))
    batches = Batches(data, TokensOnDevice(found, model, device), device)
    generator = torch.Generator().manual_seed(seed)
    setup = LearnerInputs(data, batches, model.shape.width, asked.settings(), generator, device)
    learner = asked.learner(setup)
    plain_reading = learner.reading
    learner.reading = lambda: {**plain_reading(), "ess": learner.contributions().diagnostics["ess"]}
    name = digest(case["family"], case["target"], case.get("model", ""), variant, str(epochs), data.reward)
    path = work / "checkpoints" / f"{name}.safetensors"
    checkpoint = PacedCheckpoint(path, name, until=until, written=[time.time()])
    seen: list[Curve] = []

    def finished(curve: Curve) -> bool:
        seen[:] = [curve]
        return converged(curve)

    start = time.perf_counter()
    hooks = Hooks(finished=finished, stop=lambda: time.time() > until)
    curves = train(
        learner, asked.settings(), seed=seed, readings=READINGS, checkpoint=checkpoint, hooks=hooks
    )
    contributions, diagnostics = learner.contributions()
    steps = -(-len(data.reward) // asked.settings().batch)
    done = converged(seen[0]) if seen else False
    return {
        **case, "variant": variant, "estimate": float(contributions.mean()), "converged": done,
        "epochs": round(curves["iteration"][-1] / steps, 1), "of_epochs": epochs, "dialogues": len(data.reward),
        "mean": float(data.reward.mean()), "cut": int(found["cut"]),
        "seconds": round(time.perf_counter() - start, 1), "device": device, "diagnostics": diagnostics,
        "curves": {key: np.round(one, 4).tolist() for key, one in curves.items()},
    }  # fmt: skip


def jobs(given: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Variant, what is known of the model, and the case, for each job: the cured variant of every model first."""
    found = []
    for rank, model in enumerate(given.models.split(",")):
        if not (given.folder / f"tokens-{model}.npz").exists():
            continue
        with np.load(given.folder / f"tokens-{model}.npz") as file:
            about = json.loads(str(file["about"]))
        for order, variant in enumerate(VARIANTS):
            for case in about["cases"]:
                place = (case["number"] >= FIRST, order, rank, case["number"])
                found.append((place, variant, about, case))
    for _, *one in sorted(found, key=lambda one: one[0]):
        yield tuple(one)  # type: ignore[misc]


def train_all(given: argparse.Namespace) -> None:
    """Every job that has no result yet and that no other worker has claimed."""
    given.work.mkdir(parents=True, exist_ok=True)
    weights: dict[str, dict[str, Tensor]] = {}
    for variant, about, case in jobs(given):
        name, prefix = about["model"], f"{case['family']}/{case['target']}/"
        place = f"{name}-{variant}-{prefix.strip('/').replace('/', '-')}".replace(" ", "-")
        result = given.work / "results" / f"{place}.json"
        if time.time() > given.until:
            return
        if result.exists():
            known = json.loads(result.read_text())
            if known["converged"] or known["epochs"] >= given.epochs - 1:
                continue
        try:
            claim = os.open(given.work / f"{place}.{given.round}.claim", os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            continue
        os.close(claim)
        with np.load(given.folder / f"tokens-{name}.npz") as file:
            found = {key.removeprefix(prefix): file[key] for key in file.files if key.startswith(prefix)}
        if name not in weights:
            weights = {name: read_weights([given.folder, *given.more], name)}
        model = TunedBert(weights[name], BertShape.of(about["config"]))
        record = trained(
            {**case, "model": name}, found, model, variant=variant, epochs=given.epochs, until=given.until,
            work=given.work, device=given.device,
        )  # fmt: skip
        result.parent.mkdir(parents=True, exist_ok=True)
        part = result.with_suffix(".part")
        part.write_text(json.dumps(record) + "\n")
        part.rename(result)
        print(
            f"{name} {variant} {prefix} {record['estimate']:.3f}, truth {record['truth']:.3f}, mean zeta "
            f"{record['diagnostics']['mean_zeta']:.2f}, ESS {record['diagnostics']['ess']:.0f} of "
            f"{record['dialogues']}, {record['epochs']:g} epochs, converged {record['converged']}, "
            f"{record['seconds']:.0f} s",
            flush=True,
        )


def collect(work: Path, output: Path) -> None:
    """All results in one file."""
    runs = [json.loads(path.read_text()) for path in sorted((work / "results").glob("*.json"))]
    output.write_text(json.dumps({"runs": runs}) + "\n")
    print(f"{len(runs)} results of the tuned encoder, {sum(one['converged'] for one in runs)} converged")


# -- the page ------------------------------------------------------------------------------------------------------


def frozen_estimates() -> dict[tuple[str, str, str], float]:
    """Family, variant and target -> the estimate with the frozen encoder, of papers/enigma-collapse.json."""
    return {
        (row["family"], VARIANT_OF[row["variant"]], one["target"]): one["estimate"]
        for row in json.loads(KEPT.with_name("enigma-collapse.json").read_text())
        for one in row["targets"]
        if row["variant"] in VARIANT_OF
    }


def ended(one: Mapping[str, Any]) -> str:
    """Whether the training converged; one whose weights are all the same stands still because it learned nothing."""
    if one["dialogues"] - one["diagnostics"]["ess"] < SAME:
        return "no: it never moved"
    return "yes" if one["converged"] else "no"


def errors_table(runs: list[dict[str, Any]]) -> str:
    """By encoder, family and variant: mean absolute errors of tuned and frozen encoder and of the plain mean."""
    head = (
        "encoder",
        "family",
        "variant",
        "targets",
        "converged",
        "tuned",
        "frozen MiniLM, quick",
        "plain mean",
        "ESS",
    )
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    frozen = frozen_estimates()
    for key in dict.fromkeys((one["model"], one["family"], one["variant"]) for one in runs):
        some = [one for one in runs if (one["model"], one["family"], one["variant"]) == key]
        said = [(one["estimate"], frozen[(*key[1:], one["target"])], one["mean"]) for one in some]
        truth = np.array([[one["truth"]] for one in some])
        errors = [f"{error:.3f}" for error in np.abs(np.array(said) - truth).mean(0)]
        sizes = [one["diagnostics"]["ess"] for one in some]
        counts = (str(len(some)), str(sum(ended(one) == "yes" for one in some)))
        lines.append(f"| {' | '.join((*key, *counts, *errors, f'{min(sizes):.0f} to {max(sizes):.0f}'))} |")
    return "\n".join(lines)


def table(runs: list[dict[str, Any]]) -> str:
    """One line for each training; `moved` is the range over the last fifth of the readings that were planned."""
    head = (
        "encoder", "family", "variant", "target", "epochs", "truth", "plain mean", "estimate", "moved", "mean zeta",
        "moved", "ESS", "converged", "frozen MiniLM, quick",
    )  # fmt: skip
    frozen = frozen_estimates()
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for one in sorted(runs, key=lambda one: (one["model"], one["family"], one["variant"], one["number"])):
        last = {name: one["curves"][name][-STILL:] for name in ("estimate", "mean_zeta")}
        moved = {name: f"{np.ptp(values):.3f}" for name, values in last.items()}
        cells = (
            one["model"], one["family"], one["variant"], one["target"].split("-")[-1], f"{one['epochs']:.0f}",
            f"{one['truth']:.3f}", f"{one['mean']:.3f}", f"{one['estimate']:.3f}", moved["estimate"],
            f"{one['diagnostics']['mean_zeta']:.2f}", moved["mean_zeta"],
            f"{one['diagnostics']['ess']:.0f} of {one['dialogues']}", ended(one),
            f"{frozen[one['family'], one['variant'], one['target']]:.3f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def show(file: Path) -> None:
    """Keep the results and rewrite the table of the page."""
    found = {"runs": json.loads(file.read_text())["runs"]}
    KEPT.write_text(json.dumps(found) + "\n")
    text = PAGE.read_text()
    for name, made in {"tuned": table(found["runs"]), "tuned errors": errors_table(found["runs"])}.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        text = block.sub(lambda part, made=made: f"{part[1]}{made}\n{part[2]}", text)
    PAGE.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("folder", type=Path)
    one.add_argument("model", help="minilm, or a folder")
    for name, size in (("agents", AGENTS), ("dialogues", DIALOGUES), ("truth", TRUTH)):
        one.add_argument(f"--{name}", type=int, default=size)
    one = commands.add_parser("train")
    one.add_argument("folder", type=Path)
    one.add_argument("work", type=Path)
    one.add_argument("--until", type=float, required=True, help="seconds since 1970 at which it stops")
    one.add_argument("--models", default="minilm,mpnet", help="in the order in which they are trained")
    one.add_argument("--more", type=Path, nargs="*", default=[], help="further folders with files of weights")
    one.add_argument("--round", type=int, default=0, help="another number lets claimed jobs go on")
    one.add_argument("--epochs", type=int, default=500)
    one.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    one = commands.add_parser("collect")
    one.add_argument("work", type=Path)
    one.add_argument("file", type=Path)
    one = commands.add_parser("show")
    one.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "prepare":
        prepare(given.folder, given.model, agents=given.agents, dialogues=given.dialogues, truth=given.truth)
    elif given.command == "train":
        train_all(given)
    elif given.command == "collect":
        collect(given.work, given.file)
    else:
        show(given.file)


if __name__ == "__main__":
    main()
