"""`turnwise` and `turnwise-large`: our own reference-free metrics, predicted ratings of replies that nobody has rated.

The score is in standard deviations of ratings: 0 is an average reply, higher is better. A network reads the reply in
its context and says how likely each of nine kinds of reply is (one that fits, one of another dialogue, a copy, a word
salad, ...). `turnwise` has a small network (MiniLM), which imitates a large one (SmolLM2). `turnwise-large` has both;
its large network also reads the reply without its context, and so tells how much likelier the context makes it. Neither
has seen a rating. Heads on turn vectors, an index of real exchanges, cosines and counts are further signals. A ridge
regression over the signals, each cut off at 3 standard deviations, was fitted to published ratings of nine corpora.
`papers/learned.md` has the agreement on corpora whose ratings were not used. With 30 ratings of your own it predicts on
your scale (`turnwise train turnwise`).

Of `turnwise` the small network and the encoder of its signals are computed in whole numbers of 8 bits with fixed
scales, which takes a third of the time; the regression was fitted to these. `turnwise[precision=fp32]` is the same in
float32, with its own regression.

`dimension` chooses what is predicted: `overall`, or another regression over the same signals, fitted to ratings of one
dimension and shrunk towards the overall one. The model's card says which corpora each was fitted to.

A reply of three words or more that copies its context (more than .8 of its words, in order) gets the lowest score.
Of a reply 80 words are read. Texts are normalised first: case and punctuation are ignored. A reply in another language,
or one that is unlike all rated replies (familiar.py), is unscored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from turnwise.encode.models.folder import Folder
from turnwise.errors import UsageError
from turnwise.metrics.learned.contrastive.metric import UNSCORED
from turnwise.metrics.learned.encoded_items import reply_and_context
from turnwise.metrics.learned.trained import FP32, SHIPPED_VARIANTS, encoder_of, load_trained
from turnwise.metrics.learned.training_items import KEY, OF_DIMENSIONS, count_training_items
from turnwise.metrics.learned.turnwise.familiar import Familiarity
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.reader import readers_of
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights
from turnwise.metrics.learned.turnwise.signals import Signals
from turnwise.metrics.learned.turnwise.text_features import is_copied
from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature

# Share of unknown words above which a reply is not scored, and the number of words from which this is looked at. It
# leaves out none of 4,225 rated replies in English: with their contexts they have .25 at most. Sentences in German,
# French, Spanish and Dutch have .73 and more (tests/metrics/learned/turnwise/test_reader.py).
MOST_UNKNOWN, FEWEST_TO_KNOW = 0.5, 6
LAST_LATIN = "\u024f"  # last letter of Latin Extended-B
COPY = 0.8  # share of words from the context above which a reply is a copy
FEWEST_WORDS = 3  # shorter replies are never copies
FEWEST_JOINED = 8  # shorter replies are never copies of several turns
OVERALL = "overall"  # the dimension that every model has
FOREIGN = "most words are unknown: another language than English, or names and codes"
UNFAMILIAR = (
    "unlike the small talk that it was fitted to: codes of a task, program code, a log, very long or odd text"
)


@dataclass(frozen=True)
class Turnwise(Ratio):
    """`turnwise`: the predicted rating of a reply."""

    model: ClassVar[str] = "turnwise"  # name of the metric and kind of its trained model
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = f"{UNSCORED}; {FOREIGN}; or {UNFAMILIAR}"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Predicted rating of the reply, in standard deviations of ratings; 0 is an average reply. "
        "With the models that ship by default, turnwise[dimension=engaging] predicts one dimension of rating: also "
        "fluent, specific, relevant and dialogue.",
        range="about -2 to 2; on the scale of your own ratings once calibrated to them; log odds of being preferred "
        "once trained on preferences",
        limits="For English small talk; of a reply it reads 80 words. A friendly reply that fits any context scored "
        "above people's own in a tenth of contexts. It does not hear rudeness. Raters of different corpora prefer "
        "different things: check with `meta` on your own ratings, or calibrate.",
        citation="papers/learned.md",
    )

    trained: str = (
        ""  # a folder that `turnwise train turnwise` wrote; "": the one that ships with the package
    )
    dimension: str = OVERALL  # what is predicted: overall, or another dimension that the model has
    # In which numbers its networks are computed: int8, fp32, or auto, which is the model's own.
    precision: Literal["auto", "int8", "fp32"] = "auto"

    @property
    def folder(self) -> Folder:
        """The trained model; a `UsageError` if it is computed in other numbers than those that are asked for."""
        spec = self.trained
        if not spec and self.precision == "fp32" and self.model in SHIPPED_VARIANTS[FP32]:
            spec = FP32
        folder = load_trained(self.model, spec, fallback=self.precision == "auto")
        own = precision_of(folder)
        if self.precision not in ("auto", own):
            raise UsageError(
                f"`{self.model}`{f' of {spec}' if spec else ''} is computed in {own}, not in {self.precision}"
            )
        return folder

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval of a single prediction; None for a model trained on preferences."""
        half = head(self.folder, self.dimension)["half_width"]
        return None if half is None else float(half)

    @property
    def signature(self) -> Signature:
        """The digest of the trained model, the dimension, and the signatures of its encoder and its readers."""
        folder = self.folder
        head(folder, self.dimension)  # raises for an unknown dimension
        chosen = () if self.dimension == OVERALL else (("dimension", self.dimension),)
        readers = readers_of(folder)
        for reader in readers:
            reader.check()  # what is missing is reported before the first item
        parts = (encoder_of(folder).signature, *(reader.signature for reader in readers))
        return Signature(self.model, (*chosen, ("trained", folder.digest)), parts)

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): prediction, 1; the floor for a copy of the context.

        NaN for an item that cannot be encoded, is in another language or is unfamiliar. Only the others are read.
        """
        folder = self.folder
        signals, familiar = _model(folder)
        weights, floor = weights_of(folder, self.dimension), head(folder, self.dimension)["floor"]
        refused = [refusal(item, folder, signals.lexicon, familiar) for item in items]
        asked = [item for item, why in zip(items, refused, strict=True) if why is None]
        scores = weights.predict(signals.table(asked, encoder_of(folder), folder.config["columns"]))
        joined = folder.config.get("copies") == "joined"  # models of version 0.2 look at single turns
        scores[[is_copy(item, joined=joined) for item in asked]] = floor
        rows = np.ones((len(items), 2))
        rows[:, 0] = np.nan
        rows[[why is None for why in refused], 0] = scores
        return rows

    def why_unscored(self, item: Item, /) -> str:
        """The reason why a reply has no score."""
        signals, familiar = _model(self.folder)
        return refusal(item, self.folder, signals.lexicon, familiar) or UNSCORED

    def in_training(self, items: Sequence[Item], /) -> int:
        """How many of these items its weights were fitted to."""
        keys = (KEY,) if self.dimension == OVERALL else (KEY, OF_DIMENSIONS)
        return count_training_items(self.folder, items, keys)


@dataclass(frozen=True)
class TurnwiseLarge(Turnwise):
    """`turnwise-large`: the predicted rating of a reply, read by a language model and by the small network."""

    model: ClassVar[str] = "turnwise-large"
    card: ClassVar[Card] = replace(
        Turnwise.card,
        limits="For English small talk; of a reply it reads 80 words, with a language model of 135 million weights: "
        "a seventh of a second a reply on a processor core, about fifty times the cost of `turnwise`. A friendly reply "
        "that fits any context scored above people's own in a tenth of contexts. It does not hear rudeness. Raters of "
        "different corpora prefer different things: check with `meta` on your own ratings, or calibrate.",
    )


def precision_of(folder: Folder) -> str:
    """In which numbers the networks of a model are computed."""
    return str(folder.config["encoder"].get("precision", "fp32"))


def is_copy(item: Item, *, joined: bool = True) -> bool:
    """Whether more than .8 of the reply's words occur, in order and close together, in a turn of its context.

    With `joined`, a reply of 8 words or more that is longer than every turn is also looked for in the whole context.
    False for a reply of fewer than 3 words, for a whole dialogue, and without words in the reply or the context.
    """
    texts = reply_and_context(item)
    if texts is None or (length := len(texts[0].split())) < FEWEST_WORDS:
        return False
    reply, context = texts
    if joined and length >= max(FEWEST_JOINED, *(len(turn.split()) + 1 for turn in context)):
        context = (*context, " ".join(reversed(context)))
    return is_copied(reply, context, share=COPY)


def is_foreign(item: Item, lexicon: Lexicon, most: float) -> bool:
    """Whether more than `most` of the words of the reply, or of reply and context, are unknown or in another script.

    Fewer than 6 words in Latin script are not looked at.
    """
    texts = reply_and_context(item)
    if texts is None:
        return False
    reply = texts[0].split()
    both = [*reply, *(word for turn in texts[1] for word in turn.split())]
    return any(_unknown_share(words, lexicon) > most for words in (reply, both))


def _unknown_share(words: Sequence[str], lexicon: Lexicon) -> float:
    """The share of the words that the lexicon does not have; that of letters in other scripts, if it is larger."""
    foreign = 0.0
    if not (text := "".join(words)).isascii():  # most texts are: their letters need not be looked at
        letters = [letter for letter in text if letter.isalpha()]
        foreign = sum(letter > LAST_LATIN for letter in letters) / max(len(letters), 1)
    if len(words) < FEWEST_TO_KNOW:
        return foreign
    return max(foreign, sum(lexicon.count(word) == 0 for word in words) / len(words))


def refusal(item: Item, folder: Folder, lexicon: Lexicon, familiar: Familiarity | None) -> str | None:
    """Why a model does not score a reply that it could read: its language, or its kind of text; None if it does."""
    if is_foreign(item, lexicon, folder.config.get("most_unknown", 1.0)):
        return FOREIGN
    return UNFAMILIAR if familiar is not None and not familiar.knows(item, lexicon) else None


def head(folder: Folder, dimension: str) -> Mapping[str, Any]:
    """The half-width and the floor of a dimension's predictions; raises `UsageError` if the model does not have it."""
    if dimension == OVERALL:
        return folder.config
    there: Mapping[str, Any] = folder.config.get("dimensions", {})
    if dimension not in there:
        raise UsageError(
            f"this model of `{folder.kind}` has no dimension `{dimension}`; it has: {', '.join([OVERALL, *there])}"
        )
    found: Mapping[str, Any] = there[dimension]
    return found


def weights_of(folder: Folder, dimension: str = OVERALL) -> RidgeWeights:
    """The weights of the regression of a dimension in a model's folder."""
    offset = float(head(folder, dimension).get("offset", 0.0))
    name = "weights" if dimension == OVERALL else f"weights {dimension}"
    centre, scale, weights = (
        folder.tensors[f"ridge.{part}"].astype(np.float64) for part in ("centre", "scale", name)
    )
    return RidgeWeights(centre, scale, weights, offset, float(folder.config.get("cut", np.inf)))


@cache
def _model(folder: Folder) -> tuple[Signals, Familiarity | None]:
    """The signals of a model's folder and what it takes for familiar, read once."""
    return Signals.load(folder), Familiarity.load(folder.tensors)
