"""What must not be possible: to read or write for another, to get in without a link, to break a page."""

import pytest
from starlette.testclient import TestClient

from tests.studies import PLAIN, Running, Starting, conversation, exported, ratings
from tests.visitor import Visitor
from turnwise.web.pages.app import app
from turnwise.web.pages.security import LARGEST, Limiter


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "ratings.db")


@pytest.fixture
def study(start: Starting) -> Running:
    return start(**PLAIN)


def begun(study: Running, name: str) -> Visitor:
    visitor = study.visitor(name)
    visitor.send()
    visitor.send({"q0": "3"})
    return visitor


def test_every_page_forbids_what_it_does_not_need(study: Running):
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
        begun(study, "ben").path,
        study.admin().path,
        study.admin().path + "/pilot",
    ):
        html = study.client.get(path).text
        assert "style=" not in html
        assert " on" not in "".join(tag.split(">")[0] for tag in html.split("<")).replace(" one", "")
        assert html.count("<script") == html.count('<script src="/static/keys.js"') == 1


def test_one_rater_cannot_write_for_another(study: Running):
    anna, ben = begun(study, "anna"), begun(study, "ben")
    mine = {**anna.forms[0].fields, "q0": "1"}
    answer = study.client.post(ben.forms[0].action, data=mine)  # anna's proof on ben's page
    assert answer.status_code == 403
    assert sorted(value for *_, value in ratings(exported(study.admin()))) == [3, 3]


def test_a_form_needs_its_proof_and_its_own_site(study: Running):
    visitor = begun(study, "anna")
    form = visitor.forms[0]
    assert study.client.post(form.action, data={"q0": "1"}).status_code == 403
    elsewhere = {"sec-fetch-site": "cross-site"}
    sent = {**form.fields, "q0": "1"}
    assert study.client.post(form.action, data=sent, headers=elsewhere).status_code == 403
    assert study.client.post(form.action, json=sent).status_code == 415
    assert len(ratings(exported(study.admin()))) == 1


def test_tasks_that_were_not_given_cannot_be_seen_or_answered(study: Running):
    visitor = begun(study, "anna")
    for number in ("0", "3", "-1", "x", "9" * 5000, "٣"):
        assert study.client.get(f"{visitor.path}/{number}").status_code == 404
        sent = {**visitor.forms[0].fields, "q0": "1"}
        assert study.client.post(f"{visitor.path}/{number}", data=sent).status_code == 404


def test_wrong_links_are_told_nothing_and_soon_not_answered(study: Running):
    codes = [study.client.get(f"/r/{number}").status_code for number in range(30)]
    assert codes[0] == 404
    assert codes[-1] == 429
    assert study.visitor().status == 200  # who has a link is not held up by who guesses
    codes = [study.client.get(f"/admin/{number}").status_code for number in range(30)]
    assert (codes[0], codes[-1]) == (404, 429)
    assert study.admin().status == 200


def test_a_rater_who_floods_is_slowed(study: Running):
    visitor = study.visitor()
    codes = {study.client.get(visitor.path).status_code for _ in range(100)}
    assert codes == {200, 429}


def test_the_allowance_comes_back_with_time():
    now = [0.0]
    limiter = Limiter(1, 2, clock=lambda: now[0])
    limiter.check("a")
    limiter.check("a")
    with pytest.raises(Exception, match="429"):
        limiter.check("a")
    limiter.check("b")
    now[0] = 1.0
    limiter.check("a")


def test_too_much_is_refused_before_it_is_read(study: Running):
    visitor = begun(study, "anna")
    sent = {**visitor.forms[0].fields, "q0": "1", "x": "y" * LARGEST}
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
def test_there_is_no_way_to_files_or_listings(study: Running, path: str):
    assert study.client.get(path).status_code in (404, 405)


def test_a_raters_pages_never_name_an_agent_or_another_rater(start: Starting):
    study = start([conversation(number, "zebra", f"answer {number}") for number in range(4)], **PLAIN)
    begun(study, "benedict")
    visitor = begun(study, "anna")
    assert "zebra" not in visitor.html
    assert "benedict" not in visitor.html
    assert study.book.ledger.raters["benedict"].token not in visitor.html


def test_an_error_of_ours_shows_no_trace(study: Running, monkeypatch: pytest.MonkeyPatch):
    visitor = begun(study, "anna")

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("turnwise.web.pages.rating.ahead", fails)
    visitor.look()
    assert visitor.status == 500
    assert "content-security-policy" in study.client.get(visitor.path).headers
    assert "secret" not in visitor.html
    assert "Traceback" not in visitor.html


def test_what_cannot_be_stored_is_not_acknowledged(study: Running, monkeypatch: pytest.MonkeyPatch):
    visitor = begun(study, "anna")

    def full(_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(study.book._log, "append", full)
    visitor.send({"q0": "5"})
    assert visitor.status == 503
    monkeypatch.undo()
    visitor.again()  # the ledger is ahead of the log, so nothing is taken until the server starts anew
    assert visitor.status == 503
    visitor = study.restarted().visitor("anna")
    assert "Task 2" in visitor.text


def test_the_administrators_links_are_those_that_people_type(study: Running):
    study.visitor()
    path = study.admin().path
    told = TestClient(app(study.book, url="https://rate.example.org")).get(path).text
    assert f"https://rate.example.org/r/{study.book.ledger.raters['anna'].token}" in told


def test_the_store_is_for_its_owner_only(study: Running):
    import os
    import stat

    assert stat.S_IMODE(os.stat(study.place).st_mode) == 0o600
