"""Write src/turnwise/data/ji2022.jsonl.gz: 40 dialogues of each of seven bots with people's ratings.

`python -m tools.make_ji2022 FILE` reads the ratings that Ji et al. (2022) published (TianboJi/Dialogue-Eval, MIT) in
the native format: a person talked to several bots in one sitting and moved seven sliders after each dialogue. The rule:

1. The bot `qc`, which was made to be bad in order to check raters, is left out.
2. A dialogue is left out if the rules of `turnwise convert --redact` find personal data in it. Of all that the other
   rules take, those are left out too in which a reader found personal data that rules do not know, such as somebody's
   health, or texts that nobody wants to meet in an example (`LEFT_OUT`: the first digits of the sha256 of their ids).
3. Raters are taken in the order of `numpy.random.default_rng(SEED).permutation`, each with the dialogues that are left
   of bots that have fewer than `ENOUGH` dialogues yet. A rater with more than `MOST` dialogues is passed over.
4. Ids and raters are numbered anew in a second random order. Published standard scores and topics are left out.

Ratings are as published, 0 to 100, higher is better. `robotic` and `repetitive`, whose published values are reversed
already, are called `not_robotic` and `not_repetitive`. `overall` is the mean of the seven, as in the paper.
"""

import gzip
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from turnwise.logs import native
from turnwise.logs.redact import redact
from turnwise.types import Dialogue, Rating

TARGET = Path(__file__).parents[1] / "src/turnwise/data/ji2022.jsonl.gz"
SEED = 2022
ENOUGH = 40  # dialogues of each bot
MOST = 10  # dialogues of one rater
NAMES = {"robotic": "not_robotic", "repetitive": "not_repetitive"}  # published reversed: high is good
LEFT_OUT = frozenset(
    "3ae0923fe8 6fcf315d0c 88a9022e02 89e9c707df a0efb4ae6b a917f5fb49 ac8cc206bf bf1dd597d1 c81c5604b7 d06a50d1c8 "
    "e98b9b9b1c f48fc66cde f6298adeb7".split()
)


def main() -> None:
    """Choose, write, and say how many dialogues of each bot there are."""
    every = [dialogue for dialogue in native.read(sys.argv[1]) if dialogue.agent != "qc"]
    clean = [dialogue for dialogue in every if not redact(dialogue).counts]
    chosen = numbered(drawn(clean, np.random.default_rng(SEED)), np.random.default_rng(SEED + 1))
    lines = b"".join(native.dump(dialogue) + b"\n" for dialogue in chosen)
    # Without a time, so that the same dialogues are the same bytes.
    TARGET.write_bytes(gzip.compress(lines, mtime=0))
    print(f"{TARGET.name}: {len(chosen)} of {len(every)} dialogues, {TARGET.stat().st_size / 1000:.0f} KB")
    print(f"left out by rules {len(every) - len(clean)}, by a reader {len(LEFT_OUT)}")
    for agent in sorted({dialogue.agent for dialogue in chosen}):
        print(f"{agent}: {sum(dialogue.agent == agent for dialogue in chosen)}")


def drawn(dialogues: Sequence[Dialogue], rng: np.random.Generator) -> list[Dialogue]:
    """The dialogues of raters in random order, until every bot has enough."""
    by_rater: dict[str, list[Dialogue]] = defaultdict(list)
    for dialogue in dialogues:
        by_rater[str(dialogue.ratings[0].rater)].append(dialogue)
    raters = sorted(rater for rater, rated in by_rater.items() if len(rated) <= MOST)
    taken: Counter[str] = Counter()
    chosen: list[Dialogue] = []
    for place in rng.permutation(len(raters)):
        for dialogue in by_rater[raters[place]]:
            if taken[dialogue.agent] < ENOUGH and _key(dialogue) not in LEFT_OUT:
                chosen.append(dialogue)
                taken[dialogue.agent] += 1
    return chosen


def _key(dialogue: Dialogue) -> str:
    """The first digits of the sha256 of the id."""
    return sha256(dialogue.id.encode()).hexdigest()[:10]


def numbered(dialogues: Sequence[Dialogue], rng: np.random.Generator) -> list[Dialogue]:
    """The dialogues in random order with new ids and raters, named dimensions and `overall`."""
    order = rng.permutation(len(dialogues))
    raters = dict.fromkeys(str(dialogues[place].ratings[0].rater) for place in order)
    anew = {rater: f"w{number:03}" for number, rater in enumerate(raters, start=1)}
    return [
        replace(
            dialogues[place],
            id=f"ji{number:03}",
            ratings=tuple(_ratings(dialogues[place].ratings, anew)),
            meta={"run": dialogues[place].meta["run"], "source": "Ji et al. 2022"},
        )
        for number, place in enumerate(order, start=1)
    ]


def _ratings(ratings: Sequence[Rating], raters: dict[str, str]) -> Iterable[Rating]:
    """The ratings under their new names, `overall` first."""
    mean = round(float(np.mean([rating.value for rating in ratings])), 2)
    for rating in (replace(ratings[0], dimension="overall", value=mean), *ratings):
        dimension = NAMES.get(rating.dimension, rating.dimension)
        yield replace(rating, dimension=dimension, rater=raters[str(rating.rater)])


if __name__ == "__main__":
    main()
