"""`turnwise ope --stream`: logs of any length in constant memory, by passes over shards that workers read themselves.

The first pass takes what the texts' directions and the known means need, the second the sums of the linear estimators
(`estimators.stream`); what cannot be a sum is looked at in a sample. How far a target's replies lie from the
logged ones is such a thing: it is measured on about `SAMPLE` rated dialogues, chosen by a hash of their ids. Shards
are cut by the files' bytes and merged in their order, so the numbers do not depend on who read what. On a cluster
the files must lie where every node finds them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from turnwise import estimators as registry
from turnwise.encode.episodes import check_answers, encode, whole
from turnwise.errors import DataError, UsageError
from turnwise.estimators.linear.stream import FirstSums, SecondSums, SumEstimator, TargetBasis
from turnwise.logs.scan import Census
from turnwise.logs.shards import Shard, shards
from turnwise.protocols import estimator_extras
from turnwise.run.ope.answer import Answer, Asked, answer
from turnwise.run.ope.experience import METRIC, Experience, check_scale
from turnwise.run.progress import progress
from turnwise.run.resume.unfinished import Unfinished
from turnwise.run.spec import OpeSpec
from turnwise.run.workers.execute import Executor
from turnwise.types import Dialogue, Episodes, Estimate, Estimator, digest

CHUNK = 512  # rated dialogues in memory at a time
SAMPLE = 2000  # rated dialogues that are looked at beside the sums
LEAST = 30  # of them by each agent, however few of all it held: those of the others are what a target is held against
AT_ONCE = 4  # targets in one second pass: each costs p x p sums for every two agents
STREAMED = ("fqe", "lstdq", "dice-linear", "direct")  # by default; the first is the answer
_SPAN = 2**64  # of a digest

Rated = tuple[Dialogue, float]  # with its reward


@dataclass(frozen=True, slots=True)
class Pass:
    """What a worker needs in either pass."""

    rating: str
    delexicalised: bool
    model: str
    speakers: tuple[str, ...]  # whose replies are asked for
    needed: tuple[str, ...]  # those of them who may not be silent in another's rated dialogue
    below: Mapping[str, int]  # agent -> its rated dialogues whose digest lies below are in the sample
    frames: tuple[TargetBasis, ...] = ()  # of the second pass


@dataclass(frozen=True, slots=True)
class Begun:
    """What the first pass gathers: sums, and the dialogues of the sample."""

    first: FirstSums = field(default_factory=FirstSums)
    sample: tuple[Dialogue, ...] = ()

    def __add__(self, other: "Begun") -> "Begun":
        return Begun(self.first + other.first, self.sample + other.sample)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the second pass gathers: sums for each frame."""

    second: tuple[SecondSums, ...]

    def __add__(self, other: "Gathered") -> "Gathered":
        return Gathered(tuple(one + two for one, two in zip(self.second, other.second, strict=True)))


class FromSums(Mapping[str, Estimate]):
    """Agent -> what an estimator makes of the sums when asked; it may refuse."""

    def __init__(
        self, estimator: SumEstimator, second: SecondSums, frame: TargetBasis, first: FirstSums
    ) -> None:
        self._estimator, self._second, self._frame, self._first = estimator, second, frame, first

    def __getitem__(self, agent: str) -> Estimate:
        return self._second.estimate(self._estimator, agent, self._frame, self._first)

    def __iter__(self) -> Iterator[str]:
        return iter(self._second.speakers)

    def __len__(self) -> int:
        return len(self._second.speakers)


def check_streamable(spec: OpeSpec) -> None:
    """Raises where what was asked needs all dialogues at once."""
    idle = {"--where": spec.selection.where, "--limit": spec.selection.limit, "--pair": spec.selection.pair,
            "--challenging": spec.challenging is not None, "--fraction": spec.fraction != 1,
            "--min-truth": spec.min_truth}  # fmt: skip
    if given := [name for name, value in idle.items() if value]:
        raise UsageError(
            f"--stream takes whole files: leave {', '.join(given)} out, or `turnwise convert` first"
        )
    if (spec.rating or "").startswith(METRIC):
        raise UsageError("--stream takes ratings as they are logged, not a metric's numbers")
    if spec.seeds > 1:
        raise UsageError(
            "--seeds is for what is trained from a chance beginning, and --stream solves: leave it out"
        )


def summing(names: Sequence[str], model: str | None) -> dict[str, Estimator]:
    """The estimators by name; each reads nothing but sums."""
    found = {name: registry.resolve(name, model=model) for name in names}
    unable = [name for name, estimator in found.items() if not isinstance(estimator, SumEstimator)]
    if unable:
        raise UsageError(
            f"{', '.join(unable)}: no function of sums; --stream has {', '.join(STREAMED)}. The others need logs that "
            "fit in memory: leave --stream out, and take a sample with --fraction or --limit where these do not"
        )
    encoders = dict.fromkeys(str(estimator_extras(estimator).model) for estimator in found.values())
    if len(encoders) > 1:
        raise UsageError(
            f"--stream encodes texts by one model, and {', '.join(found)} name {', '.join(encoders)}: "
            "ask for each model in a run of its own"
        )
    return found


def streamed_answers(
    spec: OpeSpec,
    census: Census,
    estimators: Mapping[str, Estimator],
    *,
    rating: str,
    targets: Sequence[str],
    everyone: Sequence[str],
    workers: Executor,
    done: Unfinished,
) -> tuple[Experience, list[Answer]]:
    """A sample of the dialogues, with the means of all of them, and every target's answers."""
    dimension = census.dimensions[rating]
    check_scale(census, rating)
    if dimension.n_turn and not dimension.n_dialogue:
        raise UsageError(
            f"--stream takes ratings of whole dialogues, and `{rating}` was given to single turns"
        )
    (model,) = {str(estimator_extras(estimator).model) for estimator in estimators.values()}
    # Another agent that answers nowhere cannot calibrate, which is said where it is missed.
    needed = tuple(name for name in everyone if name in targets or name in census.alternatives)
    about = Pass(rating, spec.delexicalise, model, tuple(everyone), needed, _below(dimension.rated))
    parts = shards(spec.data)
    rounds = [tuple(targets[at : at + AT_ONCE]) for at in range(0, len(targets), AT_ONCE)]
    signatures = " ".join(str(estimator.signature) for estimator in estimators.values())
    found: list[Answer] = []
    with progress(f"reading {rating}", len(parts) * (1 + len(rounds)), quiet=spec.quiet) as advance:
        settings: dict[str, Any] = {"advance": advance}
        begun = done.total(
            workers, _first, about, parts, about=f"first {rating} {signatures}", nothing=Begun(), **settings
        )
        lived = _sampled(spec, about, census, begun.sample, begun.first)
        for some in rounds:
            name = f"{rating} {some} {signatures}"
            answers = done.get(f"answers {name}", list[Answer])
            if answers is None:
                frames = tuple(TargetBasis.of(begun.first, target) for target in some)
                here, none = replace(about, frames=frames), Gathered(tuple(SecondSums() for _ in frames))
                sums = done.total(
                    workers, _second, here, parts, about=f"second {name}", nothing=none, **settings
                )
                answers = [
                    one
                    for frame, gathered in zip(frames, sums.second, strict=True)
                    for one in _answers(spec, lived, estimators, frame, gathered, begun.first)
                ]
                done.put(f"answers {name}", answers)
                done.forget(f"second {name}")
            else:
                advance(len(parts))
            found += answers
    return lived, found


def _below(rated: Mapping[str, int]) -> dict[str, int]:
    """Agent -> where digests of ids end that are in the sample, from how many of its dialogues are rated."""
    total = sum(rated.values())
    return {
        agent: min(_SPAN, max(_SPAN * SAMPLE // total, _SPAN * LEAST // count))
        for agent, count in rated.items()
    }


def _answers(
    spec: OpeSpec,
    lived: Experience,
    estimators: Mapping[str, Estimator],
    frame: TargetBasis,
    second: SecondSums,
    first: FirstSums,
) -> list[Answer]:
    asked = Asked(
        experience=lived,
        estimators=estimators,
        model=str(next(iter(estimators.values())).model),  # type: ignore[attr-defined]  # all are SumEstimator
        calibrate=spec.calibrate,
        seed=spec.seed,
        beforehand={
            name: FromSums(estimator, second, frame, first)
            for name, estimator in estimators.items()
            if isinstance(estimator, SumEstimator)
        },
    )
    return answer(asked, frame.target)


def _sampled(
    spec: OpeSpec, about: Pass, census: Census, dialogues: Sequence[Dialogue], first: FirstSums
) -> Experience:
    if not first.by_agent:
        raise DataError(f"no conversation is rated on `{about.rating}`")
    rated = [one for dialogue in dialogues for one in _rated(about, dialogue)]
    episodes = _encoded(about, rated, scale=census.dimensions[about.rating].scale)
    used = np.ones(len(episodes.dialogues), dtype=np.bool_)
    there = [agent for agent in census.agents if agent in first.by_agent]
    means = {agent: first.mean(agent) for agent in there}
    counts = {agent: first.by_agent[agent].dialogues for agent in there}
    return Experience(about.rating, episodes, used, {}, paired=False, silent=0, means=means, counts=counts)


def _first(about: Pass, shard: Shard) -> Begun:
    total = Begun()
    for rated in _chunks(about, shard):
        episodes = _encoded(about, rated)
        for name in about.needed:
            check_answers(episodes, name)
        sample = tuple(one for one, _ in rated if int(digest(one.id), 16) < about.below.get(one.agent, 0))
        total += Begun(FirstSums.of(episodes, about.model), sample)
    return total


def _second(about: Pass, shard: Shard) -> Gathered:
    total = Gathered(tuple(SecondSums() for _ in about.frames))
    for rated in _chunks(about, shard):
        episodes = _encoded(about, rated)
        total += Gathered(
            tuple(SecondSums.of(episodes, about.model, frame, about.speakers) for frame in about.frames)
        )
    return total


def _chunks(about: Pass, shard: Shard) -> Iterator[list[Rated]]:
    stream = (one for dialogue in shard.read() for one in _rated(about, dialogue))
    return iter(lambda: list(islice(stream, CHUNK)), [])


def _rated(about: Pass, dialogue: Dialogue) -> Iterator[Rated]:
    """The dialogue with its mean rating, if it was rated."""
    given = [one.value for one in dialogue.ratings if one.dimension == about.rating and one.turn is None]
    if given:
        yield dialogue, float(np.mean(given))


def _encoded(about: Pass, rated: Sequence[Rated], scale: tuple[float, float] | None = None) -> Episodes:
    """Each reward goes with the dialogue beside it, whatever others are called."""
    episodes = (one for dialogue, reward in rated for one in whole([dialogue], {dialogue.id: reward}))
    return encode(episodes, rating=about.rating, scale=scale, delexicalised=about.delexicalised)
