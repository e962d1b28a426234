"""A study on its data, opened from its log: a new one begins, an old one goes on where it was."""

import secrets
from collections.abc import Iterator, Sequence

import msgspec

from turnwise.errors import DataError
from turnwise.logs import native
from turnwise.logs.items.selection import Selection
from turnwise.types import Dialogue, digest
from turnwise.web.storage.events import Event
from turnwise.web.storage.log import opened, shown
from turnwise.web.study.book import Book
from turnwise.web.study.definition import Study
from turnwise.web.study.ledger import Ledger
from turnwise.web.study.tasks import Task, tasks


def ledger_of(
    study: Study, dialogues: Sequence[Dialogue], selection: Selection, *, agents: Sequence[str] = ()
) -> Ledger:
    """A study before anything has happened in it."""
    found = tasks(study, dialogues, selection, agents=agents)
    if not found:
        raise DataError("there is nothing to rate in the data")
    return Ledger(study, found)


def book(place: str, ledger: Ledger) -> Book:
    """The book kept at `place`, which must be of the same study on the same data."""
    log = opened(place)
    try:
        _go_on(place, ledger, log.replay())
    except DataError:
        log.close()
        raise
    kept = Book(place, ledger, log)
    if not ledger.head:
        secret, admin = secrets.token_hex(32), secrets.token_urlsafe(24)
        kept.note("study", identity=identity(ledger), secret=secret, admin=admin, mode=ledger.study.mode)
        kept.flush()
    return kept


def reading(place: str, ledger: Ledger) -> Ledger:
    """The ledger as it stands in the log at `place`, which another process may be writing."""
    log = opened(place, writable=False)
    try:
        _go_on(place, ledger, log.replay())
    finally:
        log.close()
    if not ledger.head:
        raise DataError(f"{shown(place)}: there are no ratings yet")
    return ledger


def _go_on(place: str, ledger: Ledger, events: Iterator[Event]) -> None:
    for event in events:
        if event.kind == "study" and event.body["identity"] != identity(ledger):
            raise DataError(
                f"{shown(place)}: holds the ratings of another study; the data, the study's file, --seed and the"
                " selection must be as they were when it began, or name another --store"
            )
        ledger.apply(event)


def identity(ledger: Ledger) -> str:
    """What must not change under a study that has begun: what is asked, of what. Wording may."""
    study = ledger.study
    asked = [(q.name, q.scale, q.kind, q.step, q.direction) for q in study.questions]
    fixed = msgspec.json.encode((study.mode, study.seed, asked, study.quality.shared, study.quality.checks))
    shown = [
        f"{task.id}\0{task.agents}\0{[(t.role, t.text) for t in task.shown]}\0{_goal(task)}"
        for task in ledger.tasks.values()
    ]
    return digest(fixed, *shown)


def _goal(task: Task) -> str:
    return msgspec.json.encode(task.source.goal, order="sorted").decode() if task.source else ""


def dialogues_of(data: Sequence[str]) -> list[Dialogue]:
    return list(native.read_all(data))
