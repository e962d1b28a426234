"""Frauds on the card of a trained model."""

import json
from pathlib import Path

from turnwise.records import StrategyRecord
from turnwise.run.attack.trained_model_card import write_attacks


def test_attacks_on_other_data_and_those_of_the_start_are_kept(tmp_path: Path) -> None:
    def fraud(name: str) -> dict[str, object]:
        texts = ("strategy", "kind", "description")
        return dict.fromkeys(texts, name) | {"score": 0.9, "human_score": 0.5, "gain": 0.4}

    kept = ["a sentence of the model that the training began with", {"contexts": "other", **fraud("old")}]
    (tmp_path / "card.json").write_text(
        json.dumps({"attacks": [*kept, {"contexts": "mine", **fraud("gone")}]})
    )
    found = StrategyRecord(metric="length", estimate=0.9, significant=True, **fraud("new"))
    write_attacks(tmp_path, "mine", [found])
    assert json.loads((tmp_path / "card.json").read_text())["attacks"] == [
        *kept,
        {"contexts": "mine", **fraud("new")},
    ]
    write_attacks(tmp_path, "mine", [])
    assert json.loads((tmp_path / "card.json").read_text())["attacks"] == kept
