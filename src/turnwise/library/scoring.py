"""`score`, `compare`, `diff` and `meta_evaluate`: metrics on dialogues."""

from typing import Annotated, Literal

from turnwise.library.arguments import (
    Count,
    Money,
    Names,
    Natural,
    PathLike,
    Range,
    check_place,
    checked,
    one_or_more,
    optional_path,
    split_names,
)
from turnwise.library.data import Data, Where, files, selected
from turnwise.library.reading import MappingLike
from turnwise.library.results import Agreement, folder_of, result
from turnwise.logs.items.items import ItemChoice
from turnwise.run.spec import MetaSpec, Place
from turnwise.types import MetaLevel

ScoredRole = Literal["assistant", "user"]
Draws = Annotated[int, Range(least=100)]
NO_PAIRS = "none"  # `pair` of a comparison of independent samples
STATISTICS = ("pearson", "spearman", "kendall", "pairwise")


@checked
def meta_evaluate(
    data: Data,
    *,
    metrics: Names = (),
    reader: str | None = None,
    mapping: MappingLike | None = None,
    level: MetaLevel | None = None,
    dimension: str | None = None,
    statistics: Names = STATISTICS,
    precision: Annotated[float, Range(least=1e-6, below=1)] = 0.05,
    lower_is_better: Names = (),
    differences: bool = True,
    intervals: bool = True,
    length_bias: bool = False,
    normalised: bool = False,
    rescale: bool = False,
    screen: bool = False,
    stable_raters: bool | None = None,
    items: ItemChoice | None = None,
    role: ScoredRole = "assistant",
    where: Where | None = None,
    by: Names | None = None,
    pair: str | None = None,
    cluster: str | None = None,
    limit: Count | None = None,
    output: PathLike | None = None,
    real: PathLike | None = None,
    model: PathLike | None = None,
    db: PathLike | None = None,
    seed: Natural = 0,
    draws: Draws = 1000,
    jobs: Count | None = None,
    on: Place = "local",
    address: str | None = None,
    max_errors: Natural = 20,
    max_cost: Money | None = None,
    reuse: bool = True,
    progress: bool = False,
    figures: bool = True,
) -> Agreement:
    """Measure how well metrics agree with people, at turn, dialogue and system level: the command `turnwise meta`.

    Correlations are signed: a metric that ranks backwards is negative. Without metrics the result is the agreement of
    the raters among themselves.

    Parameters:
        data: As in `score`, with ratings.
        metrics: Names of metrics; none: the raters' agreement among themselves.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        level: `pair` compares with preferences. Default: every level that the ratings have.
        dimension: What people rated; `all` gives a result for each. Default: overall, else the only one.
        statistics: Names, as `turnwise ls statistics` explains them.
        precision: Half-width of an interval for which the needed amount of data is reported.
        lower_is_better: Dimensions on which a high rating is bad, where the data does not say so itself.
        differences: Test every two metrics against each other.
        intervals: Resample for intervals.
        length_bias: Also test whether a metric favours replies as long as their reference.
        normalised: Also count where the first metric finds good replies that the others miss, and the reverse.
        rescale: Map ratings of different scales to 0-1.
        screen: Leave out raters who fail attention checks or agree with nobody.
        stable_raters: Whether a rater's name is one person throughout. Default: inferred from the names.
        items: What is scored. Default: the rated turns for turn ratings, all turns for dialogue ratings.
        role: Whose messages are scored.
        where: Only dialogues with these values, such as {"meta.corpus": "dailyz"}.
        by: One result for each value of a key such as `meta.corpus`; `file` is the file.
        pair: The key that pairs items of different agents. Default: the same context.
        cluster: The key of what is resampled together. Default: the dialogue.
        limit: Only the first dialogues.
        output: Folder for results.json and items.jsonl; an interrupted run resumes there.
        real: Reference dialogues for metrics that need fitting.
        model: Model of the metrics that have one and do not name it themselves.
        db: Folder of the venue tables of task metrics.
        seed: Seed of everything random.
        draws: Resamples behind an interval or a test.
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
    with files(data, reader=reader, mapping=mapping) as given, folder_of(output, figures=figures) as folder:
        from turnwise.run.scoring.meta import meta
        from turnwise.run.scoring.raters import raters

        spec = MetaSpec(
            data=given.paths,
            names=given.names,
            metrics=split_names(metrics),
            selection=selected(
                items=items, role=role, where=where, by=by, pair=pair, cluster=cluster, limit=limit,
                dimension=dimension,
            ),
            level=level,
            dimension=dimension,
            statistics=one_or_more("statistics", statistics),
            precision=precision,
            lower=split_names(lower_is_better),
            differences=differences,
            intervals=intervals,
            length_bias=length_bias,
            normalised=normalised,
            rescale=rescale,
            screen=screen,
            stable_raters=stable_raters,
            real=optional_path(real),
            model=optional_path(model),
            db=optional_path(db),
            seed=seed,
            draws=draws,
            output=folder,
            jobs=jobs,
            on=on,
            address=address,
            max_errors=max_errors,
            max_cost=max_cost,
            reuse=reuse,
            quiet=not progress,
        )  # fmt: skip
        outcome = meta(spec) if spec.metrics else raters(spec)
        return result(Agreement, spec.command, outcome, folder, figures=figures)
