"""Prepare the input of papers/lava.py: encoded turns, states and rewards of MultiWOZ 2.0, and dialogues for evaluation.

python papers/lava_corpus.py multiwoz_delex.jsonl.gz multiwoz_db out/lava-gpu
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.logs.native import read_all
from turnwise.networks.lava import supervised
from turnwise.networks.lava.corpus import corpus
from turnwise.networks.lava.state_layout import StateLayout
from turnwise.networks.lava.words import Words
from turnwise.run.train.policy_evaluation import PolicyEvaluator
from turnwise.types import Dialogue

SPLITS = ("train", "val", "test")
PARTS = ("user", "state", "reply", "goal", "turns")


def prepare(data: Path, tables: Path, to: Path) -> None:
    """Write the encoded corpus and rewards, and the dialogues without the parts that the evaluation does not need."""
    dialogues = list(read_all([str(data)]))
    by_split = {name: [one for one in dialogues if one.meta["split"] == name] for name in SPLITS}
    words = Words.learn((turn.text for one in by_split["train"] for turn in one.turns), fewest=5)
    layout = StateLayout.learn(by_split["train"])
    arrays: dict[str, Any] = {}
    for name, mine in by_split.items():
        made = corpus(mine, words, layout, longest=supervised.Settings().longest)
        for part in PARTS:
            array = getattr(made, part).numpy()
            arrays[f"{name}.{part}"] = array.astype(np.uint8 if part in ("state", "goal") else np.int32)
        arrays[f"{name}.success"] = PolicyEvaluator(mine, db=str(tables)).logged()
    to.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(to / "corpus.npz", **arrays)
    config = {
        "words": words.known,
        "slots": layout.slots,
        "wishes": layout.wishes,
        "pointer": layout.pointer,
    }
    (to / "corpus.json").write_text(json.dumps(config))
    for name in SPLITS:
        with gzip.open(to / f"{name}.jsonl.gz", "wt", compresslevel=9) as file:
            file.writelines(f"{json.dumps(_short(one))}\n" for one in by_split[name])


def _short(dialogue: Dialogue) -> dict[str, Any]:
    """The parts of a dialogue that the evaluation needs."""
    messages = [
        {"role": turn.role, "content": turn.text, **({"state": turn.state} if turn.state is not None else {})}
        for turn in dialogue.turns
    ]
    booked = [{"turn": one["turn"], "domain": one["domain"]} for one in dialogue.meta.get("booked", ())]
    return {
        "id": dialogue.id,
        "agent": dialogue.agent,
        "messages": messages,
        "goal": dialogue.goal,
        "meta": {"split": dialogue.meta["split"], "booked": booked},
    }


if __name__ == "__main__":
    prepare(*map(Path, sys.argv[1:]))
