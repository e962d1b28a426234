"""One target's answers: every estimator's raw estimate, calibrated over the other agents or refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused
from turnwise.estimators.calibration import can_rank, estimates, line
from turnwise.estimators.refusal import Reach, check_enough, check_reach, reach
from turnwise.estimators.vectors import give
from turnwise.protocols import estimator_extras
from turnwise.run.ope.experience import Experience
from turnwise.run.resume.unfinished import Unfinished, fingerprint
from turnwise.run.scoring.tally import generator
from turnwise.run.workers.execute import Executor
from turnwise.stats.interval import Interval, mean_t_interval
from turnwise.types import Episodes, Estimate, Estimator, Floats


@dataclass(frozen=True, slots=True)
class Asked:
    """What a worker needs to answer for any target."""

    experience: Experience
    estimators: Mapping[str, Estimator]
    model: str  # encoder by which distances are measured
    calibrate: bool
    seed: int
    seeds: int = 1  # from `seed` on, with each of which estimators are trained that begin by chance
    hidden: frozenset[str] = frozenset()  # agents whose dialogues nobody looks at: the targets, but for --all
    vectors: Mapping[str, Floats] = field(default_factory=dict)  # model -> of the experience's texts
    beforehand: Mapping[str, Mapping[str, Estimate]] = field(
        default_factory=dict
    )  # estimator -> agent -> estimate

    def about(self, what: str) -> str:
        """What is done for these, by name, for a run that goes on from an earlier try.

        Numbers that a metric or another file gave are named by what they are: its model, its tables or the file may
        have changed since, and no setting shows it.
        """
        signatures = (str(estimator.signature) for estimator in self.estimators.values())
        given = [one for one in self.estimators.values() if estimator_extras(one).holds_data]
        numbers = fingerprint((self.experience.episodes.reward, given))
        return " ".join((what, self.experience.rating, numbers, *signatures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    target: str
    estimator: str
    signature: str = ""
    estimate: float | None = None
    interval: Interval | None = None
    reason: str | None = None  # why it is refused
    method: str = ""
    n_dialogues: int = 0
    n_agents: int = 0
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    curves: Mapping[str, Floats] = field(default_factory=dict)


def nested(estimator: Estimator) -> bool:
    """Whether known agents are estimated anew for each target, without its dialogues; not where that takes hours."""
    return estimator_extras(estimator).nested


def answer(asked: Asked, target: str) -> list[Answer]:
    for model, found_before in asked.vectors.items():
        give(asked.experience.episodes.texts, model, found_before)
    seen = asked.experience.without(target)
    known = asked.experience.known(target)
    here = [name for name in known if name in seen.alternatives]
    n_agents, n_dialogues = asked.experience.others(target, seen)
    try:
        if asked.calibrate:
            check_enough(n_agents, n_dialogues)
        reaches = _reaches(asked, seen, [target, *(here if asked.calibrate else ())])
        refusal = None
    except Refused as error:
        reaches, refusal = {}, str(error)
    found = []
    for name, estimator in asked.estimators.items():
        about = Answer(target=target, estimator=name, n_dialogues=n_dialogues, n_agents=len(known))
        try:
            if refusal is not None:
                raise Refused(refusal)
            rng = generator(asked.seed, name, target, asked.experience.rating)
            own, others = _raw(asked, name, estimator, seen, target, here, rng)
        except (Refused, np.linalg.LinAlgError) as error:
            found.append(replace(about, reason=str(error)))
            continue
        about = replace(about, signature=str(estimator.signature), curves=own.curves)
        means = np.array([known[agent] for agent in here])
        done = _calibrated(about, own, others, means, reaches, calibrate=asked.calibrate)
        saw = asked.calibrate and not nested(estimator) and target not in asked.hidden
        if saw and done.interval is not None:
            done = replace(
                done, method=f"{done.method}; these saw the target's dialogues, as each was estimated once"
            )
        found.append(_within(done, asked.experience.episodes.scale))
    return _compared(found)


def _reaches(asked: Asked, seen: Episodes, agents: Sequence[str]) -> dict[str, Reach]:
    return {agent: reach(seen, agent, asked.model) for agent in agents}


def _raw(
    asked: Asked,
    name: str,
    estimator: Estimator,
    seen: Episodes,
    target: str,
    here: Sequence[str],
    rng: np.random.Generator,
) -> tuple[Estimate, list[Estimate]]:
    """The target's estimate, and those of the known agents, each without the dialogues of its own."""
    others = here if asked.calibrate else ()
    if name in asked.beforehand:
        ready = asked.beforehand[name]
        own = ready[target] if target in ready else estimator.estimate(seen, target, rng=rng)
        return own, [ready[agent] for agent in others]
    if not asked.experience.near:
        own, *rest = estimates(estimator, seen, [target, *others], rng=rng)
        return own, rest
    return estimator.estimate(seen, target, rng=rng), [
        estimator.estimate(leave_out(asked.experience.without(agent), {target}), agent, rng=rng)
        for agent in others
    ]


def beforehand(
    asked: Asked, agents: Sequence[str], workers: Executor, done: Unfinished
) -> dict[str, dict[str, Estimate]]:
    """Of estimators that are too slow to be nested: each agent's estimate, once; each with each seed is a task."""
    slow = [name for name, estimator in asked.estimators.items() if not nested(estimator)]
    tasks = [
        (name, agent, asked.seed + more) for name in slow for agent in agents for more in range(asked.seeds)
    ]
    kept: dict[str, Any] = {"about": asked.about("beforehand"), "kind": Estimate}
    trained: dict[tuple[str, str], list[Estimate]] = {}
    for (name, agent, _), estimate in done.each(workers, _alone, asked, tasks, model=True, **kept):
        trained.setdefault((name, agent), []).append(estimate)
    return {name: {agent: _mean(trained[name, agent]) for agent in agents} for name in slow}


def _alone(asked: Asked, task: tuple[str, str, int]) -> Estimate:
    name, agent, seed = task
    rng = generator(seed, name, agent, asked.experience.rating)
    seen = leave_out(asked.experience.without(agent), asked.hidden)
    return asked.estimators[name].estimate(seen, agent, rng=rng)


def _mean(trained: Sequence[Estimate]) -> Estimate:
    """Of one estimator with several seeds; how far they lie apart is said beside it, curves are of the first."""
    if len(trained) == 1:
        return trained[0]
    values = [one.value for one in trained]
    looked = {
        key: float(np.mean([one.diagnostics[key] for one in trained])) for key in trained[0].diagnostics
    }
    return replace(
        trained[0],
        value=float(np.mean(values)),
        contributions=np.mean([one.contributions for one in trained], axis=0),
        level=float(np.mean([one.level for one in trained])),
        diagnostics={**looked, "seeds": float(len(trained)), "seeds_sd": float(np.std(values, ddof=1))},
    )


def _calibrated(
    about: Answer,
    own: Estimate,
    others: Sequence[Estimate],
    means: Floats,
    reaches: Mapping[str, Reach],
    *,
    calibrate: bool,
) -> Answer:
    mine = reaches[about.target]
    looked: dict[str, Any] = {"raw": own.value, **own.diagnostics}
    looked |= {"overlap": mine.overlap, "distance": mine.distance, "calibrated": False}
    if not calibrate:
        chance = _chance(own)
        how = (
            "no interval, as what single dialogues add to the estimate is not known"
            if chance is None
            else "dialogues resampled as if only chance were wrong, which covers too little"
        )
        return replace(
            about, estimate=own.value, interval=chance, method=f"uncalibrated: {how}", diagnostics=looked
        )
    try:
        levels = np.array([other.level for other in others])
        fitted = line(np.array([other.value for other in others]) - levels, means - levels)
        looked |= {"slope": fitted.slope, "ranking": fitted.correlation, "p": fitted.p}
        can_rank(fitted)
        check_reach(about.target, mine, [reach for agent, reach in reaches.items() if agent != about.target])
    except Refused as error:
        return replace(about, reason=str(error), diagnostics=looked)
    low, high = fitted.interval(own.value - own.level)
    return replace(
        about,
        estimate=fitted.at(own.value - own.level) + own.level,
        interval=(low + own.level, high + own.level),
        method=f"calibrated over {fitted.n} agents left out in turn, Student's prediction interval",
        diagnostics=looked | {"calibrated": True},
    )


def _chance(own: Estimate) -> Interval | None:
    """What chance alone leaves open; None where there is a single number."""
    found = mean_t_interval(own.contributions)
    return None if found is None else (float(found[0]), float(found[1]))


def _within(one: Answer, scale: tuple[float, float] | None) -> Answer:
    """No mean rating lies beyond the ends of its scale."""
    if scale is None or one.estimate is None:
        return one
    low, high = scale

    def clipped(value: float) -> float:
        return float(min(max(value, low), high))

    bounds = None if one.interval is None else (clipped(one.interval[0]), clipped(one.interval[1]))
    return replace(one, estimate=clipped(one.estimate), interval=bounds)


def _compared(found: list[Answer]) -> list[Answer]:
    """Each answer with the names of the estimators whose answers lie outside its interval."""
    given = {one.estimator: one.estimate for one in found if one.estimate is not None}
    compared = []
    for one in found:
        outside = [
            name
            for name, value in given.items()
            if one.interval is not None and not one.interval[0] <= value <= one.interval[1]
        ]
        compared.append(replace(one, diagnostics={**one.diagnostics, "disagrees": outside}))
    return compared
