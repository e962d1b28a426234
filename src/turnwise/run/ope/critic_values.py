"""The critic's values of every system, of the controls and of the logged replies, in the same dialogues."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.encode.episodes import encode, leave_out, whole
from turnwise.errors import Refused
from turnwise.estimators.critic.controls import LOGGED, PREFIX, Verdict, verdict_on_controls, with_controls
from turnwise.estimators.critic.evaluation import SystemValue
from turnwise.estimators.critic.features import Features
from turnwise.protocols import TaskCritic
from turnwise.run.scoring.tally import generator
from turnwise.types import Dialogue, Episodes, Floats

NEAR = 0.02  # largest difference of the logged agent's value and its return, as a share of the largest return


@dataclass(frozen=True, slots=True)
class CriticValues:
    """The critic's values of systems, controls and logged replies."""

    values: Mapping[str, SystemValue]  # the logged replies, systems and controls
    refused: Mapping[str, Refused]  # systems and controls without a value, with the reason
    differences: Mapping[str, Floats]  # contributions minus those of the logged replies in the same dialogues
    verdict: Verdict
    returned: float  # the empirical discounted return of the logged dialogues
    greatest: float  # largest absolute return of a dialogue, without discount
    possible: float  # largest mean discounted return of dialogues that last as long as the logged ones

    @property
    def bias(self) -> str | None:
        """A note if the logged agent's value differs from its empirical return by more than `NEAR`; otherwise None."""
        value = self.values[LOGGED].value
        if abs(value - self.returned) <= NEAR * self.greatest:
            return None
        return (
            f"the logged agent is valued {value:.1f}, and its dialogues did return {self.returned:.1f}: others may be "
            "off as far, or further; more dialogues help"
        )

    @property
    def impossible(self) -> list[str]:
        """The systems whose value is above `possible`, highest first."""
        above = {name: one.value for name, one in self.values.items() if one.value > self.possible}
        systems = [name for name in above if name != LOGGED and not name.startswith(PREFIX)]
        return sorted(systems, key=lambda name: -above[name])


def value_systems(
    critic: TaskCritic,
    dialogues: Sequence[Dialogue],
    rewards: Mapping[str, float],
    systems: Sequence[str],
    *,
    seed: int,
    advance: Callable[[int], None] = lambda done: None,
) -> CriticValues:
    """The values of the systems, the controls and the logged replies; a system that is refused is in `refused`.

    `dialogues` are in one form and have replies of all systems; `rewards` are by dialogue id. A system that held
    dialogues is valued without them. `advance(1)` is called after each system and control. Raises `Refused` if the
    logged replies themselves are refused.
    """
    controlled = with_controls(dialogues, generator(seed, "controls"))
    episodes = task_episodes(controlled, rewards)
    evaluation = critic.evaluation(episodes, seed=seed)
    logged = evaluation.value(episodes.alternatives[LOGGED])
    controls = [name for name in episodes.alternatives if name.startswith(PREFIX)]
    values, differences, refused = {LOGGED: logged}, {}, {}
    for name in (*systems, *controls):
        try:
            if name in episodes.agents:
                values[name], differences[name] = _without_own(critic, episodes, name, seed)
            else:
                values[name] = evaluation.value(episodes.alternatives[name])
                differences[name] = values[name].contributions - logged.contributions
        except Refused as error:
            refused[name] = error
        advance(1)
    verdict = verdict_on_controls(
        {name: values[name].value for name in systems if name in values},
        {name.removeprefix(PREFIX): values[name].value for name in controls if name in values},
        logged=logged.value,
    )
    returned = float(discounted_returns(evaluation.features, critic.discount).mean())
    greatest = float(np.abs(np.add.reduceat(evaluation.features.reward, episodes.first[:-1])).max())
    # A reward that is paid at turns can all be earned at the first one; otherwise it comes at the end.
    ends = np.zeros(len(episodes.first) - 1) if critic.reward == "progress" else np.diff(episodes.first) - 1
    possible = greatest * float(np.mean(critic.discount**ends))
    return CriticValues(values, refused, differences, verdict, returned, greatest, possible)


def task_episodes(dialogues: Sequence[Dialogue], rewards: Mapping[str, float]) -> Episodes:
    """The dialogues as episodes with their final rewards, by dialogue id."""
    return encode(whole(dialogues, rewards), rating="return", delexicalised=False)


def discounted_returns(features: Features, discount: float) -> Floats:
    """(N,) the discounted return of each dialogue."""
    earned = discount**features.turn * features.reward
    returns: Floats = np.add.reduceat(earned, features.episodes.first[:-1])
    return returns


def _without_own(critic: TaskCritic, episodes: Episodes, name: str, seed: int) -> tuple[SystemValue, Floats]:
    """The value of an agent that held dialogues, from those of the others, and its contributions minus the logged.

    Its Q is NaN in its own dialogues, and the differences are only over the others' dialogues.
    """
    others = leave_out(episodes, {name})
    evaluation = critic.evaluation(others, seed=seed)
    found = evaluation.value(others.alternatives[name])
    logged = evaluation.value(others.alternatives[LOGGED])
    q = np.full(len(episodes.user), np.nan)
    q[np.repeat(episodes.agent != episodes.agents.index(name), np.diff(episodes.first))] = found.q
    return replace(found, q=q), found.contributions - logged.contributions
