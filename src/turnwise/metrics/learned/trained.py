"""Loading of a learned metric's trained model: from the folder in its setting `trained`, else from the package.

`trained=hardened` is the model with a guard of its own that ships beside the plain one (`usr-ret`, `maude`, `att`), and
`trained=free` the one whose reader was trained on freely licensed text alone (`turnwise-large`). A metric stores only
the folder's path. The contents are loaded once per process.
"""

from functools import cache
from pathlib import Path
from typing import Any

from turnwise.encode import TextEncoder
from turnwise.encode.models.catalogue import NotFetched
from turnwise.encode.models.folder import CONFIG, Folder, is_trained, load, shipped
from turnwise.errors import UsageError
from turnwise.extras import require
from turnwise.metrics import models

HARDENED = "hardened"
# Shipped models with a guard that was taught with frauds against this metric. That of `usr-ret`, which was taught with
# those of four other metrics too, is also the guard of `guarded[metric=NAME]`.
HARDENED_MODELS = {"usr-ret": "guard", "maude": "maude-hardened", "att": "att-hardened"}
FREE = "free"
# Further models that ship: setting `trained` -> metric -> folder; and what to do instead for a metric that has none.
SHIPPED_VARIANTS = {HARDENED: HARDENED_MODELS, FREE: {"turnwise-large": "turnwise-large-free"}}
ADVICE = {HARDENED: "; for others guarded[metric={kind}]", FREE: ""}


class NotTrained(NotFetched):
    """Raised if there is no trained model for a metric; the message says how to train one."""


def load_trained(kind: str, spec: str) -> Folder:
    """The model of this kind in the folder `spec`; "", `hardened` and `free` are those that ship with the package.

    Raises `NotTrained` if none ships, and `UsageError` for `hardened` or `free` of a metric that has no such model, or
    where a folder of this name has a model.
    """
    variants = SHIPPED_VARIANTS.get(spec)
    if variants is not None and kind not in variants:
        have = (
            f"{', '.join(variants)} {'do' if len(variants) > 1 else 'does'}{ADVICE[spec].format(kind=kind)}"
        )
        raise UsageError(f"`{kind}` has no {spec} model: {have}. For a folder called {spec} write ./{spec}")
    if variants is not None and is_trained(Path(spec)):
        raise UsageError(
            f"`trained={spec}` is the model that ships, and the folder {spec} here has a model too: for that one write "
            f"trained=./{spec}, for the shipped one use another working folder"
        )
    path = Path(spec) if spec and variants is None else shipped(variants[kind] if variants else kind)
    if path is None:
        require("neural", f"`{kind}`")  # without it, it cannot be trained either
        raise NotTrained(
            f"`{kind}` is not trained: turnwise train {kind} DATA -o MODEL, then {kind}[trained=MODEL]"
        )
    config = path / CONFIG
    # The modification time is part of the cache key, because a folder can be overwritten by a new training.
    return _load(kind, str(path), config.stat().st_mtime_ns if config.is_file() else 0)


@cache
def _load(kind: str, path: str, _: int) -> Folder:
    """`folder.load`, cached by kind, path and the time of the last change (the third argument)."""
    return load(path, kind)


def encoder_of(model: Folder) -> TextEncoder:
    """The encoder that the model was trained with; raises `UsageError` if the one installed here is another."""
    settings: dict[str, Any] = dict(model.config["encoder"])
    encoder = models.text_encoder(settings["name"])
    if (now := str(encoder.signature)) != settings["signature"]:
        raise UsageError(
            f"{model.path} was trained on vectors of {settings['signature']}, and `{settings['name']}` is {now} here; "
            "train it anew"
        )
    return encoder


def encoder_card(name: str) -> dict[str, str]:
    """The entry `encoder` of a model's config: the encoder's name and its present signature."""
    return {"name": name, "signature": str(models.text_encoder(name).signature)}
