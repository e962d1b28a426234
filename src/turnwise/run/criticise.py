"""What a critic says of every system, of the controls and of the logged replies, in the same dialogues."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.encode.episodes import encode, leave_out, whole
from turnwise.estimators.critic.controls import LOGGED, PREFIX, Verdict, judged, with_controls
from turnwise.estimators.critic.critic import Critic
from turnwise.estimators.critic.evaluation import Valued
from turnwise.run.tally import generator
from turnwise.types import Dialogue, Episodes, Floats


@dataclass(frozen=True, slots=True)
class Judged:
    """What a critic says of everyone."""

    values: Mapping[str, Valued]  # systems, controls and the logged replies
    differences: Mapping[str, Floats]  # contributions less those of the logged replies in the same dialogues
    verdict: Verdict
    returned: float  # the empirical discounted return of the logged dialogues


def criticise(
    critic: Critic,
    dialogues: Sequence[Dialogue],
    rewards: Mapping[str, float],
    systems: Sequence[str],
    *,
    seed: int,
    advance: Callable[[int], None] = lambda done: None,
) -> Judged:
    """Everyone's value. `dialogues` are in one form and have all systems' replies; a system's own are left out."""
    controlled = with_controls(dialogues, generator(seed, "controls"))
    episodes = encode(whole(controlled, rewards), rating="return", delexicalised=False)
    evaluation = critic.evaluation(episodes, seed=seed)
    logged = evaluation.value(episodes.alternatives[LOGGED])
    controls = [name for name in episodes.alternatives if name.startswith(PREFIX)]
    values, differences = {LOGGED: logged}, {}
    for name in (*systems, *controls):
        if name in episodes.agents:
            values[name], differences[name] = _without_own(critic, episodes, name, seed)
        else:
            values[name] = evaluation.value(episodes.alternatives[name])
            differences[name] = values[name].contributions - logged.contributions
        advance(1)
    verdict = judged(
        {name: values[name].value for name in systems},
        {name.removeprefix(PREFIX): values[name].value for name in controls},
    )
    discount = critic.discount**evaluation.features.turn
    returned = float(np.add.reduceat(discount * evaluation.features.reward, episodes.first[:-1]).mean())
    return Judged(values, differences, verdict, returned)


def _without_own(critic: Critic, episodes: Episodes, name: str, seed: int) -> tuple[Valued, Floats]:
    """The value of an agent that held dialogues, from those of others; its Q is NaN in its own."""
    others = leave_out(episodes, {name})
    evaluation = critic.evaluation(others, seed=seed)
    found = evaluation.value(others.alternatives[name])
    logged = evaluation.value(others.alternatives[LOGGED])
    q = np.full(len(episodes.user), np.nan)
    q[np.repeat(episodes.agent != episodes.agents.index(name), np.diff(episodes.first))] = found.q
    return replace(found, q=q), found.contributions - logged.contributions
