"""Read pooling and length limit from a folder that sentence-transformers wrote.

`modules.json` lists the modules of a model. A transformer, one pooling and a normalisation are supported; with anything
else (a Dense layer, another pooling, several poolings) the vectors would differ from the model's own, so such a folder
is refused unless the caller names a pooling and thereby asks for the transformer alone.
"""

import json
from pathlib import Path
from typing import Any

from turnwise.encode.transformer.pooling import POOLINGS, Pooling
from turnwise.errors import UsageError

_DONE = ("Transformer", "Pooling", "Normalize")
_FLAG = "pooling_mode_"  # prefix of the flags of older versions, one for each mode
_MODES: dict[str, Pooling] = {
    "cls": "cls",
    "cls_token": "cls",
    "max": "max",
    "max_tokens": "max",
    "mean": "mean",
    "mean_tokens": "mean",
    "lasttoken": "last",
}


def stated_pooling(folder: Path) -> Pooling:
    """The folder's own pooling; the mean if it states none.

    Raises a `UsageError` if the folder has modules or poolings that are not supported.
    """
    modules = _modules(folder)
    if strange := [kind for kind in modules if kind not in _DONE]:
        raise _unsupported(folder, f"a module {strange[0]}")
    config = _read(folder / modules.get("Pooling", "1_Pooling") / "config.json") or {}
    modes = config.get("pooling_mode") or [
        key.removeprefix(_FLAG) for key, chosen in config.items() if key.startswith(_FLAG) and chosen
    ]
    modes = [modes] if isinstance(modes, str) else modes or ["mean"]
    if len(modes) > 1 or modes[0] not in _MODES:
        raise _unsupported(folder, f"the pooling {' + '.join(modes)}")
    return _MODES[modes[0]]


def states_unit_length(folder: Path) -> bool:
    """Whether the model's own vectors are normalised to unit length."""
    return "Normalize" in _modules(folder)


def stated_length(folder: Path) -> int | None:
    """The largest number of tokens of an input; None if the folder does not state it."""
    return (_read(folder / "sentence_bert_config.json") or {}).get("max_seq_length")


def _modules(folder: Path) -> dict[str, str]:
    """Kind of each module -> its folder; empty if sentence-transformers did not write the folder."""
    listed = _read(folder / "modules.json") or []
    return {str(module["type"]).rpartition(".")[2]: str(module.get("path", "")) for module in listed}


def _unsupported(folder: Path, what: str) -> UsageError:
    """The error for a folder that has `what`."""
    return UsageError(
        f"{folder} has {what}, which is not done here: name a pooling ({', '.join(POOLINGS)}) to use its "
        "transformer alone"
    )


def _read(path: Path) -> Any:
    """The JSON value of a file; None if there is no file."""
    return json.loads(path.read_text()) if path.is_file() else None
