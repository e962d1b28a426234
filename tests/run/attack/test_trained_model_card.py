"""Frauds on the card of a trained model."""

import json
from pathlib import Path

from turnwise.run.attack.trained_model_card import write_attacks


def test_attacks_on_other_data_and_those_of_the_start_are_kept(tmp_path: Path) -> None:
    def fraud(name: str) -> dict[str, object]:
        keys = ("strategy", "kind", "description", "score", "human_score", "gain")
        return dict.fromkeys(keys, name)

    kept = ["a sentence of the model that the training began with", {"contexts": "other", **fraud("old")}]
    (tmp_path / "card.json").write_text(
        json.dumps({"attacks": [*kept, {"contexts": "mine", **fraud("gone")}]})
    )
    write_attacks(tmp_path, "mine", [fraud("new")])
    assert json.loads((tmp_path / "card.json").read_text())["attacks"] == [
        *kept,
        {"contexts": "mine", **fraud("new")},
    ]
    write_attacks(tmp_path, "mine", [])
    assert json.loads((tmp_path / "card.json").read_text())["attacks"] == kept
