"""A trained model is a folder: `model.safetensors`, `config.json` and `card.json`. No pickle, nothing to execute.

`config.json` holds the format, the kind of model, the settings it was trained with, and the sha256 of the weights, so
that files of different models are detected. `card.json` holds what a user must know to judge the model (`CARD_KEYS`
below); it is not part of the digest, so later findings, such as a successful attack, can be added. Sizes are checked
before anything is read.
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

from turnwise.errors import DataError, MissingExtra, UsageError, setting
from turnwise.types import digest

FORMAT = "turnwise-model"
VERSION = 1
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "card.json"
MOST_WEIGHTS = 4 * 2**30  # bytes
MOST_TEXT = 64 * 2**20  # bytes of config or card: room for a vocabulary
# What a card is expected to say; null where it is not known.
CARD_KEYS = (
    "data",  # what it was trained on: files with sha256, licences, number of items
    "raters",  # how many people rated each item
    "ceiling",  # agreement of one rater with the others
    "held_out",  # correlations on held-out data, with intervals
    "attacks",  # frauds known to score above people
    "languages",  # languages of the encoder
    "licence",
    "command",  # the command that trains it again
)

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Folder:
    """A trained model in memory: weights, configuration and card."""

    path: Path
    kind: str
    tensors: Mapping[str, Array]
    config: Mapping[str, Any]
    card: Mapping[str, Any]
    digest: str  # hash of kind, config and weights; part of a metric's signature


def save(
    path: str | Path,
    *,
    kind: str,
    tensors: Mapping[str, Array],
    config: Mapping[str, Any],
    card: Mapping[str, Any],
) -> Folder:
    """Write the folder atomically and return it as `load` reads it; it replaces an older model of the same kind only.

    Anything else at `path` is a `UsageError`, weights that are not finite a `DataError`.
    """
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
    """Load the model of a folder; raises an error if it is damaged, not finite or of another kind."""
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
    except Exception as error:  # the parser raises several types: the bytes are not safetensors
        raise DataError(f"{folder / WEIGHTS}: cannot be read: {error}") from error
    if bad := [name for name, array in tensors.items() if not np.isfinite(array).all()]:
        raise DataError(f"{folder / WEIGHTS}: `{bad[0]}` is not finite")
    config, card = head["config"], _object(folder / CARD)
    return Folder(folder, kind, tensors, config, card, digest(kind, _json(config), head["sha256"]))


def read_description(folder: Path) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The configuration and the card of a model, whose weights are not read; errors as `read_config`."""
    return read_config(folder)["config"], _object(folder / CARD)


def read_config(folder: Path) -> dict[str, Any]:
    """The object in `config.json`, with `kind`, `sha256` and `config`.

    Raises `UsageError` for a folder that is no trained model of this version, and `DataError` for a damaged file.
    """
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
    """Whether this folder has a valid `config.json` that `turnwise train` wrote; the weights are not looked at."""
    try:
        read_config(folder)
    except (UsageError, DataError):
        return False
    return True


def shipped(name: str) -> Path | None:
    """The folder of a model that is shipped with the package; None if there is none of this name."""
    folder = Path(str(files("turnwise"))) / "data" / "models" / name
    return folder if (folder / CONFIG).is_file() else None


def check_replaceable(target: Path, kind: str) -> None:
    """Raise `UsageError` if `target` is anything but absent, an empty folder, or a trained model of this kind.

    It is called before the training, so that `save` does not fail after it.
    """
    if not target.exists():
        return
    if target.is_dir() and not any(target.iterdir()):
        return
    if not target.is_dir() or not is_trained(target):
        raise UsageError(f"{target} exists and is no trained model; give {setting('-o')} a new folder")
    if (there := read_config(target)["kind"]) != kind:
        raise UsageError(f"{target} holds a model of kind `{there}`; give {setting('-o')} another folder")


def _swap(draft: Path, target: Path) -> None:
    """Rename the draft to the target, whose old content is put back if that fails and deleted otherwise."""
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
    """The content of a file; a `DataError` if it is missing or has more than `most` bytes."""
    try:
        size = path.stat().st_size
        if size > most:
            raise DataError(f"{path}: has {size:,} bytes, more than the {most:,} that such a file may have")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: is missing; the model is not whole") from None


def _object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; a `DataError` if it is missing, damaged or another value."""
    try:
        value = json.loads(_read(path, MOST_TEXT))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is damaged: {error}") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}: is damaged: expected a JSON object")
    return value


def _json(value: Any) -> bytes:
    """The value as indented JSON with sorted keys, in UTF-8; equal values give equal bytes."""
    return (
        json.dumps(_plain(value), indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"
    ).encode()


def _plain(value: Any) -> Any:
    """Plain JSON values: NaN and infinity become null, and numpy numbers become Python numbers."""
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
    """The module `safetensors.numpy`; an error that names the extra `models` if it is not installed."""
    try:
        from safetensors import numpy as module
    except ImportError as error:
        raise MissingExtra("a trained model", "models") from error
    return module
