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
    """The metric's answers by key; each batch of answers is one part of the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.known: dict[str, Answer] = {}
        for part in range(len(journal)):
            self.known |= msgspec.convert(journal.get(part), dict[str, Answer])

    def put(self, answers: dict[str, Answer]) -> None:
        self._journal.put(len(self._journal), answers)


@contextmanager
def open_call_journal(spec: AttackSpec, *about: Any, name: str = PATH) -> Iterator[CallJournal]:
    """Open the call journal of this spec; `about` has further inputs that determine the calls. In memory without -o."""
    key = digest(*(repr(part) for part in (spec.metrics, spec.selection, spec.seed, spec.options, *about)))
    folder = spec.output
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    path = None if folder is None else folder / name
    with Journal(path, key, reuse=spec.reuse) as journal:
        yield CallJournal(journal)
