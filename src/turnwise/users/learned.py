"""A user learned from logs: it finds what real users said in the most similar place, in dialogues of the same kind.

Alone it says the message that it finds. With a language model (`model=NAME`) the model writes the message, in the
manner of the `nearest` messages that were found and with the facts of the scenario.

Similarity is that of TF-IDF vectors: of the last `window` turns, and of the first message to the goal.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from turnwise.agents import resolve as resolve_agent
from turnwise.agents.calling import CallLimits
from turnwise.agents.tfidf import TfIdf, draw_nearest, words_of
from turnwise.encode.models.folder import Folder
from turnwise.encode.text.tokenise import lower_words
from turnwise.errors import DataError, TooFewItems, UsageError
from turnwise.logs.items.keys import lookup
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.types import Dialogue, Floats, Signature, Turn
from turnwise.users.model import ModelUser
from turnwise.users.user import Stage, UserMessage

WINDOW, NEAREST = 2, 4
KIND = "meta.kind"
_ELSEWHERE = (
    -1.0
)  # added to the similarity of messages of another kind: one of the same kind is always preferred


@dataclass(frozen=True)
class LearnedUser:
    """Messages of real users with their contexts."""

    known: TfIdf  # each message of a user, with its context; the context of a first message is the message itself
    kinds: tuple[str, ...]  # (n,) the kind of the dialogue of each message
    place: tuple[int, ...]  # (n,) -1: the first message of a dialogue, 1: the last, 0: any other
    nearest: int = NEAREST
    model: ModelUser | None = None

    @property
    def signature(self) -> Signature:
        """The messages, and the model that writes new ones."""
        parts = () if self.model is None else (self.model.signature,)
        return Signature("learned", (("nearest", str(self.nearest)),), (self.known.signature, *parts))

    @property
    def concurrent(self) -> bool:
        """Whether several threads may call it at once."""
        return self.model is None or self.model.concurrent

    def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
        """A message of a real user, or one that the model writes like these."""
        if self.model is not None:
            return self.model.say(stage, turns, seed, examples=self.examples(stage, turns, seed))
        scores, rng = self._similarities(stage, turns), np.random.default_rng(seed)
        said = {turn.text for turn in turns if turn.role == "user"}
        scores = scores - np.array([text in said for text in self.known.known_replies])
        at = draw_nearest(scores, min(self.nearest, int(np.isfinite(scores).sum())), rng)
        return UserMessage(self.known.known_replies[at], "goal" if self.place[at] == 1 else None)

    def examples(self, stage: Stage, turns: Sequence[Turn], seed: int) -> list[str]:
        """What real users said in the `nearest` most similar places."""
        scores, rng = self._similarities(stage, turns), np.random.default_rng(seed)
        order = np.lexsort((rng.random(len(scores)), -scores))[: self.nearest]
        return [self.known.known_replies[at] for at in order]

    def _similarities(self, stage: Stage, turns: Sequence[Turn]) -> Floats:
        """(n,) how similar the place of each known message is to this one; -inf for other places in a dialogue."""
        is_first = not turns
        words = Counter(lower_words(stage.told)) if is_first else words_of(turns, self.known.window)
        (scores,) = self.known.similarities([words])
        kinds = np.array([kind == stage.scenario.kind for kind in self.kinds])
        if kinds.any():
            scores = scores + np.where(kinds, 0.0, _ELSEWHERE)
        fits = (np.array(self.place) == -1) == is_first
        return np.where(fits, scores, -np.inf) if fits.any() else np.asarray(scores)


def fit(dialogues: Sequence[Dialogue], *, window: int = WINDOW, kind: str = KIND) -> LearnedUser:
    """The user that all messages of the users make; raises `TooFewItems` if there is none."""
    pairs: list[tuple[Counter[str], str]] = []
    kinds: list[str] = []
    place: list[int] = []
    for dialogue in dialogues:
        said = [at for at, turn in enumerate(dialogue.turns) if turn.role == "user" and turn.text.strip()]
        for at in said:
            text = dialogue.turns[at].text
            is_first = at == said[0]
            words = Counter(lower_words(text)) if is_first else words_of(dialogue.turns[:at], window)
            pairs.append((words, text))
            kinds.append(str(lookup(dialogue, kind) or "all"))
            place.append(-1 if is_first else int(at == said[-1]))
    if not pairs:
        raise TooFewItems(
            "a user is learned from messages of users, and there is none", "no-message-of-a-user"
        )
    return LearnedUser(TfIdf.of_pairs(pairs, window=window), tuple(kinds), tuple(place))


def train(task: TrainingTask) -> TrainedModel:
    """Learn a user from the dialogues; the settings are `window` and `kind`, the key of a dialogue's kind."""
    task.check_settings(["window", "kind"])
    user = fit(task.dialogues, window=task.setting("window", WINDOW), kind=str(task.setting("kind", KIND)))
    tensors, config = user.known.parts()
    config |= {"kinds": user.kinds, "place": user.place}
    counts = dict(sorted(Counter(user.kinds).items()))
    return TrainedModel(
        kind="user", tensors=tensors, config=config, card={"messages": len(user.kinds), "kinds": counts}
    )


def learned_user(
    folder: Folder,
    *,
    nearest: Any = NEAREST,
    model: str | None = None,
    limits: CallLimits | None = None,
    **settings: Any,
) -> LearnedUser:
    """The user of a folder that `turnwise train user` wrote; `model` writes new messages and has the other settings."""
    if settings and model is None:
        raise UsageError(
            f"a learned user has no setting `{next(iter(settings))}` without a `model`; it has: nearest"
        )
    if isinstance(nearest, bool) or not isinstance(nearest, int) or nearest < 1:
        raise UsageError(f"a learned user takes a whole number of `nearest`, 1 or more, not {nearest!r}")
    try:
        kinds, place = tuple(folder.config["kinds"]), tuple(folder.config["place"])
    except KeyError as error:
        raise DataError(f"{folder.path}: is damaged: {error}") from error
    speaker = None if model is None else ModelUser(resolve_agent(model, **settings), limits or CallLimits())
    return LearnedUser(TfIdf.read(folder), kinds, place, nearest, speaker)
