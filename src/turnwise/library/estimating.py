"""`ope`: the mean rating of an agent that nobody has rated."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from turnwise.errors import UsageError
from turnwise.library.arguments import (
    Count,
    Names,
    Natural,
    PathLike,
    Range,
    check_place,
    checked,
    optional_path,
    split_names,
)
from turnwise.library.data import Data, Where, files, selected
from turnwise.library.reading import MappingLike
from turnwise.library.results import Estimates, folder_of, result
from turnwise.run.spec import OpeSpec, Place

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
