"""How narrow the interval of each agent's mean is so far, and the rule that closes a study when all are narrow enough.

The interval is that of the mean of the first question over other dialogues and other raters: two-way clustering
(`stats/crossed.py`). Looking again and again makes it a little too narrow at the moment of stopping: the variance is
likely to be an underestimate when the rule first holds. `least_tasks` keeps this small, and it vanishes as the wanted
width shrinks (Chow and Robbins 1965).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np
from anyio.to_thread import run_sync

from turnwise.stats.clusters import codes
from turnwise.stats.crossed import standard_errors
from turnwise.stats.power import clusters_needed
from turnwise.types import Rating
from turnwise.web.crowd.places import close_study
from turnwise.web.study.ledger import Ledger
from turnwise.web.study.open_study import read_ledger
from turnwise.web.study.ratings import CHECK, REPEAT, collected_ratings, screen_raters
from turnwise.web.study.recorder import Recorder

LOOK_SECONDS = 10.0  # least time between two looks at the intervals


@dataclass(frozen=True, slots=True)
class AgentWidth:
    """The mean of the first question for one agent or pair of agents, and the half-width of its 95 % interval."""

    agent: str
    n_tasks: int
    n_ratings: int
    mean: float
    half_width: float  # NaN if it cannot be computed yet
    tasks_needed: int | None  # tasks for the wanted half-width; None without one


def widths(ledger: Ledger) -> tuple[AgentWidth, ...]:
    """The widths by agent, from ratings of raters who are not set apart; empty before the first rating."""
    found: defaultdict[str, list[Rating]] = defaultdict(list)
    ratings = collected_ratings(ledger)
    screened = screen_raters(ledger, ratings)
    dropped = set(screened.dropped) if screened else set()
    agents = {task.id: " / ".join(task.agents) for task in ledger.tasks.values()}
    first = ledger.study.questions[0].name if ledger.study.questions else ""
    for rating in ratings:
        agent = agents.get(_task_of(ledger, rating), "")
        if (
            rating.dimension == first
            and rating.rater not in dropped
            and not {CHECK, REPEAT} & set(rating.extra)
        ):
            found[agent].append(rating)
    return tuple(_width(ledger, agent, found[agent]) for agent in sorted(found))


def _task_of(ledger: Ledger, rating: Rating) -> str:
    """The task of a rating; that of a live dialogue is named `TASK/RATER`."""
    name = rating.item
    return name if name in ledger.tasks else name.removesuffix(f"/{rating.rater}")


def _width(ledger: Ledger, agent: str, ratings: Sequence[Rating]) -> AgentWidth:
    """The mean of these ratings and the half-width of its interval over other dialogues and raters."""
    values = np.array([rating.value for rating in ratings], dtype=np.float64)
    clusters, n_tasks = codes([ledger.tasks[_task_of(ledger, rating)].cluster for rating in ratings])
    raters, _ = codes([str(rating.rater) for rating in ratings])
    mean = float(values.mean())
    interval = standard_errors(((values - mean) / len(values))[:, None], clusters, raters).interval(mean)
    half = (interval[1] - interval[0]) / 2 if interval else nan
    stop = ledger.study.stop
    needed = clusters_needed(half, n_tasks, stop.half_width) if stop is not None and half > 0 else None
    return AgentWidth(agent, n_tasks, len(values), mean, half, needed)


def is_narrow_enough(ledger: Ledger, found: Sequence[AgentWidth]) -> bool:
    """Whether every agent of the study has enough tasks and an interval that is narrow enough."""
    stop = ledger.study.stop
    agents = {" / ".join(task.agents) for task in ledger.tasks.values() if task.agents}
    return (
        stop is not None
        and agents == {one.agent for one in found}
        and all(
            one.n_tasks >= stop.least_tasks
            and not isnan(one.half_width)
            and one.half_width <= stop.half_width
            for one in found
        )
    )


class Stopping:
    """Closes a study when its stopping rule holds."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._next = 0.0

    async def look(self) -> None:
        """Look at the intervals if that was long enough ago, and close the study if all are narrow enough."""
        ledger, now = self._recorder.ledger, self._recorder.clock()
        if ledger.study.stop is None or ledger.closed or now < self._next:
            return
        self._next = now + LOOK_SECONDS

        def compute() -> bool:
            """Whether the stored answers are enough; in a thread, so that raters do not wait."""
            stored = read_ledger(self._recorder.store, ledger.empty_copy())
            return is_narrow_enough(stored, widths(stored))

        if await run_sync(compute) and not ledger.closed:
            reason = f"the half-width of every agent's mean is at most {ledger.study.stop.half_width:g}"
            close_study(self._recorder, reason)
            await self._recorder.wait_until_stored()
