"""`calibrate`: mean ratings from scores and a few ratings."""

from typing import Literal

from turnwise.errors import UsageError
from turnwise.library.arguments import (
    Count,
    Money,
    Names,
    Natural,
    PathLike,
    check_labels,
    check_place,
    checked,
    one_or_more,
    optional_path,
    split_names,
)
from turnwise.library.data import Data, Where, files, selected
from turnwise.library.reading import MappingLike
from turnwise.library.results import Calibration, folder_of, result
from turnwise.logs.items.items import ItemChoice
from turnwise.run.spec import CalibrateSpec, Place


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
