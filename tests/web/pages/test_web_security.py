"""Security: no access to data of others, no access without a link, no broken pages."""

import re
import time

import pytest
from starlette.testclient import TestClient

from tests.studies import PLAIN, Running, Starting, exported, ratings, short_dialogue
from tests.visitor import Visitor
from turnwise.web.pages.app import app
from turnwise.web.pages.security import MAX_FORM_BYTES, RateLimiter


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "ratings.db")


@pytest.fixture
def study(start: Starting) -> Running:
    return start(**PLAIN)


def started_rater(study: Running, name: str) -> Visitor:
    visitor = study.visitor(name)
    visitor.send()
    visitor.send({"q0": "3"})
    return visitor


def test_every_page_has_the_security_headers(study: Running):
    for path in ("/", "/nothing", "/static/style.css", study.visitor().path, study.admin().path):
        headers = study.client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none';")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def test_pages_have_no_inline_script_or_style(study: Running):
    for path in (
        study.visitor().path,
        started_rater(study, "ben").path,
        study.admin().path,
        study.admin().path + "/pilot",
    ):
        html = study.client.get(path).text
        assert "style=" not in html
        assert re.search(r"<[^>]*\son\w+\s*=", html) is None
        assert html.count("<script") == html.count('<script src="/static/')


def test_one_rater_cannot_write_for_another(study: Running):
    anna, ben = started_rater(study, "anna"), started_rater(study, "ben")
    mine = {**anna.forms[0].fields, "q0": "1"}
    answer = study.client.post(ben.forms[0].action, data=mine)  # anna's proof on ben's page
    assert answer.status_code == 403
    assert sorted(value for *_, value in ratings(exported(study.admin()))) == [3, 3]


def test_a_form_needs_its_csrf_token_and_its_own_origin(study: Running):
    visitor = started_rater(study, "anna")
    form = visitor.forms[0]
    assert study.client.post(form.action, data={"q0": "1"}).status_code == 403
    elsewhere = {"sec-fetch-site": "cross-site"}
    sent = {**form.fields, "q0": "1"}
    assert study.client.post(form.action, data=sent, headers=elsewhere).status_code == 403
    assert study.client.post(form.action, json=sent).status_code == 415
    assert len(ratings(exported(study.admin()))) == 1


def test_tasks_of_other_raters_cannot_be_seen_or_answered(study: Running):
    visitor = started_rater(study, "anna")
    for number in ("0", "3", "-1", "x", "9" * 5000, "٣"):
        assert study.client.get(f"{visitor.path}/{number}").status_code == 404
        sent = {**visitor.forms[0].fields, "q0": "1"}
        assert study.client.post(f"{visitor.path}/{number}", data=sent).status_code == 404


def test_wrong_links_are_not_found_and_then_rate_limited(study: Running):
    codes = [study.client.get(f"/r/{number}").status_code for number in range(30)]
    assert codes[0] == 404
    assert codes[-1] == 429
    assert study.visitor().status == 200  # who has a link is not held up by who guesses
    codes = [study.client.get(f"/admin/{number}").status_code for number in range(30)]
    assert (codes[0], codes[-1]) == (404, 429)
    assert study.admin().status == 200


def test_too_many_requests_of_a_rater_are_rate_limited(study: Running):
    visitor = study.visitor()
    codes = {study.client.get(visitor.path).status_code for _ in range(100)}
    assert codes == {200, 429}


def test_the_rate_limit_recovers_with_time():
    now = [0.0]
    limiter = RateLimiter(1, 2, clock=lambda: now[0])
    limiter.check("a")
    limiter.check("a")
    with pytest.raises(Exception, match="429"):
        limiter.check("a")
    limiter.check("b")
    now[0] = 1.0
    limiter.check("a")


def test_a_form_that_is_too_large_is_rejected_before_it_is_read(study: Running):
    visitor = started_rater(study, "anna")
    sent = {**visitor.forms[0].fields, "q0": "1", "x": "y" * MAX_FORM_BYTES}
    assert study.client.post(visitor.forms[0].action, data=sent).status_code == 413
    many = "&".join(f"a{k}=1" for k in range(1000))
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert study.client.post(visitor.forms[0].action, content=many, headers=headers).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/r/",
        "/admin/",
        "/r/x/../../etc/passwd",
        "/openapi.json",
        "/docs",
    ],
)
def test_other_files_and_folders_are_not_served(study: Running, path: str):
    assert study.client.get(path).status_code in (404, 405)


def test_a_raters_pages_never_name_an_agent_or_another_rater(start: Starting):
    study = start([short_dialogue(number, "zebra", f"answer {number}") for number in range(4)], **PLAIN)
    started_rater(study, "benedict")
    visitor = started_rater(study, "anna")
    assert "zebra" not in visitor.html
    assert "benedict" not in visitor.html
    assert study.recorder.ledger.raters["benedict"].token not in visitor.html


def test_a_server_error_shows_no_traceback(study: Running, monkeypatch: pytest.MonkeyPatch):
    visitor = started_rater(study, "anna")

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("turnwise.web.pages.rating.tasks_ahead", fails)
    visitor.look()
    assert visitor.status == 500
    assert "content-security-policy" in study.client.get(visitor.path).headers
    assert "secret" not in visitor.html
    assert "Traceback" not in visitor.html


def test_a_full_disk_is_not_acknowledged_and_recovers_without_a_restart(
    start: Starting, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("turnwise.web.study.recorder.RETRY_SECONDS", 0.05)
    study = start(mode="write", per_task=1, **PLAIN)
    visitor = study.visitor()
    visitor.send()
    connection = study.recorder._log._connection  # type: ignore[attr-defined]
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own error of a full disk
    visitor.send({"text": "many words " * 800})
    assert visitor.status == 503
    assert "may not be saved" in visitor.text
    visitor.again()
    assert visitor.status == 503
    assert "database or disk is full" in study.client.get(study_admin(study)).text
    connection.execute("PRAGMA max_page_count = 100000")  # somebody has made room
    deadline = time.monotonic() + 180
    while study.recorder.write_error is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    visitor.again()
    assert visitor.status == 200
    assert "Task 2" in visitor.text
    (before,) = exported(study.admin())
    assert exported(study.restarted().admin()) == [before]


def study_admin(study: Running) -> str:
    return f"/admin/{study.recorder.ledger.study_event['admin']}"


def test_the_links_on_the_admin_page_have_the_public_address(study: Running):
    study.visitor()
    path = study.admin().path
    page = TestClient(app(study.recorder, url="https://rate.example.org")).get(path).text
    assert f"https://rate.example.org/r/{study.recorder.ledger.raters['anna'].token}" in page


def test_only_the_owner_can_read_the_store(study: Running):
    import os
    import stat

    assert stat.S_IMODE(os.stat(study.place).st_mode) == 0o600
