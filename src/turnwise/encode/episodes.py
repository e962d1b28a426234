"""Convert dialogues to `Episodes`: arrays of the logged replies and of all alternatives, with each text stored once.

Where whole dialogues were rated, a dialogue is an episode and each of its assistant messages a point. Where single
turns were rated, each rated turn is an episode of one point, because what follows it was not rated. Agents that replied
to the same context in separate records are each other's alternatives there: `single` pairs them.

By default texts are copy-delexicalised (see `delexicalise`), a reply against what the user had said before it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.text.delexicalise import delexicalise, values
from turnwise.errors import DataError, counted
from turnwise.types import Dialogue, Episodes, Floats, Item, RepliesAtPoints, Reply, Turn

LOG_PROBS = "logprobs"  # key of a logged message: agent -> log-probability of this reply under that agent


@dataclass(frozen=True, slots=True)
class Episode:
    """One dialogue, or one rated reply, before conversion to arrays."""

    id: str
    agent: str
    cluster: str
    turns: tuple[Turn, ...]
    points: tuple[int, ...]  # positions of the replies in `turns`
    reward: float  # NaN if not rated
    instead: Mapping[str, tuple[Reply, ...]] = field(
        default_factory=dict
    )  # alternatives at the only point, if paired

    def alternatives(self, turn: Turn) -> Mapping[str, tuple[Reply, ...]]:
        """Agent -> its replies at this turn: the alternatives of the logged message, and what paired agents said.

        For an agent that has both, it is the latter.
        """
        return {**turn.alternatives, **self.instead}


def whole(dialogues: Iterable[Dialogue], rewards: Mapping[str, float]) -> Iterator[Episode]:
    """Each dialogue as an episode, with the reward of its id (NaN if it has none).

    Dialogues without an assistant message that has a text are left out.
    """
    for dialogue in dialogues:
        points = tuple(
            index
            for index, turn in enumerate(dialogue.turns)
            if turn.role == "assistant" and turn.content is not None
        )
        if points:
            reward = rewards.get(dialogue.id, np.nan)
            yield Episode(dialogue.id, dialogue.agent, dialogue.id, dialogue.turns, points, reward)


def single(items: Iterable[Item], rewards: Mapping[str, float]) -> list[Episode]:
    """Each item as an episode of one point, with the reward of its id (NaN if it has none).

    The replies of all items with the same `pair` are alternatives at each of them, by agent, their own reply included.
    """
    found = list(items)
    by_pair: dict[str, dict[str, tuple[Reply, ...]]] = {}
    for item in found:
        said = by_pair.setdefault(item.pair, {})
        said[item.agent] = (*said.get(item.agent, ()), Reply(item.reply))
    return [
        Episode(
            item.id,
            item.agent,
            item.cluster,
            item.turns,
            (len(item.turns) - 1,),
            rewards.get(item.id, np.nan),
            by_pair[item.pair],
        )
        for item in found
    ]


def encode(
    episodes: Iterable[Episode],
    *,
    rating: str,
    scale: tuple[float, float] | None = None,
    delexicalised: bool = True,
    samples: int | None = None,
) -> Episodes:
    """Convert episodes to arrays; of each agent's replies at a point the first `samples` are kept (None: all).

    `rating` is the dimension whose scores are read from the outcomes of replies, `scale` is only passed on.
    """
    gathered = _Gathered(rating, delexicalised, samples)
    for episode in episodes:
        gathered.add(episode)
    return gathered.episodes(scale)


class _Gathered:
    """The arrays of episodes in the making, as growing lists."""

    def __init__(self, rating: str, delexicalised: bool, samples: int | None) -> None:
        self.rating, self.delexicalised, self.samples = rating, delexicalised, samples
        self.texts: dict[str, int] = {}
        self.agents: dict[str, int] = {}
        self.clusters: dict[str, int] = {}
        self.rows: list[tuple[str, int, float, int]] = []  # id, agent, reward, cluster
        self.first = [0]
        self.user: list[int] = []
        self.logged: list[tuple[Reply, ...]] = []
        self.codes: list[tuple[int, ...]] = []
        self.instead: dict[str, dict[int, tuple[tuple[int, Reply], ...]]] = {}
        self.log_probs: dict[str, dict[int, float]] = {}

    def add(self, episode: Episode) -> None:
        """Add one episode with all its points."""
        agent = self.agents.setdefault(episode.agent, len(self.agents))
        cluster = self.clusters.setdefault(episode.cluster, len(self.clusters))
        self.rows.append((episode.id, agent, episode.reward, cluster))
        said: set[str] = set()
        user, points = -1, set(episode.points)
        for index, turn in enumerate(episode.turns):
            if turn.role == "user":
                user = self._code(turn.text, said)
                said.update(values(turn.text))
            elif index in points:
                ends = index == episode.points[-1]
                self._point(turn, user, episode.alternatives(turn), said, ends=ends)
        self.first.append(len(self.user))

    def _point(
        self, turn: Turn, user: int, instead: Mapping[str, tuple[Reply, ...]], said: set[str], *, ends: bool
    ) -> None:
        """Add one point: the logged reply, the alternatives and the logged log-probabilities.

        `user` is the index of the user's last turn (-1: none), `said` the values that the user has said, `ends` whether
        it is the last point of the episode.
        """
        at = len(self.user)
        self.user.append(user)
        self.logged.append((Reply(turn.text, turn.outcome if ends else None),))
        self.codes.append((self._code(turn.text, said),))
        here: dict[str, int] = {}  # several agents often give the same reply at a point
        for agent, replies in instead.items():
            coded = []
            for reply in replies[: self.samples]:
                code = here.get(reply.content)
                if code is None:
                    code = here[reply.content] = self._code(reply.content, said)
                coded.append((code, reply))
            self.instead.setdefault(agent, {})[at] = tuple(coded)
        for agent, value in turn.extra.get(LOG_PROBS, {}).items():
            self.log_probs.setdefault(agent, {})[at] = float(value)

    def _code(self, text: str, said: set[str]) -> int:
        """The index of the text, delexicalised if asked for; a new text is added to the table."""
        shown = delexicalise(text, said) if self.delexicalised else text
        return self.texts.setdefault(shown, len(self.texts))

    def episodes(self, scale: tuple[float, float] | None) -> Episodes:
        """The arrays of all that was added."""
        n = len(self.user)
        ids, agent, reward, cluster = zip(*self.rows, strict=True) if self.rows else ((), (), (), ())
        coded = {
            at: ((codes[0], reply[0]),)
            for at, (codes, reply) in enumerate(zip(self.codes, self.logged, strict=True))
        }
        logged = self._said(coded, n)
        logged.end[np.array(self.first[1:], dtype=np.int64) - 1] = True
        return Episodes(
            rating=self.rating,
            scale=scale,
            agents=tuple(self.agents),
            dialogues=tuple(ids),
            agent=np.array(agent, dtype=np.int64),
            reward=np.array(reward, dtype=np.float64),
            cluster=np.array(cluster, dtype=np.int64),
            first=np.array(self.first, dtype=np.int64),
            texts=tuple(self.texts),
            user=np.array(self.user, dtype=np.int64),
            logged=logged,
            alternatives={name: self._said(at, n) for name, at in self.instead.items()},
            log_probs={name: _column(at, n) for name, at in self.log_probs.items()},
        )

    def _said(self, at: Mapping[int, Sequence[tuple[int, Reply]]], n: int) -> RepliesAtPoints:
        """The replies as arrays (n, K) with K the largest number of replies at a point.

        `at` maps a point to its pairs of (index of the text, reply).
        """
        width = max(map(len, at.values()), default=1)
        text = np.full((n, width), -1, dtype=np.int64)
        end = np.zeros((n, width), dtype=np.bool_)
        outcome, relabelled = np.full((n, width), np.nan), np.full((n, width), np.nan)
        for row, replies in at.items():
            for k, (code, reply) in enumerate(replies):
                text[row, k] = code
                if reply.outcome is not None:
                    end[row, k] = True
                    outcome[row, k] = reply.outcome.get(self.rating, np.nan)
                scores = reply.outcome if reply.relabelled is None else reply.relabelled
                if scores is not None:
                    relabelled[row, k] = scores.get(self.rating, np.nan)
        return RepliesAtPoints(text, end, outcome, relabelled)


def _column(at: Mapping[int, float], n: int) -> Floats:
    """(n,) the values at their points; NaN elsewhere."""
    column = np.full(n, np.nan)
    column[list(at)] = list(at.values())
    return column


def leave_out(episodes: Episodes, agents: Collection[str]) -> Episodes:
    """The episodes without those that these agents held; their alternatives are kept."""
    gone = [index for index, name in enumerate(episodes.agents) if name in agents]
    return kept(episodes, ~np.isin(episodes.agent, gone)) if gone else episodes


def kept(episodes: Episodes, chosen: NDArray[np.bool_]) -> Episodes:
    """The dialogues where `chosen` (N,) is true.

    The table of texts is unchanged, and agents without dialogues are dropped.
    """
    lengths = np.diff(episodes.first)
    points = np.repeat(chosen, lengths)
    names = [name for index, name in enumerate(episodes.agents) if (episodes.agent[chosen] == index).any()]
    new_indices = {episodes.agents.index(name): new for new, name in enumerate(names)}
    return replace(
        episodes,
        agents=tuple(names),
        dialogues=tuple(name for name, keep in zip(episodes.dialogues, chosen, strict=True) if keep),
        agent=np.array([new_indices[int(index)] for index in episodes.agent[chosen]], dtype=np.int64),
        reward=episodes.reward[chosen],
        cluster=episodes.cluster[chosen],
        first=np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64),
        user=episodes.user[points],
        logged=_rows(episodes.logged, points),
        alternatives={name: _rows(said, points) for name, said in episodes.alternatives.items()},
        log_probs={name: column[points] for name, column in episodes.log_probs.items()},
    )


def _rows(said: RepliesAtPoints, points: NDArray[np.bool_]) -> RepliesAtPoints:
    """The replies at the points where `points` (n,) is true."""
    return RepliesAtPoints(said.text[points], said.end[points], said.outcome[points], said.relabelled[points])


def check_alternatives(episodes: Episodes, target: str) -> None:
    """Raise a `DataError` if the target has no reply at some point of another agent's dialogue."""
    others = np.repeat(held_by_others(episodes, target), np.diff(episodes.first))
    said = episodes.alternatives.get(target)
    silent = others if said is None else others & (said.text < 0).all(axis=1)
    if silent.any():
        rows = np.repeat(np.arange(len(episodes.dialogues)), np.diff(episodes.first))
        where = episodes.dialogues[int(rows[np.flatnonzero(silent)[0]])]
        raise DataError(
            f"agent `{target}` has no alternative at {silent.sum()} of {counted(int(others.sum()), 'turn')} "
            f"of others' dialogues (the first is in `{where}`); `turnwise respond` fills them in"
        )


def with_alternatives(episodes: Episodes, agent: str) -> NDArray[np.bool_]:
    """(N,) whether the agent has a reply at every point of the dialogue; true for a dialogue that it held itself."""
    said = episodes.alternatives.get(agent)
    if said is None:
        return ~held_by_others(episodes, agent)
    silent = (said.text < 0).all(axis=1)
    rows = np.repeat(np.arange(len(episodes.dialogues)), np.diff(episodes.first))
    missing = np.bincount(rows, weights=silent, minlength=len(episodes.dialogues)) > 0
    return ~(missing & held_by_others(episodes, agent))


def held_by_others(episodes: Episodes, agent: str) -> NDArray[np.bool_]:
    """(N,) whether another agent held the dialogue."""
    if agent not in episodes.agents:
        return np.ones(len(episodes.dialogues), dtype=np.bool_)
    return np.asarray(episodes.agent != episodes.agents.index(agent))
