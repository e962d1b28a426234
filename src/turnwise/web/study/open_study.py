"""Opens a study: starts a new one, or restores the state of an existing one from its log."""

import secrets
from collections.abc import Iterator, Sequence

import msgspec

from turnwise.errors import DataError
from turnwise.logs.foreign import read_all
from turnwise.logs.items.items import Selection
from turnwise.types import Dialogue, digest
from turnwise.web.crowd.training import training_tasks
from turnwise.web.storage.events import Event
from turnwise.web.storage.log import open_log, without_credentials
from turnwise.web.study.definition import Study
from turnwise.web.study.drawing import KEY, Drawing
from turnwise.web.study.ledger import Ledger
from turnwise.web.study.recorder import Recorder
from turnwise.web.study.tasks import Task, make_tasks


def new_ledger(
    study: Study, dialogues: Sequence[Dialogue], selection: Selection, *, agents: Sequence[str] = ()
) -> Ledger:
    """The ledger of a study without any event; raises `DataError` if the data has nothing to rate."""
    found = make_tasks(study, dialogues, selection, agents=agents)
    if not found:
        raise DataError("the data has nothing to rate")
    return Ledger(study, found, training_tasks(study))


def open_study(store: str, ledger: Ledger, *, drawing: Drawing | None = None) -> Recorder:
    """Open `store` for writing, and restore the ledger from its events; a new store gets the first event.

    The first event keeps `drawing`, where the dialogues of the study were drawn. Raises `DataError` if the store is of
    another study or of other data.
    """
    log = open_log(store)
    try:
        _apply_events(store, ledger, log.replay())
    except DataError:
        log.close()
        raise
    recorder = Recorder(store, ledger, log)
    if not ledger.study_event:
        secret, admin = secrets.token_hex(32), secrets.token_urlsafe(24)
        kept = {} if drawing is None else {KEY: msgspec.to_builtins(drawing)}
        recorder.record(
            "study", identity=identity(ledger), secret=secret, admin=admin, mode=ledger.study.mode, **kept
        )
        recorder.flush()
    return recorder


def read_ledger(store: str, ledger: Ledger) -> Ledger:
    """The same ledger, with the events of `store` applied; another process may be writing to the store.

    Raises `DataError` if the store is empty or of another study.
    """
    log = open_log(store, writable=False)
    try:
        _apply_events(store, ledger, log.replay())
    finally:
        log.close()
    if not ledger.study_event:
        raise DataError(f"{without_credentials(store)}: there are no ratings yet")
    return ledger


def _apply_events(store: str, ledger: Ledger, events: Iterator[Event]) -> None:
    """Apply the stored events to the ledger; raises `DataError` for a store of another study."""
    for event in events:
        if event.kind == "study" and event.body["identity"] != identity(ledger):
            raise DataError(
                f"{without_credentials(store)}: has the ratings of another study; the data, the study's file,"
                " --seed and the selection must be as when the study began. Otherwise give another --store"
            )
        ledger.apply(event)


def identity(ledger: Ledger) -> str:
    """A digest of everything that must not change once a study has begun. The wording of questions may change."""
    study = ledger.study
    asked = [(q.name, q.scale, q.kind, q.step, q.direction) for q in study.questions]
    fixed = msgspec.json.encode((study.mode, study.seed, asked, study.quality.shared, study.quality.checks))
    shown = [
        f"{task.id}\0{task.agents}\0{[(t.role, t.text) for t in task.visible_turns]}\0{_goal_json(task)}"
        for task in ledger.tasks.values()
    ]
    practised = [
        f"{task.id}\0{task.expected}\0{[(t.role, t.text) for t in task.visible_turns]}"
        for task in ledger.training
    ]
    return digest(fixed, *shown, *practised)


def _goal_json(task: Task) -> str:
    """The goal of a live dialogue as JSON with sorted keys; "" for other tasks."""
    return msgspec.json.encode(task.source.goal, order="sorted").decode() if task.source else ""


def read_dialogues(data: Sequence[str]) -> list[Dialogue]:
    """The dialogues of all files; a file in another format raises `DataError`, which says how it is read."""
    return list(read_all(data, command="rate"))
