"""The training data of a neural estimator: one row for every (state, action), logged or the target's.

Rows are ordered by dialogue and point: the logged reply first, then each different reply of the target. A reply that is
both logged and the target's is one row, so it is encoded once and cancels exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from turnwise.encode.episodes import check_alternatives, kept
from turnwise.encode.neural.dialogue_layout import Exchange
from turnwise.errors import Refused, UsageError
from turnwise.types import Episodes, Floats, Ints, RepliesAtPoints

Reward = Literal["auto", "logged", "relabelled"]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """N dialogues with n points and the rows of their replies; see the module's docstring for the order of rows.

    `first` and `row` are where each dialogue's points and rows begin, `logged` and `target` are numbers of rows.
    """

    dialogues: Sequence[Sequence[Exchange]]  # N dialogues; `others` of an exchange are the target's replies
    first: Ints  # (N + 1,) dialogue i has the points first[i] to first[i + 1]
    row: Ints  # (N + 1,) likewise for rows
    logged: Ints  # (n,) row of the logged reply
    target: Ints  # (n, K) rows of the target's replies
    weight: Floats  # (n, K) 1 / number of samples; 0 where there is no such sample
    reward: Floats  # (N,)
    rating: Floats  # (N,) rating of the logged dialogue, the reward unless that is relabelled; may be NaN
    relabelled: bool  # whether the reward is the score of the target's own decision
    unrated: int  # number of dialogues left out because they are not rated

    @property
    def lengths(self) -> Ints:
        """(N,) number of points of each dialogue."""
        return np.diff(self.first)


def gather(
    episodes: Episodes, target: str, *, reward: Reward = "auto", everyone: bool = False
) -> TrainingData:
    """The data of one target from the dialogues with a reward.

    With `everyone`, the other agents' replies have rows too. ENIGMA's released data has the score of the decision that
    the target would have taken in the logged dialogue as its reward, not the rating of the logged dialogue. `reward`
    "auto" uses that score if it is known for all. Raises `DataError` if the target has no reply at a point of another
    agent, and `Refused` if it has no alternatives at all or no dialogue has a reward.
    """
    check_alternatives(episodes, target)
    said = episodes.alternatives.get(target)
    if said is None or not len(episodes.dialogues):
        raise Refused(
            "no dialogue is left from which `{agent}` could be estimated", "no-dialogue-left", agent=target
        )
    chosen, relabelled = _rewards(episodes, said, reward)
    rated = np.isfinite(chosen)
    if not rated.any():
        raise Refused(
            "none of {n} dialogues has a rating `{rating}`",
            "none-rated-on",
            n=len(rated),
            rating=episodes.rating,
        )
    episodes = kept(episodes, rated)
    own = episodes.alternatives[target].text
    heard = [said.text for said in episodes.alternatives.values()] if everyone else [own]
    exchanges, logged, rows, size = _rows(episodes, own, np.hstack(heard))
    first, spoken = episodes.first, own >= 0
    return TrainingData(
        dialogues=[exchanges[start:stop] for start, stop in pairwise(first.tolist())],
        first=first,
        row=np.append(logged, size)[first],
        logged=logged,
        target=rows,
        weight=spoken / np.maximum(spoken.sum(axis=1, keepdims=True), 1),
        reward=chosen[rated],
        rating=episodes.reward,
        relabelled=relabelled,
        unrated=int((~rated).sum()),
    )


def _rewards(episodes: Episodes, said: RepliesAtPoints, reward: Reward) -> tuple[Floats, bool]:
    """(N,) the reward of each dialogue (NaN if unknown), and whether it is the score of the target's own decision.

    A target's score is the mean over its samples at the last point. `reward=relabelled` without any is a `UsageError`.
    """
    own = said.relabelled[episodes.first[1:] - 1]  # (N, K)
    known = np.isfinite(own)
    ends = known.any(axis=1)
    if reward == "logged" or (reward == "auto" and not ends.all()):
        return episodes.reward, False
    if reward == "relabelled" and not ends.any():
        raise UsageError("reward=relabelled needs the target's own decision at the end of each dialogue")
    total = np.where(known, own, 0.0).sum(axis=1)
    return np.where(ends, total / np.maximum(known.sum(axis=1), 1), np.nan), True


def _rows(episodes: Episodes, own: Ints, heard: Ints) -> tuple[list[Exchange], Ints, Ints, int]:
    """The exchanges of all points, (n,) rows of logged replies, (n, K) rows of `own` replies, and the number of rows.

    `heard` (n, H) are the texts that get rows beside the logged one. The row of a missing reply is 0.
    """
    texts = episodes.texts
    logged, target = np.empty(len(own), dtype=np.int64), np.zeros_like(own)
    exchanges: list[Exchange] = []
    size = 0
    said = zip(episodes.user.tolist(), episodes.logged.text[:, 0].tolist(), heard.tolist(), strict=True)
    for point, (user, reply, replies) in enumerate(said):
        others = sorted(set(replies) - {reply, -1})  # an order that does not depend on the target
        columns = {code: size + index for index, code in enumerate((reply, *others))}
        logged[point] = size
        target[point] = [columns.get(code, 0) for code in own[point].tolist()]
        exchanges.append(
            Exchange(None if user < 0 else texts[user], texts[reply], tuple(texts[o] for o in others))
        )
        size += len(columns)
    return exchanges, logged, target, size
