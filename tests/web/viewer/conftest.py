"""Viewers in the test's process, and finished runs to view."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from turnwise.commands.view import open_viewer
from turnwise.web.viewer.app import app
from turnwise.web.viewer.viewer import Viewer

TOKEN = "secret"


class Visit:
    """A viewer with a client for its pages."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer, self.index = viewer, viewer.index
        self.client = TestClient(app(viewer, TOKEN), raise_server_exceptions=False)

    def get(self, path: str = "", parameters: Sequence[tuple[str, Any]] = (), *, status: int = 200) -> str:
        """The text of a page; its status must be the expected one."""
        answer = self.client.get(f"/view/{TOKEN}{path}", params=list(parameters))
        assert answer.status_code == status, answer.text
        return answer.text


@pytest.fixture
def visit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Visit]]:
    """Makes the viewer of these records, or of these paths."""
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    with ExitStack() as stack:

        def begin(*data: Any, reader: str | None = None, pair: str | None = None) -> Visit:
            given: Any = list(data)
            return Visit(stack.enter_context(open_viewer(given, reader=reader, pair=pair, quiet=True)))

        yield begin


def exchange(identity: str, agent: str = "a", *said: str, **more: Any) -> dict[str, Any]:
    """A record whose messages are these texts, the user's first."""
    texts = said or (f"question of {identity}", f"reply of {agent}")
    messages = [
        {"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)
    ]
    return {"id": identity, "agent": agent, "messages": messages, **more}


def rating(value: float, rater: str | None = None, dimension: str = "overall", **more: Any) -> dict[str, Any]:
    found = {"dimension": dimension, "value": value, **more}
    return found if rater is None else {**found, "rater": rater}


def write_records(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path
