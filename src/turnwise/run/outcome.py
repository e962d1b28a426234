"""The outcome of a run: its findings, their origin, and the document that is written and printed."""

import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from turnwise import __version__
from turnwise.report import results
from turnwise.run.spec import Spec
from turnwise.types import Finding

PACKAGES = ("numpy", "scipy", "msgspec", "sacrebleu", "rapidfuzz")  # packages that compute numbers
# Settings that never change a number.
HOW = {"output", "jobs", "on", "address", "max_errors", "reuse", "quiet", "names", "data"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The findings and the document of a run."""

    findings: tuple[Finding, ...]
    document: dict[str, Any]  # the content of results.json


def finish(spec: Spec, findings: tuple[Finding, ...], sha256: Mapping[str, str], **sections: Any) -> Outcome:
    """Make the document of these findings, and write it as results.json to the spec's output folder, if it has one.

    `sha256`: input path -> digest. `sections` are further entries of the document.
    """
    document = results.document(spec.command, findings, origin(spec, sha256), **sections)
    if spec.output is not None:
        results.write(spec.output / "results.json", document)
    return Outcome(findings, document)


def origin(spec: Spec, sha256: Mapping[str, str]) -> dict[str, Any]:
    """Where results come from: versions, the commit of this code, the inputs with their hashes, the settings."""
    settings = {one.name: getattr(spec, one.name) for one in fields(Spec) if one.name not in HOW}
    return {
        "turnwise": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "inputs": [{"path": spec.names.get(path, path), "sha256": sha256[path]} for path in spec.data],
        "settings": msgspec.to_builtins({**settings, "options": dict(spec.options)}),
    }


@cache
def _commit() -> str | None:
    """The commit of the checkout that this code runs from; None for an installed package or if git fails.

    Read once for each process: git may be slow, and one run must not record two commits.
    """
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
