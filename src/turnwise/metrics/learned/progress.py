"""Finished parts of a long training, stored on disk, so that an interrupted run resumes after them."""

from collections.abc import Callable
from pathlib import Path

from turnwise.errors import MissingExtra
from turnwise.logs.checksum import sealed, unsealed
from turnwise.logs.files import atomic
from turnwise.types import Floats, digest


def load_or_compute(
    work: Path | None, name: tuple[str, ...], make: Callable[[], dict[str, Floats]]
) -> dict[str, Floats]:
    """The result of `make`, read from the folder `work` if it is there; a missing or damaged file is computed again.

    `name` identifies the result in the folder. Without `work` nothing is stored.
    """
    if work is None:
        return make()
    try:
        from safetensors.numpy import load, save
    except ImportError as error:
        raise MissingExtra("training", "neural") from error
    path = work / f"{digest(*name)}.safetensors"
    stored = unsealed(path.read_bytes()) if path.exists() else None
    if stored is not None:
        return dict(load(stored))
    found = make()
    work.mkdir(parents=True, exist_ok=True)
    with atomic(path) as file:
        file.write(sealed(save(found)))
    return found
