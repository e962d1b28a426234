"""The cards of the shipped models: data with licences, raters, and agreement with ratings from papers/learned.json."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from papers.rated_corpora import GROUPS, PRETRAINING, Rated
from turnwise.encode.models import folder
from turnwise.ratings.ceiling import ceiling

MEASURED = Path(__file__).parents[1] / "papers" / "learned.json"
ROWS = {  # model -> its row in papers/learned.json
    "usr-ret": "usr-ret",
    "maude": "maude",
    "att": "att",
    "usr-full": "usr-full, corpus left out",
    "turnwise": "**turnwise**, corpus left out",
    "turnwise-fp32": "**turnwise[precision=fp32]**, corpus left out",
    "turnwise-large": "**turnwise-large**, corpus left out",
    "turnwise-large-free": "**turnwise-large[trained=free]**, corpus left out",
}
TEXT_LICENCE = (
    "PersonaChat (as carried by Xpersona) and DailyDialog++ are under MIT, but 91 % of the utterances in the contexts "
    "of DailyDialog++ are also in the training set of DailyDialog, which is under CC BY-NC-SA 4.0. Weights, vectors "
    "and counts are shipped, no text."
)
RATED_LICENCE = (
    "The ridge has read the contexts of the rated replies too: those of grade empathetic are EmpatheticDialogues' "
    "(CC BY-NC 4.0), those of grade dailydialog, engage, holistic and fbd dailyz DailyDialog's (CC BY-NC-SA 4.0)."
)
LICENCES = {  # of the ratings, as published
    "usr_persona.jsonl": "none stated",
    "grade.jsonl.gz": "none stated",
    "fed_turn.jsonl.gz": "none stated (the copy that was read: MIT)",
    "engage.jsonl": "MIT",
    "holistic.jsonl": "none stated",
    "fbd.jsonl.gz": "none stated",
}
DIALOGUE_LICENCES = {  # of the rated dialogues, which only regressions for single dimensions were fitted to
    "fed_dialog.jsonl": "none stated (the copy that was read: MIT)",
    "ji2022.jsonl.gz": "MIT",
    "convai2_2018.jsonl.gz": "none stated",
    "ieval.jsonl.gz": "CC BY 4.0",
}
FOOLED = 0.8  # if people's own reply scores above a fraud in at most this share of contexts, the attack works


def card(data: Path, groups: Sequence[Rated], *, ratings: bool) -> dict[str, Any]:
    """The part of a card that all models share; with `ratings`, the model was trained on the ratings.

    Raters and ceiling are those of the nine groups of rated replies.
    """
    rated_data = {
        "ratings": [{**of, "licence": LICENCES[of["file"]]} for of in _files(data, LICENCES)],
        "groups": list(GROUPS),
        "ratings_licence": RATED_LICENCE,
    }
    limits = {
        group.name: ceiling(group.gold.matrix) for group in groups if group.gold.matrix.identity != "mean"
    }
    known = {group.name: limits.get(group.name) for group in groups}  # None if only means were published
    return {
        "data": {
            "text": _files(data, PRETRAINING),
            "text_licence": TEXT_LICENCE,
            "left_out": "dialogues that share a turn with a rated item",
            **(rated_data if ratings else {}),
        },
        "raters": {name: one and one.per_item for name, one in known.items()},
        "ceiling": {name: one and one.correlation for name, one in known.items()},
        "languages": "English (MiniLM's); other languages are not known to it",
        "licence": "Apache-2.0",
        "command": "python -m tools.make_models DATA",
    }


def dialogue_data(data: Path) -> list[dict[str, str]]:
    """The files of rated dialogues with sha256 and licence."""
    return [{**of, "licence": DIALOGUE_LICENCES[of["file"]]} for of in _files(data, DIALOGUE_LICENCES)]


def complete(path: Path, about: Mapping[str, Any]) -> None:
    """Rewrite a model's card with the measured agreement and attacks; the weights do not change."""
    measured = json.loads(MEASURED.read_text())
    old = json.loads((path / folder.CARD).read_text())
    by_group = zip(measured["groups"], measured["cells"][ROWS[path.name]], strict=True)
    people = {
        group: {"spearman": cell[0], "interval": cell[2], "pearson": cell[1], "pearson_interval": cell[3]}
        for group, cell in by_group
    }
    frauds = measured["frauds"].get(path.name, {})
    fooling = [
        f"{fraud}: people's own reply stands above it in {share:.0%} of 60 contexts"
        for fraud, share in frauds.items()
        if share <= FOOLED
    ]
    held_out = {key: value for key, value in (old["held_out"] or {}).items() if key.startswith("above")}
    new = {
        **old,
        **about,
        "held_out": {**held_out, "people": people, "people_by": f"papers/learned.md, row {ROWS[path.name]}"},
        "attacks": [*(one for one in old["attacks"] if "stands above" not in one), *fooling],
    }
    (path / folder.CARD).write_text(
        json.dumps(new, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"
    )


def _files(data: Path, names: Sequence[str] | Mapping[str, str]) -> list[dict[str, str]]:
    return [{"file": name, "sha256": sha256((data / name).read_bytes()).hexdigest()} for name in names]
