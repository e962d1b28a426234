"""The metric under attack, as a black box. It counts calls, and handles errors and calls that hang.

One call is one scored item, even if its batch had to be scored again. Scores are negated where lower is better, so
higher is always better; a score that is not finite is no score. A reply that was scored before costs no further call.
The caller can store the metric's results (`remember`). A resumed run then reads them instead of calling the metric, and
counts them as calls.

A batch that raises or times out is scored reply by reply, so that one bad reply affects no other. A reply that times
out has no score and is counted in `errors`. A reply that timed out in two contexts is not scored in others.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeAlias

import numpy as np

from turnwise.attacks.context import Context
from turnwise.errors import TurnwiseError, Unmeasured, setting
from turnwise.metrics.rows import batch_or_each
from turnwise.types import Floats, Item, digest

BATCH = 64  # replies in a batch
LARGE_BATCH = 512  # of a metric that is fast: an encoder takes half of the time for a text among many others
TIME_SHARE = 0.1  # of the time limit that a larger batch may be expected to take
HANGS = 10  # timed-out replies after which the metric is not called any more
AT_FIRST = 2  # the same, for a metric that has never returned a score
TWICE = 2  # contexts in which a reply may time out; it is not scored in others
SHOWN = 60  # characters of a reply in an error message
THREAD = "a call of the metric"
UNASKED = "not asked: the metric had hung too often"
ScoreOrError: TypeAlias = float | str | None  # a score, the text of an error, or None for no score


class BudgetSpent(TurnwiseError):
    """The budget of metric calls is used up. The search ends with the results so far."""


class Hangs(Unmeasured):
    """The metric timed out too often to be called again."""


ENDED = (BudgetSpent, Hangs)  # the metric cannot be called any more; the results so far are valid


class _Late(Exception):
    """One call timed out."""


class _Unasked(Exception):
    """The call was not made, because the metric had timed out too often."""


def has_running_call() -> bool:
    """Whether a call of the metric still runs in its thread, normally one that timed out."""
    return any(thread.name == THREAD for thread in threading.enumerate())


@dataclass(slots=True)
class Target:
    """A metric with a budget of calls and a time limit in seconds for a batch; `score` may raise and may return NaN.

    `remembered` are results of an earlier run, and `remember` gets the new ones. `calls`, `errors` and `hung` count.
    """

    score: Callable[[Sequence[Item]], Floats]  # may raise, and may return NaN
    budget: int
    timeout: float = 120.0  # seconds for one batch, and for a reply alone
    lower_is_better: bool = False
    remembered: Mapping[str, ScoreOrError] = field(default_factory=dict)  # results of an earlier run
    remember: Callable[[dict[str, ScoreOrError]], None] = lambda _: None
    calls: int = 0
    errors: Counter[str] = field(default_factory=Counter)  # reason -> number of items
    hung: Counter[str] = field(default_factory=Counter)  # reply -> contexts in which it timed out
    _known: dict[tuple[str, str], float] = field(default_factory=dict)
    _asked: Counter[tuple[str, str]] = field(default_factory=Counter)  # (item, reply) -> times scored
    _limit: int | None = None
    _size: int = BATCH
    _seconds: float = np.inf  # per item of the last batch that was scored
    _spoke: bool = False  # it has returned scores at least once
    _ahead: bool = True  # no batch that was scored ahead has failed

    def scores(self, pairs: Sequence[tuple[Context, str]]) -> Floats:
        """The score of each reply in its context, higher is better; NaN where the metric gave none.

        Replies that were scored before are not scored again. Raises `BudgetSpent` before any call if the budget
        does not allow all of them, and `Hangs` if the metric timed out too often.
        """
        wanted = {(context.item.id, reply): (context, reply) for context, reply in pairs}
        new = [key for key in wanted if key not in self._known]
        limit = self._allowed
        if new and self._gives_up:
            raise Hangs(
                f"the metric gave no score within {self.timeout:g} s for {self.hung.total()} replies, such as "
                f"{_quoted(next(iter(self.hung)))}, and is left"
            )
        if self.calls + len(new) > limit:
            raise BudgetSpent(
                f"{self.calls} of {limit} calls are used and {len(new)} more would be needed: a larger "
                f"{setting('--budget')}, or a smaller {setting('--count')}, does"
            )
        while new:
            size = self._at_once
            keys, new = new[:size], new[size:]
            items = [wanted[key][0].with_reply(wanted[key][1]) for key in keys]
            self._known.update(zip(keys, self._batch(keys, items), strict=True))
        return np.array([self._known[context.item.id, reply] for context, reply in pairs])

    def score_ahead(self, pairs: Sequence[tuple[Context, str]]) -> None:
        """Score replies that will be asked for in smaller parts, in large batches; nothing if the budget does not do.

        It changes no score and no number of calls. A batch that raises or times out is dropped, and from then on
        nothing is scored ahead: `scores` asks again and finds out which reply it is.
        """
        wanted = {(context.item.id, reply): (context, reply) for context, reply in pairs}
        new = [key for key in wanted if key not in self._known]
        if not self._ahead or self.hung or self.calls + len(new) > self._allowed:
            return
        new = [key for key in new if digest(*key, str(self._asked[key] + 1)) not in self.remembered]
        while new and self._ahead:
            size = self._at_once
            keys, new = new[:size], new[size:]
            items = [wanted[key][0].with_reply(wanted[key][1]) for key in keys]
            try:
                results = self._signed(self._scores_in_time(items))
            except Exception:
                self._ahead = False
            else:
                self._known.update(zip(keys, self._batch(keys, items, known=results), strict=True))

    @property
    def _allowed(self) -> int:
        """The total number of calls that may be made now."""
        return self.budget if self._limit is None else self._limit

    @property
    def _at_once(self) -> int:
        """Replies in the next batch: more than `_size` if the last ones were fast and no batch was ever late."""
        if self._size < BATCH:
            return self._size
        in_time = TIME_SHARE * self.timeout / max(self._seconds, 1e-9)
        return int(min(LARGE_BATCH, max(BATCH, in_time)))

    def mean(self, pairs: Sequence[tuple[Context, str]]) -> float:
        """The mean score of the replies that have one; minus infinity if none has."""
        scores = self.scores(pairs)
        known = scores[~np.isnan(scores)]
        return float(known.mean()) if len(known) else -np.inf

    def allow(self, calls: int | None) -> None:
        """Limit the total number of calls, those already made included, to `calls`; None: the whole budget."""
        self._limit = None if calls is None else min(calls, self.budget)

    def again(self, pairs: Sequence[tuple[Context, str]]) -> Floats:
        """New scores of replies that were scored before, to test for noise; `scores` still returns the first ones.

        They cost calls, and raise `BudgetSpent` and `Hangs`, as first scores do.
        """
        kept = dict(self._known)
        for context, reply in pairs:
            self._known.pop((context.item.id, reply), None)
        try:
            return self.scores(pairs)
        finally:
            self._known.update(kept)

    def _batch(
        self,
        keys: Sequence[tuple[str, str]],
        items: Sequence[Item],
        *,
        known: Sequence[ScoreOrError] | None = None,
    ) -> list[float]:
        """The scores of one batch, from the results of an earlier run where it has them; NaN for errors.

        `known` are its results where it was scored already.
        """
        self.calls += len(items)
        self._asked.update(keys)
        names = [digest(*key, str(self._asked[key])) for key in keys]
        results = {name: self.remembered[name] for name in names if name in self.remembered}
        left = [index for index, name in enumerate(names) if name not in results]
        if left:
            fresh = (
                self._results([items[index] for index in left])
                if known is None
                else [known[index] for index in left]
            )
            found = dict(zip([names[index] for index in left], fresh, strict=True))
            self.remember({name: result for name, result in found.items() if result != UNASKED})
            results |= found
        in_order = [results[name] for name in names]
        self.errors.update(one for one in in_order if isinstance(one, str))
        return [one if isinstance(one, float) else np.nan for one in in_order]

    @property
    def _gives_up(self) -> bool:
        """Whether so many calls timed out that no more are made: 10, or 2 if the metric has never returned a score."""
        return self.hung.total() >= (HANGS if self._spoke else AT_FIRST)

    def _results(self, items: Sequence[Item]) -> list[ScoreOrError]:
        """The score or the error of each item. Replies that timed out in two contexts are not sent."""
        sent = [self.hung[item.reply] < TWICE for item in items]
        wanted = [item for item, send in zip(items, sent, strict=True) if send]
        found = iter(self._results_of_batch(wanted) if wanted else [])
        return [
            next(found) if send else self._timeout_text(item) for item, send in zip(items, sent, strict=True)
        ]

    def _results_of_batch(self, items: Sequence[Item]) -> list[ScoreOrError]:
        """The scores and errors of one batch, or of each item alone if the batch raises or times out.

        If only the batch timed out and no single reply, the size of further batches is halved.
        """
        before, batch_late = self.hung.total(), False

        def ask(some: Sequence[Item]) -> Floats:
            """The scores of some items.

            Raises `_Late` if they time out and `_Unasked` if the metric timed out too often before.
            """
            nonlocal batch_late
            if len(some) == 1 and self.hung[some[0].reply] >= TWICE:
                raise _Late
            if self._gives_up:
                raise _Unasked
            try:
                scores = self._scores_in_time(some)
            except _Late:
                self.hung.update([some[0].reply] if len(some) == 1 else [])
                batch_late = batch_late or len(some) > 1
                raise
            self._spoke = True
            return scores

        blocks, errors = batch_or_each(ask, items)
        if batch_late and self.hung.total() == before:  # the batch was too large, and no single reply hangs
            self._size = max(1, self._size // 2)
        scores = iter([score for block in blocks for score in self._signed(block)])
        return [
            self._error_text(errors[index], item) if index in errors else next(scores)
            for index, item in enumerate(items)
        ]

    def _signed(self, scores: Floats) -> list[float | None]:
        """The scores so that higher is better; None for one that is not finite."""
        sign = -1.0 if self.lower_is_better else 1.0
        return [sign * score if np.isfinite(score) else None for score in scores.tolist()]

    def _error_text(self, error: Exception, item: Item) -> str:
        """The error as text: no score in time, not asked, or the exception's type and message."""
        if isinstance(error, _Late):
            return self._timeout_text(item)
        return UNASKED if isinstance(error, _Unasked) else f"{type(error).__name__}: {error}"

    def _timeout_text(self, item: Item) -> str:
        """The text of the error for an item that timed out."""
        return f"no score within {self.timeout:g} s for {_quoted(item.reply)}"

    def _scores_in_time(self, items: Sequence[Item]) -> Floats:
        """The scores, computed in another thread; raises `_Late` after the time limit.

        The thread of a late call goes on in the background. Raises what the metric raises (`RuntimeError` for
        SystemExit), and `ValueError` unless there is one score for each item.
        """
        scores: list[Floats] = []
        raised: list[BaseException] = []

        def work() -> None:
            """Put them into `scores`, or what the metric raises into `raised`."""
            try:
                scores.append(np.asarray(self.score(items), dtype=np.float64))
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=work, name=THREAD, daemon=True)
        began = monotonic()
        thread.start()
        thread.join(self.timeout)
        if thread.is_alive():
            raise _Late
        if raised and isinstance(raised[0], SystemExit):  # must not end this process
            raise RuntimeError(f"SystemExit: {raised[0]}") from raised[0]
        if raised:
            raise raised[0]
        if scores[0].shape != (len(items),):
            raise ValueError(f"{len(items)} replies got scores of shape {scores[0].shape}")
        self._seconds = (monotonic() - began) / len(items)
        return scores[0]


def _quoted(reply: str) -> str:
    """The reply in quotation marks, its white space normalised, shortened to `SHOWN` characters."""
    text = " ".join(reply.split())
    return f"“{text if len(text) <= SHOWN else f'{text[: SHOWN - 1]}…'}”"
