"""`python -m papers.enigma_tuned prepare|train|collect|show`: neural ENIGMA with its encoder tuned until it converges.

    prepare FOLDER                    on a CPU: logs, tokens and MiniLM's weights for a GPU machine without a network
    train FOLDER WORK --until TIME    there: every job that has no result in WORK/results, from its checkpoint if any
    collect WORK FILE                 there: all results in one file
    show FILE                         the table of papers/enigma-neural.md, and papers/enigma-tuned-converged.json

The logs are those of papers/enigma_collapse.py: ten newly drawn sellers of a family, 30 dialogues each, reward
relabelled, each left out. Estimator, losses, batches and schedule are the package's (`enigma[tuned=true]`); only the
encoder runs on tensors that stay on the GPU, in bf16 where autocast allows it, because `transformers` and the building
of masks on the CPU took most of a step. The weights are carried in fp16 and trained in fp32.
"""

import argparse
import json
import re
import time
from collections.abc import Mapping
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
from turnwise.estimators.neural.enigma import ZETA_RANGE, Enigma
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
READINGS = 50
# A training has converged if over the last fifth of its readings the estimate and the mean zeta stay within these.
STILL, STILL_ESTIMATE, STILL_ZETA = READINGS // 5, 0.02, 0.1
LEAST = READINGS // 2  # readings before which no training counts as converged
EVERY = 60.0  # seconds between checkpoints
PAGE = Path(__file__).with_name("enigma-neural.md")
KEPT = Path(__file__).with_name("enigma-tuned-converged.json")
_TOKEN_FIELDS = ("ids", "position", "kind", "time", "part", "logged")
_DATA_FIELDS = ("first", "row", "logged", "target", "weight", "reward", "rating")


# -- on the CPU: logs, tokens, weights -----------------------------------------------------------------------------


def prepare(folder: Path, *, agents: int = AGENTS, dialogues: int = DIALOGUES, truth: int = TRUTH) -> None:
    """Write FOLDER/tuned.npz: the training data of every target as tokens, and the encoder's weights in fp16."""
    from safetensors.torch import load_file

    import turnwise as tw
    from turnwise.encode.episodes import encode, leave_out, whole
    from turnwise.encode.models.catalogue import locate
    from turnwise.estimators.neural.row_vectors import encoder
    from turnwise.logs.native import read_all

    arrays: dict[str, np.ndarray] = {}
    cases = []
    for family in FAMILIES:
        with TemporaryDirectory() as place:
            logs = str(Path(place) / "logs.jsonl")
            made = tw.simulate(
                "booking", output=logs, family=family, draw=DRAW, agents=agents, dialogues=dialogues,
                samples=SAMPLES, truth=truth,
            )  # fmt: skip
            held = list(read_all([logs]))
        rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in held}
        episodes = encode(whole(held, rewards), rating="reward", scale=(0, 1), delexicalised=False)
        for number, (target, means) in enumerate(made.truth["agents"].items()):
            data = gather(leave_out(episodes, {target}), target)
            scripts = encoder("minilm", "mean").scripts(data.dialogues)
            arrays |= {f"{family}/{target}/{name}": one for name, one in packed(data, scripts).items()}
            cases.append(
                {"family": family, "target": target, "number": number, "truth": means["reward"]["mean"]}
            )
    model = locate("minilm")
    weights = load_file(model / "model.safetensors")
    used = np.unique(np.concatenate([one for name, one in arrays.items() if name.endswith("/ids")]))
    for name in arrays:
        if name.endswith("/ids"):  # the rows of the embeddings that are carried
            arrays[name] = np.searchsorted(used, arrays[name]).astype(np.uint16)
    for name, tensor in weights.items():
        if name.startswith(("embeddings.", "encoder.")) and tensor.is_floating_point():
            rows = tensor[torch.from_numpy(used.astype(np.int64))] if "word_embeddings" in name else tensor
            arrays[f"weights/{name}"] = rows.half().numpy()
    config = json.loads((model / "config.json").read_text())
    arrays["cases"] = np.array(json.dumps({"cases": cases, "config": config}))
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "tuned.npz", **arrays)


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
    """All weights are trained, and positions and the attention mask are given."""

    def __init__(self, weights: Mapping[str, Tensor], shape: BertShape) -> None:
        super().__init__(weights, shape)
        self.requires_grad_(True)

    def hidden(self, tokens: Tensor, kinds: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """(b, l, d) hidden states; `mask` (b, 1, l, l) is true where a token may attend."""
        x: Tensor = self.norm(
            functional.embedding(tokens, self.word)
            + functional.embedding(kinds, self.kind)
            + functional.embedding(positions, self.position)
        )
        for layer in self.layers:
            x = layer(x, mask)
        return x


class TokensOnDevice:
    """A source of rows (`turnwise.estimators.neural.batches.Source`): an encoder in training, and all tokens."""

    def __init__(self, found: Mapping[str, np.ndarray], model: TunedBert, device: str) -> None:
        self.model, self.width, self.device = model.to(device), model.shape.width, device
        self.lengths = found["lengths"]
        size = (len(self.lengths), int(self.lengths.max()))
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
        width = int(self.lengths[dialogues].max())
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
    """Whether estimate and mean zeta have stopped moving."""
    if len(curve) <= LEAST:
        return False
    last = curve[-STILL:]
    moved = {name: np.ptp([point[name] for point in last]) for name in ("estimate", "mean_zeta")}
    return bool(moved["estimate"] < STILL_ESTIMATE and moved["mean_zeta"] < STILL_ZETA)


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
    name = digest(case["family"], case["target"], variant, str(epochs), data.reward)
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
        "seconds": round(time.perf_counter() - start, 1), "diagnostics": diagnostics,
        "curves": {key: np.round(one, 4).tolist() for key, one in curves.items()},
    }  # fmt: skip


def train_all(given: argparse.Namespace) -> None:
    """Every `--every`-th job, from number `--start`, that has no result yet."""
    with np.load(given.folder / "tuned.npz") as file:
        about = json.loads(str(file["cases"]))
        jobs = [
            (variant, case)
            for later in (False, True)
            for variant in VARIANTS
            for case in about["cases"]
            if (case["number"] >= FIRST) == later
        ]
        for variant, case in jobs[given.start :: given.every]:
            prefix = f"{case['family']}/{case['target']}/"
            result = given.work / "results" / f"{variant}-{prefix.replace('/', '-')}.json".replace(" ", "-")
            if result.exists() and json.loads(result.read_text())["epochs"] >= given.epochs - 1:
                continue
            if (result.exists() and json.loads(result.read_text())["converged"]) or time.time() > given.until:
                continue
            found = {name.removeprefix(prefix): file[name] for name in file.files if name.startswith(prefix)}
            weights = {
                name.removeprefix("weights/"): torch.from_numpy(file[name])
                for name in file.files
                if name.startswith("weights/")
            }
            model = TunedBert(weights, BertShape.of(about["config"]))
            record = trained(
                case, found, model, variant=variant, epochs=given.epochs, until=given.until, work=given.work,
                device=given.device,
            )  # fmt: skip
            result.parent.mkdir(parents=True, exist_ok=True)
            result.write_text(json.dumps(record) + "\n")
            print(
                f"{variant} {prefix} {record['estimate']:.3f}, truth {record['truth']:.3f}, mean zeta "
                f"{record['diagnostics']['mean_zeta']:.2f}, ESS {record['diagnostics']['ess']:.0f} of "
                f"{record['dialogues']}, {record['epochs']:g} epochs, converged {record['converged']}, "
                f"{record['seconds']:.0f} s",
                flush=True,
            )


def collect(work: Path, output: Path) -> None:
    """All results in one file, without the device's name if there is no GPU."""
    runs = [json.loads(path.read_text()) for path in sorted((work / "results").glob("*.json"))]
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    output.write_text(json.dumps({"device": device, "runs": runs}) + "\n")
    print(f"{len(runs)} results of the tuned encoder, {sum(one['converged'] for one in runs)} converged")


# -- the page ------------------------------------------------------------------------------------------------------


def table(runs: list[dict[str, Any]]) -> str:
    """One line for each family and variant."""
    head = (
        "family", "variant", "targets", "converged", "epochs", "collapsed", "mean zeta", "ESS", "MAE", "Pearson",
        "MAE of the plain mean", "its Pearson",
    )  # fmt: skip
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for family in FAMILIES:
        for variant in VARIANTS:
            some = [one for one in runs if (one["family"], one["variant"]) == (family, variant)]
            if not some:
                continue
            truth, estimate, plain = (
                np.array([one[key] for one in some]) for key in ("truth", "estimate", "mean")
            )
            zeta, size = (np.array([one["diagnostics"][key] for one in some]) for key in ("mean_zeta", "ess"))
            epochs = [one["epochs"] for one in some]
            collapsed = int(np.sum((zeta < ZETA_RANGE[0]) | (zeta > ZETA_RANGE[1])))
            cells = [
                family, variant, len(some), sum(one["converged"] for one in some),
                f"{min(epochs):.0f} to {max(epochs):.0f}", collapsed, f"{zeta.min():.2f} to {zeta.max():.2f}",
                f"{size.min():.0f} to {size.max():.0f} of {some[0]['dialogues']}",
                f"{np.abs(truth - estimate).mean():.3f}", f"{np.corrcoef(truth, estimate)[0, 1]:.3f}",
                f"{np.abs(truth - plain).mean():.3f}", f"{np.corrcoef(truth, plain)[0, 1]:.3f}",
            ]  # fmt: skip
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def show(file: Path) -> None:
    """Keep the results and rewrite the table of the page."""
    found = json.loads(file.read_text())
    KEPT.write_text(json.dumps(found) + "\n")
    text = PAGE.read_text()
    block = re.compile(r"(<!-- tuned -->\n).*?(<!-- /tuned -->)", re.S)
    PAGE.write_text(block.sub(lambda part: f"{part[1]}{table(found['runs'])}\n{part[2]}", text))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("folder", type=Path)
    for name, size in (("agents", AGENTS), ("dialogues", DIALOGUES), ("truth", TRUTH)):
        one.add_argument(f"--{name}", type=int, default=size)
    one = commands.add_parser("train")
    one.add_argument("folder", type=Path)
    one.add_argument("work", type=Path)
    one.add_argument("--until", type=float, required=True, help="seconds since 1970 at which it stops")
    one.add_argument("--start", type=int, default=0)
    one.add_argument("--every", type=int, default=1)
    one.add_argument("--epochs", type=int, default=500)
    one.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    one = commands.add_parser("collect")
    one.add_argument("work", type=Path)
    one.add_argument("file", type=Path)
    one = commands.add_parser("show")
    one.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "prepare":
        prepare(given.folder, agents=given.agents, dialogues=given.dialogues, truth=given.truth)
    elif given.command == "train":
        train_all(given)
    elif given.command == "collect":
        collect(given.work, given.file)
    else:
        show(given.file)


if __name__ == "__main__":
    main()
