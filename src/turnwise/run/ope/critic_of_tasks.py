"""`turnwise ope --estimator critic` on task logs: the value of every system, with controls and baselines.

Where at least four agents other than the target held dialogues, its value is calibrated over them by their known
returns. Where one agent, usually people, held all of them, there is nothing to calibrate over, and values are refused.
With --no-calibrate they are raw, on the scale of the reward, and three checks are shown with them. The value of the
logged agent must equal its empirical discounted return; no control may reach the value of a real system; and simple
baselines are printed, because a critic that ranks systems like the length of their replies adds nothing to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from turnwise import estimators as registry
from turnwise.errors import Refused, UsageError, counted, setting
from turnwise.estimators.critic.controls import CONTROLS
from turnwise.estimators.critic.critic import ONTOLOGY
from turnwise.metrics.task.ontology import own_tables
from turnwise.protocols import TaskCritic
from turnwise.records import CriticCheck, EstimateRecord, EstimatorCheck, KnownMeans
from turnwise.report.documents import OpeDocument
from turnwise.run.ope import task_log
from turnwise.run.ope.critic_calibration import TaskCalibration
from turnwise.run.ope.critic_records import critic_section, raw_notes, raw_records, write_turns
from turnwise.run.ope.critic_values import task_episodes, value_systems
from turnwise.run.ope.estimate import TargetEstimate
from turnwise.run.ope.reward import scored
from turnwise.run.ope.truth import target_record, validation, write_figures
from turnwise.run.scoring.shards import tables_beside
from turnwise.run.spec import finish
from turnwise.run.workers.execute import progress
from turnwise.settings.option import as_text
from turnwise.types import Dialogue

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope

BASELINES = ("bleu-delex", "length", "entropy-2", "success")
READING_THE_ONTOLOGY = ("bleu-delex", "success")


@dataclass(frozen=True, slots=True)
class _Answer:
    """The results of one critic."""

    records: Sequence[EstimateRecord]
    critic: CriticCheck | None = None  # values of controls, and the verdict on them
    notes: Sequence[str] = ()
    known: KnownMeans | None = None  # returns of the logging agents, where they calibrate
    validation: Sequence[EstimatorCheck] = ()


def ope_of_task(
    spec: "Ope", dialogues: Sequence[Dialogue], sha256: Mapping[str, str], targets: Sequence[str]
) -> OpeDocument:
    """The values of the targets by each critic: calibrated over the logging agents, or raw with --no-calibrate.

    Raw values are shown with the controls, the logged agent and the baselines. The outcome is refused if no target has
    a value, whatever values the controls have.
    """
    _check_options(spec)
    there, left_out = task_log.with_replies_of_all(dialogues, targets)
    answers = {name: _answer(spec, name, there, targets) for name in spec.estimators}
    records = [record for answer in answers.values() for record in answer.records]
    notes = [
        f"{counted(count, 'dialogue')} left out: {reason}"
        for reason, count in (left_out | _goalless(there, records)).items()
    ]
    notes += [f"{name}: {note}" for name, answer in answers.items() for note in answer.notes]
    # Without the value of any system the run is refused, whatever values the controls have.
    if all(record.estimate is None for record in records if _is_of_a_system(record)):
        records = [structs.replace(record, beside=not _is_of_a_system(record)) for record in records]
    return finish(
        OpeDocument,
        spec,
        records,
        sha256,
        critics={name: answer.critic for name, answer in answers.items() if answer.critic is not None},
        known=tuple(answer.known for answer in answers.values() if answer.known is not None),
        validation=tuple(check for answer in answers.values() for check in answer.validation),
        notes=tuple(notes),
    )


def _is_of_a_system(record: EstimateRecord) -> bool:
    """Whether a record is of a target, and not of a control or of the logged agent."""
    return record.kind in (None, "system")


def _check_options(spec: "Ope") -> None:
    """Raise `UsageError` for options of estimators of ratings, which a critic of task logs does not use."""
    given = {
        "--truth": spec.truth is not None,
        "--fraction": spec.fraction < 1,
        "--challenging": spec.challenging is not None,
        "--min-truth": bool(spec.min_truth),
        "--seeds": spec.seeds > 1,
    }
    if unused := [setting(name) for name, there in given.items() if there]:
        raise UsageError(f"{', '.join(unused)}: for estimators of ratings, not for a critic of task logs")


def _answer(spec: "Ope", name: str, dialogues: Sequence[Dialogue], targets: Sequence[str]) -> _Answer:
    """The results of the critic of this name."""
    critic = registry.resolve(name, model=None)
    if not isinstance(critic, TaskCritic):
        raise UsageError(f"`{name}` is no critic of task logs")
    critic = critic.with_reward("success" if critic.reward == "auto" else critic.reward)
    ontology = task_log.critics_ontology(critic)
    chosen, rewards = _rewarded(spec, dialogues, critic)
    plain = task_log.with_uniform_placeholders(chosen, ontology) if critic.text_form == "one" else chosen
    facts = task_log.facts(chosen, ontology=ontology, dense=critic.reward == "progress")
    logs = _Logs(name, critic.with_facts(facts), chosen, plain, rewards)
    return _calibrated(spec, logs, targets) if spec.calibrate else _raw(spec, logs, targets)


@dataclass(frozen=True, slots=True)
class _Logs:
    """A critic that is ready, and the dialogues that it learns from."""

    name: str
    critic: TaskCritic
    dialogues: Sequence[Dialogue]  # as logged
    plain: Sequence[Dialogue]  # in the form that the critic reads
    rewards: Mapping[str, float]  # dialogue id -> final reward


def _calibrated(spec: "Ope", logs: _Logs, targets: Sequence[str]) -> _Answer:
    """Values that are calibrated over the logging agents; a target with too few of them is refused."""
    critic, name = logs.critic, logs.name
    calibration = TaskCalibration(critic, task_episodes(logs.plain, logs.rewards), spec.seed)
    estimates: dict[str, TargetEstimate] = {}
    for target in targets:
        try:
            calibration.check_agents(target)
        except Refused as error:
            estimates[target] = calibration.about(name, target).refused(error)
    asked = [target for target in targets if target not in estimates]
    section = None
    if asked:
        total = len(calibration.fits(asked)) + len(asked) + len(CONTROLS)
        with progress(name, total, quiet=spec.quiet) as advance:
            raw = value_systems(critic, logs.plain, logs.rewards, asked, seed=spec.seed, advance=advance)
            scale = (0.0, raw.greatest)
            found = calibration.estimates(name, asked, raw, scale=scale, advance=advance)
        estimates |= {one.target: one for one in found}
        who = _logged_name(logs.dialogues)
        section = critic_section(raw, critic, who=who)
        write_turns(spec, name, logs.dialogues, raw, asked, who=who)
    known = calibration.known
    in_order = [estimates[target] for target in targets]
    if asked:
        write_figures(spec, critic.reward, in_order, known)
    return _Answer(
        [target_record(one, critic.reward, known.get(one.target), None) for one in in_order],
        section,
        known=KnownMeans(
            rating=critic.reward,
            of="return",
            scale=(0.0, task_log.SUCCESS_REWARD),
            spread=calibration.spread,
            means=dict(known),
        ),
        validation=validation(critic.reward, [name], in_order, known) if spec.all_agents else (),
    )


def _raw(spec: "Ope", logs: _Logs, targets: Sequence[str]) -> _Answer:
    """Raw values, beside those of the controls and the logged agent, with notes on what is wrong with them."""
    critic, name = logs.critic, logs.name
    _enough(critic, logs.dialogues)
    baselines = _baselines(spec, logs.dialogues, targets, task_log.critics_ontology(critic))
    with progress(name, len(targets) + len(CONTROLS), quiet=spec.quiet) as advance:
        found = value_systems(critic, logs.plain, logs.rewards, targets, seed=spec.seed, advance=advance)
    who = _logged_name(logs.dialogues)
    if critic.reward == "success":
        baselines.setdefault("success", {})[who] = float(np.mean(list(logs.rewards.values())))
    write_turns(spec, name, logs.dialogues, found, targets, who=who)
    records = raw_records(name, critic, found, who=who, baselines=baselines)
    checks: Sequence[EstimatorCheck] = ()
    if spec.all_agents:
        known = TaskCalibration(critic, task_episodes(logs.plain, logs.rewards), spec.seed).known
        given = [
            TargetEstimate(
                target=record.target, estimator=name, estimate=record.estimate, interval=record.bounds
            )
            for record in records
            if _is_of_a_system(record)
        ]
        checks = validation(critic.reward, [name], given, known)
    section = critic_section(found, critic, who=who)
    return _Answer(records, section, raw_notes(found, targets), validation=checks)


def _enough(critic: TaskCritic, dialogues: Sequence[Dialogue]) -> None:
    """Raise `Refused` with fewer dialogues than the critic's setting `fewest`, which a plugin's may not have."""
    fewest = int(getattr(critic, "fewest", 0))
    if len(dialogues) < fewest:
        raise Refused(
            "with {n:#dialogue} a critic's values are off by several points, and {needed} are needed; more logged "
            "dialogues help, or dialogues of five agents, over which values are calibrated. critic[fewest={n}] shows "
            "them all the same",
            "too-few-dialogues-for-a-critic",
            n=len(dialogues),
            needed=fewest,
        )


def _goalless(dialogues: Sequence[Dialogue], records: Sequence[EstimateRecord]) -> dict[str, int]:
    """A reason -> the number of dialogues without a goal, if success was the reward; otherwise empty."""
    lacking = sum(not dialogue.goal for dialogue in dialogues)
    paid = any(record.rating == "success" for record in records)
    return {"no goal, so nothing says whether it succeeded": lacking} if lacking and paid else {}


def _rewarded(
    spec: "Ope", dialogues: Sequence[Dialogue], critic: TaskCritic
) -> tuple[list[Dialogue], dict[str, float]]:
    """The dialogues with a known reward, and dialogue id -> reward: success (0 to 100), otherwise 100 for each.

    Raises `UsageError` for a critic of ratings, and for success if no dialogue has a goal.
    """
    if critic.reward == "success":
        ontology = task_log.critics_ontology(critic)
        task_log.check_domains(dialogues, ontology)
        db = as_text(spec.db) or own_tables(ontology) or tables_beside(spec.paths)
        rewards = task_log.success(dialogues, db=db, ontology=ontology)
        return [one for one in dialogues if one.id in rewards], rewards
    if critic.reward == "rating":
        raise UsageError("critic[reward=rating] needs ratings, and these dialogues have none")
    return list(dialogues), dict.fromkeys((one.id for one in dialogues), task_log.SUCCESS_REWARD)


def _logged_name(dialogues: Sequence[Dialogue]) -> str:
    """The name of the only agent that held the dialogues; `logged` if there are several."""
    names = {one.agent for one in dialogues}
    return names.pop() if len(names) == 1 else "logged"


def _baselines(
    spec: "Ope", dialogues: Sequence[Dialogue], systems: Sequence[str], ontology: str
) -> dict[str, dict[str, float]]:
    """Metric -> agent -> score, higher is better; a metric that cannot be computed here is left out."""
    found = {}
    located = spec.changed(db=spec.db or own_tables(ontology) or tables_beside(spec.paths))
    for metric in BASELINES:
        own = metric in READING_THE_ONTOLOGY and ontology != ONTOLOGY
        name = f"{metric}[ontology={ontology}]" if own else metric
        try:
            found[metric] = scored(located, dialogues, name, systems)
        except (Refused, UsageError):  # no goals, tables or references: the column is left out
            continue
    return found
