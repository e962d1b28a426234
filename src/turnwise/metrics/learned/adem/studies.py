"""What `train adem` measures on replies that were not learned from: by folds, without a system, with less data.

`leave_out_systems` is the paper's Table 5: every system in turn is kept out of training, and as a control as many
replies at random ('25 %' of the paper's four systems). `shares` is its Table 14: fewer contexts to learn from, the same
to be tested on. Both use the settings that the search chose for the head that is kept.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import UsageError
from turnwise.metrics.learned.adem.bilinear_fit import Examples, Search, learn, where
from turnwise.metrics.learned.held_out import folds, held_out
from turnwise.networks.training.task import TrainingTask
from turnwise.types import Finding, Floats, digest

FOLDS = 5
Mask = NDArray[np.bool_]


def studies(
    task: TrainingTask,
    examples: Examples,
    agents: Sequence[str],
    sides: Sequence[str],
    scale: tuple[float, float] | None,
    search: Search,
) -> list[Finding]:
    """Those that the settings ask for."""

    def predicted(keep: Mask) -> Floats:
        return crossed(task, examples, sides, scale, search, keep=keep)

    def found(what: str, scores: Floats, of: Mask, method: str) -> list[Finding]:
        people, contexts = examples.ratings[of], examples.contexts[of]
        name = f"{task.metric}, {what}"
        return held_out(name, scores[of], people, contexts, rng=task.rng, method=method)

    rng, everything = task.rng, np.ones(len(agents), dtype=bool)
    findings: list[Finding] = []
    if task.setting("leave_out_systems", False):
        who = np.array(agents)
        names = np.unique(who)
        if len(names) < 2:
            raise UsageError(f"all rated replies are of `{names[0]}`: no system can be left out")
        whole, control = predicted(everything), everything.copy()
        control[rng.choice(len(who), size=round(len(who) / len(names)), replace=False)] = False
        findings += found("nothing left out", whole, everything, "contexts held out")
        findings += found(
            f"1 in {len(names)} left out at random", predicted(control), everything, "contexts held out"
        )
        for name in names:
            task.say(f"without {name}")
            own, without = who == name, predicted(who != name)
            told = f"contexts held out, {name} left out"
            findings += found(f"{name} left out", without, everything, told)
            findings += found(f"{name} left out: its replies", without, own, told)
            findings += found(f"{name} seen: its replies", whole, own, "contexts held out")
    order = rng.permutation(np.unique(examples.contexts))
    for share in several("shares", task.settings["shares"], float) if "shares" in task.settings else ():
        if not 0 < share <= 1:
            raise UsageError(f"--set shares={share:g}: a share of the data is above 0 and at most 1")
        task.say(f"with {share:.0%} of the contexts")
        keep = np.isin(examples.contexts, order[: max(2, round(share * len(order)))])
        findings += found(f"{share:.0%} of the contexts", predicted(keep), everything, "contexts held out")
    return findings


def crossed(
    task: TrainingTask,
    examples: Examples,
    sides: Sequence[str],
    scale: tuple[float, float] | None,
    search: Search,
    *,
    keep: Mask | None = None,
) -> Floats:
    """(m,) what heads that had not seen its context predict of each reply; they learn from those in `keep`."""
    count = min(task.setting("folds", FOLDS), len(np.unique(examples.contexts)))
    fold = folds(examples.contexts, count, np.random.default_rng([task.seed, 3]))
    held, kept = np.full(len(fold), np.nan), np.ones(len(fold), dtype=bool) if keep is None else keep
    told = f"{task.fingerprint} {digest(kept.tobytes())}"
    for number in range(count):
        task.say(f"fold {number + 1} of {count}")
        learned = learn(
            examples.take(where((fold != number) & kept)), sides=sides, scale=scale, search=search,
            seed=task.seed, work=task.work, about=f"{told} {number}", say=task.say,
        )  # fmt: skip
        test = examples.take(where(fold == number)).triples
        held[fold == number] = learned.head(test.sides, test.reply)
    return held


def several(name: str, given: object, kind: type[float] | type[int]) -> tuple[float, ...]:
    try:
        return tuple(kind(part) for part in str(given).split("/"))
    except ValueError:
        raise UsageError(f"--set {name}={given}: expected numbers joined by /, as in 7/20") from None
