"""A metric that learned from the ratings of the items says so in `score` and `compare`, which compute no agreement."""

from pathlib import Path

import pytest

import turnwise as tw
from turnwise.metrics.features.surface import Length


@pytest.mark.parametrize("command", ["score", "compare"])
def test_a_metric_that_learned_from_the_items_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = tw.demo_corpus(tmp_path / "demo")

    def warnings() -> list[str]:
        chosen = {"agents": ("good", "dull")} if command == "compare" else {}
        found = getattr(tw, command)(logs, metrics=["length", "distinct-2"], **chosen)
        return [line for line in found.notes() if "learned from" in line]

    assert warnings() == []
    monkeypatch.setattr(Length, "in_training", lambda self, items: len(items), raising=False)
    (said,) = warnings()
    assert said.startswith("warning: length learned from the ratings of ")
    assert said.endswith("items here: its scores are no evidence beside these ratings")
