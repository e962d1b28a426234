"""Loading of a learned metric's trained model: from the folder in its setting `trained`, else from the package.

`trained=hardened` is the model with a guard of its own that ships beside the plain one (`usr-ret`, `maude`, `att`), and
`trained=free` the one whose reader was trained on freely licensed text alone (`turnwise-large`). `turnwise` ships
twice: its networks computed in whole numbers, and `fp32`, in float32, which is also what it is where ONNX Runtime is
not installed. A metric stores only the folder's path. The contents are loaded once per process.
"""

import logging
from functools import cache
from pathlib import Path
from typing import Any

from turnwise.encode import TextEncoder
from turnwise.encode.models.catalogue import NotFetched
from turnwise.encode.models.folder import CONFIG, Folder, is_trained, load, shipped
from turnwise.encode.transformer.precision import runs_graphs
from turnwise.errors import UsageError
from turnwise.extras import has_module, install, require
from turnwise.metrics import models

log = logging.getLogger(__name__)
HARDENED = "hardened"
# Shipped models with a guard that was taught with frauds against this metric. That of `usr-ret`, which was taught with
# those of four other metrics too, is also the guard of `guarded[metric=NAME]`.
HARDENED_MODELS = {"usr-ret": "guard", "maude": "maude-hardened", "att": "att-hardened"}
FREE = "free"
FP32 = "fp32"
# Further models that ship: setting `trained` -> metric -> folder; and what to do instead for a metric that has none.
SHIPPED_VARIANTS = {
    HARDENED: HARDENED_MODELS,
    FREE: {"turnwise-large": "turnwise-large-free"},
    FP32: {"turnwise": "turnwise-fp32"},
}
ADVICE = {HARDENED: "; for others guarded[metric={kind}]", FREE: "", FP32: ""}


class NotTrained(NotFetched):
    """Raised if there is no trained model for a metric; the message says how to train one."""


def load_trained(kind: str, spec: str, *, fallback: bool = True) -> Folder:
    """The model of this kind in the folder `spec`; "" and the names of `SHIPPED_VARIANTS` ship with the package.

    Without ONNX Runtime the default one is that in float32, which torch computes, unless there is to be no `fallback`.

    Raises `NotTrained` if none ships, and `UsageError` for a variant of a metric that has no such model, or where a
    folder of this name has a model.
    """
    if not spec and fallback and kind in SHIPPED_VARIANTS[FP32] and not runs_graphs() and has_module("torch"):
        _say_float32(kind)
        spec = FP32
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


def shipped_model(kind: str) -> Folder:
    """The model of this kind that ships as the default, whether it can be computed here or not."""
    return _load(kind, str(shipped(kind)), 0)


@cache
def _say_float32(kind: str) -> None:
    """Say once that a metric is computed in float32."""
    log.warning(
        "ONNX Runtime is not installed, so `%s` is computed by torch in float32, as %s[precision=fp32]: %s",
        kind, kind, install("models"),
    )  # fmt: skip


@cache
def _load(kind: str, path: str, _: int) -> Folder:
    """`folder.load`, cached by kind, path and the time of the last change (the third argument)."""
    return load(path, kind)


def encoder_of(model: Folder) -> TextEncoder:
    """The encoder that the model was trained with; raises `UsageError` if the one installed here is another."""
    settings: dict[str, Any] = dict(model.config["encoder"])
    stated = {"precision": settings["precision"]} if "precision" in settings else {}
    encoder = models.text_encoder(settings["name"], **stated)
    if (now := str(encoder.signature)) != settings["signature"]:
        raise UsageError(
            f"{model.path} was trained on vectors of {settings['signature']}, and `{settings['name']}` is {now} here; "
            "train it anew"
        )
    return encoder


def encoder_card(name: str, **options: str) -> dict[str, str]:
    """The entry `encoder` of a model's config: the encoder's name, options and present signature."""
    return {"name": name, **options, "signature": str(models.text_encoder(name, **options).signature)}
