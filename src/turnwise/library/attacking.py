"""`attack` and `harden`: how a metric is gamed, and a metric that is harder to game."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, get_args

from turnwise.errors import unknown
from turnwise.library.arguments import (
    Count,
    Money,
    Names,
    Natural,
    PathLike,
    Positive,
    Range,
    check_place,
    checked,
    one_or_more,
    optional_path,
    paths,
)
from turnwise.library.data import Data, Where, files, selected
from turnwise.library.reading import MappingLike
from turnwise.library.results import Attack, Hardened, folder_of, result
from turnwise.logs.items.items import ItemChoice
from turnwise.run.spec import AttackSpec, HardenSpec, Place, Stage
from turnwise.settings.groups import ScoredRole
from turnwise.terminal import say

STAGES: tuple[Stage, ...] = ("baselines", "search")
Draws = Annotated[int, Range(least=100)]
NotNegative = Annotated[float, Range(least=0)]


@checked
def attack(
    metric: str,
    contexts: Data,
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    count: Annotated[int, Range(least=40)] = 200,
    budget: Annotated[int, Range(least=500)] = 20_000,
    stages: Names = STAGES,
    perturb: bool = True,
    timeout: Positive = 120.0,
    card: bool = False,
    policy: PathLike = "smollm2",
    samples: Annotated[int, Range(least=2)] = 8,
    epochs: Count = 5,
    updates: Count = 20,
    batch: Annotated[int, Range(least=2)] = 16,
    repetitions: Count = 1,
    learning_rate: Positive = 1e-5,
    kl: NotNegative = 0.05,
    entropy: NotNegative = 0.0,
    longest: Annotated[int, Range(least=2)] = 40,
    minutes: Positive | None = None,
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
) -> Attack:
    """Search for replies that a metric scores above people's.

    Strategies are searched on one half of the contexts and tested on the other. A metric is gameable when a strategy's
    gain over people has an interval above zero, at a level that is shared among all strategies that were tested.

    Parameters:
        metric: One name of `turnwise ls metrics`, with settings in brackets; `module:function`; or an http address.
        contexts: Dialogues of people, in any form that `score` takes. The strategies must reply in them.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        count: Contexts: half to search on, half to test on.
        budget: Metric calls; one call is one reply scored. Perturbations and the stages `samples` and `rl` come on top.
        stages: Any of `baselines`, `search`, `samples` (of a language model, chosen by the metric) and `rl`, which
            tunes a language model on the metric.
        perturb: Also report how the score changes under edits that keep the meaning, and under damaged contexts.
        timeout: Seconds after which a reply that the metric has not scored counts as unscored.
        card: Write the frauds on the card of the trained model that is attacked.
        policy: samples, rl: the language model that is sampled or tuned.
        samples: samples: replies that are sampled in each context, of which the metric chooses the best.
        epochs: rl: the reward is tracked after each.
        updates: rl: updates of the policy in an epoch.
        batch: rl: replies in an update.
        repetitions: rl: trainings from the start, of which the best is kept.
        learning_rate: rl: learning rate of the policy.
        kl: rl: penalty for a nat a token of divergence from the untuned model.
        entropy: rl: reward for a nat of entropy.
        longest: samples, rl: tokens of a reply at most.
        minutes: rl: time after which a repetition ends with what it has. Default: no limit.
        items: Which replies are the contexts' own. Default: all.
        role: Whose messages are replaced.
        where: Only dialogues with these values.
        by: Only `file`: files may then share ids.
        pair: The key that pairs items of different agents.
        cluster: The key of what is resampled together. Default: the dialogue.
        limit: Only the first dialogues.
        output: Folder for results.json; an interrupted run resumes there.
        real: Reference dialogues for metrics that need fitting.
        model: Model of a metric that has one and does not name it itself.
        db: Folder of the venue tables of task metrics.
        seed: Seed of everything random.
        draws: Resamples behind an interval.
        jobs: Worker processes.
        on: Where the work is done: this machine or a Ray cluster.
        address: Address of a running Ray cluster.
        max_errors: Stop when the metric has failed on more items than this.
        max_cost: Spend at most this much on a judge, in the currency of its price; then it is not asked any more.
        reuse: Reuse the calls that are in `output`, and the cached verdicts of a judge.
        progress: Report progress on standard error.
        figures: Keep the figures that a notebook shows.
    """
    check_place(on, address)
    with (
        files(contexts, reader=reader, mapping=mapping) as given,
        folder_of(output, figures=figures) as folder,
    ):
        from turnwise.run.attack.command import run_attack

        spec = AttackSpec(
            data=given.paths,
            names=given.names,
            metrics=(metric,),
            selection=selected(
                items=items, role=role, where=where, by=by, pair=pair, cluster=cluster, limit=limit,
            ),
            count=count,
            budget=budget,
            stages=_stages(stages),
            perturb=perturb,
            timeout=timeout,
            card=card,
            policy=str(policy),
            samples=samples,
            epochs=epochs,
            updates=updates,
            batch=batch,
            repetitions=repetitions,
            learning_rate=learning_rate,
            kl=kl,
            entropy=entropy,
            longest=longest,
            minutes=minutes,
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
        outcome = run_attack(spec, report=_reporter(progress=progress))
        return result(Attack, spec.command, outcome, folder, figures=figures)


@checked
def harden(
    metric: str,
    contexts: Data,
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    output: PathLike,
    rounds: Count = 4,
    learn_from: PathLike | Sequence[PathLike] = (),
    taught: Annotated[int, Range(least=100)] = 2000,
    agree_with: PathLike | Sequence[PathLike] = (),
    count: Annotated[int, Range(least=40)] = 200,
    budget: Annotated[int, Range(least=500)] = 20_000,
    stages: Names = STAGES,
    perturb: bool = True,
    timeout: Positive = 120.0,
    card: bool = False,
    policy: PathLike = "smollm2",
    samples: Annotated[int, Range(least=2)] = 8,
    epochs: Count = 5,
    updates: Count = 20,
    batch: Annotated[int, Range(least=2)] = 16,
    repetitions: Count = 1,
    learning_rate: Positive = 1e-5,
    kl: NotNegative = 0.05,
    entropy: NotNegative = 0.0,
    longest: Annotated[int, Range(least=2)] = 40,
    minutes: Positive | None = None,
    items: ItemChoice | None = None,
    role: ScoredRole = "assistant",
    where: Where | None = None,
    by: Names | None = None,
    pair: str | None = None,
    cluster: str | None = None,
    limit: Count | None = None,
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
) -> Hardened:
    """Train a metric on the frauds that an attack found and attack it again, until nothing found scores above people.

    Metrics with a trained head can be hardened, usr-ret, maude and att, and any metric of single replies as
    `guarded[metric=NAME]`. The command is `turnwise attack --harden`.

    Parameters:
        metric: One name of `turnwise ls metrics`, with settings in brackets; `module:function`; or an http address.
        contexts: Dialogues of people, in any form that `score` takes. The strategies must reply in them.
        count: Contexts: half to search on, half to test on.
        budget: Metric calls; one call is one reply scored. Perturbations and the stages `samples` and `rl` come on top.
        stages: Any of `baselines`, `search`, `samples` (of a language model, chosen by the metric) and `rl`, which
            tunes a language model on the metric.
        perturb: Also report how the score changes under edits that keep the meaning, and under damaged contexts.
        timeout: Seconds after which a reply that the metric has not scored counts as unscored.
        card: Write the frauds on the card of the trained model that is attacked.
        policy: samples, rl: the language model that is sampled or tuned.
        samples: samples: replies that are sampled in each context, of which the metric chooses the best.
        epochs: rl: the reward is tracked after each.
        updates: rl: updates of the policy in an epoch.
        batch: rl: replies in an update.
        repetitions: rl: trainings from the start, of which the best is kept.
        learning_rate: rl: learning rate of the policy.
        kl: rl: penalty for a nat a token of divergence from the untuned model.
        entropy: rl: reward for a nat of entropy.
        longest: samples, rl: tokens of a reply at most.
        minutes: rl: time after which a repetition ends with what it has. Default: no limit.
        rounds: Rounds of training at most.
        learn_from: Files of dialogues to train on. Default: the dialogues of `contexts` that are not attacked.
        taught: Turns at which frauds are taught.
        agree_with: Files of rated replies, to measure the change of the agreement with people.
        items: Which replies are the contexts' own. Default: all.
        role: Whose messages are replaced.
        where: Only dialogues with these values.
        by: Only `file`: files may then share ids.
        pair: The key that pairs items of different agents.
        cluster: The key of what is resampled together. Default: the dialogue.
        limit: Only the first dialogues.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        output: Folder for the models, one for each round, and results.json; an interrupted run resumes there.
        real: Reference dialogues for metrics that need fitting.
        model: Model of a metric that has one and does not name it itself.
        db: Folder of the venue tables of task metrics.
        seed: Seed of everything random.
        draws: Resamples behind an interval.
        jobs: Worker processes.
        on: Where the work is done: this machine or a Ray cluster.
        address: Address of a running Ray cluster.
        max_errors: Stop when the metric has failed on more items than this.
        max_cost: Spend at most this much on a judge, in the currency of its price; then it is not asked any more.
        reuse: Reuse the calls that are in `output`, and the cached verdicts of a judge.
        progress: Report progress on standard error.
        figures: Keep the figures that a notebook shows.
    """
    check_place(on, address)
    with (
        files(contexts, reader=reader, mapping=mapping) as given,
        folder_of(output, figures=figures) as folder,
    ):
        from turnwise.run.attack.harden import harden as run

        spec = HardenSpec(
            data=given.paths,
            names=given.names,
            metrics=(metric,),
            selection=selected(
                items=items, role=role, where=where, by=by, pair=pair, cluster=cluster, limit=limit,
            ),
            count=count,
            budget=budget,
            stages=_stages(stages),
            perturb=perturb,
            timeout=timeout,
            card=card,
            policy=str(policy),
            samples=samples,
            epochs=epochs,
            updates=updates,
            batch=batch,
            repetitions=repetitions,
            learning_rate=learning_rate,
            kl=kl,
            entropy=entropy,
            longest=longest,
            minutes=minutes,
            rounds=rounds,
            learn_from=paths(learn_from),
            taught=taught,
            agree_with=paths(agree_with),
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
        outcome = run(spec, report=_reporter(progress=progress))
        return result(Hardened, spec.command, outcome, folder, figures=figures)


def _stages(given: Names) -> tuple[Stage, ...]:
    """The stages in the order given; none, or an unknown name, raises `UsageError`."""
    known: tuple[Stage, ...] = get_args(Stage)
    found = one_or_more("stages", given)
    for name in found:
        if name not in known:
            raise unknown("stage", name, known)
    chosen: dict[str, Stage] = dict(zip(known, known, strict=True))
    return tuple(chosen[name] for name in found)


def _reporter(*, progress: bool) -> Callable[[str], None]:
    """A function that prints a line to standard error if `progress` is set and standard error is a terminal,
    else does nothing.
    """

    def report(line: str) -> None:
        """Print the line to standard error, or do nothing."""
        if progress and sys.stderr.isatty():
            say(line, err=True)

    return report
