"""Where a learned metric finds what it learned: a folder given by its setting `trained`, else one in the package.

A metric holds the folder's path, and the process holds what is in it.
"""

from functools import cache
from pathlib import Path
from typing import Any

from turnwise.encode import TextEncoder
from turnwise.encode.models.catalogue import NotFetched
from turnwise.encode.models.folder import CONFIG, Folder, load, shipped
from turnwise.errors import UsageError
from turnwise.metrics import models


class NotTrained(NotFetched):
    """A metric that nobody has trained yet: it is skipped, and says how to train it."""


def trained(kind: str, spec: str) -> Folder:
    """The model of this kind in the folder `spec`; "" is the one that comes with the package."""
    path = shipped(kind) if not spec else Path(spec)
    if path is None:
        raise NotTrained(
            f"`{kind}` is not trained: turnwise train {kind} DATA -o MODEL, then {kind}[trained=MODEL]"
        )
    config = path / CONFIG
    # Trained anew under the same name, it is another model.
    return _load(kind, str(path), config.stat().st_mtime_ns if config.is_file() else 0)


@cache
def _load(kind: str, path: str, _: int) -> Folder:
    return load(path, kind)


def encoder_of(model: Folder) -> TextEncoder:
    """The encoder that the model was trained on. Vectors of any other would be noise to it."""
    settings: dict[str, Any] = dict(model.config["encoder"])
    encoder = models.text_encoder(settings["name"])
    if (now := str(encoder.signature)) != settings["signature"]:
        raise UsageError(
            f"{model.path} was trained on vectors of {settings['signature']}, and `{settings['name']}` is {now} here; "
            "train it anew"
        )
    return encoder


def encoder_card(name: str) -> dict[str, str]:
    """What a folder says of its encoder."""
    return {"name": name, "signature": str(models.text_encoder(name).signature)}
