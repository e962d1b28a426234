"""The HTTP interface under arbitrary requests: no 500, nobody else's data, nothing written without a token."""

from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies import Running, short_dialogue
from turnwise.types import Reply
from turnwise.web.pages.security import RateLimiter, csrf_token
from turnwise.web.study.definition import read_study
from turnwise.web.study.ledger import Rater

FIELDS = "q0 q1 text template heard action count rater slot confused proof x".split()
VALUES = "1 5 3 first tie yes close invite hold release doubt trust anna victim -1 nan 1e999 2".split()
TAILS = "1 2 say end pilot export.jsonl .. 1/say 1/end 0".split()
HEADERS = "content-type sec-fetch-site origin cookie x-forwarded-for host".split()
KINDS = (
    "application/json application/x-www-form-urlencoded multipart/form-data none cross-site 99999999".split()
)

MINE = "only the victim said this"
FORM = {"content-type": "application/x-www-form-urlencoded"}

words = st.sampled_from(["some words of mine", "what is it then"]) | st.text(max_size=40)
fields = st.dictionaries(
    st.sampled_from(FIELDS) | st.text(max_size=5), st.sampled_from(VALUES) | words, max_size=4
)
tails = st.lists(st.sampled_from(TAILS) | st.text(max_size=6), max_size=2)
actions = st.sampled_from([["1"], ["1"], ["1", "say"], ["1", "say"], ["2"], ["1", "end"], []])
answers = st.sampled_from(["1", "5", "first", "tie", "second", "nan", "9", ""])
roots = st.sampled_from(["", "/r", "/admin", "/r/x", "/admin/x", "/static"])
methods = st.sampled_from(["GET", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
headers = st.dictionaries(st.sampled_from(HEADERS), st.sampled_from(KINDS), max_size=1)


@pytest.fixture(scope="module", params=["reply", "pairwise", "write", "chat"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A study in which `victim` and `anna` have begun; without limits, or most requests would end there."""
    dialogues = [short_dialogue(k, agent) for k in range(3) for agent in ("a", "b")]
    place = str(tmp_path_factory.mktemp("fuzz") / "ratings.db")
    options = {"agents": {"bot": lambda turns, rng: Reply("yes")}} if request.param == "chat" else {}
    quiet = {"shared": 0, "checks": 0, "repeats": 0}
    found = Running(
        place, read_study(None, mode=request.param, per_task=50, quality=quiet), dialogues, **options
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RateLimiter, "check", lambda self, key: None)
        for name in ("victim", "anna"):
            found.visitor(name).send()
        if request.param in ("write", "chat"):
            words = {"text": f"{MINE} in many words"}
            found.visitor("victim").send(words, form="say" if request.param == "chat" else "")
        yield found
    found.recorder.close()


def test_no_request_causes_a_server_error_or_changes_another_raters_data(running: Running):
    settings(max_examples=200, derandomize=True)(given(data=st.data())(_request))(running)
    # The fuzz came as far as it is meant to: requests of anna's own did change her answers, or she spoke.
    assert any(slot.answers or slot.message_times for slot in running.recorder.ledger.raters["anna"].slots)


def _request(running: Running, data: st.DataObject) -> None:
    ledger = running.recorder.ledger
    anna, victim = ledger.raters["anna"], ledger.raters["victim"]
    before, theirs = ledger.seq, _did(victim)
    who = data.draw(st.sampled_from(["stranger", "has anna's link", "is anna"]), label="who")
    root = data.draw(roots, label="root") if who == "stranger" else f"/r/{anna.token}"
    tail = data.draw(actions if who == "is anna" else tails, label="tail")
    method = "POST" if who == "is anna" else data.draw(methods, label="method")
    body = data.draw(fields, label="fields")
    if who == "is anna":
        heard = st.sampled_from([str(len(anna.slots[0].turns)), "0", "x"])
        mine = {"q0": data.draw(answers), "text": data.draw(words), "heard": data.draw(heard)}
        body = body | mine | {"proof": csrf_token(ledger.study_event["secret"], anna.token)}
    answer = running.client.request(
        method,
        quote("/".join([root, *tail]), errors="replace") or "/",
        content=urlencode(body, errors="replace"),
        headers=FORM | data.draw(headers, label="headers"),
    )
    assert answer.status_code < 500, answer.text
    secrets = [victim.token, ledger.study_event["admin"], ledger.study_event["secret"], MINE]
    assert not any(secret in answer.text for secret in secrets)
    assert _did(victim) == theirs
    if who != "is anna":
        assert ledger.seq == before


def _did(rater: Rater) -> list[tuple[object, ...]]:
    return [(slot.task.id, tuple(slot.answers), tuple(slot.turns)) for slot in rater.slots]


@settings(max_examples=60)
@given(content=st.binary(max_size=300), kind=st.sampled_from(KINDS))
def test_a_body_that_is_not_a_form_is_rejected(running: Running, content: bytes, kind: str):
    before = running.recorder.ledger.seq
    path = f"/r/{running.recorder.ledger.raters['anna'].token}/1"
    answer = running.client.post(path, content=content, headers={"content-type": kind})
    assert 400 <= answer.status_code < 500
    assert running.recorder.ledger.seq == before


@settings(max_examples=60, derandomize=True)
@given(body=fields)
def test_no_form_of_the_administrator_causes_a_server_error(running: Running, body: dict[str, str]):
    ledger = running.recorder.ledger
    path = f"/admin/{ledger.study_event['admin']}"
    sent = body | {"proof": csrf_token(ledger.study_event["secret"], ledger.study_event["admin"])}
    if sent.get("action") == "close":
        del sent["action"]  # the study stays open for the other tests
    answer = running.client.post(path, content=urlencode(sent, errors="replace"), headers=FORM)
    assert answer.status_code < 500
    assert running.client.get(f"{path}/export.jsonl?everything=yes").status_code == 200
