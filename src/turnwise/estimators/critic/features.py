"""The features of the critic's Q: one row of numbers for a state and a reply.

State: the user's words, the known task and goal (`Facts`), the turn, and the reply logged just before. Reply: its words
and surface. Products of both, because the quality of a reply depends on the state. The context is always the logged
one, as in the paper: earlier actions are never the evaluated system's.

A reply without words has a row of zeros, so its Q is 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from turnwise.estimators.critic.words import Axes, Encoding, Vocabulary
from turnwise.types import Episodes, Floats, Ints, RepliesAtPoints

REPLY, USER, TASK, BEFORE = 48, 24, 24, 12  # numbers of principal components
CROSS = (12, 8, 12)  # components of user, task and reply that enter the products
TURNS = 13  # turn classes; the last is shared by all later turns


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the t points of one dialogue: (t, k) bits of the state and goal, and (t,) rewards of its turns.

    Without rewards only the last turn has one.
    """

    state: Floats  # (t, k) belief state and goal as bits
    reward: Floats | None = None  # (t,) rewards of turns; None: only the last turn has a reward


@dataclass(frozen=True)
class Features:
    """The features of any system's replies at the points of some episodes. `facts` are by dialogue id."""

    episodes: Episodes
    facts: Mapping[str, Facts] = field(default_factory=dict)
    encoding: Encoding | None = None

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The representations of all texts, fitted on the logged replies and user turns."""
        logged = self.episodes.logged.text[:, 0]
        sizes = (REPLY, USER)
        return Vocabulary.fit(
            self.episodes.texts, logged, self.episodes.user, sizes=sizes, encoding=self.encoding
        )

    @cached_property
    def turn(self) -> Ints:
        """(n,) number of the turn of each point, from 0."""
        lengths = np.diff(self.episodes.first)
        return np.arange(len(self.episodes.user)) - np.repeat(self.episodes.first[:-1], lengths)

    @cached_property
    def classes(self) -> Ints:
        """(n,) turn class of each point: its turn number, at most TURNS - 1."""
        return np.minimum(self.turn, TURNS - 1)

    @cached_property
    def reward(self) -> Floats:
        """(n,) the reward at each point: that of `Facts`; without one, the dialogue's reward at its last turn only."""
        given = [self.facts[name].reward if name in self.facts else None for name in self.episodes.dialogues]
        reward = np.zeros(len(self.episodes.user))
        reward[self.episodes.first[1:] - 1] = self.episodes.reward
        for start, end, dense in zip(self.episodes.first[:-1], self.episodes.first[1:], given, strict=True):
            if dense is not None:
                reward[start:end] = dense
        return reward

    @cached_property
    def _task(self) -> Floats:
        """(n, k) components of the task facts; k = 0 if any dialogue has none, as where single replies are episodes."""
        if not all(name in self.facts for name in self.episodes.dialogues):
            return np.zeros((len(self.episodes.user), 0))
        rows = np.concatenate([self.facts[name].state for name in self.episodes.dialogues])
        common = rows.std(axis=0) > 0
        return Axes.fit(rows[:, common], TASK)(rows[:, common])

    @cached_property
    def _user(self) -> Floats:
        """(n, l) components of the user's last turn; zeros where there is none."""
        coded = np.vstack([self.vocabulary.user, np.zeros(self.vocabulary.user.shape[1])])
        return coded[self.episodes.user]

    @cached_property
    def _state(self) -> Floats:
        """(n, s) the constant 1, the user's turn, the task, the turn class, and the logged reply of the turn before."""
        before = np.roll(self.vocabulary.reply[self.episodes.logged.text[:, 0], :BEFORE], 1, axis=0)
        before[self.turn == 0] = 0.0
        turns = np.eye(TURNS)[self.classes]
        return np.hstack([np.ones((len(turns), 1)), self._user, self._task, turns, before])

    def rows(self, said: RepliesAtPoints) -> Floats:
        """(n, d) features, averaged over samples; zeros where there is no reply with words.

        A sample without words counts as zeros. The first column is the share of samples with words, normally 1.
        """
        there = said.text >= 0
        share = there / np.maximum(there.sum(axis=1, keepdims=True), 1)
        reply = np.hstack([self.vocabulary.reply, self.vocabulary.surface])
        own = np.zeros((len(share), reply.shape[1] + 1))
        speaks = np.zeros(len(share))
        for k in range(share.shape[1]):
            text, weight = said.text[:, k], share[:, k] * ~self.vocabulary.silent[said.text[:, k]]
            copied = [
                self.vocabulary.copied(int(t), int(u)) for t, u in zip(text, self.episodes.user, strict=True)
            ]
            own += weight[:, None] * np.column_stack([reply[text], copied])
            speaks += weight
        users, tasks, replies = CROSS
        said_ = own[:, :replies]
        products = [
            (side[:, :most, None] * said_[:, None, :]).reshape(len(own), -1)
            for side, most in ((self._user, users), (self._task, tasks))
        ]
        return np.hstack([self._state * speaks[:, None], own, *products])
