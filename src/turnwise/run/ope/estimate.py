"""The estimates of one target: every estimator's raw estimate, calibrated over the other agents or refused."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from turnwise.conformance.calls import estimate_of, reuse_key
from turnwise.encode.episodes import leave_out
from turnwise.errors import PluginError, Refused
from turnwise.estimators.calibration import Line, can_rank, estimates, line
from turnwise.estimators.outside import Distance, check_inside, check_range
from turnwise.estimators.refusal import (
    Reach,
    check_enough,
    check_on_scale,
    check_ratings_differ,
    check_reach,
    check_replies,
    measured_distance,
    measured_reach,
)
from turnwise.estimators.vectors import encoded, register_vectors
from turnwise.protocols import estimator_extras
from turnwise.records import EstimateDiagnostics, WhyNot, Withheld, finite
from turnwise.run.ope.logged_data import LoggedData
from turnwise.run.resume.partial_results import PartialResults, content_digest
from turnwise.run.scoring.tally import generator
from turnwise.run.workers.execute import Executor
from turnwise.stats.interval import Interval, mean_t_interval
from turnwise.types import Episodes, Estimate, Estimator, Floats

PART = 2048  # texts in one encoding task
# Diagnostics of estimators that have a field of their own in results.
OWN_DIAGNOSTICS = ("raw", "slope", "ranking", "p", "bellman_error", "seeds", "seeds_sd")


@dataclass(frozen=True, slots=True)
class Attempt:
    """The estimate of one agent by a slow estimator, or the reason why there is none."""

    estimate: Estimate | None = None
    reason: str = ""
    why: WhyNot | None = None  # the reason as a code with fields, if it was refused
    failed: bool = False  # whether the estimator broke its contract, and did not refuse

    @property
    def error(self) -> PluginError | Refused:
        """The error (not raised) that says why there is no estimate."""
        if self.failed:
            return PluginError(self.reason)
        if self.why is None:  # an error of linear algebra
            return Refused("{error}", "no-solution", error=self.reason)
        return self.why.error


class Precomputed(Mapping[str, Estimate]):
    """Agent -> its estimate, computed before; the lookup raises `Refused` or `PluginError` where there is none."""

    def __init__(self, attempts: Mapping[str, Sequence[Attempt]]) -> None:
        self._attempts = attempts  # by agent: one for each seed

    def __getitem__(self, agent: str) -> Estimate:
        """The mean over seeds; raises the error of the first seed that has no estimate."""
        estimates = []
        for attempt in self._attempts[agent]:
            if attempt.estimate is None:
                raise attempt.error
            estimates.append(attempt.estimate)
        return _mean(estimates)

    def __contains__(self, agent: object) -> bool:
        return agent in self._attempts

    def __iter__(self) -> Iterator[str]:
        return iter(self._attempts)

    def __len__(self) -> int:
        return len(self._attempts)


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker needs to estimate any target: data, estimators, settings and what was computed before."""

    data: LoggedData
    estimators: Mapping[str, Estimator]
    model: str  # encoder for the distances between replies
    calibrate: bool
    seed: int
    seeds: int = 1  # number of seeds, from `seed` on, for estimators that are trained from random weights
    hidden: frozenset[str] = (
        frozenset()
    )  # agents whose dialogues no estimator sees: the targets, except with --all
    vectors: Mapping[str, Floats] = field(default_factory=dict)  # model -> vectors of the texts of `data`
    precomputed: Mapping[str, Mapping[str, Estimate]] = field(
        default_factory=dict
    )  # estimator -> agent -> estimate

    def about(self, what: str) -> str:
        """A name for the work `what`, under which a resumed run finds its results.

        It contains a digest of all numbers that a metric or another file gave: the model, its tables or the file
        may have changed since, and no setting shows that.
        """
        signatures = (reuse_key(estimator) for estimator in self.estimators.values())
        given = [one for one in self.estimators.values() if estimator_extras(one).holds_data]
        numbers = content_digest((self.data.episodes.reward, given))
        return " ".join((what, self.data.rating, numbers, *signatures))


class Measured(NamedTuple):
    """The mean ratings of the known agents, with their standard errors, in the same order."""

    means: Floats
    errors: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetEstimate:
    """One estimator's estimate of one target, calibrated if that was asked for, or the reason why there is none."""

    target: str
    estimator: str
    signature: str = ""
    estimate: float | None = None
    interval: Interval | None = None
    reason: str | None = None  # why there is no estimate
    why: WhyNot | None = None  # the same as a code with fields, if it has one
    failed: bool = False  # whether the estimator broke its contract, and did not refuse
    method: str = ""
    n_dialogues: int = 0
    n_agents: int = 0
    own_dialogues: int | None = None  # of the target, where it is estimated from these
    own_ratings: int | None = None  # how many of these have ratings that were used
    mean_of_others: float | None = None  # of the other agents' mean ratings
    beside: bool = False  # whether another estimate of the target is the answer
    diagnostics: EstimateDiagnostics = field(default_factory=EstimateDiagnostics)
    curves: Mapping[str, Floats] = field(default_factory=dict)
    # Raw estimates of the target and of the known agents, relative to the level of what each was made from.
    relative: Mapping[str, float] = field(default_factory=dict)

    def refused(self, error: Exception, diagnostics: EstimateDiagnostics | None = None) -> "TargetEstimate":
        """This estimate without a number, because of `error`; with these diagnostics, if they are given."""
        return replace(
            self,
            estimate=None,
            interval=None,
            method="",
            reason=str(error),
            why=WhyNot.of(error),
            diagnostics=self.diagnostics if diagnostics is None else diagnostics,
        )


def nested(estimator: Estimator) -> bool:
    """Whether known agents are estimated again for each target, without its dialogues; false for slow estimators."""
    return estimator_extras(estimator).nested


def text_vectors(texts: Sequence[str], model: str, workers: Executor) -> Floats:
    """(m, q) the vectors of the texts, of which there is at least one, encoded in parts of `PART`.

    The workers encode the parts; a single part is encoded here.
    """
    parts = [texts[at : at + PART] for at in range(0, len(texts), PART)]
    if len(parts) == 1:
        return encoded(texts, model)
    return np.concatenate([found for _, found in workers.in_order(_encode, model, parts, model=True)])


def _encode(model: str, texts: Sequence[str]) -> Floats:
    """The task of a worker: (m, q) the vectors of one part of the texts."""
    return encoded(texts, model)


def estimate_target(request: Request, target: str) -> list[TargetEstimate]:
    """One result for each estimator in order: the calibrated and clipped estimate of the target, or a reason.

    A refusal of the target as such (too few dialogues) is repeated for each estimator; a plugin's error has `failed`.
    """
    for model, known_vectors in request.vectors.items():
        register_vectors(request.data.episodes.texts, model, known_vectors)
    seen = request.data.without(target)
    known, errors = request.data.known(target), request.data.known_errors(target)
    here = [name for name in known if name in seen.alternatives]
    n_agents, n_dialogues = request.data.others(target, seen)
    try:
        if request.calibrate:
            check_enough(n_agents, n_dialogues)
        check_replies(seen, target)
        check_ratings_differ(seen)
        reaches = _reaches(request, seen, [target, *(here if request.calibrate else ())])
        unlike = measured_distance(seen, target, here, request.model) if request.calibrate else None
        refusal = None
    except Refused as error:
        reaches, unlike, refusal = {}, None, error
    found = []
    for name, estimator in request.estimators.items():
        about = TargetEstimate(target=target, estimator=name, n_dialogues=n_dialogues, n_agents=len(known))
        try:
            if refusal is not None:
                raise refusal
            rng = generator(request.seed, name, target, request.data.rating)
            own, by_agent = _raw(request, name, estimator, seen, target, here, rng)
        except PluginError as error:
            found.append(replace(about, reason=str(error), failed=True))
            continue
        except (Refused, np.linalg.LinAlgError) as error:
            found.append(about.refused(error))
            continue
        relative = {name: one.value - one.level for name, one in ({target: own} | by_agent).items()}
        about = replace(about, signature=str(estimator.signature), curves=own.curves, relative=relative)
        measured = Measured(
            np.array([known[agent] for agent in by_agent]), np.array([errors[agent] for agent in by_agent])
        )
        about = replace(about, n_agents=len(known) - (len(here) - len(by_agent) if request.calibrate else 0))
        others = list(by_agent.values())
        done = _with_estimate(
            about, own, others, measured, reaches, unlike=unlike, calibrate=request.calibrate
        )
        saw = request.calibrate and not nested(estimator) and target not in request.hidden
        if saw and done.interval is not None:
            done = replace(
                done, method=f"{done.method}; these saw the target's dialogues, as each was estimated once"
            )
        found.append(within_scale(done, request.data.episodes.scale))
    return _compared(found)


def _reaches(request: Request, seen: Episodes, agents: Sequence[str]) -> dict[str, Reach]:
    """Agent -> how close its replies are to those that other agents logged, in the episodes `seen`."""
    return {agent: measured_reach(seen, agent, request.model) for agent in agents}


def _raw(
    request: Request,
    name: str,
    estimator: Estimator,
    seen: Episodes,
    target: str,
    here: Sequence[str],
    rng: np.random.Generator,
) -> tuple[Estimate, dict[str, Estimate]]:
    """The target's estimate and those of the known agents `here` by name, each without its own dialogues.

    The known agents are estimated without the target's dialogues too, unless they are precomputed. A known agent that
    was refused beforehand is left out. Without calibration there are none.
    """
    others = here if request.calibrate else ()
    if name in request.precomputed:
        ready = request.precomputed[name]
        own = ready[target] if target in ready else estimate_of(estimator, seen, target, rng=rng)
        return own, dict(_given(ready, others))
    if not request.data.near:
        own, *rest = estimates(estimator, seen, [target, *others], rng=rng)
        return own, dict(zip(others, rest, strict=True))
    return estimate_of(estimator, seen, target, rng=rng), {
        agent: estimate_of(estimator, leave_out(request.data.without(agent), {target}), agent, rng=rng)
        for agent in others
    }


def _given(ready: Mapping[str, Estimate], agents: Sequence[str]) -> Iterator[tuple[str, Estimate]]:
    """The agents that have an estimate, with it; those that were refused are passed over."""
    for agent in agents:
        try:
            yield agent, ready[agent]
        except Refused:
            continue


def precompute(
    request: Request, agents: Sequence[str], workers: Executor, done: PartialResults
) -> dict[str, Precomputed]:
    """Slow (not nested) estimator -> agent -> its estimate, averaged over seeds.

    A task is one estimator, agent and seed.
    """
    slow = [name for name, estimator in request.estimators.items() if not nested(estimator)]
    tasks = [
        (name, agent, request.seed + more)
        for name in slow
        for agent in agents
        for more in range(request.seeds)
    ]
    kept: dict[str, Any] = {"about": request.about("beforehand"), "kind": Attempt}
    trained: dict[str, dict[str, list[Attempt]]] = {name: {} for name in slow}
    for (name, agent, _), attempt in done.map_tasks(
        workers, _estimate_once, request, tasks, model=True, **kept
    ):
        trained[name].setdefault(agent, []).append(attempt)
    return {name: Precomputed(attempts) for name, attempts in trained.items()}


def _estimate_once(request: Request, task: tuple[str, str, int]) -> Attempt:
    """The task of a worker: an estimate for one (estimator, agent, seed), without dialogues of the hidden agents."""
    name, agent, seed = task
    rng = generator(seed, name, agent, request.data.rating)
    seen = leave_out(request.data.without(agent), request.hidden)
    try:
        return Attempt(estimate_of(request.estimators[name], seen, agent, rng=rng))
    except PluginError as error:
        return Attempt(reason=str(error), failed=True)
    except (Refused, np.linalg.LinAlgError) as error:
        return Attempt(reason=str(error), why=WhyNot.of(error))


def _mean(trained: Sequence[Estimate]) -> Estimate:
    """The mean over several seeds, with their standard deviation in `seeds_sd`; curves are those of the first seed."""
    if len(trained) == 1:
        return trained[0]
    values = [one.value for one in trained]
    diagnostics = {
        key: float(np.mean([one.diagnostics[key] for one in trained])) for key in trained[0].diagnostics
    }
    return replace(
        trained[0],
        value=float(np.mean(values)),
        contributions=np.mean([one.contributions for one in trained], axis=0),
        level=float(np.mean([one.level for one in trained])),
        diagnostics={**diagnostics, "seeds": float(len(trained)), "seeds_sd": float(np.std(values, ddof=1))},
    )


def _with_estimate(
    about: TargetEstimate,
    own: Estimate,
    others: Sequence[Estimate],
    known: Measured,
    reaches: Mapping[str, Reach],
    *,
    unlike: Distance | None = None,
    calibrate: bool,
) -> TargetEstimate:
    """`about`, completed with the target's estimate and interval, or with the reason of a refusal.

    `own` is its raw estimate, `others` those of the known agents, `known` their mean ratings in the same order. A line
    from estimates to means calibrates it; it is refused if there are too few agents for a line, the line does not rank
    them, or the target is out of reach: its replies (`unlike`, `reaches`) or its estimate. What is refused is kept in
    the diagnostics as `withheld`. Without `calibrate`: the raw estimate, never refused, with a sampling interval, or
    None where its contributions give none.
    """
    mine = reaches[about.target]
    diagnostics = structs.replace(
        own_diagnostics(own), overlap=finite(mine.overlap), distance=finite(mine.distance), calibrated=False
    )
    if not calibrate:
        interval = _sampling_interval(own)
        how = (
            "no interval, as what single dialogues add to the estimate is not known"
            if interval is None
            else "dialogues resampled as if only chance were wrong, which covers too little"
        )
        return replace(
            about,
            estimate=own.value,
            interval=interval,
            method=f"uncalibrated: {how}",
            diagnostics=diagnostics,
        )
    try:
        levels = np.array([other.level for other in others])
        fitted = line(
            np.array([other.value for other in others]) - levels, known.means - levels, known.errors
        )
        done = mapped(replace(about, diagnostics=diagnostics), fitted, own.value, own.level)
        # Only to check refusals against a known truth.
        withheld = Withheld(estimate=done.estimate, interval=done.interval)
        diagnostics = structs.replace(done.diagnostics, calibrated=False, withheld=withheld)
        can_rank(fitted)
        check_reach(about.target, mine, [reach for agent, reach in reaches.items() if agent != about.target])
        if unlike is not None:
            check_inside(about.target, (unlike,))
        if done.estimate is not None:
            check_range(about.target, done.estimate, known.means)
    except Refused as error:
        return about.refused(error, diagnostics)
    return done


def own_diagnostics(estimate: Estimate) -> EstimateDiagnostics:
    """The raw value, and what the estimator says of it; names that say something else in results are left out."""
    said = {name: finite(value) for name, value in estimate.diagnostics.items()}
    known = {name: said.pop(name) for name in OWN_DIAGNOSTICS if name in said}
    more = {name: value for name, value in said.items() if name not in EstimateDiagnostics.__struct_fields__}
    return structs.replace(EstimateDiagnostics(raw=finite(estimate.value), more=more), **known)


def mapped(about: TargetEstimate, fitted: Line, value: float, level: float) -> TargetEstimate:
    """`about`, completed with the estimate and interval that the line gives for this raw value and level."""
    low, high = fitted.interval(value - level)
    return replace(
        about,
        estimate=fitted.at(value - level) + level,
        interval=(low + level, high + level),
        method=f"calibrated over {fitted.n} agents left out in turn, prediction interval of "
        + ("least squares" if fitted.effects is None else "random effects"),
        diagnostics=structs.replace(
            about.diagnostics,
            calibrated=True,
            slope=finite(fitted.slope),
            ranking=finite(fitted.correlation),
            p=finite(fitted.p),
        ),
    )


def _sampling_interval(own: Estimate) -> Interval | None:
    """The t interval of the mean contribution; None with fewer than two contributions or if all are equal."""
    found = mean_t_interval(own.contributions)
    return None if found is None else (float(found[0]), float(found[1]))


def within_scale(one: TargetEstimate, scale: tuple[float, float] | None) -> TargetEstimate:
    """Clip estimate and interval to the rating scale, or refuse them if they lie clearly outside; unchanged without a
    scale. An interval that is the whole scale is marked in the diagnostics.
    """
    if scale is None or one.estimate is None:
        return one
    try:
        check_on_scale(*(one.interval or (one.estimate, one.estimate)), scale)
    except Refused as error:
        withheld = Withheld(estimate=one.estimate, interval=one.interval)
        return one.refused(error, structs.replace(one.diagnostics, calibrated=False, withheld=withheld))
    low, high = scale

    def clipped(value: float) -> float:
        """The value, limited to the scale."""
        return float(min(max(value, low), high))

    bounds = None if one.interval is None else (clipped(one.interval[0]), clipped(one.interval[1]))
    known = structs.replace(one.diagnostics, whole_scale=bounds == scale)
    return replace(one, estimate=clipped(one.estimate), interval=bounds, diagnostics=known)


def _compared(found: list[TargetEstimate]) -> list[TargetEstimate]:
    """Add to each result, as `disagrees`, the names of the estimators whose estimates lie outside its interval."""
    given = {one.estimator: one.estimate for one in found if one.estimate is not None}
    compared = []
    for one in found:
        outside = tuple(
            name
            for name, value in given.items()
            if one.interval is not None and not one.interval[0] <= value <= one.interval[1]
        )
        compared.append(replace(one, diagnostics=structs.replace(one.diagnostics, disagrees=outside)))
    return compared
