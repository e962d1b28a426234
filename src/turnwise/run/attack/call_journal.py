"""Journal of metric calls, so that a resumed attack repeats none of them. It is deleted when the attack is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from turnwise.attacks.target import Answer
from turnwise.run.resume.progress_journal import Journal
from turnwise.run.spec import AttackSpec
from turnwise.types import digest

PATH = "calls.jsonl"  # in the output folder


class CallJournal:
    """The metric's answers by the key of the call; each batch of answers is one part of the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.known: dict[str, Answer] = {}
        for part in range(len(journal)):
            self.known |= msgspec.convert(journal.get(part), dict[str, Answer])

    def put(self, answers: dict[str, Answer]) -> None:
        """Append a batch of answers (key -> answer) to the journal; `known` keeps only what was there at the start."""
        self._journal.put(len(self._journal), answers)


@contextmanager
def open_call_journal(spec: AttackSpec, *about: Any, name: str = PATH) -> Iterator[CallJournal]:
    """Open the journal of metric calls of this spec, and delete it when the block ends without an error.

    Answers are reused only if metrics, selection, seed, options and `about` (further inputs that determine the calls)
    are the same, and `spec.reuse` is set. `name` is the file in the output folder; without -o the journal is in memory.
    """
    key = digest(*(repr(part) for part in (spec.metrics, spec.selection, spec.seed, spec.options, *about)))
    folder = spec.output
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    path = None if folder is None else folder / name
    with Journal(path, key, reuse=spec.reuse) as journal:
        yield CallJournal(journal)
