"""`ope`: the mean rating of an agent that nobody has rated. `calibrate`: mean ratings from scores and a few ratings."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from turnwise.errors import UsageError
from turnwise.library.arguments import (
    Count,
    Money,
    Names,
    Natural,
    PathLike,
    Range,
    check_labels,
    check_place,
    checked,
    one_or_more,
    optional_path,
    split_names,
)
from turnwise.library.data import Data, Where, files, selected
from turnwise.library.reading import MappingLike
from turnwise.library.results import Calibration, Estimates, folder_of, result
from turnwise.logs.items.items import ItemChoice
from turnwise.run.spec import CalibrateSpec, OpeSpec, Place

LeastTruth = float | Mapping[str, float] | Sequence[tuple[str, float]]


@checked
def ope(
    data: Data,
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    targets: Names = (),
    all_agents: bool = False,
    rating: str | None = None,
    estimators: Names = (),
    truth: PathLike | None = None,
    fraction: Annotated[float, Range(above=0, most=1)] = 1.0,
    challenging: Natural | None = None,
    min_truth: LeastTruth = (),
    calibrate: bool = True,
    delexicalise: bool = True,
    stream: bool = False,
    seeds: Count = 1,
    where: Where | None = None,
    pair: str | None = None,
    limit: Count | None = None,
    output: PathLike | None = None,
    model: PathLike | None = None,
    db: PathLike | None = None,
    seed: Natural = 0,
    jobs: Count | None = None,
    on: Place = "local",
    address: str | None = None,
    progress: bool = False,
    figures: bool = True,
) -> Estimates:
    """Estimate the mean rating that people would give an agent, from the rated dialogues of other agents.

    The data holds, as `alternatives`, what the target would have said at each point. The interval is calibrated on the
    logging agents. Where the data cannot support an estimate, the result has the status `refused` and the reason.

    Parameters:
        data: As in `score`, with ratings and alternatives.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        targets: Agents to estimate; `@alternatives` is all that have alternatives. Their own dialogues are not used.
        all_agents: Leave out each logging agent in turn, and compare the estimates with the known means.
        rating: The dimension that is estimated; `all` for each; `metric:NAME` for a metric's score.
        estimators: Names, as `turnwise ls estimators` lists them. Default: robust, with the other quick ones.
        truth: File of true means, as `simulate` writes it.
        fraction: Use this share of each agent's dialogues.
        challenging: Leave out dialogues whose every reply is within this edit distance of the target's.
        min_truth: Only targets whose known mean is at least this, for every dimension or by dimension.
        calibrate: Without it the estimates are raw, and their intervals are marked as not calibrated.
        delexicalise: Replace values by whether the user said them before.
        stream: Constant memory for logs of any size, with estimators that are functions of sums.
        seeds: Train the estimators that have a random start this many times; the estimate is the mean.
        where: Only dialogues with these values, such as {"meta.corpus": "dailyz"}.
        pair: The key that pairs records of different agents. Default: the same context.
        limit: Only the first dialogues.
        output: Folder for results.json and the regression plots; an interrupted run resumes there.
        model: Encoder of texts. Default: minilm.
        db: Folder of the venue tables, for a critic of task logs.
        seed: Seed of everything random.
        jobs: Worker processes.
        on: Where the work is done: this machine or a Ray cluster.
        address: Address of a running Ray cluster.
        progress: Show a progress bar on standard error.
        figures: Keep the figures that a notebook shows.
    """
    check_place(on, address)
    named = split_names(targets)
    if bool(named) == all_agents:
        raise UsageError(
            "name agents with --target NAMES or --target @alternatives, or leave each out in turn with --all"
        )
    with files(data, reader=reader, mapping=mapping) as given, folder_of(output, figures=figures) as folder:
        from turnwise.run.ope.command import ope as run

        spec = OpeSpec(
            data=given.paths,
            names=given.names,
            metrics=(),
            selection=selected(
                items=None, role="assistant", where=where, by=None, pair=pair, cluster=None, limit=limit
            ),
            targets=named,
            all_agents=all_agents,
            rating=rating,
            estimators=split_names(estimators),
            truth=optional_path(truth),
            fraction=fraction,
            challenging=challenging,
            min_truth=_least(min_truth),
            calibrate=calibrate,
            delexicalise=delexicalise,
            stream=stream,
            seeds=seeds,
            model=optional_path(model),
            db=optional_path(db),
            seed=seed,
            output=folder,
            jobs=jobs,
            on=on,
            address=address,
            max_errors=0,
            quiet=not progress,
        )
        return result(Estimates, spec.command, run(spec), folder, figures=figures)


def _least(given: LeastTruth) -> tuple[tuple[str, float], ...]:
    """Pairs of a dimension and its least true mean; a single number has the dimension "", which stands for all."""
    if isinstance(given, float):
        return (("", given),)
    found = given.items() if isinstance(given, Mapping) else given
    return tuple((dimension, value) for dimension, value in found)


@checked
def calibrate(
    data: Data,
    *,
    metrics: Names,
    labels: str,
    to: str | None = None,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    level: Literal["turn", "dialogue"] | None = None,
    fit: Literal["none", "linear", "isotonic"] = "none",
    plan: Count | None = None,
    rescale: bool = False,
    items: ItemChoice | None = None,
    role: Literal["assistant", "user"] = "assistant",
    where: Where | None = None,
    by: Names | None = None,
    cluster: str | None = None,
    limit: Count | None = None,
    output: PathLike | None = None,
    real: PathLike | None = None,
    model: PathLike | None = None,
    db: PathLike | None = None,
    seed: Natural = 0,
    jobs: Count | None = None,
    on: Place = "local",
    address: str | None = None,
    max_errors: Natural = 20,
    max_cost: Money | None = None,
    reuse: bool = True,
    progress: bool = False,
    figures: bool = True,
) -> Calibration:
    """Estimate mean ratings of agents, and differences between agents, from a metric's scores and a few ratings.

    The metric scores every item, and people rated some. The scores correct the mean of the ratings, so the interval is
    narrower than that of the ratings alone where the metric agrees with people, and no wider elsewhere
    (prediction-powered inference). This needs to know how the rated items were drawn.

    Parameters:
        data: As in `score`, with ratings of some replies or dialogues.
        metrics: Names of metrics; each gives estimates of its own.
        labels: How the rated items were drawn: `random`, `unknown`, or `weights:KEY`; KEY holds inverse probabilities.
        to: The rating, as `rating:DIMENSION`. Default: overall, else the only one.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        level: What was rated. Default: the only one of turn and dialogue that was.
        fit: Map scores to ratings first, by a line or a monotone function that is cross-fitted on the ratings.
        plan: Draw this many dialogues to rate next into `output`: plan.jsonl, with the weights, and rest.jsonl.
        rescale: Map ratings of different scales to 0-1.
        items: Which replies count. Default: the last of each dialogue where only last replies are rated, else all.
        role: Whose messages are scored.
        where: Only dialogues with these values, such as {"meta.corpus": "dailyz"}.
        by: One result for each value of a key such as `meta.corpus`; `file` is the file.
        cluster: The key of what belongs together. Default: the dialogue.
        limit: Only the first dialogues.
        output: Folder for results.json and items.jsonl; an interrupted run resumes there.
        real: Reference dialogues for metrics that need fitting.
        model: Model of the metrics that have one and do not name it themselves.
        db: Folder of the venue tables of task metrics.
        seed: Seed of the folds of `fit`.
        jobs: Worker processes.
        on: Where the work is done: this machine or a Ray cluster.
        address: Address of a running Ray cluster.
        max_errors: Stop when a metric has failed on more items than this.
        max_cost: Spend at most this much on a judge, in the currency of its price; then it is not asked any more.
        reuse: Reuse rows that are in `output`, and the cached verdicts of a judge.
        progress: Show a progress bar on standard error.
        figures: Keep the figures that a notebook shows.
    """
    check_place(on, address)
    check_labels(labels)
    if plan is not None and output is None:
        raise UsageError("--plan writes plan.jsonl and rest.jsonl: name a folder with -o")
    if plan is not None and (by is not None or len(split_names(metrics)) > 1):
        raise UsageError(
            "--plan draws from all dialogues by the error of one metric: leave out --by, and name one metric"
        )
    if plan is not None and labels == "unknown":
        raise UsageError(
            "--plan adds to labels whose draw is known; with --labels unknown, plan without their ratings"
        )
    with files(data, reader=reader, mapping=mapping) as given, folder_of(output, figures=figures) as folder:
        from turnwise.run.scoring.calibrate import run

        spec = CalibrateSpec(
            data=given.paths,
            names=given.names,
            metrics=one_or_more("metrics", metrics),
            selection=selected(
                items=items, role=role, where=where, by=by, pair=None, cluster=cluster, limit=limit
            ),
            labels=labels,
            to=to,
            level=level,
            fit=fit,
            plan=plan,
            rescale=rescale,
            real=optional_path(real),
            model=optional_path(model),
            db=optional_path(db),
            seed=seed,
            output=folder,
            jobs=jobs,
            on=on,
            address=address,
            max_errors=max_errors,
            max_cost=max_cost,
            reuse=reuse,
            quiet=not progress,
        )
        return result(Calibration, spec.command, run(spec), folder, figures=figures)
