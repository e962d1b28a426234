"""Adds the frauds that an attack found to the card of the attacked trained model."""

import json
from collections.abc import Sequence
from pathlib import Path

from turnwise.encode.models.folder import CARD, read_config
from turnwise.errors import UsageError, setting
from turnwise.metrics import settings
from turnwise.metrics.learned.trained import SHIPPED_VARIANTS
from turnwise.records import StrategyRecord
from turnwise.report.results import replacing, to_json


def model_folder(metric: str) -> Path:
    """The folder DIR of `name[trained=DIR]`.

    Raises `UsageError` if the metric names none or it is not a model folder.
    """
    trained = settings(metric)[1].get("trained")
    if not trained or trained in SHIPPED_VARIANTS:
        raise UsageError(
            f"{setting('--card')} writes to the card of a model that you trained, and `{metric}` names none: "
            "name[trained=DIR]"
        )
    folder = Path(str(trained))
    read_config(folder)
    return folder


def write_attacks(folder: Path, contexts: str, frauds: Sequence[StrategyRecord]) -> None:
    """Replace the card's attacks on data of the name `contexts` by `frauds`; attacks on other data are kept.

    Those of the model that a training began with, which are sentences, are kept too. Of each of `frauds` strategy,
    kind, description, score, human_score and gain are written.
    """
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    other_contexts = [
        one for one in card.get("attacks") or () if isinstance(one, str) or one["contexts"] != contexts
    ]
    keys = ("strategy", "kind", "description", "score", "human_score", "gain")
    card["attacks"] = [
        *other_contexts,
        *({"contexts": contexts, **{key: getattr(one, key) for key in keys}} for one in frauds),
    ]
    with replacing(folder / CARD) as file:
        file.write(to_json(card))
