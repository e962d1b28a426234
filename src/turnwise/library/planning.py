"""`power`: how many dialogues, turns and raters show a difference."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, Literal

from turnwise.errors import UsageError
from turnwise.library.arguments import (
    Count,
    Money,
    Names,
    Natural,
    PathLike,
    Range,
    check_place,
    checked,
    optional_path,
    split_names,
)
from turnwise.library.data import Data, Files, Where, files, selected
from turnwise.library.reading import MappingLike
from turnwise.library.results import Power, folder_of, result
from turnwise.logs.items.items import ItemChoice
from turnwise.run.spec import Place, PowerSpec
from turnwise.stats.power import MOST_CLUSTERS

Share = Annotated[float, Range(above=0, below=1)]
UpToOne = Annotated[float, Range(least=0, most=1)]
Correlation = Annotated[float, Range(least=-1, most=1)]
MOST = 1e100  # of a standard deviation: its square is a number
Price = Annotated[float, Range(least=0, most=MOST)]
Amount = Annotated[int, Range(least=1, most=MOST_CLUSTERS)]  # of dialogues, items in one, or ratings of one


@checked
def power(
    data: Data = (),
    *,
    metrics: Names = (),
    difference: Annotated[float, Range(least=-MOST, most=MOST)] | None = None,
    have: Amount | None = None,
    power: Share = 0.8,
    alpha: Share = 0.05,
    agents: Names = (),
    paired: bool | None = None,
    turns: Sequence[Amount] = (),
    raters: Sequence[Amount] = (),
    people: Amount | None = None,
    level: Literal["turn", "dialogue"] | None = None,
    beside: str | None = None,
    scored: Amount | None = None,
    sd: Annotated[float, Range(above=0, most=MOST)] | None = None,
    icc: UpToOne = 0.0,
    rater_sd: Annotated[float, Range(least=0, most=MOST)] | None = None,
    correlation: Correlation | None = None,
    agreement: Correlation | None = None,
    win_rate: Share | None = None,
    ties: UpToOne = 0.0,
    rater_icc: UpToOne = 0.0,
    cost_dialogue: Price | None = None,
    cost_rating: Price | None = None,
    cost_judge: Price | None = None,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    items: ItemChoice | None = None,
    role: Literal["assistant", "user"] = "assistant",
    where: Where | None = None,
    pair: str | None = None,
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
) -> Power:
    """Plan a comparison of two agents: the dialogues, turns and raters that show a difference.

    The spread comes from a pilot file, or is given. With `have` the result is the smallest difference that this many
    dialogues of each agent can show. All for a two-sided t-test on means of dialogues; for preferences, for the test by
    contexts and raters that `compare` makes.

    Parameters:
        data: A pilot, as in `score`. None: the spread is given by `sd` or `win_rate`.
        metrics: Names of metrics, `rating:DIMENSION` or `preference:DIMENSION`. Default: rating:overall, else the only
            dimension that was rated; without ratings, that of preferences.
        difference: The true difference of means that is to be shown.
        have: Dialogues of each agent that there are.
        power: Probability of showing the difference if it is there.
        alpha: Probability of showing one that is not there.
        agents: Agents of the pilot. Default: all; their variances are averaged.
        paired: Only designs in which the agents reply to the same contexts, or only others. Default: both.
        turns: Numbers of items in a dialogue to plan for. Default: 1 and the pilot's mean.
        raters: Numbers of ratings of one item to plan for. Default: 1, 2, 3 and 5.
        people: Different raters of preferences in all. Default: as many as the pilot has; without a pilot, another one
            for each preference.
        level: For ratings of turns and of dialogues: which. Default: the finer one that was rated.
        beside: A metric whose scores are to be used beside the ratings, as `calibrate` does.
        scored: Dialogues of each agent that this metric scores. Default: far more than are rated, at no cost.
        sd: Standard deviation of the true values of items.
        icc: Share of their variance that is between dialogues; of preferences, between contexts.
        rater_sd: Standard deviation of the ratings of one item.
        correlation: Of the true values of two agents in one context, for the paired design.
        agreement: Correlation of scores and ratings over dialogues, for scores beside ratings.
        win_rate: Share of preferences that the better agent gets, a tie being half.
        ties: Share of preferences that are ties.
        rater_icc: Share of the variance of preferences that is between raters.
        cost_dialogue: Cost of one dialogue that is compared; those that are scored alone cost nothing here.
        cost_rating: Cost of one rating.
        cost_judge: Cost of scoring one item; with `beside` or `agreement` it needs `scored`.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        items: What is scored. Default: the rated turns where the data has turn ratings, else all turns.
        role: Whose messages are scored.
        where: Only dialogues with these values, such as {"meta.corpus": "dailyz"}.
        pair: The key that pairs items of different agents. Default: the same context.
        cluster: The key of what belongs together. Default: the dialogue.
        limit: Only the first dialogues.
        output: Folder for results.json.
        real: Reference dialogues for metrics that need fitting.
        model: Model of the metrics that have one and do not name it themselves.
        db: Folder of the venue tables of task metrics.
        seed: Recorded only; nothing is random here.
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
    pilot = not (isinstance(data, tuple | list) and not data)
    _check(
        pilot=pilot,
        given=[
            name
            for name, value in (
                ("sd", sd),
                ("rater_sd", rater_sd),
                ("correlation", correlation),
                ("agreement", agreement),
                ("win_rate", win_rate),
            )
            if value is not None
        ],
        metrics=split_names(metrics),
        beside=beside,
    )
    if win_rate is None and (rater_icc or (people is not None and not pilot)):
        raise UsageError("--people and --rater-icc are about preferences; they go with --win-rate")
    if cost_judge and scored is None and (beside is not None or agreement is not None):
        raise UsageError(
            "--cost-judge needs --scored N: the plan without it takes scores of far more dialogues than are rated, and "
            "what these cost depends on their number"
        )
    if not power > alpha:
        raise UsageError(
            f"--power {power:g} must be above --alpha {alpha:g}, which a test has without a difference"
        )
    if have is None and win_rate is None and not difference:
        raise UsageError("say which difference is to be shown (--difference D), or what there is (--have N)")
    if win_rate == 0.5 and have is None:
        raise UsageError("a win rate of one half is no difference")
    with (
        files(data, reader=reader, mapping=mapping) if pilot else nullcontext(Files((), {})) as given,
        folder_of(output, figures=figures) as folder,
    ):
        from turnwise.run.power.command import run

        spec = PowerSpec(
            data=given.paths,
            names=given.names,
            metrics=split_names(metrics),
            selection=selected(
                items=items, role=role, where=where, by=None, pair=pair, cluster=cluster, limit=limit
            ),
            difference=difference,
            have=have,
            power=power,
            alpha=alpha,
            agents=split_names(agents),
            paired=paired,
            turns=tuple(turns),
            raters=tuple(raters),
            people=people,
            level=level,
            beside=beside,
            scored=scored,
            sd=sd,
            icc=icc,
            rater_sd=rater_sd,
            correlation=correlation,
            agreement=agreement,
            win_rate=win_rate,
            ties=ties,
            rater_icc=rater_icc,
            cost_dialogue=cost_dialogue,
            cost_rating=cost_rating,
            cost_judge=cost_judge,
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
        return result(Power, spec.command, run(spec), folder, figures=figures)


def _check(*, pilot: bool, given: Sequence[str], metrics: Sequence[str], beside: str | None) -> None:
    """Raise `UsageError` for a spread that is given beside a pilot, for none at all, and for two kinds of it."""
    options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
    if pilot and given:
        raise UsageError(f"{options}: the pilot's own spread is used; leave out one of them")
    if not pilot and (metrics or beside):
        raise UsageError("a metric needs a pilot file that it scores; without one, give --sd or --win-rate")
    if not pilot and not {"sd", "win_rate"} & set(given):
        raise UsageError(
            "give a pilot file with -m, or the spread: --sd with --icc and --rater-sd, or --win-rate"
        )
    if "win_rate" in given and len(given) > 1:
        raise UsageError(
            f"{options}: a win rate has the spread of preferences; it goes with --ties, --icc and --rater-icc alone"
        )
