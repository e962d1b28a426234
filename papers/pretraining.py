"""Pretrain HRED, VHRED, a dual and a character encoder on dialogues; `papers/pretraining.json` has the curves.

    python papers/pretraining.py prepare out/pretraining.json.gz       the dialogues that share no turn with rated ones
    python papers/pretraining.py train out/pretraining.json.gz vhred -o out/vhred [--set KEY=VALUE]... [--half]
    python papers/pretraining.py keep NAME=out/vhred ...               settings and curve into papers/pretraining.json

`prepare` takes DailyDialog's training part and the BYU chit-chat corpus, and removes every dialogue that has a turn of
six words or more in common with a rated corpus or with the other parts of DailyDialog. DailyDialog is under CC
BY-NC-SA, so these models are for experiments and are not shipped.
"""

import argparse
import gzip
import json
import lzma
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
RATED = ("usr_persona", "grade", "fed_turn", "fed_dialog", "engage", "holistic", "fbd", "dstc7", "ieval", "ji2022",
         "convai2_2018", "personachat", "empathetic_contexts", "dailydialog_multiref")  # fmt: skip
LONG = 6  # words; shorter turns occur in many dialogues


def prepare(target: Path) -> None:
    """Write the dialogues for training, each as a list of texts."""
    kept, counts = selected()
    with gzip.GzipFile(target, "wb", mtime=0) as file:
        file.write(json.dumps({"counts": counts, "dialogues": kept}, ensure_ascii=False).encode())
    print(json.dumps(counts))


def selected() -> tuple[list[list[str]], dict[str, dict[str, int]]]:
    """The dialogues for training, and how many of each corpus there were before and after the selection."""
    known = {turn for name in RATED for record in _records(name) for turn in _long_turns(record)}
    held = [record for record in _records("dailydialog") if record["meta"]["split"] != "train"]
    known |= {turn for record in held for turn in _long_turns(record)}
    counts = {}
    kept: list[list[str]] = []
    for name in ("dailydialog", "chitchat_byu"):
        records = [one for one in _records(name) if name != "dailydialog" or one["meta"]["split"] == "train"]
        clean = [one for one in records if known.isdisjoint(_long_turns(one))]
        distinct = {json.dumps([message["content"] for message in one["messages"]]) for one in clean}
        counts[name] = {"dialogues": len(records), "clean": len(clean), "distinct": len(distinct)}
        kept += [json.loads(text) for text in sorted(distinct)]
    return kept, counts


def _records(name: str) -> Iterator[dict[str, Any]]:
    path = next(path for path in (DATA / f"{name}.jsonl", DATA / f"{name}.jsonl.gz") if path.exists())
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        yield from map(json.loads, file)


def _long_turns(record: dict[str, Any]) -> set[str]:
    texts = [message["content"] for message in record["messages"]]
    words = (re.findall(r"\w+", text.lower()) for text in texts)
    return {" ".join(turn) for turn in words if len(turn) >= LONG}


class _Enough(Exception):
    """Raised when the time is over; the checkpoint has the last state."""


def train(source: Path, kind: str, target: Path, settings: dict[str, Any], given: argparse.Namespace) -> None:
    """Train until the held-out bound has stopped falling or the time is over; a later call resumes."""
    import torch

    from turnwise.encode.models import folder
    from turnwise.networks import characters, dual
    from turnwise.networks.hred import pretraining
    from turnwise.types import Dialogue, Turn

    if kind == "vhred":
        settings.setdefault("latent", 100)
    read = json.loads((lzma if source.suffix == ".xz" else gzip).decompress(source.read_bytes()))
    dialogues = [
        Dialogue(str(number), "human", tuple(Turn("user", text) for text in texts))
        for number, texts in enumerate(read["dialogues"])
    ]
    torch.set_float32_matmul_precision("high")  # TF32 on a GPU
    start = time.perf_counter()

    def say(line: str) -> None:
        print(f"{target.name} {time.perf_counter() - start:6.1f} s  {line}", flush=True)
        if time.perf_counter() - start > given.seconds:
            raise _Enough(line)

    module = {"dual": dual, "characters": characters}.get(kind, pretraining)

    def go(say: Callable[[str], None], **more: Any) -> Any:
        chosen, rng = module.Settings(**{**settings, **more}), np.random.default_rng(0)
        return module.train(dialogues, settings=chosen, rng=rng, say=say, work=target.with_suffix(".work"))

    ended = "the held-out bound stopped falling"
    try:
        trained = go(say)
    except _Enough:
        ended = "the time was over"
        # Resumes from the checkpoint, which has more updates, so nothing is trained.
        trained = go(print, updates=1)
    tensors = {
        name: array.astype(np.float16) if given.half else array
        for name, array in trained.tensors.items()
        if name.startswith("encoder.") or not given.encoder
    }
    counts = {name: read["counts"][name] for name in ("dailydialog", "chitchat_byu")}
    card = {**trained.card, "data": counts, "seconds": time.perf_counter() - start, "ended": ended,
            "settings": settings, "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "licence": "CC BY-NC-SA 4.0 (DailyDialog), MIT (BYU): for experiments"}  # fmt: skip
    folder.save(
        target, kind=kind, tensors=tensors, config=trained.config, card={**card, "curve": trained.curve}
    )


def keep(folders: list[str]) -> None:
    """Write settings, curve and circumstances of trained folders (`NAME=FOLDER`) into `papers/pretraining.json`."""
    target = Path(__file__).with_suffix(".json")
    kept = json.loads(target.read_text())
    for name, _, path in (pair.partition("=") for pair in folders):
        card = json.loads((Path(path) / "card.json").read_text())
        curve = [{key: round(value, 4) for key, value in point.items()} for point in card["curve"]]
        fields = ("settings", "ended", "device", "seconds", "held_out", "trained_on")
        kept["runs"][name] = {**{field: card[field] for field in fields}, "curve": curve}
    target.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare").add_argument("target", type=Path)
    training = commands.add_parser("train")
    training.add_argument("source", type=Path)
    training.add_argument("kind", choices=["hred", "vhred", "dual", "characters"])
    training.add_argument("-o", "--output", type=Path, required=True)
    training.add_argument("--set", action="append", default=[])
    training.add_argument("--half", action="store_true", help="store weights in half precision")
    training.add_argument("--encoder", action="store_true", help="store the encoder alone, which ADEM needs")
    training.add_argument(
        "--seconds", type=float, default=float("inf"), help="stop at the first look after these"
    )
    commands.add_parser("keep").add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    given = parser.parse_args()
    if given.command == "prepare":
        prepare(given.target)
    elif given.command == "keep":
        keep(given.folders)
    else:
        chosen = {key: json.loads(value) for key, _, value in (pair.partition("=") for pair in given.set)}
        train(given.source, given.kind, given.output, chosen, given)


if __name__ == "__main__":
    main()
