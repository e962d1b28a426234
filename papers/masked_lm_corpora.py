"""The dialogues of papers/masked_lm.py: which corpora, what is left out, what is held out."""

import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

LONG = 6  # words; shorter turns occur in many dialogues
HELD = 50  # one dialogue in this many is held out
RATED = ("usr_persona", "grade", "fed_turn", "fed_dialog", "engage", "holistic", "fbd", "dstc7", "ieval", "ji2022",
         "convai2_2018")  # fmt: skip
# Licences allow redistribution of a model, with the source named (data/README.md and data/more/README.md).
PERMISSIVE = ("chitchat_byu", "personachat", "dailydialogpp", "more/dailydialogpp_positives",
              "more/synthetic_personachat", "more/topical_chat", "more/self_dialogue")  # fmt: skip
RESTRICTED = ("dailydialog",)  # CC BY-NC-SA


def prepare(data: Path, target: Path, *, most: int) -> None:
    """Write the dialogues, `most` of each corpus at most.

    The file also has, as `dialogues`, what papers/pretraining.py trains on; dialogues that both use are stored once and
    are numbers in the lists of a corpus.
    """
    import pretraining

    pretraining.DATA = data
    shared, counts = pretraining.selected()
    numbers = {json.dumps(texts): number for number, texts in enumerate(shared)}
    rated = _Shingles(text for name in RATED for record in _records(data, name) for text in _texts(record))
    tests = (one for one in _records(data, "dailydialog") if one["meta"]["split"] != "train")
    rated.add(text for record in tests for text in _texts(record))
    corpora: dict[str, Any] = {}
    seen: set[str] = set()
    held_turns: set[str] = set()
    kept: dict[str, list[list[str]]] = {}
    for name in (*PERMISSIVE, *RESTRICTED):
        clean, total = [], 0
        for record in _records(data, name):
            total += 1
            texts = _texts(record)
            key = json.dumps(texts)
            test = name == "dailydialog" and record["meta"]["split"] != "train"
            if len(texts) > 1 and key not in seen and not test and not any(map(rated.has, texts)):
                seen.add(key)
                clean.append(texts)
        clean.sort(key=lambda texts: zlib.crc32(json.dumps(texts).encode()))
        kept[name] = clean[:most]
        held_turns |= {turn for texts in _held(kept[name]) for turn in _long(texts)}
        counts[f"masked_lm {name}"] = {"dialogues": total, "clean": len(clean), "kept": len(kept[name])}
    for name, dialogues in kept.items():
        held = _held(dialogues)
        train = [texts for texts in dialogues[len(held) :] if held_turns.isdisjoint(_long(texts))]
        corpora[name] = {"permissive": name in PERMISSIVE}
        for part, chosen in (("train", train), ("held", held)):
            corpora[name][part] = [numbers.get(json.dumps(texts), texts) for texts in chosen]
        counts[f"masked_lm {name}"] |= {"train": len(train), "held": len(held)}
    file = {"counts": counts, "dialogues": shared, "masked_lm": corpora}
    target.write_bytes(lzma.compress(json.dumps(file, ensure_ascii=False).encode(), preset=9))
    print(json.dumps(counts, indent=1))


class _Shingles:
    """Whether all runs of `LONG` words of a text occur in a collection of texts, which they do if it is part of one."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.runs: set[int] = set()
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        self.runs.update(run for text in texts for run in _runs(text))

    def has(self, text: str) -> bool:
        runs = list(_runs(text))
        return bool(runs) and all(run in self.runs for run in runs)


def _runs(text: str) -> Iterator[int]:
    words = re.findall(r"\w+", text.lower())
    return (hash(tuple(words[at : at + LONG])) for at in range(len(words) - LONG + 1))


def _held(dialogues: list[list[str]]) -> list[list[str]]:
    return dialogues[: max(1, len(dialogues) // HELD)]


def _long(texts: list[str]) -> set[str]:
    words = (re.findall(r"\w+", text.lower()) for text in texts)
    return {" ".join(turn) for turn in words if len(turn) >= LONG}


def _texts(record: dict[str, Any]) -> list[str]:
    return [message["content"] for message in record["messages"]]


def _records(data: Path, name: str) -> Iterator[dict[str, Any]]:
    path = next(path for path in (data / f"{name}.jsonl", data / f"{name}.jsonl.gz") if path.exists())
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        yield from map(json.loads, file)
