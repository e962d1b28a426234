"""`turnwise ope`: the mean rating that people would give an agent nobody has rated, from other agents' logs.

Every estimator is asked about the target and about each logged agent in turn, always without the dialogues of the
agent in question; the logged agents' known means calibrate it (see `estimators.calibration`). With --all each logged
agent is the target once, its dialogues nowhere in sight, and the answers are held against its known mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnwise import estimators as registry
from turnwise.errors import UsageError
from turnwise.logs.scan import Census, scan
from turnwise.protocols import estimator_extras
from turnwise.report import regression, results
from turnwise.run.ope import task_log
from turnwise.run.ope.answer import Answer, Asked, answer, beforehand, nested
from turnwise.run.ope.critic import asked_of_task, controls, is_critic, ope_of_task
from turnwise.run.ope.encoding import encoded
from turnwise.run.ope.estimators import made
from turnwise.run.ope.experience import Experience, experience, left_out, ratings_asked, wanted
from turnwise.run.ope.plane import planes
from turnwise.run.ope.stream import STREAMED, check_streamable, streamed_answers, summing
from turnwise.run.ope.truth import Mean, least_means, logged_means, read_truth, true_means, validation
from turnwise.run.outcome import Outcome, finish
from turnwise.run.progress import progress
from turnwise.run.resume.unfinished import Unfinished
from turnwise.run.spec import OpeSpec
from turnwise.run.workers.execute import Executor
from turnwise.types import Estimator, Finding

ENCODER = "minilm"
EVERYONE = "@alternatives"


def ope(spec: OpeSpec) -> Outcome:
    scanned = scan(spec.data)
    with Unfinished.of(spec, scanned.sha256) as done:
        return _ope(spec, scanned, done)


def _ope(spec: OpeSpec, scanned: Census, done: Unfinished) -> Outcome:
    stream = spec.stream
    if stream:
        check_streamable(spec)
    dialogues, census = ([], scanned) if stream else wanted(spec)
    names = tuple(dict.fromkeys(spec.estimators or (STREAMED if stream else registry.CHEAP)))
    truths = read_truth(spec.truth)
    targets = _targets(census, spec)
    if not stream and asked_of_task(spec.estimators, census, spec.rating):
        if spec.seeds > 1:
            raise UsageError("--seeds is for estimators of ratings, not for a critic of task logs")
        return ope_of_task(spec, dialogues, scanned.sha256, targets)
    if any(map(is_critic, names)) and task_log.is_task(dialogues):
        dialogues = task_log.in_one_form(dialogues)
    others = [name for name in census.agents if name not in targets] if spec.calibrate else []
    everyone = (*targets, *others)
    findings: list[Finding] = []
    validated: list[dict[str, Any]] = []
    criticised: dict[str, Any] = {}
    notes: list[str] = []
    with spec.executor() as workers:
        for rating in ratings_asked(census, spec.rating):
            about: dict[str, Any] = {"rating": rating, "targets": targets, "workers": workers, "done": done}
            if stream:
                ready = summing(names, spec.model or ENCODER)
                lived, answers = streamed_answers(spec, census, ready, everyone=everyone, **about)
                truth, chosen = true_means(lived, truths), targets
            else:
                lived = experience(spec, dialogues, census, rating=rating, targets=targets, others=others)
                truth = true_means(lived, truths)
                least = least_means(spec.min_truth, rating, truth, truths)
                chosen = tuple(one for one in targets if least(one))
                if not chosen:
                    raise UsageError("--min-truth leaves no agent to estimate")
                unseen = set() if spec.all_agents or lived.paired else set(targets)
                held = [one for one in lived.held(dialogues) if one.agent not in unseen]
                ready = made(spec, held, names, everyone, rating=rating, scale=lived.episodes.scale)
                if note := left_out(lived):
                    notes.append(f"{rating}: {note}")
                answers = _answers(spec, lived, ready, chosen, everyone, workers, done)
                criticised |= controls(
                    spec, [] if lived.paired else held, census, ready, answers, rating=rating
                )
            logged = logged_means(lived)
            findings += [
                _finding(one, rating, logged.get(one.target), truths.get(one.target, {}).get(rating))
                for one in answers
            ]
            if spec.all_agents:
                validated += validation(rating, names, answers, truth)
            _write_figures(spec, rating, answers, truth)
            _write_planes(spec, lived, chosen)
    sections: dict[str, Any] = {"validation": validated} if spec.all_agents else {}
    sections |= {"critics": criticised} if criticised else {}
    sections |= {"notes": notes} if notes else {}
    document = finish(spec, tuple(findings), scanned.sha256, **sections).document
    # What stands beside the answer is no answer: the code is that of what was asked for.
    main = spec.estimators or (names[0],)
    return Outcome(tuple(one for one in findings if one.what["estimator"] in main), document)


def _targets(census: Census, spec: OpeSpec) -> tuple[str, ...]:
    if spec.all_agents:
        return tuple(census.agents)
    there = tuple(census.alternatives) or tuple(census.agents)
    named = [agent for name in spec.targets for agent in (there if name == EVERYONE else (name,))]
    for name in named:
        if name not in there:
            raise UsageError(f"nothing says what `{name}` would have said; there is: {', '.join(there)}")
    return tuple(dict.fromkeys(named))


def _answers(
    spec: OpeSpec,
    lived: Experience,
    estimators: Mapping[str, Estimator],
    targets: Sequence[str],
    everyone: Sequence[str],
    workers: Executor,
    done: Unfinished,
) -> list[Answer]:
    """Every target's answers. Texts are encoded once, slow estimates made once, and then all targets asked for."""
    model = spec.model or ENCODER
    asked = Asked(
        experience=lived,
        estimators=estimators,
        model=model,
        calibrate=spec.calibrate,
        seed=spec.seed,
        seeds=_seeds(spec, estimators),
        hidden=frozenset() if spec.all_agents else frozenset(targets),
        vectors={
            name: encoded(lived.episodes.texts, name, workers) for name in {model, *_models(estimators)}
        },
    )
    asked = replace(asked, beforehand=beforehand(asked, everyone, workers, done))
    found: list[Answer] = []
    kept: dict[str, Any] = {"about": asked.about("answers"), "kind": list[Answer]}
    with progress(f"estimating {lived.rating}", len(targets), quiet=spec.quiet) as advance:
        for _, each in done.each(workers, answer, asked, targets, **kept):
            advance(1)
            found += each
    return found


def _seeds(spec: OpeSpec, estimators: Mapping[str, Estimator]) -> int:
    seeds = spec.seeds
    if seeds > 1 and all(map(nested, estimators.values())):
        raise UsageError(f"--seeds: nothing is trained from a chance beginning by {', '.join(estimators)}")
    return seeds


def _models(estimators: Mapping[str, Estimator]) -> Iterator[str]:
    """The encoders of those that take vectors of texts as they are."""
    for estimator in estimators.values():
        if nested(estimator) and (model := estimator_extras(estimator).model) is not None:
            yield model


def _finding(one: Answer, rating: str, logged: float | None, truth: Mean | None) -> Finding:
    refused = one.estimate is None
    return Finding(
        what={"target": one.target, "rating": rating, "estimator": one.estimator},
        estimate=one.estimate,
        interval=one.interval,
        n_items=one.n_dialogues,
        n_clusters=one.n_agents,
        method=one.method,
        signature=one.signature,
        status="refused" if refused else "ok",
        reason=one.reason,
        details={
            "raw": one.diagnostics.get("raw"),
            "refused": refused,
            "logged": logged,
            "truth": None if truth is None else truth.mean,
            "truth_se": None if truth is None else truth.se,
            "diagnostics": one.diagnostics,
        },
    )


def _write_planes(spec: OpeSpec, lived: Experience, targets: Sequence[str]) -> None:
    """Where the targets' replies lie among the logged ones, into -o."""
    if spec.output is not None:
        found = planes(lived, tuple(targets), model=spec.model or ENCODER, seed=spec.seed)
        results.write(spec.output / lived.rating.replace(":", "-") / "pairs.json", found)


def _write_figures(spec: OpeSpec, rating: str, answers: Sequence[Answer], truth: Mapping[str, float]) -> None:
    """The regression plot of each estimator, and the curves of those that have them, into -o."""
    if spec.output is None:
        return
    place = spec.output / rating.replace(":", "-")
    for name in dict.fromkeys(one.estimator for one in answers):
        mine = [one for one in answers if one.estimator == name and one.estimate is not None]
        drawn = [
            regression.Dot(one.target, truth[one.target], one.estimate, one.interval)
            for one in mine
            if one.target in truth and one.estimate is not None
        ]
        if len(drawn) > 1:
            with results.replacing(place / f"{name}.svg") as file:
                file.write(regression.figure(drawn, title=f"{name}, {rating}").encode())
        curves = {
            one.target: {key: list(map(float, curve)) for key, curve in one.curves.items()}
            for one in mine
            if one.curves
        }
        if curves:
            results.write(place / f"{name}.curves.json", curves)
