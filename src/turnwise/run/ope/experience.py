"""The experience that `ope` learns from: rated dialogues of the logged agents, as episodes of each rating."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.episodes import Episode, check_answers, encode, kept, leave_out, single, whole
from turnwise.errors import DataError, UsageError, counted
from turnwise.estimators.calibration import known_means
from turnwise.logs.items.items import Selection, items, lookup
from turnwise.logs.native import read_all
from turnwise.logs.scan import Census
from turnwise.run.ope.reward import computed
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import OpeSpec
from turnwise.types import Dialogue, Episodes

METRIC = "metric:"  # before the name of a metric that is the rating


@dataclass(frozen=True, slots=True)
class Experience:
    rating: str
    episodes: Episodes  # all that was read
    used: NDArray[np.bool_]  # (N,) what --fraction leaves
    near: Mapping[str, NDArray[np.bool_]]  # target -> (N,) dialogues that --challenging takes from it
    paired: bool  # whether agents answered in records of their own
    silent: int  # episodes left out because an agent has no reply there
    means: Mapping[str, float] | None = None  # where the episodes are a sample: of all dialogues, by agent
    counts: Mapping[str, int] | None = None  # then too: all rated dialogues, by agent

    @property
    def agents(self) -> tuple[str, ...]:
        return self.episodes.agents

    def rated(self, target: str) -> Episodes:
        """All dialogues that are used but the target's own: what the other agents' means are known from."""
        return leave_out(kept(self.episodes, self.used), {target})

    def known(self, target: str) -> dict[str, float]:
        """Agent -> the mean rating of its own dialogues; without the target's."""
        if self.means is None:
            return known_means(self.rated(target))
        return {agent: mean for agent, mean in self.means.items() if agent != target}

    def others(self, target: str, seen: Episodes) -> tuple[int, int]:
        """How many other agents have rated dialogues, and how many these are; `seen` are the ones at hand."""
        if self.counts is None:
            return len(seen.agents), len(seen.dialogues)
        held = [count for agent, count in self.counts.items() if agent != target]
        return len(held), sum(held)

    def held(self, dialogues: Sequence[Dialogue]) -> list[Dialogue]:
        """Of all that were read, those that are used."""
        there = {
            name.partition("#")[0]
            for name, used in zip(self.episodes.dialogues, self.used, strict=True)
            if used
        }
        return [dialogue for dialogue in dialogues if dialogue.id in there]

    def without(self, target: str) -> Episodes:
        """What may be looked at to answer for this target."""
        return leave_out(kept(self.episodes, self.used & ~self.near.get(target, ~self.used)), {target})


def ratings_asked(census: Census, rating: str | None) -> tuple[str, ...]:
    """The dimensions to estimate: the one that is named, `all`, or by default `overall`, else the only one."""
    known = tuple(census.dimensions)
    if rating is not None and rating.startswith(METRIC):
        return (rating,)
    if not known:
        raise DataError("no conversation is rated; rate the logs, or take --rating metric:NAME as the reward")
    if rating == "all":
        return known
    if rating is None:
        if "overall" in known or len(known) == 1:
            return ("overall" if "overall" in known else known[0],)
        raise UsageError(f"several dimensions were rated: {', '.join(known)}; choose with --rating, or `all`")
    if rating not in known:
        raise UsageError(f"nothing was rated on `{rating}`; the dimensions are {', '.join(known)}")
    return (rating,)


def wanted(spec: OpeSpec) -> tuple[list[Dialogue], Census]:
    """The conversations that --where and --limit leave, and what they hold."""
    chosen = spec.selection
    there = [
        one for one in read_all(spec.data) if all(lookup(one, key) == value for key, value in chosen.where)
    ]
    if not there:
        shown = " ".join(f"--where {key}={value}" for key, value in chosen.where)
        raise DataError(f"{shown} leaves no conversation")
    census = Census()
    for dialogue in there[: chosen.limit]:
        census.add(dialogue)
    return there[: chosen.limit], census


def experience(
    spec: OpeSpec,
    dialogues: Sequence[Dialogue],
    census: Census,
    *,
    rating: str,
    targets: Sequence[str],
    others: Sequence[str],
) -> Experience:
    """The episodes of one rating; the replies of `targets` are needed, and of the `others` all or none."""
    check_scale(census, rating)
    turnwise = rating in census.turn_rated and not census.dimensions[rating].n_dialogue
    paired = turnwise and not census.alternatives
    found = _single(dialogues, spec.selection, rating) if turnwise else _whole(spec, dialogues, rating)
    scale = census.dimensions[rating].scale if rating in census.dimensions else None
    episodes = encode(found, rating=rating, scale=scale, delexicalised=spec.delexicalise)
    there = np.isfinite(episodes.reward)
    unrated = len(there) - int(there.sum())
    if paired:
        there &= _complete(episodes, [*targets, *others])
    silent = len(there) - int(there.sum()) - unrated
    if not there.all():
        episodes, found = kept(episodes, there), [one for one, keep in zip(found, there, strict=True) if keep]
    if not paired:
        for name in targets:
            check_answers(episodes, name)
        for name in others:
            if name in episodes.alternatives:  # else it cannot calibrate, which is said where it is missed
                check_answers(episodes, name)
    if not len(episodes.dialogues):
        raise DataError(_nothing(rating, [*targets, *others], paired=paired))
    used = _fraction(episodes, spec.fraction, generator(spec.seed, "fraction"))
    near = {}
    if spec.challenging is not None:
        near = {target: unlike(found, target, spec.challenging) for target in (*targets, *others)}
    return Experience(rating, episodes, used, near, paired, silent)


def _nothing(rating: str, targets: Sequence[str], *, paired: bool) -> str:
    if not paired:
        return f"no conversation is rated on `{rating}`"
    return (
        f"no context was answered by all of {', '.join(targets)}: agents are paired by identical contexts; "
        "name what pairs them with --pair KEY, e.g. meta.item, or give `alternatives`"
    )


def check_scale(census: Census, rating: str) -> None:
    """Raises where the ratings cannot be averaged."""
    scales = list(census.dimensions[rating].scales) if rating in census.dimensions else []
    if len(scales) > 1:
        named = ", ".join("none" if scale is None else f"{scale[0]:g} to {scale[1]:g}" for scale in scales)
        raise DataError(
            f"`{rating}` was rated on several scales ({named}); a mean over them says nothing: map them to one"
        )


def _whole(spec: OpeSpec, dialogues: Sequence[Dialogue], rating: str) -> list[Episode]:
    if rating.startswith(METRIC):
        return list(whole(dialogues, computed(spec, dialogues, rating.removeprefix(METRIC))))
    rewards = {
        dialogue.id: float(np.mean(given))
        for dialogue in dialogues
        if (given := [one.value for one in dialogue.ratings if one.dimension == rating and one.turn is None])
    }
    return list(whole(dialogues, rewards))


def _single(dialogues: Sequence[Dialogue], selection: Selection, rating: str) -> list[Episode]:
    given: dict[str, list[float]] = {}
    for dialogue in dialogues:
        for one in dialogue.ratings:
            if one.dimension == rating and one.turn is not None:
                given.setdefault(f"{dialogue.id}#{one.turn}", []).append(one.value)
    rewards = {name: float(np.mean(values)) for name, values in given.items()}
    chosen = replace(selection, judged="rated", dimension=rating, where=(), limit=None)
    return single(items(dialogues, chosen), rewards)


def _complete(episodes: Episodes, targets: Sequence[str]) -> NDArray[np.bool_]:
    """(N,) whether all targets have a reply; one point an episode."""
    spoken = [
        (episodes.alternatives[name].text >= 0).any(axis=1)
        for name in targets
        if name in episodes.alternatives
    ]
    return np.logical_and.reduce(spoken) if spoken else np.zeros(len(episodes.dialogues), dtype=np.bool_)


def _fraction(episodes: Episodes, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Of each agent's dialogues the share to be used, one or more, drawn at random."""
    used = np.zeros(len(episodes.dialogues), dtype=np.bool_)
    for place in range(len(episodes.agents)):
        mine = np.flatnonzero(episodes.agent == place)
        used[rng.permutation(mine)[: max(1, round(share * len(mine)))]] = True
    return used


def unlike(episodes: Sequence[Episode], target: str, distance: int) -> NDArray[np.bool_]:
    """(N,) dialogues in which every reply lies within this edit distance of one that the target would have given.

    The paper's 'challenging' setting leaves these out: what remains differs from the target somewhere.
    """
    from rapidfuzz.distance import Levenshtein

    def close(said: str, instead: Sequence[str]) -> bool:
        return any(
            Levenshtein.distance(said, other, score_cutoff=distance) <= distance for other in set(instead)
        )

    def all_close(episode: Episode) -> bool:
        for place in episode.points:
            turn = episode.turns[place]
            instead = (episode.instead or turn.alternatives).get(target, ())
            if not close(turn.text, [reply.content for reply in instead]):
                return False
        return True

    return np.array([all_close(episode) for episode in episodes], dtype=np.bool_)


def left_out(experience: Experience) -> str | None:
    if not experience.silent:
        return None
    return f"{counted(experience.silent, 'item')} left out: not every agent answered there"
