"""What only a database behind a connection can do: lose it."""

from contextlib import closing

import pytest

from tests.studies import PLAIN, Starting, exported, ratings
from turnwise.web.storage.events import Event
from turnwise.web.storage.log import Overtaken, opened


@pytest.fixture
def store(postgres) -> str:
    return postgres()


def test_a_lost_connection_is_made_anew(start: Starting, store: str):
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


def test_what_was_written_when_the_connection_was_lost_is_not_written_twice(start: Starting, store: str):
    study = start(**PLAIN)
    study.book.flush()
    seq = study.book.ledger.seq
    mine = [Event(seq + 1, 1.5, "", "closed", {}), Event(seq + 2, 1.5, "", "opened", {})]
    with closing(opened(store)) as log:
        log.append(mine)
        log.close()
        log.append(mine)  # as if the answer to the first time had not arrived
        log.close()
        with pytest.raises(Overtaken):
            log.append([Event(seq + 1, 1.5, "", "opened", {})])
        assert [event.seq for event in log.replay()] == list(range(1, seq + 3))


def test_a_database_that_stays_away_is_waited_for_only_so_long(
    start: Starting, store: str, monkeypatch: pytest.MonkeyPatch
):
    study = start(**PLAIN)
    visitor = study.visitor()
    visitor.send()
    monkeypatch.setattr("turnwise.web.storage.postgres.PATIENCE", 0.2)
    monkeypatch.setattr("turnwise.web.storage.postgres.PAUSE", 0.05)
    log = study.book._log
    log.close()
    monkeypatch.setattr(log, "_address", "postgresql://localhost:1/none")
    visitor.send({"q0": "2"})
    assert visitor.status == 503
    assert "not saved" in visitor.text
