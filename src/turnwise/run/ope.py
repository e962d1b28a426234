"""`turnwise ope`: the mean rating that people would give an agent nobody has rated, from other agents' logs.

Every estimator is asked about the target and about each logged agent in turn, always without the dialogues of the
agent in question; the logged agents' known means calibrate it (see `estimators.calibration`). With --all each logged
agent is the target once, its dialogues nowhere in sight, and the answers are held against its known mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnwise import estimators as registry
from turnwise.errors import UsageError
from turnwise.logs.scan import Census, scan
from turnwise.report import regression, results
from turnwise.run.answer import Answer, Asked, answer, beforehand
from turnwise.run.execute import in_order
from turnwise.run.experience import Experience, experience, ratings_asked, wanted
from turnwise.run.outcome import Outcome, finish
from turnwise.run.progress import progress
from turnwise.run.rankers import made
from turnwise.run.spec import Spec
from turnwise.run.truth import logged_means, read_truth, selected, true_means, validation
from turnwise.types import Estimator, Finding

DEFAULT = "robust"
ENCODER = "minilm"
EVERYONE = "@alternatives"


def ope(spec: Spec) -> Outcome:
    sha256 = scan(spec.data).sha256
    dialogues, census = wanted(spec)
    asked = dict(spec.options)
    names = tuple(dict.fromkeys(asked["estimators"] or registry.CHEAP))
    truths = read_truth(asked["truth"])
    targets = _targets(census, asked)
    others = [name for name in census.agents if name not in targets] if asked["calibrate"] else []
    everyone = (*targets, *others)
    findings: list[Finding] = []
    validated: list[dict[str, Any]] = []
    for rating in ratings_asked(census, asked["rating"]):
        lived = experience(spec, dialogues, census, rating=rating, targets=targets, others=others)
        truth = true_means(lived, truths)
        chosen = [name for name in targets if selected(truth.get(name), rating, asked["min_truth"])]
        if not chosen:
            raise UsageError("--min-truth leaves no agent to estimate")
        ready = made(spec, dialogues, names, everyone, rating=rating, scale=lived.episodes.scale)
        answers = [one for each in _answers(spec, lived, ready, chosen, everyone) for one in each]
        logged = logged_means(lived)
        findings += [_finding(one, rating, logged.get(one.target)) for one in answers]
        if asked["all_agents"]:
            validated += validation(rating, names, answers, truth)
        _write_figures(spec, rating, answers, truth)
    sections = {"validation": validated} if asked["all_agents"] else {}
    document = finish(spec, tuple(findings), sha256, **sections).document
    # What stands beside the answer is no answer: the code is that of what was asked for.
    main = asked["estimators"] or (DEFAULT,)
    return Outcome(tuple(one for one in findings if one.what["estimator"] in main), document)


def _targets(census: Census, asked: Mapping[str, Any]) -> tuple[str, ...]:
    if asked["all_agents"]:
        return tuple(census.agents)
    there = tuple(census.alternatives) or tuple(census.agents)
    named = [agent for name in asked["targets"] for agent in (there if name == EVERYONE else (name,))]
    for name in named:
        if name not in there:
            raise UsageError(f"nothing says what `{name}` would have said; there is: {', '.join(there)}")
    return tuple(dict.fromkeys(named))


def _answers(
    spec: Spec,
    lived: Experience,
    estimators: Mapping[str, Estimator],
    targets: Sequence[str],
    everyone: Sequence[str],
) -> Iterator[list[Answer]]:
    asked = Asked(
        experience=lived,
        estimators=estimators,
        model=spec.model or ENCODER,
        calibrate=dict(spec.options)["calibrate"],
        seed=spec.seed,
        beforehand=beforehand(lived, estimators, everyone, spec.seed),
    )
    with progress(f"estimating {lived.rating}", len(targets), quiet=spec.quiet) as advance:
        for found in in_order(answer, asked, targets, jobs=spec.jobs):
            advance(1)
            yield found


def _finding(one: Answer, rating: str, logged: float | None) -> Finding:
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
            "diagnostics": one.diagnostics,
        },
    )


def _write_figures(spec: Spec, rating: str, answers: Sequence[Answer], truth: Mapping[str, float]) -> None:
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
