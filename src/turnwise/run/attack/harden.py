"""`turnwise attack --harden`: attack a metric, train a guard on the frauds found, and attack again, in rounds.

Each round attacks with the same budget on the same contexts, each file separately. Patterns and copies that scored
above people, in the search or in the test, are rendered at turns of the training dialogues as the alternatives of an
agent `fraud`. Training dialogues are never contexts of the attack. Fixed replies are not used, because people say them
too (run/attack/fraud_training_data.py). Training on the found frauds alone would leave similar templates undetected, so
as many random templates, which the search could have found, are added. The metric keeps its heads and gets a guard
trained on these data (`metrics/learned/guard/guard.py`). `guarded[metric=NAME]` can be hardened too: its guard is
trained anew, and the metric that wears it stays as it is. The cost of hardening is the change of the metric's agreement
with people on rated data.

Edits of a person's own reply (shuffled, repeated) count in the test as in any attack, but are not used for training:
some of them have the same words as the reply, and a guard cannot distinguish them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from turnwise.attacks.attack import Attack
from turnwise.attacks.verdict import TestedStrategy
from turnwise.errors import Unmeasured, UsageError, counted, setting
from turnwise.logs.native import file_names, write
from turnwise.logs.scan import Census
from turnwise.metrics import settings
from turnwise.metrics.learned.guard.metric import KIND as GUARD_KIND
from turnwise.records import AttackedFile, HardeningRound, KeptAgreement, StrategyRecord, finite
from turnwise.report.documents import AttackDocument
from turnwise.run.attack.command import (
    AttackRun,
    attack_metric,
    check_can_be_attacked,
    check_scored,
    scan_data,
)
from turnwise.run.attack.fraud_training_data import (
    FRAUD,
    context_templates,
    prefix_digest,
    training_dialogues,
)
from turnwise.run.resume.progress_journal import Journal
from turnwise.run.scoring.meta import meta
from turnwise.run.scoring.shards import prepare
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import finish
from turnwise.run.train.command import TRAINERS, names, train, trainer
from turnwise.settings.option import split_paths
from turnwise.types import Metric, digest

if TYPE_CHECKING:
    from turnwise.commands.attack import Harden

MAX_TEMPLATES = 400  # templates of frauds used for training
FEW_DIALOGUES = 100  # below which a guard learns little
WRAPPER = "guarded"  # the metric that puts a guard before another one
HUMAN_REPLY_EDITS = ("shuffled", "no-punctuation", "repeated")  # strategies that edit the person's own reply


class FinishedRound(msgspec.Struct, frozen=True, kw_only=True):
    """A round as the journal has it, with what the next one needs."""

    result: HardeningRound
    promising: list[str]  # templates that scored above people in the test or the search
    contexts: list[str]  # digests of the attacked contexts with their replies
    learned: bool = False  # whether the metric was trained against these templates after the round


def attacked_file(name: str, made: AttackRun) -> AttackedFile:
    """The result of an attack on one file; raises `Unmeasured` if no reply of a person or no fraud has a score."""
    check_scored(made.found)
    known = frauds(made)
    if not known:
        raise Unmeasured(
            f"the metric scored the frauds on {name} in fewer than half of the contexts, or not at all: there is "
            "nothing to harden it against"
        )
    best = max(known, key=lambda fraud: fraud.gain)
    return AttackedFile(
        contexts=name,
        people=finite(made.found.people.score),
        best=best.strategy,
        description=best.description,
        score=finite(best.score),
        interval=best.interval,
        gain=best.gain,
        gain_interval=best.gain_interval,
        gameable=any(fraud.significant for fraud in known),
        edits=tuple(
            tested.strategy
            for tested in made.found.strategies
            if tested.significant and tested.strategy in HUMAN_REPLY_EDITS
        ),
        unsearched=_why_inconclusive(made.found),
        n_items=best.n,
        n_clusters=best.n_clusters,
    )


def _why_inconclusive(found: Attack) -> str | None:
    """Why an attack is inconclusive; None if it is conclusive.

    In this order: the budget was too small for a search; the metric is without scores, constant or random; strategies
    were left untested.
    """
    if found.unsearched:
        return (
            f"{setting('--budget')} is too small for a search; raise it (the default is 20,000), or lower "
            f"{setting('--count')}"
        )
    return found.diagnosis.warning or (
        f"{found.untested} strategies were left untested" if found.untested else None
    )


def frauds(made: AttackRun) -> list[TestedStrategy]:
    """The tested strategies that have a gain and are neither people's replies nor edits of them, significant or not."""
    return [
        one
        for one in made.found.strategies
        if one.kind != "people" and one.strategy not in HUMAN_REPLY_EDITS and not np.isnan(one.gain)
    ]


def harden(spec: "Harden", *, report: Callable[[str], None] = lambda _: None) -> AttackDocument:
    """Attack and train a guard in up to `spec.rounds` rounds; the document has the hardened metric and all rounds.

    The rounds end with an attack: when it finds the metric robust, when it finds no template to train on, or after the
    last round. Raises `UsageError` for a metric without a guard, without an output folder or without the search stage.
    """
    kind = settings(str(spec.metric))[0]
    if kind != WRAPPER and (kind not in names() or not trainer(kind).takes_guard):
        able = [name for name, one in TRAINERS.items() if one.takes_guard]
        raise UsageError(
            f"`{kind}` cannot be hardened by itself: it does not support a guard; {', '.join(able)} do, and any metric "
            f"of single replies in a wrapper: `{WRAPPER}[metric={kind}]`"
        )
    if "search" not in spec.stages:
        raise UsageError(f"hardening needs a search: {setting('--stages')} must have `search`")
    sha256: dict[str, str] = {}
    for path in dict.fromkeys(
        (*spec.paths, *split_paths(spec.learn_from))
    ):  # separately, because files may share ids
        sha256 |= scan_data(spec.changed(contexts=(path,))).sha256
    name, taught, rounds = str(spec.metric), list[str](), list[HardeningRound]()
    key = digest(_journal_settings(spec), *sorted(sha256.values()))
    spec.folder.mkdir(parents=True, exist_ok=True)
    with Journal(spec.folder / "rounds.jsonl", key, reuse=spec.reuse) as journal:
        for number in range(spec.rounds + 1):
            if number in journal:
                done = msgspec.convert(journal.get(number), FinishedRound)
            else:
                report(f"round {number}: attacking {name}")
                done = attack_files(spec, name, number, taught, report)
                journal.put(number, done)
            rounds.append(done.result)
            if done.result.robust or number == spec.rounds or not done.promising:
                break
            taught = list(dict.fromkeys([*done.promising, *taught]))[:MAX_TEMPLATES]
            model = spec.folder / f"model-{number + 1}"
            name = hardened_name(str(spec.metric), model)
            if not (done.learned and model.exists()):  # a model of another run is not reused
                train_guard(spec, taught, model, set(done.contexts), report)
                journal.put(number, structs.replace(done, learned=True))
        agreement = _agreement(spec, (str(spec.metric), name)) if spec.agree_with else []
    last = rounds[-1]
    return finish(
        AttackDocument, spec, _records(name, last), sha256, hardened=name, robust=last.robust, summary=_summary(last),
        rounds=tuple(rounds), agreement=tuple(agreement),
    )  # fmt: skip


def hardened_name(metric: str, model: Path) -> str:
    """The metric with the trained model in this folder; a wrapper keeps its other settings."""
    kind, given = settings(metric)
    if kind != WRAPPER:
        return f"{kind}[trained={model}]"
    kept = {key: str(value).lower() if isinstance(value, bool) else value for key, value in given.items()}
    return f"{WRAPPER}[{','.join(f'{key}={value}' for key, value in {**kept, 'trained': model}.items())}]"


def _journal_settings(spec: "Harden") -> str:
    """The settings that determine the rounds, as text for the journal's key: other settings start a new one."""
    part = spec.changed(contexts=spec.paths[:1])
    found = _metric(part, str(spec.metric), scan_data(part))
    return repr(
        ("round", str(found.signature), spec.model, spec.seed, spec.draws, spec.options, spec.selection)
    )


def _metric(spec: "Harden", name: str, census: Census) -> Metric:
    """The metric of the spec, prepared; raises `UsageError` with the reason if it cannot be prepared."""
    check_can_be_attacked(spec.metrics)
    metrics, absent = prepare(spec, census)
    if absent:
        raise UsageError(f"`{name}` cannot be attacked: {absent[0].reason}")
    return metrics[name]


def attack_files(
    spec: "Harden", name: str, number: int, taught: Sequence[str], report: Callable[[str], None]
) -> FinishedRound:
    """Attack each file of the data with metric `name`, which was trained against the templates `taught`."""
    attacked, promising, attacked_prefixes = list[AttackedFile](), list[str](), list[str]()
    names = file_names(spec.paths)
    folder = spec.folder / f"round-{number}"
    for index, path in enumerate(spec.paths):
        # Files with the same name are identified by their paths, which cannot be folder names.
        own = names[path] if Path(names[path]).name == names[path] else str(index)
        part = spec.changed(contexts=(path,), metric=name, output=str(folder / own))
        census = scan_data(part)
        made = attack_metric(part, name, _metric(part, name, census), census, report=report)
        found = attacked_file(names[path], made)
        report(
            f"round {number}, {found.contexts}: people {found.people:.3f}, best strategy {found.score:.3f}"
        )
        attacked.append(found)
        promising += [_template(one) for one in frauds(made) if one.gain > 0]
        promising += made.found.promising
        attacked_prefixes += [prefix_digest(context.item.turns) for context in made.contexts]
    return FinishedRound(
        result=HardeningRound(
            round=number,
            robust=all(file.robust for file in attacked),
            attacked=tuple(attacked),
            metric=name,
            taught=len(context_templates(taught)),
        ),
        promising=[text for text in dict.fromkeys(promising) if text],
        contexts=attacked_prefixes,
    )


def _summary(last: HardeningRound) -> str:
    """The conclusion of the last attack in words."""
    if last.robust:
        return f"nothing found scores above people; a larger {setting('--budget')} may find more"
    if any(file.gameable or file.edits for file in last.attacked):
        return "STILL GAMEABLE after the last round"
    reasons = [file.unsearched for file in last.attacked if file.unsearched]
    if reasons:
        return f"not shown to be gameable, nor to be robust: {reasons[0]}"
    return "not shown to be gameable, nor to be robust: the best fraud scores no less than people"


def _template(one: TestedStrategy) -> str:
    """The template for training: a slot for copies, the example reply for fixed strategies, else the strategy's name.

    "" if the strategy is no template: replies of other dialogues and of tuned policies.
    """
    if one.strategy.startswith("copy: "):
        return f"{{{one.strategy.removeprefix('copy: ')}}}"
    if one.kind in ("fixed", "baseline"):
        return one.example.replace("{", "(").replace("}", ")")
    return "" if one.kind == "other" or one.strategy.startswith("rl: ") else one.strategy


def train_guard(
    spec: "Harden",
    templates: Sequence[str],
    model: Path,
    attacked_prefixes: set[str],
    report: Callable[[str], None],
) -> None:
    """Train a guard against these templates and as many random ones; write it to `model`, with the heads it is for.

    Dialogues that start with one of `attacked_prefixes` (digests) are not used.
    """
    kind, given = settings(str(spec.metric))
    if kind == WRAPPER:
        kind = GUARD_KIND
    lesson = model.with_name(f"{model.name.replace('model', 'lesson')}.jsonl.gz")
    report(
        f"{model.name}: training on {len(context_templates(templates))} frauds and as many random templates"
    )
    rng = generator(spec.seed, "harden")
    dialogues = list(
        training_dialogues(
            split_paths(spec.learn_from) or spec.paths, templates, attacked_prefixes, spec.taught, rng
        )
    )
    if len(dialogues) < FEW_DIALOGUES:
        report(
            f"warning: the guard learns from {counted(len(dialogues), 'dialogue')} alone; {setting('--learn-from')} "
            "gives it more"
        )
    write(dialogues, str(lesson))
    train(spec.training(kind, lesson, model, guard=FRAUD, start=given.get("trained", "")), say=report)


def _agreement(spec: "Harden", names: tuple[str, str]) -> list[KeptAgreement]:
    """For each file of `agree_with`: turn-level Spearman correlation with people of both metrics, and its decrease.

    `names` are the metric before and after hardening; `fell` is positive if the correlation decreased.
    """
    from turnwise.commands.meta import MetaEvaluate

    agreement = []
    for path in split_paths(spec.agree_with):
        of_file = meta(
            MetaEvaluate(
                data=(path,),
                metrics=tuple(dict.fromkeys(names)),
                seed=spec.seed,
                draws=spec.draws,
                level="turn",
                statistics=("spearman",),
                differences=False,
                intervals=False,
            )
        )
        values = {record.metric: record for record in of_file.results}
        before, after = (values[name] for name in names)
        agreement.append(
            KeptAgreement(
                rated=Path(path).name,
                dimension=str(before.dimension),
                before=before.estimate,
                after=after.estimate,
                fell=_decrease(before.estimate, after.estimate),
                n_items=after.n_items,
            )
        )
    return agreement


def _decrease(before: float | None, after: float | None) -> float | None:
    """`before - after`; None if one of them is None."""
    return None if before is None or after is None else before - after


def _records(name: str, last: HardeningRound) -> list[StrategyRecord]:
    """One record for each file, in their order: the strategy with the largest gain in the last attack on it."""
    return [
        StrategyRecord(
            metric=name,
            group=file.contexts,
            strategy=file.best,
            estimate=file.score,
            interval=file.interval,
            n_items=file.n_items,
            n_clusters=file.n_clusters,
            method="the best fraud of the last attack, mean over contexts held out from the search",
            description=file.description,
            human_score=file.people,
            gain=file.gain,
            gain_interval=file.gain_interval,
            significant=file.gameable,
        )
        for file in last.attacked
    ]
