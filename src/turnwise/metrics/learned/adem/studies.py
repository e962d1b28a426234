"""Agreement of ADEM with ratings on held-out replies: by cross-validation, without one system, with less data.

`leave_out_systems` is the paper's Table 5: each system in turn is left out of training, and as a control equally many
random replies ('25 %' for the paper's four systems). `shares` is its Table 14: fewer contexts for training, the same
test replies. Both use the settings that the search chose for the final head.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import UsageError, setting
from turnwise.metrics.learned.adem.bilinear_fit import Examples, Search, indices, learn
from turnwise.metrics.learned.held_out import folds, held_out
from turnwise.networks.training.task import TrainingTask
from turnwise.records import StatisticRecord
from turnwise.types import Floats, digest

FOLDS = 5  # folds of the cross-validation
Mask = NDArray[np.bool_]


def studies(
    task: TrainingTask,
    examples: Examples,
    agents: Sequence[str],
    sides: Sequence[str],
    scale: tuple[float, float] | None,
    search: Search,
) -> list[StatisticRecord]:
    """The findings of the studies that the settings `leave_out_systems` and `shares` ask for; empty without them.

    `agents` has the agent of each example, `sides` what a reply is compared with. Raises `UsageError` if there is only
    one agent to leave out, or for a share outside 0 to 1.
    """

    def predicted(keep: Mask) -> Floats:
        """(m,) cross-validated predictions for all examples, by heads trained only on examples in `keep`."""
        return cross_predict(task, examples, sides, scale, search, keep=keep)

    def agreement(what: str, scores: Floats, of: Mask, method: str) -> list[StatisticRecord]:
        """The agreement of `scores` with the ratings over the mask `of`; `what` names it in the findings."""
        people, contexts = examples.ratings[of], examples.contexts[of]
        name = f"{task.metric}, {what}"
        return held_out(name, scores[of], people, contexts, rng=task.rng, method=method)

    rng, everything = task.rng, np.ones(len(agents), dtype=bool)
    findings: list[StatisticRecord] = []
    if task.setting("leave_out_systems", False):
        who = np.array(agents)
        names = np.unique(who)
        if len(names) < 2:
            raise UsageError(f"all rated replies are of `{names[0]}`: no system can be left out")
        whole, control = predicted(everything), everything.copy()
        control[rng.choice(len(who), size=round(len(who) / len(names)), replace=False)] = False
        findings += agreement("nothing left out", whole, everything, "contexts held out")
        findings += agreement(
            f"1 in {len(names)} left out at random", predicted(control), everything, "contexts held out"
        )
        for name in names:
            task.say(f"without {name}")
            own, without = who == name, predicted(who != name)
            method = f"contexts held out, {name} left out"
            findings += agreement(f"{name} left out", without, everything, method)
            findings += agreement(f"{name} left out: its replies", without, own, method)
            findings += agreement(f"{name} seen: its replies", whole, own, "contexts held out")
    order = rng.permutation(np.unique(examples.contexts))
    for share in parse_numbers("shares", task.settings["shares"], float) if "shares" in task.settings else ():
        if not 0 < share <= 1:
            raise UsageError(
                f"{setting('--set', f'shares={share:g}')}: a share of the data is above 0 and at most 1"
            )
        task.say(f"with {share:.0%} of the contexts")
        keep = np.isin(examples.contexts, order[: max(2, round(share * len(order)))])
        findings += agreement(
            f"{share:.0%} of the contexts", predicted(keep), everything, "contexts held out"
        )
    return findings


def cross_predict(
    task: TrainingTask,
    examples: Examples,
    sides: Sequence[str],
    scale: tuple[float, float] | None,
    search: Search,
    *,
    keep: Mask | None = None,
) -> Floats:
    """(m,) a prediction for each reply by a head trained on other contexts; only replies in `keep` are trained on."""
    count = min(task.setting("folds", FOLDS), len(np.unique(examples.contexts)))
    fold = folds(examples.contexts, count, np.random.default_rng([task.seed, 3]))
    predicted, kept = np.full(len(fold), np.nan), np.ones(len(fold), dtype=bool) if keep is None else keep
    about = f"{task.fingerprint} {digest(kept.tobytes())}"
    for number in range(count):
        task.say(f"fold {number + 1} of {count}")
        learned = learn(
            examples.take(indices((fold != number) & kept)), sides=sides, scale=scale, search=search,
            seed=task.seed, work=task.work, about=f"{about} {number}", say=task.say,
        )  # fmt: skip
        test = examples.take(indices(fold == number)).triples
        predicted[fold == number] = learned.head(test.sides, test.reply)
    return predicted


def parse_numbers(name: str, given: object, kind: type[float] | type[int]) -> tuple[float, ...]:
    """Parse a setting with numbers joined by slashes; `UsageError`, which names the setting, for anything else."""
    try:
        return tuple(kind(part) for part in str(given).split("/"))
    except ValueError:
        raise UsageError(
            f"{setting('--set', f'{name}={given}')}: expected numbers joined by /, as in 7/20"
        ) from None
