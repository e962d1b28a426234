"""`turnwise ope`: the mean rating that people would give an agent nobody has rated, from other agents' logs.

Every estimator estimates the target and each logged agent in turn, always without that agent's own dialogues. The known
mean ratings of the logged agents calibrate it (see `estimators.calibration`). With --all each logged agent is the
target once, and the estimates are compared with its known mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from turnwise import estimators as registry
from turnwise.errors import UsageError, setting
from turnwise.extras import require
from turnwise.logs.dialogue import UNNAMED
from turnwise.logs.scan import Census, scan, scan_agents
from turnwise.protocols import estimator_extras
from turnwise.records import AgentDifference, CriticCheck, EstimateRecord, EstimatorCheck, KnownMeans
from turnwise.report import results
from turnwise.report.documents import OpeDocument
from turnwise.report.run_files import write
from turnwise.run.ope import task_log
from turnwise.run.ope.critic import controls, critics_among, rewarded_by_task
from turnwise.run.ope.critic_of_tasks import ope_of_task
from turnwise.run.ope.differences import by_estimator, compared
from turnwise.run.ope.estimate import (
    Request,
    TargetEstimate,
    estimate_target,
    nested,
    precompute,
    text_vectors,
)
from turnwise.run.ope.estimators import resolved_estimators
from turnwise.run.ope.logged_data import LoggedData, left_out, prepare, requested_ratings, selected_dialogues
from turnwise.run.ope.own_dialogues import BOTH, POOLED, chosen_road, ope_of_dialogues, with_own_dialogues
from turnwise.run.ope.projection import projections
from turnwise.run.ope.stream import STREAMED, check_streamable, streamed_estimates, sum_estimators
from turnwise.run.ope.truth import (
    known_agents,
    least_means,
    logged_means,
    read_truth,
    target_record,
    true_means,
    truth_errors,
    validation,
    write_figures,
)
from turnwise.run.resume.partial_results import PartialResults
from turnwise.run.spec import finish
from turnwise.run.workers.execute import Executor, progress
from turnwise.settings.option import as_text
from turnwise.types import Estimator

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope

ENCODER = "minilm"
EVERYONE = "@alternatives"


def ope(spec: "Ope") -> OpeDocument:
    """Run `turnwise ope`; parts that an interrupted run with the same options finished are not computed again."""
    scanned = scan(spec.paths) if spec.stream else scan_agents(spec.paths, command="score")
    with PartialResults.of(spec, scanned.sha256) as done:
        return _ope(spec, scanned, done)


def _ope(spec: "Ope", scanned: Census, done: PartialResults) -> OpeDocument:
    """The document with the estimates of all requested ratings and estimators.

    Critics of task logs without ratings go to `ope_of_task`. Files are written into -o along the way.
    """
    stream = spec.stream
    if stream:
        check_streamable(spec)
    dialogues, census = ([], scanned) if stream else selected_dialogues(spec, apart=scanned.apart)
    names = tuple(dict.fromkeys(spec.estimators or (STREAMED if stream else registry.CHEAP)))
    truths = read_truth(as_text(spec.truth))
    targets = _targets(census, spec)
    road = chosen_road(spec, census, targets)
    if road == "dialogues":
        return ope_of_dialogues(spec, dialogues, census, scanned.sha256, targets, truths)
    critics = {} if stream else critics_among(names)
    if rewarded_by_task(critics, spec.estimators, census, spec.rating):
        return ope_of_task(spec, dialogues, scanned.sha256, targets)
    for ontology in dict.fromkeys(map(task_log.critics_ontology, critics.values())):
        if task_log.is_task(dialogues, ontology):
            dialogues = task_log.with_uniform_placeholders(dialogues, ontology)
    others = [name for name in census.agents if name not in targets] if spec.calibrate else []
    everyone = (*targets, *others)
    # The exit code depends on the estimators that were asked for, not on those that are shown for comparison.
    of_both = (BOTH, POOLED) if road == "both" else ()
    main = (*of_both, *spec.estimators) or names[:1]
    records: list[EstimateRecord] = []
    validated: list[EstimatorCheck] = []
    criticised: dict[str, CriticCheck] = {}
    notes: list[str] = []
    known: list[KnownMeans] = []
    differences: list[AgentDifference] = []
    with spec.executor() as workers:
        for rating in requested_ratings(census, spec.rating):
            about: dict[str, Any] = {"rating": rating, "targets": targets, "workers": workers, "done": done}
            if stream:
                ready, problems = sum_estimators(names, _encoder(spec))
                logged_data, estimates = streamed_estimates(spec, census, ready, everyone=everyone, **about)
                estimates += [
                    TargetEstimate(target=target, estimator=name, reason=problem, failed=True)
                    for target in targets
                    for name, problem in problems.items()
                ]
                truth, chosen = true_means(logged_data, truths), targets
            else:
                logged_data = prepare(spec, dialogues, census, rating=rating, targets=targets, others=others)
                truth = true_means(logged_data, truths)
                least = least_means(spec.least_truths, rating, truth, truths)
                chosen = tuple(one for one in targets if least(one))
                if not chosen:
                    raise UsageError(f"{setting('--min-truth')} leaves no agent to estimate")
                unseen = set() if spec.all_agents or logged_data.paired else set(targets)
                held = [one for one in logged_data.used_dialogues(dialogues) if one.agent not in unseen]
                ready = resolved_estimators(
                    spec, held, names, everyone, rating=rating, scale=logged_data.episodes.scale
                )
                if note := left_out(logged_data):
                    notes.append(f"{rating}: {note}")
                estimates = _target_estimates(spec, logged_data, ready, chosen, everyone, workers, done)
                if road == "both":
                    raw = {one.target: one.relative for one in estimates if one.estimator == names[0]}
                    added, more = with_own_dialogues(
                        spec, dialogues, census, logged_data.rating, chosen, raw=raw
                    )
                    estimates, names = [*added, *estimates], tuple(dict.fromkeys((BOTH, *names)))
                    notes += [note for note in more if note not in notes]
                criticised |= controls(
                    spec, [] if logged_data.paired else held, census, ready, estimates, rating=rating
                )
            logged = logged_means(logged_data)
            known.append(known_agents(logged_data))
            for one in estimates:
                stated = truths.get(one.target, {}).get(rating)
                record = target_record(one, rating, logged.get(one.target), stated)
                records.append(structs.replace(record, beside=one.beside or one.estimator not in main))
            if spec.all_agents:
                validated += validation(rating, names, estimates, truth, truth_errors(logged_data, truths))
            groups = by_estimator(estimates)
            if road == "both":
                answers = [one for one in estimates if one.estimator in of_both and not one.beside]
                groups = [answers, *(one for one in groups if one[0].estimator not in of_both)]
            differences += compared(spec, rating, groups, logged, truth_errors(logged_data, {}))
            write_figures(spec, rating, estimates, truth)
            _write_projections(spec, logged_data, chosen)
    return finish(
        OpeDocument,
        spec,
        records,
        scanned.sha256,
        known=tuple(known),
        validation=tuple(validated),
        critics=criticised,
        notes=tuple(notes),
        differences=tuple(differences),
        road=road if road == "both" else None,
    )


def _targets(census: Census, spec: "Ope") -> tuple[str, ...]:
    """The agents to estimate: all that held dialogues with --all, otherwise those named, each once.

    Dialogues that name no agent may be of several: with --all they are no target, unless they have alternatives.
    `@alternatives` stands for every agent that the logs have alternatives of, or for all agents without any. A name
    that has neither dialogues nor alternatives is a `UsageError`.
    """
    if spec.all_agents:
        named_agents = tuple(name for name in census.agents if name != UNNAMED or name in census.alternatives)
        return named_agents or tuple(census.agents)
    asked = tuple(census.alternatives) or tuple(census.agents)
    there = tuple(dict.fromkeys((*census.alternatives, *census.agents)))
    named = [agent for name in spec.targets for agent in (asked if name == EVERYONE else (name,))]
    for name in named:
        if name not in there:
            raise UsageError(
                f"there are neither dialogues of `{name}` nor replies of it at points of others' dialogues: add a file "
                f"of its dialogues, or let `turnwise respond` fill replies in; there is: {', '.join(there)}"
            )
    return tuple(dict.fromkeys(named))


def _target_estimates(
    spec: "Ope",
    logged_data: LoggedData,
    estimators: Mapping[str, Estimator],
    targets: Sequence[str],
    everyone: Sequence[str],
    workers: Executor,
    done: PartialResults,
) -> list[TargetEstimate]:
    """The estimates of every target by every estimator, target by target.

    Texts are encoded once, and slow estimators run once for each agent. `everyone` are the targets and the agents that
    calibrate.
    """
    model = _encoder(spec)
    request = Request(
        data=logged_data,
        estimators=estimators,
        model=model,
        calibrate=spec.calibrate,
        seed=spec.seed,
        seeds=_seeds(spec, estimators),
        hidden=frozenset() if spec.all_agents else frozenset(targets),
        vectors={
            name: text_vectors(logged_data.episodes.texts, name, workers)
            for name in {model, *_models(estimators)}
        },
    )
    request = replace(request, precomputed=precompute(request, everyone, workers, done))
    found: list[TargetEstimate] = []
    kept: dict[str, Any] = {"about": request.about("answers"), "kind": list[TargetEstimate]}
    with progress(f"estimating {logged_data.rating}", len(targets), quiet=spec.quiet) as advance:
        for _, each in done.map_tasks(workers, estimate_target, request, targets, **kept):
            advance(1)
            found += each
    return found


def _encoder(spec: "Ope") -> str:
    """The encoder that --model names, else the default one; raises `MissingExtra` if that cannot be used here."""
    if spec.model is None:
        require("models", f"the default encoder `{ENCODER}` ({setting('--model', 'hashing')} needs no extra)")
    return as_text(spec.model) or ENCODER


def _seeds(spec: "Ope", estimators: Mapping[str, Estimator]) -> int:
    """The number --seeds; raises `UsageError` if it is above 1 and no estimator is trained from random weights."""
    seeds = spec.seeds
    if seeds > 1 and all(map(nested, estimators.values())):
        raise UsageError(
            f"{setting('--seeds')}: nothing is trained from a chance beginning by {', '.join(estimators)}"
        )
    return seeds


def _models(estimators: Mapping[str, Estimator]) -> Iterator[str]:
    """The encoders that the quick (nested) estimators name; a name may come several times."""
    for estimator in estimators.values():
        if nested(estimator) and (model := estimator_extras(estimator).model) is not None:
            yield model


def _write_projections(spec: "Ope", logged_data: LoggedData, targets: Sequence[str]) -> None:
    """Write the projection of the targets' and the logged replies into -o as `RATING/pairs.json`.

    Without -o nothing is written.
    """
    if spec.files is not None:
        found = projections(logged_data, tuple(targets), model=_encoder(spec), seed=spec.seed)
        write(spec.files, f"{results.file_name(logged_data.rating)}/pairs.json", found)
