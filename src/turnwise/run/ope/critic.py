"""Which estimators of `turnwise ope` are critics, where their reward is from, and how they value the controls where
ratings are the reward. Values by a reward of the task are in `critic_of_tasks`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from turnwise import estimators as registry
from turnwise.errors import PluginError, Refused
from turnwise.estimators.critic.controls import (
    CONTROLS,
    LOGGED,
    PREFIX,
    verdict_on_controls,
    with_controls,
)
from turnwise.estimators.critic.evaluation import Evaluation
from turnwise.logs.scan import Census
from turnwise.protocols import TaskCritic
from turnwise.records import CriticCheck
from turnwise.run.dialogues.selfplay import without_played
from turnwise.run.ope.critic_records import critic_check
from turnwise.run.ope.estimate import TargetEstimate
from turnwise.run.ope.logged_data import METRIC, prepare
from turnwise.run.scoring.tally import generator
from turnwise.types import Dialogue, Estimator, RepliesAtPoints

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope

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


def controls(
    spec: "Ope",
    dialogues: Sequence[Dialogue],
    census: Census,
    estimators: Mapping[str, Estimator],
    answers: Sequence[TargetEstimate],
    *,
    rating: str,
) -> dict[str, CriticCheck]:
    """One entry for each critic among the estimators: its values of the controls, and the verdict on `answers`.

    The key is the critic's name, a space and `rating`. Without dialogues that controls can be made from, an entry has
    no values of controls. Without a critic the result is empty.
    """
    critics = {name: estimator for name, estimator in estimators.items() if isinstance(estimator, TaskCritic)}
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
    checks = {}
    for name, of_controls in values.items():
        raw = {
            answer.target: answer.diagnostics.raw
            for answer in answers
            if answer.estimator == name and answer.diagnostics.raw is not None
        }
        logged = of_controls.pop(LOGGED, None)
        verdict = verdict_on_controls(raw, of_controls, logged=logged)
        checks[f"{name} {rating}"] = structs.replace(
            critic_check(verdict, critics[name], of_controls, who="the logged agents"),
            unvalued=tuple(control for control in CONTROLS if of_controls and control not in of_controls),
        )
    return checks


def _value(evaluation: Evaluation, said: RepliesAtPoints) -> float | None:
    """The value of a control; None if it is refused."""
    try:
        return evaluation.value(said).value
    except Refused:
        return None
