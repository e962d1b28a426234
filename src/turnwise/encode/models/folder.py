"""A trained model is a folder: `model.safetensors`, `config.json` and `card.json`. No pickle, nothing to execute.

`config.json` says what the folder is: its format, the kind of model, the settings it was trained with, and the sha256
of the weights, so that a folder whose parts do not belong together is noticed. `card.json` says what a reader must
know before believing it (`Card` keys below); it takes no part in the digest, so a later finding, such as an attack
that works, can be added to it. Sizes are checked before anything is read.
"""

import json
import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError, MissingExtra, UsageError
from turnwise.types import digest

FORMAT = "turnwise-model"
VERSION = 1
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "card.json"
MOST_WEIGHTS = 4 * 2**30  # bytes
MOST_TEXT = 64 * 2**20  # bytes of config or card: room for a vocabulary
# What a card is expected to say; null where it is not known.
CARD_KEYS = (
    "data",  # what it was trained on: files with sha256, licences, number of items
    "raters",  # how many people judged each item
    "ceiling",  # how well one of them agrees with the others
    "held_out",  # correlations on data it had not seen, with intervals
    "attacks",  # frauds known to beat people
    "languages",  # those the encoder knows
    "licence",
    "command",  # that trains it again
)

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Folder:
    path: Path
    kind: str
    tensors: Mapping[str, Array]
    config: Mapping[str, Any]
    card: Mapping[str, Any]
    digest: str  # of kind, config and weights: what a signature carries


def save(
    path: str | Path,
    *,
    kind: str,
    tensors: Mapping[str, Array],
    config: Mapping[str, Any],
    card: Mapping[str, Any],
) -> Folder:
    """Write the folder whole or not at all; an older model of this kind there is replaced, nothing else is."""
    dump = _safetensors().save
    target = Path(path)
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise DataError(f"{target}: `{name}` is not finite, training diverged; nothing was written")
    weights: bytes = dump(arrays)
    text = _json({"format": FORMAT, "version": VERSION, "kind": kind, "sha256": sha256(weights).hexdigest(),
                  "config": config})  # fmt: skip
    about = _json({**dict.fromkeys(CARD_KEYS), **card})
    check_replaceable(target, kind)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir()
        for name, data in ((WEIGHTS, weights), (CONFIG, text), (CARD, about)):
            with (draft / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        _swap(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return load(target, kind)


def load(path: str | Path, kind: str) -> Folder:
    """The model in a folder. What is not one of this kind, or is damaged, is an error that says so."""
    folder = Path(path)
    head = read_config(folder)
    if head["kind"] != kind:
        raise UsageError(f"{folder} holds a model of kind `{head['kind']}`, and `{kind}` is needed here")
    weights = _read(folder / WEIGHTS, MOST_WEIGHTS)
    if sha256(weights).hexdigest() != head["sha256"]:
        raise DataError(
            f"{folder / WEIGHTS}: is damaged or of another model (its sha256 is not the one in {CONFIG})"
        )
    module = _safetensors()
    try:
        tensors: dict[str, Array] = module.load(weights)
    except Exception as error:  # whatever the parser meets: the bytes are no safetensors
        raise DataError(f"{folder / WEIGHTS}: cannot be read: {error}") from error
    if bad := [name for name, array in tensors.items() if not np.isfinite(array).all()]:
        raise DataError(f"{folder / WEIGHTS}: `{bad[0]}` is not finite")
    config, card = head["config"], _object(folder / CARD)
    return Folder(folder, kind, tensors, config, card, digest(kind, _json(config), head["sha256"]))


def read_config(folder: Path) -> dict[str, Any]:
    """What `config.json` says: kind, sha256 and config of a folder of ours; any other is refused."""
    if not folder.is_dir():
        raise UsageError(f"the model folder {folder} does not exist")
    if not (folder / CONFIG).is_file():
        raise UsageError(f"{folder} is no model that turnwise trained: it has no {CONFIG}")
    head = _object(folder / CONFIG)
    if head.get("format") != FORMAT:
        raise UsageError(f"{folder} is no model that turnwise trained: its {CONFIG} is of another program")
    if head.get("version") != VERSION:
        raise UsageError(
            f"{folder} is in version {head.get('version')} of the format, and {VERSION} is read here; train it anew"
        )
    wanted = {"kind": str, "sha256": str, "config": dict}
    if bad := [key for key, of in wanted.items() if not isinstance(head.get(key), of)]:
        raise DataError(f"{folder / CONFIG}: has no `{bad[0]}`; it is damaged")
    return head


def is_trained(folder: Path) -> bool:
    """Whether this is a folder of ours: to tell it from an encoder's."""
    try:
        read_config(folder)
    except (UsageError, DataError):
        return False
    return True


def shipped(name: str) -> Path | None:
    """The folder of a model that comes with the package; None where there is none of this name."""
    folder = Path(str(files("turnwise"))) / "data" / "models" / name
    return folder if (folder / CONFIG).is_file() else None


def check_replaceable(target: Path, kind: str) -> None:
    """Says before hours of training what `save` would say after them."""
    if not target.exists():
        return
    if target.is_dir() and not any(target.iterdir()):
        return
    if not target.is_dir() or not is_trained(target):
        raise UsageError(f"{target} exists and is no trained model; give -o a new folder")
    if (there := read_config(target)["kind"]) != kind:
        raise UsageError(f"{target} holds a model of kind `{there}`; give -o another folder")


def _swap(draft: Path, target: Path) -> None:
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    if target.exists():
        target.rename(old)
    try:
        draft.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _read(path: Path, most: int) -> bytes:
    try:
        size = path.stat().st_size
        if size > most:
            raise DataError(f"{path}: has {size:,} bytes, more than the {most:,} that such a file may have")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: is missing; the model is not whole") from None


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read(path, MOST_TEXT))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is damaged: {error}") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}: is damaged: expected a JSON object")
    return value


def _json(value: Any) -> bytes:
    return (
        json.dumps(_plain(value), indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"
    ).encode()


def _plain(value: Any) -> Any:
    """Plain JSON; an undefined number is null, and numpy's are Python's."""
    if isinstance(value, (np.floating, float)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def _safetensors() -> Any:
    try:
        from safetensors import numpy as module
    except ImportError as error:
        raise MissingExtra("a trained model", "neural") from error
    return module
