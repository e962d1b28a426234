"""What an attack found, on the card of the trained model that it was found on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnwise.encode.models.folder import CARD, read_config
from turnwise.errors import UsageError
from turnwise.metrics import settings
from turnwise.report.results import replacing, to_json


def model_folder(metric: str) -> Path:
    """The folder of `name[trained=DIR]`; only a model of the user's own has a card to write on."""
    trained = settings(metric)[1].get("trained")
    if not trained:
        raise UsageError(
            f"--card writes on the card of a model of your own, and `{metric}` names none: name[trained=DIR]"
        )
    folder = Path(str(trained))
    read_config(folder)
    return folder


def write_attacks(folder: Path, contexts: str, works: Sequence[dict[str, Any]]) -> None:
    """Replaces what the card says of these contexts; what it was trained with is no guess any more."""
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    before = [
        one for one in card.get("attacks") or () if isinstance(one, dict) and one["contexts"] != contexts
    ]
    keys = ("strategy", "kind", "description", "score", "human_score", "gain")
    card["attacks"] = [*before, *({"contexts": contexts, **{key: one[key] for key in keys}} for one in works)]
    with replacing(folder / CARD) as file:
        file.write(to_json(card))
