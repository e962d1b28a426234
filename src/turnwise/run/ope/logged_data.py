"""The data of `ope`: rated dialogues of the logging agents, as episodes with one rating as their reward."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.episodes import (
    Episode,
    check_alternatives,
    encode,
    held_by_others,
    kept,
    leave_out,
    single,
    whole,
    with_alternatives,
)
from turnwise.errors import DataError, UsageError, counted, setting
from turnwise.estimators.calibration import known_errors, known_means, standard_errors
from turnwise.logs.items.items import Selection, items, lookup
from turnwise.logs.native import read_all
from turnwise.logs.scan import Census
from turnwise.run.ope.reward import computed
from turnwise.run.scoring.tally import generator
from turnwise.types import Dialogue, Episodes

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope

METRIC = "metric:"  # prefix of a rating that is a metric's number


@dataclass(frozen=True, slots=True)
class LoggedData:
    """The episodes of one rating, and which of them are used.

    With --stream the episodes are a sample, and `means` and `counts` are over all dialogues.
    """

    rating: str
    episodes: Episodes  # all episodes that were read
    used: NDArray[np.bool_]  # (N,) the episodes that --fraction keeps
    near: Mapping[str, NDArray[np.bool_]]  # target -> (N,) episodes that --challenging leaves out for it
    paired: bool  # whether each agent's replies are in separate records
    silent: int  # number of episodes left out because an agent has no reply
    means: Mapping[str, float] | None = (
        None  # mean ratings by agent over all dialogues, where the episodes are a sample
    )
    counts: Mapping[str, int] | None = None  # number of rated dialogues by agent, likewise
    squares: Mapping[str, float] | None = (
        None  # sums of squares of ratings around the mean by agent, likewise
    )

    def rated(self, target: str) -> Episodes:
        """All used episodes except the target's own; the other agents' mean ratings are computed from them."""
        return leave_out(kept(self.episodes, self.used), {target})

    def known(self, target: str) -> dict[str, float]:
        """Agent -> mean rating, without the target, over its used episodes (with --stream over all its dialogues)."""
        if self.means is None:
            return known_means(self.rated(target))
        return {agent: mean for agent, mean in self.means.items() if agent != target}

    def known_errors(self, target: str | None = None) -> dict[str, float]:
        """Agent -> standard error of its mean rating in `known`, without the target.

        They are 0 where agents replied to the same contexts: all have met the same ones, and an agent's mean rating is
        wanted for these.
        """
        if self.counts is not None and self.squares is not None:
            return standard_errors(
                {agent: (n, self.squares[agent]) for agent, n in self.counts.items() if agent != target}
            )
        rated = kept(self.episodes, self.used)
        rated = rated if target is None else leave_out(rated, {target})
        return dict.fromkeys(known_means(rated), 0.0) if self.paired else known_errors(rated)

    def others(self, target: str, seen: Episodes) -> tuple[int, int]:
        """The number of other agents with rated dialogues, and of these dialogues.

        `seen` are the episodes without the target's: they are counted unless `counts` is known (--stream).
        """
        if self.counts is None:
            return len(seen.agents), len(seen.dialogues)
        held = [count for agent, count in self.counts.items() if agent != target]
        return len(held), sum(held)

    def used_dialogues(self, dialogues: Sequence[Dialogue]) -> list[Dialogue]:
        """Those of `dialogues` of which an episode is used, in order."""
        there = {
            name.partition("#")[0]
            for name, used in zip(self.episodes.dialogues, self.used, strict=True)
            if used
        }
        return [dialogue for dialogue in dialogues if dialogue.id in there]

    def without(self, target: str) -> Episodes:
        """The episodes that may estimate this target: used, not its own, and not left out by --challenging."""
        return leave_out(kept(self.episodes, self.used & ~self.near.get(target, ~self.used)), {target})


def requested_ratings(census: Census, rating: str | None) -> tuple[str, ...]:
    """The rating dimensions to estimate: the named one, `all`, or by default `overall`, otherwise the only one.

    `metric:NAME` is taken as it is. Unrated data is a `DataError`; an unknown name, or no clear default, a
    `UsageError`.
    """
    known = tuple(census.dimensions)
    if rating is not None and rating.startswith(METRIC):
        return (rating,)
    if not known:
        raise DataError(
            f"no dialogue is rated; rate the logs, or take {setting('--rating', 'metric:NAME')} as the reward"
        )
    if rating == "all":
        return known
    if rating is None:
        if "overall" in known or len(known) == 1:
            return ("overall" if "overall" in known else known[0],)
        raise UsageError(
            f"several dimensions were rated: {', '.join(known)}; choose with {setting('--rating')}, or `all`"
        )
    if rating not in known:
        raise UsageError(f"nothing was rated on `{rating}`; the dimensions are {', '.join(known)}")
    return (rating,)


def selected_dialogues(spec: "Ope", *, apart: bool = False) -> tuple[list[Dialogue], Census]:
    """The dialogues that --where and --limit select, and their census; a `DataError` if there are none.

    With `apart`, ids need only differ inside a file.
    """
    chosen = spec.selection
    there = [
        one
        for one in read_all(spec.paths, apart=apart)
        if all(lookup(one, key) == value for key, value in chosen.where)
    ]
    if not there:
        shown = " ".join(setting("--where", f"{key}={value}") for key, value in chosen.where)
        raise DataError(f"{shown} leaves no dialogue")
    census = Census()
    for dialogue in there[: chosen.limit]:
        census.add(dialogue)
    return there[: chosen.limit], census


def prepare(
    spec: "Ope",
    dialogues: Sequence[Dialogue],
    census: Census,
    *,
    rating: str,
    targets: Sequence[str],
    others: Sequence[str],
) -> LoggedData:
    """The rated episodes of one rating: dialogues, or single replies where only these were rated.

    Episodes without a reply of a target at some point are left out, and so are those without a reply of one of `others`
    that has some in most of them. `silent` counts them.
    """
    check_scale(census, rating)
    turnwise = rating in census.turn_rated and not census.dimensions[rating].n_dialogue
    # Agents that no one asked have replies to other agents' contexts only where they met the same context themselves.
    paired = turnwise and not {*targets, *others} <= census.alternatives.keys()
    found = (
        _single(dialogues, spec.selection, rating, targets) if turnwise else _whole(spec, dialogues, rating)
    )
    scale = census.dimensions[rating].scale if rating in census.dimensions else None
    episodes = encode(found, rating=rating, scale=scale, delexicalised=spec.delexicalise)
    there = np.isfinite(episodes.reward)
    unrated = len(there) - int(there.sum())
    if paired:
        there &= _complete(episodes, [*targets, *others])
    else:
        episodes, everywhere = _with_replies(episodes, there, targets, others)
        there &= everywhere
    silent = len(there) - int(there.sum()) - unrated
    if not there.all():
        episodes, found = kept(episodes, there), [one for one, keep in zip(found, there, strict=True) if keep]
    if not len(episodes.dialogues):
        raise DataError(_nothing(rating, [*targets, *others], paired=paired))
    used = _fraction(episodes, spec.fraction, generator(spec.seed, "fraction"))
    near = {}
    if spec.challenging is not None:
        near = {target: close_to_target(found, target, spec.challenging) for target in (*targets, *others)}
    return LoggedData(rating, episodes, used, near, paired, silent)


def _with_replies(
    episodes: Episodes, rated: NDArray[np.bool_], targets: Sequence[str], others: Sequence[str]
) -> tuple[Episodes, NDArray[np.bool_]]:
    """The episodes, and (N,) those in which every target has a reply at each point, as have the agents that calibrate.

    An agent of `others` without a reply in more than half of what is left loses its replies: it cannot calibrate then,
    and the calibration reports that. Raises a `DataError` if a target has a reply nowhere, or if nothing is left.
    """
    kept = rated
    for name in targets:
        kept = kept & with_alternatives(episodes, name)
        if not (kept & held_by_others(episodes, name)).any():
            check_alternatives(episodes, name)
    dropped = []
    for name in others:
        if name in episodes.alternatives:
            here = kept & with_alternatives(episodes, name)
            if 2 * here.sum() < kept.sum():
                dropped.append(name)
            else:
                kept = here
    left = {name: said for name, said in episodes.alternatives.items() if name not in dropped}
    return replace(episodes, alternatives=left), kept


def _nothing(rating: str, targets: Sequence[str], *, paired: bool) -> str:
    """The message for the case that no episode is left."""
    if not paired:
        return f"no dialogue is rated on `{rating}`"
    return (
        f"no context has replies of all of {', '.join(targets)}: agents are paired by identical contexts; "
        f"name what pairs them with {setting('--pair', 'KEY')}, e.g. meta.item, or give `alternatives`"
    )


def check_scale(census: Census, rating: str) -> None:
    """Raise a `DataError` if the ratings of this dimension are on several scales."""
    scales = list(census.dimensions[rating].scales) if rating in census.dimensions else []
    if len(scales) > 1:
        named = ", ".join("none" if scale is None else f"{scale[0]:g} to {scale[1]:g}" for scale in scales)
        raise DataError(
            f"`{rating}` was rated on several scales ({named}); a mean over them says nothing: map them to one"
        )


def _whole(spec: "Ope", dialogues: Sequence[Dialogue], rating: str) -> list[Episode]:
    """Each dialogue as an episode; the reward is its mean rating as a whole (NaN if unrated), or a metric's score."""
    if rating.startswith(METRIC):
        return list(whole(dialogues, computed(spec, dialogues, rating.removeprefix(METRIC))))
    rewards = {
        dialogue.id: float(np.mean(given))
        for dialogue in dialogues
        if (given := [one.value for one in dialogue.ratings if one.dimension == rating and one.turn is None])
    }
    return list(whole(dialogues, rewards))


def _single(
    dialogues: Sequence[Dialogue], selection: Selection, rating: str, targets: Sequence[str]
) -> list[Episode]:
    """Each reply that was rated on this dimension as an episode; the reward is its mean rating.

    The last reply of a target's dialogue in which nothing was rated on it is one too, without a reward: it is what the
    target replied to that context.
    """
    given: dict[str, list[float]] = {}
    for dialogue in dialogues:
        for one in dialogue.ratings:
            if one.dimension == rating and one.turn is not None:
                given.setdefault(f"{dialogue.id}#{one.turn}", []).append(one.value)
    rewards = {name: float(np.mean(values)) for name, values in given.items()}
    chosen = replace(selection, items="rated", dimension=rating, where=(), limit=None)
    rated = {name.partition("#")[0] for name in rewards}
    unrated = [one for one in dialogues if one.agent in targets and one.id not in rated]
    last = replace(chosen, items="last", dimension=None)
    more = items(unrated, last) if unrated else ()
    return single([*items(dialogues, chosen), *more], rewards)


def _complete(episodes: Episodes, targets: Sequence[str]) -> NDArray[np.bool_]:
    """(N,) whether every target that has any alternatives has a reply in the episode, which has one point.

    All are false if no target has any.
    """
    spoken = [
        (episodes.alternatives[name].text >= 0).any(axis=1)
        for name in targets
        if name in episodes.alternatives
    ]
    return np.logical_and.reduce(spoken) if spoken else np.zeros(len(episodes.dialogues), dtype=np.bool_)


def _fraction(episodes: Episodes, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(N,) true for a random share of each agent's dialogues, rounded, at least one."""
    used = np.zeros(len(episodes.dialogues), dtype=np.bool_)
    for index in range(len(episodes.agents)):
        mine = np.flatnonzero(episodes.agent == index)
        used[rng.permutation(mine)[: max(1, round(share * len(mine)))]] = True
    return used


def close_to_target(episodes: Sequence[Episode], target: str, distance: int) -> NDArray[np.bool_]:
    """(N,) whether every reply of an episode is within this edit distance of a reply that the target would have given.

    The distance counts characters. The paper's 'challenging' setting leaves these dialogues out; the others differ from
    the target in some reply.
    """
    from rapidfuzz.distance import Levenshtein

    def close(said: str, instead: Sequence[str]) -> bool:
        """Whether `said` is within the distance of one of the texts `instead`; False without any."""
        return any(
            Levenshtein.distance(said, other, score_cutoff=distance) <= distance for other in set(instead)
        )

    def all_close(episode: Episode) -> bool:
        """Whether the logged reply at every point of the episode is close to a reply of the target."""
        for index in episode.points:
            turn = episode.turns[index]
            instead = episode.alternatives(turn).get(target, ())
            if not close(turn.text, [reply.content for reply in instead]):
                return False
        return True

    return np.array([all_close(episode) for episode in episodes], dtype=np.bool_)


def left_out(data: LoggedData) -> str | None:
    """A note on the episodes that were left out because an agent has no reply; None if there are none."""
    if not data.silent:
        return None
    return f"{counted(data.silent, 'item')} left out: not every agent has a reply there"
