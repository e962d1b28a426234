"""Parts of a long training that are done, kept on disk: a run that was killed goes on after them."""

import os
from collections.abc import Callable
from pathlib import Path

from turnwise.errors import MissingExtra
from turnwise.types import Floats, digest


def remembered(
    work: Path | None, name: tuple[str, ...], make: Callable[[], dict[str, Floats]]
) -> dict[str, Floats]:
    """What `make` gives, from the folder `work` where it has been made before; a damaged file is made again."""
    if work is None:
        return make()
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file, save_file
    except ImportError as error:
        raise MissingExtra("training", "neural") from error
    path = work / f"{digest(*name)}.safetensors"
    try:
        found: dict[str, Floats] = load_file(path)
    except (FileNotFoundError, SafetensorError):
        found = make()
        work.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        save_file(found, part)
        part.replace(path)
    return found
