"""A rating study that runs in the test's process."""

import json
from collections.abc import Callable

from starlette.testclient import TestClient

from tests.visitor import Visitor
from turnwise.logs.items.items import Selection
from turnwise.types import Agent, Dialogue, Turn
from turnwise.web.pages.app import app
from turnwise.web.study.definition import Study
from turnwise.web.study.open_study import new_ledger, open_study
from turnwise.web.study.recorder import Recorder

PLAIN = {"quality": {"shared": 0, "checks": 0, "repeats": 0}}


def short_dialogue(number: int, agent: str, reply: str = "") -> Dialogue:
    """A dialogue of one question and an agent's reply; all agents get the same question."""
    text = reply or f"reply of number {number} in words of its own"
    turns = (Turn("user", f"question {number}?"), Turn("assistant", text))
    return Dialogue(f"{agent}-{number}", agent, turns)


class Running:
    """A running study with its app and a test client; `restarted` starts it again from its file."""

    def __init__(self, place: str, asked: Study, dialogues: list[Dialogue], **options: object) -> None:
        self.place, self.study, self.dialogues, self.options = place, asked, dialogues, options
        agents: dict[str, Agent] = options.get("agents", {})  # type: ignore[assignment]
        selection = options.get("selection", Selection())
        ledger = new_ledger(asked, dialogues, selection, agents=list(agents))  # type: ignore[arg-type]
        self.recorder: Recorder = open_study(place, ledger)
        self.client = TestClient(app(self.recorder, dialogues, agents), raise_server_exceptions=False)

    def visitor(self, name: str = "anna") -> Visitor:
        if name not in self.recorder.ledger.raters:
            self.recorder.invite(name)
        return Visitor(self.client, f"/r/{self.recorder.ledger.raters[name].token}")

    def admin(self) -> Visitor:
        self.recorder.flush()
        return Visitor(self.client, f"/admin/{self.recorder.ledger.study_event['admin']}")

    def restarted(self) -> "Running":
        self.recorder.close()
        return Running(self.place, self.study, self.dialogues, **self.options)


Starting = Callable[..., Running]


def finish(visitor: Visitor, value: str = "4") -> int:
    """Answer all questions with the same value; returns the number of answers."""
    visitor.send()
    count = 0
    while visitor.is_asked:
        form = visitor.forms[0]
        visitor.send(
            {name: value if value in options else options[-1] for name, options in form.choices.items()}
        )
        count += 1
        assert visitor.status == 200
    return count


def exported(admin: Visitor, query: str = "") -> list[dict]:
    """The records of the export."""
    admin.look(f"{admin.path}/export.jsonl{query}")
    assert admin.status == 200
    return [json.loads(line) for line in admin.html.splitlines()]


def ratings(records: list[dict]) -> list[tuple]:
    return sorted(
        (r["rater"], one["id"], r["turn"], r["dimension"], r["value"])
        for one in records
        for r in one.get("ratings", ())
    )
