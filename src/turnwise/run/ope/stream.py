"""`turnwise ope --stream`: logs of any length in constant memory, in passes over shards that the workers read.

The first pass collects the principal components of the texts and the known mean ratings, the second the sums of the
linear estimators (`estimators/linear/stream.py`). What is not a sum is computed from a sample: the distance of a
target's replies from the logged ones is measured on about `SAMPLE` rated dialogues, chosen by a hash of their ids.
Shards are byte ranges of the files and are merged in order, so the numbers do not depend on which worker read which. On
a cluster every node must be able to read the files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise import estimators as registry
from turnwise.conformance.calls import reuse_key, signature_of
from turnwise.encode.episodes import check_alternatives, encode, whole
from turnwise.errors import DataError, PluginError, UsageError, setting
from turnwise.estimators.linear.stream import FirstSums, SecondSums, TargetBasis
from turnwise.logs.native import dump, parse
from turnwise.logs.scan import Census
from turnwise.logs.shards import Shard, shards
from turnwise.protocols import SumEstimator, estimator_extras
from turnwise.run.ope.estimate import Request, TargetEstimate, estimate_target
from turnwise.run.ope.logged_data import METRIC, LoggedData, check_scale
from turnwise.run.resume.partial_results import PartialResults
from turnwise.run.workers.execute import Executor, progress
from turnwise.types import Dialogue, Episodes, Estimate, Estimator, digest

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope

CHUNK = 512  # rated dialogues in memory at a time
SAMPLE = 2000  # rated dialogues in the sample
LEAST = 30  # smallest number of each agent's rated dialogues in the sample, if it has as many
AT_ONCE = 4  # targets in one second pass: each needs p x p sums for every pair of agents
STREAMED = ("fqe", "lstdq", "dice-linear", "direct")  # the default; the first is the main estimator
_SPAN = 2**64  # number of different digests

Rated = tuple[Dialogue, float]  # a dialogue and its reward


@dataclass(frozen=True, slots=True)
class Pass:
    """What a worker needs for a pass over one shard."""

    rating: str
    delexicalised: bool
    model: str
    speakers: tuple[str, ...]  # agents whose alternatives are used
    needed: tuple[str, ...]  # speakers that must have a reply at every point of other agents' rated dialogues
    below: Mapping[str, int]  # agent -> its rated dialogues with a digest below this are in the sample
    bases: tuple[TargetBasis, ...] = ()  # one for each target of a second pass


@dataclass(frozen=True, slots=True)
class FirstPass:
    """Result of the first pass: sums, and the dialogues of the sample."""

    first: FirstSums = field(default_factory=FirstSums)
    sample: tuple[bytes, ...] = ()  # dialogues as lines of the native format, which a stored part keeps whole

    def __add__(self, other: "FirstPass") -> "FirstPass":
        return FirstPass(self.first + other.first, self.sample + other.sample)


@dataclass(frozen=True, slots=True)
class SecondPass:
    """Result of the second pass: sums for each target."""

    second: tuple[SecondSums, ...]

    def __add__(self, other: "SecondPass") -> "SecondPass":
        return SecondPass(tuple(one + two for one, two in zip(self.second, other.second, strict=True)))


class FromSums(Mapping[str, Estimate]):
    """Agent -> its estimate, computed from the sums at each lookup, which may raise `Refused`."""

    def __init__(
        self, estimator: SumEstimator, second: SecondSums, basis: TargetBasis, first: FirstSums
    ) -> None:
        self._estimator, self._second, self._basis, self._first = estimator, second, basis, first

    def __getitem__(self, agent: str) -> Estimate:
        """The estimate of this agent; raises `Refused` if it has no alternatives."""
        return self._second.estimate(self._estimator, agent, self._basis, self._first)

    def __iter__(self) -> Iterator[str]:
        return iter(self._second.speakers)

    def __len__(self) -> int:
        return len(self._second.speakers)


def check_streamable(spec: "Ope") -> None:
    """Raise a `UsageError` if an option is given that --stream does not support.

    They are options that select or weigh dialogues, `metric:` ratings and several seeds.
    """
    idle = {"--where": spec.selection.where, "--limit": spec.selection.limit, "--pair": spec.selection.pair,
            "--challenging": spec.challenging is not None, "--fraction": spec.fraction != 1,
            "--min-truth": spec.min_truth}  # fmt: skip
    if given := [setting(name) for name, value in idle.items() if value]:
        raise UsageError(
            f"{setting('--stream')} takes whole files: leave {', '.join(given)} out, or `turnwise convert` first"
        )
    if (spec.rating or "").startswith(METRIC):
        raise UsageError(f"{setting('--stream')} takes ratings as they are logged, not a metric's numbers")
    if spec.seeds > 1:
        raise UsageError(
            f"{setting('--seeds')} is for what is trained from a chance beginning, and {setting('--stream')} solves: "
            "leave it out"
        )


def sum_estimators(names: Sequence[str], model: str | None) -> tuple[dict[str, Estimator], dict[str, str]]:
    """Name -> estimator, and name -> problem of each plugin that cannot be used.

    Raises a `UsageError` if one needs more than sums, or if they have different encoders, and `PluginError` if no
    estimator can be used.
    """
    found: dict[str, Estimator] = {}
    problems: dict[str, str] = {}
    for name in names:
        try:
            estimator = registry.resolve(name, model=model)
            signature_of(estimator)
            found[name] = estimator
        except PluginError as error:  # the other estimators go on without it
            problems[name] = str(error)
    if not found:
        raise PluginError("; ".join(problems.values()))
    unable = [name for name, estimator in found.items() if not isinstance(estimator, SumEstimator)]
    if unable:
        raise UsageError(
            f"{', '.join(unable)}: no function of sums; {setting('--stream')} has {', '.join(STREAMED)}. The others "
            f"need logs that fit in memory: leave {setting('--stream')} out, and take a sample with "
            f"{setting('--fraction')} or {setting('--limit')} where these do not"
        )
    encoders = dict.fromkeys(str(estimator_extras(estimator).model) for estimator in found.values())
    if len(encoders) > 1:
        raise UsageError(
            f"{setting('--stream')} encodes texts by one model, and {', '.join(found)} name {', '.join(encoders)}: "
            "ask for each model in a run of its own"
        )
    return found, problems


def streamed_estimates(
    spec: "Ope",
    census: Census,
    estimators: Mapping[str, Estimator],
    *,
    rating: str,
    targets: Sequence[str],
    everyone: Sequence[str],
    workers: Executor,
    done: PartialResults,
) -> tuple[LoggedData, list[TargetEstimate]]:
    """The sample with the mean ratings of all dialogues, and the estimates of every target by every estimator.

    Targets are estimated `AT_ONCE` at a time, in one pass over all shards each. Raises `UsageError` if only single
    turns were rated.
    """
    dimension = census.dimensions[rating]
    check_scale(census, rating)
    if dimension.n_turn and not dimension.n_dialogue:
        raise UsageError(
            f"{setting('--stream')} takes ratings of whole dialogues, and `{rating}` was given to single turns"
        )
    (model,) = {str(estimator_extras(estimator).model) for estimator in estimators.values()}
    # Another agent without alternatives cannot calibrate, and the calibration reports that.
    needed = tuple(name for name in everyone if name in targets or name in census.alternatives)
    about = Pass(rating, spec.delexicalise, model, tuple(everyone), needed, _below(dimension.rated))
    parts = shards(spec.paths)
    rounds = [tuple(targets[at : at + AT_ONCE]) for at in range(0, len(targets), AT_ONCE)]
    signatures = " ".join(reuse_key(estimator) for estimator in estimators.values())
    found: list[TargetEstimate] = []
    with progress(f"reading {rating}", len(parts) * (1 + len(rounds)), quiet=spec.quiet) as advance:
        settings: dict[str, Any] = {"advance": advance}
        first_pass = done.sum_tasks(
            workers,
            _first,
            about,
            parts,
            about=f"first {rating} {signatures}",
            nothing=FirstPass(),
            **settings,
        )
        logged_data = _sampled(spec, about, census, _read_sample(first_pass.sample), first_pass.first)
        for some in rounds:
            name = f"{rating} {some} {signatures}"
            estimates = done.get(f"answers {name}", list[TargetEstimate])
            if estimates is None:
                bases = tuple(TargetBasis.of(first_pass.first, target) for target in some)
                here, none = replace(about, bases=bases), SecondPass(tuple(SecondSums() for _ in bases))
                sums = done.sum_tasks(
                    workers, _second, here, parts, about=f"second {name}", nothing=none, **settings
                )
                estimates = [
                    one
                    for basis, gathered in zip(bases, sums.second, strict=True)
                    for one in _target_estimates(
                        spec, logged_data, estimators, basis, gathered, first_pass.first
                    )
                ]
                done.put(f"answers {name}", estimates)
                done.delete(f"second {name}")
            else:
                advance(len(parts))
            found += estimates
    return logged_data, found


def _below(rated: Mapping[str, int]) -> dict[str, int]:
    """Agent -> the threshold of the digest below which its rated dialogues are in the sample.

    `rated` is its number of rated dialogues: the sample has about `SAMPLE` in all, and `LEAST` of each agent.
    """
    total = sum(rated.values())
    return {
        agent: min(_SPAN, max(_SPAN * SAMPLE // total, _SPAN * LEAST // count))
        for agent, count in rated.items()
    }


def _target_estimates(
    spec: "Ope",
    logged_data: LoggedData,
    estimators: Mapping[str, Estimator],
    basis: TargetBasis,
    second: SecondSums,
    first: FirstSums,
) -> list[TargetEstimate]:
    """One result for each estimator for the target of `basis`, from its sums."""
    request = Request(
        data=logged_data,
        estimators=estimators,
        model=str(next(iter(estimators.values())).model),  # type: ignore[attr-defined]  # all are SumEstimator
        calibrate=spec.calibrate,
        seed=spec.seed,
        precomputed={
            name: FromSums(estimator, second, basis, first)
            for name, estimator in estimators.items()
            if isinstance(estimator, SumEstimator)
        },
    )
    return estimate_target(request, basis.target)


def _sampled(
    spec: "Ope", about: Pass, census: Census, dialogues: Sequence[Dialogue], first: FirstSums
) -> LoggedData:
    """The sample as logged data, with mean ratings and counts over all dialogues; a `DataError` if nothing is rated."""
    if not first.by_agent:
        raise DataError(f"no dialogue is rated on `{about.rating}`")
    rated = [one for dialogue in dialogues for one in _rated(about, dialogue)]
    episodes = _encoded(about, rated, scale=census.dimensions[about.rating].scale)
    used = np.ones(len(episodes.dialogues), dtype=np.bool_)
    there = [agent for agent in census.agents if agent in first.by_agent]
    means = {agent: first.mean(agent) for agent in there}
    counts = {agent: first.by_agent[agent].dialogues for agent in there}
    return LoggedData(
        about.rating,
        episodes,
        used,
        {},
        paired=False,
        silent=0,
        means=means,
        counts=counts,
        squares={agent: first.by_agent[agent].squares for agent in there},
    )


def _first(about: Pass, shard: Shard) -> FirstPass:
    """The first pass over one shard. Raises a `DataError` if a needed speaker has no reply somewhere."""
    total = FirstPass()
    for rated in _chunks(about, shard):
        episodes = _encoded(about, rated)
        for name in about.needed:
            check_alternatives(episodes, name)
        sample = tuple(
            dump(one) for one, _ in rated if int(digest(one.id), 16) < about.below.get(one.agent, 0)
        )
        total += FirstPass(FirstSums.of(episodes, about.model), sample)
    return total


def _read_sample(lines: Sequence[bytes]) -> tuple[Dialogue, ...]:
    """The dialogues of the sample, from their lines."""
    return tuple(parse(line, file="sample", line_number=number) for number, line in enumerate(lines, 1))


def _second(about: Pass, shard: Shard) -> SecondPass:
    """The second pass over one shard: sums for each target of `about.bases`."""
    total = SecondPass(tuple(SecondSums() for _ in about.bases))
    for rated in _chunks(about, shard):
        episodes = _encoded(about, rated)
        total += SecondPass(
            tuple(SecondSums.of(episodes, about.model, basis, about.speakers) for basis in about.bases)
        )
    return total


def _chunks(about: Pass, shard: Shard) -> Iterator[list[Rated]]:
    """The rated dialogues of a shard, in lists of up to `CHUNK`."""
    stream = (one for dialogue in shard.read() for one in _rated(about, dialogue))
    return iter(lambda: list(islice(stream, CHUNK)), [])


def _rated(about: Pass, dialogue: Dialogue) -> Iterator[Rated]:
    """The dialogue with its mean rating as a whole; nothing if it is not rated."""
    given = [one.value for one in dialogue.ratings if one.dimension == about.rating and one.turn is None]
    if given:
        yield dialogue, float(np.mean(given))


def _encoded(about: Pass, rated: Sequence[Rated], scale: tuple[float, float] | None = None) -> Episodes:
    """Encode dialogues with their rewards, in this order; several dialogues may have the same id."""
    episodes = (one for dialogue, reward in rated for one in whole([dialogue], {dialogue.id: reward}))
    return encode(episodes, rating=about.rating, scale=scale, delexicalised=about.delexicalised)
