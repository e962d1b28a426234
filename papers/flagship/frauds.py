"""Fraudulent replies to the held-out contexts. The sentences are others than those of the training."""

import numpy as np

from papers.flagship.corpus import Corpus, Ids

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
