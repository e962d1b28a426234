"""`python -m papers.flagship.frauds TEXT METRIC...`: frauds against people's own replies on held-out contexts.

The contexts are of dialogues that were left out of the training, 100 of each of three corpora. The sentences of the
frauds are others than those of the training. Writes frauds.json beside this file.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.flagship.corpus import Corpus, Ids
from papers.flagship.sources import NAMES

if TYPE_CHECKING:  # the machine that trains imports this module and lacks packages of turnwise
    from turnwise.types import Item, Metric, Turn

RESULTS = Path(__file__).with_name("frauds.json")

GENERIC = (
    "that is really cool i like that a lot",
    "i'm so glad you told me about this it means a lot",
    "yeah i feel you on that one my friend",
    "interesting i would like to know more",
    "sure why not",
    "haha that's funny you always make me smile",
    "i love that what is your favorite thing to do on weekends",
)
PATTERNS = (
    "so T huh",
    "oh wow T that's awesome",
    "you mean T",
    "i was wondering about X as well",
    "X is something i really enjoy what is your favorite X",
    "i have always wanted to try X how did you get started with X",
    "hmm X let me think about X for a moment",
)


def frauds(corpus: Corpus, rng: np.random.Generator) -> list[tuple[int, str, list[Ids], Ids]]:
    """(probe, name, context, reply) for the person's own reply and each fraud, on every held-out context."""
    number = {word: at for at, word in enumerate(corpus.words)}
    count = np.bincount(corpus.arrays["flat"], minlength=len(corpus.words))

    def ids(text: str) -> Ids:
        return np.array([number[word] for word in text.split() if word in number], np.int64)

    found = []
    for at, (_, start, end, reply) in enumerate(corpus.arrays["probes"]):
        context = [corpus.turn(turn) for turn in range(start, end)]
        right, last, every = corpus.turn(reply), context[-1], np.concatenate(context)
        rare = every[np.argsort(count[every], kind="stable")]
        topic = " ".join(corpus.words[word] for word in rare[:1])
        made = {
            "person": right,
            "parrot": last,
            "parrot of all": every[-60:],
            "shuffled": rng.permutation(right),
            "salad": rng.permutation(every)[: max(6, len(right))],
            **{f"generic: {text}": ids(text) for text in GENERIC},
        }
        for text in PATTERNS:
            quoted = " ".join(corpus.words[word] for word in last[:25])
            made[f"pattern: {text}"] = ids(
                " ".join({"T": quoted, "X": topic}.get(w, w) for w in text.split())
            )
        found += [(at, name, context, words) for name, words in made.items() if len(words)]
    return found


def as_items(corpus: Corpus) -> "list[tuple[int, str, Item]]":
    """(probe, name, item) of people's own replies and of the frauds."""
    from turnwise.types import Turn

    text = corpus.text
    found = []
    for at, name, context, reply in frauds(corpus, np.random.default_rng(0)):
        said = [*(text(turn) for turn in context), text(reply)]
        turns = [
            Turn("assistant" if (len(said) - n) % 2 else "user", content) for n, content in enumerate(said)
        ]
        found.append((at, name, _item(f"{at}/{name}", str(at), turns)))
    return found


def _item(name: str, probe: str, turns: "list[Turn]") -> "Item":
    from turnwise.types import Item

    return Item(
        id=name, dialogue=name, agent="", turns=tuple(turns), turn=len(turns) - 1, cluster=probe, pair=probe
    )


def shares(corpus: Corpus, metric: "Metric") -> dict[str, dict[str, float]]:
    """Corpus -> fraud -> share of its held-out contexts in which the fraud scores above the person's own reply."""
    tested = [one for one in as_items(corpus) if len(one[2].reply)]
    scores = metric.of_sums(metric.rows([item for _, _, item in tested]))
    person = {at: score for (at, name, _), score in zip(tested, scores, strict=True) if name == "person"}
    source = corpus.arrays["probes"][:, 0]
    wins: dict[str, dict[str, list[bool]]] = {}
    for (at, name, _), score in zip(tested, scores, strict=True):
        if name != "person" and not np.isnan(score + person[at]):
            wins.setdefault(NAMES[source[at]], {}).setdefault(name, []).append(bool(score > person[at]))
    return {
        name: {fraud: float(np.mean(won)) for fraud, won in by_fraud.items()}
        for name, by_fraud in wins.items()
    }


def main() -> None:
    from turnwise.metrics import resolve

    corpus = Corpus.load(Path(sys.argv[1]))
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[2:]:
        kept[name] = shares(corpus, resolve(name))
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        kinds: dict[str, list[float]] = {}
        for by_fraud in kept[name].values():
            for fraud, share in by_fraud.items():
                kinds.setdefault(fraud.split(":")[0], []).append(share)
        print(name, {kind: f"{np.mean(found):.3f}" for kind, found in kinds.items()}, flush=True)


if __name__ == "__main__":
    main()
