"""Values of a critic of task logs, calibrated over the agents that held the logs.

Raw values are biased: replies that are more typical than the logged ones are worth more than is possible, and values
are drawn to the middle of the logging agents. The discounted return of each logging agent is known from its own
dialogues. So every agent is valued without its dialogues, as the target is, and a line from these values to the known
returns maps the target's value (`estimators.calibration`). As in the calibration over ratings, values and returns are
relative to the mean return of the dialogues that the value was made from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from msgspec import structs

from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused, counted
from turnwise.estimators.calibration import FEWEST, can_rank, line
from turnwise.protocols import TaskCritic, estimator_extras
from turnwise.records import EstimateDiagnostics, finite
from turnwise.run.ope.critic_values import CriticValues, discounted_returns
from turnwise.run.ope.estimate import TargetEstimate, mapped, within_scale
from turnwise.types import Episodes, Floats

Hidden = frozenset[str]  # agents whose dialogues are left out


@dataclass(frozen=True)
class TaskCalibration:
    """The calibration of one critic on the dialogues of the logging agents."""

    critic: TaskCritic
    episodes: Episodes
    seed: int

    @cached_property
    def returns(self) -> Floats:
        """(N,) the discounted return of each dialogue."""
        features = self.critic.evaluation(self.episodes, seed=self.seed).features
        return discounted_returns(features, self.critic.discount)

    @cached_property
    def known(self) -> dict[str, float]:
        """Logging agent -> mean discounted return of its own dialogues."""
        agents = enumerate(self.episodes.agents)
        return {name: float(self.returns[self.episodes.agent == index].mean()) for index, name in agents}

    @cached_property
    def spread(self) -> float | None:
        """Standard deviation of returns inside agents; None where every agent held one dialogue."""
        centres = np.array([self.known[name] for name in self.episodes.agents])
        freedom = len(self.returns) - len(centres)
        squares = float(np.sum((self.returns - centres[self.episodes.agent]) ** 2))
        return float(np.sqrt(squares / freedom)) if freedom > 0 else None

    @cached_property
    def _agents(self) -> list[str]:
        """The logging agents that have a reply at every point of the other agents' dialogues."""
        owner = np.repeat(self.episodes.agent, np.diff(self.episodes.first))
        found = []
        for index, name in enumerate(self.episodes.agents):
            said = self.episodes.alternatives.get(name)
            if said is not None and (said.text[owner != index] >= 0).any(axis=1).all():
                found.append(name)
        return found

    def others(self, target: str) -> list[str]:
        """The logging agents that calibrate the value of this target."""
        return [agent for agent in self._agents if agent != target]

    def about(self, name: str, target: str) -> TargetEstimate:
        """The estimate of this target by the critic of this name, before there is a value."""
        held = np.array([agent == target for agent in self.episodes.agents])[self.episodes.agent]
        n, agents = int(np.sum(~held)), len(self.others(target))
        return TargetEstimate(target=target, estimator=name, n_dialogues=n, n_agents=agents)

    def check_agents(self, target: str) -> None:
        """Raise `Refused` if fewer than `FEWEST` agents can calibrate the value of this target."""
        n, held = len(self.others(target)), len({*self.episodes.agents} - {target})
        if n < FEWEST:
            who = f"{counted(held, 'other agent')} held these dialogues"
            if n < held:
                who += f", of which {n} have replies in the dialogues of the others"
            raise Refused(
                "{who}, and a critic's values are calibrated over {needed} or more: raw values can be far off, and "
                "above what is possible. Log more agents, and `turnwise respond` for each; "
                "{--no-calibrate} shows raw values, beside controls",
                "too-few-agents-for-a-critic",
                who=who,
                needed=FEWEST,
            )

    def _hidden(self, target: str, agent: str) -> Hidden:
        """The agents whose dialogues are left out when `agent` is valued to calibrate `target`.

        A slow critic values every agent once, and sees the target's dialogues then.
        """
        both = {agent, target} if estimator_extras(self.critic).nested else {agent}
        return frozenset(both & {*self.episodes.agents})

    def fits(self, targets: Sequence[str]) -> dict[Hidden, list[str]]:
        """Agents that are left out of a fit -> the agents that it values, for the calibration of these targets."""
        needed: dict[Hidden, list[str]] = {}
        for target in targets:
            for agent in self.others(target):
                valued = needed.setdefault(self._hidden(target, agent), [])
                valued += [] if agent in valued else [agent]
        return needed

    def estimates(
        self,
        name: str,
        targets: Sequence[str],
        raw: CriticValues,
        *,
        scale: tuple[float, float],
        advance: Callable[[int], None] = lambda done: None,
    ) -> list[TargetEstimate]:
        """The calibrated estimate of each target, or the reason why there is none.

        `name` is the critic's, `raw` has the values of the targets. `advance(1)` is called after each of the `fits`.
        """
        values: dict[tuple[Hidden, str], float | Refused] = {}
        for hidden, agents in self.fits(targets).items():
            values |= self._fitted(hidden, agents)
            advance(1)
        return [within_scale(self._estimate(name, target, raw, values), scale) for target in targets]

    def _fitted(self, hidden: Hidden, agents: Sequence[str]) -> dict[tuple[Hidden, str], float | Refused]:
        """The values of these agents by one fit without the dialogues of the hidden ones."""
        seen = leave_out(self.episodes, hidden)
        found: dict[tuple[Hidden, str], float | Refused] = {}
        try:
            evaluation = self.critic.evaluation(seen, seed=self.seed)
        except Refused as error:
            return dict.fromkeys(((hidden, agent) for agent in agents), error)
        for agent in agents:
            try:
                found[hidden, agent] = evaluation.value(seen.alternatives[agent]).value
            except Refused as error:
                found[hidden, agent] = error
        return found

    def _level(self, hidden: Hidden) -> float:
        """The mean return of the dialogues that none of the hidden agents held."""
        indices = [self.episodes.agents.index(name) for name in hidden]
        return float(self.returns[~np.isin(self.episodes.agent, indices)].mean())

    def _estimate(
        self,
        name: str,
        target: str,
        raw: CriticValues,
        values: Mapping[tuple[Hidden, str], float | Refused],
    ) -> TargetEstimate:
        """The estimate of one target from its raw value and those of the agents that calibrate it."""
        others, about = self.others(target), self.about(name, target)
        own = frozenset({target}) & {*self.episodes.agents}
        diagnostics = EstimateDiagnostics()
        try:
            if target in raw.refused:
                raise raw.refused[target]
            value, level = raw.values[target].value, self._level(own)
            diagnostics = EstimateDiagnostics(
                raw=finite(value), bellman_error=finite(raw.values[target].error)
            )
            means, levels = [], []
            for agent in others:
                mean = values[self._hidden(target, agent), agent]
                if isinstance(mean, Refused):
                    raise Refused(
                        "`{agent}`, which calibrates it, has no value: {why}",
                        "no-value-of-known-agent",
                        agent=agent,
                        why=str(mean),
                    )
                means.append(mean)
                levels.append(self._level(self._hidden(target, agent)))
            known = np.array([self.known[agent] for agent in others])
            fitted = line(np.array(means) - levels, known - levels)
            valued = replace(about, signature=str(self.critic.signature), diagnostics=diagnostics)
            done = mapped(valued, fitted, value, level)
            diagnostics = structs.replace(done.diagnostics, calibrated=False)
            can_rank(fitted)
        except Refused as error:
            return about.refused(error, diagnostics)
        saw = own and not estimator_extras(self.critic).nested
        more = "; these saw the target's dialogues, as each was valued once" if saw else ""
        return replace(done, method=done.method + more)
