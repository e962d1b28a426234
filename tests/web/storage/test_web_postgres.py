"""A lost connection to PostgreSQL."""

from contextlib import closing

import pytest

from tests.studies import PLAIN, Starting, exported, ratings
from turnwise.web.storage.events import Event
from turnwise.web.storage.log import LogConflict, open_log


@pytest.fixture
def store(postgres) -> str:
    return postgres()


def test_a_lost_connection_is_opened_again(start: Starting, store: str):
    psycopg = pytest.importorskip("psycopg")
    study = start(**PLAIN)
    visitor = study.visitor()
    visitor.send()
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    for value in ("2", "3"):
        with psycopg.connect(store, autocommit=True) as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
        visitor.send({"q0": value})
        assert visitor.status == 200
    assert sorted(value for *_, value in ratings(exported(study.admin()))) == [2, 3]


def test_events_that_were_stored_before_the_connection_was_lost_are_not_stored_twice(
    start: Starting, store: str
):
    study = start(**PLAIN)
    study.recorder.close()
    seq = study.recorder.ledger.seq
    mine = [Event(seq + 1, 1.5, "", "closed", {}), Event(seq + 2, 1.5, "", "opened", {})]
    with closing(open_log(store)) as log:
        log.append(mine)
        log.close()
        log.append(mine)  # as if the answer to the first time had not arrived
        log.close()
        with pytest.raises(LogConflict):
            log.append([Event(seq + 1, 1.5, "", "opened", {})])
        assert [event.seq for event in log.replay()] == list(range(1, seq + 3))


def test_a_lost_database_is_an_error_after_the_time_limit(
    start: Starting, store: str, monkeypatch: pytest.MonkeyPatch
):
    study = start(**PLAIN)
    visitor = study.visitor()
    visitor.send()
    monkeypatch.setattr("turnwise.web.storage.postgres.RECONNECT_SECONDS", 0.2)
    monkeypatch.setattr("turnwise.web.storage.postgres.RETRY_SECONDS", 0.05)
    log = study.recorder._log
    log.close()
    monkeypatch.setattr(log, "_address", "postgresql://localhost:1/none")
    visitor.send({"q0": "2"})
    assert visitor.status == 503
    assert "may not be saved" in visitor.text
