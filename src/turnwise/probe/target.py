"""The metric under attack, as a black box that counts its calls and survives what it does.

One call is one item scored. Scores are turned so that higher is better. A reply that was scored before costs
nothing again, so that a search may come back to it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from turnwise.errors import TurnwiseError, Unmeasured
from turnwise.probe.context import Context
from turnwise.types import Floats, Item

BATCH = 64


class Spent(TurnwiseError):
    """The budget of metric calls is used up: the search ends with what it has."""


class Hangs(Unmeasured):
    """The metric did not answer."""


@dataclass(slots=True)
class Target:
    score: Callable[[Sequence[Item]], Floats]  # may raise, and may return NaN
    budget: int
    timeout: float = 120.0  # seconds for one batch
    lower_is_better: bool = False
    calls: int = 0
    errors: Counter[str] = field(default_factory=Counter)  # why -> how many items
    _known: dict[tuple[str, str], float] = field(default_factory=dict)
    _limit: int | None = None

    def scores(self, pairs: Sequence[tuple[Context, str]]) -> Floats:
        """A number for each reply in its context; NaN where the metric had none.

        Raises `Spent` before a call that the budget does not allow.
        """
        wanted = {(context.item.id, reply): (context, reply) for context, reply in pairs}
        new = [key for key in wanted if key not in self._known]
        limit = self.budget if self._limit is None else self._limit
        if self.calls + len(new) > limit:
            raise Spent(f"{self.calls} of {limit} calls are used and {len(new)} more would be needed")
        for start in range(0, len(new), BATCH):
            keys = new[start : start + BATCH]
            items = [wanted[key][0].answered(wanted[key][1]) for key in keys]
            self._known.update(zip(keys, self._batch(items).tolist(), strict=True))
        return np.array([self._known[context.item.id, reply] for context, reply in pairs])

    def allow(self, calls: int | None) -> None:
        """Let what follows use up to so many calls in all, and not what is kept for later; None: everything."""
        self._limit = None if calls is None else min(calls, self.budget)

    def again(self, pairs: Sequence[tuple[Context, str]]) -> Floats:
        """Scores of replies that were scored before, asked anew: a metric should say the same."""
        kept = dict(self._known)
        for context, reply in pairs:
            self._known.pop((context.item.id, reply), None)
        try:
            return self.scores(pairs)
        finally:
            self._known.update(kept)

    def _batch(self, items: Sequence[Item]) -> Floats:
        self.calls += len(items)
        try:
            return self._oriented(self._timed(items))
        except Hangs:
            raise
        except Exception as error:  # whatever the metric raises is its own, and one item's if that can be had
            if len(items) == 1:
                self.errors[f"{type(error).__name__}: {error}"] += 1
                return np.array([np.nan])
        return np.concatenate([self._single(item) for item in items])

    def _single(self, item: Item) -> Floats:
        try:
            return self._oriented(self._timed([item]))
        except Hangs:
            raise
        except Exception as error:
            self.errors[f"{type(error).__name__}: {error}"] += 1
            return np.array([np.nan])

    def _oriented(self, scores: Floats) -> Floats:
        return -scores if self.lower_is_better else scores

    def _timed(self, items: Sequence[Item]) -> Floats:
        """The scores, waited for in another thread: one that hangs cannot be ended, only left behind."""
        answer: list[Floats] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                answer.append(np.asarray(self.score(items), dtype=np.float64))
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.timeout)
        if thread.is_alive():
            raise Hangs(f"the metric gave no answer to {len(items)} replies within {self.timeout:g} s")
        if raised:
            raise raised[0]
        if answer[0].shape != (len(items),):
            raise ValueError(f"{len(items)} replies got scores of shape {answer[0].shape}")
        return answer[0]
