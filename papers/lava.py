"""LAVA, PLAS and policy gradient on MultiWOZ 2.0: the figures of papers/lava.md.

    python papers/lava_corpus.py multiwoz_delex.jsonl.gz multiwoz_db out/lava-gpu   # once, without a GPU
    papers/lava.sh                                       # trains, on a GPU: a JSON file a seed and stage
    SIZE=small AFTER= SEEDS=0 papers/lava.sh             # a smaller model, without a GPU, in a quarter of an hour
    python papers/lava_tables.py RESULTS                 # papers/lava.json, and the tables of papers/lava.md

`python papers/lava.py STAGE... --seed N` runs stages of one seed one after the other, each to its end. A stage whose
JSON file exists is skipped. A stage that follows another loads its model from --work and is an error without it. The
supervised stages resume from their last epoch after a kill; the others start again.
"""

import argparse
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lava_corpus import PARTS, SPLITS

from turnwise.encode.models import folder
from turnwise.logs.native import read_all
from turnwise.metrics.task.offers import Evaluator
from turnwise.networks.lava import gradient, plas, supervised
from turnwise.networks.lava.corpus import Corpus
from turnwise.networks.lava.model import EvaluatedDialogues, Model
from turnwise.networks.lava.search import Search
from turnwise.networks.lava.state_layout import StateLayout
from turnwise.networks.lava.words import Words
from turnwise.run.train.policy_evaluation import PolicyEvaluator

EVALUATORS: tuple[Evaluator, ...] = ("multiwoz2018", "leaderboard")
PAPER = {  # section 5.2 of the paper; sigma is not stated
    "anchor": "logged",
    "closeness": 1.0,
    "penalty": 0.1,
    "critic_rate": 0.01,
    "actor_rate": 0.005,
    "episodes": 10_000,
    "lead": 100,
    "sigma": 2.0,
    "every": 15,
}
# Settings of PLAS by the name of the stage. `plas` has the defaults, which are best on the validation dialogues.
VARIANTS: dict[str, dict[str, Any]] = {
    "plas": {},
    "policy-10": {"closeness": 10.0},
    "policy-30": {"closeness": 30.0},
    "policy-100": {"closeness": 100.0},
    "policy-10-slow": {"closeness": 10.0, "actor_rate": 2e-4},
    "policy-30-slow": {"closeness": 30.0, "actor_rate": 2e-4},
    "policy-30-penalty": {"closeness": 30.0, "penalty": 0.003},
    "logged-10": {"anchor": "logged", "closeness": 10.0},
    "logged-30": {"anchor": "logged", "closeness": 30.0},
    "paper": PAPER,
    "paper-wide": {**PAPER, "sigma": 4.0},
}
RATES = {"gradient": 1e-4, "gradient-slow": 2e-5}  # of policy gradient
OBJECTIVES = ("joint", "alternate", "kl")
STAGES = (*OBJECTIVES, "warm", *VARIANTS, *RATES)


@dataclass(frozen=True, slots=True)
class Size:
    supervised: Mapping[str, Any]
    plas: Mapping[str, Any]
    gradient: Mapping[str, Any]
    dialogues: int | None = None  # of each split; None: all


SIZES = {
    "full": Size(
        {"batch": 256, "rate": 1e-3, "epochs": 60, "patience": 4},
        {},
        {"episodes": 307_200, "every": 15},  # 2,400 updates
    ),
    "tiny": Size(
        {"batch": 64, "rate": 5e-3, "epochs": 3, "embedding": 16, "hidden": 24, "latent": 12},
        {"episodes": 64, "batch": 16, "every": 2, "hidden": 32, "lead": 1},
        {"episodes": 192, "batch": 16, "every": 2},
        dialogues=60,
    ),
    "small": Size(
        {"batch": 64, "rate": 2e-3, "epochs": 8, "embedding": 48, "hidden": 96, "latent": 64},
        {},
        {"episodes": 38_400, "every": 20},
        dialogues=3000,
    ),
}  # fmt: skip


def result(given: argparse.Namespace, stage: str) -> Path:
    """The file of the stage's result."""
    return Path(given.output) / f"{stage}-{given.seed}.json"


class Bench:
    """One seed of one objective: its corpora, its time limits and its results."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.size, self.given = SIZES[given.size], given
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        config = json.loads((given.data / "corpus.json").read_text())
        self.words = Words(tuple(config["words"]))
        self.layout = StateLayout(
            tuple(map(tuple, config["slots"])), tuple(map(tuple, config["wishes"])), config["pointer"]
        )
        with np.load(given.data / "corpus.npz") as arrays:
            self.corpora = {name: self._corpus(arrays, name) for name in SPLITS}
            self.rewards = arrays["train.success"][: self.size.dialogues]

    def _corpus(self, arrays: Any, name: str) -> Corpus:
        made = {part: arrays[f"{name}.{part}"] for part in PARTS}
        turns = made["turns"][: self.size.dialogues]
        rows = turns.max() + 1
        tensors = {part: torch.as_tensor(made[part][:rows]).long() for part in ("user", "reply")}
        tensors["state"] = torch.as_tensor(made["state"][:rows]).float()
        tensors["goal"] = torch.as_tensor(made["goal"][: len(turns)]).float()
        return Corpus(**tensors, turns=torch.as_tensor(turns).long()).to(self.device)

    def judge(self, split: str) -> PolicyEvaluator:
        dialogues = list(read_all([str(self.given.data / f"{split}.jsonl.gz")]))
        return PolicyEvaluator(dialogues[: self.size.dialogues], db=str(self.given.tables))

    def settings(self, **more: Any) -> supervised.Settings:
        weights = {"alpha": self.given.weight, "beta": self.given.weight}
        return supervised.Settings(**{**self.size.supervised, **weights, **more}, device=self.device)

    def model(self) -> Model:
        settings = self.settings()
        seed = self.given.seed
        model = Model.new(
            self.words,
            self.layout,
            longest=settings.longest,
            seed=seed,
            beta=settings.beta,
            **settings.sizes,
        )
        model.network.to(self.device)
        return model

    def write(self, stage: str, found: Mapping[str, Any]) -> None:
        """Write the result of a stage, whole or not at all, and print its scores."""
        about = {"stage": stage, "kl": "mean"}  # the KL is the mean over latent dimensions
        about |= {name: getattr(self.given, name) for name in ("seed", "size", "weight")}
        target = result(self.given, stage)
        draft = target.with_suffix(".part")
        draft.write_text(json.dumps({**about, "device": self.device, **found}, indent=1))
        os.replace(draft, target)
        self.log(stage, "test {match:.1f} {success:.1f} {bleu:.2f}".format(**found["test"]))

    def scores(self, model: Model, split: str, judge: PolicyEvaluator) -> dict[str, Any]:
        data = self.corpora[split]
        replies = model.speak(data.user, data.state)
        found: dict[str, Any] = {"split": split, **judge.scores(replies, EVALUATORS)}
        if split == "test":
            found["examples"] = replies[:4]
        return found

    def keep(self, name: str, model: Model) -> None:
        target = self.given.work / f"{name}-{self.given.seed}"
        folder.save(target, kind="lava", tensors=model.tensors(), config=model.config, card={})

    def kept(self, name: str) -> Model:
        stored = folder.load(self.given.work / f"{name}-{self.given.seed}", "lava")
        return Model.of(stored, device=self.device)

    def log(self, stage: str, line: str) -> None:
        print(f"{time.time() - self.given.start:6.1f} {stage}-{self.given.seed} {line}", flush=True)


def run(bench: Bench, stage: str) -> None:
    """Run one stage and write its result."""
    if stage in OBJECTIVES:
        supervise(bench, stage)
    elif stage == "warm":
        warm(bench)
    elif stage in VARIANTS:
        improve(bench, stage)
    else:
        climb(bench, stage)


def supervise(bench: Bench, stage: str) -> None:
    """Train one supervised objective."""
    given, model, settings = bench.given, bench.model(), bench.settings(objective=stage)
    began, processor = time.time(), time.process_time()
    curve = supervised.train(
        model, bench.corpora["train"], bench.corpora["val"], settings=settings, seed=given.seed,
        work=given.work / "checkpoints" / f"{stage}-{given.seed}", about=f"{given.size} {settings}",
        report=lambda line: bench.log(stage, line),
    )  # fmt: skip
    took = {"seconds": time.time() - began, "processor": time.process_time() - processor}
    bench.keep(stage, model)
    test = bench.scores(model, "test", bench.judge("test"))
    bench.write(stage, {**took, "curve": curve, "test": test})


def warm(bench: Bench) -> None:
    """The warm-up (eq. 5) of PLAS."""
    model, epochs = bench.kept("joint"), plas.Settings(device=bench.device).warm
    began = time.time()
    curve = supervised.learn(
        model, bench.corpora["train"], bench.corpora["val"], task="vae", epochs=epochs,
        settings=bench.settings(patience=epochs), seed=bench.given.seed, report=lambda line: bench.log("warm", line),
    )  # fmt: skip
    seconds = time.time() - began
    bench.keep("warm", model)
    test = bench.scores(model, "test", bench.judge("test"))
    bench.write("warm", {"seconds": seconds, "curve": curve, "test": test})


def improve(bench: Bench, stage: str) -> None:
    """Run PLAS from the model after the warm-up."""
    chosen = {**VARIANTS[stage], **bench.size.plas}
    ground, began = EvaluatedDialogues(bench.corpora["val"], bench.judge("val").success), time.time()
    best, search = plas.train(
        bench.kept("warm"), bench.corpora["train"], bench.rewards, ground, seed=bench.given.seed,
        settings=plas.Settings(**chosen, device=bench.device), report=lambda line: bench.log(stage, line),
    )  # fmt: skip
    _finish(bench, stage, chosen, best, search, time.time() - began)


def climb(bench: Bench, stage: str) -> None:
    """Run policy gradient from the joint supervised model."""
    chosen = {"rate": RATES[stage], **bench.size.gradient}
    ground = EvaluatedDialogues(bench.corpora["train"], bench.judge("train").success)
    held, began = EvaluatedDialogues(bench.corpora["val"], bench.judge("val").success), time.time()
    best, search = gradient.train(
        bench.kept("joint"), ground, held, seed=bench.given.seed,
        settings=gradient.Settings(**chosen, device=bench.device), report=lambda line: bench.log(stage, line),
    )  # fmt: skip
    _finish(bench, stage, chosen, best, search, time.time() - began)


def _finish(
    bench: Bench, stage: str, chosen: Mapping[str, Any], best: Model, search: Search, seconds: float
) -> None:
    """Write the scores of the chosen checkpoint, and those of the last update (`last`)."""
    bench.keep(stage, best)
    judge = bench.judge("test")
    found = {"settings": chosen, "seconds": seconds, "curve": search.curve}
    scores = {name: bench.scores(one, "test", judge) for name, one in (("test", best), ("last", search.last))}
    bench.write(stage, {**found, **scores})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stages", nargs="+", choices=STAGES, metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument(
        "--weight", type=float, default=0.01, help="of the KL terms, in nats per latent dimension"
    )
    for name in ("--data", "--tables", "--work", "--output"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument(
        "--start", type=float, default=time.time(), help="when everything began, by the clock"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    given.output.mkdir(parents=True, exist_ok=True)
    left = [stage for stage in given.stages if not result(given, stage).exists()]
    print(f"done before: {', '.join(stage for stage in given.stages if stage not in left) or 'nothing'}")
    if left:
        bench = Bench(given)
        for stage in left:
            run(bench, stage)


if __name__ == "__main__":
    main()
