"""LAVA, PLAS and policy gradient on MultiWOZ 2.0: the figures of papers/lava.md.

    python papers/lava_corpus.py multiwoz_delex.jsonl.gz multiwoz_db out/lava-gpu   # once, without a GPU
    papers/lava.sh                                       # trains, on a GPU in 170 s: a JSON file a seed and stage
    SIZE=small papers/lava.sh                            # a smaller model, without a GPU, in hours
    python papers/lava_tables.py RESULTS                 # papers/lava.json, and the tables of papers/lava.md

On a GPU there is one process for each seed and objective. Each stage ends at a fixed time after the start, so that the
whole run ends in time on any machine; the number of updates is written with the result. Without a GPU, the stages after
the joint objective run one after the other, each to its end.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
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
from turnwise.networks.lava.model import Curve, Ground, Model
from turnwise.networks.lava.search import Search
from turnwise.networks.lava.situation import Situation
from turnwise.networks.lava.words import Words
from turnwise.run.train.policy_judge import Judge

EVALUATORS: tuple[Evaluator, ...] = ("multiwoz2018", "leaderboard")
# Seconds after the start of the run at which each stage ends; the remaining time is for the last evaluation.
ENDS = {
    "joint": 62.0,
    "warm": 71.0,
    "alternate": 144.0,
    "kl": 144.0,
    "plas": 142.0,
    "gentle": 114.0,
    "undiscounted": 142.0,
    "close": 142.0,
    "gradient": 146.0,
}
GENTLE = {"critic_rate": 3e-3, "actor_rate": 3e-4, "batch": 64, "episodes": 200_000, "lead": 200}
VARIANTS: dict[str, dict[str, Any]] = {
    "plas": {},
    "gentle": GENTLE,
    "undiscounted": {**GENTLE, "gamma": 0.99},
    "close": {**GENTLE, "closeness": 4.0},
}
LATER = 58.0  # seconds after which the objectives start that no other stage continues


@dataclass(frozen=True, slots=True)
class Size:
    supervised: Mapping[str, Any]
    plas: Mapping[str, Any]
    gradient: Mapping[str, Any]
    dialogues: int | None = None  # of each split; None: all
    stretch: float = 1.0  # factor on the times of `ENDS`
    # Stages that run after the warm-up in the same process.
    variants: tuple[str, ...] = ("plas", "undiscounted")
    beside: bool = True  # run other stages in parallel processes as soon as they can start


SIZES = {
    "full": Size(
        {"batch": 256, "rate": 1e-3, "epochs": 60, "patience": 4},
        {"every": 15},
        {"episodes": 500_000, "rate": 1e-3, "every": 15},
    ),
    "tiny": Size(
        {"batch": 64, "rate": 5e-3, "epochs": 3, "embedding": 16, "hidden": 24, "latent": 12},
        {"episodes": 64, "batch": 16, "every": 2, "hidden": 32, "lead": 1},
        {"episodes": 192, "batch": 16, "every": 2},
        dialogues=60,
        stretch=20.0,
    ),
    "small": Size(
        {"batch": 64, "rate": 2e-3, "epochs": 8, "embedding": 48, "hidden": 96, "latent": 64},
        {"every": 20},
        {"episodes": 12_800, "rate": 1e-3, "every": 20},
        dialogues=3000,
        stretch=math.inf,
        variants=("plas",),
        beside=False,
    ),
}  # fmt: skip


class Bench:
    """One seed of one objective: its corpora, its time limits and its results."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.size, self.given = SIZES[given.size], given
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        config = json.loads((given.data / "corpus.json").read_text())
        self.words = Words(tuple(config["words"]))
        self.situation = Situation(
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

    def judge(self, split: str) -> Judge:
        dialogues = list(read_all([str(self.given.data / f"{split}.jsonl.gz")]))
        return Judge(dialogues[: self.size.dialogues], db=str(self.given.tables))

    def until(self, stage: str) -> Callable[[], bool]:
        return lambda: time.time() - self.given.start > ENDS[stage] * self.size.stretch

    def settings(self, **more: Any) -> supervised.Settings:
        return supervised.Settings(**{**self.size.supervised, **more}, device=self.device)

    def model(self) -> Model:
        settings = self.settings()
        seed = self.given.seed
        model = Model.new(self.words, self.situation, longest=settings.longest, seed=seed, **settings.sizes)
        model.network.to(self.device)
        return model

    def write(self, stage: str, found: Mapping[str, Any]) -> None:
        target = self.given.output / f"{stage}-{self.given.seed}.json"
        result = {
            "stage": stage,
            "seed": self.given.seed,
            "size": self.given.size,
            "device": self.device,
            **found,
        }
        result["at"] = round(time.time() - self.given.start, 1)
        draft = target.with_suffix(".part")
        draft.write_text(json.dumps(result, indent=1))
        os.replace(draft, target)

    def scores(self, model: Model, split: str, judge: Judge) -> dict[str, Any]:
        data = self.corpora[split]
        replies = model.speak(data.user, data.state)
        found: dict[str, Any] = {"split": split, **judge.scores(replies, EVALUATORS)}
        if split == "test":
            found["examples"] = replies[:24]
        return found

    def keep(self, name: str, model: Model) -> None:
        target = self.given.work / f"{name}-{self.given.seed}"
        folder.save(target, kind="lava", tensors=model.tensors(), config=model.config, card={})

    def kept(self, name: str) -> Model:
        stored = folder.load(self.given.work / f"{name}-{self.given.seed}", "lava")
        return Model.of(stored, device=self.device)

    def beside(self, stage: str) -> subprocess.Popen[bytes]:
        """Start another stage of this seed in a new process."""
        words = [sys.executable, __file__, stage]
        for name in ("seed", "size", "data", "tables", "work", "output", "start"):
            words += [f"--{name}", str(getattr(self.given, name))]
        return subprocess.Popen(words)

    def log(self, line: str) -> None:
        print(
            f"{time.time() - self.given.start:6.1f} {self.given.stage}-{self.given.seed} {line}", flush=True
        )


def supervise(bench: Bench) -> None:
    """Train one supervised objective; after the joint one, also run the stages that continue from it."""
    given, objective = bench.given, bench.given.stage
    if objective != "joint" and bench.size.stretch == 1.0:
        time.sleep(max(0.0, given.start + LATER - time.time()))
    model, settings = bench.model(), bench.settings(objective=objective)
    learned, held = bench.corpora["train"], bench.corpora["val"]
    began = time.time()
    curve = supervised.train(
        model, learned, held, settings=settings, seed=given.seed, stop=bench.until(objective), say=bench.log
    )
    seconds, beside = time.time() - began, []
    if objective == "joint":
        bench.keep("joint", model)
        beside = [bench.beside("gradient")] if bench.size.beside else []
    test = bench.judge("test")
    found = {"curve": curve, "seconds": seconds, "test": bench.scores(model, "test", test)}
    bench.write(objective, found)
    bench.log(_line(found))
    if objective == "joint":
        curve = warm(bench, model)
        if bench.size.beside:
            beside.append(bench.beside("gentle"))
        found = {"curve": curve, "test": bench.scores(model, "test", test)}
        bench.write("warm", found)
        bench.log(_line(found))
        for stage in bench.size.variants:
            improve(bench, stage, model, test)
        if not bench.size.beside:
            climb(bench, bench.kept("joint"))
    for process in beside:
        process.wait()


def warm(bench: Bench, model: Model) -> Curve:
    """The warm-up (eq. 5) of PLAS; changes the model in place."""
    epochs = plas.Settings(device=bench.device).warm
    curve = supervised.learn(
        model, bench.corpora["train"], bench.corpora["val"], task="vae", epochs=epochs,
        settings=bench.settings(patience=epochs), seed=bench.given.seed, stop=bench.until("warm"), say=bench.log,
    )  # fmt: skip
    bench.keep("warm", model)
    return curve


def improve(bench: Bench, stage: str, model: Model, test: Judge) -> None:
    """Run PLAS from a model after the warm-up, unless the stage's time is already over."""
    if bench.until(stage)():
        return
    given = bench.given
    settings = plas.Settings(**{**VARIANTS[stage], **bench.size.plas}, device=bench.device)
    ground, began = Ground(bench.corpora["val"], bench.judge("val").success), time.time()
    best, search = plas.train(
        model, bench.corpora["train"], bench.rewards, ground, settings=settings, seed=given.seed,
        stop=bench.until(stage), say=bench.log,
    )  # fmt: skip
    _finish(bench, stage, best, search, test, time.time() - began)


def climb(bench: Bench, model: Model) -> None:
    """Run policy gradient from the joint supervised model."""
    ground = Ground(bench.corpora["train"], bench.judge("train").success)
    held, began = Ground(bench.corpora["val"], bench.judge("val").success), time.time()
    settings = gradient.Settings(**bench.size.gradient, device=bench.device)
    best, search = gradient.train(
        model,
        ground,
        held,
        settings=settings,
        seed=bench.given.seed,
        stop=bench.until("gradient"),
        say=bench.log,
    )
    _finish(bench, "gradient", best, search, bench.judge("test"), time.time() - began)


def _finish(bench: Bench, stage: str, best: Model, search: Search, test: Judge, seconds: float) -> None:
    bench.keep(stage, best)
    found: dict[str, Any] = {
        "seconds": seconds,
        "curve": search.curve,
        "test": bench.scores(best, "test", test),
    }
    bench.write(stage, found)
    bench.log(_line(found))
    found["last"] = bench.scores(search.last, "test", test)  # without the choice of a checkpoint
    bench.write(stage, found)


def _line(found: Mapping[str, Any]) -> str:
    return "test {match:.1f} {success:.1f} {bleu:.2f}".format(**found["test"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=("joint", "alternate", "kl", "gentle", "gradient"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", choices=SIZES, default="full")
    for name in ("--data", "--tables", "--work", "--output"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument(
        "--start", type=float, default=time.time(), help="when everything began, by the clock"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    given.output.mkdir(parents=True, exist_ok=True)
    bench = Bench(given)
    if given.stage == "gradient":
        climb(bench, bench.kept("joint"))
    elif given.stage == "gentle":
        for stage in ("gentle", "close"):
            improve(bench, stage, bench.kept("warm"), bench.judge("test"))
    else:
        supervise(bench)


if __name__ == "__main__":
    main()
