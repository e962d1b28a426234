"""`turnwise ope --estimator critic` on task logs: the value of every system, with controls and baselines.

One agent, usually people, held all logged dialogues, so there are no agents to calibrate over: values are raw, on the
scale of the reward. Three checks are shown with them. The value of the logged agent must equal its empirical discounted
return; no control may reach the value of a real system; and simple baselines are printed, because a critic that ranks
systems like the length of their replies adds nothing to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from turnwise import estimators as registry
from turnwise.errors import PluginError, Refused, UsageError, counted
from turnwise.estimators.critic.controls import (
    CONTROLS,
    LOGGED,
    PREFIX,
    Verdict,
    verdict_on_controls,
    with_controls,
)
from turnwise.estimators.critic.critic import ONTOLOGY
from turnwise.estimators.critic.evaluation import Evaluation
from turnwise.logs.scan import Census
from turnwise.metrics.task.ontology import own_tables
from turnwise.protocols import TaskCritic
from turnwise.report import results
from turnwise.run.dialogues.selfplay import without_played
from turnwise.run.ope import task_log
from turnwise.run.ope.critic_values import CriticValues, value_systems
from turnwise.run.ope.estimate import TargetEstimate
from turnwise.run.ope.logged_data import METRIC, prepare
from turnwise.run.ope.reward import scored
from turnwise.run.scoring.shards import tables_beside
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import OpeSpec, Outcome, finish
from turnwise.run.workers.execute import progress
from turnwise.stats.interval import Interval, mean_t_interval
from turnwise.types import Dialogue, Estimator, Finding, Floats, RepliesAtPoints

BASELINES = ("bleu-delex", "length", "entropy-2", "success")
READING_THE_ONTOLOGY = ("bleu-delex", "success")
TASK_REWARDS = ("success", "one", "progress")


def critics_among(names: Sequence[str]) -> dict[str, TaskCritic]:
    """Name -> the estimator, of those that are critics of task logs.

    A plugin that cannot be made is left out here; it is reported when its estimates are computed.
    """
    found: dict[str, TaskCritic] = {}
    for name in names:
        if name.startswith(METRIC):
            continue
        try:
            estimator = registry.resolve(without_played(name)[0])
        except PluginError:
            continue
        if isinstance(estimator, TaskCritic):
            found[name] = estimator
    return found


def rewarded_by_task(
    critics: Mapping[str, TaskCritic], estimators: Sequence[str], census: Census, rating: str | None
) -> bool:
    """Whether the requested critics take the reward from the task, and not from ratings.

    True only if all estimators are critics, and one has a task reward, nothing is rated, or --rating is metric:success.
    """
    if not estimators or not all(name in critics for name in estimators):
        return False
    rewards = {critics[name].reward for name in estimators}
    unrated = not census.dimensions and rating is None
    return bool(rewards & {*TASK_REWARDS}) or unrated or rating == f"{METRIC}success"


def ope_of_task(
    spec: OpeSpec, dialogues: Sequence[Dialogue], sha256: Mapping[str, str], targets: Sequence[str]
) -> Outcome:
    """The values of the targets by each critic, with the controls, the logged agent and the baselines.

    The outcome is refused if no target has a value, whatever values the controls have.
    """
    if spec.all_agents:
        raise UsageError(
            "--all leaves rated agents out in turn; for a critic of task logs name --target NAMES"
        )
    there, left_out = task_log.with_replies_of_all(dialogues, targets)
    findings: list[Finding] = []
    section: dict[str, Any] = {}
    biases: list[str] = []
    for name in spec.estimators:
        critic = registry.resolve(name, model=None)
        if not isinstance(critic, TaskCritic):
            raise UsageError(f"`{name}` is no critic of task logs")
        critic = critic.with_reward("success" if critic.reward == "auto" else critic.reward)
        ontology = task_log.critics_ontology(critic)
        baselines = _baselines(spec, there, targets, ontology)
        chosen, rewards = _rewarded(spec, there, critic)
        _enough(critic, chosen)
        plain = task_log.with_uniform_placeholders(chosen, ontology) if critic.text_form == "one" else chosen
        facts = task_log.facts(chosen, ontology=ontology, dense=critic.reward == "progress")
        with progress(name, len(targets) + len(CONTROLS), quiet=spec.quiet) as advance:
            ready = critic.with_facts(facts)
            found = value_systems(ready, plain, rewards, targets, seed=spec.seed, advance=advance)
        who = _logged_name(chosen)
        if critic.reward == "success":
            baselines.setdefault("success", {})[who] = float(np.mean(list(rewards.values())))
        findings += _findings(name, critic, found, who=who, baselines=baselines)
        section[name] = _section(found, who=who) | {"taught": critic.trained_controls}
        biases += [f"{name}: {found.bias}"] if found.bias else []
        _write_turns(spec, name, chosen, found, targets, who=who)
    notes = [
        f"{counted(count, 'dialogue')} left out: {reason}"
        for reason, count in (left_out | _goalless(there, findings)).items()
    ]
    notes += biases
    document = finish(
        spec, tuple(findings), sha256, critics=section, **({"notes": notes} if notes else {})
    ).document
    # Without the value of any system the run is refused, whatever values the controls have.
    systems = [one for one in findings if one.what["kind"] == "system"]
    answered = any(one.estimate is not None for one in systems)
    return Outcome(tuple(findings if answered else systems), document)


def _enough(critic: TaskCritic, dialogues: Sequence[Dialogue]) -> None:
    """Raise `Refused` with fewer dialogues than the critic's setting `fewest`, which a plugin's may not have."""
    fewest = int(getattr(critic, "fewest", 0))
    if len(dialogues) < fewest:
        raise Refused(
            f"with {counted(len(dialogues), 'dialogue')} a critic's values are off by several points, and {fewest} are "
            f"needed; more logged dialogues help, or rated dialogues of several agents, over which values are "
            f"calibrated (--rating). critic[fewest={len(dialogues)}] shows them all the same"
        )


def _goalless(dialogues: Sequence[Dialogue], findings: Sequence[Finding]) -> dict[str, int]:
    """A reason -> the number of dialogues without a goal, if success was the reward; otherwise empty."""
    lacking = sum(not one.goal for one in dialogues)
    paid = any(one.what["rating"] == "success" for one in findings)
    return {"no goal, so nothing says whether it succeeded": lacking} if lacking and paid else {}


def controls(
    spec: OpeSpec,
    dialogues: Sequence[Dialogue],
    census: Census,
    estimators: Mapping[str, Estimator],
    answers: Sequence[TargetEstimate],
    *,
    rating: str,
) -> dict[str, Any]:
    """One entry for each critic among the estimators: its values of the controls, and the verdict on `answers`.

    The key is the critic's name, a space and `rating`. Without dialogues that controls can be made from, an entry has
    no values of controls. Without a critic the result is empty.
    """
    critics = {name: one for name, one in estimators.items() if isinstance(one, TaskCritic)}
    if not critics:
        return {}
    values: dict[str, dict[str, float]] = {name: {} for name in critics}
    if dialogues:
        controlled = with_controls(dialogues, generator(spec.seed, "controls"))
        episodes = prepare(spec, controlled, census, rating=rating, targets=(), others=()).episodes
        names = [name for name in episodes.alternatives if name == LOGGED or name.startswith(PREFIX)]
        for name, critic in critics.items():
            evaluation = critic.evaluation(episodes, seed=spec.seed)
            each = {control: _value(evaluation, episodes.alternatives[control]) for control in names}
            values[name] = {
                control.removeprefix(PREFIX): value for control, value in each.items() if value is not None
            }
    found = {}
    for name, of_controls in values.items():
        raw = {
            one.target: one.diagnostics["raw"]
            for one in answers
            if one.estimator == name and "raw" in one.diagnostics
        }
        logged = of_controls.pop(LOGGED, None)
        verdict = verdict_on_controls(raw, of_controls, logged=logged)
        found[f"{name} {rating}"] = _verdict(verdict, who="the logged agents") | {
            "controls": of_controls,
            "taught": critics[name].trained_controls,
            "unvalued": [one for one in CONTROLS if of_controls and one not in of_controls],
        }
    return found


def _value(evaluation: Evaluation, said: RepliesAtPoints) -> float | None:
    """The value of a control; None if it is refused."""
    try:
        return evaluation.value(said).value
    except Refused:
        return None


def _rewarded(
    spec: OpeSpec, dialogues: Sequence[Dialogue], critic: TaskCritic
) -> tuple[list[Dialogue], dict[str, float]]:
    """The dialogues with a known reward, and dialogue id -> reward: success (0 to 100), otherwise 100 for each.

    Raises `UsageError` for a critic of ratings, and for success if no dialogue has a goal.
    """
    if critic.reward == "success":
        ontology = task_log.critics_ontology(critic)
        db = spec.db or own_tables(ontology) or tables_beside(spec.data)
        rewards = task_log.success(dialogues, db=db, ontology=ontology)
        return [one for one in dialogues if one.id in rewards], rewards
    if critic.reward == "rating":
        raise UsageError("critic[reward=rating] needs ratings, and these dialogues have none")
    return list(dialogues), dict.fromkeys((one.id for one in dialogues), task_log.SUCCESS_REWARD)


def _logged_name(dialogues: Sequence[Dialogue]) -> str:
    """The name of the only agent that held the dialogues; `logged` if there are several."""
    names = {one.agent for one in dialogues}
    return names.pop() if len(names) == 1 else "logged"


def _findings(
    name: str,
    critic: TaskCritic,
    found: CriticValues,
    *,
    who: str,
    baselines: Mapping[str, Mapping[str, float]],
) -> list[Finding]:
    """One finding for the logged agent, then each system, then each control; `who` is the logged agent's name."""
    rows = []
    signature = str(critic.signature)
    everyone = (*found.values, *found.refused)
    for key in sorted(everyone, key=lambda key: (key != LOGGED, key.startswith(PREFIX))):
        kind = "logged" if key == LOGGED else "control" if key.startswith(PREFIX) else "system"
        what = {
            "target": who if key == LOGGED else key,
            "rating": critic.reward,
            "estimator": name,
            "kind": kind,
        }
        if key in found.refused:
            refusal = Finding.refusal(what, found.refused[key], signature)
            rows.append(replace(refusal, details={"refused": True, "diagnostics": {}}))
            continue
        valued, apart = found.values[key], found.differences.get(key)
        rows.append(
            Finding(
                what=what,
                estimate=valued.value,
                interval=_interval(valued.contributions),
                n_items=int(np.isfinite(valued.q).sum()),
                n_clusters=len(valued.contributions),
                method=f"fitted Q, cross-fitted over dialogues, gamma {critic.discount:g}; interval by influence",
                signature=signature,
                details={
                    "difference": None if apart is None else float(apart.mean()),
                    "difference_interval": None if apart is None else _interval(apart),
                    "refused": False,
                    "logged": found.returned if key == LOGGED else None,
                    "fooled_by": list(found.verdict.fooled_by),
                    **{
                        metric: numbers.get(key if key != LOGGED else who)
                        for metric, numbers in baselines.items()
                    },
                    "diagnostics": {"raw": valued.value, "bellman_error": valued.error, "calibrated": False},
                },
            )
        )
    return rows


def _interval(contributions: Floats) -> Interval | None:
    """The t interval of the mean contribution; None with fewer than two contributions or if all are equal."""
    found = mean_t_interval(contributions)
    return None if found is None else (float(found[0]), float(found[1]))


def _section(found: CriticValues, *, who: str) -> dict[str, Any]:
    """The part of the results document about one critic: verdict, values of controls, value and return of `who`."""
    return _verdict(found.verdict, who=who) | {
        "controls": {
            key.removeprefix(PREFIX): one.value for key, one in found.values.items() if key.startswith(PREFIX)
        },
        "unvalued": [key.removeprefix(PREFIX) for key in found.refused if key.startswith(PREFIX)],
        "logged": who,
        "logged_value": found.values[LOGGED].value,
        "logged_return": found.returned,
    }


def _verdict(verdict: Verdict, *, who: str) -> dict[str, Any]:
    """The verdict as a JSON object, with `who` for the logged agent."""
    return {
        "fooled": verdict.fooled,
        "fooled_by": list(verdict.fooled_by),
        "worst_system": who if verdict.worst == LOGGED else verdict.worst,
        "margin": verdict.margin,
    }


def _baselines(
    spec: OpeSpec, dialogues: Sequence[Dialogue], systems: Sequence[str], ontology: str
) -> dict[str, dict[str, float]]:
    """Metric -> agent -> score, higher is better; a metric that cannot be computed here is left out."""
    found = {}
    located = replace(spec, db=spec.db or own_tables(ontology) or tables_beside(spec.data))
    for metric in BASELINES:
        own = metric in READING_THE_ONTOLOGY and ontology != ONTOLOGY
        name = f"{metric}[ontology={ontology}]" if own else metric
        try:
            found[metric] = scored(located, dialogues, name, systems)
        except (Refused, UsageError):  # no goals, tables or references: the column is left out
            continue
    return found


def _write_turns(
    spec: OpeSpec,
    name: str,
    dialogues: Sequence[Dialogue],
    found: CriticValues,
    systems: Sequence[str],
    *,
    who: str,
) -> None:
    """Write every logged turn with the Q of each system's reply there (the paper's Table 5) into -o.

    Without -o nothing is written.
    """
    if spec.output is None:
        return
    records, point = [], 0
    for one in dialogues:
        user = ""
        for index, turn in enumerate(one.turns):
            user = turn.text if turn.role == "user" else user
            if turn.role != "assistant" or turn.content is None:
                continue
            said = {who: turn.text, **{agent: turn.alternatives[agent][0].content for agent in systems}}
            asked = {agent: LOGGED if agent == who else agent for agent in said}
            q = {
                agent: float(found.values[key].q[point])
                for agent, key in asked.items()
                if key in found.values
            }
            records.append(
                {"dialogue": one.id, "turn": index, "estimator": name, "user": user, "replies": said, "q": q}
            )
            point += 1
    results.write_lines(spec.output / f"{name}.turns.jsonl", records)
