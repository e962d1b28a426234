"""`reactions`: how content a user sounds, from the user's turns alone.

A linear model of two vectors, the mean of the user's turns and the mean of the last three, was fitted to people's
ratings of whole dialogues in public corpora (`papers/reactions.py`). Ratings are standardised in each corpus, and
corpora and agents count equally. What the agent says is not read. The score is in standard deviations of ratings; 0 is
the mean of the corpora.

It ranks agents without any rating of theirs where users talk as they like. It ranks them backwards where users are paid
to talk on, whatever the agent says (ji2022): check it with `turnwise meta`, or let `turnwise ope` choose whether it
carries.

A program as the user says nothing of people's reactions. The users of an agent count as a program if more than `SAME`
of their turns of five words or more are said word by word in several of its first `LOOKED_AT` dialogues. Among people
it is .064 at most in 24 sets of dialogues of five corpora; of the bots there, 14 of 22 are above it
(papers/reactions.md).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.models.folder import Folder
from turnwise.encode.sides import said, sides
from turnwise.encode.text.normalise import plain
from turnwise.errors import UsageError
from turnwise.metrics.learned.trained import encoder_of, load_trained
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature, Turn, digest

SAME = 0.08
LOOKED_AT = 100
LONG = 5  # words
FEWEST_TURNS = 2  # of the user: the first one is no reaction


class _Attributes:
    """The class attributes that the metric has before and after `fit`."""

    __slots__ = ()

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "fewer than two turns of the user, or the users are a program"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Predicted rating of a dialogue from the user's turns alone, in standard deviations of ratings.",
        range="about -1 to 1; 0 is the mean of the corpora that it was fitted to",
        limits="For English small talk with people. Ranks agents backwards where users are paid to talk on whatever "
        "the agent says. A program as the user is found by its repeated turns and unscored, but not every program "
        "repeats itself. Single dialogues are hardly told apart; compare means of agents.",
        citation="papers/reactions.md",
    )


@dataclass(frozen=True)
class Reactions(_Attributes):
    """`reactions` before `fit` has looked for users that are programs."""

    without: str = ""  # the corpus that the model was not fitted to; "": it was fitted to all
    trained: str = ""  # a folder of a model; "": the one that ships with the package

    def fit(self, items: Iterable[Item], /) -> "FittedReactions":
        """Find the agents whose users look like a program."""
        turns: dict[str, dict[str, list[str]]] = defaultdict(dict)
        texts: set[str] = set()
        for item in items:
            mine = turns[item.agent]
            if item.dialogue in mine or len(mine) < LOOKED_AT:
                mine[item.dialogue] = long_turns(item.turns)
                texts.update(said(item.turns, "user"))
        shares = {agent: repeated_share(list(mine.values())) for agent, mine in turns.items()}
        programs = {agent: share for agent, share in sorted(shares.items()) if share > SAME}
        read = digest(*sorted(texts))
        return FittedReactions(self.without, self.trained, programs, read)

    @property
    def reducer(self) -> "FittedReactions":
        """A metric that can reduce rows of a fitted one, because their mean needs nothing else."""
        return FittedReactions(self.without, self.trained)


@dataclass(frozen=True)
class FittedReactions(_Attributes, Ratio):
    """`reactions`, with the agents whose users look like a program."""

    without: str = ""
    trained: str = ""
    programs: Mapping[str, float] = field(default_factory=dict)  # agent -> share of repeated turns
    read: str = ""  # a digest of the turns in which programs were looked for

    @property
    def folder(self) -> Folder:
        """The trained model."""
        return load_trained("reactions", self.trained)

    @property
    def signature(self) -> Signature:
        """The digest of the model, what it was not fitted to, its encoder, and where programs were looked for."""
        folder = self.folder
        chosen = [("without", self.without)] if self.without else []
        if self.read:
            chosen.append(("users", self.read))
        return Signature("reactions", (*chosen, ("trained", folder.digest)), (encoder_of(folder).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): prediction, 1; NaN with fewer than two turns of the user, or where users look like a program."""
        rows = np.ones((len(items), 2))
        rows[:, 0] = np.nan
        usable = [index for index, item in enumerate(items) if self._problem(item) is None]
        if usable:
            folder = self.folder
            found = sides([items[index].turns for index in usable], encoder_of(folder))
            rows[usable, 0] = predicted(folder, self.without, np.hstack([found.user, found.last]))
        return rows

    def why_unscored(self, item: Item, /) -> str:
        """The reason why a dialogue has no score."""
        return self._problem(item) or self.unscored

    def _problem(self, item: Item) -> str | None:
        """Why the dialogue cannot be scored; None if it can."""
        share = self.programs.get(item.agent)
        if share is not None:
            return (
                f"the users of `{item.agent}` look like a program: {share:.0%} of their longer turns are said word by "
                "word in several dialogues"
            )
        n = len(said(item.turns, "user"))
        return None if n >= FEWEST_TURNS else f"{n} of {FEWEST_TURNS} turns of the user that are needed"


def predicted(folder: Folder, without: str, vectors: Floats) -> Floats:
    """(n,) the predictions for (n, 2d) vectors, of the model that was fitted without a corpus.

    Raises `UsageError` for a corpus that it was not fitted to.
    """
    names = ["", *folder.config["corpora"]]
    if without not in names:
        raise UsageError(
            f"`reactions` was not fitted to a corpus `{without}`; it was fitted to {', '.join(names[1:])}"
        )
    row = names.index(without)
    weights = folder.tensors["weights"][row].astype(np.float64)
    # Not a matrix product, whose last digit may depend on how many rows there are.
    found: Floats = np.einsum("nd,d->n", vectors - folder.tensors["centre"][row].astype(np.float64), weights)
    return found


def known_dialogues(folder: Folder, dialogues: Iterable[Sequence[Turn]]) -> dict[str, int]:
    """Corpus of the model -> how many of the dialogues, given by their turns, it has; only corpora that have any."""
    codes = [code for turns in dialogues for code in hashes([turns]).tolist()]
    seen = {name: set(folder.tensors[f"seen {name}"].tolist()) for name in folder.config["corpora"]}
    counts = {name: sum(code in there for code in codes) for name, there in seen.items()}
    return {name: count for name, count in counts.items() if count}


def hashes(dialogues: Iterable[Sequence[Turn]]) -> NDArray[np.uint64]:
    """A sorted hash for each different dialogue with `FEWEST_TURNS` turns of the user or more, from these turns."""
    found = set()
    for turns in dialogues:
        texts = said(turns, "user")
        if len(texts) >= FEWEST_TURNS:
            code = blake2b("\0".join(map(plain, texts)).encode(), digest_size=8).digest()
            found.add(int.from_bytes(code, "little"))
    return np.array(sorted(found), dtype=np.uint64)


def long_turns(turns: Sequence[Turn]) -> list[str]:
    """The user's turns of five words or more, normalised."""
    texts = [plain(text) for text in said(turns, "user")]
    return [text for text in texts if len(text.split()) >= LONG]


def repeated_share(dialogues: Sequence[Sequence[str]]) -> float:
    """The share of turns that are said word by word in another dialogue too; 0 without any."""
    held: dict[str, set[int]] = defaultdict(set)
    for index, turns in enumerate(dialogues):
        for text in turns:
            held[text].add(index)
    total = sum(map(len, dialogues))
    return sum(len(held[text]) > 1 for turns in dialogues for text in turns) / total if total else 0.0
