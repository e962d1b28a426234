"""Everything that the viewer shows: the index, the runs with their scores, and notes on what is missing."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from turnwise.web.viewer.index import Index
from turnwise.web.viewer.query import Query, select
from turnwise.web.viewer.scores import ScoredRun
from turnwise.web.viewer.table import Whole
from turnwise.web.viewer.transcripts import Strategy

REMEMBERED = 16  # lists whose rows are kept, so that the next page needs no search


@dataclass(slots=True)
class Viewer:
    """What is shown; the index is closed by whoever made it."""

    index: Index
    runs: Sequence[ScoredRun] = ()
    notes: Sequence[str] = ()  # what is missing
    strategies: Sequence[Strategy] = ()
    _selected: "OrderedDict[Query, Whole]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def title(self, shown: Callable[[str], str]) -> str:
        """The names of the files, at most two of them; `shown` makes a name of a path."""
        names = [shown(file.shown) for file in self.index.files]
        more = [f"{len(names) - 2} more"] if len(names) > 2 else []
        runs = dict.fromkeys(shown(one.run) for one in self.strategies)
        return ", ".join([*names[:2], *more]) or ", ".join(runs)

    def rows(self, query: Query) -> Whole:
        """The rows of a query in its order; the last 16 lists are remembered."""
        with self._lock:
            if query in self._selected:
                self._selected.move_to_end(query)
                return self._selected[query]
        found = select(self.index, query)
        with self._lock:
            self._selected[query] = found
            if len(self._selected) > REMEMBERED:
                self._selected.popitem(last=False)
        return found


def agent_counts(index: Index) -> Mapping[str, int]:
    """Agent -> number of its dialogues, in order of appearance; agents with alternatives only have 0."""
    counts = np.bincount(index.dialogues.rows.agent, minlength=len(index.agents))
    return dict(zip(index.agents, counts.tolist(), strict=True))
