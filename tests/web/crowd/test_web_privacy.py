"""The rights of raters: withdrawal, export without identities, retention; on both databases."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rating_server import Server
from tests.studies import PLAIN, Running, Starting, exported, finish, ratings, short_dialogue
from tests.visitor import Visitor
from turnwise.logs import native
from turnwise.types import Dialogue, Reply, Turn
from turnwise.web.crowd.privacy import forget, forget_when_due

SECRET = "only ruth would write this"


def act(study: Running, action: str, rater: str) -> None:
    admin = study.admin()
    fields = next(form.fields for form in admin.forms if form.fields.get("rater") == rater)
    assert admin.client.post(admin.path, data={**fields, "action": action}).status_code == 200


def before_and_after_a_restart(study: Running) -> Iterator[Running]:
    yield study
    yield study.restarted()


def stored(study: Running) -> str:
    study.recorder.flush()
    return json.dumps([(e.rater, e.kind, e.body) for e in study.recorder._log.replay()])


def test_withdrawal_erases_what_a_rater_did_and_the_history_says_so(start: Starting):
    study = start(mode="write", per_task=1, **PLAIN)
    ruth, sam = study.visitor("ruth"), study.visitor("sam")
    ruth.send()
    ruth.send({"text": SECRET})
    sam.send()
    sam.send({"text": "sam writes this here"})
    token, events = study.recorder.ledger.raters["ruth"].token, study.recorder.ledger.seq
    act(study, "withdraw", "ruth")
    for running in before_and_after_a_restart(study):
        log = stored(running)
        for trace in (SECRET, "ruth", token):
            assert trace not in log
        assert running.client.get(ruth.path).status_code == 404
        assert "Raters who withdrew: 1." in running.admin().text
        (kept,) = exported(running.admin(), "?everything=yes")
        assert kept["messages"][-1]["content"] == "sam writes this here"
        last = running
    kinds = [(e.seq, e.rater, e.kind) for e in last.recorder._log.replay()]
    assert [seq for seq, *_ in kinds] == list(range(1, events + 2))  # no event is missing
    assert kinds[-1][1:] == ("withdrawn-1", "withdrawn")
    assert ("withdrawn-1", "answered") in {(rater, kind) for _, rater, kind in kinds}


def test_what_was_erased_is_no_longer_in_the_file(start: Starting, store: str):
    if store.startswith("postgresql"):
        pytest.skip("PostgreSQL keeps old rows until it vacuums")
    study = start(mode="write", per_task=1, **PLAIN)
    visitor = study.visitor("ruth").send()
    visitor.send({"text": SECRET})
    act(study, "withdraw", "ruth")
    study.recorder.close()
    with open(store, "rb") as file:
        assert SECRET.encode() not in file.read()


def test_the_tasks_of_a_rater_who_withdrew_go_to_others(start: Starting):
    study = start(per_task=1, **PLAIN)
    assert finish(study.visitor("ruth")) == 12
    assert finish(study.visitor("sam")) == 0
    act(study, "withdraw", "ruth")
    assert finish(study.visitor("sam")) == 12
    assert {rater for rater, *_ in ratings(exported(study.restarted().admin()))} == {"sam"}


def test_an_export_without_identities_has_neither_names_nor_times(start: Starting):
    study = start(per_task=2, **PLAIN)
    for name in ("ruth", "sam"):
        finish(study.visitor(name))
    plain, anonymous = exported(study.admin()), exported(study.admin(), "?anonymous=yes")
    text = json.dumps(anonymous)
    for trace in ("ruth", "sam", '"at"', '"seconds"'):
        assert trace not in text
        assert trace in json.dumps(plain)
    raters = {rater for rater, *_ in ratings(anonymous)}
    assert len(raters) == 2
    assert raters == {rater for rater, *_ in ratings(exported(study.restarted().admin(), "?anonymous=yes"))}


def test_live_dialogues_without_identities_do_not_name_the_rater(start: Starting):
    goals = [Dialogue("goal", "none", (Turn("system", "sell"),), goal={"x": 1})]
    study = start(goals, mode="chat", per_task=1, agents={"x": lambda turns, rng: Reply("yes")})
    visitor = study.visitor("ruth").send()
    visitor.send({"text": "hello"}, form="say").send(form="end").send({"q0": "1", "q1": "4"})
    assert "ruth" in json.dumps(exported(study.admin()))
    assert "ruth" not in json.dumps(exported(study.admin(), "?anonymous=yes"))


def test_identities_are_erased_while_the_server_runs_when_they_are_due(start: Starting):
    study = start([short_dialogue(1, "a")], crowd={}, retention_days=30, **PLAIN)
    began, day = 1e9, 24 * 3600
    now = [began]
    study.recorder.clock = lambda: now[0]
    finish(Visitor(study.client, "/join?PROLIFIC_PID=pid-of-ruth").send())
    erased_at: list[float] = []

    async def sleep(seconds: float) -> None:
        """Let the time pass at once; Sam acts on the tenth day."""
        erased_at.extend([now[0]] * (study.recorder.ledger.n_forgotten - len(erased_at)))
        if len(erased_at) == 2:
            raise asyncio.CancelledError
        assert 0 < seconds <= 3600
        now[0] += seconds
        if now[0] - began > 10 * day and "sam" not in study.recorder.ledger.raters and not erased_at:
            study.recorder.invite("sam")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(forget_when_due(study.recorder, sleep))
    assert [round((at - began) / day, 1) for at in erased_at] == [30, 40]
    for running in before_and_after_a_restart(study):
        assert not [trace for trace in ("pid-of-ruth", "sam") if trace in stored(running)]


def test_a_store_that_cannot_be_written_delays_the_erasure(start: Starting, caplog):
    study = start([short_dialogue(1, "a")], retention_days=1, **PLAIN)
    now = [1e9]
    study.recorder.clock = lambda: now[0]
    study.visitor("ruth").send()
    redact, failures = study.recorder._log.redact, [OSError("the disk is full")]

    def failing(redactions):
        if failures:
            raise failures.pop()
        redact(redactions)

    study.recorder._log.redact = failing

    async def sleep(seconds: float) -> None:
        if study.recorder.ledger.n_forgotten:
            raise asyncio.CancelledError
        now[0] += seconds

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(forget_when_due(study.recorder, sleep))
    assert "the disk is full" in caplog.text
    assert "ruth" not in stored(study)


def test_a_running_server_erases_identities_without_a_restart(tmp_path: Path):
    native.write([short_dialogue(1, "a")], str(tmp_path / "data.jsonl"))
    (tmp_path / "study.toml").write_text("retention_days = 0.00005\n")  # about four seconds
    server = Server("data.jsonl", "--study", "study.toml", "--raters", "ruth", folder=tmp_path)
    link = server.links(1)["ruth"]
    while server.client.get(link).status_code != 404:  # until the link stops working
        time.sleep(0.1)
    assert "Raters whose identity was erased: 1." in server.client.get(server.admin).text
    server.stop()


def test_identities_are_erased_after_the_retention_time_and_answers_stay(start: Starting):
    study = start([short_dialogue(1, "a")], crowd={}, retention_days=30, **PLAIN)
    now = [1e9]
    study.recorder.clock = lambda: now[0]
    visitor = Visitor(study.client, "/join?PROLIFIC_PID=pid-of-ruth").send()
    finish(visitor)
    sam = study.visitor("sam").send()
    sam.send({"q0": "2"})
    assert forget(study.recorder) == 0
    now[0] += 31 * 24 * 3600
    assert forget(study.recorder) == 2
    assert forget(study.recorder) == 0
    for running in before_and_after_a_restart(study):
        log = stored(running)
        for trace in ("pid-of-ruth", "sam", sam.path.rpartition("/")[2]):
            assert trace not in log
        assert sorted(value for *_, value in ratings(exported(running.admin()))) == [2, 4]
        assert {rater for rater, *_ in ratings(exported(running.admin()))} == {"forgotten-1", "forgotten-2"}
        assert running.client.get(sam.path).status_code == 404
